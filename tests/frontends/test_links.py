"""The same model means the same in every form: what it gives by default, its scores as raw, its class by its scores."""

from __future__ import annotations

import gzip
import os

import numpy as np
import pytest
from scipy.special import expit, log_softmax, softmax

os.environ.setdefault("KERAS_BACKEND", "torch")
torch = pytest.importorskip("torch", reason="torch is not installed")
keras = pytest.importorskip("keras", reason="keras is not installed")
onnx = pytest.importorskip("onnx", reason="onnx is not installed")

from dcembed import load_network, save_network  # noqa: E402
from dcembed.errors import InputError  # noqa: E402
from dcembed.frontends.framework import predict_outputs  # noqa: E402
from dcembed.frontends.links import load_scores  # noqa: E402
from dcembed.frontends.output_type import read_predictor  # noqa: E402

POINTS = np.random.default_rng(5).normal(size=(6, 2))
# The activation of the last layer, how many outputs it has, and the function in plain numpy.
ENDS = {"softmax": (3, lambda t: softmax(t, axis=1)), "sigmoid": (1, expit), "log_softmax": (3, lambda t: log_softmax(t, axis=1))}


class Functional(torch.nn.Module):
    """The last function is called in the forward pass."""

    def __init__(self, body, end):
        super().__init__()
        self.body, self.end = body, end

    def forward(self, x):
        return torch.sigmoid(self.body(x)) if self.end == "sigmoid" else getattr(torch.nn.functional, self.end)(self.body(x), dim=-1)


def torch_model(end):
    torch.manual_seed(4)
    return Functional(torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU(), torch.nn.Linear(4, ENDS[end][0])), end).double().eval()


def sequential(end, folder):
    last = {"softmax": torch.nn.Softmax(-1), "sigmoid": torch.nn.Sigmoid(), "log_softmax": torch.nn.LogSoftmax(-1)}[end]
    return torch.nn.Sequential(*torch_model(end).body, last)


def program(end, folder):
    path = folder / "net.pt2"
    torch.export.save(torch.export.export(torch_model(end), (torch.zeros(1, 2, dtype=torch.float64),)), path)
    return path


def zipped_onnx(end, folder):
    path = folder / "net.onnx"
    torch.onnx.export(torch_model(end), (torch.zeros(1, 2, dtype=torch.float64),), str(path), dynamo=False)
    (folder / "net.onnx.gz").write_bytes(gzip.compress(path.read_bytes()))
    return folder / "net.onnx.gz"


def keras_model(end, folder):
    body = torch_model(end).body
    model = keras.Sequential(
        [keras.Input((2,)), keras.layers.Dense(4, activation="relu"), keras.layers.Dense(ENDS[end][0], activation=end)]
    )
    model.set_weights([part.detach().numpy().T for layer in (body[0], body[2]) for part in (layer.weight, layer.bias)])
    return model


def keras_file(end, folder):
    keras_model(end, folder).save(folder / "net.keras")
    return str(folder / "net.keras")


FORMS = [sequential, lambda end, folder: torch_model(end), program, zipped_onnx, keras_model, keras_file]
EACH = pytest.mark.parametrize("form", FORMS, ids=["Sequential", "module", "pt2", "onnx.gz", "keras", "keras file"])


def scores_of(end):
    with torch.no_grad():
        return torch_model(end).body(torch.tensor(POINTS)).numpy()


@EACH
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("end", ENDS)
def test_every_form_means_the_same(form, end, tmp_path):
    predictor, scores = form(end, tmp_path), scores_of(end)
    values = ENDS[end][1](scores)
    classes = np.eye(3)[scores.argmax(axis=1)] if scores.shape[1] == 3 else (scores > 0).astype(float)
    expected = {None: values, "regular": values, "raw": scores, "classification": classes, "probability": values}
    for given, outputs in expected.items():
        if (given, end) == ("probability", "log_softmax"):
            continue
        reading = read_predictor(predictor, given)
        np.testing.assert_allclose(predict_outputs(predictor, reading, POINTS), outputs, atol=1e-5)
        if reading.is_direct:
            np.testing.assert_allclose(reading.network(POINTS), outputs, atol=1e-5)
        else:
            np.testing.assert_allclose(reading.network(POINTS), scores, atol=1e-5)
    assert load_scores(predictor)[1] == (end,)
    # One that only bounds are on is exact: it stays a function of its score.
    assert end == "log_softmax" or read_predictor(predictor, "probability").output_type == (
        "probability" if end == "sigmoid" else "regular"
    )


def test_a_saturated_softmax_is_no_sigmoid():
    """Where scores are large both are 0 or 1, but not everywhere."""
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Softmax(1)).double()
    with torch.no_grad():
        net[0].weight.copy_(torch.tensor([[-0.05, 0.0], [0.05, 0.0]]))
        net[0].bias.copy_(torch.tensor([30.0, -35.0]))
    reading = read_predictor(net, "probability")
    assert reading.output_type == "regular"
    point = np.array([[640.0, 0.0]])
    np.testing.assert_allclose(reading.network(point), softmax([[-2.0, -3.0]], axis=1), atol=1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["live", "file", "keras"])
def test_several_sigmoids_are_labels_and_no_choice_among_them(kind, tmp_path):
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Sigmoid()).double()
    with torch.no_grad():
        net[0].weight.copy_(torch.tensor([[0.1, 0.0], [0.0, 0.1], [0.1, 0.1]]))
        net[0].bias.copy_(torch.tensor([2.0, 1.0, -1.0]))
    predictor = net
    if kind == "file":
        predictor = tmp_path / "net.onnx"
        torch.onnx.export(net, (torch.zeros(1, 2, dtype=torch.float64),), str(predictor), dynamo=False)
    if kind == "keras":
        predictor = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, activation="sigmoid")])
        predictor.set_weights([net[0].weight.detach().numpy().T, net[0].bias.detach().numpy()])
    reading = read_predictor(predictor, "classification")
    assert not reading.argmax
    np.testing.assert_array_equal(predict_outputs(predictor, reading, POINTS[:1]), [[1.0, 1.0, 0.0]])


class TwoHeads(torch.nn.Module):
    """A class, and something else beside it."""

    def __init__(self, other):
        super().__init__()
        self.body, self.other = torch_model("softmax").body, other

    def forward(self, x):
        return torch.softmax(self.body(x), dim=-1), self.other(self.body(x))


@pytest.mark.parametrize("other", [torch.nn.Softmax(-1), torch.nn.Sigmoid(), torch.nn.ReLU()])
def test_no_class_of_several_outputs(other):
    with pytest.raises(InputError, match=r"ends in several functions \(softmax.*\. Pass a model that ends in one"):
        read_predictor(TwoHeads(other), "classification")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["live", "file", "keras"])
def test_no_class_of_several_softmaxes_in_one_output(kind, tmp_path):
    predictor = torch.nn.Sequential(torch.nn.Linear(2, 6), torch.nn.Unflatten(1, (2, 3)), torch.nn.Softmax(-1), torch.nn.Flatten())
    if kind == "file":
        torch.onnx.export(predictor, (torch.zeros(1, 2),), str(tmp_path / "net.onnx"), dynamo=False)
        predictor = tmp_path / "net.onnx"
    if kind == "keras":
        layers = keras.layers
        predictor = keras.Sequential([keras.Input((2,)), layers.Dense(6), layers.Reshape((2, 3)), layers.Softmax(), layers.Flatten()])
    with pytest.raises(InputError, match=r"ends in several functions \(softmax\)"):
        read_predictor(predictor, "classification")
    assert read_predictor(predictor, "probability").output_type == "regular"


def test_probabilities_beside_something_else():
    with pytest.raises(InputError, match="gives no probabilities, or not in all of its outputs"):
        read_predictor(TwoHeads(torch.nn.ReLU()), "probability")
    # A softmax and a sigmoid are embedded as they are.
    assert read_predictor(TwoHeads(torch.nn.Sigmoid()), "probability").output_type == "regular"


def test_logarithms_are_no_probabilities():
    with pytest.raises(InputError, match=r"logarithms of probabilities\. Leave output_type out and bound these"):
        read_predictor(torch_model("log_softmax"), "probability")


def test_a_model_without_such_an_end(tmp_path):
    body = torch_model("softmax").body
    network, linked = load_scores(body)
    assert not linked
    assert read_predictor(body, "raw").output_type == "regular"
    with pytest.raises(InputError, match="gives no probabilities"):
        read_predictor(body, "probability")
    save_network(network, tmp_path / "net.npz")
    assert not load_scores(tmp_path / "net.npz")[1]
    with pytest.raises(InputError, match='outputs="logits" does not apply to a Network'):
        load_network(network, outputs="logits")


@pytest.mark.filterwarnings("ignore")
def test_other_front_ends_give_what_the_model_gives(tmp_path):
    cvxpy, pyo = pytest.importorskip("cvxpy"), pytest.importorskip("pyomo.environ")
    from dcembed import cvxpy as on_cvxpy
    from dcembed import pyomo as on_pyomo

    for form in (sequential, keras_file, zipped_onnx):
        predictor, values = form("softmax", tmp_path), ENDS["softmax"][1](scores_of("softmax"))
        x = cvxpy.Variable(2, bounds=[-3, 3])
        problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(on_cvxpy.embed(predictor, x))), [x == POINTS[0]])
        problem.solve(method="dcembed", verbose=False, max_starts=1)
        assert problem.value == pytest.approx(1.0, abs=1e-5)
        model = pyo.ConcreteModel()
        model.x = pyo.Var(range(2), initialize=lambda _, i: float(POINTS[0][i]))
        model.nn = pyo.Block()
        np.testing.assert_allclose(on_pyomo.embed(model.nn, predictor, inputs=[model.x[0], model.x[1]]).network(POINTS), values, atol=1e-5)
