"""Import of torch modules."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from dcembed.errors import ImportMismatchError, InputError, NetworkError, UnsupportedLayerError  # noqa: E402
from dcembed.importers import check, load_network, operations  # noqa: E402
from dcembed.importers.torch_ import aten  # noqa: E402
from dcembed.importers.torch_.recording.rounding import softplus_error  # noqa: E402


def assert_same(model, num_inputs=3, shape=None, input_shape=None):
    """The import agrees with the module, at points of its own."""
    network = load_network(model, input_shape=input_shape)
    assert network.num_inputs == num_inputs
    points = 2.0 * np.random.default_rng(1).normal(size=(50, num_inputs))
    was_training = model.training
    model = model.double().eval()
    with torch.no_grad():
        expected = model(torch.tensor(points.reshape(50, *(shape or (num_inputs,))))).numpy().reshape(50, -1)
    model.train(was_training)
    np.testing.assert_allclose(network(points), expected, atol=1e-9)
    return network


class Apply(nn.Module):
    """A function of the input and of a first linear layer."""

    def __init__(self, function, **buffers):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(3, 4)
        self.function = function
        for name, value in buffers.items():
            self.register_buffer(name, torch.as_tensor(value))

    def forward(self, x):
        return self.function(self, self.linear(x))


def prelu(num_parameters):
    layer = nn.PReLU(num_parameters)
    layer.weight.data = torch.linspace(-0.5, 0.9, num_parameters)
    return layer


def batch_norm(num_features, **options):
    layer = nn.BatchNorm1d(num_features, **options)
    layer.running_mean = torch.linspace(-1, 2, num_features)
    layer.running_var = torch.linspace(0.1, 3, num_features)
    if layer.affine:
        layer.weight.data = torch.linspace(-2, 2, num_features)
        layer.bias.data = torch.linspace(3, 1, num_features)
    return layer


torch.manual_seed(0)
LAYERS = {
    "ReLU": nn.ReLU(),
    "ReLU inplace": nn.ReLU(inplace=True),
    "LeakyReLU": nn.LeakyReLU(0.2),
    "PReLU": prelu(1),
    "PReLU per channel": prelu(4),
    "Identity": nn.Identity(),
    "Dropout": nn.Dropout(0.5),
    "AlphaDropout": nn.AlphaDropout(0.5),
    "FeatureAlphaDropout": nn.FeatureAlphaDropout(0.5),
    "Flatten": nn.Flatten(),
    "Unflatten": nn.Sequential(nn.Unflatten(1, (2, 2)), nn.ReLU(), nn.Flatten()),
    "Dropout1d": nn.Sequential(nn.Unflatten(1, (2, 2)), nn.Dropout1d(), nn.Flatten()),
    "Linear inside": nn.Sequential(nn.Unflatten(1, (2, 2)), nn.Linear(2, 2), nn.ReLU(), nn.Flatten()),
    "PReLU on channels": nn.Sequential(nn.Unflatten(1, (2, 2)), prelu(2), nn.Flatten()),
    "BatchNorm1d": batch_norm(4),
    "BatchNorm1d not affine": batch_norm(4, affine=False),
    "BatchNorm1d on channels": nn.Sequential(nn.Unflatten(1, (2, 2)), batch_norm(2), nn.Flatten()),
    "Hardtanh": nn.Hardtanh(-0.5, 2.0),
    "ReLU6": nn.ReLU6(),
    "no bias": nn.Linear(4, 4, bias=False),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name):
    torch.manual_seed(1)
    assert_same(nn.Sequential(nn.Linear(3, 4), LAYERS[name], nn.Linear(4, 2)))


def _inplace_alias(m, x):
    y = x.view(-1, 2, 2)
    x.relu_()
    return y.flatten(1) + x


FUNCTIONS = {
    "F.relu": lambda m, x: F.relu(x),
    "F.relu inplace": lambda m, x: F.relu(x, inplace=True) + x,
    "torch.relu": lambda m, x: torch.relu(x),
    "Tensor.relu": lambda m, x: x.relu(),
    "Tensor.relu_": lambda m, x: x.relu_() + x,
    "in-place changes views": _inplace_alias,
    "clone": lambda m, x: x.clone().relu_() + x,
    "F.leaky_relu": lambda m, x: F.leaky_relu(x, 0.3),
    "F.leaky_relu keyword": lambda m, x: F.leaky_relu(x, negative_slope=0.3),
    "F.prelu": lambda m, x: F.prelu(x, m.vector),
    "F.linear": lambda m, x: F.linear(x, m.matrix, m.vector),
    "F.dropout": lambda m, x: F.dropout(x, 0.5, m.training),
    "F.batch_norm": lambda m, x: F.batch_norm(x, m.vector, m.vector, eps=1.0),
    "F.relu6": lambda m, x: F.relu6(x),
    "F.hardtanh": lambda m, x: F.hardtanh(x, -2.0, 0.5),
    "clamp": lambda m, x: torch.clamp(x, -0.3, 0.4),
    "clamp min": lambda m, x: x.clamp(min=-0.3),
    "clamp max": lambda m, x: x.clamp_max(0.3),
    "clamp vector": lambda m, x: torch.clamp(x, max=m.vector),
    "add": lambda m, x: torch.add(x, F.relu(x), alpha=2),
    "iadd": lambda m, x: F.relu(x).add_(x),
    "augmented": lambda m, x: _augmented(x),
    "sub": lambda m, x: x - F.relu(x) - 1.5,
    "rsub": lambda m, x: 1.0 - x,
    "neg": lambda m, x: -F.relu(-x),
    "mul": lambda m, x: m.vector * x * 3,
    "div": lambda m, x: x / m.vector / 2,
    "buffer of one row": lambda m, x: x + m.row,
    "abs": lambda m, x: abs(x) + torch.abs(x),
    "maximum": lambda m, x: torch.maximum(x, 2 * x + 1),
    "minimum": lambda m, x: torch.minimum(x, m.vector),
    "cat": lambda m, x: torch.cat([x, F.relu(x)], dim=1),
    "cat last": lambda m, x: torch.cat((x, -x), -1),
    "matmul": lambda m, x: x @ m.matrix,
    "matmul vector": lambda m, x: torch.matmul(x, m.vector),
    "addmm": lambda m, x: torch.addmm(m.vector, x, m.matrix, beta=2, alpha=3),
    "view": lambda m, x: F.relu(x.view(x.size(0), 2, 2)).view(x.shape[0], -1),
    "view minus one": lambda m, x: x.view(-1, 2 * 2).relu(),
    "reshape": lambda m, x: torch.reshape(x, (-1, 2, 2)),
    "flatten": lambda m, x: torch.flatten(x.unflatten(1, (2, -1)), 1),
    "squeeze": lambda m, x: x.unsqueeze(-1).relu().squeeze(-1).unsqueeze(1).squeeze(),
    "transpose": lambda m, x: x.view(-1, 2, 2).transpose(1, 2).reshape(-1, 4),
    "permute": lambda m, x: x.view(-1, 2, 2).permute(0, 2, 1),
    "slices": lambda m, x: x[:, :2] + x[..., 2:] - x[:, 1:2],
    "column": lambda m, x: x[:, 1].relu(),
    "broadcast": lambda m, x: x[:, :1] + F.relu(x),
    "dtype": lambda m, x: x.to(torch.float64).double().contiguous().detach(),
    "ndim": lambda m, x: x.flatten(x.dim() - 1),
}


def _augmented(x):
    y = F.relu(x)
    y += x
    y *= 2.0
    return y


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name):
    buffers = {"vector": [0.5, 1.0, 2.0, 0.25], "row": [[1.0, 2.0, 3.0, 4.0]], "matrix": np.random.default_rng(0).normal(size=(4, 4))}
    assert_same(Apply(FUNCTIONS[name], **buffers))


def test_residual_and_shared_modules():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = nn.Sequential(nn.Linear(3, 3), nn.ReLU(inplace=True))
            self.scale = nn.Parameter(torch.tensor(0.5))

        def forward(self, x, shift=1.0, *, gate=None):
            hidden = self.block(x)
            if gate is not None:
                raise AssertionError
            return self.block(hidden + self.scale * x + shift) + x

    torch.manual_seed(0)
    network = assert_same(Shared())
    assert network.widths == (3, 3)


def test_nested_sequential():
    torch.manual_seed(0)
    inner = nn.Sequential(nn.Sequential(nn.Linear(3, 5), nn.ReLU()), nn.Dropout())
    network = assert_same(nn.Sequential(nn.Identity(), inner, nn.Sequential(nn.Linear(5, 2))))
    assert network.widths == (5,)


def test_single_layer():
    assert load_network(nn.Linear(2, 1)).widths == ()


def test_user_model_is_untouched():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(), nn.ReLU(inplace=True), nn.Linear(4, 1)).train()
    model(torch.ones(5, 3)).sum().backward()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    grads = [parameter.grad.clone() for parameter in model.parameters()]
    random_state = torch.get_rng_state()
    load_network(model)
    assert all(module.training for module in model.modules())
    assert all(torch.equal(value, before[name]) and value.dtype == before[name].dtype for name, value in model.state_dict().items())
    assert all(torch.equal(parameter.grad, grad) for parameter, grad in zip(model.parameters(), grads, strict=True))
    assert torch.equal(torch.get_rng_state(), random_state)


def test_dropout_active_at_inference_is_refused():
    with pytest.raises(UnsupportedLayerError, match="draws random numbers"):
        load_network(Apply(lambda m, x: F.dropout(x, 0.5)))


def test_single_precision_inside():
    """A model that converts to float32 by itself is checked in float32."""
    network = load_network(Apply(lambda m, x: F.linear(x.float(), m.matrix.float()), matrix=np.eye(4)))
    assert network.num_outputs == 4


def test_all_unsupported_layers_are_named():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(3, 4), nn.Hardshrink(), nn.Dropout(), nn.Threshold(1.0, 0.0))
            self.head = nn.Linear(4, 2)

        def forward(self, x):
            y = torch.floor(self.head(self.body(x)))
            return torch.fft.fft(y * x[:, :2]).real

    with pytest.raises(UnsupportedLayerError) as info:
        load_network(Model())
    assert str(info.value).splitlines() == [
        "The torch model has 4 layers that cannot be embedded:",
        "  layer 1, 'body.1': Hardshrink (jumps by 0.5 at 0.5 (hard shrinkage); only continuous functions can be embedded, such as soft "
        "shrinkage)",
        "  layer 3, 'body.3': Threshold (jumps from 0 to 1 at 1; only continuous functions can be embedded: the two have to be equal)",
        "  layer 5, 'model': torch.floor (rounds, which jumps)",
        "  layer 7, 'model': torch._fft_r2c",
        "A jump cannot be embedded: pass the part of the model before it and write the jump in the optimization model with a binary variable, "
        "or use a continuous layer in its place (clamp, soft shrinkage, hard sigmoid, softmax) and retrain.",
        "Complex numbers are not known here: a Fourier transform of a real value is a linear map, so write it as two products with constant "
        "matrices.",
        'Accepted are the layers and functions in the page "What goes in" of the documentation (docs/what_goes_in.md), '
        f"{len(aten.OPERATORS)} operators of torch in all.",
    ]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda m, x: x.to(torch.int32), "which rounds"),
        (lambda m, x: torch.clamp(x, 1.0, -1.0), "above its upper limit"),
        (lambda m, x: torch.div(x, 2.0, rounding_mode="floor"), "not continuous"),
        (lambda m, x: F.batch_norm(x, None, None, training=True), "normalizes with the batch itself.*\n.*running mean"),
        (lambda m, x: x > 0, "is a comparison"),
        (lambda m, x: torch.where(x > 0, x, 2.0), "chooses by a computed value"),
        (lambda m, x: (x > 0).sum(1) + x[:, 0], "computes with a comparison"),
        (lambda m, x: x.argmax(1), "places of entries"),
        (lambda m, x: torch.gather(x, 1, x.max(1, keepdim=True).indices), "uses the places"),
        (lambda m, x: torch.fft.fft(x).real, "_fft_r2c\n.*two products with constant"),
        (lambda m, x: x + torch.randn(4), "draws random numbers"),
        (lambda m, x: F.softplus(x, 1.0, 5.0), "a jump of 6.7e-03"),
        (lambda m, x: x.long(), "which rounds"),
        (lambda m, x: torch.linalg.inv(x.reshape(-1, 2, 2)), "takes a computed matrix apart"),
    ],
)
def test_unsupported_use(function, reason):
    with pytest.raises(UnsupportedLayerError, match=f"(?s){reason}"):
        load_network(Apply(function))


def test_lookup_by_the_input_is_refused():
    with pytest.raises(UnsupportedLayerError, match=r"layer 0, '0': Embedding \(looks up rows.*\n.*one-hot"):
        load_network(nn.Sequential(nn.Embedding(3, 4), nn.Linear(4, 1)), input_shape=2)


def test_overridden_forward_is_followed():
    class Squared(nn.Linear):
        def forward(self, x):
            return super().forward(x) ** 2

    network = assert_same(nn.Sequential(Squared(3, 2)))
    assert str(network) == "Network(3 inputs -> 2 square -> 2 outputs)"


@pytest.mark.parametrize(
    "function", [lambda m, x: x[0], lambda m, x: x - x.mean(0), lambda m, x: x * x.sum(), lambda m, x: torch.softmax(x, 0)]
)
def test_batch_mixing_is_refused(function):
    with pytest.raises(NetworkError, match="mixes the points of a batch"):
        load_network(Apply(function))


def test_mixing_behind_a_pole_is_noticed():
    """Outside of the domain of the quotient our values are huge; they are no measure of what may differ."""
    with pytest.raises((ImportMismatchError, NetworkError)):
        load_network(Apply(lambda m, x: x / x.sum(0)), input_shape=3)


def test_model_that_fails_on_batches_is_refused():
    with pytest.raises(NetworkError, match="mixes the points of a batch"):
        load_network(Apply(lambda m, x: x.view(1, -1) @ m.matrix, matrix=np.eye(4)), input_shape=3)


def test_batch_axis_in_another_place():
    assert_same(Apply(lambda m, x: torch.stack([x, 2 * x], 0).transpose(0, 1)))
    network = load_network(Apply(lambda m, x: torch.stack([x, 2 * x], 0)))
    assert network.num_outputs == 8


def test_hooks_are_followed():
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    model[0].register_forward_hook(lambda module, args, output: output + 1.0)
    model[0].register_forward_pre_hook(lambda module, args: (2.0 * args[0],))
    assert_same(model)


def test_state_that_changes_is_noticed():
    with pytest.raises((ImportMismatchError, NetworkError)):
        load_network(Apply(lambda m, x: m.state.add_(x.relu()), state=np.zeros((31, 4))), input_shape=3)


def test_wrong_import_is_noticed(monkeypatch):
    monkeypatch.setitem(aten.OPERATORS, "leaky_relu", lambda builder, input, slope=0.01: operations.leaky_relu(builder, input, 0.0101))
    with pytest.raises(ImportMismatchError, match=r"does not reproduce the torch model at \d+ of \d+ points. .*difference .*tolerance"):
        load_network(nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(), nn.Linear(8, 1)))


def test_kinks_far_away_are_checked(monkeypatch):
    """Unscaled data: every kink is a thousand away from the origin."""
    monkeypatch.setitem(aten.OPERATORS, "relu", lambda builder, input: operations.leaky_relu(builder, input, 0.01))
    model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
    model[0].bias.data[:] = 1000.0
    with pytest.raises(ImportMismatchError):
        load_network(model)


def test_tolerance_does_not_swallow_a_small_output():
    model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
    model[2].weight.data *= 1e-6
    network = load_network(model)
    points = check.draw_points(network)
    assert (1e-5 * check.magnitude(network, points)).max() < 1e-3 * np.abs(network(points)).max() + 1e-5


def test_branches_by_the_data_are_refused():
    class Branch(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(UnsupportedLayerError, match=r"Tensor\.item\. The forward pass reads a number that depends on the input \(a branch"):
        load_network(Branch(), input_shape=2)


def test_checks_of_numbers_are_no_branches():
    class Checked(nn.Module):
        def forward(self, x):
            if torch.isnan(x).any() or not torch.isfinite(x).all():
                raise ValueError
            return torch.relu(torch.nan_to_num(x))

    assert_same(Checked(), input_shape=3)


@pytest.mark.parametrize("model", [nn.Sequential(), nn.Sequential(nn.Sequential())])
def test_empty(model):
    with pytest.raises(NetworkError, match="The network is empty"):
        load_network(model)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nonfinite_weights(value):
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    model[0].weight.data[0, 0] = value
    with pytest.raises(NetworkError, match="NaN or infinite"):
        load_network(model)


def test_input_size_through_other_layers():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.arange(3.0))
            self.net = nn.Sequential(nn.ReLU(), nn.Linear(3, 1))

        def forward(self, x):
            return self.net(torch.cat([x - self.mean, x], 1)[:, :3])

    assert_same(Scaled())
    assert_same(nn.Sequential(nn.Flatten(), nn.Dropout(), nn.ReLU(), nn.Linear(3, 2)))
    assert_same(nn.Sequential(batch_norm(3), nn.Linear(3, 2)))


def test_input_shape():
    with pytest.raises(InputError, match=r"no layer .* fixes it.*load_network\(model, input_shape=\(4,\)\)"):
        load_network(nn.Sequential(nn.ReLU()))
    assert load_network(nn.Sequential(nn.ReLU()), input_shape=3).num_inputs == 3
    model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Flatten(), nn.Linear(12, 1))
    assert_same(model, num_inputs=6, shape=(3, 2), input_shape=(3, 2))
    with pytest.raises(NetworkError, match=r"fails on one point \(input: \(5,\)\), at '0' \(Linear\)"):
        load_network(model, input_shape=(5,))


@pytest.mark.parametrize(
    ("model", "example"),
    [
        (nn.Sequential(nn.Conv2d(2, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 1)), r"Conv2d, .*input_shape=\(2, 16, 16\)"),
        (nn.Sequential(nn.Conv1d(7, 2, 3), nn.Flatten(), nn.Linear(8, 1)), r"Conv1d, .*input_shape=\(7, 16\)"),
        (nn.Sequential(nn.Flatten(0), nn.Linear(3, 1)), "no layer"),
        (nn.Sequential(nn.Linear(3, 2), nn.Linear(4, 1)), "it fails later, at '1'"),
    ],
)
def test_input_shape_is_asked_for(model, example):
    with pytest.raises(InputError, match=example):
        load_network(model)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 2, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0][:, -1]


def test_input_shape_of_sequences_is_asked_for():
    with pytest.raises(InputError, match="LSTM"):
        load_network(Recurrent())
    assert load_network(Recurrent(), input_shape=(2, 3)).num_inputs == 6


class Plain(nn.Module):
    """A function of the input."""

    def __init__(self, function, **buffers):
        super().__init__()
        self.function = function
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, x):
        return self.function(self, x)


@pytest.mark.parametrize(
    ("model", "size"),
    [
        (Plain(lambda m, x: x * m.vector, vector=torch.randn(4)), 4),
        (Plain(lambda m, x: torch.relu(x) @ m.matrix, matrix=torch.randn(4, 3)), 4),
        (Plain(lambda m, x: F.relu((x - m.vector).unsqueeze(1)), vector=torch.randn(1, 4)), 4),
        (Plain(lambda m, x: x.view(-1, 2, 3)), 6),
        (Plain(lambda m, x: x.reshape(x.shape[0], 2, 3)), 6),
        (nn.Sequential(nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 2, 3)), 4),
        (nn.LayerNorm(4), 4),
        (nn.LayerNorm((2, 3)), 6),
        (nn.Sequential(nn.Unflatten(1, (2, 3)), nn.Flatten(), nn.Linear(6, 1)), 6),
        (
            Plain(
                lambda m, x: torch.cat([x, 2 * x, m.vector.expand(len(x), -1)], 1) @ m.matrix, vector=torch.ones(2), matrix=torch.ones(8, 1)
            ),
            3,
        ),
        (nn.PReLU(4), 4),
        (nn.Sequential(nn.Linear(1, 5), nn.Tanh()), 1),
        (nn.Sequential(nn.Dropout(), nn.BatchNorm1d(4)), 4),
    ],
)
def test_input_size_is_found(model, size):
    assert load_network(model).num_inputs == size


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.one = nn.Linear(3, 2)
        self.other = nn.Linear(4, 2)

    def forward(self, x, y, scale=1.0):
        total = self.one(x) + scale * self.other(y)
        return {"total": total, "parts": (self.one(x), torch.relu(self.other(y)))}


POINTS = np.random.default_rng(2).normal(size=(5, 7))


def run_two(points, scale=1.0):
    x, y = torch.tensor(points[:, :3]), torch.tensor(points[:, 3:])
    with torch.no_grad():
        result = Two().double()(x, y, scale)
    return result["total"].numpy(), result["parts"][0].numpy(), result["parts"][1].numpy()


def test_several_inputs_and_outputs():
    """Inputs and outputs one after the other, in the order of the model; names change the order or choose."""
    total, first, second = run_two(POINTS)
    np.testing.assert_allclose(load_network(Two())(POINTS), np.hstack([total, first, second]), atol=1e-6)
    np.testing.assert_allclose(load_network(Two(), outputs="total")(POINTS), total, atol=1e-6)
    np.testing.assert_allclose(load_network(Two(), outputs=["parts.1", "total"])(POINTS), np.hstack([second, total]), atol=1e-6)
    turned = load_network(Two(), inputs=["y", "x"], outputs="total")
    np.testing.assert_allclose(turned(np.hstack([POINTS[:, 3:], POINTS[:, :3]])), total, atol=1e-6)


def test_inputs_that_are_constants():
    fixed = np.array([1.0, -1.0, 0.5, 2.0])
    total, _, _ = run_two(np.hstack([POINTS[:, :3], np.tile(fixed, (5, 1))]), 3.0)
    network = load_network(Two(), inputs={"x": None, "y": fixed, "scale": 3.0}, outputs="total")
    np.testing.assert_allclose(network(POINTS[:, :3]), total, atol=1e-6)


def test_constant_category():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.linear = nn.Embedding(4, 2), nn.Linear(5, 1)

        def forward(self, x, kind):
            return self.linear(torch.cat([x, self.table(kind)], 1))

    model = Model()
    network = load_network(model, inputs={"x": None, "kind": np.array(2)})
    with torch.no_grad():
        expected = model(torch.ones(1, 3), torch.tensor([2])).numpy()
    np.testing.assert_allclose(network(np.ones((1, 3))), expected, atol=1e-6)


def test_shapes_of_several_inputs():
    class Model(nn.Module):
        def forward(self, image, offset):
            return image.flatten(1).mean(1, keepdim=True) + offset

    assert load_network(Model(), input_shape={"image": (2, 3), "offset": 1}).num_inputs == 7
    with pytest.raises(InputError, match="is one shape, but the torch model has 2 inputs"):
        load_network(Model(), input_shape=(2, 3))
    with pytest.raises(InputError, match="input_shape has 'picture'"):
        load_network(Model(), input_shape={"picture": (2, 3)})


def test_names_that_are_not_there():
    with pytest.raises(InputError, match="inputs has 'z', but the forward pass of the torch model takes x, y, scale"):
        load_network(Two(), inputs=["x", "z"])
    with pytest.raises(InputError, match=r"says nothing of 'y'.*inputs=\{'x': None, 'y': value\}"):
        load_network(Two(), inputs=["x"])
    with pytest.raises(InputError, match=r"outputs has 'none', but the torch model returns total, parts\.0, parts\.1"):
        load_network(Two(), outputs="none")
    with pytest.raises(NetworkError, match="nothing that depends on its input"):
        load_network(Apply(lambda m, x: m.vector + 1, vector=[1.0]), input_shape=3)


def test_dataclass_as_output():
    @dataclasses.dataclass
    class Output:
        mean: torch.Tensor
        rest: torch.Tensor | None = None

    assert load_network(Apply(lambda m, x: Output(2 * x)), outputs="mean").num_outputs == 4


@pytest.mark.parametrize("head", [nn.Sigmoid(), nn.Softmax(1), nn.LogSoftmax(1), nn.Sequential(nn.Softmax(-1), nn.Flatten())])
def test_logits(head):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 3), head)
    network = load_network(model, outputs="logits")
    assert network.is_piecewise_linear
    points = np.random.default_rng(0).normal(size=(5, 3))
    with torch.no_grad():
        expected = model[:3].double()(torch.tensor(points)).numpy()
    np.testing.assert_allclose(network(points), expected, atol=1e-12)
    with pytest.raises(InputError, match="does not end in one"):
        load_network(model[:3], outputs="logits")


def test_softplus_above_its_threshold():
    """Torch is 2e-9 off above 20, which is allowed for; other errors of that size are not."""
    model = nn.Sequential(nn.Linear(3, 4), nn.Softplus(), nn.Linear(4, 1))
    model[0].weight.data *= 20.0
    assert load_network(model).num_outputs == 1
    network = load_network(nn.Sequential(nn.Linear(3, 4), nn.ReLU()))
    assert softplus_error(network, np.ones((2, 3))).tolist() == [0.0, 0.0]


def test_roots_and_logarithms_are_compared_where_they_are_defined():
    assert_same(Apply(lambda m, x: torch.sqrt(torch.relu(x) + 0.1)))
    network = load_network(Plain(lambda m, x: torch.log(x) + x.sqrt()), input_shape=2)
    np.testing.assert_allclose(network([[2.0, 3.0]]), np.log([[2.0, 3.0]]) + np.sqrt([[2.0, 3.0]]))
    with pytest.raises(ImportMismatchError, match="does not reproduce"):
        load_network(Plain(lambda m, x: 1 / x), input_shape=2)
    with pytest.raises(ImportMismatchError, match="defined at 0 of"):
        load_network(Plain(lambda m, x: torch.log(x - 1000.0)), input_shape=2)


def test_lazy_and_other_objects():
    with pytest.raises(NetworkError, match="lazy layers"):
        load_network(nn.Sequential(nn.LazyLinear(2)))
    with pytest.raises(InputError, match="Tensor is not a model"):
        load_network(torch.zeros(2))
    with pytest.raises(NetworkError, match="meta tensor"):
        load_network(nn.Linear(2, 1, device="meta"))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_precisions(dtype):
    assert_same(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)).to(dtype))


ACTIVATIONS = st.sampled_from([nn.ReLU, nn.LeakyReLU, nn.PReLU, nn.ReLU6, nn.Hardtanh, nn.Identity, nn.Dropout])


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 6), ACTIVATIONS, st.booleans(), st.booleans()), min_size=1, max_size=4), st.integers(0, 1000))
def test_random_architecture(layers, seed):
    torch.manual_seed(seed)
    width, modules = 3, []
    for size, activation, bias, normalize in layers:
        modules += [nn.Linear(width, size, bias=bias), activation()] + [batch_norm(size)] * normalize
        width = size
    assert_same(nn.Sequential(*modules))
