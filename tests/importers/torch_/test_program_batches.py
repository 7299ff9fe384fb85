"""Programs of torch.export: batch axes that are free, fixed, absent or elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.export import Dim  # noqa: E402

from dcembed.errors import ImportMismatchError, InputError  # noqa: E402
from dcembed.importers import load_network  # noqa: E402
from importers.torch_.comparing import assert_same, export  # noqa: E402
from importers.torch_.constructions import Apply  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


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
