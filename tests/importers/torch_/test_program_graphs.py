"""Programs of torch.export: what is in their graphs, and what is refused."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from dcembed.errors import ImportMismatchError, UnsupportedLayerError  # noqa: E402
from dcembed.importers import load_network  # noqa: E402
from dcembed.importers.torch_ import aten  # noqa: E402
from importers.torch_.comparing import assert_same, export  # noqa: E402
from importers.torch_.constructions import Apply  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def _in_place(m, x):
    y = m.linear(x)
    y[:, 1] += 1.0
    y[:, 2:] = 0.5 * y[:, :2]
    z = y.view(-1, 2, 2)
    z.relu_()
    return y


def _without_gradients(m, x):
    with torch.no_grad():
        y = torch.relu(m.linear(x))
    return 2.0 * y


GRAPHS = {
    "changes in place": _in_place,
    "no gradients": _without_gradients,
    "assertions": lambda m, x: torch.relu(m.linear(x)) if x.shape[1] == 4 else x,
    "sizes": lambda m, x: m.linear(x).reshape(x.shape[0], x.shape[1] // 2, -1).flatten(1) * x.numel() / len(x),
    "all axes of size one": lambda m, x: m.linear(x)[:, None, :1].relu().squeeze(),
    "a constant made inside": lambda m, x: m.linear(x) + torch.linspace(0, 1, 4, dtype=x.dtype) * torch.ones_like(x),
    "a loop": lambda m, x: sum(torch.tanh(k * m.linear(x)) for k in range(1, 4)),
    "states that start at zero": lambda m, x: m.linear(x) + x.new_zeros(len(x), 4).relu(),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("free", [True, False], ids=["free", "fixed"])
def test_graph(name, free, tmp_path):
    torch.manual_seed(0)
    model = Apply(GRAPHS[name], linear=nn.Linear(4, 4)).double()
    program = export(model, (4,), free=free)
    torch.export.save(program, tmp_path / "program.pt2")
    assert_same(load_network(program), model, (4,))
    assert_same(load_network(tmp_path / "program.pt2"), model, (4,))


def test_single_precision_inside():
    """A program that converts to single precision is compared in double precision all the same: its conversions are made double."""
    torch.manual_seed(0)
    model = Apply(lambda m, x: m.linear(x.float()).relu().to(torch.float32), linear=nn.Linear(3, 4))
    assert_same(load_network(export(model, (3,), dtype=torch.float32)), Apply(lambda m, x: m.linear(x).relu(), linear=model.linear), (3,))


def test_half_precision_weights():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)).to(torch.bfloat16)
    network = load_network(export(model, (3,), dtype=torch.bfloat16))
    assert_same(network, model.double(), (3,))


def test_program_is_untouched():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 2)
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls += 1.0
            return torch.relu(self.linear(x))

    program = export(Counting(), (3,), dtype=torch.float32)
    before = {name: value.clone() for name, value in program.state_dict.items()}
    assert load_network(program).num_outputs == 2
    assert all(torch.equal(value, before[name]) and value.dtype == before[name].dtype for name, value in program.state_dict.items())


def test_wrong_import_is_noticed(monkeypatch):
    program = export(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double(), (3,))
    right = aten.OPERATORS["tanh"]
    monkeypatch.setitem(aten.OPERATORS, "tanh", lambda builder, value: right(builder, builder.scale(value, 1.0001)))
    with pytest.raises(ImportMismatchError, match=r"does not reproduce the program of torch.export at \d+ of \d+ points"):
        load_network(program)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda m, x: torch.floor(x), r"torch\.floor \(rounds, which jumps\)"),
        (lambda m, x: torch.where(x > 0, x, x - 1), "jumps"),
        (lambda m, x: torch.rand_like(x) * x, "random"),
        (lambda m, x: torch.nn.functional.dropout(x, 0.5, training=True), "random"),
        (lambda m, x: torch.cond(x.sum() > 0, torch.relu, torch.tanh, (x,)), "depends on the input"),
    ],
)
def test_refused(function, text):
    with pytest.raises(UnsupportedLayerError, match=text):
        load_network(export(Apply(function), (3,)))


def test_layers_are_named_as_in_the_model():
    model = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.Hardshrink(), nn.Linear(4, 4)), nn.Hardshrink()).double()
    with pytest.raises(UnsupportedLayerError) as info:
        load_network(export(model, (3,)))
    assert "model has 2 layers that cannot be embedded" in str(info.value)
    assert "'1.0': Hardshrink (jumps by 0.5" in str(info.value)
    assert "'2': Hardshrink (jumps by 0.5" in str(info.value)


def test_training_mode():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU()).double().train()
    with pytest.raises(UnsupportedLayerError, match="normalizes with the batch itself"):
        load_network(export(model, (3,)))


def test_unused_outputs_are_not_read():
    program = export(Apply(lambda m, x: (torch.floor(x), torch.relu(x))), (3,))
    assert load_network(program, outputs="1").widths == (3,)
