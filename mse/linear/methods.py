"""The analyses of a linear model as methods for users, with all options and an example each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from ..elsewhere import arguments_by_name

if TYPE_CHECKING:
    from ..analysis.frequency.resonance_grid import ResonanceGrid
    from ..analysis.frequency.response import FrequencyResponse
    from ..analysis.modes.result import Modes
    from ..analysis.noise.budget import NoiseBudget
    from ..analysis.noise.spectra import Given
    from ..analysis.time.response import TimeResponse
    from ..analysis.time.state_space import StateSpace
    from ..analysis.time.step_loop import StepLoop
    from ..control.closed import ClosedModel
    from ..control.links import Loops
    from ..elements.loss_laws import LossGiven
    from ..progress.reports import Progress
    from .linear_model import LinearModel


@arguments_by_name
class Analyses:
    """Methods of :class:`.LinearModel` that run its analyses; each is one import and one call."""

    def modes(
        self: LinearModel,
        count: int | None = None,
        *,
        damped: bool = False,
        lossy: bool = False,
        progress: bool | Callable[[Progress], object] = True,
    ) -> Modes:
        """``K phi = w^2 M phi``, or with ``damped`` ``(s^2 M + s Lambda + K) phi = 0``, or with ``lossy`` loss in K, too.

        Parameters
        ----------
        count : int, optional
            Number of modes of lowest frequency above zero; free motions, at exactly zero, come in addition, however many they
            are.  If left out, all up to 600 coordinates, and 20 beyond or with dynamic stiffnesses.
        damped : bool
            Whether Lambda counts, and what dynamic stiffnesses dissipate: modes and eigenvalues are complex then.
        lossy : bool
            Whether all that dissipates counts, Lambda and the elements' loss factors, K being complex: the table then has Q and
            the loss factor of each mode.  The ``count`` lowest are those without loss: where it is large, or a dynamic stiffness
            stiffens, modes that were not sought may lie below some of them.
        progress : bool or callable
            Where progress is shown, as for :func:`mse.show_progress`; True for its setting.

        Returns
        -------
        Modes
            Free motions, then the others in ascending order of frequency, fewer than ``count`` where there are fewer;
            ``complete`` and ``notes`` say whether there are more.

        Raises
        ------
        ModelError
            ``count`` is no positive whole number, the modes need more memory than there is, or a mode fades so fast that a
            dynamic stiffness known at real frequencies alone, as tables are, leaves more than a tenth of its Q open.
        Interrupted
            After Ctrl-C, with the modes found so far where they are found one after another, as ``notes`` then say: those of
            dynamic stiffnesses, and undamped ones of large models.  KeyboardInterrupt without any in dense and damped ones.

        Examples
        --------
        >>> model = mse.LinearModel.from_matrices([[1.0]], [[0.2]], [[1.0]], coordinates=["mass.x"])
        >>> mode = model.modes(damped=True)[0]
        >>> print(f"{2 * np.pi * mode.frequency_hz:.6f} rad/s, damping ratio {mode.damping_ratio:.6f}")
        1.000000 rad/s, damping ratio 0.100000
        """
        from ..analysis.modes.find import modes

        return modes(self, count, damped=damped, lossy=lossy, progress=progress)

    def frequency_response(
        self: LinearModel,
        frequencies_hz: ArrayLike,
        *,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        loss: Mapping[str | tuple[str, str], LossGiven] | None = None,
        bound: float = 1e-9,
        progress: bool | Callable[[Progress], object] = True,
    ) -> FrequencyResponse:
        """``y/u`` for ``exp(+i w t)``: ``(K + i w Lambda - w^2 M) q = b u`` solved at each frequency.

        Parameters
        ----------
        frequencies_hz : array_like, (f,), Hz
            Frequencies in any order, finite and not negative.
        inputs, outputs : sequence of str, optional
            Names of the inputs and outputs wanted; all if left out.
        loss : mapping, optional
            Structural loss factors eta >= 0, which make stiffness complex, ``1 + i eta``: ``{"blade": 1e-3}`` for all elastic
            stiffness of an object, ``{("blade", "axial"): 1e-3}`` for one mechanism, which goes before.  In place of a number
            stands a law: samples (frequencies_hz, eta), a function of Hz, :class:`mse.Zener` and others.  They replace those of
            the elements' parameters ``loss``, all of them, which count if left out; ``{}`` is no loss.  Stiffness of gravity and
            tension has none.
        bound : float
            Thousands of frequencies of a large model are interpolated where the error can be kept below this share of the
            largest response of a unit, as ``notes`` then say; 0 solves them all.
        progress : bool or callable
            Where progress is shown, as for :func:`mse.show_progress`; True for its setting.

        Returns
        -------
        FrequencyResponse
            Complex responses by names.

        Raises
        ------
        SingularResponseError
            An input drives an undamped resonance, or a free motion at 0 Hz, exactly.
        UnknownNameError
            A name of an input, an output or a stiffness that the model does not have.
        ModelError
            Frequencies, loss factors or the bound are negative or not finite, or the responses need more memory than there is.
        Interrupted
            After Ctrl-C, with the response at the frequencies solved, and at those interpolated until then.

        Examples
        --------
        >>> model = mse.LinearModel.from_matrices([[1.0]], None, [[4.0]], coordinates=["mass.x"])
        >>> model.frequency_response([0.0], loss={"model": 0.5})["mass.x", "mass.x"]
        array([0.2-0.1j])
        """
        from ..analysis.frequency.response import frequency_response

        return frequency_response(
            self, frequencies_hz, inputs=inputs, outputs=outputs, loss=loss, bound=bound, progress=progress
        )

    def noise(
        self: LinearModel,
        frequencies_hz: ArrayLike | None,
        output: str,
        *,
        inputs: Mapping[str, Given] | None = None,
        loss: Mapping[str | tuple[str, str], LossGiven] | None = None,
        temperature: float = 300.0,
        progress: bool | Callable[[Progress], object] = True,
    ) -> NoiseBudget:
        """``S = sum_i (4 kB T_i/w) r Im(Z_i) r^H + sum_j |h_j|^2 S_j``: thermal noise of all losses, and noise of inputs.

        Densities are one-sided, and w = 2 pi f.  r is the output per unit force on each coordinate, with all losses in Z, and h_j
        the response to input j.  A source i is a loss factor, a dynamic stiffness or a damper, at the ``temperature`` of its
        object (Callen and Welton, Phys. Rev. 83 (1951) 34).  Gyroscopic parts lose nothing.  Parts driven by a ``power`` have no
        thermal noise; a note says so.

        Parameters
        ----------
        frequencies_hz : array_like, (f,), Hz, or None
            Frequencies, ascending, above zero for structural losses.  None for a grid that resolves every resonance, as an RMS
            needs it, within tables.
        output : str
            Name of the output.
        inputs : mapping, optional
            One-sided amplitude spectral densities by input, in the input's unit per sqrt(Hz): a number, a function of the
            frequencies in Hz, (frequencies, densities), a text file of two columns, or a :class:`mse.Spectrum`.
        loss : mapping, optional
            Loss factors as :meth:`frequency_response` takes them, in place of the elements'.
        temperature : float, K
            For objects without a parameter ``temperature``, as in models from matrices.
        progress : bool or callable
            Where progress is shown, as for :func:`mse.show_progress`; True for its setting.

        Returns
        -------
        NoiseBudget
            Spectral densities by source.

        Raises
        ------
        UnknownNameError
            A name of an output, an input or a stiffness that the model does not have.
        ModelError
            Frequencies are not ascending from above zero, a density is negative or not known at a frequency, motions grow, or
            there is no resonance or decay to choose a grid from.
        Interrupted
            After Ctrl-C, with the budget at the frequencies computed so far.

        Examples
        --------
        >>> model = mse.LinearModel.from_matrices([[10.0]], [[0.5]], [[400.0]], coordinates=["mirror.x"])
        >>> budget = model.noise(None, "mirror.x")
        >>> print(f"RMS {budget.rms():.3e} m, sqrt(kB T/k) = {(1.380649e-23 * 300 / 400) ** 0.5:.3e} m")
        RMS 3.218e-12 m, sqrt(kB T/k) = 3.218e-12 m
        """
        from ..analysis.noise.budget import noise

        return noise(self, frequencies_hz, output, inputs=inputs, loss=loss, temperature=temperature, progress=progress)

    def resonance_grid(
        self: LinearModel,
        low_hz: float,
        high_hz: float,
        *,
        points_per_width: float = 6.0,
        loss: Mapping[str | tuple[str, str], LossGiven] | None = None,
        progress: bool | Callable[[Progress], object] = True,
    ) -> ResonanceGrid:
        """``f_k + (b_k/2) sinh(1.76 j/p)``, integer j: frequencies about every resonance f_k of width b_k, p of them in it.

        Spacing grows with the distance from the nearest resonance, never beyond a thirtieth of a decade.  Intervals are halved
        where the response shows more than the modes.

        Parameters
        ----------
        low_hz, high_hz : float, Hz
            Ends of the band.
        points_per_width : float
            Points p in the full width of a resonance at half power, from 4 to 10,000.
        loss : mapping, optional
            Loss factors as :meth:`frequency_response` takes them.
        progress : bool or callable
            Where progress is shown, as for :func:`mse.show_progress`; True for its setting.

        Returns
        -------
        ResonanceGrid
            Frequencies in ascending order, and the resonances.

        Raises
        ------
        UnknownNameError
            A name in ``loss`` that no stiffness has.
        ModelError
            The band is empty or a number is out of bounds, or the grid needs more memory than there is.
        Interrupted
            After Ctrl-C, with the grid so far, once the resonances are known; before that KeyboardInterrupt without any.

        Examples
        --------
        >>> model = mse.LinearModel.from_matrices([[1.0]], [[1e-3]], [[1.0]], coordinates=["mass.x"])
        >>> grid = model.resonance_grid(0.01, 1.0)
        >>> response = model.frequency_response(grid.frequencies_hz)
        >>> f"{np.abs(response['mass.x', 'mass.x']).max():.3f} m/N"
        '1000.000 m/N'
        """
        from ..analysis.frequency.resonance_grid import resonance_grid

        return resonance_grid(self, low_hz, high_hz, points_per_width=points_per_width, loss=loss, progress=progress)

    def state_space(
        self: LinearModel,
        *,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        up_to_hz: float | None = None,
        progress: bool | Callable[[Progress], object] = True,
    ) -> StateSpace:
        """``s' = A s + B u, y = C s + D u`` of the named inputs and outputs.

        Parameters
        ----------
        inputs, outputs : sequence of str, optional
            Names of the inputs and outputs wanted; all if left out, but for currents and other flows that would need the
            derivative of an input.
        up_to_hz : float, Hz, optional
            Keep the motions up to this frequency, damping included; of faster ones stays what they do at rest (static
            correction).  ``left_out`` of the result has a bound on the error: take ``up_to_hz`` well above the frequencies
            that matter.
        progress : bool or callable
            Where progress is shown, as for :func:`mse.show_progress`; True for its setting.

        Returns
        -------
        StateSpace
            Dense matrices with named states.

        Raises
        ------
        ImproperModelError
            An output would need a derivative of an input, such as a force sensor through which a position actuator moves a
            mass rigidly; the message names each.
        UnknownNameError
            A name of an input or output that the model does not have.
        ModelError
            Free coordinates have neither mass nor stiffness, the matrices need more memory than there is, or motions beyond
            ``up_to_hz`` grow or cannot be separated from those below.

        Examples
        --------
        >>> ss = mse.LinearModel.from_matrices([[1.0]], [[0.2]], [[4.0]], coordinates=["mass.x"]).state_space()
        >>> ss.states
        ('mass.x', "mass.x'")
        >>> ss.A
        array([[ 0. ,  1. ],
               [-4. , -0.2]])
        """
        from ..analysis.time.modal_truncation import state_space

        return state_space(self, inputs=inputs, outputs=outputs, up_to_hz=up_to_hz, progress=progress)

    def simulate(
        self: LinearModel,
        *,
        duration: float,
        dt: float,
        inputs: Mapping[str, Callable[[Any], ArrayLike] | ArrayLike] | None = None,
        hold: str | None = None,
        outputs: Sequence[str] | None = None,
        initial: Mapping[str, float] | None = None,
        record: str | PathLike[str] | None = None,
        progress: bool | Callable[[Progress], object] = True,
    ) -> TimeResponse:
        """Outputs at t = 0, dt, ..., duration, exact for what ``hold`` assumes of the inputs between samples.

        Parameters
        ----------
        duration, dt : float, s
            Time simulated, a whole number of steps, and the step.
        inputs : mapping, optional
            Inputs by name, as functions of the time in s or as samples (t,); the others are zero.
        hold : {"zoh", "foh", "smooth"}, optional
            How inputs go between samples.  "zoh" keeps the value (zero-order hold); "foh" is linear (first-order hold), the
            default for samples; "smooth", the default for functions, is the polynomial of degree four through five points in
            each step: the error at the samples falls with the eighth power of dt, but a function that jumps wants "zoh".
        outputs : sequence of str, optional
            Names of the outputs wanted; all if left out, but for flows that would need the derivative of an input.
        initial : mapping, optional
            Displacements and velocities by state name (``"mass.x"``, ``"mass.x'"``) just before t = 0, while all inputs are
            still zero; zero for the others.
        record : path, optional
            File ``.npy`` that takes time, outputs and inputs in columns as the run goes, in little memory.  After Ctrl-C, a
            full disk or a kill the same call goes on from there, to the same last bit.  Functions are called for one piece of
            the time after another.
        progress : bool or callable
            Where progress is shown, as for :func:`mse.show_progress`; True for its setting.

        Returns
        -------
        TimeResponse
            Outputs and inputs by name, and the final state.

        Raises
        ------
        ModelError
            A step that is not positive, inputs of wrong length, that fail or give no real number, motions that grow beyond the
            largest number, or more samples than memory.
        ImproperModelError
            An output would need a derivative of a driven input.
        RecordingError
            The file cannot be written or belongs to another run.
        Interrupted
            After Ctrl-C, with the time response so far.

        Examples
        --------
        >>> model = mse.LinearModel.from_matrices([[1.0]], None, [[4.0]], coordinates=["mass.x"])
        >>> history = model.simulate(duration=np.pi, dt=np.pi / 4, initial={"mass.x": 1.0})
        >>> np.round(history["mass.x"], 12) + 0.0
        array([ 1.,  0., -1.,  0.,  1.])
        """
        from ..analysis.time.simulate import simulate

        return simulate(
            self, duration=duration, dt=dt, inputs=inputs, hold=hold, outputs=outputs, initial=initial, record=record,
            progress=progress,
        )  # fmt: skip

    def step_loop(
        self: LinearModel,
        *,
        dt: float,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        initial: Mapping[str, float] | None = None,
        progress: bool | Callable[[Progress], object] = True,
    ) -> StepLoop:
        """Time evolution step by step, with a controller in between.

        Parameters
        ----------
        dt : float, s
            The step; inputs keep their values over it (zero-order hold).
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
            ``dt`` is not positive, or the model has no state space.
        ImproperModelError
            An output would need a derivative of an input.

        Examples
        --------
        >>> loop = mse.LinearModel.from_matrices([[1.0]], None, [[0.0]], coordinates=["mass.x"]).step_loop(dt=0.1)
        >>> while loop.time < 0.95:
        ...     loop["mass.x"] = 2.0
        ...     end = loop.step()
        >>> f"{loop['mass.x']:.6f} m after {end:.1f} s"
        '1.000000 m after 1.0 s'
        """
        from ..analysis.time.step_loop import StepLoop

        return StepLoop(self, dt=dt, inputs=inputs, outputs=outputs, initial=initial, progress=progress)

    def feedback(self: LinearModel, loops: Loops, *, name: str = "loop") -> ClosedModel:
        """``u = -C y + ...``: the model with a loop closed by controllers from sensors to actuators.

        Parameters
        ----------
        loops : mapping
            Controllers by (actuator, sensor), the name of an input and of an output; several pairs are one loop of several
            channels.  A controller of several inputs and outputs stands under ((actuators), (sensors)).  Controllers are
            :class:`mse.Controller`, numbers, or objects of scipy.signal and python-control.
        name : str
            Name of the loop; :meth:`.ClosedModel.feedback` closes further ones.

        Returns
        -------
        ClosedModel
            Responses, noise, margins, poles and runs in time with the loop closed.

        Raises
        ------
        UnknownNameError
            There is no such actuator or sensor.
        ModelError
            A controller is none, its shape is not that of its channels, or sampling times differ.

        Examples
        --------
        >>> model = mse.LinearModel.from_matrices([[1.0]], None, [[1.0]], coordinates=["mass.x"])
        >>> model.feedback({("mass.x", "mass.x"): mse.Controller.zpk([0.0], [-100.0], 40.0)}, name="damping")
        model: 1 loop closed, u = -C y
        loop     actuator u  sensor y  controller C
        -------  ----------  --------  -------------------
        damping  mass.x      mass.x    continuous, gain 40
        stable
        """
        from ..control.closed import feedback

        return feedback(self, loops, name)
