"""Methods of a large motion that show it in three dimensions."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .trajectory import Trajectory


class Showing:
    """Pages and animations of a motion; a base of :class:`.Trajectory`."""

    def to_html(self: Trajectory, path: str | PathLike[str]) -> None:
        """Write a page that shows the system in three dimensions and moves it: one file, which any browser opens offline.

        Poses are those of the samples, at most 2000 of them; take a ``dt`` in which nothing turns by half a turn.

        Parameters
        ----------
        path : path
            The file, such as "run.html".

        Raises
        ------
        ModelError
            The motion has less than two samples.
        FileError
            The file cannot be written.
        """
        from ..tools.page.document import motion_to_html

        motion_to_html(self, path)

    def save_animation(self: Trajectory, path: str | PathLike[str]) -> None:
        """Save the motion as an animated GIF, a picture for each sample, at most 200.

        It runs as fast as the motion did, if that took 2 to 10 s; else slower or faster. Each picture tells its time.

        Parameters
        ----------
        path : path
            The file, such as "run.gif".

        Raises
        ------
        ModelError
            The motion has less than two samples.
        FileError
            The file cannot be written, or its name does not end in .gif.
        MissingPackageError
            matplotlib or pillow is not installed (extra ``plot``).
        """
        from ..tools.plots.animation import save_motion

        save_motion(self, path)
