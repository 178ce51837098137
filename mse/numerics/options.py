"""Sizes at which an algorithm changes; results change by rounding only.

Each is measured (`python benchmarks/run.py`, and the comments); tests set them to compare both sides.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Sizes:
    """All sizes in one object, :data:`SIZES`; they are read each time they are needed, so a new value counts at once.

    Attributes
    ----------
    dense : int
        Coordinates up to which matrices are factored, and eigenpairs found, densely: sparse methods are slower there.
    dense_modes : int
        Coordinates up to which all modes are computed at once.
    dense_eigenpairs : int
        Coordinates up to which all eigenpairs are found if no factor can count them.
    part : int
        Most coordinates of a part of a large model; free motions of all such parts are sought together.
    motions_sought : float
        Coordinates times the square of motions of little stiffness, up to which Lanczos seeks them all: about ten seconds.
    dense_states : int
        Coordinates up to which there is a state space; its matrices are dense.
    dense_independent : int
        Coordinates up to which constrained ones are transformed to independent ones.
    few_coordinates, few_frequencies : int
        Coordinates and frequencies up to which LAPACK solves sooner than a sweep is compiled.
    interpolated_frequencies : int
        Least number of frequencies for which interpolation is tried.
    interpolated_cycles : float
        Least processor cycles to solve all of them, for the same.
    shared_states : int
        States of a time run above which two threads share them.
    shared_cycles : float
        Processor cycles of a sweep that are worth a thread.
    sweep_cycles : float
        Most processor cycles of a piece of a sweep: about a tenth of a second between signs of progress, or until Ctrl-C is
        noticed.
    pivoted_bytes : float
        Bytes of the dense matrices of all frequencies that are solved together.
    run_bytes : float
        Bytes of inputs, states and outputs of a time run that are computed together: about the second cache.
    loop_steps : int
        Steps of a compiled loop before its first sign of progress.
    loop_seconds : float
        Time between later signs; Ctrl-C is not noticed in between.
    """

    dense: int = 300
    dense_modes: int = 600
    dense_eigenpairs: int = 2000
    part: int = 300
    motions_sought: float = 1e10
    dense_states: int = 2000
    dense_independent: int = 6000
    few_coordinates: int = 12
    few_frequencies: int = 2000
    interpolated_frequencies: int = 3000
    interpolated_cycles: float = 3e9
    shared_states: int = 400
    shared_cycles: float = 1e6
    sweep_cycles: float = 3e8
    pivoted_bytes: float = 64e6
    run_bytes: float = 1.5e6
    loop_steps: int = 1024
    loop_seconds: float = 0.05


SIZES = Sizes()
