"""Regions of data as arrays, and back. A region that several embeddings have is kept once, and is one object again afterwards.

What a region was fitted to is kept as it came out: a file means the same region wherever it is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.errors import InputError
from dcembed.importers.weights.arrays_ import check_values, pack_network, unpack_network
from dcembed.saving.packed import Packed
from dcembed.support.box import Box
from dcembed.support.clusters import Clusters
from dcembed.support.combinations import Combinations
from dcembed.support.data import Data
from dcembed.support.ellipsoid import Ellipsoid
from dcembed.support.hull import Hull
from dcembed.support.region import Settings, Support
from dcembed.support.scale import Scale
from dcembed.support.score import Score

# Shapes whose fields are arrays and numbers, by the name that stands in a file.
PLAIN: Mapping[str, type[Any]] = {"box": Box, "hull": Hull, "ellipsoid": Ellipsoid, "combinations": Combinations}
# Dimensions of their arrays; the other fields are numbers.
ARRAYS = {"lb": 1, "ub": 1, "vertices": 2, "directions": 2, "center": 1, "whitening": 2, "values": 2}


def pack_supports(embeddings: Sequence[Embedding], who: str) -> Packed:
    """The regions of embeddings; nothing where there are none, so that such files are as they were."""
    regions = {id(each.support): each.support for each in embeddings if each.support is not None}
    if not regions:
        return Packed({})
    place = {key: number for number, key in enumerate(regions)}
    numbers = [-1 if each.support is None else place[id(each.support)] for each in embeddings]
    arrays: dict[str, Array] = {"support": np.array(numbers, dtype=np.int64)}
    for number, region in enumerate(regions.values()):
        if not isinstance(region, Support):
            raise InputError(
                f"{who}: a region of another kind than dcembed.support makes ({type(region).__name__}) cannot be kept in a file."
            )
        arrays |= {f"support{number}.{key}": array for key, array in _pack(region, who).items()}
    return Packed(arrays)


def unpack_supports(packed: Packed, number: int, path: Path) -> list[Support | None]:
    """The region of each embedding; ValueError for anything else than regions."""
    if "support" not in packed.arrays:
        return [None] * number
    places = packed.numbers("support", "i").tolist()
    count = len({key.partition(".")[0] for key in packed.arrays if key.startswith("support") and "." in key})
    if len(places) != number or any(not -1 <= place < count for place in places):
        raise ValueError("its regions are not as many as its embeddings say")
    regions = [_unpack(_within(packed, f"support{i}"), path) for i in range(count)]
    return [None if place < 0 else regions[place] for place in places]


def _within(packed: Packed, name: str) -> Packed:
    inside = f"{name}."
    return Packed({key.removeprefix(inside): array for key, array in packed.arrays.items() if key.startswith(inside)})


def _pack(region: Support, who: str) -> dict[str, Array]:
    settings = region.settings
    numbers = [settings.coverage, settings.points, settings.clusters, settings.seed]
    arrays = {
        "points": region.data.points,
        "is_discrete": region.data.is_discrete,
        "input_names": np.array(region.data.names or (), dtype=np.str_),
        "center": region.scale.center,
        "spread": region.scale.spread,
        "weight": np.array([np.nan if region.weight is None else region.weight]),
        "settings": np.array(numbers, dtype=np.float64),
        "words": np.array([settings.kind, settings.shape], dtype=np.str_),
    }
    if region.targets is not None:
        arrays["targets"] = region.targets
    for name, shape in (("shape", region.shape), ("combined", region.combinations)):
        if shape is not None:
            arrays |= {f"{name}.{key}": array for key, array in _pack_shape(shape, who).items()}
    return arrays


def _pack_shape(shape: Any, who: str) -> dict[str, Array]:
    if isinstance(shape, Clusters):
        parts = [{f"part{i}.{key}": array for key, array in _pack_shape(part, who).items()} for i, part in enumerate(shape.parts)]
        return {"is": np.array(["clusters"]), **{key: array for part in parts for key, array in part.items()}}
    if isinstance(shape, Score):
        network = {f"network.{key}": array for key, array in {**pack_network(shape.network, who), **check_values(shape.network)}.items()}
        return {"is": np.array(["score"]), "threshold": np.array([shape.threshold]), **network}
    name = next(name for name, kind in PLAIN.items() if isinstance(shape, kind))
    values = {each.name: getattr(shape, each.name) for each in fields(shape)}
    return {"is": np.array([name]), **{key: value if key in ARRAYS else np.array([float(value)]) for key, value in values.items()}}


def _unpack(packed: Packed, path: Path) -> Support:
    points, names = packed.numbers("points", dimensions=2), packed.numbers("input_names", "U").tolist()
    discrete, center, spread = packed.numbers("is_discrete", "b"), packed.numbers("center"), packed.numbers("spread")
    n, settings, words = points.shape[1], packed.numbers("settings"), packed.numbers("words", "U").tolist()
    weight = float(packed.numbers("weight")[0])
    if not discrete.size == center.size == spread.size == n or len(names) not in (0, n) or settings.size != 4 or len(words) != 2:
        raise ValueError("a region has fields of different sizes")
    if not (np.isfinite(points).all() and np.isfinite(center).all() and (spread > 0).all()) or not (np.isnan(weight) or weight >= 0):
        raise ValueError("a region has numbers that none can have")
    shape = _unpack_shape(_within(packed, "shape"), path) if "shape.is" in packed.arrays else None
    combined = _unpack_shape(_within(packed, "combined"), path) if "combined.is" in packed.arrays else None
    coverage, most, clusters, seed = settings.tolist()
    asked = Settings(
        kind=words[0],
        coverage=coverage,
        points=int(most),
        clusters=int(clusters),
        shape=words[1],
        seed=int(seed),
        network=shape.network if isinstance(shape, Score) else None,
        threshold=shape.threshold if isinstance(shape, Score) else None,
        scaler=(center, spread),
    )
    region = Support(
        data=Data(points, tuple(names) or None, discrete),
        targets=packed.numbers("targets", dimensions=2) if "targets" in packed.arrays else None,
        scale=Scale(center, spread),
        shape=shape,
        combinations=combined,
        weight=None if np.isnan(weight) else weight,
        settings=asked,
    )
    # What does not fit together is noticed now, not in the middle of a run.
    region.excess(points[:1])
    return region


def _unpack_shape(packed: Packed, path: Path) -> Any:
    kind = str(packed.numbers("is", "U")[0])
    if kind == "clusters":
        count = len({key.partition(".")[0] for key in packed.arrays if key.startswith("part")})
        parts = tuple(_unpack_shape(_within(packed, f"part{i}"), path) for i in range(count))
        if not parts or len({type(part) for part in parts}) != 1 or not isinstance(parts[0], Box | Ellipsoid):
            raise ValueError("its clusters are neither boxes nor ellipsoids")
        return Clusters(parts)
    if kind == "score":
        return Score(unpack_network(dict(_within(packed, "network").arrays), path), float(packed.numbers("threshold")[0]))
    if kind not in PLAIN:
        raise ValueError(f"a region is a {kind!r}, which is not known")
    values: dict[str, Any] = {}
    for each in fields(PLAIN[kind]):
        found = packed.numbers(each.name, dimensions=ARRAYS.get(each.name, 1))
        values[each.name] = found if each.name in ARRAYS else int(found[0]) if each.type == "int" else float(found[0])
    return PLAIN[kind](**values)
