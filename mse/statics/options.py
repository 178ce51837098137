"""Options of the search for the working point."""

from __future__ import annotations

from dataclasses import dataclass

from ..validation.arguments import number


@dataclass(frozen=True)
class SearchOptions:
    """Options of a search: ``system.find_working_point(options=mse.SearchOptions(initial_strength=0.01))``.

    Parameters
    ----------
    initial_strength : float
        First factor on all elastic forces, above 0 and at most 1.  A value below 1 starts the search with weaker elastic forces
        and raises them step by step (manual 2.8), which helps from rough initial poses.

    Raises
    ------
    ModelError
        A value is out of bounds.

    Examples
    --------
    >>> stage = mse.MSystem("stage")
    >>> mass = stage.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=mse.Pose.dz(-0.2)))
    >>> spring = stage.add(mse.Spring("spring", length=0.5, stiffness=1e4), between=(stage.ground, mass))
    >>> point = stage.find_working_point(options=mse.SearchOptions(initial_strength=0.01))
    >>> print(point.converged, f"{point.poses['mass.center'].o[2]:.6f} m")
    True -0.500980 m
    """

    initial_strength: float = 1.0

    def __post_init__(self):
        strength = number("SearchOptions", "initial_strength", self.initial_strength, above=0.0, maximum=1.0)
        object.__setattr__(self, "initial_strength", strength)
