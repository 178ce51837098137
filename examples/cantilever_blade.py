"""
A blade that is flat under its load
===================================

A thin trapezoid of maraging steel, clamped at its wide end, bent at rest so that its load makes it flat. A load F at
the tip bends it by :math:`M(s)/E I(s)` with :math:`M = F (L - s)` and what its own weight adds. A blade made with
minus that curvature lies flat under F. Its width shrinks nearly as M does, so that it carries nearly the same stress
along most of its length: the most deflection, and the lowest frequency, that the steel can give. Blades like these
hold up the mirrors of gravitational-wave detectors.
"""

import numpy as np

import mse
from mse import Pose
from mse.tools.figures import new_figure

# %%
# Dimensions, and the curvature that the load takes out again.

GRAVITY = 9.81
LENGTH, WIDTH, HEIGHT = 0.30, (0.080, 0.012), 0.003  # m; width at the clamp and at the tip
# aged maraging steel C250, yields at 1.8 GPa
STEEL = {"young_modulus": 1.87e11, "poisson_ratio": 0.3, "density": 8100.0}
LOAD = 26.0  # kg that it lies flat under


def width(s: float) -> float:
    """Width (m) at the distance s (m) from the clamp."""
    return WIDTH[0] + (WIDTH[1] - WIDTH[0]) * s / LENGTH


def curvature(s: float) -> float:
    """Curvature at rest (1/m) that the load takes out: ``M/(E I)``, upwards, so about -y."""
    left = LENGTH - s
    # the weight of the blade beyond s: a trapezoid from width(s) to the tip, about s
    own = STEEL["density"] * HEIGHT * left**2 * (width(s) + 2 * WIDTH[1]) / 6
    moment = GRAVITY * (LOAD * left + own)
    return -moment / (STEEL["young_modulus"] * width(s) * HEIGHT**3 / 12)


def build(load: float = LOAD, elements: int = 12) -> mse.MSystem:
    """The blade on a base that moves, with a point mass of ``load`` kg and a sensor on its tip."""
    system = mse.MSystem("Cantilever blade", gravity=(0, 0, -GRAVITY))
    base, probe = system.add(mse.PositionActuator("base")), system.add(mse.PositionSensor("probe"))
    blade = system.add(
        mse.Beam(
            "blade",
            length=LENGTH,
            width=WIDTH,
            height=HEIGHT,
            curvature_y=curvature,
            elements=elements,
            **STEEL,
        )
    )
    mass = system.add(mse.RigidBody("load", mass=load, shape=mse.Sphere(0.03)))
    system.clamp(system.ground, base.frame(1))
    system.clamp(base.frame(0), blade.frame(0))
    system.clamp(blade.frame(1), mass.frame("center"))
    system.clamp(mass.frame("center"), probe.frame(0))
    system.clamp(system.ground, probe.frame(1))
    return system


def slope(pose: Pose) -> float:
    """Angle (rad) of the blade's axis above the horizontal."""
    return float(np.arcsin(pose.U[2, 0]))


def compliance() -> float:
    """Small deflection of the tip per force (m/N): ``int (L - s)^2/(E I) ds``."""
    s = (np.arange(2000) + 0.5) * LENGTH / 2000
    bending = STEEL["young_modulus"] * width(s) * HEIGHT**3 / 12
    return float(np.sum((LENGTH - s) ** 2 / bending) * LENGTH / 2000)


def bounce(working_point) -> float:
    """Frequency (Hz) of the mode in which the load moves up and down."""
    modes = working_point.linearize().modes()
    return float(modes.frequencies_hz[np.argmax(modes["load.z"] ** 2)])


# %%
# Under its load the blade is flat, and stressed to a third of what makes it yield.
working_point = build().find_working_point()
blade = working_point.system["blade"]
steepest = max(abs(slope(working_point.poses[f"blade.{n}"])) for n in blade.nodes())
print(f"under {LOAD:g} kg the blade is flat within {1e3 * steepest:.1g} mrad;", end=" ")
print(f"without load its tip is {1e3 * blade.rest_poses()['1'].o[2]:.1f} mm higher")
loads = blade.internal_forces(working_point)
print(
    f"the largest stress is {loads.largest[0] / 1e6:.1f} MPa, "
    f"{1e3 * loads.largest[1]:.0f} mm from the clamp"
)

# %%
# Its modes: the load bounces; what bends sideways and inside the blade lies far above.
modes = working_point.linearize().modes(8)
print(modes)

# %%
# A range of loads. Near the flat state the load bounces as on the spring of small deflections; bent blades are stiffer.
study = {load: build(load).find_working_point() for load in LOAD * np.arange(1, 9) / 4}
print(" load (kg)   tip (mm)   slope (deg)   bounce (Hz)   sqrt(k/m) (Hz)   stress (MPa)")
for load, wp in study.items():
    tip = wp.poses["load.center"]
    soft = 1.0 / np.sqrt(load * compliance()) / (2 * np.pi)
    stress = wp.system["blade"].internal_forces(wp).largest[0] / 1e6
    angle = np.degrees(slope(tip))
    print(
        f"{load:10.1f} {1e3 * tip.o[2]:10.2f} {angle:13.2f} "
        f"{bounce(wp):13.4f} {soft:16.4f} {stress:14.1f}"
    )


def picture(study):
    """Shapes, height of the tip, frequency and stress for a range of loads."""
    figure = new_figure(12.0, 8.0)
    (shapes, height), (frequency, stress) = figure.subplots(2, 2)
    loads, blade = np.array(list(study)), build()["blade"]
    rest = blade.rest_poses()
    names = list(blade.nodes())
    line = np.array([rest[n].o for n in names])
    shapes.plot(1e3 * line[:, 0], 1e3 * line[:, 2], color="black", linestyle=":", label="at rest")
    for k, (load, wp) in enumerate(study.items()):
        if k % 2:  # every other one tells enough
            line = np.array([wp.poses[f"blade.{n}"].o for n in names])
            shapes.plot(1e3 * line[:, 0], 1e3 * line[:, 2], label=f"{load:g} kg")
            found = wp.system["blade"].internal_forces(wp)
            stress.plot(1e3 * found.s, found.stress / 1e6, label=f"{load:g} kg")
    shapes.set(xlabel="x (mm)", ylabel="z (mm)", title="the axis of the blade", aspect="equal")
    tips = np.array([wp.poses["load.center"].o[2] for wp in study.values()])
    straight = compliance() * GRAVITY * (LOAD - loads)
    height.plot(loads, 1e3 * tips, "o", label="mse")
    height.plot(loads, 1e3 * straight, "--", color="gray", label="small deflections")
    height.axvline(LOAD, color="gray", linewidth=0.8, linestyle=":")
    height.set(xlabel="load (kg)", ylabel="height of the tip (mm)", title="tip against load")
    frequency.plot(loads, [bounce(wp) for wp in study.values()], "o", label="mse")
    fine = np.linspace(loads[0], loads[-1], 200)
    frequency.plot(
        fine,
        1 / np.sqrt(fine * compliance()) / (2 * np.pi),
        "--",
        color="gray",
        label="sqrt(k/m)/2 pi",
    )
    frequency.axvline(LOAD, color="gray", linewidth=0.8, linestyle=":")
    frequency.set(
        xlabel="load (kg)", ylabel="frequency (Hz)", title="bounce against load", ylim=(0, None)
    )
    stress.set(
        xlabel="distance from the clamp (mm)",
        ylabel="stress (MPa)",
        title="largest stress in each section",
    )
    stress.set_ylim(0, None)
    for axes in (shapes, height, frequency, stress):
        axes.grid(True, alpha=0.4)
        axes.legend(fontsize="small")
    return figure


figure = picture(study)
figure

# %%
# In three dimensions: the blade under its load and, on demand, under a quarter of it; its modes, and its stress by
# color.
shape = working_point.plot(modes=modes, number=0)
working_point.view(modes=modes, compare=study[LOAD / 4])

# sphinx_gallery_thumbnail_number = -1
