"""What a new kind of results costs: its class, and one function that draws it."""

import numpy as np
from matplotlib.figure import Figure

import mse
from mse.declared import array, axis, names
from mse.results import Result, drawing


class Coherence(Result):
    name: str
    frequencies_hz: np.ndarray = axis("frequency", "Hz")
    channels: tuple[str, ...] = names("channel")
    values: np.ndarray = array("frequency channel", unit="1", label="coherence", columns="{channel}")


@drawing.register(Coherence)
def _(result: Coherence) -> Figure:
    (figure := Figure()).subplots().plot(result.frequencies_hz, result.values)
    return figure


def test_a_new_result_saves_reads_prints_plots_exports_and_completes(tmp_path):
    new = Coherence("stage", np.array([1.0, 2.0]), ("probe.x", "probe.y"), np.array([[0.5, 1.0], [0.25, 0.0]]))
    new.save(tmp_path / "new.npz")
    assert (again := mse.read_result(tmp_path / "new.npz")).channels == new.channels
    assert "frequency (Hz)" in repr(again) and "0.25" in again._repr_html_() and len(again.plot().axes[0].lines) == 2
    assert again.to_xarray().sel(channel="probe.y").equals(new.to_xarray()[:, 1]) and "probe.x" in again.to_pandas()
    assert again._ipython_key_completions_() == list(new.channels) and again["probe.x"][1] == 0.25
