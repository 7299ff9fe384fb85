"""Pipelines, unions and column transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dcembed.errors import NetworkError
from dcembed.importers.lowering import UNKNOWN
from dcembed.importers.sklearn_.frame import combine, join, take
from dcembed.importers.sklearn_.walk import Method, Walk, require_fitted


def pipeline(walk: Walk, method: Method, model: Any, frame: Any) -> Any:
    """One step after the other; the last does what is asked of the pipeline."""
    steps = [(name, step) for name, step in model.steps if not is_identity(step)]
    for name, step in steps[:-1]:
        frame = walk.run("transform", step, frame, name)
    if not steps and not walk.path:
        raise NetworkError("The network is empty: the scikit-learn pipeline has no step. Pass one that ends in an estimator.")
    return walk.run(method, steps[-1][1], frame, steps[-1][0]) if steps else frame


def union(walk: Walk, method: Method, model: Any, frame: Any) -> Any:
    """The columns of all transformers, side by side."""
    weights = model.transformer_weights or {}
    parts = [(name, step, frame) for name, step in model.transformer_list if not _is_drop(step)]
    return _side_by_side(walk, parts, weights)


def column_transformer(walk: Walk, method: Method, model: Any, frame: Any) -> Any:
    """Every transformer on columns of its own, side by side."""
    require_fitted(model, walk.path or type(model).__name__)
    names = getattr(model, "feature_names_in_", None)
    parts = []
    for name, step, columns in model.transformers_:
        places = find_columns(columns, int(model.n_features_in_), None if names is None else list(names))
        if places and not _is_drop(step):
            parts.append((name, step, take(walk.builder, frame, places)))
    return _side_by_side(walk, parts, model.transformer_weights or {})


def _side_by_side(walk: Walk, parts: Sequence[tuple[str, Any, Any]], weights: dict[str, float]) -> Any:
    results = []
    for name, step, columns in parts:
        result = columns if is_identity(step) else walk.run("transform", step, columns, name)
        if result is not UNKNOWN and weights.get(name) is not None:
            result = combine(walk.builder, result, weights[name] * np.eye(len(result.sources)))
        results.append(result)
    if not results:
        raise NetworkError(f"The network is empty: '{walk.path}' gives no columns.")
    return join(walk.builder, results)


def find_columns(columns: Any, count: int, names: Sequence[str] | None) -> list[int]:
    """Positions of columns that are given by position or name, one or several, as a slice or as a mask.

    Examples
    --------
    >>> find_columns(slice("b", "c"), 4, ["a", "b", "c", "d"]), find_columns([True, False, False, True], 4, None)
    ([1, 2], [0, 3])
    """
    if isinstance(columns, slice):
        return list(range(count))[_as_positions(columns, names)]
    listed: list[Any] = [columns] if np.isscalar(columns) else list(columns)
    if listed and all(isinstance(column, bool | np.bool_) for column in listed):
        return np.flatnonzero(listed).tolist()
    numbers = {name: number for number, name in enumerate(names or ())}
    return [numbers[column] if isinstance(column, str) else range(count)[int(column)] for column in listed]


def _as_positions(columns: slice, names: Sequence[str] | None) -> slice:
    """A slice of names includes its end."""
    start, stop = columns.start, columns.stop
    if isinstance(start, str):
        start = list(names or ()).index(start)
    if isinstance(stop, str):
        stop = list(names or ()).index(stop) + 1
    return slice(start, stop, columns.step)


def is_identity(step: Any) -> bool:
    """Whether a step does nothing."""
    return step is None or (isinstance(step, str) and step == "passthrough")


def _is_drop(step: Any) -> bool:
    return isinstance(step, str) and step == "drop"


COMPOSITES = {"Pipeline": pipeline, "FeatureUnion": union, "ColumnTransformer": column_transformer}
