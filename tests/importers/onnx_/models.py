"""ONNX models written by hand, and what they are compared with: onnx's reference implementation, and onnxruntime where it is installed."""

from __future__ import annotations

import importlib.util

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from dcembed.importers import load_network

HAS_RUNTIME = importlib.util.find_spec("onnxruntime") is not None
ML = "ai.onnx.ml"
RNG = np.random.default_rng(0)
# Constants of small models.
CONSTANTS = {
    "W": RNG.normal(size=(4, 3)),
    "V": RNG.normal(size=(3, 4)),
    "S": RNG.normal(size=(4, 4)),
    "b": RNG.normal(size=4),
    "row": RNG.normal(size=(1, 4)),
    "p": np.array([0.5, 1.0, 2.0, 0.25]),
    "low": np.array(-0.4),
    "high": np.array(0.6),
    "one": np.array(1.0),
    "true": np.array(True),
    "grid": np.array([0, 2, 2]),
    "flat": np.array([0, -1]),
    "axes1": np.array([1]),
    "axes2": np.array([2]),
    "index1": np.array(1),
    "half": np.array(0.5),
}


def node(kind, inputs, outputs="y", **attributes):
    """Names are separated by spaces; `_` is an input that is left out."""
    names = ["" if name == "_" else name for name in inputs.split()]
    return helper.make_node(kind, names, outputs.split(), **attributes)


def make(nodes, shape=("batch", 3), opset=17, constants=None, double=True, inputs=None, outputs=("y",), ml=3):
    """A model of `x`, or of several inputs and their shapes; constants of floats have the type of the model."""
    kind = TensorProto.DOUBLE if double else TensorProto.FLOAT
    named = {name: np.asarray(value) for name, value in (constants or {}).items()}
    arrays = {
        name: value.astype(np.float64 if double else np.float32) if value.dtype.kind == "f" else value for name, value in named.items()
    }
    shapes = inputs if isinstance(inputs, dict) else {"x": shape}
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(name, kind, size) for name, size in shapes.items()],
        [helper.make_tensor_value_info(name, kind, None) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in arrays.items()],
    )
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(ML, ml)] if any(item.domain == ML for item in nodes) else [])
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def make_small(nodes, shape=("batch", 3), output="y", double=False, constants=None):
    """A model from "x" to `output` in single precision; the constants that its nodes name are in it."""
    names = {name for item in nodes for name in item.input}
    values = {name: value for name, value in (CONSTANTS | (constants or {})).items() if name in names}
    return make(nodes, shape, constants=values, double=double, outputs=(output,))


def draw(network, count=12, scale=1.5, seed=3):
    """Points that single precision holds exactly."""
    points = scale * np.random.default_rng(seed).normal(size=(count, network.num_inputs))
    return points.astype(np.float32).astype(np.float64)


def feeds(model, points, double):
    """The columns of points as the inputs of a model: as one batch, or one by one where its first axis has size 1."""
    single = any(value.type.tensor_type.shape.dim[0].dim_value == 1 for value in model.graph.input)
    for batch in np.split(points, len(points)) if single else [points]:
        start, values = 0, {}
        for value in model.graph.input:
            sizes = [axis.dim_value for axis in value.type.tensor_type.shape.dim][1:]
            width = int(np.prod(sizes))
            values[value.name] = batch[:, start : start + width].reshape(len(batch), *sizes).astype(np.float64 if double else np.float32)
            start += width
        yield values


def run(evaluate, model, points, double):
    batches = [evaluate(values) for values in feeds(model, points, double)]
    columns = [np.stack(column) if len(column) > 1 else column[0] for column in zip(*batches, strict=True)]
    return np.concatenate([np.asarray(column).reshape(len(points), -1) for column in columns], axis=1)


def run_reference(model, points):
    """In the precision of the model, which is double."""
    evaluator = ReferenceEvaluator(model)
    return run(lambda values: evaluator.run(None, values), model, points, double=True)


def run_runtime(model, points):
    """By onnxruntime, in single precision."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    # Optimized, it computes with rounded numbers where weights are rounded.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return run(lambda values: session.run(None, values), model, points, double=False)


def assert_same(build, reference=True, runtime=True, atol=1e-9, scale=1.5, **request):
    """`build(double=...)` gives the model; its import agrees with onnx in double precision, and with onnxruntime in single precision."""
    model = build(double=True)
    network = load_network(model, **request)
    points = draw(network, scale=scale)
    if reference:
        np.testing.assert_allclose(network(points), run_reference(model, points), rtol=1e-9, atol=atol)
    if runtime and HAS_RUNTIME:
        single = build(double=False)
        np.testing.assert_allclose(load_network(single, **request)(points), run_runtime(single, points), rtol=1e-3, atol=1e-4)
    return network


def assert_reproduced(model, batch=40):
    """The import agrees with a model in its own precision, at points of its own."""
    network = load_network(model)
    points = 2.0 * RNG.normal(size=(batch, network.num_inputs)).astype(np.float32)
    expected = ReferenceEvaluator(model).run(None, {"x": points})[0].reshape(batch, -1)
    np.testing.assert_allclose(network(points), expected, rtol=1e-4, atol=1e-4)
    return network


HIDDEN = node("Gemm", "x W b", "h", transB=1)
