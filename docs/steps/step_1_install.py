"""
1. Install
==========

mse needs Python 3.11 or newer. In a folder with its sources:

.. code-block:: text

    python3 -m venv .venv
    .venv/bin/pip install ".[plot]"
    .venv/bin/mse demo

(On Windows the programs are in ``.venv\\Scripts``.) The last line builds a pendulum, prints its working point and
modes, and draws its transfer function into ``pendulum_transfer_function.png``. With that, all is there.

NumPy, SciPy and Numba are installed along. Pictures need the extra ``plot``; what needs another one says so, with the
line that installs it. With the extra ``progress``, bars of tqdm show on a terminal how far long calls are. Nothing asks the
network once it is installed.
"""

# %%
# First use
# ---------
# In Python, or in a cell of a notebook:
import mse

print("mse", mse.__version__)

# %%
# Loops over many elements are compiled for your machine when they are first needed, which takes some seconds each and
# is told; the next run finds them on disk. If this takes longer than a few seconds, it is that.
system = mse.MSystem("A mass on a spring", gravity=(0, 0, -9.81))
mass = system.add(mse.RigidBody("mass", mass=2.0, at=mse.Pose.dz(-0.1)))
spring = system.add(
    mse.Spring("spring", length=0.1, stiffness=1000.0), between=(mass, system.ground)
)
working_point = system.find_working_point()
print(working_point)

# %%
# The spring is longer by m g/k = 19.62 mm than it is at rest, and so the mass is at z = -0.11962 m.
#
# Help
# ----
# ``help(mse.Spring)`` tells the law of an element, its parameters with units and limits, and shows a call
# that runs. In a notebook, ``Tab`` completes the names of methods. Errors say what is wrong, what was expected, and
# what to do:
try:
    mse.Spring("spring", lenght=0.1)
except mse.MseError as error:
    print(error)

# %%
# All quantities are in SI units: m, kg, s, N, rad, Pa; frequencies in Hz.
#
# Next: :doc:`step_2_first_pendulum`.
