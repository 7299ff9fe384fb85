"""How far from the data an answer is, and how sure of it one can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.network.ensemble import Ensemble, member_values
from dcembed.program.program import Program
from dcembed.support.cloud import Cloud, cloud_of
from dcembed.support.region import Support
from dcembed.tables import build_frame, name_columns

if TYPE_CHECKING:
    import pandas

# Points of the data around an answer whose distances and errors are averaged.
NEIGHBOURS = 10
# What is no further outside, in scaled units, is inside: it is of the size of what feasibility tolerances leave.
INSIDE = 1e-5


@dataclass(frozen=True, eq=False)
class SupportReport:
    """Where the inputs of every evaluation are among the data, one entry each; distances are in scaled units, NaN where there is no data.

    Parameters
    ----------
    prediction
        The name of the first column that the evaluation predicts.
    outside
        How far the inputs are outside of the region that was given; NaN for one that only reports.
    outside_box, outside_hull, outside_ellipsoid
        How far outside of the ranges of the data, of its convex hull, and of the ellipsoid that has all of it inside; 0 inside. Categories are left aside.
        Of more than 500 evaluations of a network the distance from the hull is that of the 500 that are farthest out, NaN for the others.
    is_observed
        Whether the data has the combination of categories; True where there are none.
    nearest, near
        The distance to the nearest point of the data, and the mean of those to the ten nearest.
    usual
        What `near` is for a typical point of the data itself (the median).
    spread
        By how much the members of an ensemble differ at the answer: the largest standard deviation of an output; NaN for a single network.
    error
        By how much the network is off at the ten nearest points of the data, on average: the largest of an output; NaN without targets.
    """

    prediction: tuple[str, ...]
    outside: Array
    outside_box: Array
    outside_hull: Array
    outside_ellipsoid: Array
    is_observed: Array
    nearest: Array
    near: Array
    usual: Array
    spread: Array
    error: Array

    @property
    def is_outside_everything(self) -> Array:
        """Which evaluations are outside of box, hull and ellipsoid, or have a combination of categories that the data does not have, shape (e,).

        What is in the region that was given is where it was asked to be.
        """
        out = (self.outside_box > INSIDE) & (self.outside_hull > INSIDE) & (self.outside_ellipsoid > INSIDE)
        return (out | ~self.is_observed) & ~(self.outside <= INSIDE)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know before using the answer; empty where nothing is unusual."""
        places = np.flatnonzero(self.is_outside_everything)
        if places.size == 0:
            return ()
        worst = places[np.argmax(np.where(np.isnan(self.outside_hull[places]), 0.0, self.outside_hull[places]))]
        which = f"The inputs of {self.prediction[worst]!r} are" if places.size == 1 else f"The inputs of {places.size:,} evaluations are"
        if not self.is_observed[worst]:
            return (
                f"{which} a combination of categories that the data does not have: the prediction there rests on nothing that was seen.",
            )
        return (
            f"{which} outside everything seen, {'' if places.size == 1 else 'at most '}{self.outside_hull[worst]:.2g} scaled units from the hull of the data: "
            "the prediction there is a guess. dcembed.support(data, 'hull') keeps answers inside.",
        )

    def to_frame(self) -> pandas.DataFrame:
        """A pandas DataFrame, a row for each evaluation."""
        columns: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "prediction"}
        return build_frame(columns, list(self.prediction), "prediction")

    def __str__(self) -> str:
        return describe(self)


def report_support(program: Program, embeddings: Sequence[Embedding], x: Array) -> SupportReport | None:
    """Where the inputs are at a point x (n,); None where no embedding has data, nor is an ensemble."""
    parts = [_report(program, each, x) for each in embeddings if isinstance(each.support, Support) or isinstance(each.network, Ensemble)]
    if not parts:
        return None
    joined: dict[str, Any] = {
        each.name: np.concatenate([getattr(part, each.name) for part in parts])
        for each in fields(SupportReport)
        if each.name != "prediction"
    }
    return SupportReport(prediction=tuple(name for part in parts for name in part.prediction), **joined)


def describe(report: SupportReport) -> str:
    """One line about the evaluation that is farthest from the data, or the most uncertain one."""
    told = []
    known = ~np.isnan(report.near)
    if known.any():
        told.append(_where(report))
        far = int(np.nanargmax(report.near))
        told.append(f"data {report.near[far]:.2g} away (usually {report.usual[far]:.2g})")
    for name, words in (("spread", "members differ by {:.2g}"), ("error", "off by {:.2g} nearby")):
        values = getattr(report, name)
        if not np.isnan(values).all():
            told.append(words.format(float(np.nanmax(values))))
    more = f" (the worst of {len(report.prediction):,} evaluations)" if len(report.prediction) > 1 else ""
    return ", ".join(told) + more


def _where(report: SupportReport) -> str:
    kinds = {"box": report.outside_box, "hull": report.outside_hull, "ellipsoid": report.outside_ellipsoid}
    out = {kind: float(np.nanmax(far)) for kind, far in kinds.items() if not np.isnan(far).all() and np.nanmax(far) > INSIDE}
    unseen = ["a combination that was never seen"] if not report.is_observed.all() else []
    if not out:
        return unseen[0] if unseen else "inside box, hull and ellipsoid of the data"
    return ", ".join([*unseen, "outside of the data: " + ", ".join(f"{kind} by {far:.2g}" for kind, far in out.items())])


def _report(program: Program, embedding: Embedding, x: Array) -> SupportReport:
    points, names = embedding.points(x), name_columns(program)
    k = len(points)
    unknown, region = np.full(k, np.nan), embedding.support
    found: dict[str, Array] = {each.name: unknown for each in fields(SupportReport) if each.name != "prediction"}
    found["is_observed"] = np.ones(k, dtype=bool)
    if isinstance(region, Support):
        found |= _among(cloud_of(region), region, embedding, points)
    if isinstance(embedding.network, Ensemble):
        found["spread"] = member_values(embedding.network, points).std(axis=1).max(axis=1)
    return SupportReport(prediction=tuple(names[int(column)] for column in embedding.outputs[:, 0]), **found)


def _among(cloud: Cloud, region: Support, embedding: Embedding, points: Array) -> dict[str, Array]:
    z = region.scale.apply(points)
    plain = z[:, ~region.data.is_discrete]
    distances, places = cloud.nearest(z, NEIGHBOURS)
    found = {
        "outside": region.excess(points) if region.weight != 0.0 else np.full(len(points), np.nan),
        "outside_box": cloud.box.excess(plain),
        "outside_hull": cloud.outside_hull(plain),
        "outside_ellipsoid": cloud.ellipsoid.excess(plain),
        "is_observed": cloud.is_observed(z[:, region.data.is_discrete]),
        "nearest": distances[:, 0],
        "near": distances.mean(axis=1),
        "usual": np.full(len(points), cloud.usual(NEIGHBOURS)),
    }
    if region.targets is not None and region.targets.shape[1] == embedding.network.num_outputs:
        around = np.unique(places)
        off = np.full((len(region.data.points), embedding.network.num_outputs), np.nan)
        off[around] = np.abs(embedding.network(region.data.points[around]) - region.targets[around])
        found["error"] = off[places].mean(axis=1).max(axis=1)
    return found
