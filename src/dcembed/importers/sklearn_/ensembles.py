"""Models made of several: votes, bags, stacks, and one model for each output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.importers.lowering import UNKNOWN
from dcembed.importers.operations import Unsupported
from dcembed.importers.sklearn_.frame import combine, join, take
from dcembed.importers.sklearn_.walk import Method, Walk, require_fitted

# What scikit-learn calls the methods that a stack takes from its estimators.
METHODS: dict[str, Method] = {"predict": "predict", "predict_proba": "probabilities", "decision_function": "scores"}


def voting(walk: Walk, method: Method, model: Any, frame: Any) -> Any:
    """The weighted average of all estimators: of predictions, or of probabilities."""
    require_fitted(model, walk.path or type(model).__name__)
    if getattr(model, "voting", "soft") == "hard":
        return walk.refuse(model, "counts votes, which jump from one class to another; with voting='soft' it averages probabilities")
    if method == "scores":
        return walk.refuse(model, "averages probabilities and has no scores; pass outputs='probabilities'")
    results = [walk.run(method, part, frame, name) for name, part in _named(model)]
    weights = model._weights_not_none
    return _average(walk, results, np.ones(len(results)) if weights is None else np.asarray(weights, dtype=np.float64))


def bagging(walk: Walk, method: Method, model: Any, frame: Any) -> Any:
    """The average over estimators, each on columns of its own."""
    require_fitted(model, walk.path or type(model).__name__)
    if method == "scores":
        return walk.refuse(model, "averages probabilities and has no scores; pass outputs='probabilities'")
    if method == "probabilities" and any(len(part.classes_) != model.n_classes_ for part in model.estimators_):
        return walk.refuse(model, "has estimators that have not seen all classes")
    parts = zip(model.estimators_, model.estimators_features_, strict=True)
    results = [
        walk.run(method, part, take(walk.builder, frame, columns), f"estimator{number}") for number, (part, columns) in enumerate(parts)
    ]
    return _average(walk, results, np.ones(len(results)))


def stacking(walk: Walk, method: Method, model: Any, frame: Any) -> Any:
    """A final estimator on what the others say, and on the columns themselves where they are passed through."""
    require_fitted(model, walk.path or type(model).__name__)
    results = []
    for (name, part), called in zip(_named(model), model.stack_method_, strict=True):
        result = walk.run(METHODS[called], part, frame, name)
        # Of two probabilities the first says nothing more.
        drops = called == "predict_proba" and len(model.classes_) == 2 and result is not UNKNOWN
        results.append(take(walk.builder, result, np.arange(1, len(result.sources))) if drops else result)
    columns = join(walk.builder, [*results, frame] if model.passthrough else results)
    return columns if method == "transform" else walk.run(method, model.final_estimator_, columns, "final_estimator")


def each_output(walk: Walk, method: Method, model: Any, frame: Any) -> Any:
    """A model for each output, or for each class against the rest."""
    require_fitted(model, walk.path or type(model).__name__)
    if method == "probabilities":
        return walk.refuse(model, "has probabilities that are not embedded; leave outputs out for its scores")
    return join(walk.builder, [walk.run(method, part, frame, f"output{number}") for number, part in enumerate(model.estimators_)])


def chain(walk: Walk, method: Method, model: Any, frame: Any) -> Any:
    """A model for each output, which sees the outputs before it."""
    require_fitted(model, walk.path or type(model).__name__)
    results: list[Any] = []
    for number, part in zip(model.order_, model.estimators_, strict=True):
        results.append(walk.run(method, part, join(walk.builder, [frame, *results]), f"output{number}"))
    return join(walk.builder, [results[place] for place in np.argsort(model.order_)])


def _named(model: Any) -> list[tuple[str, Any]]:
    """The fitted estimators with their names; one that was dropped is not there."""
    names = [name for name, part in model.estimators if not isinstance(part, str)]
    return list(zip(names, model.estimators_, strict=True))


def _average(walk: Walk, results: Sequence[Any], weights: Array) -> Any:
    if any(result is UNKNOWN for result in results):
        return UNKNOWN
    size = len(results[0].sources)
    if any(len(result.sources) != size for result in results):
        raise Unsupported("averages estimators with different numbers of outputs")
    matrix = sp.hstack([weight * sp.eye_array(size) for weight in weights / weights.sum()], format="csr")
    return combine(walk.builder, join(walk.builder, results), matrix)


COMPOSITES = {
    **dict.fromkeys(("VotingRegressor", "VotingClassifier"), voting),
    **dict.fromkeys(("BaggingRegressor", "BaggingClassifier"), bagging),
    **dict.fromkeys(("StackingRegressor", "StackingClassifier"), stacking),
    **dict.fromkeys(("MultiOutputRegressor", "OneVsRestClassifier"), each_output),
    "RegressorChain": chain,
}
