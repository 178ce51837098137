"""Results as files and labeled arrays; the work is done in :mod:`mse.tools.exchange`."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


class Savable:
    """A result that files can hold."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file, whole or not at all; :func:`mse.read_result` gives it back, equal to the last bit.

        With it go names, units, the version of mse and the parameters of the system.

        Parameters
        ----------
        path : path
            File ``.npz`` (NumPy), ``.mat`` (MATLAB version 5, also read by SciPy) or ``.h5`` (HDF5, with the extra ``hdf5``).
            A ``.h5`` of a state space also has zeros, poles (rad/s) and gain of each response, as datasets z, p, k in the
            groups ``damped/zpk/<output>/<input>``, which finesse-ligo reads.

        Raises
        ------
        FileError
            The file cannot be written, its suffix is none of these, or the result has what no file can hold, such as exact
            members.
        """
        from .tools.exchange.result_files import save

        save(self, path)


class Labeled:
    """A result that becomes an array or a table with labels."""

    def to_xarray(self) -> xr.Dataset | xr.DataArray:
        """The numbers with names and units, for xarray (extra ``xarray``).

        Returns
        -------
        xarray.Dataset or xarray.DataArray
            Named dimensions and coordinates; units are in ``attrs["units"]`` of each variable.  Responses are one array over
            frequency, output and input, with a coordinate ``unit`` for each pair.

        Raises
        ------
        MissingPackageError
            xarray is not installed.
        """
        from .tools.exchange.labeled import to_xarray

        return to_xarray(self)

    def to_pandas(self) -> pd.DataFrame:
        """The numbers as a table, for pandas (comes with the extra ``xarray``).

        Returns
        -------
        pandas.DataFrame
            Named index and columns; ``attrs["units"]`` has the unit of each column.

        Raises
        ------
        MissingPackageError
            pandas is not installed.
        """
        from .tools.exchange.labeled import to_pandas

        return to_pandas(self)
