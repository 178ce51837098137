r"""
Violin modes of a suspension wire
=================================

A mass of 10 kg on a meter of steel wire, its violin modes, and what damps them.

A wire under the tension T rings at about :math:`\frac{n}{2 L} \sqrt{T/\mu}`. Its stiffness against bending matters in
zones of the length :math:`\lambda = \sqrt{E I/T}` at its clamped ends, 3.6 mm here: it raises the frequencies by
:math:`1 + 2 \lambda/L`, and it alone loses energy, for tension does not. So a mode has only the share :math:`2
\lambda/L\,(1 + n^2 \pi^2 \lambda/2L)` of the loss of the material: dilution (G. Gonzalez, Class. Quantum Grav. 17
(2000) 4409).

``form="exact"`` has all of this in one element. Elements of a beam must be short in the zones at the ends, too; those
much longer than :math:`\lambda` get the frequencies of low modes about right, too low ones for high modes, and half
of the loss.
"""

import numpy as np

import mse
from mse import Pose
from mse.tools.figures import COLORS, new_figure

# %%
# A wire that hangs from a support: its x is along it, downwards.
MASS, GRAVITY, LENGTH, RADIUS = 10.0, 9.81, 1.0, 3e-4  # kg, m/s2, m, m
STEEL = {"young_modulus": 2e11, "poisson_ratio": 0.3, "density": 7800.0}
LOSS = 1e-4  # loss angle of the wire's material

TENSION = MASS * GRAVITY
BENDING_ZONE = np.sqrt(STEEL["young_modulus"] * np.pi * RADIUS**4 / 4 / TENSION)  # m
# Hz, lowest mode of an ideal string
STRING = np.sqrt(TENSION / (STEEL["density"] * np.pi * RADIUS**2)) / (2 * LENGTH)


def build(form: str = "exact", elements: int = 1, graded: bool = False) -> mse.MSystem:
    """The mass on its wire, from a support that moves; ``graded`` divides its ends more finely."""
    system = mse.MSystem("Violin modes", gravity=(0, 0, -GRAVITY))
    support, probe = (
        system.add(mse.PositionActuator("support")),
        system.add(mse.PositionSensor("probe")),
    )
    near = BENDING_ZONE * np.array([1, 2, 4, 8, 16]) if graded else []
    stations = {f"top {k}": s for k, s in enumerate(near)} | {
        f"low {k}": LENGTH - s for k, s in enumerate(near)
    }
    wire = mse.RoundBeam(
        "wire",
        length=LENGTH,
        radius=RADIUS,
        form=form,
        elements=elements,
        stations=stations,
        **STEEL,
    )
    mass = system.add(mse.RigidBody("mass", mass=MASS, inertia=0.02, shape=mse.Sphere(0.05)))
    system.clamp(system.ground, support.frame(1))
    down = Pose.ry(np.pi / 2)  # x of the wire is along it
    system.add(wire, between=(support.frame(0) @ down, mass @ down))
    system.clamp(mass.frame("center"), probe.frame(0))
    system.clamp(system.ground, probe.frame(1))
    return system


def violin_frequencies(linear, count: int) -> np.ndarray:
    """Frequencies (Hz) of ``count`` violin modes; each comes twice, along x and along y."""
    f = linear.modes(2 * count + 6).frequencies_hz
    # the six motions of the mass on its wire lie far below
    return f[f > 0.5 * STRING][: 2 * count : 2]


def dilution(linear, frequency: float, number: int) -> tuple[float, float]:
    """Loss of a mode over the material's: from the width of its peak, and by theory."""
    theory = 2 * BENDING_ZONE / LENGTH * (1 + (number * np.pi) ** 2 * BENDING_ZONE / (2 * LENGTH))
    f = frequency * (1 + theory * LOSS * np.linspace(-2, 2, 201))
    power = (
        np.abs(
            linear.frequency_response(f, inputs=["support.x"], loss={"wire": LOSS})[
                "probe.x", "support.x"
            ]
        )
        ** 2
    )
    top = int(np.argmax(power))
    half = power[top] / 2
    left, right = np.interp(half, power[:top], f[:top]), np.interp(-half, -power[top:], f[top:])
    return (right - left) / frequency / LOSS, theory


def convergence(exact: np.ndarray, graded: bool) -> dict[int, np.ndarray]:
    """Relative error of the violin frequencies by the number of elements of the wire."""
    found = {}
    for elements in (8, 16, 32, 64, 128):
        system = build("elements", elements, graded)
        f = violin_frequencies(system.find_working_point().linearize(), len(exact))
        found[len(system["wire"].nodes()) - 1] = f / exact - 1
    return found


# %%
# The working point, and the modes of the mass on its wire.
working_point = build().find_working_point()
print(working_point)
linear = working_point.linearize()
modes = linear.modes(8)
print(modes)

# %%
# Violin modes against the ideal string, and how much of the material's loss they have.
exact = violin_frequencies(linear, 10)
diluted = [dilution(linear, f, n) for n, f in enumerate(exact, 1)]
print(
    f"ideal string {STRING:.4f} Hz n, bending zone {1e3 * BENDING_ZONE:.3f} mm, loss angle {LOSS:g}"
)
print("  n   exact (Hz)   over string   dilution   its theory            Q")
for n, (f, (share, theory)) in enumerate(zip(exact, diluted, strict=True), 1):
    print(
        f"{n:3d} {f:12.4f} {f / (n * STRING):13.6f} "
        f"{share:10.3e} {theory:12.3e} {1 / (share * LOSS):12.3e}"
    )

# %%
# How elements converge to the exact wire, of one length and finer at the ends.
print("elements against the exact wire: relative error of modes 1, 3 and 10")
errors = {graded: convergence(exact, graded) for graded in (False, True)}
for graded, found in errors.items():
    print("finer at the ends" if graded else "all of one length")
    for elements, error in found.items():
        print(f"{elements:6d} {error[0]:12.2e} {error[2]:12.2e} {error[9]:12.2e}")


def picture(linear, exact: np.ndarray, diluted: list, errors: dict):
    """From support to mass, how elements converge, and the dilution of the loss."""
    figure = new_figure(13.0, 7.0)
    left, right = figure.subfigures(1, 2)
    (whole, violins), (error, share) = left.subplots(2, 1), right.subplots(2, 1)
    coarse = build("elements", 16).find_working_point().linearize()
    for name, model, style in (("exact", linear, "-"), ("16 elements", coarse, "--")):
        # peaks of a millionth of their frequency need points of their own
        peaks = np.unique(np.round(model.modes(26).frequencies_hz, 9))  # most come twice
        close = np.geomspace(1e-7, 1e-2, 12)
        around = np.multiply.outer(
            peaks[peaks < 1100], 1 + np.concatenate([-close, [0.0], close])
        ).ravel()
        f = np.unique(np.concatenate([np.geomspace(0.1, 1100, 400), around[around > 0.1]]))
        h = model.frequency_response(
            f, inputs=["support.x"], outputs=["probe.x"], loss={"wire": LOSS}
        )
        for axes in (whole, violins):
            axes.plot(f, np.abs(h["probe.x", "support.x"]), style, label=name, linewidth=1.2)
    whole.set(xscale="log", yscale="log", xlim=(0.1, 1100), title="from the support to the mass")
    violins.set(yscale="log", xlim=(50, 1100), ylim=(5e-6, 2e2), xlabel="frequency (Hz)")
    number = np.arange(1, len(exact) + 1)
    for graded, found in errors.items():
        label, style = ("finer at the ends", "s--") if graded else ("all of one length", "o-")
        for k in (0, 9):
            sizes = [abs(e[k]) for e in found.values()]
            error.loglog(
                list(found), sizes, style, color=COLORS[k // 9], label=f"mode {k + 1}, {label}"
            )
    error.set(
        xlabel="number of elements",
        ylabel="relative error",
        title="violin frequencies against form='exact'",
    )
    share.plot(number, [d[0] for d in diluted], "o", label="width of the peak")
    share.plot(number, [d[1] for d in diluted], "-", color="gray", label="theory")
    share.set(
        xlabel="number of the mode",
        ylabel="loss over the material's",
        ylim=(0, None),
        xticks=number,
    )
    share.set_title("dilution")
    for axes in (whole, violins):
        axes.set_ylabel("mass.x / support.x")
    for axes in (whole, violins, error, share):
        axes.grid(True, alpha=0.4)
        axes.legend(fontsize="small")
    return figure


figure = picture(linear, exact, diluted, errors)
figure

# %%
# In three dimensions: the modes of the mass on its wire.
shape = working_point.plot(modes=modes, number=1)
working_point.view(modes=modes)

# sphinx_gallery_thumbnail_number = -1
