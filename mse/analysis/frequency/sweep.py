"""``y = C Z(w)^-1 B`` by one elimination without pivoting for eight frequencies at a time, and a check of every answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...errors import ModelError
from ...kernels.ldl import BLOCK, Changes, Squared, Terms, sweep
from ...kernels.vector_ir import WIDTH, aligned
from ...numerics.options import SIZES
from ...numerics.ordering import cheapest
from ...numerics.precision import EPS
from ..resources import ALWAYS_FREE, free_memory, processors
from .additions import Additions, Blocks, Products
from .bordered import gathered, known_products
from .equations import MembersAdd, Polynomial
from .law_terms import AtFrequencies, LawTerms
from .pieces import shared
from .readings import Readings
from .stiffening import Stiffened, Stiffening, in_short_rows, without_lone

# Allowed error of the eliminated Z relative to its entries: with a hundred times this a wrong entry passes, with a hundredth good
# ones do not (tests/analysis/frequency/test_sweep.py::test_the_check_sees_one_wrong_entry_and_a_lost_one,
# test_tiny_pivots_do_not_pass in the same file)
BACKWARD = 1e-12
# Error of a known answer above which Z counts as singular: with a ten-thousandth qualities of 1e10 do not pass, with ten thousand
# times this rounding does
# (tests/analysis/frequency/test_sweep.py::test_what_losses_alone_hold_at_resonance_is_swept,
# test_a_resonance_that_is_read_and_hardly_driven_does_not_pass).
_FORWARD = 1e-3
_LARGEST_INVERSE = _FORWARD / EPS  # rounding times this gives that error
# The same with constraints: stiffening costs digits that pivoting keeps, so pivoting is used if half of them are lost
# (tests/analysis/frequency/test_stiffening.py::test_digits_that_stiffening_costs_close_to_a_resonance_come_back_by_pivoting).
_FORWARD_STIFFENED = EPS**0.5
# Ratio of frequencies that share a known answer, which is scaled for them: with a hundred times this wrong soft entries pass
# (tests/analysis/frequency/test_sweep.py::test_the_check_sees_soft_entries_beside_stiff_ones_over_a_wide_band).
_SPAN = 4.0
# Bytes computed before they are stored: little compared with wide results
# (tests/analysis/test_resources.py::test_a_wide_sweep_holds_its_result_once), but much compared with a call.
_AT_ONCE = 8e6
# Bytes of results that are checked and stored together, half of the second cache: in benchmarks/run.py --only chain_noise, a
# fifth of it saves nothing, and with twice as many the budget takes a third longer.
_TAKEN = 5e5
_PIECES = 6  # pieces of work for each thread, so that none waits long for another
_TINY = np.finfo(float).tiny


class Stopped(KeyboardInterrupt):
    """Ctrl-C ended a sweep; ``values`` are valid at ``solved`` frequencies (f,), of which ``interpolated`` are interpolated."""

    def __init__(self, values: np.ndarray, solved: np.ndarray, interpolated: int = 0):
        super().__init__()
        self.values, self.solved, self.interpolated = values, solved, interpolated


class _Known(NamedTuple):
    """Right-hand sides ``Z x`` with known x, one for each part of the sweep (p,), scaled for its frequencies."""

    part: np.ndarray  # part of each group of frequencies
    right: np.ndarray  # coefficients (p, n, 4) of Z x in the fill-reducing ordering
    answers: np.ndarray  # coefficients (p, 1 + rows, 4) of x^T Z x and of all border rows times x
    sizes: np.ndarray  # sums of their magnitudes (p, 1 + rows, 3)
    norms: np.ndarray  # squares of the border rows in scaled coordinates (p, rows, 3)
    products: list[Products]  # what members and losses with a law add to them
    blocks: Blocks | None  # of members
    changes: Changes | None  # all entries of members
    laws: AtFrequencies | None  # of losses with a law
    terms: Terms | None  # all entries of them
    stiffened: Stiffened | None  # by constraints
    squared: Squared | None  # readings whose squares are added up


class Sweep:
    """``Z x = b`` and ``c x`` at many frequencies: Z (n, n) symmetric, complex or not, b (n, inputs), c (outputs, n).

    If there are few inputs and outputs, both go into the border of the elimination.  If there are many of one kind, only the
    fewer go there, and L is stored and substituted back.  The last ``multipliers`` coordinates belong to constraints.

    Squares of further ``readings`` for the first input are added up, without memory for each of them.
    """

    def __init__(
        self, name: str, matrix: Polynomial, drive: Polynomial, read: Polynomial, members: MembersAdd | None = None,
        multipliers: int = 0, readings: Readings | None = None,
    ):  # fmt: skip
        self.name, self._held = name, multipliers > 0
        if multipliers:
            basis = without_lone(matrix, drive, read, multipliers, members)
            if basis is not None:
                multipliers -= (matrix.k.shape[0] - basis.shape[1]) // 2
                matrix, drive, read = matrix.times(basis).T.times(basis).T, drive.T.times(basis).T, read.times(basis)
                members, readings = (x and x.times(basis) for x in (members, readings))
            matrix, drive, read, multipliers, sums = in_short_rows(matrix, drive, read, multipliers)
        self._readings = readings
        n = self.size = matrix.k.shape[0]
        inputs, outputs = drive.k.shape[1], read.k.shape[0]
        self._shape, self._turned = (outputs, inputs), outputs < inputs and readings is None
        few, many = (read, drive.T) if self._turned else (drive.T, read)
        self._few, self._many = (outputs, inputs) if self._turned else (inputs, outputs)
        # for each of the fewer, substituting back costs as much as another border row
        self._keep = self._many > 4 + 2 * self._few or readings is not None
        self._additions = self._stiffening = self._terms = None
        patterns = []
        pieces = [(first, a.laws) for first, a in ((0, matrix), (n, few), (n + self._few, many)) if a.laws is not None]
        if pieces:
            self._terms = LawTerms(pieces, n, n + inputs + outputs)
            patterns.append(self._terms.pattern())
        if members is not None:
            second = n + self._few
            self._additions = Additions(*members, n, *((second, n) if self._turned else (n, second)))
            self._keep = self._keep and not self._additions.on_border
            patterns.append(self._additions.pattern())
        if multipliers:
            self._stiffening = Stiffening(matrix, drive, read, multipliers, sums)
            patterns.append(self._stiffening.pattern())
        first, rows, values = self._all = gathered(
            [(0, matrix), (n, few), (n + self._few, many)], n + inputs + outputs, n, patterns
        )
        self.dtype = complex if np.any(values[:, 1:3]) or pieces else float
        if self._keep:
            bordered = rows < n + self._few
            reading = np.flatnonzero(~bordered)
            first, rows, values = np.concatenate([[0], np.cumsum(bordered)])[first], rows[bordered], values[bordered]
        self._border = 1 + (self._few if self._keep else inputs + outputs)
        late = ~np.any(self._all[2][self._all[0][:-1]], axis=1)
        for _, columns in patterns:
            late[columns] = False
        self.elimination = cheapest(first, rows, self._border, late)
        if self._additions is not None:
            self._additions.place(self.elimination, first, rows)
        if pieces:
            self._terms.place(self.elimination, first, rows, n + self._border - 1)
        if multipliers:
            self._stiffening.place(self.elimination, first, rows)
        self._values = values[self.elimination.entries]
        nothing = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
        self._read = self._substituted(reading) if self._keep else nothing
        # per frequency
        self._entries = self._border * (self._border + 1) // 2 + (len(self._read[0]) - 1) * self._border
        self._bytes = WIDTH * (16 * self._entries + 8 * (0 if readings is None else len(readings.first)))  # of a group
        self._sizes = self._row_sizes(n - multipliers)

    def _substituted(self, reading: np.ndarray) -> tuple[np.ndarray, ...]:
        """Rows that are multiplied with solutions: starts, places and coefficients of their entries, ``reading`` of all."""
        first, rows, values = self._all
        by_row = reading[np.argsort(rows[reading], kind="stable")]
        lengths = np.bincount(rows[by_row] - self.size - self._few, minlength=self._many)
        columns = np.searchsorted(first, by_row, side="right") - 1
        starts = np.concatenate([[0], np.cumsum(lengths)])
        read = starts, self.elimination.place[columns], values[by_row].ravel()
        return read if self._terms is None else self._terms.read(read)

    def _row_sizes(self, n: int) -> np.ndarray:
        """Size of the first n rows in k, c and m (n, 3): the diagonal, or the largest entry if it is zero throughout."""
        first, rows, values = self._all
        diagonal = values[first[:n]]
        sizes = np.stack([np.hypot(diagonal[:, 0], diagonal[:, 1]), abs(diagonal[:, 2]), abs(diagonal[:, 3])], axis=1)
        for j in np.flatnonzero(~sizes.any(axis=1)):
            column = values[first[j] : first[j + 1]][rows[first[j] : first[j + 1]] < n]
            sizes[j] = np.hypot(column[:, 0], column[:, 1]).max(), *abs(column[:, 2:]).max(axis=0)
        return sizes

    def __call__(
        self, w: np.ndarray, tell: Callable[[int], None] | None = None, sums: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """``c Z^-1 b`` (f, outputs, inputs) at angular frequencies w (f,), and which of them (f,) passed the check.

        Besides the result, memory is needed only for a small part of it at a time.  ``tell`` is called with the number solved;
        raises :class:`Stopped` after Ctrl-C.  ``sums`` (s, f) gets the sums of squares of readings, by ascending w.
        """
        at_once = WIDTH * max(_PIECES * processors(), int(_AT_ONCE / self._bytes))
        if self._additions is not None:
            at_once = min(at_once, self._additions.at_once)
        threads = self._threads(len(w), min(at_once, len(w)))
        order = np.argsort(w, kind="stable")
        values = np.empty((len(w), *self._shape), dtype=complex)
        good = np.zeros(len(w), dtype=bool)
        for first in range(0, len(w), at_once):
            ascending = order[first : first + at_once]
            # the last group is filled up with the last frequency
            each = np.append(ascending, np.full(-len(ascending) % WIDTH, ascending[-1])).reshape(-1, WIDTH)
            rates = w[each]
            known = self._known_answers(rates)

            here = (each, rates, known, None if sums is None else sums[:, first : first + at_once])

            def take(of: np.ndarray, out: np.ndarray, squares: np.ndarray, here=here) -> None:
                each, rates, known, into = here
                found, fine = self._taken(rates, known, of, out)
                if into is not None:
                    fine &= (squares[:, -1] < self._allowed**2).ravel()
                    for k, own in zip(of, squares, strict=True):
                        eight = into[:, WIDTH * k : WIDTH * (k + 1)]
                        eight[:] = own[:-1, : eight.shape[1]]
                at = each[of].ravel()
                values[at], good[at] = found, fine

            say = tell and (lambda done, first=first: tell(min(first + done, len(w))))
            if self._run(rates, known, threads, take, say):
                raise Stopped(values, good)
        return values, good

    def _taken(
        self, rates: np.ndarray, known: _Known, of: np.ndarray, out: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Responses (f, outputs, inputs), and which (f,) pass the check, from ``out`` of the compiled sweep for groups ``of``."""
        border, few, many = self._border, self._few, self._many
        square = border * (border + 1) // 2
        place = np.arange(border)
        row = place * (place + 1) // 2  # where each row of the triangle begins
        last, own = out[:, square - border : square], out[:, (row + place)[:few]]
        if self._keep:
            read = out[:, square:].reshape(len(out), len(self._read[0]) - 1, border, WIDTH)
            if known.laws is not None:
                read = known.laws.complete(read, of)
            values, answers = read[:, :, :few], np.concatenate([last[:, -1:], last[:, :few], read[:, :, -1]], axis=1)
        else:
            values = out[:, row[few:-1, None] + place[:few]]
            answers = np.concatenate([last[:, -1:], last[:, :-1]], axis=1)
        good = self._checked(rates, known, of, answers, own).ravel()
        values = np.moveaxis(values, 3, 1).reshape(WIDTH * len(out), many, few)
        values = values.transpose(0, 2, 1) if self._turned else values
        if known.stiffened is not None:
            known.stiffened.complete(values, np.repeat(known.part[of], WIDTH))
        if known.blocks is not None:
            by_frequency = (of[:, None] * WIDTH + np.arange(WIDTH)).ravel()
            direct = known.blocks.direct
            values = values + (direct[by_frequency] if np.ndim(direct) else direct)
            good &= known.blocks.symmetric[by_frequency]
        return values, good

    def _known_answers(self, rates: np.ndarray) -> _Known:
        top = rates[:, -1]
        starts = [0]
        while (after := int(np.searchsorted(top, _SPAN * top[starts[-1]], side="right"))) < len(top):
            starts.append(after)
        part = np.repeat(np.arange(len(starts)), np.diff([*starts, len(top)]))
        n = self.size
        ends = np.array([*starts, len(top)])
        w2 = top[ends[:-1]] * top[ends[1:] - 1]
        size = self._sizes @ np.stack([np.ones_like(w2), np.sqrt(w2), w2])
        blocks = None if self._additions is None else self._additions.at(rates.ravel())
        laws = None if self._terms is None else self._terms.at(rates.ravel())
        by_frequency = np.repeat(part, WIDTH)
        for more in (blocks, laws):
            if more is not None:
                size += more.sizes(by_frequency, len(starts))[: len(size)]
        stiffened = None
        if self._stiffening is not None:
            stiffened = self._stiffening.at(size)
            size = stiffened.sizes
        scale = 1.0 / np.sqrt(np.where(size > 0, size, 1.0))
        x = scale * _signs(n)[:, None]
        product, total, sizes, squares = known_products(self._all, self._few + self._many, x, scale)
        if stiffened is not None:
            held = len(self._sizes)
            product[:, :held, 0] += stiffened.forces(x)
            total[:, 0] += np.einsum("np,pn->p", scale[:held], stiffened.magnitudes(scale))
        right = np.empty((len(starts), n, 4))
        right[:, self.elimination.place] = product[:, :n]
        own = np.einsum("np,pnk->pk", x, product[:, :n])[:, None]
        answers = np.concatenate([own, product[:, n:]], axis=1)
        sizes = np.concatenate([total[:, None], sizes], axis=1)
        changes, terms, products = None, None, []
        if blocks is not None:
            products.append(blocks.known(x, scale, by_frequency, self._few + self._many))
            changes = blocks.changes(products[0].pushed, complex if blocks.complex else self.dtype)
        if laws is not None:
            more, values = laws.known(x, scale, by_frequency, self._few + self._many)
            products.append(more)
            terms = laws.terms(values)
        squared = None if self._readings is None else self._readings.known(self.elimination.place, x, scale)
        return _Known(part, right, answers, sizes, squares, products, blocks, changes, laws, terms, stiffened, squared)

    def _checked(
        self, rates: np.ndarray, known: _Known, of: np.ndarray, answers: np.ndarray, own: np.ndarray
    ) -> np.ndarray:
        """Which frequencies (groups, 8) of the groups ``of`` have known answers right and inputs that drive no singular motion.

        ``x^T (Z - L D L^T) x`` over ``|x|^T |Z| |x|`` for random x measures the error of L D L^T, a residual of the matrix
        itself.
        """
        w, part = rates[of, None, :], known.part[of]
        k, h, c, m = (known.answers[part, :, j, None] for j in range(4))
        right, size = k - w**2 * m + 1j * (h + w * c), _magnitude(known.sizes[part], w)
        length = _magnitude(np.sqrt(known.norms[part, : self._few]), w)
        for more in known.products:
            right, size = right + more.answers[of], size + more.sizes[of]
            length = length + np.sqrt(more.squares[of, : self._few])
        with np.errstate(all="ignore"):
            wrong = np.abs(answers - right) / (size + _TINY)
            # the factor is Rayleigh quotients of Z^-1, so norms of b appear squared
            limit = _LARGEST_INVERSE * length**2
            return (
                (wrong[:, 0] < BACKWARD)
                & np.all(wrong[:, 1:] < self._allowed, axis=1)
                & np.all(np.abs(own) <= limit, axis=1)
            )

    @property
    def _allowed(self) -> float:
        """Relative error up to which a known answer passes."""
        return _FORWARD_STIFFENED if self._held else _FORWARD

    def cycles(self, frequencies: int) -> float:
        """Rough number of processor cycles for so many frequencies."""
        return self.elimination.cycles * frequencies / WIDTH

    def memory(self, threads: int) -> int:
        """Bytes that so many threads need at once."""
        dtype = self.dtype if self._additions is None else complex
        return threads * self._layout()[0] * WIDTH * np.dtype(dtype).itemsize

    def _layout(self) -> tuple[int, int, int, int]:
        """Size of an arena in entries, and where in it the stack, the stored columns (-1 for none) and x begin."""
        f = self.elimination.fronts
        stack = f.largest * (f.largest + BLOCK) + int(np.diff(f.first_column).max())
        keep = stack + f.stack
        if not self._keep:
            return keep, stack, -1, keep
        x = keep + self.elimination.kept
        return x + self.size * self._border, stack, keep, x

    def _run(
        self, rates: np.ndarray, known: _Known, threads: int, take: Callable[[np.ndarray, np.ndarray, np.ndarray], None],
        tell: Callable[[int], None] | None,
    ) -> bool:  # fmt: skip
        """Eliminate for all groups of frequencies and ``take`` the results (groups, entries, 8) of some of them at a time.

        Whether Ctrl-C ended it.
        """
        groups = len(rates)
        lanes = np.stack([rates, -(rates**2)], axis=1).ravel()
        check = known.right.ravel()
        coefficients = self._values if known.stiffened is None else known.stiffened.coefficients(self._values)
        coefficients = coefficients.ravel()
        each = self._entries
        threads = min(threads, groups)
        dtype = complex if known.blocks is not None and known.blocks.complex else self.dtype
        entries, *where = self._layout()
        fronts = self.elimination.fronts
        read = self._read if self._keep else (None, None, None)
        squared = known.squared
        lines = 0 if squared is None else len(squared.first)
        more = known.changes, known.terms
        pieces = self._pieces(groups, threads)
        most = max(int(np.diff(pieces).max()), int(_TAKEN / self._bytes))
        solved = np.zeros(groups, dtype=bool)

        def work(waiting: Iterator[np.ndarray]) -> Iterator[None]:
            """Solve pieces, and take their results when there is no room for another one's."""
            arena = aligned(entries * WIDTH, dtype)
            scratch = np.empty(len(fronts.parents) + 1, dtype=np.int64)
            room, sums = np.empty(most * each * WIDTH, dtype=dtype), np.empty(most * lines * WIDTH)
            held: list[int] = []  # groups whose results are in the room

            def take_held() -> None:
                count = len(held) * WIDTH
                squares = sums[: count * lines].reshape(len(held), lines, WIDTH)
                take(np.array(held, dtype=np.int64), _answers(room[: count * each], each), squares)
                held.clear()

            try:
                for piece in waiting:
                    groups = range(*piece.tolist())
                    if len(held) + len(groups) > most:
                        take_held()
                    at = len(held) * WIDTH
                    own = squared and squared._replace(sums=sums[at * lines :])
                    given = coefficients, check, lanes, known.part, piece
                    sweep(arena, fronts, *where, *given, room[at * each :], *read, scratch, *more, own)
                    held.extend(groups)
                    solved[groups.start : groups.stop] = True
                    yield
            finally:
                if held:
                    take_held()

        return shared(work, pieces, threads, tell and (lambda: tell(WIDTH * int(np.count_nonzero(solved)))))

    def _pieces(self, groups: int, threads: int) -> np.ndarray:
        """Pieces of groups of frequencies (p, 2), each from its first one to the one after its last."""
        pieces = max(
            _PIECES * threads if threads > 1 else 1, int(self.cycles(groups * WIDTH) / SIZES.sweep_cycles),
            int(self._bytes * groups / _TAKEN),
        )  # fmt: skip
        bounds = np.linspace(0, groups, min(groups, pieces) + 1).astype(np.int64)
        return np.stack([bounds[:-1], bounds[1:]], axis=1)

    def _threads(self, frequencies: int, at_once: int) -> int:
        """As many threads as processors, work and memory allow; ModelError if there is not enough memory for one."""
        worth = min(1 + int(self.cycles(frequencies) / SIZES.shared_cycles), processors())
        one = self.memory(1)
        outputs, inputs = self._shape
        output = 16 * frequencies * outputs * inputs + 4 * at_once * self._bytes / WIDTH
        if worth * one + output < ALWAYS_FREE:
            return worth
        free = free_memory()
        if one + output > free:
            raise ModelError(
                f"{self.name}: the response of {self.size} coordinates at {frequencies} frequencies needs "
                f"{(one + output) / 1e9:.3g} GB of memory, but only {free / 1e9:.3g} GB are free; expected to fit; "
                "choose fewer frequencies, inputs or outputs at a time, or reduce the model"
            )
        return max(1, min(worth, int((free - output) / one)))


def _answers(results: np.ndarray, each: int) -> np.ndarray:
    """Results of the compiled sweep (groups, each, 8) with the sign of the response; complex ones come in halves."""
    if results.dtype == float:
        return -results.reshape(-1, each, WIDTH)
    halves = results.view(float).reshape(-1, each, 2, WIDTH)
    out = np.empty((len(halves), each, WIDTH), dtype=complex)
    np.negative(halves[:, :, 0], out=out.real)
    np.negative(halves[:, :, 1], out=out.imag)
    return out


@lru_cache(maxsize=4)
def _signs(n: int) -> np.ndarray:
    """1 or -1 at random, the same in every run (n,)."""
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=n)
    signs.flags.writeable = False  # shared by all callers
    return signs


def _magnitude(sizes: np.ndarray, w: np.ndarray) -> np.ndarray:
    """``k + w c + w^2 m`` (groups, rows, 8) of sizes (groups, rows, 3) at w (groups, 1, 8)."""
    return sizes[..., 0, None] + w * sizes[..., 1, None] + w**2 * sizes[..., 2, None]
