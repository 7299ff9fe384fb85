"""Every construction of torch as ONNX, by both exporters of torch: against the module itself, all units ReLU where they have to be."""

from __future__ import annotations

import contextlib
import io
import logging
import math
import warnings
from functools import cache

import numpy as np
import pytest

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxscript")

from dcembed.errors import DcembedError  # noqa: E402
from dcembed.importers import load_network  # noqa: E402
from importers.torch_.bundles import Bundle, evaluate_row, make_bundles  # noqa: E402
from importers.torch_.constructions import BY_NAME, choose  # noqa: E402
from importers.torch_.forms import REFUSED, SINGLE, End, Form, accepted, tolerance  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

# Its file shifts by the largest entry, and is refused where the check meets an entry 28 below it, as it does among the points of a bundle.
ALONE = choose("logcumsumexp")
BUNDLES = make_bundles([name for name in accepted(Form.DYNAMO) if name not in ALONE]) | {name: Bundle((name,)) for name in ALONE}


@contextlib.contextmanager
def quiet():
    """Exporters tell the terminal and the log what they do."""
    logging.disable(logging.CRITICAL)
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


def write(name, opset=17):
    """The model of a row that the exporter of TorchScript writes."""
    stream, example = io.BytesIO(), torch.zeros(3, *BY_NAME[name].shape, dtype=torch.float64)
    with quiet():
        torch.onnx.export(
            BY_NAME[name].build(),
            (example,),
            stream,
            dynamo=False,
            input_names=["x"],
            dynamic_axes={"x": {0: "batch"}},
            opset_version=opset,
        )
    return onnx.load_from_string(stream.getvalue())


@cache
def write_by_dynamo(bundle):
    """The model that the exporter of torch.export writes."""
    dynamic = ({0: torch.export.Dim("batch")},)
    names = [f"row{k}" for k in range(len(bundle.names))]
    with quiet():
        program = torch.onnx.export(
            bundle.build(), (bundle.example(),), dynamo=True, dynamic_shapes=dynamic, opset_version=18, output_names=names, verbose=False
        )
    return program.model_proto


def difference(name, network):
    """How far the network is from the module, as a part of what the module gives."""
    points = np.random.default_rng(3).normal(size=(20, network.num_inputs))
    expected = evaluate_row(name, points)
    return np.abs(network(points) - expected).max() / max(1.0, np.abs(expected).max())


def check(name, network, form):
    assert difference(name, network) <= tolerance(form, name)
    assert network.is_piecewise_linear or not BY_NAME[name].piecewise


@pytest.mark.parametrize("name", accepted(Form.ONNX))
def test_exporter_of_torchscript(name):
    network = load_network(write(name))
    assert network.num_inputs == math.prod(BY_NAME[name].shape)
    check(name, network, Form.ONNX)


@pytest.mark.parametrize("opset", [9, 11, 13, 20])
@pytest.mark.parametrize("name", choose("BatchNorm2d", "Softmax", "GELU", "LayerNorm", "Conv2d", "MaxPool2d", "split"))
def test_other_opsets(name, opset):
    check(name, load_network(write(name, opset)), Form.ONNX)


@pytest.mark.parametrize("opset", [9, 11, 13])
def test_hard_swish_of_older_opsets(opset):
    """Its sixth is an attribute of another operator there, in single precision."""
    network = load_network(write("Hardswish", opset))
    assert difference("Hardswish", network) <= 1e-5
    assert [activation.name for activation in network.activations] == ["hardswish"]


@pytest.mark.parametrize("name", accepted(Form.DYNAMO))
def test_exporter_of_programs(name):
    bundle = BUNDLES[name]
    check(name, load_network(write_by_dynamo(bundle), outputs=f"row{bundle.names.index(name)}"), Form.DYNAMO)


WRITERS = {Form.ONNX: write, Form.DYNAMO: lambda name: write_by_dynamo(Bundle((name,)))}
REFUSALS = [pytest.param(form, name, id=f"{form.name}-{name}") for form in WRITERS for name in REFUSED[form]]


def find_end(form, name):
    """Where the row ends; None if it is read, and is the module."""
    try:
        model = WRITERS[form](name)
    except Exception:
        return End.NOT_WRITTEN
    try:
        network = load_network(model)
    except DcembedError:
        return End.NOT_READ
    return End.OTHER_FUNCTION if difference(name, network) > tolerance(form, name) else None


@pytest.mark.parametrize(("form", "name"), REFUSALS)
def test_refused(form, name):
    """The table of refusals is true; a row that is read after all belongs to the others."""
    assert find_end(form, name) is REFUSED[form][name].end


SINGLES = [pytest.param(form, name, id=f"{form.name}-{name}") for form in WRITERS for name in choose(*SINGLE[form])]


@pytest.mark.parametrize(("form", "name"), SINGLES)
def test_single_precision_is_needed(form, name):
    """The rows that are compared to less than 1e-9 cannot be compared to more."""
    if form is Form.ONNX:
        network = load_network(write(name))
    else:
        network = load_network(write_by_dynamo(BUNDLES[name]), outputs=f"row{BUNDLES[name].names.index(name)}")
    assert difference(name, network) > 1e-9
