"""How a picture is read: which texts overlap, what ticks say and where they are, which colors can be told apart."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

# G. M. Machado et al., "A physiologically-based model for simulation of color vision deficiency" (2009), severity 1
DEFICIENCIES = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
PREFIX = {"p": 1e-12, "n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
UNITS = ("N m", "rad/s", "1/s", "rad", "deg", "Hz", "Pa", "N", "m", "s")
UNIT = re.compile(r"^([pnumkMG]?)(N m|rad/s|1/s|rad|deg|Hz|Pa|N|m|s)$")


# -- texts and ticks as they are drawn ------------------------------------------------------------------------------------
@dataclass
class Seen:
    """Texts with the corners (4, 2) of their boxes, and segments (2, 2) of short lines at ticks, in pixels."""

    texts: list[tuple[str, np.ndarray, Text]] = field(default_factory=list)
    ticks: list[np.ndarray] = field(default_factory=list)


def drawn(figure, monkeypatch) -> Seen:
    """What is drawn of a figure, caught as it is drawn."""
    seen, canvas = Seen(), FigureCanvasAgg(figure)
    canvas.draw()  # the layout settles
    write, line = Text.draw, Line2D.draw

    def catch_text(self, renderer):
        if self.get_visible() and self.get_text().strip():
            seen.texts.append((self.get_text(), corners(self, renderer), self))
        return write(self, renderer)

    def catch_line(self, renderer):
        if self.get_visible() and len(self.get_xdata(orig=False)) == 2 and self in ticks:
            seen.ticks.append(self.get_transform().transform(np.array(self.get_data(orig=False), dtype=float).T))
        return line(self, renderer)

    ticks = {
        tick
        for axes in figure.axes
        if hasattr(axes, "zaxis")
        for axis in (axes.xaxis, axes.yaxis, axes.zaxis)
        for t in axis.get_major_ticks()
        for tick in (t.tick1line, t.tick2line)
    }
    with monkeypatch.context() as patch:
        patch.setattr(Text, "draw", catch_text)
        patch.setattr(Line2D, "draw", catch_line)
        canvas.draw()
    return seen


def corners(text: Text, renderer) -> np.ndarray:
    """Corners (4, 2) of the box of a text, turned as it is."""
    angle = text.get_rotation()
    around = text.get_window_extent(renderer)
    middle = np.array([0.5 * (around.x0 + around.x1), 0.5 * (around.y0 + around.y1)])
    text.set_rotation(0.0)
    flat = text.get_window_extent(renderer)
    text.set_rotation(angle)
    half = 0.5 * np.array([flat.width, flat.height])
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    return middle + (half * [[-1, -1], [1, -1], [1, 1], [-1, 1]]) @ np.array([[c, s], [-s, c]])


def apart(a: np.ndarray, b: np.ndarray, slack: float = 1.0) -> bool:
    """Whether two convex polygons (n, 2), a line among them, lie beside each other, but for ``slack`` pixels."""
    for polygon in (a, b):
        for side in np.roll(polygon, -1, axis=0) - polygon:
            normal = np.array([-side[1], side[0]])
            length = np.linalg.norm(normal)
            if length > 0.0:
                p, q = a @ normal / length, b @ normal / length
                if p.max() <= q.min() + slack or q.max() <= p.min() + slack:
                    return True
    return False


def overlaps(seen: Seen) -> list[tuple[str, str]]:
    """Pairs of texts that cover each other, and texts that ticks run into."""
    out = [(a, b) for (a, p, _), (b, q, _) in itertools.combinations(seen.texts, 2) if not apart(p, q)]
    out += [(text, "a tick") for text, box, _ in seen.texts for tick in seen.ticks if not apart(box, tick)]
    return out


def outside(seen: Seen, figure) -> list[str]:
    """Texts that are cut off at the border of the figure."""
    size = np.array([figure.bbox.width, figure.bbox.height])
    return [text for text, box, _ in seen.texts if (box < -1.0).any() or (box > size + 1.0).any()]


# -- numbers at ticks -----------------------------------------------------------------------------------------------------
def value_of(text: str) -> float:
    """The number that a reader sees: 1.5, −20, 10^3, 2.5 times 10^−7."""
    plain = text.replace("\N{MINUS SIGN}", "-").replace("$", "")
    found = re.fullmatch(r"(-?)(?:([\d.]+)\N{MULTIPLICATION SIGN})?10\^\{(-?\d+)\}", plain)
    if found:
        return (-1.0 if found[1] else 1.0) * float(found[2] or 1.0) * 10.0 ** int(found[3])
    return float(plain)


def scale_of(label: str) -> tuple[float, float]:
    """What the label of an axis says of its numbers: the factor of its unit, and the value that they count from."""
    what, _, unit = label.rpartition(" (")
    unit = unit.removesuffix(")")
    base = re.search(r" ([-+]) ([\d.]+)(?: (\S+(?: m)?))?$", what)
    start = 0.0
    if base:
        start = (1.0 if base[1] == "-" else -1.0) * float(base[2]) * (factor_of(base[3]) if base[3] else 1.0)
    return factor_of(unit), start


def factor_of(unit: str) -> float:
    if unit in UNITS:
        return 1.0
    found = UNIT.match(unit)
    return PREFIX[found[1]] if found else 1.0


def misread_ticks(figure) -> list[str]:
    """Ticks whose number, with the unit of the label, is not the value at which they stand."""
    wrong = []
    for axes in figure.axes:
        three = (axes.zaxis,) if hasattr(axes, "zaxis") else ()
        for axis in (axes.xaxis, axes.yaxis, *three):
            # a panel without a label has that of its neighbor below
            label = axis.get_label_text() or next(
                (o.get_xlabel() for o in figure.axes if axis is axes.xaxis and o.get_xlabel() and shares(o, axes)), ""
            )
            factor, start = (0.01, 0.0) if label == "participation (%)" else scale_of(label)
            low, high = sorted(axis.get_view_interval())
            span = high - low
            for tick in axis.get_major_ticks():
                place, shown = tick.get_loc(), tick.label1.get_text() or tick.label2.get_text()
                if not shown or not low <= place <= high or not re.search(r"\d", shown) or re.search("[A-Za-z]", shown):
                    continue
                if abs(value_of(shown) * factor + start - place) > 1e-3 * min(span, abs(place) + 1e-6 * span):
                    wrong.append(f"{label}: {shown!r} at {place!r}")
            if axis.get_offset_text().get_text():
                wrong.append(f"{label}: offset {axis.get_offset_text().get_text()!r}")
    return wrong


def shares(other, axes) -> bool:
    return other.get_shared_x_axes().joined(other, axes)


# -- colors -----------------------------------------------------------------------------------------------------------------
def lab(color, sight="normal") -> np.ndarray:
    """CIE 1976 L*, a*, b* of a color for a kind of sight."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(DEFICIENCIES[sight]) @ linear, 0.0, 1.0)
    to_xyz = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
    )
    xyz = to_xyz @ linear / [0.95047, 1.0, 1.08883]
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def nearest(colors) -> float:
    """The smallest difference (CIE 1976) among different colors for any kind of sight."""
    different = list(dict.fromkeys(to_rgb(c) for c in colors))
    return min(
        (
            float(np.linalg.norm(lab(a, sight) - lab(b, sight)))
            for sight in DEFICIENCIES
            for a, b in itertools.combinations(different, 2)
        ),
        default=np.inf,
    )


@dataclass(frozen=True)
class Look:
    """How an entry of a legend looks."""

    label: str
    color: tuple
    kind: str
    style: tuple
    width: float

    @classmethod
    def of(cls, handle) -> Look:
        label = handle.get_label()
        if isinstance(handle, Patch):
            return cls(label, to_rgb(handle.get_facecolor()), "patch", (handle.get_hatch() or "",), 0.0)
        dashes = handle.get_linestyle(), handle._unscaled_dash_pattern, handle.get_marker()
        return cls(label, to_rgb(handle.get_color()), "line", dashes, handle.get_linewidth())

    def is_like_in_gray(self, other: Look) -> bool:
        """Whether the two cannot be told apart without color."""
        if self.kind != other.kind or self.style != other.style:
            return False
        thick = max(self.width, other.width) >= 1.5 * min(self.width, other.width) > 0.0
        return not thick and abs(lab(self.color)[0] - lab(other.color)[0]) < 9.0


def legends(figure) -> list[list[Look]]:
    """The entries of all legends of a figure."""
    found = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    for part in getattr(figure, "subfigs", ()):
        found += part.legends
    out = []
    for legend in filter(None, found):
        handles = [
            h[0] if isinstance(h, tuple) or type(h).__name__ == "BarContainer" else h for h in legend.legend_handles
        ]
        entries = []
        for handle, text in zip(handles, legend.get_texts(), strict=True):
            handle.set_label(text.get_text())
            entries.append(Look.of(handle))
        out.append(entries)
    return out
