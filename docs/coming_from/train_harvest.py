"""Train the two networks of these pages and write them to files: `python docs/coming_from/train_harvest.py` (needs scikit-learn and onnx).

The harvest of a hectare (t) as a function of water (100 mm), nitrogen (100 kg) and the quality of the soil (0 to 1): little comes of little
water, and too much nitrogen does harm. harvest.onnx has ReLU units, harvest_tanh.npz the same number of tanh units.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.neural_network import MLPRegressor

HERE = Path(__file__).parent
LOW, HIGH = np.array([0.0, 0.0, 0.0]), np.array([6.0, 2.0, 1.0])
HIDDEN = (12, 12)


def harvest(x: np.ndarray) -> np.ndarray:
    """What comes of x (k, 3), in t."""
    water, nitrogen, soil = x.T
    watered = 1.0 / (1.0 + np.exp(-2.4 * (water - 2.6 + 1.2 * soil)))
    fed = 1.0 - 0.55 * np.exp(-2.2 * nitrogen)
    harm = 1.5 * np.maximum(nitrogen - 1.4, 0.0) ** 2 + 0.15 * np.maximum(water - 5.0, 0.0) ** 2
    return (5.0 + 4.0 * soil) * watered * fed - harm


def train(activation: str) -> MLPRegressor:
    """A network that has learned it from noisy records."""
    rng = np.random.default_rng(0)
    x = rng.uniform(LOW, HIGH, (3000, 3))
    y = harvest(x) + rng.normal(0.0, 0.1, len(x))
    model = MLPRegressor(hidden_layer_sizes=HIDDEN, activation=activation, solver="lbfgs", max_iter=3000, alpha=1e-3, random_state=0)
    model.fit(x, y)
    print(f"{activation}: R2 {model.score(x, y):.4f} after {model.n_iter_} iterations")
    return model


def write_onnx(model: MLPRegressor, path: Path) -> None:
    """Gemm and Relu nodes in turn, which every tool reads."""
    arrays, nodes, last = [], [], "x"
    for number, (weights, bias) in enumerate(zip(model.coefs_, model.intercepts_, strict=True), start=1):
        arrays += [numpy_helper.from_array(array.astype(np.float32), f"{name}{number}") for name, array in (("W", weights.T), ("b", bias))]
        final = number == len(model.coefs_)
        names = {"inputs": [last, f"W{number}", f"b{number}"], "outputs": ["y" if final else f"a{number}"], "name": f"layer{number}"}
        nodes.append(helper.make_node("Gemm", **names, alpha=1.0, beta=1.0, transB=1))
        if not final:
            nodes.append(helper.make_node("Relu", [f"a{number}"], [f"h{number}"], name=f"relu{number}"))
        last = f"h{number}"
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, size]) for name, size in (("x", model.n_features_in_), ("y", 1))]
    graph = helper.make_graph(nodes, "harvest", ends[:1], ends[1:], arrays)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(proto)
    onnx.save(proto, path)


def write_npz(model: MLPRegressor, path: Path) -> None:
    """W1, b1, W2, b2, ... and the name of the activation."""
    layers = enumerate(zip(model.coefs_, model.intercepts_, strict=True), start=1)
    arrays = {f"{name}{number}": array for number, (weights, bias) in layers for name, array in (("W", weights.T), ("b", bias))}
    np.savez(path, activations=model.activation, **arrays)


if __name__ == "__main__":
    write_onnx(train("relu"), HERE / "harvest.onnx")
    write_npz(train("tanh"), HERE / "harvest_tanh.npz")
