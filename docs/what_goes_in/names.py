"""The names that the importers know, read from their tables of handlers."""

from __future__ import annotations

import re

from tests.importers.torch_.constructions import CONSTRUCTIONS

from dcembed.importers.keras_.functions.table import OPERATIONS as KERAS_OPERATIONS
from dcembed.importers.keras_.layers import activations as keras_activations
from dcembed.importers.keras_.layers.table import FOLLOWED, LAYERS
from dcembed.importers.onnx_.operators.table import OPERATORS as ONNX_OPERATORS
from dcembed.importers.onnx_.operators.table import SUBGRAPHS
from dcembed.importers.sklearn_.tables import TABLES
from dcembed.importers.torch_.aten import OPERATORS as ATEN
from dcembed.importers.weights.named_functions import FUNCTIONS

# Names of torch for what has another one in the programs that people write, or that nobody writes.
_INSIDE_TORCH = re.compile(
    r"_.*|.*_|(native|special|unsafe|sym|resolve|lift)_.*|.*_(copy|functional|forward|with_noise|with_indices|overrideable)"
    r"|alias|col2im|convolution|copy|fill|im2col|lift|numpy_T|view_of|zero"
)
# Modules that hold others, or that another one holds.
_HOLDERS = ("Sequential", "ModuleList", "ModuleDict", "NonDynamicallyQuantizableLinear")


def known_names() -> dict[str, set[str]]:
    """By framework, what users call the layers and functions that go in."""
    return {"torch": _torch(), "onnx": _onnx(), "keras": _keras(), "sklearn": _sklearn(), "weights": set(FUNCTIONS)}


def _torch() -> set[str]:
    """The operators, and the modules of torch.nn that the tests load: torch itself writes those in operators."""
    functions = {name for name in ATEN if not _INSIDE_TORCH.fullmatch(name)}
    kinds = {type(part) for construction in CONSTRUCTIONS for part in construction.build().modules()}
    modules = {kind.__name__ for kind in kinds if kind.__module__.startswith("torch.nn.modules.")}
    return functions | modules - set(_HOLDERS)


def _onnx() -> set[str]:
    return {name.rpartition(".")[2] for name in (*ONNX_OPERATORS, *SUBGRAPHS)}


def _keras() -> set[str]:
    """Layers that augment images do nothing at inference, and there are many of them."""
    layers = {re.sub("^Random.*", "Random...", kind.__name__) for kind in (*LAYERS, *FOLLOWED)}
    return layers | set(keras_activations.FUNCTIONS) | {keras_function(name) for name in KERAS_OPERATIONS}


def keras_function(operation: str) -> str:
    """What users write for a class of keras.ops: keras.src.ops.nn.LogSigmoid is log_sigmoid.

    Examples
    --------
    >>> keras_function("keras.src.ops.nn.RMSNorm")
    'rms_norm'
    """
    name = operation.rpartition(".")[2].replace("ReLU", "Relu")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _sklearn() -> set[str]:
    methods = {name for table in TABLES.methods.values() for name in table}
    return methods | set(TABLES.columns) | set(TABLES.composites)
