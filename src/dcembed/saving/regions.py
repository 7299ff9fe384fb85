"""Regions that inputs belong into, as arrays: the data, its scale and what was asked for, from which a region is made again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.region import Region
from dcembed.errors import InputError
from dcembed.importers.weights.arrays_ import check_values, pack_network, unpack_network
from dcembed.saving.packed import Packed
from dcembed.support.data import Data
from dcembed.support.region import Kind, Settings, Support, build_support

SHAPES = ("ellipsoid", "box")
# What an embedding without a region has in the place of its number.
NONE = -1


def pack_regions(embeddings: Sequence[Embedding], who: str) -> dict[str, Array]:
    """Which region each embedding has, and every region once; nothing where there are none. `who` keeps them, for messages."""
    regions = list({id(each.support): each.support for each in embeddings if each.support is not None}.values())
    if not regions:
        return {}
    place = {id(region): number for number, region in enumerate(regions)}
    arrays: dict[str, Array] = {"support": np.array([place.get(id(each.support), NONE) for each in embeddings], dtype=np.int64)}
    for number, region in enumerate(regions):
        arrays |= {f"support{number}.{key}": array for key, array in _pack(region, who).items()}
    return arrays


def unpack_regions(packed: Packed, num_embeddings: int, path: Path) -> list[Region | None]:
    """The region of each embedding; ValueError for anything else than regions. Files of before there were regions have none."""
    if "support" not in packed.arrays:
        return [None] * num_embeddings
    number = packed.numbers("support", "iu")
    parts: dict[str, dict[str, Array]] = {}
    for key, array in packed.arrays.items():
        owner, dot, name = key.partition(".")
        if dot and owner.startswith("support"):
            parts.setdefault(owner, {})[name] = array
    if number.size != num_embeddings or number.min(initial=NONE) < NONE or number.max(initial=NONE) >= len(parts):
        raise ValueError("its regions are not those of its embeddings")
    regions = [_unpack(Packed(parts[f"support{i}"]), path) for i in range(len(parts))]
    return [None if i == NONE else regions[i] for i in number.tolist()]


def _pack(region: Region, who: str) -> dict[str, Array]:
    if not isinstance(region, Support):
        raise InputError(f"{who}: a support is kept if dcembed.support has made it, received {type(region).__name__}.")
    asked, data = region.settings, region.data
    numbers = [asked.coverage, asked.points, asked.clusters, asked.seed, get_args(Kind).index(asked.kind), SHAPES.index(asked.shape)]
    arrays = {
        "points": data.points,
        "is_discrete": data.is_discrete,
        "center": region.scale.center,
        "spread": region.scale.spread,
        "settings": np.array(numbers, dtype=np.float64),
        # What was not given is NaN.
        "limits": np.array([np.nan if value is None else value for value in (region.weight, asked.threshold)], dtype=np.float64),
    }
    if data.names is not None:
        arrays["input_names"] = np.array(data.names, dtype=np.str_)
    if region.targets is not None:
        arrays["targets"] = region.targets
    if asked.network is not None:
        packed = {**pack_network(asked.network, who), **check_values(asked.network)}
        arrays |= {f"score.{key}": array for key, array in packed.items()}
    return arrays


def _unpack(packed: Packed, path: Path) -> Support:
    points, discrete = packed.numbers("points", dimensions=2), packed.numbers("is_discrete", "b")
    center, spread = packed.numbers("center"), packed.numbers("spread")
    numbers, limits = packed.numbers("settings"), packed.numbers("limits")
    names = tuple(packed.numbers("input_names", "U").tolist()) if "input_names" in packed.arrays else None
    targets = packed.numbers("targets", dimensions=2) if "targets" in packed.arrays else None
    sizes = {discrete.size, center.size, spread.size, points.shape[1], points.shape[1] if names is None else len(names)}
    is_whole = np.isfinite(points).all() and np.isfinite(center).all() and np.isfinite(spread).all() and bool((spread > 0).all())
    if len(sizes) > 1 or len(points) < 2 or not is_whole or numbers.size != 6 or limits.size != 2:
        raise ValueError("a region in it is damaged")
    coverage, most, clusters, seed, kind, shape = numbers.tolist()
    weight, threshold = (None if np.isnan(value) else float(value) for value in limits)
    settings = Settings(
        kind=get_args(Kind)[int(kind)],
        coverage=coverage,
        points=int(most),
        clusters=int(clusters),
        shape=SHAPES[int(shape)],
        seed=int(seed),
        network=unpack_network(_part(packed.arrays, "score."), path) if any(key.startswith("score.") for key in packed.arrays) else None,
        threshold=threshold,
        scaler=(center, spread),
    )
    return build_support(Data(points, names, discrete), targets, weight, settings)


def _part(arrays: Mapping[str, Array], inside: str) -> dict[str, Array]:
    return {key.removeprefix(inside): array for key, array in arrays.items() if key.startswith(inside)}
