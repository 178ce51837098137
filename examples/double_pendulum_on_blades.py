r"""
A double pendulum on blades
===========================

Two blades carry an upper mass by a wire each, and the upper mass carries a mirror by four wires: isolation in two
stages along the beam of light, and in two stages vertically.

Along y the wires of each stage stay parallel, so the masses only swing. Their frequencies are those of the double
pendulum of the textbook, with the wires' lengths :math:`l_1, l_2` under load and the masses :math:`m_1, m_2`:

.. math:: \frac{m_1}{m_1 + m_2}\,l_1 l_2\,\omega^4 - g\,(l_1 + l_2)\,\omega^2 + g^2 = 0.

Vertically it is a chain of two masses, on the blades and their wires in series and on the four lower wires.
"""

import numpy as np
from scipy.linalg import eigh

import mse
from mse import Pose

GRAVITY = 9.81
MASSES = {"upper": 12.0, "mirror": 10.0}  # kg
INERTIAS = {"upper": (0.12, 0.06, 0.15), "mirror": (0.06, 0.09, 0.06)}  # kg m2
# m: a blade; width at the clamp and at the tip
LENGTH, WIDTH, HEIGHT = (0.24, (0.050, 0.010), 0.0020)
MARAGING = {"young_modulus": 1.87e11, "poisson_ratio": 0.3, "density": 8100.0}
WIRE_STEEL = {"young_modulus": 2.0e11, "poisson_ratio": 0.3}
UPPER_WIRE, LOWER_WIRE = (0.30, 3.0e-4), (0.40, 1.5e-4)  # m: length and radius
TIPS = {"left": 0.05, "right": -0.05}  # m: y of the blades' tips, and of the upper wires
# m: the lower wires
CORNERS = {"a": (0.02, 0.09), "b": (0.02, -0.09), "c": (-0.02, 0.09), "d": (-0.02, -0.09)}

# %%
# A blade that is flat under its load is made with minus the curvature that the load gives it; see the example of the
# single blade. Each carries half of what hangs on the two, and itself.


def curvature(s: float) -> float:
    """Curvature at rest of a blade (1/m)."""
    left = LENGTH - s
    width = WIDTH[0] + (WIDTH[1] - WIDTH[0]) * s / LENGTH
    own = MARAGING["density"] * HEIGHT * left**2 * (width + 2 * WIDTH[1]) / 6
    moment = GRAVITY * (sum(MASSES.values()) / 2 * left + own)
    return -moment / (MARAGING["young_modulus"] * width * HEIGHT**3 / 12)


# %%
# Blades lie along their x, here along y of the world, with their tips towards the middle. A wire's upper end is its
# frame 1. The hook below has the axes of the blade's tip, so that the wire is not twisted: it has a torsion, and ends
# that are turned against each other by 90 degrees would turn the mass.
#
# Only blades and wires say where things are: masses without an initial pose start where these put them.


def build() -> mse.MSystem:
    """Blades on a base that moves, upper mass, mirror, and sensors of both."""
    system = mse.MSystem("Double pendulum on blades", gravity=(0, 0, -GRAVITY))
    base = system.add(mse.PositionActuator("base"))
    system.clamp(system.ground, base.frame(1))
    shapes = {
        "upper": mse.Box((0.06, 0.20, 0.04)),
        "mirror": mse.Cylinder(0.09, 0.08, at=Pose.ry(np.pi / 2)),
    }
    upper, mirror = (
        system.add(
            mse.RigidBody(name, mass=MASSES[name], inertia=INERTIAS[name], shape=shapes[name])
        )
        for name in MASSES
    )
    for name, y in TIPS.items():
        inwards = Pose.rz(-np.pi / 2) if y > 0 else Pose.rz(np.pi / 2)
        shape = {"length": LENGTH, "width": WIDTH, "height": HEIGHT, "curvature_y": curvature}
        blade = system.add(mse.Beam(f"blade {name}", elements=6, **shape, **MARAGING))
        wire = system.add(
            mse.Wire(f"wire {name}", length=UPPER_WIRE[0], radius=UPPER_WIRE[1], **WIRE_STEEL)
        )
        system.clamp(base.frame(0), blade.frame(0), Pose.dy(y + np.copysign(LENGTH, y)) @ inwards)
        system.clamp(blade.frame(1), wire.frame(1))
        system.clamp(
            upper.add_frame(f"hook {name}", Pose.dxdydz(0.0, y, 0.002) @ inwards), wire.frame(0)
        )
    for name, (x, y) in CORNERS.items():
        wire = mse.Wire(f"wire {name}", length=LOWER_WIRE[0], radius=LOWER_WIRE[1], **WIRE_STEEL)
        system.add(
            wire, between=(mirror @ Pose.dxdydz(x, y, 0.002), upper @ Pose.dxdydz(x, y, -0.002))
        )
    for name, body in (("upper", upper), ("mirror", mirror)):
        sensor = system.add(mse.PositionSensor(f"at {name}"))
        system.clamp(body.frame("center"), sensor.frame(0))
        system.clamp(system.ground, sensor.frame(1))
    return system


working_point = build().find_working_point()
print(working_point)

# %%
# The blades came out flat, and nothing is turned.
for name in TIPS:
    slope = np.degrees(np.arcsin(working_point.poses[f"blade {name}.1"].U[2, 0]))
    stress = working_point.system[f"blade {name}"].internal_forces(working_point).largest[0]
    print(f"blade {name}: flat within {abs(slope):.1g} deg, stress {stress / 1e6:.0f} MPa")

# %%
# Twelve modes move the two masses. Those of the blades themselves lie above.
linear = working_point.linearize()
modes = linear.modes(12)
print(modes)


def swings() -> np.ndarray:
    """Two frequencies along y (Hz): the textbook's double pendulum."""
    z = [
        working_point.poses[name].o[2]
        for name in ("wire left.1", "wire left.0", "wire a.1", "wire a.0")
    ]
    l1, l2 = z[0] - z[1], z[2] - z[3]
    share = MASSES["upper"] / sum(MASSES.values())
    squares = np.roots([share * l1 * l2, -GRAVITY * (l1 + l2), GRAVITY**2])
    return np.sort(np.sqrt(squares)) / (2 * np.pi)


def bounces() -> np.ndarray:
    """Two vertical frequencies (Hz): blades and wires in series, without the mass of the blades."""
    s = (np.arange(2000) + 0.5) * LENGTH / 2000
    width = WIDTH[0] + (WIDTH[1] - WIDTH[0]) * s / LENGTH
    blade = 1 / np.mean(
        (LENGTH - s) ** 2 / (MARAGING["young_modulus"] * width * HEIGHT**3 / 12) * LENGTH
    )
    system = working_point.system
    k1 = 2 / (1 / blade + 1 / system["wire left"].axial_stiffness)
    k2 = 4 * system["wire a"].axial_stiffness
    squares = eigh([[k1 + k2, -k2], [-k2, k2]], np.diag(list(MASSES.values())), eigvals_only=True)
    return np.sqrt(squares) / (2 * np.pi)


for axis, found in (("y", swings()), ("z", bounces())):
    print(f"along {axis} by hand: {found[0]:.4f} and {found[1]:.4f} Hz")

# %%
# From the base to the mirror: above both resonances as :math:`f^{-4}`, along the light and vertically.
bending = [f"blade {name}" for name in TIPS]
response = linear.frequency_response(
    np.geomspace(0.1, 100.0, 1500),
    inputs=["base.x", "base.y", "base.z"],
    loss=dict.fromkeys(bending, 1e-3),
)
figure = response.plot(pairs=[(f"at mirror.{c}", f"base.{c}") for c in "xyz"])
figure

# %%
# In three dimensions: twelve modes, from the pitch of both masses to their roll at 27 Hz.
shape = working_point.plot(modes=modes, number=2)
working_point.view(modes=modes)

# sphinx_gallery_thumbnail_number = -1
