r"""
A pre-isolator with its noise budget
====================================

Three legs on flexures and a geometric anti-spring: the first stage of a seismic isolator, and what limits it.

A leg of mass m and length L under its share M of the load is an inverted pendulum. A ``Revolute`` or ``Universal``
joint with the stiffness :math:`\kappa` of its flexure is all that it takes; weight does the rest:

.. math:: \omega^2 = \frac{\kappa - (M + m/2)\,g L}{(M + m/3)\,L^2}, \qquad
          \frac{1}{Q} = \phi\,\frac{\kappa}{\kappa - (M + m/2)\,g L}.

At high frequencies the table follows its base by :math:`-m/(6 M + 2 m)`: the legs' own mass turns about their centers
of percussion. Vertically a ``GasSpring`` carries the payload: a stiffness k that blades in compression have nearly
taken away, a loss 1/Q, and the mass :math:`\mu` of its wand, so that

.. math:: \frac{y_1}{y_0} = \frac{k (1 + i/Q) + \mu\,\omega^2}{k (1 + i/Q) - m\,\omega^2}.
"""

import numpy as np

import mse
from mse import Pose
from mse.tools.figures import new_figure

GRAVITY = 9.81
LEG, HEIGHT, FLEXURE, LOSS = 0.5, 0.45, 160.0, 1e-3  # kg, m, N m/rad, loss factor of maraging steel
TABLE, PAYLOAD, NET, QUALITY, WAND = 40.0, 60.0, 300.0, 30.0, -0.02  # kg, kg, N/m, 1, kg

# %%
# Legs stand on the ground, which moves; their heads hold the table. The payload hangs from the keystone of the
# anti-spring in the middle of the table, guided by a slide.


def build() -> mse.MSystem:
    """Ground, three legs, table, anti-spring and payload, and a sensor of the payload."""
    system = mse.MSystem("Pre-isolator", gravity=(0, 0, -GRAVITY))
    ground = system.add(mse.PositionActuator("ground"))
    system.clamp(system.ground, ground.frame(1))
    table = system.add(
        mse.RigidBody(
            "table", mass=TABLE, shape=mse.Cylinder(0.5, 0.05), at=Pose.dxdydz(0, 0, HEIGHT)
        )
    )
    for k in range(3):
        place = Pose.rz(2 * np.pi * k / 3) @ Pose.dx(0.4)
        leg = system.add(
            mse.RigidBody(
                f"leg{k}",
                mass=LEG,
                inertia=(LEG * HEIGHT**2 / 12,) * 2 + (1e-4,),
                frames={"foot": Pose.dz(-HEIGHT / 2), "head": Pose.dz(HEIGHT / 2)},
            )
        )
        foot = mse.Universal(f"foot{k}", stiffness=(FLEXURE, FLEXURE), loss=LOSS)
        system.add(foot, between=(leg.frame("foot"), ground.frame(0) @ place))
        head = mse.Spherical(f"head{k}")
        system.add(head, between=(leg.frame("head"), table.frame("center") @ place))
    payload = system.add(mse.RigidBody("payload", mass=PAYLOAD, inertia=0.5))
    system.add(mse.Prismatic("guide"), between=(payload, table))
    gas = mse.GasSpring(
        "gas", stiffness=NET, preload=PAYLOAD * GRAVITY, loss=1 / QUALITY, wand=WAND
    )
    system.add(gas, between=(payload, table))
    system.add(mse.PositionSensor("probe"), between=(payload, system.ground))
    return system


working_point = build().find_working_point()
linear = working_point.linearize()
modes = linear.modes(lossy=True)
print(modes)

# %%
# By hand: each leg carries a third of all that is above it.
share = (TABLE + PAYLOAD) / 3
left = FLEXURE - (share + LEG / 2) * GRAVITY * HEIGHT
swing = np.sqrt(left / ((share + LEG / 3) * HEIGHT**2)) / (2 * np.pi)
table_modes = [m for m in modes if "payload.z" not in m.participants(1)]
found = min(table_modes, key=lambda m: abs(m.frequency_hz - swing))
print(f"swing {found.frequency_hz:.5f} Hz, Q {found.quality:.2f}")
quality = left / (LOSS * FLEXURE)
# a loss makes |s| longer than the frequency without it
print(f"by hand {swing * (1 + quality**-2) ** 0.25:.5f} Hz, Q {quality:.2f}")

# %%
# What of the ground's motion reaches the payload, compared with the formulas.
f = np.geomspace(0.02, 100.0, 800)
w2 = (2 * np.pi * f) ** 2
response = linear.frequency_response(f, inputs=["ground.x", "ground.z"])
k = NET * (1 + 1j / QUALITY)
vertical = (k + WAND * w2) / (k - PAYLOAD * w2)
kappa = FLEXURE * (1 + 1j * LOSS) - (share + LEG / 2) * GRAVITY * HEIGHT
horizontal = 1 + w2 * (share + LEG / 2) * HEIGHT**2 / (kappa - w2 * (share + LEG / 3) * HEIGHT**2)
apart = (
    abs(response["probe.x", "ground.x"] / horizontal - 1).max(),
    abs(response["probe.z", "ground.z"] / vertical - 1).max(),
)
print("responses by hand: apart by at most {:.0e} and {:.0e}".format(*apart))
print(f"the legs leave {-LEG / (6 * share + 2 * LEG):.2e} of the ground's motion at high frequency")

# %%
# The budget: the ground of a quiet site, and the thermal noise of flexures and of the anti-spring.


def seismic(f: np.ndarray) -> np.ndarray:
    """Displacement of the ground, m/rtHz: flat below 1 Hz, falling as f^-2 above."""
    return 1e-7 / (1.0 + f**2)


budgets = {
    axis: linear.noise(f, f"probe.{axis}", inputs={"ground.x": seismic, "ground.z": seismic})
    for axis in "xz"
}
for axis, budget in budgets.items():
    at = np.argmin(abs(f - 10.0))
    parts = sorted(budget.by("object").items(), key=lambda item: -item[1][at])[:3]
    told = ", ".join(f"{name} {values[at]:.1e}" for name, values in parts)
    print(f"{axis} at 10 Hz: {budget.total[at]:.2e} m/rtHz, of which {told}")


def picture():
    """Both budgets, one above the other."""
    figure = new_figure(9.0, 9.0)
    for part, budget in zip(figure.subfigures(2, 1), budgets.values(), strict=True):
        budget.plot(figure=part, rms=False)
    return figure


figure = picture()
figure

# %%
# In three dimensions.
shape = working_point.plot(modes=modes, number=0)
working_point.view(modes=modes)

# sphinx_gallery_thumbnail_number = -1
