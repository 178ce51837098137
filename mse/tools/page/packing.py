"""Arrays as short text for the viewer: base64 of little-endian numbers, motions as 16-bit fractions of a scale."""

from __future__ import annotations

import base64

import numpy as np

_FULL = 32767  # the largest 16-bit number: resolves 3e-5 of a motion's largest entry


def packed(values: np.ndarray, kind: str) -> str:
    """Base64 of numbers as "f4", "u4", "u2" or "i2"."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<" + kind).tobytes()).decode("ascii")


def shares(values: np.ndarray) -> dict:
    """Twists (..., 6) as fractions of the largest displacement and of the largest rotation among them."""
    values = np.asarray(values, dtype=float)
    scale = [float(np.abs(values[..., part]).max(initial=0.0)) for part in (slice(0, 3), slice(3, 6))]
    whole = np.zeros(values.shape)
    for part, size in zip((slice(0, 3), slice(3, 6)), scale, strict=True):
        if size > 0.0:
            whole[..., part] = np.rint(values[..., part] / size * _FULL)
    return {"scale": scale, "i2": packed(whole, "i2")}


def share_of(values: np.ndarray) -> dict:
    """Numbers as fractions of the largest one."""
    size = float(np.abs(values).max(initial=0.0))
    return {"scale": size, "i2": packed(np.rint(values / size * _FULL) if size > 0.0 else values, "i2")}
