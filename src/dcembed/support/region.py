"""`dcembed.support`: where the data are that a network was trained on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from dcembed.arrays import Array
from dcembed.copies import replace
from dcembed.errors import InputError
from dcembed.network.network import Network
from dcembed.reading import as_number, as_numbers, as_whole, show
from dcembed.support.box import fit_box
from dcembed.support.clusters import fit_clusters
from dcembed.support.combinations import Combinations, fit_combinations
from dcembed.support.data import Data, read_data
from dcembed.support.ellipsoid import fit_ellipsoid
from dcembed.support.hull import Hull, fit_hull
from dcembed.support.piece import Piece, on_inputs, together
from dcembed.support.scale import Scale, read_scaler, scale_of
from dcembed.support.score import Score
from dcembed.support.shape import Shape

Kind = Literal["box", "hull", "ellipsoid", "clusters", "network", "report"]
# Vertices of a hull, at most: each is a column for every evaluation.
MOST_VERTICES = 200


@dataclass(frozen=True, eq=False)
class Settings:
    """What a region was asked to be; see `support`."""

    kind: Kind
    coverage: float
    points: int
    clusters: int
    shape: str
    seed: int
    network: Network | None
    threshold: float | None
    scaler: Any


@dataclass(frozen=True, eq=False)
class Support:
    """A region around data, made by `dcembed.support`. Give it to `Embedding(..., support=region)` or to `embed(..., support=region)`.

    Parameters
    ----------
    data
        The points, as they are.
    targets
        What was measured at them, shape (N, n_out); None where it is not known.
    scale
        The units of distances.
    shape
        The region of the inputs that are no categories, in scaled units; None where there are none, or where nothing is asked for.
    combinations
        Of the others; None where there are none, or where nothing is asked for.
    weight
        What a unit outside costs; None where inputs must be inside, 0 where nothing is asked of them.
    settings
        What was asked for.
    """

    data: Data
    targets: Array | None
    scale: Scale
    shape: Shape | None
    combinations: Combinations | None
    weight: float | None
    settings: Settings

    @property
    def num_inputs(self) -> int:
        """n_in."""
        return int(self.data.points.shape[1])

    @property
    def kind(self) -> str:
        """As it was asked for."""
        return self.settings.kind

    @property
    def error(self) -> float:
        """How far, at most, the region reaches beyond the hull of the data in a scaled coordinate because it was thinned; 0 for other kinds."""
        return self.shape.error if isinstance(self.shape, Hull) else 0.0

    @property
    def label(self) -> str:
        """What messages call it."""
        parts = [part.label for part in (self.shape, self.combinations) if part is not None]
        return " with ".join(parts) or "data"

    @cached_property
    def piece(self) -> Piece:
        """What says that the scaled inputs of one evaluation are inside, or how far outside."""
        is_soft, labels = self.weight is not None, np.array(self.data.labels, dtype=object)
        pieces = [
            on_inputs(part.piece(tuple(labels[places]), is_soft), places, self.num_inputs)
            for part, places in self._parts
            if places is not None
        ]
        pieces += [part.piece(self.data.labels, is_soft) for part, places in self._parts if places is None]
        return together(pieces)

    def excess(self, points: Array) -> Array:
        """How far outside points (k, n_in) are, in scaled units, shape (k,); 0 inside. Where there are categories, both distances added up."""
        total = np.zeros(len(points))
        for part, places in self._parts:
            total += part.excess(self._of(points, places))
        return total

    def contains(self, points: ArrayLike, tolerance: float = 1e-9) -> Array:
        """Whether points (k, n_in) are inside, shape (k,).

        Examples
        --------
        >>> import dcembed
        >>> region = dcembed.support([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], kind="hull", discrete=[])
        >>> region.contains([[0.2, 0.2], [0.8, 0.8]])
        array([ True, False])
        """
        read = np.atleast_2d(as_numbers(points, "contains: points"))
        if read.ndim != 2 or read.shape[1] != self.num_inputs:
            raise InputError(f"contains: points have shape {read.shape}, expected (k, {self.num_inputs}).")
        inside: Array = self.excess(read) <= tolerance
        return inside

    def complete(self, points: Array) -> Array:
        """The values of the columns of `piece` at points (k, n_in), shape (k, p)."""
        is_soft = self.weight is not None
        parts = sorted(self._parts, key=lambda part: part[1] is None)
        return np.hstack([np.zeros((len(points), 0)), *(part.complete(self._of(points, places), is_soft) for part, places in parts)])

    def for_names(self, names: tuple[str, ...]) -> Support:
        """The same with its inputs in the order of these names; a category that the data does not have is a column of zeros."""
        own = self.data.names
        if own is None or own == names:
            return self
        surplus = [name for name in own if name not in names]
        missing = [name for name in names if name not in own]
        # A category that the model knows and the data does not have.
        unseen = [
            name
            for name in missing
            if any(name.startswith(known.rsplit("_", 1)[0] + "_") for known in np.array(own)[self.data.is_discrete])
        ]
        if surplus or len(unseen) < len(missing):
            raise InputError(
                "support: the columns of the data are not the features that the model was fitted on. "
                f"Surplus: {surplus or 'none'}; missing: {[name for name in missing if name not in unseen] or 'none'}."
            )
        points = np.column_stack(
            [self.data.points[:, own.index(name)] if name in own else np.zeros(len(self.data.points)) for name in names]
        )
        discrete = np.array([name not in own or self.data.is_discrete[own.index(name)] for name in names])
        return build_support(Data(points, names, discrete), self.targets, self.weight, self.settings)

    @property
    def _parts(self) -> list[tuple[Shape, Array | None]]:
        """What the region is made of, and which inputs each is about; None for all of them, as they are."""
        parts: list[tuple[Shape, Array | None]] = []
        if self.shape is not None:
            parts.append((self.shape, None if isinstance(self.shape, Score) else np.flatnonzero(~self.data.is_discrete)))
        if self.combinations is not None:
            parts.append((self.combinations, np.flatnonzero(self.data.is_discrete)))
        return parts

    def _of(self, points: Array, places: Array | None) -> Array:
        return points if places is None else self.scale.apply(points)[:, places]

    def __repr__(self) -> str:
        how = "required" if self.weight is None else f"weight {self.weight:g}" if self.weight else "reported only"
        return f"Support({self.label}, {len(self.data.points):,} x {self.num_inputs} data, {how})"


def support(
    data: Any,
    kind: Kind = "hull",
    *,
    weight: float | None = None,
    coverage: float = 1.0,
    points: int = MOST_VERTICES,
    clusters: int | None = None,
    shape: Literal["ellipsoid", "box"] = "ellipsoid",
    network: Any = None,
    threshold: float | None = None,
    targets: Any = None,
    scaler: Any = None,
    discrete: Any = None,
    seed: int = 0,
) -> Support:
    """Where data are, as a region that inputs of a network are kept in.

    An optimizer goes where a surrogate is most optimistic, which is often where it has seen no data. A region keeps it where the surrogate knows.

    Parameters
    ----------
    data
        The inputs that the network was trained on, as it takes them: an array (N, n_in) or a DataFrame. Columns of a frame are matched by
        name with the features of the model; columns of categories become one for each category.
    kind
        "box": every input by itself. "hull": the convex hull. "ellipsoid": Mahalanobis distance with a shrunk covariance, a cone.
        "clusters": a union of ellipsoids or boxes, one binary each. "network": a network of your own that says how usual inputs are. "report": nothing is
        restricted, and the answer is compared with the data.
    weight
        What one scaled unit outside costs, in units of the objective; None for a region that must not be left.
    coverage
        Share of the data that has to be inside; below 1 the most unusual points are left out.
    points
        Of a hull, how many points it is made of, at most; each is a column of every evaluation. What is lost by that is in `Support.error`.
    clusters, shape
        How many clusters, and whether they are ellipsoids or boxes.
    network, threshold
        Of the kind "network": what `load_network` takes, with one output; inputs belong where that is at least the threshold, by default the
        value that the share `coverage` of the data reaches.
    targets
        What was measured at the data, shape (N,) or (N, n_out): then results tell how wrong the network is around the answer.
    scaler
        The scaler of the model, or the pipeline it is in: distances are measured in its units. By default in standard deviations of the data.
    discrete
        Names or numbers of columns that are categories or whole numbers: inputs have one of the combinations that the data has. By default columns of
        categories, and those that are 0 or 1 everywhere.
    seed
        Of the directions in which points of a hull are looked for, and of the first centers of clusters.

    Examples
    --------
    >>> import dcembed, numpy as np
    >>> data = np.random.default_rng(0).normal(size=(500, 2))
    >>> region = dcembed.support(data, "ellipsoid", coverage=0.95)
    >>> bool(region.contains(data).mean() >= 0.95), region.contains([[9.0, 9.0]])
    (True, array([False]))
    """
    if not isinstance(kind, str) or kind not in get_args(Kind):
        raise InputError(
            f"support: kind={show(kind) if not isinstance(kind, str) else repr(kind)} is not known. Accepted: {', '.join(map(repr, get_args(Kind)))}."
        )
    if not isinstance(shape, str) or shape not in ("ellipsoid", "box"):
        raise InputError(
            f"support: shape={show(shape) if not isinstance(shape, str) else repr(shape)} is not known. Accepted: 'ellipsoid', 'box'."
        )
    if clusters is None and kind == "clusters":
        raise InputError("support: clusters is how many clouds the data has, which you have to say: support(data, 'clusters', clusters=3).")
    read = read_data(data, discrete)
    settings = Settings(
        kind=kind,
        coverage=_within(coverage, "coverage", 0.0, 1.0),
        points=_at_least(points, "points", 2),
        clusters=_at_least(1 if clusters is None else clusters, "clusters", 1),
        shape=shape,
        seed=_at_least(seed, "seed", 0),
        network=_read_network(network, kind, read),
        threshold=None if threshold is None else as_number(threshold, "support: threshold"),
        scaler=scaler,
    )
    return build_support(read, _read_targets(targets, len(read.points)), _read_weight(weight, kind), settings)


def build_support(data: Data, targets: Array | None, weight: float | None, settings: Settings) -> Support:
    """The region of data that has been read."""
    discrete = data.is_discrete
    scaler = settings.scaler
    scale = scale_of(data.points, discrete) if scaler is None else read_scaler(scaler, data.points, data.names, discrete)
    is_report = settings.kind == "report"
    z = scale.apply(data.points)[:, ~discrete]
    shape = None if is_report or (z.shape[1] == 0 and settings.kind != "network") else _fit(settings, z, data.points)
    combinations = fit_combinations(data.points[:, discrete]) if discrete.any() and not is_report else None
    if combinations is not None:
        combinations = replace(combinations, values=(combinations.values - scale.center[discrete]) / scale.spread[discrete])
    return Support(data, targets, scale, shape, combinations, weight, settings)


def _fit(settings: Settings, z: Array, x: Array) -> Shape:
    """The region of scaled points (N, d), or of points as they are for a network."""
    if settings.kind == "box":
        return fit_box(z, settings.coverage)
    if settings.kind == "ellipsoid":
        return fit_ellipsoid(z, settings.coverage)
    if settings.kind == "clusters":
        return fit_clusters(z, min(settings.clusters, len(z)), settings.shape == "box", settings.coverage, settings.seed)
    if settings.kind == "network":
        assert settings.network is not None
        found = settings.threshold
        return Score(settings.network, float(np.quantile(settings.network(x)[:, 0], 1.0 - settings.coverage)) if found is None else found)
    return fit_hull(_most_usual(z, settings.coverage), settings.points, settings.seed)


def _most_usual(z: Array, coverage: float) -> Array:
    """The share of the points that is nearest to the middle, by their ellipsoid."""
    return z if coverage >= 1.0 else z[fit_ellipsoid(z, coverage).excess(z) == 0.0]


def _read_network(network: Any, kind: str, data: Data) -> Network | None:
    if kind != "network":
        if network is not None:
            raise InputError(f"support: network is for kind='network', and the kind is {kind!r}.")
        return None
    if network is None:
        raise InputError("support: kind='network' needs network=..., with one output that is large where inputs are usual.")
    if not isinstance(network, Network):
        from dcembed.importers import load_network

        network = load_network(network)
    if network.num_outputs != 1 or network.num_inputs != data.points.shape[1]:
        raise InputError(
            f"support: the network has {network.num_inputs} inputs and {network.num_outputs} outputs; {data.points.shape[1]} inputs, as the data has columns, "
            "and one output are expected."
        )
    found: Network = network
    return found


def _read_targets(targets: Any, number: int) -> Array | None:
    if targets is None:
        return None
    read = as_numbers(targets, "support: targets")
    if read.ndim not in (1, 2) or len(read) != number:
        raise InputError(f"support: targets have shape {read.shape}, but the data has {number} rows: one for each is expected.")
    if not np.isfinite(read).all():
        raise InputError("support: targets have NaN or infinite entries.")
    return read.reshape(number, -1)


def _read_weight(weight: Any, kind: str) -> float | None:
    if kind == "report":
        if weight is not None:
            raise InputError("support: kind='report' restricts nothing and has no weight.")
        return 0.0
    if weight is None:
        return None
    read = as_number(weight, "support: weight")
    if not 0.0 < read < np.inf:
        raise InputError(f"support: weight={weight!r} is not accepted: a positive number, or None for a region that must not be left.")
    return read


def _within(value: Any, name: str, low: float, high: float) -> float:
    read = as_number(value, f"support: {name}")
    if not low < read <= high:
        raise InputError(f"support: {name}={show(value)} is not accepted: a number above {low:g} and at most {high:g}.")
    return read


def _at_least(value: Any, name: str, least: int) -> int:
    read = as_whole(value, f"support: {name}")
    if read < least:
        raise InputError(f"support: {name}={read} is not accepted: a whole number from {least} on.")
    return read
