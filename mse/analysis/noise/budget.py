"""A noise budget: the contributions of all sources to the noise of one output, as one-sided spectral densities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ...declared import array, axis, labeled, names, scalar
from ...display import Column, Table, amounts
from ...elements.loss_laws import LossGiven, LossLaw
from ...errors import Interrupted, ModelError, UnknownNameError, nearest_name, warn
from ...linear.linear_model import LinearModel
from ...linear.losses import Factor, loss_factors
from ...model.parameter_record import ParameterRecord, recorded_parameters
from ...numerics.blas_threads import one_thread
from ...numerics.options import SIZES
from ...numerics.precision import DEPENDENT
from ...progress.tasks import SOLVING, Show, Task
from ...results import Result
from ...validation.arguments import find, frequencies, mapping, number, refusal, shown
from ..frequency.resonance_grid import by_damped_modes, resonances
from ..modes.result import Modes
from .spectra import Given, Spectrum, density, spectrum
from .thermal import ROOM, Thermal, thermal

# Points in the width of a resonance, for a budget's own grid: with 12 the relative error of an RMS is 3e-5 at Q 50, with 6 3e-4
# (tests/analysis/noise/test_budget.py::test_rms_of_a_damped_oscillator_is_equipartition).
_PER_WIDTH = 12.0
# Samples in the width of a resonance that an RMS needs; with fewer it may miss the resonance
# (tests/analysis/noise/test_budget.py::test_an_rms_over_a_resonance_that_the_frequencies_miss_warns_with_its_name)
_FEWEST = 3
_TOLD = 4  # motions that a message names; of others it has the number
# Ends of a budget's own grid, relative to the slowest and the fastest pole.  1e-5 of the RMS of an oscillator of Q 50 is
# beyond them; a third of the second number is too little
# (tests/analysis/noise/test_budget.py::test_rms_of_a_damped_oscillator_is_equipartition).
_BELOW, ABOVE = 1e-3, 10.0
# How many times farther for a real pole: without the first one 6e-4 of the RMS of critical damping is left out, without the
# second one 3 % of that of a spring with a dashpot
# (tests/analysis/noise/test_budget.py::test_rms_of_overdamped_motions_is_equipartition).
_FARTHER_BELOW, _FARTHER_ABOVE = 10.0, 100.0

INPUT = "input"
Source = tuple[str, str]
Resonances = tuple[np.ndarray, np.ndarray, Callable[[int], str]]


class NoiseBudget(Result):
    """``S(f) = sum_i S_i(f)``: the noise of one output by its sources; made by :meth:`.LinearModel.noise`.

    ``budget[("wire", "axial")]``, or of an input ``budget["ground.x"]``, is an amplitude spectral density (f,), one-sided.

    Attributes
    ----------
    name : str
        Name of the model.
    output : str
        Name of the output.
    unit : str
        Its unit; densities are in unit^2/Hz, amplitudes in unit/sqrt(Hz).
    frequencies_hz : ndarray, (f,), Hz
        Frequencies, ascending.
    objects, mechanisms, kinds : tuple of str, (s,)
        Of each source: its object or input, its mechanism, and "structural", "viscous" or "input".
    densities : ndarray, (s, f), unit^2/Hz
        Power spectral density of each source.
    notes : tuple of str
        Noise that is left out, and why.
    parameters : ParameterRecord
        Parameters of the objects of the system, by their paths.
    resonances : callable or None
        ``resonances(low_hz, high_hz)``: resonances and widths (r,) in Hz, which :meth:`rms` compares with the frequencies, and
        a function of the number of one that says what moves in it; undamped ones that make no noise of the output are left out.
        None in a budget that was read from a file.

    Examples
    --------
    >>> model = mse.LinearModel.from_matrices([[10.0]], [[0.5]], [[400.0]], coordinates=["mirror.x"])
    >>> budget = model.noise([1.0, 10.0], "mirror.x", inputs={"mirror.x": 1e-12})
    >>> [f"{x:.3e}" for x in budget.total]
    ['1.495e-11', '2.329e-15']
    >>> list(budget.by("kind"))
    ['viscous', 'input']
    """

    name: str
    output: str = scalar(str)
    unit: str = scalar(str)
    frequencies_hz: np.ndarray = axis("frequency", "Hz")
    objects: tuple[str, ...] = names("source", "object")
    mechanisms: tuple[str, ...] = names("source", "mechanism")
    kinds: tuple[str, ...] = names("source", "kind")
    densities: np.ndarray = array("source frequency", unit="({unit})^2/Hz", label="noise power density")
    notes: tuple[str, ...] = names("*", default=())
    parameters: ParameterRecord = recorded_parameters()
    resonances: Callable[[float, float], Resonances] | None = None

    # -- spectra ----------------------------------------------------------------------------------------------
    @property
    def sources(self) -> tuple[str | Source, ...]:
        """Keys of ``budget[...]``: (object, mechanism) of thermal noise, names of inputs."""
        return tuple(
            obj if kind == INPUT else (obj, mechanism)
            for obj, mechanism, kind in zip(self.objects, self.mechanisms, self.kinds, strict=True)
        )

    def __getitem__(self, source: str | Source) -> np.ndarray:
        if source not in self.sources:
            names = [" / ".join(s) if isinstance(s, tuple) else s for s in self.sources]
            asked = " / ".join(map(str, source)) if isinstance(source, tuple) else source
            raise UnknownNameError(f"{self.name}: no noise source {shown(source)}{nearest_name(str(asked), names)}")
        return np.sqrt(self.densities[self.sources.index(source)])

    def _ipython_key_completions_(self) -> list[str | Source]:
        return list(self.sources)

    @property
    @labeled("source frequency", unit="{unit}/sqrt(Hz)", columns=("object", "mechanism", "kind"), whole=False)
    def _amplitudes(self) -> np.ndarray:
        return np.sqrt(self.densities)

    @property
    def total(self) -> np.ndarray:
        """Amplitude spectral density of all sources together (f,)."""
        return np.sqrt(self.densities.sum(axis=0))

    def by(self, what: str) -> dict[str, np.ndarray]:
        """Amplitude spectral densities of sources added up by something that they share.

        Parameters
        ----------
        what : {"object", "mechanism", "kind"}
            Property by which sources are added up.

        Returns
        -------
        dict
            Amplitude (f,) by name, the largest RMS first.

        Raises
        ------
        ModelError
            ``what`` is none of these.
        """
        groups = {"object": self.objects, "mechanism": self.mechanisms, "kind": self.kinds}
        if what not in groups:
            raise refusal(self.name, "by", what, "'object', 'mechanism' or 'kind'")
        found: dict[str, np.ndarray] = {}
        for name, own in zip(groups[what], self.densities, strict=True):
            found[name] = found.get(name, 0.0) + own
        order = sorted(found, key=lambda name: -_power(self.frequencies_hz, found[name]))
        return {name: np.sqrt(found[name]) for name in order}

    # -- rms --------------------------------------------------------------------------------------------------
    def rms(self, low_hz: float | None = None, high_hz: float | None = None) -> float:
        """``sqrt(integral of S)`` over a band, S being a power of f between two frequencies.

        Parameters
        ----------
        low_hz, high_hz : float, Hz, optional
            Ends of the band, among the frequencies of the budget; its first and its last if left out.

        Returns
        -------
        float
            The root mean square of the output, in its unit.

        Raises
        ------
        ModelError
            The band does not lie within the frequencies.

        Warns
        -----
        ModelWarning
            A resonance in the band has fewer than three of the frequencies in its width.
        """
        f = self.frequencies_hz
        low, high = (f[0] if low_hz is None else low_hz), (f[-1] if high_hz is None else high_hz)
        low, high = number(self.name, "low_hz", low, unit="Hz"), number(self.name, "high_hz", high, unit="Hz")
        if not f[0] <= low < high <= f[-1]:
            raise ModelError(
                f"{self.name}: a band from {low:.6g} to {high:.6g} Hz; expected low below high, within the frequencies of "
                f"the budget, {f[0]:.6g} to {f[-1]:.6g} Hz"
            )
        self._warn_unresolved(low, high)
        inside = np.concatenate([[low], f[(f > low) & (f < high)], [high]])
        total = self.densities.sum(axis=0)
        with np.errstate(divide="ignore"):
            found = np.exp(np.interp(np.log(inside), np.log(f), np.log(total)))
        found = np.where(inside < f[f > 0.0][0], np.interp(inside, f, total), found)  # a line from 0 Hz on
        return float(np.sqrt(_integral(inside, found).sum()))

    @property
    def cumulative_rms(self) -> np.ndarray:
        """Root mean square (f,) from each frequency up to the last one, as designers add it up."""
        pieces = _integral(self.frequencies_hz, self.densities.sum(axis=0))
        return np.sqrt(np.append(np.cumsum(pieces[::-1])[::-1], 0.0))

    def _warn_unresolved(self, low: float, high: float) -> None:
        if self.resonances is None:
            return
        at, width, who = self.resonances(low, high)
        f = self.frequencies_hz
        within = np.searchsorted(f, at + 0.5 * width) - np.searchsorted(f, at - 0.5 * width)
        inside = (at > low) & (at < high)
        missed = [
            f"{at[k]:.6g} Hz (width {width[k]:.3g} Hz)"
            for k in np.flatnonzero((within < _FEWEST) & inside & (width > 0))
        ]
        if missed:
            warn(
                f"{self.name}: the frequencies have fewer than {_FEWEST} points in the width of the resonances at "
                f"{_some(missed)}, so the RMS may miss them; leave the frequencies out, noise(None, ...), or take "
                "resonance_grid(...)"
            )
        endless = np.flatnonzero(inside & (width == 0.0))
        if len(endless):
            named = [f"{at[k]:.6g} Hz ({who(k)})" for k in endless[:_TOLD]]
            warn(
                f"{self.name}: motions at {_some(named, len(endless))} are undamped, so the RMS has no bound, whatever the "
                "frequencies; give the elements that hold them damping or loss"
            )

    # -- display ----------------------------------------------------------------------------------------------
    def table(self) -> Table:
        f, total = self.frequencies_hz, self.densities.sum(axis=0)
        whole = _power(f, total)
        rows = []
        for source, kind, own in zip(self.sources, self.kinds, self.densities, strict=True):
            name = " / ".join(source) if isinstance(source, tuple) else source
            power = _power(f, own)
            k = int(np.argmax(np.divide(own, total, out=np.zeros_like(own), where=total > 0.0)))
            share = float(own[k] / total[k]) if total[k] > 0.0 else 0.0
            rows.append((name, kind, float(np.sqrt(power)), float(power / whole) if whole else 0.0, share, float(f[k])))
        rows.sort(key=lambda row: -row[2])
        quantity, unit, band = "RMS", self.unit, f"{len(f)} frequencies, {f[0]:.6g} to {f[-1]:.6g} Hz"
        if len(f) == 1:
            quantity, unit, band = "amplitude", f"{self.unit}/sqrt(Hz)", f"{f[0]:.6g} Hz"
        columns = (
            "source", "kind", Column(quantity, unit, 4), Column("share of power", digits=3),
            Column("largest share", digits=3), Column("at", "Hz", 5),
        )  # fmt: skip
        noise = f"noise of {self.output} by {amounts(source=len(rows))}"
        title = f"{self.name}: {noise}, {band}, {quantity} {np.sqrt(whole):.4g} {unit}"
        return Table(title, columns, rows, notes=[f"note: {note}" for note in self.notes])


def _some(told: Sequence[str], count: int | None = None) -> str:
    """The first ones in words, and the number of others."""
    more = (len(told) if count is None else count) - _TOLD
    return ", ".join(told[:_TOLD]) + (f" and {more} more" if more > 0 else "")


def _power(f: np.ndarray, s: np.ndarray) -> float:
    """The integral of a density (f,) over all frequencies; the density itself at a single one."""
    return float(_integral(f, s).sum() if len(f) > 1 else s[0])


def _integral(f: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Integrals (f - 1,) of a density (f,) between neighbors, as a power of f; as a line if it vanishes at an end."""
    before, after, step = s[:-1], s[1:], np.log(f[1:] / np.where(f[:-1] > 0.0, f[:-1], f[1:]))
    # S f is an exponential function of ln f
    a, b = before * f[:-1], after * f[1:]
    power = np.log(np.divide(b, a, out=np.ones_like(a), where=(a > 0.0) & (b > 0.0)))
    mean = a * np.divide(np.expm1(power), power, out=np.ones_like(a), where=power != 0.0)
    return np.where((a > 0.0) & (b > 0.0), mean * step, 0.5 * (before + after) * np.diff(f))


@one_thread
def noise(
    model: LinearModel,
    frequencies_hz: ArrayLike | None,
    output: str,
    *,
    inputs: Mapping[str, Given] | None = None,
    loss: Mapping[str | Source, LossGiven] | None = None,
    temperature: float = ROOM,
    progress: Show = True,
) -> NoiseBudget:
    """See :meth:`.LinearModel.noise`."""
    find(model.name, "output", output, model.outputs)
    o = model.outputs.index(output)
    given = mapping(model.name, "inputs", inputs, "densities by the names of inputs, such as {'ground.x': 1e-9}")
    driven = model.input_indices(list(given))
    names = [model.inputs[k] for k in driven]
    room = number(model.name, "temperature", temperature, unit="K", above=0.0)
    factors = loss_factors(model, loss)
    unknown = _bounded(model)
    given = {name: spectrum(f"{model.name}: noise of {name}", given[name]) for name in names}
    if frequencies_hz is None:
        low, high, cut = within(model, factors, given, _reach(model))
        grid = model.resonance_grid(low, high, points_per_width=_PER_WIDTH, loss=loss, progress=False)
        f, unknown = grid.frequencies_hz, (*unknown, *cut)
    else:
        f = ascending(model.name, frequencies_hz)
    with Task(model.name, SOLVING, len(f), "frequencies of noise", show=progress) as task:
        units = (model.input_units[k] for k in driven)
        spectra = [
            density(f"{model.name}: noise of {name}", given[name], f, unit)
            for name, unit in zip(names, units, strict=True)
        ]
        found, notes, responses, solved = thermal(model, f, o, factors, room, driven)
        squares = (np.abs(own) ** 2 * s[solved] ** 2 for own, s in zip(responses.T, spectra, strict=True))
        driving = dict(zip(names, squares, strict=True))
        how = f"interrupted after {np.count_nonzero(solved)} of {len(f)} frequencies"
        stopped = () if solved.all() else (how,)
        of = (
            (model.name, output, model.output_units[o], f[solved]),
            ((*stopped, *notes, *unknown), model.parameters, partial(_resonances, model, factors, o, driven)),
        )
        budget = added_up(of, found, driving)
        if stopped:
            raise Interrupted(f"{model.name}: {how}, see the result of this error", budget)
        return task.finished(budget)


def added_up(of: tuple[tuple, tuple], found: Sequence[Thermal], driving: Mapping[str, np.ndarray]) -> NoiseBudget:
    """A budget of thermal sources, and of inputs by their densities (f,); ``of`` has what stands before and behind these."""
    sources = [(*label, t.kind) for t in found for label in t.labels] + [(name, INPUT, INPUT) for name in driving]
    objects, mechanisms, kinds = (tuple(x) for x in zip(*sources, strict=True)) if sources else ((), (), ())
    blocks = [x for x in (*(t.densities for t in found), *(x[None] for x in driving.values())) if len(x)]
    # of thousands of sources a copy takes as long as some responses
    values = blocks[0] if len(blocks) == 1 else np.concatenate([np.zeros((0, len(of[0][3]))), *blocks])
    return NoiseBudget(*of[0], objects, mechanisms, kinds, values, *of[1])


def ascending(name: str, given: ArrayLike) -> np.ndarray:
    """Frequencies (f,) of a budget, ascending, or ModelError."""
    f = np.atleast_1d(frequencies(name, given))
    if not f.size:
        raise ModelError(f"{name}: frequencies_hz is empty; expected at least one frequency, or None for a grid")
    if f.ndim != 1:
        raise ModelError(f"{name}: frequencies_hz has the shape {f.shape}; expected one dimension, or None for a grid")
    falls = np.diff(f) <= 0.0
    if falls.any():
        k = int(np.argmax(falls)) + 1
        raise ModelError(
            f"{name}: frequency number {k} is {f[k]:.6g} Hz, after {f[k - 1]:.6g} Hz; expected them ascending, each once; "
            "sort them with numpy.unique(...)"
        )
    return f


def _bounded(model: LinearModel) -> tuple[str, ...]:
    """A note where it is not known whether motions grow, of which noise has no bound; ModelError where they do."""
    if model.skew is not None and model.size > SIZES.dense_modes:
        return ("whether motions grow, so that noise has no bound, would take long to find out: ask for growth",)
    growth = model.growth
    if growth.unstable:
        raise ModelError(
            f"{model.name}: it is unstable, motions grow ({_some([m.name for m in growth.unstable])}), so its noise "
            "has no bound; expected a stable one; take a stable working point, hold the motion, or close a loop with feedback()"
        )
    return (
        (f"whether motions grow, so that noise has no bound, is not known: {growth.reason}",) if growth.reason else ()
    )


def touched(rows: sp.csr_matrix, shapes: np.ndarray) -> np.ndarray:
    """Which shapes (n, m) any of some rows (r, n) reads by more than rounding (m,)."""
    most = np.outer(abs(rows).sum(axis=1), np.abs(shapes).max(axis=0, initial=0.0))
    return (np.abs(rows @ shapes) > DEPENDENT * most).any(axis=0)


def read(model: LinearModel, outputs: Sequence[int], shapes: np.ndarray) -> np.ndarray:
    """Which motions (n, m) some outputs read, by their displacements, velocities or forces of sensors (m,)."""
    if model.reaction[outputs].nnz:
        return np.ones(shapes.shape[1], dtype=bool)
    return touched(sp.vstack([model.measure[outputs], model.rate[outputs]]).tocsr()[:, : model.size], shapes)


def _resonances(
    model: LinearModel, factors: Mapping[Source, Factor], output: int, driven: Sequence[int], low: float, high: float
) -> Resonances:
    """Resonances that may make noise of an output, widths, and who moves; without damping that takes an input to drive them."""
    f, widths, modes, numbers = resonances(model, factors, low, high)
    shapes = modes.shapes[:, numbers]
    pushed = touched(model.force[: model.size, driven].T.tocsr(), shapes) | any(
        a[:, driven].nnz for a in (model.drive, model.drive_rate)
    )
    kept = (widths > 0.0) | (read(model, [output], shapes) & pushed)
    return f[kept], widths[kept], lambda k: modes[int(numbers[kept][k])].participants()


def ends(modes: Modes) -> tuple[float, float] | None:
    """Frequencies (Hz) far below the slowest and far above the fastest pole, also of motions that do not swing; None without."""
    s = modes.eigenvalues[modes.frequencies_hz > modes.uncertainties_hz]
    if not len(s):
        return None
    size, damped = np.abs(s) / (2 * np.pi), np.maximum(-s.real / np.abs(s), 0.0)
    # of a part of all modes it is not known where the others are
    above = _FARTHER_ABOVE ** (damped * modes.complete)
    return _BELOW * float((size * _FARTHER_BELOW**-damped).min()), ABOVE * float((size * above).max())


def within(
    model: LinearModel, factors: Mapping[Source, Factor], given: Mapping[str, object], reach: tuple[float, float]
) -> tuple[float, float, tuple[str, ...]]:
    """The part of a band (Hz) in which all tables of a model and of its inputs are known, and a note if it is not all of it."""
    bands = {" / ".join(label): law.band_hz() for label, law in factors.items() if isinstance(law, LossLaw)}
    bands |= {m.label: (m.down_to / (2 * np.pi), m.up_to / (2 * np.pi)) for m in model.members if m.motion.nnz}
    bands |= {name: one.band_hz for name, one in given.items() if isinstance(one, Spectrum)}
    low, high = max([reach[0], *(x for x, _ in bands.values())]), min([reach[1], *(x for _, x in bands.values())])
    cutting = [name for name, (a, b) in bands.items() if a > reach[0] or b < reach[1]]
    if not low < high:
        raise ModelError(
            f"{model.name}: the tables of {_some(cutting)} leave no band, from {low:.6g} to {high:.6g} Hz; expected tables that "
            "are known together, near the resonances; give tables that go further, or outside='hold'"
        )
    if not cutting:
        return low, high, ()
    whole = f"{reach[0]:.6g} to {reach[1]:.6g} Hz"
    return (
        low,
        high,
        (f"the frequencies end at {low:.6g} and {high:.6g} Hz, where tables do, of {whole}: {_some(cutting)}",),
    )


def _reach(model: LinearModel) -> tuple[float, float]:
    """A band (Hz) that reaches beyond all poles."""
    reach = ends(model.modes(damped=by_damped_modes(model), progress=False))
    if reach is None:
        raise ModelError(
            f"{model.name}: no motion of it swings or fades, to make a frequency grid for; expected frequencies_hz"
        )
    return reach
