"""Exact first and second derivatives of numpy code, by second-order Taylor arithmetic.

A :class:`Jet` is an array that carries its gradient and Hessian with respect to n variables.  numpy functions
applied to it follow the chain rule to second order, so an energy written in plain numpy yields its forces and its
stiffness without differences (A. Griewank, A. Walther, "Evaluating Derivatives", 2nd ed. (2008), chapter 13).

Why not a library: JAX or autograd would have to be installed by all who define an element; JAX compiles every class first and
takes single precision by default.  What cannot be differentiated here is refused by the name of the function.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import ModelError
from ..kernels import rotations
from .numpy_functions import COMPOUND, dot, hypot, matmul, unsupported
from .precision import EPS

# f, f', f'' of functions of one variable
_UNARY: dict[np.ufunc, Callable] = {
    np.negative: lambda x: (-x, -np.ones_like(x), np.zeros_like(x)),
    np.positive: lambda x: (x, np.ones_like(x), np.zeros_like(x)),
    np.square: lambda x: (x * x, 2 * x, np.full_like(x, 2.0)),
    np.reciprocal: lambda x: (1 / x, -1 / x**2, 2 / x**3),
    np.exp: lambda x: (np.exp(x),) * 3,
    np.expm1: lambda x: (np.expm1(x), np.exp(x), np.exp(x)),
    np.log: lambda x: (np.log(x), 1 / x, -1 / x**2),
    np.log1p: lambda x: (np.log1p(x), 1 / (1 + x), -1 / (1 + x) ** 2),
    np.sin: lambda x: (np.sin(x), np.cos(x), -np.sin(x)),
    np.cos: lambda x: (np.cos(x), -np.sin(x), -np.cos(x)),
    np.tan: lambda x: (np.tan(x), 1 / np.cos(x) ** 2, 2 * np.tan(x) / np.cos(x) ** 2),
    np.arcsin: lambda x: (np.arcsin(x), (1 - x * x) ** -0.5, x * (1 - x * x) ** -1.5),
    np.arccos: lambda x: (np.arccos(x), -((1 - x * x) ** -0.5), -x * (1 - x * x) ** -1.5),
    np.arctan: lambda x: (np.arctan(x), 1 / (1 + x * x), -2 * x / (1 + x * x) ** 2),
    np.sinh: lambda x: (np.sinh(x), np.cosh(x), np.sinh(x)),
    np.cosh: lambda x: (np.cosh(x), np.sinh(x), np.cosh(x)),
    np.tanh: lambda x: (np.tanh(x), 1 - np.tanh(x) ** 2, -2 * np.tanh(x) * (1 - np.tanh(x) ** 2)),
    np.absolute: lambda x: (np.abs(x), np.sign(x), np.zeros_like(x)),
}
_COMPARE = {
    np.less,
    np.less_equal,
    np.greater,
    np.greater_equal,
    np.equal,
    np.not_equal,
    np.isfinite,
    np.isnan,
    np.sign,
}


def _sqrt(x):
    # a zero under the root has no derivative; a caller that squares first never gets here
    r = np.sqrt(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        return r, 0.5 / r, -0.25 / (r * x)


_UNARY[np.sqrt] = _sqrt


class Jet(np.lib.mixins.NDArrayOperatorsMixin):
    """Array ``value`` (...), its ``gradient`` (..., n) and ``hessian`` (..., n, n) by n variables."""

    __slots__ = ("gradient", "hessian", "value")

    def __init__(self, value: np.ndarray, gradient: np.ndarray, hessian: np.ndarray):
        self.value = np.asarray(value, dtype=float)
        self.gradient = gradient
        self.hessian = hessian

    @classmethod
    def variables(cls, values: np.ndarray) -> Jet:
        """The n independent variables themselves, as one Jet of shape (n,)."""
        values = np.asarray(values, dtype=float)
        n = values.size
        return cls(values, np.eye(n), np.zeros((n, n, n)))

    # -- array behavior --------------------------------------------------------------------------------------
    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def ndim(self) -> int:
        return self.value.ndim

    @property
    def T(self) -> Jet:
        order = tuple(range(self.ndim))[::-1]
        return self._linear(lambda a, k: a.transpose(order + tuple(range(self.ndim, self.ndim + k))))

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index) -> Jet:
        if not isinstance(index, tuple):
            index = (index,)
        if not any(i is Ellipsis for i in index):
            index = (*index, Ellipsis)
        return self._linear(lambda a, k: a[(*index, *(slice(None),) * k)])

    def __bool__(self) -> bool:
        return bool(self.value)

    def __float__(self) -> float:
        raise ModelError(
            "an energy calls float() (or a math function) on a frame coordinate, which loses its derivatives; "
            "use numpy functions, or set differentiation = 'differences' in the class"
        )

    def dot(self, other) -> Jet:
        return dot(self, other)

    def sum(self, axis=None) -> Jet:
        axes = tuple(range(self.ndim)) if axis is None else np.atleast_1d(axis) % max(self.ndim, 1)
        return self._linear(lambda a, k: a.sum(axis=tuple(int(i) for i in axes)))

    def angle_over_sine(self) -> Jet:
        """``arccos(c)/sqrt(1 - c^2)`` of one number c."""
        return self._chain(*_angle_over_sine(self.value))

    def _linear(self, f: Callable) -> Jet:
        return Jet(f(self.value, 0), f(self.gradient, 1), f(self.hessian, 2))

    def _chain(self, f, df, ddf) -> Jet:
        g = self.gradient
        outer = g[..., :, None] * g[..., None, :]
        return Jet(f, df[..., None] * g, df[..., None, None] * self.hessian + ddf[..., None, None] * outer)

    # -- numpy protocols --------------------------------------------------------------------------------------
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        out = kwargs.pop("out", None)
        if method != "__call__" or kwargs:
            raise unsupported(ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}")
        result = self._applied(ufunc, inputs)
        if out is None:
            return result
        target = out[0]
        if not isinstance(target, Jet) or target.shape != result.shape:
            raise unsupported(f"{ufunc.__name__} into a plain array")
        target.value, target.gradient, target.hessian = result.value, result.gradient, result.hessian
        return target

    def _applied(self, ufunc, inputs):
        if ufunc in _COMPARE:
            return ufunc(*(x.value if isinstance(x, Jet) else x for x in inputs))
        if ufunc in _UNARY:
            return self._chain(*_UNARY[ufunc](self.value))
        if ufunc in _BINARY:
            return _BINARY[ufunc](*inputs)
        raise unsupported(ufunc.__name__)

    def __array_function__(self, function, types, args, kwargs):
        if function not in _FUNCTIONS:
            raise unsupported(function.__name__)
        try:
            return _FUNCTIONS[function](*args, **kwargs)
        except TypeError:
            raise unsupported(f"{function.__name__} with these arguments") from None


def _like(x, n: int) -> Jet:
    if isinstance(x, Jet):
        return x
    x = np.asarray(x)
    if x.dtype == object:  # np.array of numbers, some of which have derivatives
        parts = [_like(part, n) for part in x.ravel()]
        value, gradient, hessian = (
            np.stack(a) for a in zip(*((p.value, p.gradient, p.hessian) for p in parts), strict=True)
        )
        return Jet(*(a.reshape(x.shape + a.shape[1:]) for a in (value, gradient, hessian)))
    x = np.asarray(x.tolist() if x.dtype.kind == "c" else x, dtype=float)  # complex numbers are refused
    return Jet(x, np.zeros((*x.shape, n)), np.zeros((*x.shape, n, n)))


def _pair(a, b) -> tuple[Jet, Jet]:
    n = (a if isinstance(a, Jet) else b).gradient.shape[-1]
    a, b = _like(a, n), _like(b, n)
    # numpy aligns shapes from the right, where the derivative axes are, so pad to equal rank first
    rank = max(a.ndim, b.ndim)
    return tuple(x._linear(lambda v, k, x=x: v.reshape((1,) * (rank - x.ndim) + v.shape)) for x in (a, b))


def _add(a, b):
    a, b = _pair(a, b)
    return Jet(a.value + b.value, a.gradient + b.gradient, a.hessian + b.hessian)


def _subtract(a, b):
    a, b = _pair(a, b)
    return Jet(a.value - b.value, a.gradient - b.gradient, a.hessian - b.hessian)


def _multiply(a, b):
    a, b = _pair(a, b)
    cross = a.gradient[..., :, None] * b.gradient[..., None, :]
    return Jet(
        a.value * b.value,
        a.gradient * b.value[..., None] + a.value[..., None] * b.gradient,
        a.hessian * b.value[..., None, None]
        + a.value[..., None, None] * b.hessian
        + cross
        + np.swapaxes(cross, -1, -2),
    )


def _divide(a, b):
    return _multiply(a, np.reciprocal(b) if isinstance(b, Jet) else 1.0 / np.asarray(b, dtype=float))


def _power(a, p):
    if isinstance(p, Jet):
        return np.exp(_multiply(np.log(a), p))
    p = np.asarray(p, dtype=float)
    x = a.value
    # at x = 0, 0 * x**(-1) would spoil the derivatives of squares and first powers
    first = np.where(p == 0, 0.0, p * x ** np.where(p == 0, 1.0, p - 1))
    second = np.where((p == 0) | (p == 1), 0.0, p * (p - 1) * x ** np.where((p == 0) | (p == 1), 1.0, p - 2))
    return a._chain(x**p, first, second)


def _arctan2(y, x):
    y, x = _pair(y, x)
    r2 = x.value**2 + y.value**2
    fy, fx = x.value / r2, -y.value / r2
    fyy, fxy = -2 * x.value * y.value / r2**2, (y.value**2 - x.value**2) / r2**2
    gy, gx = y.gradient, x.gradient
    cross = gy[..., :, None] * gx[..., None, :]
    yy, xx = gy[..., :, None] * gy[..., None, :], gx[..., :, None] * gx[..., None, :]
    w = lambda v: v[..., None, None]  # noqa: E731
    return Jet(
        np.arctan2(y.value, x.value),
        fy[..., None] * gy + fx[..., None] * gx,
        w(fy) * y.hessian + w(fx) * x.hessian + w(fyy) * (yy - xx) + w(fxy) * (cross + np.swapaxes(cross, -1, -2)),
    )


_BINARY = {
    np.add: _add,
    np.subtract: _subtract,
    np.multiply: _multiply,
    np.divide: _divide,
    np.power: _power,
    np.float_power: _power,
    np.arctan2: _arctan2,
    np.hypot: hypot,
    np.matmul: matmul,
}


def _joined(items, axis: int, join: Callable, rank: int) -> Jet:
    n = next(x.gradient.shape[-1] for x in items if isinstance(x, Jet))
    items = [_like(x, n) for x in items]
    axis = axis % rank
    return Jet(*(join([getattr(x, f) for x in items], axis=axis) for f in ("value", "gradient", "hessian")))


def _stack(items, axis=0):
    items = list(items)
    return _joined(items, axis, np.stack, np.ndim(_value(items[0])) + 1)


def _concatenate(items, axis=0):
    items = list(items)
    return _joined(items, axis, np.concatenate, np.ndim(_value(items[0])))


def _value(x):
    return x.value if isinstance(x, Jet) else x


def _where(condition, a, b):
    condition = np.asarray(_value(condition))
    a, b = _pair(a, b)
    pick = lambda x, y, k: np.where(condition.reshape(condition.shape + (1,) * k), x, y)  # noqa: E731
    return Jet(pick(a.value, b.value, 0), pick(a.gradient, b.gradient, 1), pick(a.hessian, b.hessian, 2))


_FUNCTIONS = {**COMPOUND, np.stack: _stack, np.concatenate: _concatenate, np.where: _where}


def value_of(x):
    """The value of a Jet; other arguments unchanged."""
    return x.value if isinstance(x, Jet) else x


def rotation_vector(matrix):
    """``log R`` (3,) rad of a rotation matrix R (3, 3), for use inside a law: for plain arrays, jets and recorded arrays.

    ``log R = vee(R - R^T)/2 * t/sin t`` with ``cos t = (tr R - 1)/2``; R. M. Murray, Z. Li, S. S. Sastry, "A
    Mathematical Introduction to Robotic Manipulation" (1994), eq. 2.17.  Smooth below pi; at pi it has no derivative.
    """
    if isinstance(matrix, np.ndarray) and matrix.dtype == float:
        return rotations.rotation_vector(np.ascontiguousarray(matrix))
    axial = [
        (matrix[2, 1] - matrix[1, 2]) * 0.5,
        (matrix[0, 2] - matrix[2, 0]) * 0.5,
        (matrix[1, 0] - matrix[0, 1]) * 0.5,
    ]
    factor = angle_over_sine((matrix[0, 0] + matrix[1, 1] + matrix[2, 2] - 1.0) * 0.5)
    return np.stack([a * factor for a in axial])


def angle_over_sine(cosine):
    """``t/sin t`` from cos t, for use inside a law: for a number, a jet or a recorded array; smooth below pi, huge there."""
    if hasattr(cosine, "angle_over_sine"):
        return cosine.angle_over_sine()
    return _angle_over_sine(np.maximum(cosine, EPS - 1.0))[0]


def _angle_over_sine(c):
    """``f(c) = arccos(c)/sqrt(1 - c^2)`` with f' and f'', from the differential equation (1 - c^2) f' = c f - 1."""
    d = 1.0 - c
    if d < 0.02:
        # Taylor series about c = 1: f = sum_k d^k k!/(2k+1)!!, from the same differential equation
        f = df = ddf = np.zeros_like(d)
        term = 1.0
        for k in range(24):
            f = f + term * d**k
            if k >= 1:
                df = df - term * k * d ** (k - 1)
            if k >= 2:
                ddf = ddf + term * k * (k - 1) * d ** (k - 2)
            term *= (k + 1) / (2 * k + 3)
        return f, df, ddf
    s2 = 1.0 - c * c
    f = np.arccos(c) / np.sqrt(s2)
    df = (c * f - 1.0) / s2
    ddf = (f + 3.0 * c * df) / s2
    return f, df, ddf
