"""Pictures of results with matplotlib (extra ``plot``), called by ``result.plot()``; one module for each subject."""

# each registers the results that it draws
from ...results import draw as draw
from . import accuracy, beam, equilibria, frequency, geometry, loops, matrices, modes, motions, noise, time  # noqa: F401
from .frequency import bode as bode
