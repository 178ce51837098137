"""Methods of a linear model for motions that joints allow, static compliance, sums of channels, and loss in time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..elsewhere import arguments_by_name

if TYPE_CHECKING:
    from ..elements.base import Frame, MObject, Place
    from .independent import NullSpace
    from .linear_model import LinearModel


@arguments_by_name
class Readings:
    """Methods of :class:`.LinearModel` about its rest state, and to other models; each is one import and one call."""

    def null_space(self: LinearModel, independent: Sequence[str] | None = None) -> NullSpace:
        """``q = basis y + lift w``: the motions that joints allow, by independent coordinates y.

        Parameters
        ----------
        independent : sequence of str, optional
            Names of the f coordinates y; chosen by pivoting if left out.

        Returns
        -------
        NullSpace
            The names of y, and both matrices.

        Raises
        ------
        UnknownNameError
            There is no coordinate of such a name.
        ModelError
            The chosen coordinates are too many or too few, or leave a motion undetermined.

        Examples
        --------
        >>> system = mse.MSystem("pendulum")
        >>> bob = system.add(mse.RigidBody("bob", mass=1.0, at=mse.Pose.dz(-0.5)))
        >>> hinge = system.add(mse.Revolute("hinge", axis=(0, 1, 0)))
        >>> system.clamp(hinge.frame(0), bob.frame(0), mse.Pose.dz(-0.5))
        >>> system.clamp(system.ground, hinge.frame(1))
        >>> space = system.find_working_point().linearize().null_space(["bob.ay"])
        >>> np.round(space.basis.toarray().ravel(), 9) + 0.0
        array([-0.5,  0. ,  0. ,  0. ,  1. ,  0. ])
        """
        from .independent import null_space

        return null_space(self, independent)

    def compliance(
        self: LinearModel,
        frame: str | Frame | Place | MObject,
        *,
        along: Sequence[str] | str | None = None,
        axes: str = "world",
    ) -> np.ndarray:
        """``C = T K^-1 T^T``: static displacements and rotations of a frame by forces and torques on it.

        Parameters
        ----------
        frame : str, Frame, Place or MObject
            ``"table.center"``, ``table.frame("center")``, an object that has one frame, or ``table @ Pose.dx(0.1)``.
        along : sequence of str, optional
            Directions among x, y, z, ax, ay, az; all six if left out.  The others are free to move, without a load.
        axes : {"world", "frame"}
            Axes of the directions: of the world, or of the frame.

        Returns
        -------
        ndarray, (k, k)
            Displacements (m, rad) in rows by loads (N, N m) in columns; symmetric if all forces have an energy, and zero along
            directions that joints hold.

        Raises
        ------
        SingularResponseError
            A motion without stiffness moves the frame along one of the directions; the message names both.
        UnknownNameError
            There is no such frame or direction.
        ModelError
            The frame is on the ground.

        Examples
        --------
        >>> system = mse.MSystem("cantilever", gravity=(0, 0, 0))
        >>> bar = system.add(mse.RoundBeam("bar", length=1.0, radius=0.01, theory="euler-bernoulli"))
        >>> system.clamp(system.ground, bar.frame(0))
        >>> linear = system.find_working_point().linearize()
        >>> compliance = linear.compliance("bar.1")
        >>> bending = 2e11 * np.pi / 4 * 0.01**4
        >>> print(f"{compliance[1, 1] * 3 * bending:.6f} L^3/3EI")
        1.000000 L^3/3EI
        """
        from ..analysis.frequency.compliance import compliance

        return compliance(self, frame, along, axes)

    def impedance(self: LinearModel, where: str, frequencies_hz: ArrayLike) -> np.ndarray:
        """``Z = e/(i w q)``: effort in series with a charge, a volume or the like, per flow, for ``exp(+i w t)``.

        At a source that is all that it drives, since the source has no impedance itself.

        Parameters
        ----------
        where : str
            An object with one such coordinate, ``"source"``, or a coordinate, ``"core.charge1"``.
        frequencies_hz : array_like, (f,), Hz
            Above zero.

        Returns
        -------
        ndarray of complex, (f,)
            In ohm, Pa s/m3 or another effort per flow; infinite where nothing can flow.

        Raises
        ------
        UnknownNameError
            There is no such object or coordinate.
        ModelError
            The object has several coordinates, or a frequency is not above zero.

        Examples
        --------
        >>> system = mse.MSystem("coil")
        >>> source = system.add(mse.VoltageSource("source"))
        >>> wire = system.add(mse.Resistor("wire", resistance=6.0))
        >>> coil = system.add(mse.Inductor("coil", inductance=0.002))
        >>> system.connect(source.port("+"), wire.port("+"))
        >>> system.connect(wire.port("-"), coil.port("+"))
        >>> system.connect(coil.port("-"), source.port("-"), system.earth)
        >>> linear = system.find_working_point().linearize()
        >>> np.round(linear.impedance("source", [500 / np.pi]), 9)
        array([6.+2.j])
        """
        from ..analysis.frequency.impedance import impedance

        return impedance(self, where, frequencies_hz)

    def stiffness(
        self: LinearModel,
        frame: str | Frame | Place | MObject,
        *,
        along: Sequence[str] | str | None = None,
        axes: str = "world",
    ) -> np.ndarray:
        """``C^-1`` of :meth:`compliance`: forces and torques on a frame by its static displacements and rotations.

        Parameters
        ----------
        frame, along, axes : as for :meth:`compliance`
            Other directions are free to move, so the stiffness along "x" alone is less than ``stiffness(frame)[0, 0]``, for which
            the others are held.

        Returns
        -------
        ndarray, (k, k)
            Loads (N, N m) in rows by displacements (m, rad) in columns.

        Raises
        ------
        ModelError
            Joints hold one of the directions, whose stiffness is infinite; other errors are as for :meth:`compliance`.

        Examples
        --------
        >>> system = mse.MSystem("mount", gravity=(0, 0, 0))
        >>> table = system.add(mse.RigidBody("table", mass=1.0, inertia=0.01))
        >>> mount = system.add(mse.Bushing("mount", stiffness=(1e3, 2e3, 3e3, 4, 5, 6)), between=(table, system.ground))
        >>> linear = system.find_working_point().linearize()
        >>> [float(f"{x:.6g}") for x in linear.stiffness(table).diagonal()]
        [1000.0, 2000.0, 3000.0, 4.0, 5.0, 6.0]
        """
        from ..analysis.frequency.compliance import stiffness

        return stiffness(self, frame, along, axes)

    def combined(
        self: LinearModel,
        *,
        outputs: Mapping[str, Mapping[str, float]] | None = None,
        inputs: Mapping[str, Mapping[str, float]] | None = None,
    ) -> LinearModel:
        """``y_new = sum_k s_k y_k``, ``u_k = a_k u_new``: this model with sums of outputs and inputs as further ones.

        Sensing and actuation matrices by name: a laser beam that reads a little of z, or two coils that push together.

        Parameters
        ----------
        outputs : mapping, optional
            Weights s by output, by the name of the new output: ``{"beam": {"mirror.x": 1.0, "mirror.z": 6e-4}}``.
        inputs : mapping, optional
            Weights a by input, by the name of the new input: ``{"length": {"coil1.fx": 0.5, "coil2.fx": 0.5}}``.

        Returns
        -------
        LinearModel
            The same model with the new channels after its own; each has the unit of the first channel in its sum.

        Raises
        ------
        UnknownNameError
            There is no output or input of such a name.
        ModelError
            A new name exists already or has a dot, or weights are missing or no numbers.

        Examples
        --------
        >>> model = mse.LinearModel.from_matrices(np.eye(2), None, 4 * np.eye(2), coordinates=["mirror.x", "mirror.z"])
        >>> both = model.combined(outputs={"beam": {"mirror.x": 1.0, "mirror.z": 6e-4}})
        >>> float(both.frequency_response([0.0])["beam", "mirror.z"][0].real)
        0.00015
        """
        from .combined import combined

        return combined(self, outputs, inputs)

    def rational(self: LinearModel, low_hz: float, high_hz: float, error: float = 0.01) -> LinearModel:
        """``P (1 + i phi) -> P (1 + phi (sum_k a_k i w/(p_k + i w) - c))``: loss factors as springs in series with dampers.

        State space, runs in time, loops and exports work with these Maxwell branches as they are.  A loss factor without a change
        of the modulus is not causal: the modulus grows by ``1.466 phi`` a decade.  So c of each loss keeps its modulus at the
        mode in which it has its largest share of the energy, and frequencies of other modes move a little; at rest it is smaller.

        Parameters
        ----------
        low_hz, high_hz : float, Hz
            The band in which losses are right.
        error : float
            Error of each loss factor in the band, as a share of it; there are as few branches as reach it.

        Returns
        -------
        LinearModel
            A model without loss factors, with damped coordinates without mass, in J^(1/2); a :class:`mse.Zener` is one branch and
            exact.  ``notes`` list branches and their errors, and f and Q of every mode in the band beside the wanted ones.

        Raises
        ------
        ModelError
            Numbers are out of range, up to 40 branches do not reach the error, stiffness depends on the frequency otherwise, or
            the model would not be held at rest.

        Examples
        --------
        >>> from dataclasses import replace
        >>> model = mse.LinearModel.from_matrices([[1.0]], None, [[400.0]], coordinates=["mass.x"])
        >>> lossy = replace(model, losses={("model", "given"): 1e-3})
        >>> fading = lossy.rational(0.1, 100.0)
        >>> f"Q {fading.modes(damped=True).quality.max():.0f} of {lossy.modes(lossy=True)[0].quality:.0f}"
        'Q 1003 of 1000'
        """
        from ..analysis.time.rational import rational

        return rational(self, low_hz, high_hz, error)

    def modal_damping(self: LinearModel) -> LinearModel:
        """``C = W (Phi^T Im(K) Phi) W^T``, ``W = M Phi Omega^(-1/2)``: loss factors as viscous damping of the modes.

        Q of every mode is that of its loss factors to first order, also where frequencies are equal, and C is positive
        semi-definite.  No coordinates are added.  Between resonances the phase is that of viscous damping, smaller below them and
        larger above; laws of the frequency count with their value at each mode, without their change of the modulus
        (:meth:`rational` is right throughout a band).

        Returns
        -------
        LinearModel
            A model without loss factors, with the part ("modal damping", "damping") of its damping.

        Raises
        ------
        ModelError
            Stiffness depends on the frequency by a dynamic stiffness, or a law is not known at the frequency of a mode.

        Examples
        --------
        >>> from dataclasses import replace
        >>> model = mse.LinearModel.from_matrices([[1.0]], None, [[400.0]], coordinates=["mass.x"])
        >>> lossy = replace(model, losses={("model", "given"): 1e-3})
        >>> f"{lossy.modal_damping().Lambda[0, 0]:.6f} N s/m, sqrt(k m) phi"
        '0.020000 N s/m, sqrt(k m) phi'
        """
        from ..analysis.time.modal_damping import modal_damping

        return modal_damping(self)
