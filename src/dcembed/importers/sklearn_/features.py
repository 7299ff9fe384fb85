"""How many columns a fitted model takes and what they are called, whichever of its parts knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

# Where models keep the part that sees the input first.
_PARTS = ("best_estimator_", "regressor_", "estimator_", "estimators_")


def count_features(model: Any) -> int | None:
    """The number of columns; None where no part was told."""
    found = _find(model, "n_features_in_")
    return None if found is None else int(found)


def find_names(model: Any) -> tuple[str, ...] | None:
    """Of the columns, where the model or its first part was fitted on a data frame."""
    found = _find(model, "feature_names_in_")
    return None if found is None else tuple(map(str, found))


def _find(model: Any, attribute: str) -> Any:
    # Of a pipeline this is a property which asks the first step, which may be a text.
    found = getattr(model, attribute, None)
    if found is not None:
        return found
    return next((found for part in _parts(model) if (found := _find(part, attribute)) is not None), None)


def _parts(model: Any) -> Iterator[Any]:
    """The parts that see the same columns as the model."""
    if hasattr(model, "steps"):
        yield from [step for _, step in model.steps if step is not None and not isinstance(step, str)][:1]
    if hasattr(model, "transformer_list"):
        yield from (step for _, step in model.transformer_list if not isinstance(step, str))
    for name in _PARTS:
        part = getattr(model, name, None)
        yield from part if isinstance(part, list) else [] if part is None or isinstance(part, str) else [part]
