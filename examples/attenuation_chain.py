"""
A complete attenuation chain
============================

Tutorial 1.3 of the manual: a toy model of a complete attenuation chain, as it hangs mirrors of interferometers.

Three legs, bending in thin rods at their ends, carry the top stage: an inverted pendulum, whose weight takes away
nearly all of the rods' stiffness, so that it swings far below 1 Hz. From the top stage hangs a double pendulum, and
each of its two stages hangs on three blades, clamped to the stage above, curved at rest and flat under their load,
which attenuate vertically as :math:`f^{-4}`. Horizontally the legs attenuate as :math:`f^{-2}`, until the base drags
the stage along by the mass of the legs themselves, about a sixth of it (real legs carry counterweights below their
feet); the double pendulum adds :math:`f^{-4}`.

The manual describes the chain and gives no numbers; these are realistic ones for a chain of a meter with a payload of
80 kg: legs and wires of steel, blades of maraging steel stressed to 0.6 to 0.7 GPa, a third of what makes it yield.
"""

from collections.abc import Callable

import numpy as np

import mse
from mse import Pose
from mse.tools.figures import new_figure

# %%
# Masses and dimensions. Legs, blades and wires come in threes, around the vertical.
GRAVITY = 9.81
# around the vertical: legs, blades and wires come in threes
ANGLES = {"a": 0.0, "b": 2 * np.pi / 3, "c": 4 * np.pi / 3}
WIRE_STEEL = {"young_modulus": 2.0e11, "poisson_ratio": 0.3}
STEEL = {**WIRE_STEEL, "density": 7800.0}
MARAGING = {"young_modulus": 1.87e11, "poisson_ratio": 0.3, "density": 8100.0}

MASSES = {"top": 60.0, "middle": 90.0, "payload": 80.0}  # kg
INERTIAS = {"top": (6.0, 6.0, 12.0), "middle": (5.0, 5.0, 9.0), "payload": (4.0, 4.0, 7.0)}  # kg m2

# what pictures draw: rings that carry blades, and a mirror
SHAPES = {
    "top": mse.Cylinder(0.52, 0.02, inner_radius=0.38),
    "middle": mse.Cylinder(0.42, 0.02, inner_radius=0.38),
    "payload": mse.Cylinder(0.13, 0.06),
}

LEG, LEG_CIRCLE = 1.0, 0.50  # m: length and distance from the middle
# m: bending rods at both ends, and what is between
ROD, ROD_RADIUS, TUBE_RADIUS = (0.06, (0.0038, 0.0030), 0.012)

BLADE, BLADE_WIDTH, BLADE_HEIGHT = 0.30, (0.090, 0.015), {"top": 0.0040, "middle": 0.0030}  # m
TIP_CIRCLE = 0.10  # m: distance of the blades' tips from the middle; they point inwards
WIRE, WIRE_RADIUS = 0.42, {"top": 0.0010, "middle": 0.0007}  # m
# m: blades of a stage below its center of mass, and hooks of its wires above
SEAT, HOOK = (-0.02, 0.03)


def leg_radius(s: float) -> float:
    """A leg bends in a rod at its foot and a thinner one at its head, and hardly between them."""
    if s < ROD:
        return ROD_RADIUS[0]
    return ROD_RADIUS[1] if s > LEG - ROD else TUBE_RADIUS


def flat_under(mass: float, height: float) -> Callable[[float], float]:
    """Curvature at rest, ``-M/(E I)``, of a blade that a third of ``mass`` bends flat."""

    def curvature(s: float) -> float:
        left = BLADE - s
        width = BLADE_WIDTH[0] + (BLADE_WIDTH[1] - BLADE_WIDTH[0]) * s / BLADE
        own = MARAGING["density"] * height * left**2 * (width + 2 * BLADE_WIDTH[1]) / 6
        moment = GRAVITY * (mass / 3 * left + own)
        return -moment / (MARAGING["young_modulus"] * width * height**3 / 12)

    return curvature


def around(angle: float, radius: float, z: float) -> Pose:
    """A frame at ``radius`` and height z, its x outwards."""
    return Pose.rz(angle) @ Pose.dxdydz(radius, 0.0, z)


def build() -> mse.MSystem:
    """The chain on a base that moves, and the motion of every stage against the ground."""
    system = mse.MSystem("Attenuation chain", gravity=(0, 0, -GRAVITY))
    base = system.add(mse.PositionActuator("base"))
    system.clamp(system.ground, base.frame(1))

    # nothing needs a place: stages start where legs, blades at rest and wires put them
    top, middle, payload = (add_stage(system, name) for name in MASSES)
    for name, angle in ANGLES.items():
        leg = mse.RoundBeam(
            f"leg {name}", length=LEG, radius=leg_radius,
            stations={"foot": ROD, "head": LEG - ROD}, elements=8, **STEEL,
        )  # fmt: skip
        # a beam's x is along it: upwards
        place = around(angle, LEG_CIRCLE, 0.0) @ Pose.ry(-np.pi / 2)
        system.add(leg, between=(base.frame(0) @ place, top @ place))

    hang(system, middle, payload, MASSES["payload"])
    blades = 3 * MARAGING["density"] * BLADE_HEIGHT["middle"] * BLADE * sum(BLADE_WIDTH) / 2
    hang(system, top, middle, MASSES["middle"] + blades + MASSES["payload"])
    return system


def add_stage(system: mse.MSystem, name: str) -> mse.RigidBody:
    """A stage and a sensor of its motion against the ground."""
    stage = system.add(
        mse.RigidBody(name, mass=MASSES[name], inertia=INERTIAS[name], shape=SHAPES[name])
    )
    sensor = system.add(mse.PositionSensor(f"at {name}"))
    system.clamp(stage.frame("center"), sensor.frame(0))
    system.clamp(system.ground, sensor.frame(1))
    return stage


def hang(system: mse.MSystem, upper: mse.RigidBody, lower: mse.RigidBody, mass: float) -> None:
    """Three blades on ``upper``, pointing inwards; wires from their tips carry ``mass``."""
    thick, radius = BLADE_HEIGHT[upper.name], WIRE_RADIUS[upper.name]
    shape = {
        "length": BLADE,
        "width": BLADE_WIDTH,
        "height": thick,
        "curvature_y": flat_under(mass, thick),
    }
    for name, angle in ANGLES.items():
        blade = system.add(mse.Beam(f"{upper.name} blade {name}", elements=6, **shape, **MARAGING))
        wire = system.add(
            mse.Wire(f"{upper.name} wire {name}", length=WIRE, radius=radius, **WIRE_STEEL)
        )
        seat = around(angle, TIP_CIRCLE + BLADE, SEAT) @ Pose.rz(np.pi)
        # the hook has the axes of the blade, too: turned against each other
        # they would twist the wire
        hook = around(angle, TIP_CIRCLE, HOOK) @ Pose.rz(np.pi)
        system.clamp(upper.add_frame(f"blade {name}", seat), blade.frame(0))
        system.clamp(blade.frame(1), wire.frame(1))
        system.clamp(lower.add_frame(f"hook {name}", hook), wire.frame(0))


def tilt(working_point, blade: str) -> float:
    """Angle (rad) of a blade's tip above the horizontal."""
    return float(np.arcsin(working_point.poses[f"{blade}.1"].U[2, 0]))


def attenuation(working_point, frequencies: np.ndarray):
    """Motion of the stages per motion of the base; what bends has a structural loss of 1e-3."""
    bending = [
        o.name for o in working_point.system.objects if isinstance(o, mse.Beam | mse.RoundBeam)
    ]
    return working_point.linearize().frequency_response(
        frequencies, inputs=["base.x", "base.z"], loss=dict.fromkeys(bending, 1e-3)
    )


# %%
# Legs, blades and wires find their places by themselves. The blades come out flat.
system = build()
working_point = system.find_working_point()
print(
    f"{system.name}: {working_point.history.tried} steps, "
    f"{'stable' if working_point.stable else 'UNSTABLE'}"
)
blades = [o for o in working_point.system.objects if isinstance(o, mse.Beam)]
for stage in ("top", "middle"):
    steepest = max(abs(tilt(working_point, b.name)) for b in blades if b.name.startswith(stage))
    stress = max(
        b.internal_forces(working_point).largest[0] for b in blades if b.name.startswith(stage)
    )
    print(
        f"blades of the {stage} stage: flat within {np.degrees(steepest):.1g} deg, "
        f"stress {stress / 1e6:.0f} MPa"
    )

# %%
# Fifteen modes, from the swing of the legs at 0.1 Hz upwards.
modes = working_point.linearize().modes(15)
print(modes)

# %%
# From the base to the payload.
few = attenuation(working_point, np.array([0.01, 0.1, 1.0, 3.0, 10.0, 30.0, 100.0]))
print(" f (Hz)   payload.x / base.x   payload.z / base.z")
for f, x, z in zip(
    few.frequencies_hz, *(abs(few[f"at payload.{c}", f"base.{c}"]) for c in "xz"), strict=True
):
    print(f"{f:7g} {x:20.3e} {z:20.3e}")


def picture(working_point, response):
    """The chain at its working point, and how much of the base's motion reaches each stage."""
    figure = new_figure(13.0, 7.0)
    left, right = figure.subfigures(1, 2)
    scene = left.add_subplot(projection="3d")
    working_point.plot(ax=scene, frames=False)
    scene.view_init(elev=20, azim=-65)
    f = response.frequencies_hz
    for axes, c, what in zip(
        right.subplots(2, 1, sharex=True), "xz", ("horizontal", "vertical"), strict=True
    ):
        for stage in MASSES:
            axes.loglog(
                f, np.abs(response[f"at {stage}.{c}", f"base.{c}"]), label=f"{stage}.{c} / base.{c}"
            )
        axes.set(ylabel="magnitude", title=f"{what} motion of the base")
        axes.grid(True, alpha=0.4)
        axes.legend(fontsize="small", loc="lower left")
    axes.set(xlabel="frequency (Hz)", xlim=(f[0], f[-1]))
    return figure


figure = picture(working_point, attenuation(working_point, np.geomspace(0.01, 100.0, 600)))
figure

# %%
# In three dimensions: fifteen modes, from the legs to the blades.
shape = working_point.plot(modes=modes, number=0)
working_point.view(modes=modes)

# sphinx_gallery_thumbnail_number = -1
