"""Contents of a MATLAB file of version 5: names, shapes and kinds, from its tags only.

SciPy's reader can crash the process if tags do not fit together, so they are checked first.
"""

from __future__ import annotations

import math
import struct
import zlib
from pathlib import Path

NUMERIC = {"double", "single", "sparse", "logical", *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64))}

# in MATLAB's version 5: bytes of a number by its type, and kinds of arrays by their codes
_BYTES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}
_KINDS = {1: "cell", 2: "struct", 3: "object", 4: "char", 5: "sparse", 6: "double", 7: "single", 8: "int8", 9: "uint8",
          10: "int16", 11: "uint16", 12: "int32", 13: "uint32", 14: "int64", 15: "uint64"}  # fmt: skip
_HEAD = 4096  # bytes that the description of a dense array and the tag of its numbers take at most


def arrays_in(path: Path, *, most: float = 1e9, compressed: bool = True) -> list[tuple[str, tuple[int, ...], str]]:
    """Name, shape and kind of the arrays in a file; ValueError if its tags do not fit.

    Reading compressed arrays takes at most ``most`` bytes; without ``compressed`` they are refused.
    """
    content = path.read_bytes()
    order = "<" if content[126:128] == b"IM" else ">"
    found, at = [], 128
    while at < len(content):
        kind, size = struct.unpack_from(order + "II", content, at)
        inside = content[at + 8 : at + 8 + size]
        if len(inside) < size or kind not in (14, 15) or (kind == 15 and not compressed):
            raise ValueError(f"at byte {at} is an element of type {kind} and {size} bytes")
        if kind == 14:
            found.append(_array_5(inside, size, order))
        else:
            head = zlib.decompressobj().decompress(inside, _HEAD)
            if len(head) == _HEAD and (head[16] if order == "<" else head[19]) == 5:
                head = zlib.decompressobj().decompress(inside, int(most))
            kind, whole = struct.unpack_from(order + "II", head)
            if kind != 14:
                raise ValueError(f"at byte {at} is a compressed element of type {kind}")
            found.append(_array_5(head[8:], whole, order))
        at += 8 + size
    return found


def _array_5(content: bytes, size: int, order: str) -> tuple[str, tuple[int, ...], str]:
    """The array in an element of ``size`` bytes; ``content`` has the first of them."""
    at = 0

    def tag() -> tuple[int, int, int]:
        """Type, size and place of the next element's content."""
        nonlocal at
        kind, count = struct.unpack_from(order + "II", content, at)
        small = kind >> 16
        place, count = (at + 4, small) if small else (at + 8, count)
        at = at + 8 if small else place + -(-count // 8) * 8
        if place + count > size or (small and count > 4):
            raise ValueError(f"an element of {count} bytes does not fit into its array")
        return kind & 0xFFFF, count, place

    def expect(expected: int, what: str) -> tuple[int, int]:
        kind, count, place = tag()
        if kind != expected:
            raise ValueError(f"{what} are of type {kind}")
        return count, place

    count, place = expect(6, "flags")
    flags = struct.unpack_from(order + "I", content, place)[0]
    array = _KINDS.get(flags & 0xFF, "unknown")
    count, place = expect(5, "dimensions")
    shape = struct.unpack_from(f"{order}{count // 4}i", content, place)
    count, place = expect(1, "names")
    name = content[place : place + count].decode("latin-1")
    if array not in NUMERIC:
        return name, shape, array
    if len(shape) < 2 or min(shape) < 0:
        raise ValueError(f"{name!r} has the shape {shape}")
    least = math.prod(shape)
    if array == "sparse":
        expect(5, "row numbers")
        count, place = expect(5, "column starts")
        if count != 4 * (shape[1] + 1):
            raise ValueError(f"{name!r} has {count // 4} column starts for {shape[1]} columns")
        least = struct.unpack_from(order + "i", content, place + count - 4)[0]
    for _ in range(2 if flags & 0x800 else 1):  # complex numbers have a second part
        kind, count, _ = tag()
        if count != least * _BYTES.get(kind, -1) and (array != "sparse" or count < least * _BYTES.get(kind, math.inf)):
            raise ValueError(f"{name!r} has {count} bytes of type {kind} for {least} numbers")
    return name, shape, array
