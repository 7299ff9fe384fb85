"""Embed trained networks in PySCIPOpt models, with the call of PySCIPOpt-ML.

Examples
--------
>>> import pyscipopt
>>> from dcembed.pyscipopt import add_predictor_constr
>>> scip = pyscipopt.Model()
>>> x = [scip.addVar(lb=-1, ub=1) for _ in range(2)]
>>> predictor = add_predictor_constr(scip, network, x)  # doctest: +SKIP
>>> scip.setObjective(predictor.output[0, 0])  # doctest: +SKIP
>>> scip.optimize()  # doctest: +SKIP
>>> scip.getVal(x[0])  # doctest: +SKIP

`optimize(scip, ...)` of this module does the same, takes options, and returns a `Result`.
"""

from dcembed.errors import NoSolutionError
from dcembed.frontends.packages import missing_package

try:
    from dcembed.frontends.pyscipopt_ import ScipResult
    from dcembed.frontends.pyscipopt_calls import (
        add_keras_constr,
        add_mlp_classifier_constr,
        add_mlp_regressor_constr,
        add_onnx_constr,
        add_pipeline_constr,
        add_sequential_constr,
    )
    from dcembed.frontends.pyscipopt_optimize import optimize
    from dcembed.frontends.pyscipopt_predictor import PredictorConstr, add_predictor_constr
except ModuleNotFoundError as error:
    raise missing_package(error, "pyscipopt", "scip") from None

__all__ = [
    "NoSolutionError",
    "PredictorConstr",
    "ScipResult",
    "add_keras_constr",
    "add_mlp_classifier_constr",
    "add_mlp_regressor_constr",
    "add_onnx_constr",
    "add_pipeline_constr",
    "add_predictor_constr",
    "add_sequential_constr",
    "optimize",
]
