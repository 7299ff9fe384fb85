"""Operators of ai.onnx.ml."""

from __future__ import annotations

from ..models import ML, node
from .case import case, positive

CASES = {
    "Scaler": case(node("Scaler", "x", domain=ML, offset=[0.5, 1.0, -1.0], scale=[2.0, 0.25, 1.0])),
    "Scaler one": case(node("Scaler", "x", domain=ML, offset=[0.5], scale=[2.0])),
    "Normalizer": positive(node("Normalizer", "e", domain=ML, norm="L1"), runtime=False),
    "LinearRegressor": case(
        node("LinearRegressor", "x", domain=ML, coefficients=[1.0, 2.0, 3.0, -1.0, 0.5, 0.25], intercepts=[0.5, 1.0], targets=2)
    ),
    "LinearRegressor without": case(node("LinearRegressor", "x", domain=ML, coefficients=[1.0, 2.0, 3.0]), reference=False),
    "FeatureVectorizer": case([node("Relu", "x", "r"), node("FeatureVectorizer", "x r", domain=ML, inputdimensions=[3, 3])], runtime=False),
    "ArrayFeatureExtractor": case(node("ArrayFeatureExtractor", "x i20", domain=ML)),
    "Imputer": case(
        node("Imputer", "x", domain=ML, imputed_value_floats=[1.0, 2.0, 3.0], replaced_value_float=float("nan")), runtime=False
    ),
    "LinearClassifier": case(
        node(
            "LinearClassifier",
            "x",
            "label y",
            domain=ML,
            coefficients=[1.0, 2.0, 3.0, -1.0, 0.5, 0.25],
            intercepts=[0.5, 1.0],
            classlabels_ints=[0, 1],
            post_transform="SOFTMAX",
        ),
        atol=1e-6,
    ),
    "LinearClassifier two": case(
        node(
            "LinearClassifier",
            "x",
            "label y",
            domain=ML,
            coefficients=[1.0, 2.0, 3.0],
            intercepts=[0.5],
            classlabels_ints=[0, 1],
            post_transform="LOGISTIC",
        ),
        atol=1e-6,
        runtime=False,
    ),
    "LinearClassifier scores": case(
        node("LinearClassifier", "x", "label y", domain=ML, coefficients=[1.0, 2.0, 3.0], intercepts=[0.5], classlabels_strings=["a", "b"]),
        atol=1e-5,
        runtime=False,
    ),
}
