"""A picture of an answer among the data that its networks were trained on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.errors import InputError
from dcembed.plot.figures import BLUE, GREY, RED, new_figure, tidy
from dcembed.reading import show
from dcembed.support.region import Support

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Points of the data that are drawn, and regions that have a picture of their own.
MOST_POINTS, MOST_PICTURES = 3_000, 6


def draw_data(embeddings: Sequence[Embedding], x: Array, axes: Any = None, title: str = "") -> Figure:
    """The inputs at x among the data of every region, as a figure.

    Parameters
    ----------
    axes
        Two inputs, by names or numbers; None for the principal axes of the data in scaled units.
    """
    drawn = [each for each in embeddings if isinstance(each.support, Support)][:MOST_PICTURES]
    if not drawn:
        raise InputError("plot: no embedding has data to show the answer in. Embed with support=dcembed.support(data, ...).")
    figure = new_figure((6.0 * min(len(drawn), 3), 5.0 * (1 + (len(drawn) - 1) // 3)))
    places = figure.subplots(1 + (len(drawn) - 1) // 3, min(len(drawn), 3), squeeze=False).reshape(-1)
    for embedding, place in zip(drawn, places, strict=False):
        _draw(place, embedding, x, axes)
        tidy(place)
    for place in places[len(drawn) :]:
        place.set_visible(False)
    figure.suptitle(title, fontsize=11)
    return figure


def _draw(place: Axes, embedding: Embedding, x: Array, axes: Any) -> None:
    region, answers = embedding.support, embedding.points(x)
    assert isinstance(region, Support)
    data, shown, labels = _coordinates(region, answers, axes)
    some = data[:: max(len(data) // MOST_POINTS, 1)]
    place.scatter(some[:, 0], some[:, 1], s=9, color=GREY, alpha=0.6, linewidths=0, label=f"data ({len(data):,})")
    outline = _outline(data)
    if outline is not None:
        place.plot(outline[:, 0], outline[:, 1], color=GREY, linewidth=1.0)
    is_out = region.excess(answers) > 1e-5 if region.weight != 0.0 else np.zeros(len(answers), dtype=bool)
    for mask, color, words in ((~is_out, BLUE, "answer"), (is_out, RED, "answer outside of the region")):
        if mask.any():
            place.scatter(
                shown[mask, 0], shown[mask, 1], s=90, marker="*", color=color, edgecolors="white", linewidths=0.6, zorder=4, label=words
            )
    place.set_xlabel(labels[0])
    place.set_ylabel(labels[1])
    place.set_title(region.label, loc="left", fontsize=9)
    place.legend(loc="best", frameon=False, fontsize=9)


def _coordinates(region: Support, answers: Array, axes: Any) -> tuple[Array, Array, tuple[str, str]]:
    """Data and answers in two coordinates, and what these are called."""
    points, labels = region.data.points, region.data.labels
    if points.shape[1] == 1:
        return np.column_stack([points, np.zeros(len(points))]), np.column_stack([answers, np.zeros(len(answers))]), (labels[0], "")
    if axes is not None:
        chosen = _read_axes(axes, labels)
        return points[:, chosen], answers[:, chosen], (labels[chosen[0]], labels[chosen[1]])
    z, own = region.scale.apply(points), region.scale.apply(answers)
    if points.shape[1] == 2:
        return points, answers, (labels[0], labels[1])
    middle = z.mean(axis=0)
    directions = np.linalg.svd(np.cov(z.T))[0][:, :2]
    named = [", ".join(labels[j] for j in np.argsort(-np.abs(direction), kind="stable")[:2]) for direction in directions.T]
    return (
        (z - middle) @ directions,
        (own - middle) @ directions,
        (f"principal axis 1 ({named[0]}, ...)", f"principal axis 2 ({named[1]}, ...)"),
    )


def _read_axes(axes: Any, labels: Sequence[str]) -> list[int]:
    listed = list(axes) if isinstance(axes, list | tuple) else []
    found = [labels.index(each) if isinstance(each, str) and each in labels else each for each in listed]
    if len(found) != 2 or not all(isinstance(each, int | np.integer) and 0 <= each < len(labels) for each in found):
        raise InputError(f"plot: axes are two inputs, by names or numbers, of {', '.join(map(repr, labels))}; received {show(axes)}.")
    return [int(each) for each in found]


def _outline(points: Array) -> Array | None:
    """The hull of points (N, 2), closed; None where they lie on a line."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        corners = points[ConvexHull(points).vertices]
    except (QhullError, ValueError):
        return None
    return np.vstack([corners, corners[:1]])
