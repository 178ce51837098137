"""Sizes at which an algorithm changes: what comes out does not, beyond rounding.

Where each lies is measured (`python benchmarks/run.py` and the comments); tests set them to compare both sides.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Sizes:
    """One object of all sizes, :data:`SIZES`; they are read where they are needed, so that what is set counts at once.

    Attributes
    ----------
    dense : int
        Coordinates up to which matrices are factored, and eigenpairs found, densely: sparse detours are slower there.
    dense_modes : int
        Coordinates up to which all modes are computed at once.
    dense_eigenpairs : int
        Coordinates up to which all eigenpairs are found where no factor can count them.
    part : int
        Coordinates of a part, beside the rest of a large model, whose free motions are sought together with those of other parts.
    motions_sought : float
        Coordinates times motions of little stiffness up to which these are sought by Lanczos: gigabytes of vectors.
    dense_states : int
        Coordinates up to which there is a state space, whose matrices are dense.
    dense_independent : int
        Coordinates under constraints that are taken to independent ones.
    few_coordinates, few_frequencies : int
        Coordinates, and frequencies for them, that LAPACK solves sooner than a sweep is compiled.
    interpolated_frequencies : int
        Frequencies from which on interpolation is tried,
    interpolated_cycles : float
        where solving them all takes more processor cycles than this.
    shared_states : int
        States of a time run from which on two threads share them.
    shared_cycles : float
        Processor cycles of a sweep that are worth a thread.
    sweep_cycles : float
        Processor cycles of a piece of a sweep at most: about a tenth of a second, between signs of progress and until Ctrl-C is
        noticed.
    pivoted_bytes : float
        Bytes of the dense matrices of frequencies that are solved together.
    run_bytes : float
        Bytes of inputs, states and outputs of a time run that are computed together: about the second cache.
    loop_steps : int
        Steps of a compiled loop before its first sign of progress.
    loop_seconds : float
        Time between the further ones, in which neither Ctrl-C is noticed nor a line drawn.
    """

    dense: int = 300
    dense_modes: int = 600
    dense_eigenpairs: int = 2000
    part: int = 300
    motions_sought: float = 1e8
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
