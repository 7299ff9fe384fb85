"""Embed trained networks in gurobipy models, with the call of gurobi-ml.

Examples
--------
>>> import gurobipy as gp
>>> from dcembed.gurobipy import add_predictor_constr
>>> model = gp.Model()  # doctest: +SKIP
>>> x = model.addMVar(2, lb=-1, ub=1)  # doctest: +SKIP
>>> predictor = add_predictor_constr(model, network, x)  # doctest: +SKIP
>>> model.setObjective(predictor.output.sum())  # doctest: +SKIP
>>> model.optimize()  # doctest: +SKIP
"""

from dcembed.errors import NoSolutionError
from dcembed.frontends.packages import missing_package

try:
    from dcembed.frontends.gurobipy_calls import (
        add_keras_constr,
        add_mlp_regressor_constr,
        add_onnx_constr,
        add_pipeline_constr,
        add_sequential_constr,
    )
    from dcembed.frontends.gurobipy_constr import PredictorConstr
    from dcembed.frontends.gurobipy_model import Model
    from dcembed.frontends.gurobipy_optimize import optimize
    from dcembed.frontends.gurobipy_predictor import add_predictor_constr
    from dcembed.frontends.registered import register_predictor_constr
except ModuleNotFoundError as error:
    raise missing_package(error, "gurobipy", "gurobi") from None

__all__ = [
    "Model",
    "NoSolutionError",
    "PredictorConstr",
    "add_keras_constr",
    "add_mlp_regressor_constr",
    "add_onnx_constr",
    "add_pipeline_constr",
    "add_predictor_constr",
    "add_sequential_constr",
    "optimize",
    "register_predictor_constr",
]
