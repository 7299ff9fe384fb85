"""One small network per importer (2 inputs, 1 output), for tests that loop over all of them."""

from __future__ import annotations

import importlib
import itertools
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

# Must be set before keras is imported; torch is the backend that the tests install.
os.environ.setdefault("KERAS_BACKEND", "torch")

SEED = 7


def all_models() -> dict[str, tuple[Any, int]]:
    """Name -> (model, number of inputs); models of frameworks that are not installed are left out."""
    models = {}
    for name, (package, build) in BUILDERS.items():
        try:
            importlib.import_module(package)
        except ImportError:
            continue
        models[name] = (build(), 2)
    return models


def build_torch_sequential() -> Any:
    from torch import nn

    return _randomize(nn.Sequential(nn.Linear(2, 6), nn.ReLU(), nn.Linear(6, 5), nn.LeakyReLU(0.1), nn.Linear(5, 1)))


def build_torch_residual() -> Any:
    from torch import nn

    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(2, 5)
            self.second = nn.Linear(5, 5)
            self.last = nn.Linear(5, 1)
            self.relu = nn.ReLU()

        def forward(self, x: Any) -> Any:
            hidden = self.relu(self.first(x))
            return self.last(hidden + self.relu(self.second(hidden)))

    return _randomize(Residual())


def _randomize(module: Any) -> Any:
    """Weights from numpy's generator, so that torch's own random state is left alone."""
    import torch

    rng = np.random.default_rng(SEED)
    for parameter in module.parameters():
        parameter.data = torch.tensor(rng.normal(scale=0.7, size=tuple(parameter.shape)), dtype=torch.float32)
    return module.eval()


def build_onnx() -> Any:
    from onnx import TensorProto, helper, numpy_helper

    weights, biases = draw_layers((2, 6, 4, 1))
    tensors = [numpy_helper.from_array(w.astype(np.float32), f"W{i}") for i, w in enumerate(weights)]
    tensors += [numpy_helper.from_array(b.astype(np.float32), f"b{i}") for i, b in enumerate(biases)]
    nodes = []
    value = "x"
    for index in range(3):
        nodes.append(helper.make_node("Gemm", [value, f"W{index}", f"b{index}"], [f"a{index}"], transB=1))
        value = f"a{index}"
        if index < 2:
            nodes.append(helper.make_node("Relu", [value], [f"z{index}"]))
            value = f"z{index}"
    shapes = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size]) for name, size in (("x", 2), (value, 1))]
    graph = helper.make_graph(nodes, "mlp", shapes[:1], shapes[1:], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def build_keras() -> Any:
    import keras

    model = keras.Sequential(
        [keras.Input((2,)), keras.layers.Dense(6, activation="relu"), keras.layers.Dense(4, activation="relu"), keras.layers.Dense(1)]
    )
    weights, biases = draw_layers((2, 6, 4, 1))
    model.set_weights([array for w, b in zip(weights, biases, strict=True) for array in (w.T, b)])
    return model


def build_sklearn_regressor() -> Any:
    return _fit(_build_mlp((6, 4)), *draw_data())


def build_sklearn_pipeline() -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    points, targets = draw_data()
    return _fit(make_pipeline(StandardScaler(), _build_mlp((6,))), 3.0 + 2.0 * points, targets)


def _build_mlp(hidden: tuple[int, ...]) -> Any:
    from sklearn.neural_network import MLPRegressor

    return MLPRegressor(hidden_layer_sizes=hidden, max_iter=60, random_state=SEED, solver="lbfgs")


def _fit(model: Any, points: np.ndarray, targets: np.ndarray) -> Any:
    with warnings.catch_warnings():
        # A few iterations are enough here.
        warnings.simplefilter("ignore")
        return model.fit(points, targets)


def draw_layers(sizes: tuple[int, ...]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Weights (outputs, inputs) and biases of a multilayer perceptron."""
    rng = np.random.default_rng(SEED)
    weights = [rng.normal(scale=0.7, size=(num_out, num_in)) for num_in, num_out in itertools.pairwise(sizes)]
    return weights, [rng.normal(scale=0.3, size=num_out) for num_out in sizes[1:]]


def draw_data() -> tuple[np.ndarray, np.ndarray]:
    points = np.random.default_rng(SEED).normal(size=(60, 2))
    return points, np.abs(points[:, 0]) - 0.5 * points[:, 1] ** 2


BUILDERS: dict[str, tuple[str, Callable[[], Any]]] = {
    "torch sequential": ("torch", build_torch_sequential),
    "torch residual": ("torch", build_torch_residual),
    "onnx": ("onnx", build_onnx),
    "keras": ("keras", build_keras),
    "sklearn regressor": ("sklearn", build_sklearn_regressor),
    "sklearn pipeline": ("sklearn", build_sklearn_pipeline),
}
