"""Live modules: what is followed in them, and that they stay as they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from dcembed.errors import ImportMismatchError  # noqa: E402
from dcembed.importers import load_network  # noqa: E402
from dcembed.importers.torch_.recording.rounding import softplus_error  # noqa: E402
from importers.torch_.comparing import Behind, assert_loads  # noqa: E402
from importers.torch_.constructions import Apply  # noqa: E402


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
    network = assert_loads(Shared())
    assert network.widths == (3, 3)


def test_nested_sequential():
    torch.manual_seed(0)
    inner = nn.Sequential(nn.Sequential(nn.Linear(3, 5), nn.ReLU()), nn.Dropout())
    network = assert_loads(nn.Sequential(nn.Identity(), inner, nn.Sequential(nn.Linear(5, 2))))
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


def test_single_precision_inside():
    """A model that converts to float32 by itself is checked in float32."""
    network = load_network(Behind(lambda m, x: F.linear(x.float(), m.matrix.float()), matrix=np.eye(4)))
    assert network.num_outputs == 4


def test_overridden_forward_is_followed():
    class Squared(nn.Linear):
        def forward(self, x):
            return super().forward(x) ** 2

    network = assert_loads(nn.Sequential(Squared(3, 2)))
    assert str(network) == "Network(3 inputs -> 2 square -> 2 outputs)"


def test_batch_axis_in_another_place():
    assert_loads(Behind(lambda m, x: torch.stack([x, 2 * x], 0).transpose(0, 1)))
    network = load_network(Behind(lambda m, x: torch.stack([x, 2 * x], 0)))
    assert network.num_outputs == 8


def test_hooks_are_followed():
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    model[0].register_forward_hook(lambda module, args, output: output + 1.0)
    model[0].register_forward_pre_hook(lambda module, args: (2.0 * args[0],))
    assert_loads(model)


def test_checks_of_numbers_are_no_branches():
    class Checked(nn.Module):
        def forward(self, x):
            if torch.isnan(x).any() or not torch.isfinite(x).all():
                raise ValueError
            return torch.relu(torch.nan_to_num(x))

    assert_loads(Checked(), input_shape=3)


def test_softplus_above_its_threshold():
    """Torch is 2e-9 off above 20, which is allowed for; other errors of that size are not."""
    model = nn.Sequential(nn.Linear(3, 4), nn.Softplus(), nn.Linear(4, 1))
    model[0].weight.data *= 20.0
    assert load_network(model).num_outputs == 1
    network = load_network(nn.Sequential(nn.Linear(3, 4), nn.ReLU()))
    assert softplus_error(network, np.ones((2, 3))).tolist() == [0.0, 0.0]


def test_roots_and_logarithms_are_compared_where_they_are_defined():
    assert_loads(Behind(lambda m, x: torch.sqrt(torch.relu(x) + 0.1)))
    network = load_network(Apply(lambda m, x: torch.log(x) + x.sqrt()), input_shape=2)
    np.testing.assert_allclose(network([[2.0, 3.0]]), np.log([[2.0, 3.0]]) + np.sqrt([[2.0, 3.0]]))
    with pytest.raises(ImportMismatchError, match="does not reproduce"):
        load_network(Apply(lambda m, x: 1 / x), input_shape=2)
    with pytest.raises(ImportMismatchError, match="defined at 0 of"):
        load_network(Apply(lambda m, x: torch.log(x - 1000.0)), input_shape=2)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_precisions(dtype):
    assert_loads(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)).to(dtype))


def batch_norm(num_features, **options):
    layer = nn.BatchNorm1d(num_features, **options)
    layer.running_mean = torch.linspace(-1, 2, num_features)
    layer.running_var = torch.linspace(0.1, 3, num_features)
    if layer.affine:
        layer.weight.data = torch.linspace(-2, 2, num_features)
        layer.bias.data = torch.linspace(3, 1, num_features)
    return layer


ACTIVATIONS = st.sampled_from([nn.ReLU, nn.LeakyReLU, nn.PReLU, nn.ReLU6, nn.Hardtanh, nn.Identity, nn.Dropout])


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 6), ACTIVATIONS, st.booleans(), st.booleans()), min_size=1, max_size=4), st.integers(0, 1000))
def test_random_architecture(layers, seed):
    torch.manual_seed(seed)
    width, modules = 3, []
    for size, activation, bias, normalize in layers:
        modules += [nn.Linear(width, size, bias=bias), activation()] + [batch_norm(size)] * normalize
        width = size
    assert_loads(nn.Sequential(*modules))
