"""What is done between the layers of files that hold weights alone: said by the file or by the user, and compared."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dcembed.errors import ImportMismatchError, InputError, NetworkError
from dcembed.importers import load_logits, load_network, save_network
from dcembed.importers.weights.named_functions import FUNCTIONS, NamedFunction, read_function

from ..models import draw_layers

WEIGHTS, BIASES = draw_layers((3, 5, 4, 2))
POINTS = 2.0 * np.random.default_rng(2).normal(size=(20, 3))


def write(kind, folder, stated=None, **arrays):
    """The same network as .npz or as .safetensors."""
    path = folder / f"network.{kind}"
    named = {f"W{i}": w for i, w in enumerate(WEIGHTS, 1)} | {f"b{i}": b for i, b in enumerate(BIASES, 1)}
    if kind == "npz":
        np.savez(path, **named, **arrays, **({} if stated is None else {"activations": np.array(stated)}))
        return path
    numpy = pytest.importorskip("safetensors.numpy")
    named = {f"{2 * i}.{part}": array for i in range(3) for part, array in (("weight", WEIGHTS[i]), ("bias", BIASES[i]))}
    text = stated if isinstance(stated, str) else json.dumps(stated)
    numpy.save_file({**named, **arrays}, path, metadata=None if stated is None else {"activations": text})
    return path


def forward(*functions, points=POINTS):
    value = points
    for weight, bias, function in zip(WEIGHTS, BIASES, functions, strict=True):
        value = function(value @ weight.T + bias)
    return value


def same(value):
    return value


def relu(value):
    return np.maximum(value, 0.0)


KINDS = ("npz", "safetensors")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("architecture", "functions"),
    [
        ("tanh", (np.tanh, np.tanh, same)),
        ("ReLU", (relu, relu, same)),
        ("linear", (same, same, same)),
        (["tanh", "relu"], (np.tanh, relu, same)),
        (["sin", "leaky_relu(0.25)"], (np.sin, lambda a: np.maximum(a, 0.25 * a), same)),
        (["relu", "tanh", "sigmoid"], (relu, np.tanh, lambda a: 1 / (1 + np.exp(-a)))),
    ],
)
def test_architecture_in_the_file_and_by_the_user(tmp_path, kind, architecture, functions):
    expected = forward(*functions)
    for stated, asked in ((architecture, None), (None, architecture), (architecture, architecture)):
        network = load_network(write(kind, tmp_path, stated), architecture=asked)
        np.testing.assert_allclose(network(POINTS), expected, atol=1e-9)
        save_network(network, tmp_path / "again.npz")
        np.testing.assert_array_equal(load_network(tmp_path / "again.npz")(POINTS), network(POINTS))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_assumed(tmp_path, kind):
    with pytest.raises(InputError) as info:
        load_network(write(kind, tmp_path))
    text = str(info.value)
    assert f"network.{kind} holds 3 linear layers (3 -> 5 -> 4 -> 2) and not what is done between them" in text
    assert 'load_network(path, architecture="relu")' in text
    assert ("metadata" if kind == "safetensors" else "as the key activations") in text


@pytest.mark.parametrize("kind", KINDS)
def test_one_layer_needs_no_word(tmp_path, kind):
    path = tmp_path / f"network.{kind}"
    if kind == "npz":
        np.savez(path, W1=WEIGHTS[0])
    else:
        pytest.importorskip("safetensors.numpy").save_file({"weight": WEIGHTS[0]}, path)
    np.testing.assert_allclose(load_network(path)(POINTS), POINTS @ WEIGHTS[0].T, atol=1e-12)


@pytest.mark.parametrize(
    ("stated", "asked", "message"),
    [
        ("tanh", "relu", "architecture says relu, relu, linear, but .* itself says tanh, tanh, linear"),
        ("blah", None, "The architecture in .*'blah' is not the name of an activation. Accepted are linear, relu, leaky_relu"),
        (None, "blah", "load_network: architecture: str 'blah' is not the name"),
        (None, ["tanh"], r"has 1 names for 3 linear layers \(3 -> 5 -> 4 -> 2\)\. Accepted are one name, or a list of 2 names"),
        (None, ["tanh"] * 4, "has 4 names"),
        (None, ["tanh", 3], "str '3' is not the name of an activation"),
        (None, 3, "load_network: architecture is not accepted: a list of names is expected, received int 3"),
        (None, "leaky_relu", r"'leaky_relu' has 0 numbers; one is accepted, for example leaky_relu\(0\.01\)"),
        (None, "tanh(2)", r"'tanh\(2\)' has 1 numbers; none is accepted"),
        (None, "elu(-1)", r"the number in 'elu\(-1\)' must be above 0"),
        (None, "elu(x)", "something in its brackets that is not a number"),
        (None, "[1", "is not a list in JSON"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_wrong_architectures(tmp_path, kind, stated, asked, message):
    with pytest.raises(InputError, match=message):
        load_network(write(kind, tmp_path, stated), architecture=asked)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_check_values_tell_another_architecture(tmp_path, kind, precision):
    values = forward(np.tanh, np.tanh, same).astype(precision)
    path = write(kind, tmp_path, check_points=POINTS, check_values=values)
    assert load_network(path, architecture="tanh").widths == (5, 4)
    with pytest.raises(
        ImportMismatchError, match=r"does not reproduce the file at its check_points .* other activations than relu, linear"
    ):
        load_network(path, architecture="relu")
    with pytest.raises(NetworkError, match="go together"):
        load_network(write(kind, tmp_path, check_points=POINTS), architecture="tanh")
    with pytest.raises(NetworkError, match=r"have shapes \(20, 3\) and \(20, 1\)"):
        load_network(write(kind, tmp_path, check_points=POINTS, check_values=values[:, :1].copy()), architecture="tanh")


@pytest.mark.parametrize("kind", KINDS)
def test_logits(tmp_path, kind):
    path = write(kind, tmp_path, ["relu", "tanh", "sigmoid"])
    np.testing.assert_allclose(load_network(path, outputs="logits")(POINTS), forward(relu, np.tanh, same), atol=1e-9)
    assert load_logits(path)[1] == ("sigmoid",)
    with pytest.raises(InputError, match=r"ends with linear\. Leave it out"):
        load_network(write(kind, tmp_path, "relu"), outputs="logits")


def test_the_architecture_of_other_files_is_in_them(tmp_path):
    save_network(load_network(write("npz", tmp_path, "tanh")), tmp_path / "saved.npz")
    with pytest.raises(InputError, match="architecture does not apply to a file of save_network"):
        load_network(tmp_path / "saved.npz", architecture="relu")
    with pytest.raises(InputError, match=r"logits.* does not apply to a file of save_network"):
        load_network(tmp_path / "saved.npz", outputs="logits")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_built_as_it_is_evaluated(tmp_path, name):
    function = NamedFunction(name, (0.3,) if name == "leaky_relu" else FUNCTIONS[name].default)
    assert read_function(str(function), "here") == function
    network = load_network(write("npz", tmp_path, str(function)))
    np.testing.assert_allclose(network(POINTS), forward(function.evaluate, function.evaluate, same), rtol=1e-9, atol=1e-9)


def test_functions_are_what_torch_computes():
    torch = pytest.importorskip("torch")
    points = np.linspace(-8.0, 8.0, 65)
    named = {"hard_tanh": "hardtanh", "log_sigmoid": "logsigmoid", "hard_sigmoid": "hardsigmoid"}
    for name in FUNCTIONS:
        theirs = getattr(torch.nn.functional, named.get(name, name), None)
        if theirs is None or name == "linear":
            continue
        arguments = {"negative_slope": 0.3} if name == "leaky_relu" else {}
        expected = theirs(torch.tensor(points), **arguments).numpy()
        np.testing.assert_allclose(
            NamedFunction(name, (0.3,) if arguments else FUNCTIONS[name].default).evaluate(points), expected, atol=1e-12
        )
    np.testing.assert_allclose(
        NamedFunction("gelu_tanh").evaluate(points), torch.nn.functional.gelu(torch.tensor(points), approximate="tanh").numpy(), atol=1e-12
    )
