"""PySCIPOpt-ML's functions for one kind of model each. All of them embed as `add_predictor_constr` does."""

from __future__ import annotations

from typing import Any

import pyscipopt

from dcembed.frontends.pyscipopt_predictor import PredictorConstr, add_predictor_constr


def add_mlp_regressor_constr(
    scip_model: pyscipopt.Model,
    mlp_regressor: Any,
    input_vars: Any,
    output_vars: Any = None,
    unique_naming_prefix: str = "",
    **keywords: Any,
) -> PredictorConstr:
    """Embed scikit-learn's MLPRegressor."""
    return add_predictor_constr(scip_model, mlp_regressor, input_vars, output_vars, unique_naming_prefix, **keywords)


def add_mlp_classifier_constr(
    scip_model: pyscipopt.Model,
    mlp_classifier: Any,
    input_vars: Any,
    output_vars: Any = None,
    unique_naming_prefix: str = "",
    **keywords: Any,
) -> PredictorConstr:
    """Embed scikit-learn's MLPClassifier: its class, as this function means in PySCIPOpt-ML, unless `output_type` says otherwise."""
    given = {"output_type": "classification", **keywords}
    return add_predictor_constr(scip_model, mlp_classifier, input_vars, output_vars, unique_naming_prefix, **given)


def add_pipeline_constr(
    scip_model: pyscipopt.Model, pipeline: Any, input_vars: Any, output_vars: Any = None, unique_naming_prefix: str = "", **keywords: Any
) -> PredictorConstr:
    """Embed scikit-learn's Pipeline."""
    return add_predictor_constr(scip_model, pipeline, input_vars, output_vars, unique_naming_prefix, **keywords)


def add_sequential_constr(
    scip_model: pyscipopt.Model,
    sequential_model: Any,
    input_vars: Any,
    output_vars: Any = None,
    unique_naming_prefix: str = "",
    **keywords: Any,
) -> PredictorConstr:
    """Embed torch's nn.Sequential."""
    return add_predictor_constr(scip_model, sequential_model, input_vars, output_vars, unique_naming_prefix, **keywords)


def add_keras_constr(
    scip_model: pyscipopt.Model, keras_model: Any, input_vars: Any, output_vars: Any = None, unique_naming_prefix: str = "", **keywords: Any
) -> PredictorConstr:
    """Embed a Keras model."""
    return add_predictor_constr(scip_model, keras_model, input_vars, output_vars, unique_naming_prefix, **keywords)


def add_onnx_constr(
    scip_model: pyscipopt.Model, onnx_model: Any, input_vars: Any, output_vars: Any = None, unique_naming_prefix: str = "", **keywords: Any
) -> PredictorConstr:
    """Embed an ONNX model."""
    return add_predictor_constr(scip_model, onnx_model, input_vars, output_vars, unique_naming_prefix, **keywords)
