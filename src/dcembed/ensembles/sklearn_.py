"""The members inside a bag or a vote of scikit-learn. The package is not imported: what is needed are attributes of the fitted model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.errors import InputError, UnsupportedLayerError

KINDS = ("BaggingRegressor", "VotingRegressor", "BaggingClassifier", "VotingClassifier")


@dataclass(frozen=True, eq=False)
class SklearnMembers:
    """What a fitted model has inside.

    Parameters
    ----------
    members
        The fitted estimators.
    columns
        For each of them the columns that it was fitted on; None for all, in order.
    num_inputs
        Of the model; None where the estimators say it.
    input_names
        Of the columns that the model was fitted on, where its estimators have seen them without names.
    weights
        Of a vote, as the user gave them; None for equal ones.
    outputs
        What is read of each estimator: None for its predictions, "probabilities" for a classifier.
    """

    members: tuple[Any, ...]
    columns: tuple[Array | None, ...]
    num_inputs: int | None = None
    input_names: tuple[str, ...] | None = None
    weights: Array | None = None
    outputs: str | None = None


def read_sklearn(model: Any) -> SklearnMembers | None:
    """The members of a bag or a vote of scikit-learn; None for anything else."""
    names = {base.__name__ for base in type(model).__mro__ if base.__module__.partition(".")[0] == "sklearn"}
    kind = next((kind for kind in KINDS if kind in names), None)
    if kind is None:
        return None
    if not hasattr(model, "estimators_"):
        raise InputError(f"ensemble: the {kind} is not fitted. Call its fit(X, y) first.")
    outputs = "probabilities" if kind.endswith("Classifier") else None
    return _bag(model, outputs) if kind.startswith("Bagging") else _vote(model, outputs)


def _bag(model: Any, outputs: str | None) -> SklearnMembers:
    if outputs is not None:
        _refuse_votes(model)
    columns = tuple(np.asarray(features, dtype=np.int64) for features in model.estimators_features_)
    names = getattr(model, "feature_names_in_", None)
    return SklearnMembers(
        members=tuple(model.estimators_),
        columns=columns,
        num_inputs=int(model.n_features_in_),
        input_names=None if names is None else tuple(map(str, names)),
        outputs=outputs,
    )


def _refuse_votes(model: Any) -> None:
    """A bag of classifiers without probabilities counts votes, and one whose parts know fewer classes has other outputs."""
    if any(not hasattr(part, "predict_proba") for part in model.estimators_):
        raise UnsupportedLayerError(
            f"ensemble: the BaggingClassifier counts votes of {type(model.estimators_[0]).__name__} estimators, which jump from one class to "
            "another. Bag classifiers that have probabilities, such as MLPClassifier or LogisticRegression; or pass a list of the estimators, "
            "ensemble(list(model.estimators_)), for their scores."
        )
    if any(len(part.classes_) != model.n_classes_ for part in model.estimators_):
        raise UnsupportedLayerError(
            "ensemble: the BaggingClassifier has estimators that have not seen all classes, so they have other outputs. "
            "Fit it with max_samples large enough, or leave these estimators out and pass a list of the others."
        )


def _vote(model: Any, outputs: str | None) -> SklearnMembers:
    if outputs is not None and model.voting == "hard":
        raise UnsupportedLayerError(
            "ensemble: the VotingClassifier counts votes, which jump from one class to another. With voting='soft' it averages probabilities, "
            "which can be embedded; or pass a list of its estimators, ensemble(list(model.estimators_)), for their scores."
        )
    members = tuple(model.estimators_)
    given = [(name, part) for name, part in model.estimators]
    weights = None
    if model.weights is not None:
        # One that was dropped has a weight, but is not there.
        weights = np.array(
            [weight for weight, (_, part) in zip(model.weights, given, strict=True) if not isinstance(part, str)], dtype=np.float64
        )
    return SklearnMembers(members=members, columns=(None,) * len(members), weights=weights, outputs=outputs)
