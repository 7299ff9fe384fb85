"""Estimators of scikit-learn that are known, and known not to be embedded: why, and what to do instead."""

from __future__ import annotations

from typing import Any

from dcembed.importers.trees import why_not_trees

_NEIGHBOURS = "jumps where the nearest points change; only continuous functions can be embedded"
_BINS = "jumps from bin to bin; only continuous functions can be embedded: PolynomialFeatures and PowerTransformer are some"
_TEXT = "reads texts, and a text is nothing that an optimizer could decide"

REASONS = {
    **dict.fromkeys(
        (
            "KNeighborsRegressor",
            "KNeighborsClassifier",
            "RadiusNeighborsRegressor",
            "RadiusNeighborsClassifier",
            "NearestCentroid",
            "KNeighborsTransformer",
            "RadiusNeighborsTransformer",
        ),
        _NEIGHBOURS,
    ),
    "KBinsDiscretizer": _BINS,
    "Binarizer": _BINS,
    "SplineTransformer": "has splines that are not embedded; PolynomialFeatures of degree 2 or 3 is, and so are smooth networks",
    **dict.fromkeys(("CountVectorizer", "TfidfVectorizer", "HashingVectorizer", "DictVectorizer", "FeatureHasher"), _TEXT),
    "CalibratedClassifierCV": (
        "averages calibrated classifiers, whose probabilities are not embedded; pass the classifier inside, "
        "calibrated_classifiers_[0].estimator, for its scores"
    ),
    "OneVsOneClassifier": "counts the votes of all pairs of classes, which jump; OneVsRestClassifier has scores",
    "OutputCodeClassifier": "compares codes, which jump; OneVsRestClassifier has scores",
    **dict.fromkeys(
        ("TunedThresholdClassifierCV", "FixedThresholdClassifier"), "moves a threshold; pass the classifier inside and move its score"
    ),
    "AdaBoostRegressor": "takes a weighted median, of trees by default; BaggingRegressor and VotingRegressor take averages",
}


# Packages whose models hold a network that is read by itself.
WRAPPERS = {
    "skorch": "wraps a torch module; pass the module itself, model.module_, and scale its inputs in it",
    "scikeras": "wraps a Keras model; pass the model itself, model.model_, and scale its inputs in it",
}


def why_not(estimator: Any) -> str | None:
    """The reason not to embed an estimator; None if there is none, or none is known."""
    reason = why_not_trees(estimator)
    package = type(estimator).__module__.partition(".")[0]
    if reason is None and package == "sklearn":
        reason = REASONS.get(type(estimator).__name__)
    return WRAPPERS.get(package) if reason is None else reason
