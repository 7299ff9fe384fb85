"""Names beside the ends of lines, moved apart where ends are close."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Vertical space between two names, in points, and their size.
SPACING, SIZE = 13.5, 10.5


@dataclass(frozen=True)
class Name:
    """A name for the end of a line at (x, y)."""

    text: str
    x: float
    y: float
    colour: str
    is_bold: bool = False


def write_names(figure: Figure, axes: Axes, names: Sequence[Name]) -> list:
    """Write them right of the axes, each with a dotted line to its end."""
    figure.draw_without_rendering()
    to_axes = axes.transData + axes.transAxes.inverted()
    height = axes.get_window_extent().height * 72 / figure.dpi
    order = sorted(names, key=lambda name: to_axes.transform((name.x, name.y))[1])
    wanted = np.array([to_axes.transform((name.x, name.y))[1] * height for name in order])
    placed = spread(wanted, SPACING, height) / height
    return [_write(axes, name, float(y)) for name, y in zip(order, placed, strict=True)]


def spread(wanted: np.ndarray, spacing: float, height: float) -> np.ndarray:
    """Positions in ascending order, at least `spacing` apart, as near to the wanted ones as a few sweeps bring them."""
    placed = wanted.astype(float).copy()
    for _ in range(200):
        close = np.flatnonzero(np.diff(placed) < spacing - 1e-6)
        if close.size == 0:
            break
        for number in close:
            middle = (placed[number] + placed[number + 1]) / 2
            placed[number], placed[number + 1] = middle - spacing / 2, middle + spacing / 2
    placed += max(0.0, -placed[0]) if placed.size else 0.0
    placed -= max(0.0, placed[-1] - height) if placed.size else 0.0
    return placed


def _write(axes: Axes, name: Name, y: float):
    return axes.annotate(
        name.text,
        xy=(name.x, name.y),
        xytext=(1.05, y),
        textcoords=axes.transAxes,
        color=name.colour,
        va="center",
        ha="left",
        fontsize=SIZE,
        fontweight="bold" if name.is_bold else "normal",
        annotation_clip=False,
        arrowprops={
            "arrowstyle": "-",
            "color": name.colour,
            "linewidth": 1.0,
            "linestyle": ":",
            "relpos": (0, 0.5),
            "shrinkA": 1,
            "shrinkB": 4,
        },
    )
