"""Models that hand everything to another one: searches, RANSAC, selectors with an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcembed.errors import NetworkError
from dcembed.importers.sklearn_.frame import take
from dcembed.importers.sklearn_.walk import Method, Walk, require_fitted


def search(walk: Walk, method: Method, model: Any, frame: Any) -> Any:
    """The best estimator of a search over parameters."""
    require_fitted(model, walk.path or type(model).__name__)
    if not hasattr(model, "best_estimator_"):
        raise NetworkError(
            f"The {type(model).__name__} has no best_estimator_: it was run with refit=False. Fit the estimator that it found, and pass that."
        )
    return walk.run(method, model.best_estimator_, frame, "best_estimator")


def inner(walk: Walk, method: Method, model: Any, frame: Any) -> Any:
    """The fitted estimator inside."""
    require_fitted(model, walk.path or type(model).__name__)
    return walk.run(method, model.estimator_, frame, "estimator")


def frozen(walk: Walk, method: Method, model: Any, frame: Any) -> Any:
    """An estimator that is not fitted again."""
    return walk.run(method, model.estimator, frame, "estimator")


def eliminated(walk: Walk, method: Method, model: Any, frame: Any) -> Any:
    """Recursive feature elimination: columns that are left, and the estimator on them."""
    require_fitted(model, walk.path or type(model).__name__)
    chosen = take(walk.builder, frame, np.flatnonzero(model.get_support()))
    return chosen if method == "transform" else walk.run(method, model.estimator_, chosen, "estimator")


def last_estimator(model: Any) -> Any:
    """The estimator that has the last word: at the end of a pipeline, or the best of a search."""
    while True:
        if getattr(model, "steps", None):
            model = model.steps[-1][1]
        elif type(model).__name__ in INNER and hasattr(model, INNER[type(model).__name__]):
            model = getattr(model, INNER[type(model).__name__])
        elif hasattr(model, "final_estimator_"):
            model = model.final_estimator_
        else:
            return model


SEARCHES = ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV")
# Where the estimator inside is kept.
INNER = {
    **dict.fromkeys(SEARCHES, "best_estimator_"),
    **dict.fromkeys(("RANSACRegressor", "SelfTrainingClassifier", "RFE", "RFECV"), "estimator_"),
    "FrozenEstimator": "estimator",
}
COMPOSITES = {
    **dict.fromkeys(SEARCHES, search),
    **dict.fromkeys(("RANSACRegressor", "SelfTrainingClassifier"), inner),
    **dict.fromkeys(("RFE", "RFECV"), eliminated),
    "FrozenEstimator": frozen,
}
