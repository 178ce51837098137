"""
1. Install
==========

mse needs Python 3.11 or newer. In a folder with its sources:

.. code-block:: text

    python3 -m venv .venv
    .venv/bin/pip install ".[plot]"
    .venv/bin/mse demo

(On Windows the programs are in ``.venv\\Scripts``.) The last line tests the installation: it builds a pendulum,
prints its working point and modes, and draws its transfer function into ``pendulum_transfer_function.png``.

NumPy, SciPy and Numba are installed as well. Pictures need the extra ``plot``. If a call needs another extra, the
error has the line that installs it. With the extra ``progress``, long calls show progress bars of tqdm. Once
installed, mse never uses the network.
"""

# %%
# First use
# ---------
# In Python, or in a cell of a notebook:
import mse

print("mse", mse.__version__)

# %%
# At the first use, mse compiles its numerical code for your machine. That may take some seconds; the next run finds
# the code on disk.
system = mse.MSystem("A mass on a spring", gravity=(0, 0, -9.81))
mass = system.add(mse.RigidBody("mass", mass=2.0, at=mse.Pose.dz(-0.1)))
spring = system.add(
    mse.Spring("spring", length=0.1, stiffness=1000.0), between=(mass, system.ground)
)
working_point = system.find_working_point()
print(working_point)

# %%
# The spring is stretched by m g/k = 19.62 mm, so the mass is at z = -0.11962 m.
#
# Help
# ----
# ``help(mse.Spring)`` shows the law of an element, its parameters with units and limits, and an example. In a
# notebook, ``Tab`` completes the names of methods. Errors say what is wrong, what was expected, and what to do:
try:
    mse.Spring("spring", lenght=0.1)
except mse.MseError as error:
    print(error)

# %%
# All quantities are in SI units: m, kg, s, N, rad, Pa; frequencies in Hz.
#
# Next: :doc:`step_2_first_pendulum`.
