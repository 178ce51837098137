"""What members with a dynamic stiffness add at many frequencies to a bordered matrix and its products with known answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...kernels.ldl import Changes
from ...kernels.vector_ir import WIDTH
from ...linear.members import unsymmetric
from ...numerics.ordering import Elimination

# Bytes of blocks that are computed together: in benchmarks/run.py --only stiffness_tables, a tenth takes twice as long, and ten
# times as many save nothing and take seven times the memory.
_AT_ONCE = 32e6


class Moved(NamedTuple):
    """How a member moves: its own coordinates (k, .) by free coordinates ``on``, by inputs, and by reactions that are read.

    ``sign`` is the sign of the rows of those coordinates in the matrix.
    """

    on: np.ndarray
    to: np.ndarray
    dragged: np.ndarray
    reads: np.ndarray
    sign: float


class Additions:
    """Blocks of members in a bordered matrix of n columns; inputs and outputs are in rows from ``inputs`` and ``outputs`` on."""

    def __init__(
        self,
        moved: Sequence[Moved],
        change: Callable[[np.ndarray], list[np.ndarray]],
        n: int,
        inputs: int,
        outputs: int,
    ):
        self._change, self._size = change, n
        self._moved = moved
        self.on_border = any(m.dragged.any() or m.reads.any() for m in moved)
        self._alike: dict[tuple[int, int, int], list[int]] = {}
        self._rows, self._motions, self._weights = [], [], []
        for number, m in enumerate(moved):
            driven, read = np.flatnonzero(m.dragged.any(axis=0)), np.flatnonzero(m.reads.any(axis=0))
            self._rows.append(np.concatenate([m.on, inputs + driven, outputs + read]))
            self._motions.append(np.hstack([m.to, -m.dragged[:, driven], -m.reads[:, read]]))
            self._weights.append(np.r_[np.full(len(m.on) + len(driven), m.sign), np.ones(len(read))])
            shape = *m.to.shape, len(self._rows[-1])
            self._alike.setdefault(shape, []).append(number)
        entries = sum(len(numbers) * c * rows for (_, c, rows), numbers in self._alike.items())
        #: number of frequencies whose blocks are computed together
        self.at_once = WIDTH * max(1, int(_AT_ONCE / (16 * WIDTH * max(entries, 1))))

    def pattern(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of all entries."""
        rows = [np.tile(rows, len(m.on)) for rows, m in zip(self._rows, self._moved, strict=True)]
        columns = [np.repeat(m.on, len(rows)) for rows, m in zip(self._rows, self._moved, strict=True)]
        return np.concatenate(rows), np.concatenate(columns)

    def place(self, elimination: Elimination, first: np.ndarray, rows: np.ndarray) -> None:
        """Find the places of all entries in the fronts of a pattern, and of the right-hand side with the known answer."""
        fronts = elimination.fronts
        group_of_entry = np.repeat(np.arange(len(fronts.parents)), np.diff(fronts.first_entry))
        group_of_column = np.repeat(np.arange(len(fronts.parents)), np.diff(fronts.first_column))
        sizes = np.diff(fronts.first_column) + np.diff(fronts.first_row)
        groups, places, self._chosen, count = [], [], [], 0
        numbers = elimination.numbers(first, rows, *self.pattern())
        ends = np.cumsum([len(own) * len(m.on) for own, m in zip(self._rows, self._moved, strict=True)])
        for number, m in zip(np.split(numbers, ends[:-1]), self._moved, strict=True):
            chosen = np.flatnonzero(number >= 0)  # the lower triangle, which fronts store
            entry = number[chosen]
            column = elimination.place[m.on]
            group = group_of_column[column]
            groups += [group_of_entry[entry], group]
            last = sizes[group] - 1
            places += [fronts.places[entry], last * sizes[group] + column - fronts.first_column[group]]
            self._chosen.append(chosen)
            count += len(chosen) + len(m.on)
        group = np.concatenate(groups)
        by_group = np.argsort(group, kind="stable")
        self._places = np.concatenate(places)[by_group]
        self._first = np.searchsorted(group[by_group], np.arange(len(fronts.parents) + 1))
        slots = np.empty(count, dtype=np.int64)
        slots[by_group] = np.arange(count)
        ends = np.cumsum(
            [x for chosen, m in zip(self._chosen, self._moved, strict=True) for x in (len(chosen), len(m.on))]
        )
        self._slots = np.split(slots, ends[:-1])

    def at(self, w: np.ndarray) -> Blocks:
        """The blocks at angular frequencies (f,), a multiple of eight."""
        return Blocks(self, w)

    def blocks(self, change: list[np.ndarray], count: int) -> list[tuple[list[int], np.ndarray]]:
        """Similar members by number, and their blocks by columns and rows (members, f, c, rows)."""
        out = []
        for (k, c, height), numbers in self._alike.items():
            dtype = complex if any(np.iscomplexobj(change[number]) for number in numbers) else float
            block = np.empty((len(numbers), count, c, height), dtype=dtype)
            for into, number in zip(block, numbers, strict=True):
                to, motion = self._moved[number].to, self._motions[number] * self._weights[number]
                if c == k == height and np.array_equal(to, np.eye(k)) and np.array_equal(motion, to):
                    into[:] = change[number]
                    continue
                # symmetric, so that both products are of long matrices
                half = (change[number].reshape(-1, k) @ to.astype(change[number].dtype)).reshape(count, k, c)
                half = np.ascontiguousarray(half.transpose(0, 2, 1)).reshape(-1, k)
                into[:] = (half @ motion.astype(half.dtype)).reshape(count, c, height)
            out.append((numbers, block))
        return out

    def direct(self, change: list[np.ndarray]) -> np.ndarray | float:
        """Direct effect of inputs on outputs through members that prescribed coordinates move, (f, outputs, inputs)."""
        return sum(
            (
                -(m.reads.T @ own @ m.dragged)
                for own, m in zip(change, self._moved, strict=True)
                if m.reads.any() and m.dragged.any()
            ),
            start=0.0,
        )


class Blocks:
    """Blocks of :class:`Additions` at angular frequencies (f,)."""

    def __init__(self, additions: Additions, w: np.ndarray):
        self._of, self._count = additions, len(w)
        change = additions._change(w)
        #: frequencies (f,) that elimination without pivoting can solve: it reads one triangle of each matrix
        self.symmetric = ~np.any([unsymmetric(own) for own in change], axis=0)
        self.direct = additions.direct(change)
        self._blocks = additions.blocks(change, len(w))
        self.complex = any(np.iscomplexobj(block) for _, block in self._blocks)

    def sizes(self, part: np.ndarray, parts: int) -> np.ndarray:
        """Diagonal terms that members add (n, parts): the largest over the frequencies (f,) of each part."""
        out = np.zeros((self._of._size, parts))
        for numbers, block in self._blocks:
            diagonal = np.abs(np.einsum("mfcc->mfc", block[..., : block.shape[2]]))
            for p in range(parts):
                largest = diagonal[:, part == p].max(axis=1)
                for number, one in zip(numbers, largest, strict=True):
                    out[self._of._moved[number].on, p] += one
        return out

    def known(self, x: np.ndarray, scale: np.ndarray, part: np.ndarray, rows: int) -> Products:
        """Products with known answers x, with sizes (n, parts); each frequency uses the answer of its part (f,)."""
        of, count, n = self._of, self._count, self._of._size
        answers = np.zeros((count, 1 + rows), dtype=complex)
        sizes, squares = np.zeros((count, 1 + rows)), np.zeros((count, rows))
        pushed = [np.zeros(0)] * len(of._moved)
        for numbers, block in self._blocks:
            columns = block.shape[2]
            large = np.abs(block.real) + np.abs(block.imag) if np.iscomplexobj(block) else np.abs(block)
            on = np.array([of._moved[number].on for number in numbers])
            there, size = x[on][:, :, part].transpose(0, 2, 1), scale[on][:, :, part].transpose(0, 2, 1)
            push = np.einsum("mfc,mfcr->mfr", there, block)
            most = np.einsum("mfc,mfcr->mfr", size, large)
            answers[:, 0] += np.einsum("mfc,mfc->f", there, push[..., :columns])
            sizes[:, 0] += np.einsum("mfc,mfc->f", size, most[..., :columns])
            for j, number in enumerate(numbers):
                pushed[number] = push[j, :, :columns]
                border = of._rows[number][columns:] - n
                answers[:, 1 + border] += push[j, :, columns:]
                sizes[:, 1 + border] += most[j, :, columns:]
                squares[:, border] += np.einsum("fc,fcr->fr", size[j] ** 2, large[j, :, :, columns:] ** 2)
        return Products(pushed, *(_by_groups(a) for a in (answers, sizes, squares)))

    def changes(self, pushed: list[np.ndarray], dtype: type) -> Changes:
        """All entries in the order of elimination, and right-hand sides ``pushed`` (f, c) of each member."""
        of, groups = self._of, self._count // WIDTH
        halves = 2 if dtype is complex else 1
        out = np.zeros((groups, len(of._places), halves, WIDTH))
        for numbers, block in self._blocks:
            for own, number in zip(block, numbers, strict=True):
                entries = own.reshape(self._count, -1)[:, of._chosen[number]]
                for values, slots in zip(
                    (entries, pushed[number]), of._slots[2 * number : 2 * number + 2], strict=True
                ):
                    both = (values.real, values.imag)[: halves if np.iscomplexobj(values) else 1]
                    for half, part in enumerate(both):
                        out[:, slots, half] = part.reshape(groups, WIDTH, -1).transpose(0, 2, 1)
        return Changes(of._first, of._places, out.ravel().view(dtype))


class Products(NamedTuple):
    """Right-hand sides (f, c) of each member; sums over members of answers and sizes (groups, 1 + rows, 8) and of squares."""

    pushed: list[np.ndarray]
    answers: np.ndarray
    sizes: np.ndarray
    squares: np.ndarray


def _by_groups(values: np.ndarray) -> np.ndarray:
    """Rows (f, rows) by groups of eight frequencies, (groups, rows, 8)."""
    return values.reshape(-1, WIDTH, values.shape[1]).transpose(0, 2, 1)
