"""gurobi-ml's functions for one kind of model each, for gurobipy. All of them embed as `add_predictor_constr` does."""

from __future__ import annotations

from typing import Any

import gurobipy as gp

from dcembed.frontends.gurobipy_constr import PredictorConstr
from dcembed.frontends.gurobipy_predictor import embed_predictor


def add_mlp_regressor_constr(
    gp_model: gp.Model, mlp_regressor: Any, input_vars: Any, output_vars: Any = None, **keywords: Any
) -> PredictorConstr:
    """Embed scikit-learn's MLPRegressor; with `out_activation_ = "identity"` also the scores of an MLPClassifier."""
    return embed_predictor(gp_model, mlp_regressor, input_vars, output_vars, **keywords)


def add_pipeline_constr(gp_model: gp.Model, pipeline: Any, input_vars: Any, output_vars: Any = None, **keywords: Any) -> PredictorConstr:
    """Embed scikit-learn's Pipeline."""
    return embed_predictor(gp_model, pipeline, input_vars, output_vars, **keywords)


def add_sequential_constr(
    gp_model: gp.Model, sequential_model: Any, input_vars: Any, output_vars: Any = None, **keywords: Any
) -> PredictorConstr:
    """Embed torch's nn.Sequential."""
    return embed_predictor(gp_model, sequential_model, input_vars, output_vars, **keywords)


def add_keras_constr(gp_model: gp.Model, keras_model: Any, input_vars: Any, output_vars: Any = None, **keywords: Any) -> PredictorConstr:
    """Embed a Keras model."""
    return embed_predictor(gp_model, keras_model, input_vars, output_vars, **keywords)


def add_onnx_constr(gp_model: gp.Model, onnx_model: Any, input_vars: Any, output_vars: Any = None, **keywords: Any) -> PredictorConstr:
    """Embed an ONNX model."""
    return embed_predictor(gp_model, onnx_model, input_vars, output_vars, **keywords)
