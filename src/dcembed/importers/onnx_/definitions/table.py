"""Operators in plain numpy where onnx's reference implementation lacks them, does something else, or takes seconds: one table of them.

They follow the text of the operator's definition. Models are compared with what these give, so nothing here shares code with the
handlers, apart from where windows lie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.special
from onnx.reference.op_run import OpRun

from dcembed.importers.onnx_.definitions import earlier, functions, places, recurrence, resizing, tables
from dcembed.importers.onnx_.definitions.loops import Loop

Definition = Callable[..., Any]

_ALWAYS = 10**6
# The version before which a definition holds -> operators.
_BEFORE: dict[int, dict[str, Definition]] = {
    _ALWAYS: {
        "Attention": functions.attention,
        "AveragePool": places.average_pool,
        "Conv": places.conv,
        "ConvTranspose": places.conv_transpose,
        "CumSum": functions.cumulative_sum,
        "DequantizeLinear": functions.dequantize,
        "Dropout": functions.dropout,
        "Erf": functions.erf,
        "Gelu": functions.gelu,
        "GlobalLpPool": places.global_lp_pool,
        "GroupNormalization": functions.group_norm,
        "GRU": recurrence.gru,
        "HardSwish": functions.hard_swish,
        "LpNormalization": functions.lp_normalization,
        "LpPool": places.lp_pool,
        "LRN": places.lrn,
        "LSTM": recurrence.lstm,
        "MaxPool": places.max_pool,
        "OneHot": functions.one_hot,
        "Pad": places.pad,
        "Resize": resizing.resize,
        "RNN": recurrence.rnn,
        "Softplus": functions.softplus,
        "Upsample": resizing.upsample,
    },
    14: {"BatchNormalization": earlier.batch_norm},
    13: {
        "LogSoftmax": earlier.flat_softmax(scipy.special.log_softmax),
        "Softmax": earlier.flat_softmax(scipy.special.softmax),
    },
    11: {"Resize": resizing.upsample, "Scatter": earlier.scatter},
    7: {
        "Add": earlier.laid_along(np.add),
        "Div": earlier.laid_along(np.divide),
        "Mul": earlier.laid_along(np.multiply),
        "Pow": earlier.laid_along(np.power),
        "PRelu": earlier.prelu,
        "Sub": earlier.laid_along(np.subtract),
    },
    5: {"Reshape": earlier.reshape},
}
_TABLES: dict[str, Definition] = {
    "LinearClassifier": tables.linear_classifier,
    "LinearRegressor": tables.linear_regressor,
}


def definitions(opsets: Mapping[str, int]) -> list[type[OpRun]]:
    """The classes to be used by a ReferenceEvaluator for a model of these opsets."""
    version = opsets.get("", 1)
    named = {name: function for before, table in _BEFORE.items() if version < before for name, function in table.items()}
    main = [_define(name, function) for name, function in named.items()]
    return [Loop, *main, *(_define(name, function, "ai.onnx.ml") for name, function in _TABLES.items())]


def _define(name: str, function: Definition, domain: str = "") -> type[OpRun]:
    def run(self: Any, *inputs: Any, **attributes: Any) -> tuple[Any, ...]:
        # Attributes come as single-precision numbers, and so would what is computed of them alone.
        exact = {key: float(value) if isinstance(value, np.floating) else value for key, value in attributes.items()}
        result = function(*inputs, **exact)
        return result if isinstance(result, tuple) else (result,)

    # Without a schema only the attributes that are written in the node are passed on.
    return type(name, (OpRun,), {"op_domain": domain, "op_schema": None, "_run": run})
