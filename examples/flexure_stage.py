r"""
A flexure stage
===============

A table on four upright blades, clamped at both ends: the parallelogram guide of precision machines. The blades bend
into an S, so the table moves along x without turning, and sinks a little on the way. A voice coil drives it.

Four blades of length L under the weight W of the table resist with

.. math:: k = 4\,\frac{12 E I}{L^3} - \frac{6}{5} \frac{W}{L}

and a blade that is displaced by :math:`\delta` at its head is lower there by :math:`\frac{3}{5} \delta^2/L`.
"""

import numpy as np

import mse
from mse import Pose
from mse.tools.figures import new_figure

GRAVITY = 9.81
MASS = 5.0  # kg: the table
LENGTH, WIDTH, HEIGHT = 0.050, 0.020, 0.0005  # m: a blade; it is thin along x
SPRING_STEEL = {"young_modulus": 2.0e11, "poisson_ratio": 0.3, "density": 7800.0}
BENDING = SPRING_STEEL["young_modulus"] * WIDTH * HEIGHT**3 / 12  # N m2
CORNERS = {"a": (0.06, 0.04), "b": (0.06, -0.04), "c": (-0.06, 0.04), "d": (-0.06, -0.04)}  # m

# %%
# A blade lies along its x, with its width along y and its thickness along z. Turned by -90 degrees about y its x points
# upwards and its thin side along the x of the world. The table is clamped to the heads of the blades by frames that
# are turned in the same way: ends that are turned against each other would bend the blades.
#
# The coil's frame 0 pushes its frame 1, and the gauge reads its frame 0: the table is frame 1 of one and frame 0 of the
# other. Connected alike, a positive force would give a negative reading, and the stage a negative stiffness.


def build() -> mse.MSystem:
    """The stage, a load that pushes it, a coil for the linear regime, and a gauge."""
    system = mse.MSystem("Flexure stage", gravity=(0, 0, -GRAVITY))
    table = system.add(
        mse.RigidBody(
            "table", mass=MASS, inertia=(0.012, 0.02, 0.03), shape=mse.Box((0.14, 0.10, 0.02))
        )
    )
    upright = Pose.ry(-np.pi / 2)
    for name, (x, y) in CORNERS.items():
        blade = mse.Beam(
            f"blade {name}", length=LENGTH, width=WIDTH, height=HEIGHT, elements=6, **SPRING_STEEL
        )
        foot, head = system.ground @ Pose.dxdydz(x, y, 0.0), table @ Pose.dxdydz(x, y, -0.01)
        system.add(blade, between=(foot @ upright, head @ upright))
    push = system.add(mse.Load("push"))
    system.clamp(table.frame("center"), push.frame(0))
    coil, gauge = system.add(mse.ForceActuator("coil")), system.add(mse.PositionSensor("gauge"))
    rest = Pose.dz(LENGTH + 0.01)
    system.clamp(system.ground, coil.frame(0), rest)
    system.clamp(table.frame("center"), coil.frame(1))
    system.clamp(table.frame("center"), gauge.frame(0))
    system.clamp(system.ground, gauge.frame(1), rest)
    return system


def stiffness() -> float:
    """Force per displacement along x (N/m): the formula above."""
    return 4 * 12 * BENDING / LENGTH**3 - 1.2 * MASS * GRAVITY / LENGTH


working_point = build().find_working_point()
linear = working_point.linearize()
measured = 1 / linear.frequency_response([0.0])["gauge.x", "coil.fx"][0].real
print(f"stiffness along x {measured:.1f} N/m, by hand {stiffness():.1f} N/m")

# %%
# The mode that is wanted lies far below all others: that is what a guide is for.
modes = linear.modes(6)
print(modes)
print(f"by hand: {np.sqrt(stiffness() / MASS) / (2 * np.pi):.3f} Hz")

# %%
# A real force moves the working point: the table sinks with the square of its displacement, and hardly turns.
rest = working_point.poses["table.center"]
print(" force (N)     x (mm)    drop (um)   by hand   pitch (urad)   stress (MPa)")
study = {}
for force in (0.0, 4.0, 8.0, 12.0, 16.0):
    study[force] = working_point.update({"push.force": (force, 0.0, 0.0)})
    pose = study[force].poses["table.center"]
    x, drop = pose.o[0] - rest.o[0], rest.o[2] - pose.o[2]
    blades = [study[force].system[f"blade {name}"] for name in CORNERS]
    stress = max(blade.internal_forces(study[force]).largest[0] for blade in blades)
    pitch = 1e6 * pose.rotation_vector()[1]
    print(
        f"{force:10.1f} {1e3 * x:10.4f} {1e6 * drop:12.3f} {0.6e6 * x**2 / LENGTH:9.3f}"
        f" {pitch:14.2f} {stress / 1e6:14.1f}"
    )

# %%
# How many times its weight could it carry? Clamped blades that may move sideways buckle at :math:`\pi^2 E I/L^2` each.
instability = working_point.system.find_instability(max_load_factor=60.0)
print(instability)
print(f"by hand: {4 * np.pi**2 * BENDING / LENGTH**2 / (MASS * GRAVITY):.1f} times its weight")

# %%
# From the coil to the gauge, and the axis of a blade with the load of 16 N.
response = linear.frequency_response(
    np.geomspace(0.5, 1000.0, 800), inputs=["coil.fx"], outputs=["gauge.x"],
    loss={f"blade {name}": 1e-3 for name in CORNERS},
)  # fmt: skip
bode = response.plot()
bode

# %%
figure = new_figure(6.0, 4.5)
axes = figure.subplots()
for force, wp in study.items():
    line = np.array([wp.poses[f"blade a.{n}"].o for n in wp.system["blade a"].nodes()])
    axes.plot(
        1e3 * (line[:, 0] - CORNERS["a"][0]),
        1e3 * line[:, 2],
        "o-",
        markersize=3,
        label=f"{force:g} N",
    )
axes.set(xlabel="x (mm)", ylabel="z (mm)", title="a blade under force, x magnified")
axes.grid(True, alpha=0.4)
axes.legend(fontsize="small")
figure

# %%
# In three dimensions: at rest and, on demand, pushed by 16 N.
shape = working_point.plot(modes=modes, number=0)
working_point.view(modes=modes, compare=study[16.0])

# sphinx_gallery_thumbnail_number = -1
