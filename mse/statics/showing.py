"""Methods of a working point that show it in three dimensions, moving."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING

from ..elsewhere import arguments_by_name

if TYPE_CHECKING:
    from ..analysis.modes.result import Mode, Modes
    from ..analysis.time.response import TimeResponse
    from ..tools.page.document import View
    from .continuation import Trace
    from .stability import Motion
    from .working_point import WorkingPoint


@arguments_by_name
class Showing:
    """Pages and animations of a working point; a base of :class:`.WorkingPoint`."""

    def to_html(
        self: WorkingPoint,
        path: str | PathLike[str],
        *,
        modes: Modes | Mode | Iterable[Mode] | None = None,
        history: TimeResponse | None = None,
        trace: Trace | None = None,
        compare: WorkingPoint | None = None,
    ) -> None:
        """Write a page that shows the system in three dimensions and moves it: one file, which any browser opens offline.

        Free and unstable motions can always be chosen.  The page states the amplitude of the motion that it shows.

        Parameters
        ----------
        path : path
            The file, such as "stage.html".
        modes : Modes, Mode or iterable of Mode, optional
            Modes to animate: ``linear.modes()``, or some of them; the first 60 of more.
        history : TimeResponse, optional
            A run of this working point's linear model, which is computed again with all coordinates.
        trace : Trace, optional
            Equilibria of the system along a parameter.
        compare : WorkingPoint, optional
            A second working point of the same objects, drawn pale on demand.

        Raises
        ------
        ModelError
            A mode, run, trace or working point belongs to another system.
        FileError
            The file cannot be written.

        Examples
        --------
        >>> stage = mse.MSystem("stage")
        >>> mass = stage.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=mse.Pose.dz(-0.5)))
        >>> spring = stage.add(mse.Spring("spring", length=0.5, stiffness=980.0), between=(stage.ground, mass))
        >>> point = stage.find_working_point()
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "stage.html")
        ...     point.to_html(path, modes=point.linearize().modes())
        ...     print(os.path.getsize(path) < 200_000)
        True
        """
        from ..tools.page.document import to_html

        to_html(self, path, modes=modes, history=history, trace=trace, compare=compare)

    def view(
        self: WorkingPoint,
        *,
        modes: Modes | Mode | Iterable[Mode] | None = None,
        history: TimeResponse | None = None,
        trace: Trace | None = None,
        compare: WorkingPoint | None = None,
        height: int = 480,
    ) -> View:
        """The page of :meth:`to_html`, shown in a notebook.

        Parameters
        ----------
        modes : Modes, Mode or iterable of Mode, optional
            Modes to animate: ``linear.modes()``, or some of them; the first 60 of more.
        history : TimeResponse, optional
            A run of this working point's linear model, which is computed again with all coordinates.
        trace : Trace, optional
            Equilibria of the system along a parameter.
        compare : WorkingPoint, optional
            A second working point of the same objects, drawn pale on demand.
        height : int
            Height in pixels.

        Returns
        -------
        View
            A document of its own in a frame of the notebook, so that it changes nothing else on the page.

        Raises
        ------
        ModelError
            A mode, run, trace or working point belongs to another system.

        Examples
        --------
        >>> stage = mse.MSystem("stage")
        >>> mass = stage.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=mse.Pose.dz(-0.5)))
        >>> spring = stage.add(mse.Spring("spring", length=0.5, stiffness=980.0), between=(stage.ground, mass))
        >>> view = stage.find_working_point().view(height=400)
        """
        from ..tools.page.document import view

        return view(self, modes=modes, history=history, trace=trace, compare=compare, height=height)

    def save_animation(
        self: WorkingPoint,
        path: str | PathLike[str],
        *,
        modes: Modes | Mode | None = None,
        number: int | None = None,
        motion: Motion | None = None,
    ) -> None:
        """Write a mode as an animated picture (GIF), with the system at rest in gray behind it; needs the extra ``plot``.

        The title states the largest displacement drawn.  One period takes two seconds, whatever the frequency.

        Parameters
        ----------
        path : path
            The file, such as "mode.gif".
        modes : Modes or Mode, optional
            ``linear.modes()``, or one of them.
        number : int, optional
            Which of the modes, from 0; the first if left out.
        motion : Motion, optional
            One of ``free`` or ``unstable``, instead of a mode.

        Raises
        ------
        ModelError
            Neither is given, or it belongs to another system.
        FileError
            The file cannot be written, or is no GIF file by its name.

        Examples
        --------
        >>> import os, tempfile
        >>> stage = mse.MSystem("stage")
        >>> mass = stage.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, at=mse.Pose.dz(-0.5)))
        >>> spring = stage.add(mse.Spring("spring", length=0.5, stiffness=980.0), between=(stage.ground, mass))
        >>> point = stage.find_working_point()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "bounce.gif")
        ...     point.save_animation(path, modes=point.linearize().modes(), number=5)
        ...     print(os.path.getsize(path) < 500_000)
        True
        """
        from ..tools.plots.animation import save_animation

        save_animation(self, path, modes=modes, number=number, motion=motion)
