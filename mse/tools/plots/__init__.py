"""Pictures of results with matplotlib (extra ``plot``), which ``result.plot()`` calls; a module for each subject."""

# each tells the registry which results it draws
from ...results import draw as draw
from . import accuracy, beam, equilibria, frequency, geometry, matrices, modes, noise, time  # noqa: F401
from .frequency import bode as bode
