r"""
A torsion balance
=================

A dumbbell on a thin wire, as Cavendish had it: two spheres of tungsten hang on a meter of tungsten wire, and the weak
pull of two lead balls turns them. Nothing else that carries a weight is as soft as a wire against twist.

The wire resists twist by :math:`\kappa = \pi G r^4/2l`, so the balance turns with the frequency

.. math:: f = \frac{1}{2 \pi} \sqrt{\frac{\kappa}{I}}

and a torque :math:`\tau` turns it by :math:`\tau/\kappa`. (A round wire under the tension T has :math:`T r^2/2l` on
top, by what twisting lifts its outer fibers: 1.5 thousandths here. ``Wire`` is an ideal one and leaves it out.)
"""

import numpy as np

import mse
from mse import Pose

TUNGSTEN = {"young_modulus": 4.11e11, "poisson_ratio": 0.28}
LENGTH, RADIUS = 1.0, 25e-6  # m: the wire
SPHERE, ARM = 0.020, 0.080  # kg each, and m from the middle
FRAME, SLENDER = 0.010, 2.0e-6  # kg and kg m2: what holds the spheres, about any axis
LEAD, GAP = 1.5, 0.050  # kg each, and m between the centers of a lead ball and its sphere
GRAVITY = 9.81

# %%
# The dumbbell is one rigid body. About the vertical its inertia is that of the spheres and of what holds them. The wire
# is clamped to the ground by its frame 1, above, and to the body by its frame 0, below. Both ends have the axes of the
# world: ends that are turned against each other would twist the wire.
#
# Signs: frame 0 of an actuator pushes frame 1, and a sensor reads its frame 0. So the dumbbell is frame 1 of the torque
# and frame 0 of the sensor; a positive torque then turns it by a positive angle.


def build() -> mse.MSystem:
    """The balance in thin air, a torque that acts on it, and a sensor of its angle."""
    system = mse.MSystem("Torsion balance", gravity=(0, 0, -GRAVITY))
    hook, around = Pose.dz(0.015), 2 * SPHERE * ARM**2
    dumbbell = system.add(
        mse.RigidBody(
            "dumbbell",
            mass=2 * SPHERE + FRAME,
            inertia=(SLENDER, SLENDER + around, SLENDER + around),
            frames={"hook": hook},
            shape=mse.Cylinder(0.006, 2 * ARM, at=Pose.ry(np.pi / 2)),
        )
    )
    wire = system.add(mse.Wire("wire", length=LENGTH, radius=RADIUS, **TUNGSTEN))
    system.clamp(system.ground, wire.frame(1))
    system.clamp(dumbbell.frame("hook"), wire.frame(0))
    center = Pose.dz(-LENGTH - 0.015)
    for name, kind in (
        ("torque", mse.ForceActuator),
        ("angle", mse.PositionSensor),
        ("air", mse.Bushing),
    ):
        link = system.add(
            kind(
                name, **({"damping": (1e-4, 1e-4, 1e-4, 1e-7, 1e-7, 5e-7)} if name == "air" else {})
            )
        )
        mover, seat = (1, 0) if name == "torque" else (0, 1)
        system.clamp(dumbbell.frame("center"), link.frame(mover))
        system.clamp(system.ground, link.frame(seat), center)
    return system


working_point = build().find_working_point()
print(working_point)

# %%
# The slowest mode is the twist, then come the swings.
linear = working_point.linearize()
modes = linear.modes()
print(modes)
wire, dumbbell = working_point.system["wire"], working_point.system["dumbbell"]
kappa = wire.torsional_stiffness
by_hand = np.sqrt(kappa / dumbbell.inertia[2, 2]) / (2 * np.pi)
print(f"twist by hand: {by_hand:.9f} Hz, a period of {1 / by_hand:.1f} s")

# %%
# Two lead balls, one on each side, pull with G m M/d^2 at the arm. How far does that turn the balance?
torque = 2 * ARM * 6.674e-11 * SPHERE * LEAD / GAP**2
answer = (
    linear.frequency_response([0.0], inputs=["torque.tz"])["angle.az", "torque.tz"][0].real * torque
)
print(
    f"{torque:.3e} N m turn it by {1e3 * answer:.4f} mrad; by hand {1e3 * torque / kappa:.4f} mrad"
)

# %%
# Moved into place at once they leave it swinging for an hour, about the angle that is to be read.
history = linear.simulate(
    duration=3600.0, dt=1.0, inputs={"torque.tz": lambda t: torque}, outputs=["angle.az"]
)
figure = history.plot()
figure

# %%
# In three dimensions, with its modes and with the first hour.
shape = working_point.plot(modes=modes, number=0)
working_point.view(modes=modes, history=history)

# sphinx_gallery_thumbnail_number = -1
