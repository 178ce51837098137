"""
KAGRA's type Bp beside another program
======================================

A suspension of the gravitational-wave detector KAGRA (type Bp, power recycling mirror), beside another program's
answers.

Six bodies hang in a tree on 16 wires, two of these from vertical springs (geometric anti-springs, "GAS"). Parameters
and answers are in :download:`kagra_type_bp.json`, which belongs beside the script. SUMCON, the other program, has two
laws that are not mse's:

* its wires are twisted by the difference in yaw of their ends, not about their own direction as a wire of mse is;
* its kinetic energy is that of rigid bodies only where nothing is pitched or yawed, and here three bodies hang at 2.5
  degrees.

``build(as_sumcon=True)`` has these laws, and all 36 frequencies agree to 1e-7. ``build()`` has mse's own: what is
pitched by p then moves at frequencies that differ by up to :math:`p^2/2 = 10^{-3}`, a quarter of that by the wires.
World axes are SUMCON's: y up; pitch, yaw and roll about x, y and z.
"""

import json
from pathlib import Path

import numpy as np

import mse
from mse import Pose
from mse.elements.base import Frame
from mse.elements.parameters import Real
from mse.tools.figures import new_figure

HERE = Path(__file__).parent if "__file__" in globals() else Path()  # a notebook is no file
DATA = json.loads((HERE / "kagra_type_bp.json").read_text())
GRAVITY = 9.81
RESPONSE = "tf_yBR_minus_yF2_per_FyBR_minus_FyF2_m_per_N"


def angles(U):
    """Pitch, yaw and roll of ``U = Rz(roll) Ry(yaw) Rx(pitch)``."""
    yaw = np.arctan2(-U[2, 0], np.sqrt(U[0, 0] ** 2 + U[1, 0] ** 2))
    return np.arctan2(U[2, 1], U[2, 2]), yaw, np.arctan2(U[1, 0], U[0, 0])


# %%
# The other program's laws, as elements of one's own.


class YawTorsion(mse.MObject):
    """``W = k/2 (yaw1 - yaw0)^2``: the torsion of SUMCON's wires."""

    stiffness = Real("torque per difference of yaw", unit="N m/rad", default=0.0, minimum=0.0)

    def energy(self, frames, q):
        return 0.5 * self.stiffness * (angles(frames[1].U)[1] - angles(frames[0].U)[1]) ** 2


class SumconBody(mse.RigidBody):
    """A body with SUMCON's energy of rotation, ``omegaIB`` in its visUtil.m.

    It is ``(P r')^T J (P r')/2``, r = (pitch, yaw, roll).

    P r' stands where the angular velocity along the body's axes should.  At a pitch p it takes
    pitch' for (cos p, sin p, 0) and roll' for (0, 0, 1), which are (1, 0, 0) and
    (0, sin p, cos p).
    """

    def mass_matrix(self, frames, q=()):
        pitch, yaw, roll = angles(frames[0].U)
        cp, sp, cy, sy = np.cos(pitch), np.sin(pitch), np.cos(yaw), np.sin(yaw)
        P = np.array([[cy * cp, 0.0, 0.0], [cy * sp, cp, 0.0], [-sy, -sp, 1.0]])
        # mse's coordinates are rotations about world axes, and these are what r' is about
        axes = np.column_stack(
            [(Pose.rz(roll) @ Pose.ry(yaw)).U[:, 0], Pose.rz(roll).U[:, 1], (0.0, 0.0, 1.0)]
        )
        P = P @ np.linalg.inv(axes)
        m = super().mass_matrix(frames)
        m[3:, 3:] = P.T @ self.inertia @ P
        return m


class Wand(mse.MObject):
    """``T = m y0' y1'``: left of the mass of a balanced lever ("magic wand") between two stages."""

    mass = Real("mass that couples the two vertical motions", unit="kg", default=0.0)

    def mass_matrix(self, frames, q=()):
        m = np.zeros((12, 12))
        m[1, 7] = m[7, 1] = self.mass
        return m


# %%
# The suspension. Nothing in it needs a place: wires and joints put the bodies where they belong.


def build(as_sumcon: bool = False) -> mse.MSystem:
    """The suspension, a coil and a sensor between its first two stages; nothing needs a place."""
    system = mse.MSystem("KAGRA type Bp", gravity=(0.0, -GRAVITY, 0.0))
    center = {"g": system.ground}
    for name, given in DATA["bodies"].items():
        center[name] = system.add(
            (SumconBody if as_sumcon else mse.RigidBody)(name, **given)
        ).frame("center")
    springs = {v["wire"]: v for v in DATA["vspr"]}
    for w in DATA["wires"]:
        upper, lower = center[w["bodyA"]], center[w["bodyB"]]
        # a stiff wire pulls like an ideal string between points at its bending length
        # from the clamps
        stiffness = (
            DATA["materials"][w["material"]]["young_modulus"] * np.pi * w["neck_diam_m"] ** 4 / 64
        )
        bend = np.sqrt(stiffness / w["tension_N"])
        top, bottom = (
            Pose(np.add(w[f"pos{end}_m"], np.multiply(bend, w[f"dir{end}"]))) for end in "AB"
        )
        wire = add_wire(system, w, w["length_m"] - 2 * bend, as_sumcon)
        if w["name"] in springs:
            system.clamp(add_spring(system, springs[w["name"]], upper, lower, top), wire.frame(0))
        else:
            clamp(system, upper, wire.frame(0), top)
        clamp(system, lower, wire.frame(1), bottom)
    coil, lvdt = system.add(mse.ForceActuator("coil")), system.add(mse.PositionSensor("lvdt"))
    system.clamp(center["F2"], coil.frame(0))
    system.clamp(center["BR"], coil.frame(1))
    system.clamp(center["F2"], lvdt.frame(1))
    system.clamp(center["BR"], lvdt.frame(0))
    return system


def add_wire(system: mse.MSystem, w: dict, length: float, as_sumcon: bool) -> mse.MObject:
    """A string and a torsion, or the wire of one section with the same stiffnesses.

    Real ones are thinner at their ends.
    """
    axial, torsional, nu = (
        w["ks_N_per_m"],
        w["kt_Nm_per_rad"],
        DATA["materials"][w["material"]]["poisson_ratio"],
    )
    if as_sumcon:
        string = system.add(mse.Spring(w["name"], length=length, stiffness=axial))
        torsion = system.add(YawTorsion(f"{w['name']} torsion", stiffness=torsional))
        for end in (0, 1):
            system.clamp(string.frame(end), torsion.frame(end))
        return string
    radius = np.sqrt(4 * (1 + nu) * torsional / axial)
    elastic = {"young_modulus": axial * length / (np.pi * radius**2), "poisson_ratio": nu}
    return system.add(mse.Wire(w["name"], length=length, radius=radius, **elastic))


def add_spring(system: mse.MSystem, given: dict, upper: Frame, lower: Frame, top: Pose) -> Frame:
    """A slide at ``top`` of the body above, and a wand to the one below; where the wire begins."""
    name, preload = given["name"], given["preload_N"]
    slide = system.add(
        mse.Prismatic(name, axis=given["dir"], stiffness=given["k_N_per_m"], preload=preload)
    )
    wand = system.add(Wand(f"{name} wand", mass=10 ** (given["wand_dB"] / 20) * preload / GRAVITY))
    clamp(system, upper, slide.frame(1), top)
    system.clamp(upper, wand.frame(0))
    system.clamp(lower, wand.frame(1))
    return slide.frame(0)


def clamp(system: mse.MSystem, body: Frame, frame: Frame, pose: Pose) -> None:
    """Clamp ``frame`` at ``pose`` on a body, by a frame that pictures show, or on the ground."""
    if isinstance(body.owner, mse.RigidBody):
        system.clamp(body.owner.add_frame(f"clamp of {frame.owner.name}", pose), frame)
    else:
        system.clamp(body, frame, pose)


def vertical_response(working_point, frequencies: np.ndarray) -> np.ndarray:
    """``(yBR - yF2)/(FyBR - FyF2)`` in m/N, with the structural loss of springs and wires.

    SUMCON's wires also lose by bending, which adds loss to their pendulum stiffness.  Those here
    are strings, and tension loses nothing; vertically that does not show.
    """
    linear = working_point.linearize()
    loss = {v["name"]: 1 / v["Q"] for v in DATA["vspr"]}
    material = {w["name"]: w["material"] for w in DATA["wires"]}
    for name in {owner for owner, _ in linear.parts}:
        wire = name.removesuffix(" torsion")
        if wire in material:
            loss[name] = DATA["materials"][material[wire]]["loss"]
    return linear.frequency_response(frequencies, inputs=["coil.fy"], loss=loss)[
        "lvdt.y", "coil.fy"
    ]


def reference_response() -> tuple[np.ndarray, np.ndarray]:
    """Frequencies (Hz) and what SUMCON found there (m/N)."""
    found = DATA[RESPONSE]
    return np.array(found["f_hz"]), np.array(found["re"]) + 1j * np.array(found["im"])


# %%
# By the other program's laws, and by mse's own.
like, own = (build(as_sumcon).find_working_point() for as_sumcon in (True, False))
places = np.array(
    [np.append(p.o, angles(p.U)) for p in (like.poses[f"{b}.center"] for b in DATA["bodies"])]
)
print(f"{like.system.name}: {own.history.tried} steps, {'stable' if own.stable else 'UNSTABLE'}")
print(
    "positions and angles: within "
    f"{np.abs(places.ravel() - DATA['equilibrium']).max():.1e} m, rad of SUMCON's"
)

# %%
# All 36 frequencies.
reference, modes = np.array(DATA["mode_hz"]), own.linearize().modes()
same = like.linearize().modes().frequencies_hz
print(" SUMCON (Hz)  its laws in mse   mse's own laws  what moves")
for k, (f, f1, f2) in enumerate(zip(reference, same, modes.frequencies_hz, strict=True)):
    print(
        f"{f:12.7f} {f1:12.7f} {f1 / f - 1:+.0e} {f2:10.5f} {f2 / f - 1:+.0e}  "
        f"{modes[k].participants()}"
    )
apart = (abs(found / reference - 1).max() for found in (same, modes.frequencies_hz))
print("apart by at most {:.0e} and {:.0e}".format(*apart))

# %%
# The vertical response between two of its stages.
f, reference = reference_response()
error = abs(vertical_response(own, f) / reference - 1).max()
print(
    f"vertical response of BR against F2: within {error:.0e} of SUMCON's "
    f"from {f[0]:g} to {f[-1]:g} Hz"
)


def picture(working_point):
    """The suspension at its working point, and the vertical response with SUMCON's on top."""
    figure = new_figure(13.0, 7.0)
    left, right = figure.subfigures(1, 2)
    scene = left.add_subplot(projection="3d")
    # before the plot, which shapes its box for what is up
    scene.view_init(elev=15, azim=25, vertical_axis="y")
    working_point.plot(ax=scene, frames=False)
    f, (some, reference) = np.geomspace(0.01, 100.0, 2000), reference_response()
    response = vertical_response(working_point, f)
    magnitude, phase = right.subplots(2, 1, sharex=True)
    magnitude.loglog(f, np.abs(response), label="mse")
    magnitude.loglog(some, np.abs(reference), "k.", label="SUMCON")
    magnitude.set(ylabel="magnitude (m/N)", title="(y BR - y F2)/(F BR - F F2)")
    magnitude.legend(fontsize="small")
    phase.semilogx(f, np.degrees(np.angle(response)))
    phase.semilogx(some, np.degrees(np.angle(reference)), "k.")
    phase.set(xlabel="frequency (Hz)", ylabel="phase (deg)", xlim=(f[0], f[-1]))
    for axes in (magnitude, phase):
        axes.grid(True, alpha=0.4)
    return figure


figure = picture(own)
figure

# %%
# In three dimensions: all 36 modes. What hangs here has y upwards.
shape = own.plot(modes=modes, number=0)
own.view(modes=modes)

# sphinx_gallery_thumbnail_number = -1
