"""Programs of torch.export: every construction, batches of all kinds, several inputs and outputs, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.export import Dim  # noqa: E402

from dcembed.errors import ImportMismatchError, InputError, NetworkError, UnsupportedLayerError  # noqa: E402
from dcembed.importers import load_network, save_network  # noqa: E402
from dcembed.importers.torch_ import aten  # noqa: E402
from dcembed.importers.torch_.live import second_try as torch_second_try  # noqa: E402
from dcembed.importers.torch_.live.arguments import Arguments  # noqa: E402
from dcembed.importers.torch_.recording.outputs import flatten  # noqa: E402
from importers.torch_constructions import BY_NAME, NAMES, Apply, choose  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

# Torch itself has no way to write it down.
NOT_EXPORTED = choose("sparse matrix")


def export(model, *shapes, count=3, free=True, dtype=torch.float64):
    """The program of a module, with a free batch axis or one of a fixed size."""
    inputs = tuple(torch.zeros((count, *shape), dtype=dtype) for shape in shapes)
    dynamic = tuple({0: Dim.AUTO} for _ in inputs) if free else None
    return torch.export.export(model, inputs, dynamic_shapes=dynamic)


def evaluate(model, points, *shapes):
    """What a module gives for points that hold its inputs one after the other."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    pieces = [torch.tensor(piece.reshape(-1, *shape)) for piece, shape in zip(np.split(points, ends, axis=1), shapes, strict=True)]
    with torch.no_grad():
        values = flatten(model.double()(*pieces))
    return np.concatenate([value.numpy().reshape(len(points), -1) for value in values], axis=1)


def assert_same(network, model, *shapes, atol=1e-9):
    points = np.random.default_rng(1).normal(size=(20, network.num_inputs))
    np.testing.assert_allclose(network(points), evaluate(model, points, *shapes), rtol=atol, atol=atol)


class Network(nn.Module):
    """A little of everything that a graph has to say about its batch."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last = nn.Linear(3, 8), nn.Linear(8, 2)
        self.register_buffer("mean", torch.arange(3.0))

    def forward(self, x):
        hidden = torch.relu(self.first(x - self.mean))
        hidden = hidden.view(x.size(0), 4, 2).transpose(1, 2).reshape(x.shape[0], -1)
        return self.last(hidden) + torch.tensor([1.0, 2.0])


# The table.


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NOT_EXPORTED])
def test_construction(name, tmp_path):
    """The program itself, the file that torch.export.save writes of it, and the network from our own file."""
    construction = BY_NAME[name]
    program = export(construction.build(), construction.shape)
    torch.export.save(program, tmp_path / "program.pt2")
    for source in (program, tmp_path / "program.pt2"):
        network = load_network(source)
        assert_same(network, construction.build(), construction.shape)
        assert network.is_piecewise_linear or not construction.piecewise
    save_network(network, tmp_path / "network.npz")
    points = np.random.default_rng(2).normal(size=(5, network.num_inputs))
    np.testing.assert_allclose(load_network(tmp_path / "network.npz")(points), network(points), rtol=1e-12, atol=1e-12)


SOME = choose(
    "ReLU",
    "PReLU",
    "ELU",
    "CELU",
    "SELU",
    "GELU",
    "SiLU",
    "Mish",
    "Softplus",
    "Hardswish",
    "LogSigmoid",
    "Softmax",
    "LayerNorm",
    "GroupNorm",
    "InstanceNorm2d",
    "RMSNorm",
    "BatchNorm1d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose2d",
    "MaxPool2d",
    "AvgPool2d",
    "AdaptiveAvgPool2d",
    "LSTM",
    "GRU",
    "MultiheadAttention",
    "TransformerEncoderLayer",
    "Upsample bilinear",
    "PixelShuffle",
    "einsum",
    "Bilinear",
    "logsumexp",
)


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("free", [True, False], ids=["free", "fixed"])
def test_core_operators(name, free):
    """After torch has taken the layers apart, with a free batch axis and with the size of the batch in all reshapes."""
    construction = BY_NAME[name]
    program = export(construction.build(), construction.shape, count=4, free=free).run_decompositions()
    network = load_network(program)
    assert network.num_inputs == np.prod(construction.shape)
    assert_same(network, construction.build(), construction.shape)


@pytest.mark.parametrize("name", SOME)
def test_fixed_batch(name):
    construction = BY_NAME[name]
    network = load_network(export(construction.build(), construction.shape, count=5, free=False))
    assert network.num_inputs == np.prod(construction.shape)
    assert_same(network, construction.build(), construction.shape)


# Batches.


@pytest.mark.parametrize("count", [1, 2, 3, 4, 8, 64])
def test_batch_sizes(count, tmp_path):
    """Three inputs, four rows and eight units: no size of the batch is taken for one of them."""
    program = export(Network(), (3,), count=count, free=False, dtype=torch.float32)
    torch.export.save(program, tmp_path / "program.pt2")
    for source in (program, program.run_decompositions(), tmp_path / "program.pt2"):
        network = load_network(source)
        assert network.widths == (8,)
        assert_same(network, Network(), (3,))


@pytest.mark.parametrize("limits", [{}, {"min": 2}, {"min": 4, "max": 16}, {"max": 5}])
def test_limits_of_the_batch(limits, tmp_path):
    program = torch.export.export(Network(), (torch.zeros(4, 3),), dynamic_shapes=({0: Dim("batch", **limits)},))
    torch.export.save(program, tmp_path / "program.pt2")
    assert_same(load_network(program), Network(), (3,))
    assert_same(load_network(tmp_path / "program.pt2"), Network(), (3,))


def test_no_batch_axis():
    """One point, of one axis or of two; the rows of the second are not points, since they know of each other."""
    vector = torch.export.export(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)), (torch.zeros(3),))
    assert (load_network(vector).num_inputs, load_network(vector).num_outputs) == (3, 1)
    matrix = torch.export.export(Apply(lambda m, x: torch.relu(x @ x.T)), (torch.zeros(2, 3),))
    network = load_network(matrix)
    assert (network.num_inputs, network.num_outputs) == (6, 4)
    points = np.random.default_rng(0).normal(size=(4, 2, 3))
    expected = np.maximum(points @ points.transpose(0, 2, 1), 0).reshape(4, -1)
    np.testing.assert_allclose(network(points.reshape(4, -1)), expected, atol=1e-9)


def test_input_shape_settles_what_a_batch_is():
    program = torch.export.export(nn.Sequential(nn.Linear(3, 4), nn.ReLU()), (torch.zeros(5, 3),))
    assert load_network(program).num_inputs == 3
    assert load_network(program, input_shape=3).num_inputs == 3
    assert load_network(program, input_shape=(5, 3)).num_inputs == 15
    with pytest.raises(InputError, match=r"input 'input' has the axes \(5, 3\), which input_shape=\(4,\) does not fit"):
        load_network(program, input_shape=4)


def test_free_axes_need_a_shape():
    program = torch.export.export(
        Apply(lambda m, x: torch.relu(x).mean(1)), (torch.zeros(2, 7),), dynamic_shapes=({0: Dim.DYNAMIC, 1: Dim.DYNAMIC},)
    )
    with pytest.raises(InputError, match="its input 'x' has axes of free size beside the batch axis"):
        load_network(program)
    assert load_network(program, input_shape=4).num_inputs == 4


def test_batch_axis_elsewhere():
    """Sequences first: the batch is the second axis of what comes out."""

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.cells = nn.GRU(2, 3)

        def forward(self, x):
            return self.cells(x.transpose(0, 1))[0]

    network = load_network(export(Recurrent(), (4, 2), dtype=torch.float32))
    points = np.random.default_rng(0).normal(size=(5, 8))
    with torch.no_grad():
        expected = Recurrent().double()(torch.tensor(points.reshape(5, 4, 2))).transpose(0, 1).reshape(5, -1).numpy()
    np.testing.assert_allclose(network(points), expected, atol=1e-9)


def test_points_that_are_mixed_are_refused():
    program = export(Apply(lambda m, x: x - x.mean(0)), (3,))
    with pytest.raises(ImportMismatchError, match=r"does not reproduce the program of torch\.export"):
        load_network(program)


# What is in a graph.


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


# Inputs and outputs.


class Several(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.left, self.right = nn.Linear(3, 4), nn.Linear(2, 4)

    def forward(self, x, z):
        y = self.left(x) + self.right(z)
        return {"score": y.softmax(1), "rest": (torch.relu(y), y.sum(1))}


class Labels(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(3, 4)

    def forward(self, x):
        y = self.linear(x)
        return {"label": y.argmax(1), "score": y.softmax(1), "top": tuple(y.max(1))}


@pytest.fixture(params=["program", "file"])
def kind(request, tmp_path):
    """How a program is passed on: as it is, or as a file."""

    def pass_on(program):
        torch.export.save(program, tmp_path / "program.pt2")
        return program if request.param == "program" else tmp_path / "program.pt2"

    return pass_on


def test_several_inputs_and_outputs(kind):
    source = kind(export(Several().double(), (3,), (2,)))
    network = load_network(source)
    assert (network.num_inputs, network.num_outputs) == (5, 9)
    assert_same(network, Several(), (3,), (2,))
    points = np.random.default_rng(0).normal(size=(6, 5))
    turned = load_network(source, inputs=["z", "x"], outputs=["rest.1", "score"])
    np.testing.assert_allclose(turned(points[:, [3, 4, 0, 1, 2]]), network(points)[:, [8, 0, 1, 2, 3]], atol=1e-12)
    fixed = load_network(source, inputs={"x": None, "z": [0.5, -1.0]}, outputs="rest.0")
    points[:, 3:] = 0.5, -1.0
    np.testing.assert_allclose(fixed(points[:, :3]), network(points)[:, 4:8], atol=1e-12)


def test_logits(kind):
    source = kind(export(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3), nn.Softmax(1)).double(), (3,)))
    logits, points = load_network(source, outputs="logits"), np.random.default_rng(0).normal(size=(5, 3))
    values = np.exp(logits(points))
    np.testing.assert_allclose(load_network(source)(points), values / values.sum(axis=1, keepdims=True), atol=1e-12)
    with pytest.raises(InputError, match="does not end in one"):
        load_network(kind(export(nn.Linear(3, 2).double(), (3,))), outputs="logits")


def test_outputs_that_cannot_be_embedded(kind):
    source = kind(export(Labels().double(), (3,)))
    with pytest.raises(UnsupportedLayerError) as info:
        load_network(source)
    assert "argmax (gives places of entries, which jump" in str(info.value)
    assert "This is about the outputs 'label', 'top.1'; the outputs 'score', 'top.0' can be embedded: " in str(info.value)
    assert load_network(source, outputs=["score", "top.0"]).num_outputs == 5


def test_live_outputs_that_cannot_be_embedded():
    with pytest.raises(UnsupportedLayerError, match=r"load_network\(model, outputs=\['score', 'top.0'\]\)"):
        load_network(Labels())
    assert_same(load_network(Labels(), outputs="score"), Apply(lambda m, x: m.linear(x).softmax(1), linear=Labels().linear), (3,))


def test_indices_are_given(kind):
    class Embedded(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.table, self.linear = nn.Embedding(5, 2), nn.Linear(5, 1)

        def forward(self, x, place):
            return self.linear(torch.cat([x, self.table(place)], dim=1))

    inputs = (torch.zeros(2, 3, dtype=torch.float64), torch.zeros(2, dtype=torch.int64))
    source = kind(torch.export.export(Embedded().double(), inputs, dynamic_shapes=({0: Dim.AUTO}, {0: Dim.AUTO})))
    with pytest.raises(InputError, match=r"input 'place' of the program is of type torch.int64.*inputs=\{'place': value, ...\}"):
        load_network(source)
    network = load_network(source, inputs={"x": None, "place": 3})
    points = np.random.default_rng(0).normal(size=(4, 3))
    with torch.no_grad():
        expected = Embedded().double()(torch.tensor(points), torch.full((4,), 3)).numpy()
    np.testing.assert_allclose(network(points), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"inputs": ["x"]}, r"inputs leaves out z\. Add it, or give it a value: inputs=\{'x': None, 'z': value\}"),
        ({"inputs": ["x", "y", "z"]}, r"inputs has 'y', which the model does not\. Its inputs are x, z"),
        ({"outputs": "scores"}, r"outputs has 'scores', but the torch model returns score, rest\.0, rest\.1"),
        ({"inputs": {"x": None, "z": [1.0]}}, r"value of 'z' has shape \(1,\).*Accepted are numbers of shape \(2,\)"),
        ({"input_shape": 3}, r"is one shape, but the torch model has 2 inputs \(x, z\)"),
        ({"input_shape": {"y": 3}}, r"input_shape has 'y', but the inputs of the torch model are x, z"),
        ({"architecture": "relu"}, "architecture does not apply to a torch model"),
    ],
)
def test_wrong_choices(options, text):
    with pytest.raises(InputError, match=text):
        load_network(export(Several(), (3,), (2,), dtype=torch.float32), **options)


def test_unused_outputs_are_not_read():
    program = export(Apply(lambda m, x: (torch.floor(x), torch.relu(x))), (3,))
    assert load_network(program, outputs="1").widths == (3,)


# What is refused.


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


# Modules that are not read by running them on one point.


class Alone(nn.Module):
    """Something else for a single point."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        y = self.last(torch.relu(self.first(x)))
        return (y if x.shape[0] > 1 else 0.0 * y).softmax(1)


def test_second_try():
    assert_same(load_network(Alone()), Alone(), (3,))
    logits = load_network(Alone(), outputs="logits")
    assert logits.widths == (4,)


def test_second_try_that_does_not_help():
    """Both ways see the same, so one of them is told of."""
    with pytest.raises(NetworkError, match="it mixes the points of a batch") as info:
        load_network(Apply(lambda m, x: x - x.mean(0)), input_shape=3)
    assert "torch.export" not in str(info.value)


def test_second_try_that_torch_refuses(monkeypatch):
    def refuse(*args, **kwargs):
        raise RuntimeError("the reason\nand a long story")

    monkeypatch.setattr(torch.export, "export", refuse)
    with pytest.raises(NetworkError, match="it mixes the points") as info:
        load_network(Alone())
    assert str(info.value).endswith("torch.export, which was tried as well, does not help: RuntimeError: the reason")


@pytest.mark.parametrize("name", SOME[::4])
def test_second_try_of_constructions(name):
    construction = BY_NAME[name]
    arguments = Arguments(("x",), ("x",), {})
    program = torch_second_try.export_module(construction.build(), arguments, {"x": construction.shape}, torch.float64)
    assert_same(load_network(program), construction.build(), construction.shape)
