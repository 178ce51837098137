"""A linear model with feedback loops closed around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..analysis.frequency.response import FrequencyResponse
from ..analysis.modes.result import Modes
from ..analysis.noise.budget import NoiseBudget
from ..analysis.noise.spectra import Given
from ..analysis.noise.thermal import ROOM
from ..analysis.time.inputs import Input
from ..analysis.time.response import TimeResponse
from ..analysis.time.simulate import simulate
from ..analysis.time.state_space import StateSpace
from ..analysis.time.step_loop import StepLoop
from ..display import Table
from ..elsewhere import arguments_by_name
from ..errors import MseError
from ..linear.linear_model import LinearModel
from ..numerics.blas_threads import one_thread
from ..numerics.precision import NOTHING
from ..progress.reports import Progress
from ..results import Result, draw
from ..validation.arguments import ByName, frequencies, refusal, whole
from .controller import MOST_ORDER, without_delay
from .links import Link, Links, Loops, linked
from .margins import Margins, broken, margins
from .noise import closed_noise
from .poles import Plant
from .response import closed_response
from .samples import SampledPlant
from .stability import checked_modes, growth, unstable_count
from .time import SampledLoop, simulate_sampled, state_space

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOISE, COMMAND = " noise", " command"  # behind the names of sensors and of actuators


@arguments_by_name
class ClosedModel(Result):
    """A linear model with loops ``u = -C y``; made by :meth:`.LinearModel.feedback`.

    Its inputs are those of the model, and the noise of each sensor of the loops: ``"lvdt.x noise"`` is added to what the
    controllers read.  An input that is an actuator adds to what the loops command.  Its outputs are those of the model, and
    what each actuator is asked for: ``"coil.fx command"`` is ``-C y``.

    Attributes
    ----------
    name : str
        Name of the model.
    linear : LinearModel
        The open model.
    links : Links
        Controllers with their loops, actuators and sensors.

    Examples
    --------
    >>> model = mse.LinearModel.from_matrices([[1.0]], None, [[1.0]], coordinates=["mass.x"])
    >>> closed = model.feedback({("mass.x", "mass.x"): mse.Controller.zpk([0.0], [-100.0], 40.0)}, name="damping")
    >>> np.round(closed.frequency_response([0.1], inputs=["mass.x"]).values[0], 4)
    array([[ 1.4067-0.5826j],
           [-0.1486-0.3526j]])
    """

    name: str
    linear: LinearModel
    links: Links

    # -- channels ---------------------------------------------------------------------------------------------
    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs of the model, and of the noise of sensors."""
        return (*self.linear.inputs, *(name + NOISE for name in self.links.sensors))

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs of the model, and of the commands of actuators."""
        return (*self.linear.outputs, *(name + COMMAND for name in self.links.actuators))

    @property
    def input_units(self) -> tuple[str, ...]:
        """Units of the inputs."""
        units = dict(zip(self.linear.outputs, self.linear.output_units, strict=True))
        return (*self.linear.input_units, *(units[name] for name in self.links.sensors))

    @property
    def output_units(self) -> tuple[str, ...]:
        """Units of the outputs."""
        units = dict(zip(self.linear.inputs, self.linear.input_units, strict=True))
        return (*self.linear.output_units, *(units[name] for name in self.links.actuators))

    def feedback(self, loops: Loops, *, name: str = "loop") -> ClosedModel:
        """The same with a further loop, as :meth:`.LinearModel.feedback` closes one.

        Parameters
        ----------
        loops : mapping
            Controllers by (actuator, sensor).
        name : str
            Name of the loop.

        Returns
        -------
        ClosedModel
            With all loops closed.

        Raises
        ------
        ModelError
            As for a linear model.
        """
        return ClosedModel(self.name, self.linear, Links(linked(self.linear, loops, name, self.links.all)))

    # -- analyses ---------------------------------------------------------------------------------------------
    @one_thread
    def frequency_response(
        self,
        frequencies_hz: ArrayLike,
        *,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        loss: Mapping[str | tuple[str, str], float] | None = None,
        progress: bool | Callable[[Progress], object] = True,
    ) -> FrequencyResponse:
        """``y/u = P_yu - P_ya (1 + C P_sa)^-1 C P_su`` with loops closed; delays, holds and losses are exact.

        Parameters
        ----------
        frequencies_hz : array_like, (f,), Hz
            Frequencies in any order, finite and not negative.
        inputs, outputs : sequence of str, optional
            Names of the inputs and outputs wanted; all if left out.
        loss : mapping, optional
            Loss factors as :meth:`.LinearModel.frequency_response` takes them.
        progress : bool or callable
            Where progress is shown, as for :func:`mse.show_progress`; True for its setting.

        Returns
        -------
        FrequencyResponse
            Complex responses by names.  With sampled controllers a note says above which frequency sampling folds signals.

        Raises
        ------
        SingularResponseError
            The open response or a controller is infinite at a frequency, or the closed loop has a pole there.
        UnknownNameError
            A name of an input or output that the closed model does not have.
        """
        return closed_response(self, frequencies_hz, inputs, outputs, loss, progress)

    @one_thread
    def noise(
        self,
        frequencies_hz: ArrayLike | None,
        output: str,
        *,
        inputs: Mapping[str, Given] | None = None,
        loss: Mapping[str | tuple[str, str], float] | None = None,
        temperature: float = ROOM,
        progress: bool | Callable[[Progress], object] = True,
    ) -> NoiseBudget:
        """Noise of an output with loops closed: thermal, of sensors and of actuators; also of what an actuator is asked for.

        Parameters
        ----------
        frequencies_hz : array_like, (f,), Hz, or None
            Frequencies above zero, ascending.  None for a grid that resolves every resonance, as an RMS needs it, within tables.
        output : str
            Name of the output; "coil.fx command" is what the actuator is asked for.
        inputs : mapping, optional
            Amplitude spectral densities as :meth:`.LinearModel.noise` takes them; "lvdt.x noise" is that of a sensor, and the
            name of an actuator that of its force.
        loss : mapping, optional
            Loss factors as :meth:`.LinearModel.frequency_response` takes them.
        temperature : float, K
            Of objects without a parameter ``temperature``.
        progress : bool or callable
            Where progress is shown, as for :func:`mse.show_progress`; True for its setting.

        Returns
        -------
        NoiseBudget
            Spectral densities by source.

        Raises
        ------
        ModelError
            The loop is unstable, or as for a linear model.
        UnknownNameError
            A name of an output or input that the closed model does not have.
        """
        return closed_noise(self, frequencies_hz, output, inputs, loss, temperature, progress)

    # -- stability --------------------------------------------------------------------------------------------
    @cached_property
    def plant(self) -> Plant | SampledPlant:
        """What the loops close around: their gain and their poles."""
        return Plant(self.linear, self.links) if self.links.dt is None else SampledPlant(self)

    @cached_property
    def _modes(self) -> Modes:
        return checked_modes(self.name, self.plant, self.linear)

    @one_thread
    def modes(self) -> Modes:
        """All closed modes: Newton's method on ``det(1 + C P) = 0`` with exact delays and losses, counted by Nyquist's criterion.

        Of sampled loops they are ``s = ln(z)/dt`` of the plant that is discretized exactly, with its losses; what swings faster
        than half the sampling rate appears below it.  A delay has more poles, far in the left half plane: those next to the
        poles of a rational function in its place are found.

        Returns
        -------
        Modes
            Frequencies, damping ratios and who moves; ``unstable`` ones grow.

        Raises
        ------
        ModelError
            The count of Nyquist's criterion is another, a loop has no solution at once, or the plant has no state space.

        Examples
        --------
        >>> model = mse.LinearModel.from_matrices([[1.0]], None, [[1.0]], coordinates=["mass.x"])
        >>> mode = model.feedback({("mass.x", "mass.x"): mse.Controller.zpk([0.0], [], 0.2)}).modes()[0]
        >>> print(f"{2 * np.pi * mode.frequency_hz:.6f} rad/s, damping ratio {mode.damping_ratio:.6f}")
        1.000000 rad/s, damping ratio 0.100000
        """
        return self._modes

    @one_thread
    def poles(self) -> np.ndarray:
        """All closed poles, those of sampled loops in the z plane.

        Returns
        -------
        ndarray of complex, (m,), rad/s, or 1 in the z plane
            In ascending order of magnitude.

        Raises
        ------
        ModelError
            As for :meth:`modes`.
        """
        found = self.plant.poles.values
        return found[np.lexsort((found.imag, np.abs(found)))]

    @cached_property
    def stable(self) -> bool:
        """Whether no motion grows, by the closed poles and by Nyquist's criterion; by that alone without a state space."""
        if self.linear.members:
            return not unstable_count(self.plant)
        return not self._modes.unstable.any()

    @one_thread
    def margins(self, low_hz: float | None = None, high_hz: float | None = None) -> Margins:
        """All gain and phase crossings of each loop, the others closed, and the largest sensitivity ``|(1 + C P)^-1|``.

        They are bracketed on a grid that resolves the resonances of the open and of the closed loop, and refined on the exact
        equations.  Sampled loops are those of the plant that is discretized exactly.

        Parameters
        ----------
        low_hz, high_hz : float, Hz, optional
            Ends of the band; far below and above all poles if left out, up to half a sampling rate.

        Returns
        -------
        Margins
            Crossings with their margins, and the sensitivity.

        Raises
        ------
        ModelError
            The band is empty, or reaches beyond half the sampling rate.
        """
        return margins(self.name, self.plant, low_hz, high_hz)

    @one_thread
    def loop_gain(self, frequencies_hz: ArrayLike) -> dict[str, np.ndarray]:
        """L of each loop, broken at its actuator with the others closed: of one channel ``C P``.

        Parameters
        ----------
        frequencies_hz : array_like, (f,), Hz
            Frequencies above zero, up to half a sampling rate.

        Returns
        -------
        dict
            Complex gain (f,) by actuator; of sampled loops that from sample to sample.

        Raises
        ------
        ModelError
            A frequency is not finite, negative or above half the sampling rate.
        SingularResponseError
            The open response or a controller is infinite at a frequency.
        """
        f = np.atleast_1d(frequencies(self.name, frequencies_hz))
        top = self.plant.highest / (2 * np.pi)
        if np.any(f > top * (1.0 + NOTHING)):
            raise refusal(
                self.name, "frequency", float(f.max()), f"at most half the sampling rate, {top:.6g} Hz", unit="Hz"
            )
        gain = self.plant.gain(2 * np.pi * f, beside=False)
        return ByName(self.name, "actuator", {name: broken(gain, a) for a, name in enumerate(self.links.actuators)})

    # -- time -------------------------------------------------------------------------------------------------
    def with_pade(self, order: int) -> ClosedModel:
        """The same with rational functions (Pade) in place of the delays of continuous controllers, as a state space needs it.

        Parameters
        ----------
        order : int
            Degree of numerator and denominator, from 1 to 10: the phase is right up to about ``order/delay`` rad/s.

        Returns
        -------
        ClosedModel
            Without delays but those of sampled controllers.

        Raises
        ------
        ModelError
            The order is none of these.
        """
        n = whole(self.name, "order", order, minimum=1, maximum=MOST_ORDER)
        links = [link._replace(controller=without_delay(link.controller, n)) for link in self.links.all]
        return ClosedModel(self.name, self.linear, Links(links))

    @one_thread
    def state_space(
        self,
        *,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        progress: bool | Callable[[Progress], object] = True,
    ) -> StateSpace:
        """``s' = A s + B u, y = C s + D u`` with continuous loops closed; states of controllers stand behind those of the model.

        Parameters
        ----------
        inputs, outputs : sequence of str, optional
            Names of the inputs and outputs wanted; all if left out.
        progress : bool or callable
            Where progress is shown, as for :func:`mse.show_progress`; True for its setting.

        Returns
        -------
        StateSpace
            Dense matrices with named states; "damping 0" is the first one of the controllers of a loop "damping".

        Raises
        ------
        ModelError
            A controller is sampled or has a delay, or the loop has no solution at once.
        ImproperModelError
            A controller differentiates.
        """
        return state_space(self, inputs, outputs)

    def simulate(
        self,
        *,
        duration: float,
        dt: float,
        inputs: Mapping[str, Input] | None = None,
        hold: str | None = None,
        outputs: Sequence[str] | None = None,
        initial: Mapping[str, float] | None = None,
        progress: bool | Callable[[Progress], object] = True,
    ) -> TimeResponse:
        """Outputs at t = 0, dt, ..., duration with loops closed; sampled controllers run compiled between the steps.

        Parameters
        ----------
        duration, dt : float, s
            Time simulated, a whole number of steps, and the step, of which sampled controllers have a whole number.
        inputs : mapping, optional
            Inputs by name, as functions of the time in s or as samples (t,); the others are zero.
        hold : {"zoh", "foh", "smooth"}, optional
            How inputs go between samples, as :meth:`.LinearModel.simulate` says; "zoh" with sampled controllers.
        outputs : sequence of str, optional
            Names of the outputs wanted; all if left out.
        initial : mapping, optional
            Displacements and velocities by state name just before t = 0; zero for the others.
        progress : bool or callable
            Where progress is shown, as for :func:`mse.show_progress`; True for its setting.

        Returns
        -------
        TimeResponse
            Outputs and inputs by name.

        Raises
        ------
        ModelError
            As for :meth:`state_space`, of continuous controllers; dt does not fit the sampling time.
        ControllerError
            With sampled controllers, the motion grows beyond the largest number.
        """
        if self.links.dt is None:
            return simulate(
                self, duration=duration, dt=dt, inputs=inputs, hold=hold, outputs=outputs, initial=initial,
                progress=progress,
            )  # fmt: skip
        return simulate_sampled(self, (duration, dt), inputs, outputs, initial, hold, progress)

    def step_loop(
        self,
        *,
        dt: float,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        initial: Mapping[str, float] | None = None,
        progress: bool | Callable[[Progress], object] = True,
    ) -> StepLoop:
        """Time evolution step by step with loops closed, and a further controller in between.

        Sampled controllers read and command at the start of those steps that are samples, after inputs were set; outputs between
        two steps are those with their new commands.  A compiled controller of :meth:`.StepLoop.run` acts before them.

        Parameters
        ----------
        dt : float, s
            The step, of which sampled controllers have a whole number; inputs keep their values over it.
        inputs, outputs : sequence of str, optional
            Names of the inputs and outputs wanted; all if left out.
        initial : mapping, optional
            Displacements and velocities by state name; zero for the others.
        progress : bool or callable
            Where progress is shown, as for :func:`mse.show_progress`; True for its setting.

        Returns
        -------
        StepLoop
            The loop at time 0.

        Raises
        ------
        ModelError
            As for :meth:`state_space`, of continuous controllers; dt does not fit the sampling time.
        """
        kind = StepLoop if self.links.dt is None else SampledLoop
        return kind(self, dt=dt, inputs=inputs, outputs=outputs, initial=initial, progress=progress)

    # -- display ----------------------------------------------------------------------------------------------
    def table(self) -> Table:
        rows = [(x.loop, ", ".join(x.actuators), ", ".join(x.sensors), _kind(x)) for x in self.links.all]
        loops = dict.fromkeys(link.loop for link in self.links.all)
        title = f"{self.name}: {len(loops)} loop{'s' if len(loops) > 1 else ''} closed, u = -C y"
        try:
            note = "stable" if self.stable else f"UNSTABLE: {growth(self)}"
        except MseError as error:
            note = f"stability is not known: {error}"
        return Table(title, ("loop", "actuator u", "sensor y", "controller C"), rows, notes=[note])

    def plot(self, kind: str = "bode", **options: Any) -> Figure:
        """Draw the gain L of each loop with the others closed, and its margins (extra ``plot``).

        Parameters
        ----------
        kind : {"bode", "nyquist", "nichols"}
            Magnitude and phase over frequency; L in the complex plane; magnitude over phase.
        **options : keywords
            Options of the drawing, named in :mod:`mse.tools.plots`.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        ModelError
            It is no such kind.
        """
        return draw(self, kind=kind, **options)


def _kind(link: Link) -> str:
    return link.controller.table().title.partition(": ")[2]


def feedback(model: LinearModel, loops: Loops, name: str) -> ClosedModel:
    """See :meth:`.LinearModel.feedback`."""
    return ClosedModel(model.name, model, Links(linked(model, loops, name, ())))
