"""Frequency grids that resolve every resonance of a damped model, made from its modes and checked against its response."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ...declared import array, axis, names, scalar
from ...display import Column, Table
from ...elements.loss_laws import Factor, LossGiven
from ...errors import Interrupted, ModelError
from ...linear.linear_model import LinearModel
from ...linear.losses import loss_factors
from ...numerics.blas_threads import one_thread
from ...numerics.options import SIZES
from ...numerics.precision import NOTHING
from ...progress.tasks import SOLVING, Show, Task
from ...results import Result
from ...validation.arguments import number
from ..modes.result import Modes
from ..resources import refuse_beyond_memory
from .direct import solve
from .equations import Equations, Polynomial
from .response import unconstrained
from .sweep import Sweep

_PER_DECADE = 30
_FEWEST = 4  # points in a width
# the most: cubic interpolation is then accurate to rounding
# (tests/analysis/frequency/test_resonance_grid.py::test_what_makes_no_grid_is_refused)
_MOST = 1e4
_FIRST_COUNT = 20
# Relative width assumed for undamped resonances; with 0.01 and 100 times this, points are too near or too far
# (tests/analysis/frequency/test_resonance_grid.py::test_undamped_resonances_are_surrounded_and_left_out).
_UNDAMPED = 1e-4
# Relative error allowed for cubic interpolation between neighbors; with a hundred times this a resonance is missed
# (tests/analysis/frequency/test_resonance_grid.py::test_a_resonance_that_only_a_dashpot_makes_is_resolved).
_MISS = 0.02
_ROUNDS = 30
# Bytes for each point, for its response and the comparison with neighbors: measured 130; with less than that or three times it
# the message is wrong (tests/analysis/test_resources.py::test_memory_is_told_as_it_is_taken).
_BYTES = 200.0


class ResonanceGrid(Result):
    """Frequencies that resolve every resonance of a model in a band; made by :meth:`.LinearModel.resonance_grid`.

    Attributes
    ----------
    name : str
        Name of the model.
    frequencies_hz : ndarray, (f,), Hz
        Frequencies in ascending order, dense at every resonance.
    resonances_hz : ndarray, (r,), Hz
        Resonances in the band.
    widths_hz : ndarray, (r,), Hz
        Their full widths at half power, 0 where undamped.
    points_per_width : float
        Points in each width.
    added : int
        Number of frequencies added because the response showed more than the modes did.
    notes : tuple of str
        How resonances and widths were found, and what is left out.

    Examples
    --------
    >>> model = mse.LinearModel.from_matrices([[1.0]], [[0.02]], [[1.0]], coordinates=["mass.x"])
    >>> grid = model.resonance_grid(0.1, 0.3)
    >>> print(f"resonance at {grid.resonances_hz[0]:.5f} Hz, width {1e3 * grid.widths_hz[0]:.3f} mHz")
    resonance at 0.15915 Hz, width 3.183 mHz
    """

    name: str
    frequencies_hz: np.ndarray = array("frequency", unit="Hz", label="frequency")
    resonances_hz: np.ndarray = axis("resonance", "Hz")
    widths_hz: np.ndarray = array("resonance", unit="Hz", label="width")
    points_per_width: float = scalar(float)
    added: int = scalar(int)
    notes: tuple[str, ...] = names("*")

    def __len__(self) -> int:
        return len(self.frequencies_hz)

    def table(self) -> Table:
        f = self.frequencies_hz
        rows = [
            (at, width, at / width if width else "undamped", int(np.sum(np.abs(f - at) <= 0.5 * width)))
            for at, width in zip(self.resonances_hz.tolist(), self.widths_hz.tolist(), strict=True)
        ]
        title = f"{self.name}: {len(f)} frequencies, {f[0]:.6g} to {f[-1]:.6g} Hz, {len(rows)} resonances"
        columns = (
            Column("resonance", "Hz", 8), Column("width", "Hz", 4), Column("quality", digits=4),
            Column("points in its width", digits=1),
        )  # fmt: skip
        return Table(title, columns, rows, notes=[f"note: {note}" for note in self.notes])


@one_thread
def resonance_grid(
    model: LinearModel,
    low_hz: float,
    high_hz: float,
    *,
    points_per_width: float = 6.0,
    loss: Mapping[str | tuple[str, str], LossGiven] | None = None,
    progress: Show = True,
) -> ResonanceGrid:
    """See :meth:`.LinearModel.resonance_grid`.

    Resonances are the modes of the model, counted so that none is missed.  Widths follow from its damping and ``loss``: exactly
    with viscous damping up to 600 coordinates, to first order of the damping otherwise.  First order misses strong dampers,
    which constrain what they connect.  So the response to a random force is computed, and intervals are halved until cubic
    interpolation between neighbors agrees with it to 2 %.
    """
    low = number(model.name, "low_hz", low_hz, unit="Hz", above=0.0)
    high = number(model.name, "high_hz", high_hz, unit="Hz", above=0.0)
    remedy = "fewer do not show a width, and more show nothing else"
    points_per_width = number(
        model.name, "points_per_width", points_per_width, minimum=_FEWEST, maximum=_MOST, remedy=remedy
    )
    if not low < high:
        raise ModelError(
            f"{model.name}: low_hz is {low:.6g} Hz and high_hz {high:.6g} Hz; expected low_hz below high_hz"
        )
    loss_of_parts = loss_factors(model, loss)
    exact = by_damped_modes(model)
    with Task(model.name, "looking for resonances", show=progress) as task:
        try:
            found, widths, _, _ = resonances(model, loss_of_parts, low, high)
        except Interrupted as interrupted:  # some modes are known, but no grid yet
            raise KeyboardInterrupt from interrupted
        start = about(model.name, found, widths, low, high, points_per_width)
        f, unresolved, unsolved, stopped = start, 0, 0, False
        if not model.members:
            try:
                f, unresolved, unsolved = _refined(model, loss_of_parts, start, found[widths == 0])
            except _Unfinished as so_far:
                f, unresolved, stopped = so_far.f, so_far.unresolved, True
        how = "damped modes" if exact else "undamped modes, widths to first order of the damping"
        notes = [f"{len(found)} resonances from {how}, {points_per_width:g} points in each width"]
        if len(f) > len(start):
            notes.append(f"{len(f) - len(start)} further frequencies, to resolve the response to a random force")
        if stopped:
            notes.append(f"interrupted: {unresolved} intervals were not fully compared with it")
        elif unresolved:
            notes.append(f"{unresolved} intervals still deviate from it by more than {100 * _MISS:g} %")
        if unsolved:
            notes.append(
                f"at {unsolved} frequencies that response could not be solved without pivoting: nothing was added there"
            )
        if np.any(widths == 0):
            notes.append(f"{np.count_nonzero(widths == 0)} resonances are undamped: the grid stops just beside them")
        grid = ResonanceGrid(model.name, f, found, widths, float(points_per_width), len(f) - len(start), tuple(notes))
        if stopped:
            raise Interrupted(
                f"{model.name}: interrupted with {len(f)} frequencies, which this error has as its result; {unresolved} "
                "intervals between them were not compared with the response to the end",
                grid,
            )
        return task.finished(grid)


def by_damped_modes(model: LinearModel) -> bool:
    """Whether widths come from damped modes, which take too long for large models."""
    dense = model.size <= SIZES.dense_modes and not model.members
    return model.skew is not None or (dense and model.Lambda.nnz > 0)


def resonances(
    model: LinearModel, loss_of_parts: Mapping[tuple[str, str], Factor], low: float, high: float
) -> tuple[np.ndarray, np.ndarray, Modes, np.ndarray]:
    """Frequencies and full widths (r,) in Hz of modes whose widths reach into the band, and their numbers (r,) among all."""
    exact, count = by_damped_modes(model), _FIRST_COUNT
    whole = model.size <= SIZES.dense_modes and not model.members
    while True:
        modes = model.modes(None if whole else count, damped=exact)
        if whole or len(modes) < count or modes.frequencies_hz[-1] > 1.2 * high:
            break
        count *= 2
    s, shapes = modes.eigenvalues, modes.shapes
    rates, widths = np.abs(s.imag), np.zeros(len(s))
    moving = rates > 0
    viscous = -2.0 * s.real if exact else np.einsum("ij,ij->j", shapes.conj(), model.Lambda @ shapes).real
    system = Equations(model, np.zeros(0, dtype=int), np.zeros(0, dtype=int), loss_of_parts)
    lossy = system.matrix.k.imag if np.iscomplexobj(system.matrix.k) else sp.csr_matrix(model.K.shape)
    structural = np.einsum("ij,ij->j", shapes.conj(), lossy @ shapes).real
    if (laws := system.matrix.laws) is not None:
        # beyond the band a law need not be known
        at = np.clip(rates, *(2 * np.pi * np.array([low, high])))
        moved = np.einsum("ml,ml->m", laws.laws.weights(at), laws.forms(shapes))
        structural = structural + moved.imag
        rates = np.where(moving, np.sqrt(np.maximum(rates**2 + moved.real, 0.0)), rates)
    for k in np.flatnonzero(moving) if model.members else ():
        known = np.clip(rates[k : k + 1], *(2 * np.pi * np.array([low, high])))  # as laws, members may be tables
        change = [own[0] for own in system.members.change(known)]
        if any(map(np.iscomplexobj, change)):
            structural[k] += np.vdot(shapes[:, k], system.members.sparse(change).imag @ shapes[:, k]).real
    widths[moving] = np.maximum(viscous[moving] + structural[moving] / rates[moving], 0.0)
    f, widths = rates / (2 * np.pi), widths / (2 * np.pi)
    # a motion damped within its own period is not a resonance
    inside = moving & (f + widths >= low) & (f - widths <= high) & (widths < 2 * f)
    numbers = np.flatnonzero(inside)[np.argsort(f[inside], kind="stable")]
    f, widths = f[numbers], widths[numbers]
    return f, np.where(widths < NOTHING * f, 0.0, widths), modes, numbers


def about(
    name: str, resonances: np.ndarray, widths: np.ndarray, low: float, high: float, per_width: float
) -> np.ndarray:
    """Ascending frequencies (f,) from low to high, ``per_width`` in each width of the resonances, which ascend, too."""
    middles = 0.5 * (resonances[1:] + resonances[:-1])
    left, right = np.append(low, middles)[: len(widths)], np.append(middles, high)[: len(widths)]
    half = 0.5 * np.where(widths > 0, widths, _UNDAMPED * resonances)
    reach = np.maximum(np.maximum(np.abs(resonances - left), np.abs(right - resonances)), half)
    # half the points in the width on either side: asinh 1 is at half power
    step = 2.0 * np.arcsinh(1.0) / per_width
    most = np.ceil(np.arcsinh(reach / half) / step)
    refuse_beyond_memory(
        name, _BYTES * 2.0 * float(most.sum()),
        f"{per_width:.6g} points in each width of {len(resonances)} resonances need {{}}",
        "ask for fewer points_per_width, or a narrower band",
    )  # fmt: skip
    points = [np.geomspace(low, high, max(2, int(np.ceil(_PER_DECADE * np.log10(high / low))) + 1))]
    for f, b, damped, count, below, above in zip(resonances, half, widths > 0, most, left, right, strict=True):
        away = b * np.sinh(step * (np.arange(int(count) + 1) + (0.0 if damped else 0.5)))
        near = np.concatenate([f - away[::-1], f + away])
        # each side ends where the next resonance is nearer, except for points within the width itself
        within = ((near >= below) & (near <= above)) | (np.abs(near - f) <= b)
        points.append(near[within & (near >= low) & (near <= high)])
    f = np.unique(np.concatenate(points))
    apart = np.concatenate([[True], np.diff(f) > NOTHING * f[1:]])
    return f[apart]


class _Unfinished(KeyboardInterrupt):
    """Ctrl-C ended the comparison with the response: the grid so far, and how many of its intervals were not compared."""

    def __init__(self, f: np.ndarray, unresolved: int):
        super().__init__()
        self.f, self.unresolved = f, unresolved


def _pivoted(model: LinearModel, loss_of_parts, push: sp.csr_matrix) -> Callable:
    """A sweep with pivoting: the response (1, n) along a force to that force, and where it is accurate."""
    held, name = len(model.prescribed), ("random force",)
    along = sp.hstack([push, sp.csr_matrix((1, held))], format="csr")
    probed = replace(
        model, inputs=name, outputs=name, input_units=("N",), output_units=("m",), force=along.T.tocsr(),
        drive=sp.csr_matrix((held, 1)), measure=along, reaction=sp.csr_matrix((1, held)), rate=None, drive_rate=None,
    )  # fmt: skip
    system = Equations(probed, np.zeros(1, dtype=int), np.zeros(1, dtype=int), loss_of_parts)

    def sweep(w: np.ndarray, tell: Callable[[int], None]) -> tuple[np.ndarray, np.ndarray]:
        values = solve(probed, system, w / (2 * np.pi), tell)
        return values, np.isfinite(values[:, 0, 0])

    return sweep


def _refined(model: LinearModel, loss_of_parts, f: np.ndarray, poles: np.ndarray) -> tuple[np.ndarray, int, int]:
    """The grid with intervals halved if cubic interpolation misses the response; how many still do; number of unsolved points."""
    model, _ = unconstrained(model)
    none = np.zeros(0, dtype=int)
    system = Equations(model, none, none, loss_of_parts)
    # a force on every coordinate with mass moves every mode
    mass = model.M.diagonal()
    force = np.random.default_rng(0).standard_normal(model.size) * np.sqrt(np.abs(mass))
    push = sp.csr_matrix(force[None])
    probe = Polynomial(push, 0 * push, 0 * push)
    if not force.any():
        return f, 0, 0
    swept = system.swept(probe.T)
    sweep = _pivoted(model, loss_of_parts, push) if swept is None else Sweep(model.name, *swept, probe)

    def response(at: np.ndarray) -> np.ndarray:
        with Task(model.name, SOLVING, len(at), "frequencies") as task:
            values, good = sweep(2 * np.pi * at, task.tell)
        return np.where(good, values[:, 0, 0], np.nan)

    open_ = np.ones(len(f) - 1, dtype=bool)
    try:
        values = response(f)
    except KeyboardInterrupt:
        raise _Unfinished(f, len(open_)) from None
    for _ in range(_ROUNDS):
        k = np.flatnonzero(open_)
        if not len(k) or len(f) < 4:
            break
        middle = 0.5 * (f[k] + f[k + 1])
        try:
            found = response(middle)
        except KeyboardInterrupt:
            raise _Unfinished(f, len(k)) from None
        first = np.clip(k - 1, 0, len(f) - 4)
        guess = np.zeros(len(k), dtype=complex)
        for i in range(4):
            weight = np.ones(len(k))
            for j in range(4):
                if i != j:
                    weight *= (middle - f[first + j]) / (f[first + i] - f[first + j])
            guess += weight * values[first + i]
        # no interpolation across undamped resonances; unsolved points are not compared
        wrong = np.abs(guess - found) > _MISS * np.maximum(
            np.abs(found), np.minimum(np.abs(values[k]), np.abs(values[k + 1]))
        )
        wrong &= middle - f[k] > 1e-9 * middle
        wrong &= np.searchsorted(poles, f[k]) == np.searchsorted(poles, f[k + 1])
        put = k[wrong]
        f, values = np.insert(f, put + 1, middle[wrong]), np.insert(values, put + 1, found[wrong])
        open_ = np.zeros(len(f) - 1, dtype=bool)
        at = put + np.arange(len(put))
        open_[at] = open_[at + 1] = True
    return f, int(np.count_nonzero(open_)), int(np.count_nonzero(np.isnan(values)))
