"""Every construction of torch as its two exporters write it into ONNX files."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from dcembed.importers import load_network, save_network  # noqa: E402


def export(module, shape, **options):
    """A model of a free batch axis."""
    import torch

    stream = io.BytesIO()
    points = torch.zeros(2, *shape, dtype=torch.float64)
    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), quiet[0], quiet[1], torch.no_grad():
            warnings.simplefilter("ignore")
            if options["dynamo"]:
                torch.onnx.export(module, (points,), stream, dynamic_shapes=({0: torch.export.Dim("batch")},), **options)
            else:
                torch.onnx.export(module, (points,), stream, input_names=["x"], dynamic_axes={"x": {0: "batch"}}, **options)
    finally:
        logging.disable(logging.NOTSET)
    return onnx.load_from_string(stream.getvalue())


def names():
    """None where torch is not installed."""
    try:
        from .torch_constructions import NAMES
    except ImportError:
        return []
    return NAMES


# What the exporter writes is something else than the module, or holds for batches of one size only.
NOT_THE_MODULE = {
    "index_add",
    "scatter",
    "scatter_add",
    "AvgPool2d divisor",
    "change in place",
    "change a part in place",
    "PairwiseDistance",
}
# By the exporter that needs a package of its own, a few.
CHOSEN = [
    "Softplus",
    "Softshrink",
    "GELU tanh",
    "Conv2d",
    "BatchNorm2d",
    "LayerNorm",
    "MultiheadAttention",
    "Softmax",
    "MaxPool2d",
    "Upsample linear",
]


def check_export(name, tmp_path, **options):
    """Constants are written in single precision."""
    import torch

    from .torch_constructions import BY_NAME

    construction = BY_NAME[name]
    module = construction.build()
    try:
        model = export(module, construction.shape, **options)
    except Exception as error:
        pytest.skip(f"is not exported: {type(error).__name__}")
    network = load_network(model)
    points = np.random.default_rng(3).normal(size=(20, network.num_inputs))
    with torch.no_grad():
        expected = module(torch.tensor(points.reshape(-1, *construction.shape))).numpy().reshape(20, -1)
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(network(points), expected, rtol=1e-6, atol=2e-7 * scale)
    assert network.is_piecewise_linear or not construction.piecewise
    save_network(network, tmp_path / "network.npz")
    np.testing.assert_allclose(load_network(tmp_path / "network.npz")(points), network(points), rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", names())
def test_exported_module(name, tmp_path):
    if name in NOT_THE_MODULE:
        pytest.skip("is written as something else")
    check_export(name, tmp_path, dynamo=False, opset_version=17)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("opset", [9, 11, 13, 20])
@pytest.mark.parametrize("name", ["BatchNorm2d", "Softmax", "GELU", "LayerNorm", "Conv2d", "MaxPool2d", "Hardswish", "split"])
def test_exported_module_at_other_opsets(name, opset, tmp_path):
    if name not in names():
        pytest.skip("has another name")
    check_export(name, tmp_path, dynamo=False, opset_version=opset)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CHOSEN)
def test_exported_program(name, tmp_path):
    pytest.importorskip("onnxscript")
    check_export(name, tmp_path, dynamo=True, opset_version=18, verbose=False)
