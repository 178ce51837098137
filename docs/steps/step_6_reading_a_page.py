"""
6. Reading a page
=================

Every working point can be shown in three dimensions: in a notebook by ``view``, as a file by ``to_html``. The file
contains everything; any browser opens it, without a network and without Python, so you can send it to a colleague.
Here a mirror hangs from a blade by a wire.
"""

import tempfile
from pathlib import Path

import numpy as np

import mse
from mse import Pose

system = mse.MSystem("Mirror on a blade", gravity=(0, 0, -9.81))
blade = system.add(
    mse.Beam("blade", length=0.2, width=(0.04, 0.012), height=0.0022, curvature_y=-1.6, elements=6)
)
wire = system.add(mse.Wire("wire", length=0.3, radius=2e-4, young_modulus=2e11, poisson_ratio=0.3))
mirror = mse.RigidBody(
    "mirror",
    shape=mse.Cylinder(0.06, 0.05, at=Pose.ry(np.pi / 2)),
    density=2200.0,
    frames={"hook": Pose.dz(0.06)},
)
system.add(mirror)
system.clamp(system.ground, blade.frame(0))
system.clamp(blade.frame(1), wire.frame(1))
system.clamp(mirror.frame("hook"), wire.frame(0))
coil, probe = system.add(mse.ForceActuator("coil")), system.add(mse.PositionSensor("probe"))
for frame, link in ((1, coil), (0, probe)):
    system.clamp(mirror.frame("center"), link.frame(frame))
    system.clamp(system.ground, link.frame(1 - frame), Pose.dxdydz(0.2, 0.0, -0.36))

# %%
# First the words
# ---------------
# Before the picture, read the table: whether the working point is stable, its free motions, and the notes of the
# search.
working_point = system.find_working_point()
print(working_point)
print("free:", [motion.name for motion in working_point.free], "notes:", working_point.notes)

# %%
# A *free* motion costs no energy, and its frequency is zero: often a clamp or a stiffness was forgotten. Here nothing
# is free. Along an *unstable* motion the system falls over. In the table of modes the last column names the objects
# that move, with their shares of the kinetic energy.
linear = working_point.linearize()
modes = linear.modes(8)
print(modes)

# %%
# The page
# --------
# Besides modes the page takes a run in time (``history=``), a trace (``trace=``) and a second working point
# (``compare=``).
history = linear.simulate(
    duration=8.0, dt=0.02, inputs={"coil.fx": lambda t: 0.05 * np.sin(4.0 * t)}
)
working_point.view(modes=modes, history=history)

# %%
# * **Turn** it by dragging, **move** it with the right button, with Shift or with two fingers, and **zoom** with the
#   wheel after a click on the picture. Arrow keys turn it, ``+`` and ``-`` zoom; ``0`` returns to the first view.
# * **Choose a mode** in the list, or by ``n`` and ``p``; the list has its frequency and the objects that move.
#   Amplitudes are exaggerated, and the page gives the scale. The space bar stops the motion. Beams bend by their
#   shape functions.
# * **Click** an object, or its name, for its parameters, its pose and its loads. Where the line of a sensor runs
#   through a body, a click chooses the body.
# * **Names** shows the names of objects, in large systems hidden at first.
# * **Show** what you want to see: frames, clamps, loads, tensions, stress by color.
# * **The arrows** of actuators and sensors run from frame 0 to frame 1: for the coil, from the ground to the mirror.
# * **PNG** saves the view as a picture, with the names of the system and the mode below it.
#
# The same, as a file:
file = Path(tempfile.mkdtemp()) / "mirror_on_a_blade.html"
working_point.to_html(file, modes=modes, history=history)
print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")

# %%
# From here
# ---------
# Look for a model similar to yours among the :doc:`examples </gallery/index>`, for the element of a part in
# :doc:`/elements`, and for a call in :doc:`/how_to/index`.
