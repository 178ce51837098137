"""Loss laws: elastic stiffness times ``kappa(omega) = 1 + i phi(omega)``, with phi a table, a function, a formula, or a sum."""

from __future__ import annotations

import pickle
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import ModelError
from ..numerics.read_only import read_only
from ..validation.arguments import called, number, numbers, real, refusal, samples
from .parameters import Number

_BESIDE = np.finfo(float).eps ** (1 / 3)  # of a frequency: central differences are best there
_OUTSIDE = ("refuse", "hold")
NEGATIVE = "a negative one would feed energy into motions"


class LossSection(NamedTuple):
    """What losses may depend on in a beam: SI units; ``thickness`` (m) in the plane of each bending mechanism.

    ``surface`` (1/m) is, by mechanism, the integral of the elastic energy density over the surface by that over the volume.
    """

    young_modulus: float
    density: float
    temperature: float
    stress: float
    round: bool
    thickness: Mapping[str, float]
    surface: Mapping[str, float]


class LossLaw:
    """A loss factor that depends on frequency: stiffness times ``factor(omega)``, which is ``1 + i phi`` or has a modulus, too.

    Laws add up, ``law + 1e-5``, and a number may stand before one, ``2 * law``.
    """

    #: whether it follows from the section of a beam and its tension
    by_section: ClassVar[bool] = False

    @abstractmethod
    def factor(self, omega: np.ndarray) -> np.ndarray:
        """The factor of the stiffness.

        Parameters
        ----------
        omega : ndarray, (f,), rad/s
            Angular frequencies for motions ``exp(i omega t)``; complex ones near the real axis for modes.

        Returns
        -------
        ndarray of complex, (f,)
            Its imaginary part is the loss factor, not negative at real frequencies.
        """

    def of_section(self, section: LossSection, mechanism: str) -> LossLaw | float:
        """The law of one mechanism of a beam.

        Parameters
        ----------
        section : LossSection
            Section of the beam, under its tension.
        mechanism : str
            The mechanism.

        Returns
        -------
        LossLaw or float
            A law that depends on frequency alone.
        """
        return self

    def acts_on(self, mechanism: str) -> bool:
        """Whether a mechanism can have such a loss.

        Parameters
        ----------
        mechanism : str
            The mechanism.

        Returns
        -------
        bool
            False where it is none for any section.
        """
        return True

    def band_hz(self) -> tuple[float, float]:
        """The lowest and the highest frequency (Hz) at which it is known.

        Returns
        -------
        tuple of float
            0 and infinity but for tables.
        """
        return 0.0, np.inf

    def slope_at_rest(self) -> float:
        """The slope ``d phi / d omega`` of the loss factor at 0 Hz, from which thermal noise there follows.

        Returns
        -------
        float, s
            Infinite where the loss factor does not vanish in proportion to frequency, or is not known to.
        """
        return np.inf

    def data(self) -> dict[str, Any]:
        """The law as numbers and names, for files.

        Returns
        -------
        dict
            Its class under "law", and its numbers.

        Raises
        ------
        ModelError
            It is a function.
        """
        if KINDS.get(type(self).__name__) is not type(self):
            raise ModelError(
                f"the loss law {self} is a class of its own, which a file cannot hold; expected one of mse's; sample it: "
                "mse.LossTable(frequencies_hz, loss)"
            )
        values = ((f.name, getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]
        return {"law": type(self).__name__} | {name: _as_data(value) for name, value in values}

    def __add__(self, other: LossLaw | float) -> LossSum:
        added = as_law(other)
        if added is None:
            raise refusal(
                str(self), "what is added", other, EXPECTED, remedy=NEGATIVE if real(other) is not None else ""
            )
        return LossSum((self, added), (1.0, 1.0))

    __radd__ = __add__

    def __mul__(self, by: float) -> LossSum:
        factor = real(by, minimum=0.0)
        if factor is None:
            expected, remedy = "a number of at least 0", NEGATIVE if real(by) is not None else ""
            raise refusal(str(self), "its factor", by, expected, remedy=remedy)
        return LossSum((self,), (factor,))

    __rmul__ = __mul__

    def __format__(self, spec: str) -> str:
        return str(self)


Factor = float | LossLaw
LossGiven = Number | LossLaw | Callable[[np.ndarray], Any] | Sequence[Any] | np.ndarray


@dataclass(frozen=True)
class LossTable(LossLaw):
    """A loss factor by samples: between two of them a power of the frequency, a straight line where one of them is zero.

    Parameters
    ----------
    frequencies_hz : array_like, (s,), Hz
        Frequencies of the samples, ascending and above zero.
    loss : array_like, (s,)
        Loss factors there, not negative.
    outside : {"refuse", "hold"}
        Beyond the first and the last sample: an error, or the loss factor there.

    Raises
    ------
    ModelError
        Lengths differ, frequencies do not ascend, or numbers are negative or not finite.

    Examples
    --------
    >>> table = mse.LossTable([0.1, 10.0], [1e-3, 1e-5], outside="hold")
    >>> [f"{x:.3g}" for x in table.factor(2 * np.pi * np.array([0.01, 1.0])).imag]
    ['0.001', '0.0001']
    """

    frequencies_hz: tuple[float, ...]
    loss: tuple[float, ...]
    outside: str = "refuse"

    def __post_init__(self):
        f, values = samples(
            "LossTable",
            self.frequencies_hz,
            "loss",
            self.loss,
            ("loss factor", "loss factors"),
            f"at least 0: {NEGATIVE}",
        )
        if self.outside not in _OUTSIDE:
            raise refusal("LossTable", "outside", self.outside, f"one of {', '.join(map(repr, _OUTSIDE))}")
        object.__setattr__(self, "frequencies_hz", tuple(f.tolist()))
        object.__setattr__(self, "loss", tuple(values.tolist()))

    def factor(self, omega):
        z, (f, values, powers, slopes) = _rates("LossTable", omega) / (2.0 * np.pi), self._pieces
        below, above = z.real < f[0], z.real > f[-1]
        if self.outside == "refuse" and (below.any() or above.any()):
            rounded = 8.0 * np.finfo(float).eps * z.real
            beyond = (z.real + rounded < f[0]) | (z.real - rounded > f[-1])
            if beyond.any():
                raise ModelError(
                    f"asked at {z.real[beyond][0]:.6g} Hz; expected {f[0]:.6g} to {f[-1]:.6g} Hz, where its table is known; "
                    "ask for these, or give mse.LossTable(..., outside='hold')"
                )
        k = np.maximum(np.searchsorted(f[:-1], z.real, side="right") - 1, 0)
        u = z / f[k]
        phi = values[k] * u ** powers[k] + slopes[k] * (u - 1.0)
        return 1.0 + 1j * np.where(below, values[0], np.where(above, values[-1], phi))

    def slope_at_rest(self):
        return np.inf if self.loss[0] else 0.0

    def band_hz(self):
        return (self.frequencies_hz[0], self.frequencies_hz[-1]) if self.outside == "refuse" else super().band_hz()

    @cached_property
    def _pieces(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Samples f, v (s,), and the numbers p, c of ``v (z/f)^p + c (z/f - 1)`` after each, one of which is 0."""
        f, values = np.array(self.frequencies_hz), np.array(self.loss)
        powers, slopes = np.zeros(len(f)), np.zeros(len(f))
        straight = (values[:-1] <= 0.0) | (values[1:] <= 0.0)
        slopes[:-1][straight] = (np.diff(values) / (f[1:] / f[:-1] - 1.0))[straight]
        curved = np.flatnonzero(~straight)
        powers[curved] = np.log(values[curved + 1] / values[curved]) / np.log(f[curved + 1] / f[curved])
        return read_only((f, values, powers, slopes))

    def __str__(self) -> str:
        f = self.frequencies_hz
        return f"a table of {len(f)} from {f[0]:.4g} to {f[-1]:.4g} Hz"


@dataclass(frozen=True)
class LossFunction(LossLaw):
    """A loss factor by a function of the frequency in Hz, real; beside the real axis it goes on by its slope."""

    function: Callable[[np.ndarray], Any]

    def factor(self, omega):
        f = np.asarray(omega).real / (2.0 * np.pi)
        if not np.iscomplexobj(omega):
            return 1.0 + 1j * self._at(f)
        step = _BESIDE * f
        phi, high, low = np.split(self._at(np.concatenate([f, f + step, f - step])), 3)
        slope = (high - low) / np.where(step > 0.0, 2.0 * step, 1.0)
        return 1.0 + 1j * (phi + 1j * slope * omega.imag / (2.0 * np.pi))

    def _at(self, f: np.ndarray) -> np.ndarray:
        found = called(
            "loss",
            "its function",
            "loss(frequencies_hz), all frequencies in one array; numpy.where chooses as if does",
            self.function,
            f,
        )
        found = np.broadcast_to(numbers("loss", "its function", found, (), f.shape), f.shape)
        if found.min(initial=0.0) < 0.0:
            at = int(np.argmin(found))
            raise ModelError(f"its function gives {found[at]:.6g} at {f[at]:.6g} Hz; expected at least 0: {NEGATIVE}")
        return found

    def data(self):
        raise ModelError(
            f"the loss law {self} cannot be held by a file; expected data; sample it: "
            "mse.LossTable(frequencies_hz, loss)"
        )

    def __getstate__(self):
        try:
            pickle.dumps(self.function)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ModelError(
                f"the loss law {self} cannot be sent to another process or kept in a pickle ({error}); expected a function that "
                "other processes can import; define it by def at the top of a module, or sample it: "
                "mse.LossTable(frequencies_hz, loss)"
            ) from None
        return dict(vars(self))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self  # a copy would be made by way of a pickle, which some functions have none of

    def __str__(self) -> str:
        return f"function {getattr(self.function, '__name__', type(self.function).__name__)}"


@dataclass(frozen=True)
class Zener(LossLaw):
    """``kappa = 1 + D i x/(1 + i x)``, x = f/f_c: a stiffness that grows by the share D through a relaxation at f_c.

    Its loss factor is at most D/2, at f_c; at rest the stiffness is that of the element (C. Zener, "Elasticity and
    Anelasticity of Metals" (1948), chapter 5; Nowick and Berry, "Anelastic Relaxation in Crystalline Solids" (1972), eq. 3.4-9).

    Parameters
    ----------
    relaxation : float
        The share D, not negative.
    corner_hz : float, Hz
        The frequency f_c.

    Raises
    ------
    ModelError
        A number is out of range.

    Examples
    --------
    >>> mse.Zener(2e-3, 5.0).factor(np.array([2 * np.pi * 5.0]))
    array([1.001+0.001j])
    """

    relaxation: float
    corner_hz: float

    def __post_init__(self):
        relaxation = number("Zener", "relaxation", self.relaxation, minimum=0.0, remedy=NEGATIVE)
        object.__setattr__(self, "relaxation", relaxation)
        object.__setattr__(self, "corner_hz", number("Zener", "corner_hz", self.corner_hz, unit="Hz", above=0.0))

    def factor(self, omega):
        x = 1j * _rates("Zener", omega) / (2.0 * np.pi * self.corner_hz)
        return 1.0 + self.relaxation * x / (1.0 + x)

    def slope_at_rest(self):
        return self.relaxation / (2.0 * np.pi * self.corner_hz)

    def __str__(self) -> str:
        return f"Zener({self.relaxation:.4g}, {self.corner_hz:.4g} Hz)"


@dataclass(frozen=True)
class LossSum(LossLaw):
    """``kappa = 1 + sum_j weights_j (kappa_j - 1)`` of laws and loss factors."""

    terms: tuple[LossLaw | float, ...]
    weights: tuple[float, ...]

    def __post_init__(self):
        laws = tuple(as_law(term) for term in self.terms)
        weights = numbers("LossSum", "weights", self.weights, (len(laws),))
        if None in laws or not laws or weights.min() < 0.0:
            raise ModelError(f"LossSum: {len(laws)} terms with the weights {list(self.weights)}; expected {EXPECTED}")
        object.__setattr__(self, "terms", laws)
        object.__setattr__(self, "weights", tuple(weights.tolist()))

    @property
    def by_section(self) -> bool:  # type: ignore[override]
        return any(isinstance(law, LossLaw) and law.by_section for law in self.terms)

    def factor(self, omega):
        return 1.0 + sum(w * (factor_of(law, omega) - 1.0) for law, w in zip(self.terms, self.weights, strict=True))

    def of_section(self, section, mechanism):
        terms = tuple(law.of_section(section, mechanism) if isinstance(law, LossLaw) else law for law in self.terms)
        if all(isinstance(law, float) for law in terms):
            return float(np.dot(terms, self.weights))
        return LossSum(terms, self.weights)

    def band_hz(self):
        bands = [law.band_hz() for law in self.terms if isinstance(law, LossLaw)]
        return max([0.0, *(low for low, _ in bands)]), min([np.inf, *(high for _, high in bands)])

    def slope_at_rest(self):
        terms = zip(self.terms, self.weights, strict=True)
        return float(sum(weight * slope_at_rest(law) for law, weight in terms if weight))

    def acts_on(self, mechanism):
        return any(not isinstance(law, LossLaw) or law.acts_on(mechanism) for law in self.terms)

    def data(self):
        return {"law": "LossSum", "terms": [_as_data(law) for law in self.terms], "weights": list(self.weights)}

    def __str__(self) -> str:
        return " + ".join(
            f"{law:g}" if w == 1.0 else f"{w:g} x {law:g}" for law, w in zip(self.terms, self.weights, strict=True)
        )


EXPECTED = (
    "a loss factor of at least 0, samples (frequencies_hz, loss), a function of the frequencies in Hz, or a law such as "
    "mse.Zener(relaxation, corner_hz)"
)
#: classes of laws that files know, by name
KINDS: dict[str, type] = {cls.__name__: cls for cls in (LossTable, Zener, LossSum)}


def as_law(value: Any) -> LossLaw | float | None:
    """A loss factor or law from what a user or a file gives; None for what is none.  ModelError for a law with wrong numbers."""
    found = real(value, minimum=0.0)
    if found is not None or isinstance(value, LossLaw):
        return value if found is None else found
    if isinstance(value, Mapping):
        kind = KINDS.get(value.get("law"))
        known = set() if kind is None else {f.name for f in fields(kind)}
        if kind is None or not value.keys() <= known | {"law"}:
            return None
        try:
            return kind(**{name: x for name, x in value.items() if name != "law"})
        except TypeError:  # numbers are missing
            return None
    if callable(value):
        return LossFunction(value)
    samples = isinstance(value, tuple | list) and len(value) == 2
    if samples and all(isinstance(x, tuple | list | np.ndarray) for x in value):
        return LossTable(*value)
    return None


def _rates(who: str, omega: Any) -> np.ndarray:
    """Angular frequencies as an array of finite numbers, which may be complex."""
    w = np.asarray(omega)
    if w.dtype.kind not in "iufc" or not np.isfinite(w).all():
        raise refusal(who, "omega", omega, "finite angular frequencies", unit="rad/s")
    return w


def factor_of(law: LossLaw | float, omega: np.ndarray) -> np.ndarray:
    """The factor (f,) of a stiffness by a loss factor or law, at angular frequencies (f,)."""
    return law.factor(omega) if isinstance(law, LossLaw) else np.full(np.shape(omega), complex(1.0, law))


def slope_at_rest(law: LossLaw | float) -> float:
    """The slope (s) of a loss factor or law at 0 Hz; infinite where it does not vanish there."""
    return law.slope_at_rest() if isinstance(law, LossLaw) else np.inf if law else 0.0


def _as_data(value: Any) -> Any:
    return value.data() if isinstance(value, LossLaw) else list(value) if isinstance(value, tuple) else value
