"""Modules that are not read by running them on one point are tried through torch.export."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from dcembed.errors import ImportMismatchError, NetworkError  # noqa: E402
from dcembed.importers import load_logits, load_network  # noqa: E402
from importers.torch_.comparing import assert_same  # noqa: E402
from importers.torch_.constructions import Apply  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


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
    logits, heads = load_logits(Alone())
    assert logits.widths == (4,)
    assert heads == ("softmax",)


def test_second_try_that_does_not_help():
    """Both ways see the same, so one of them is told of."""
    with pytest.raises(ImportMismatchError, match="which mixes the points of a batch") as info:
        load_network(Apply(lambda m, x: x - x.mean(0)), input_shape=3)
    assert "torch.export" not in str(info.value)


def test_second_try_that_torch_refuses(monkeypatch):
    def refuse(*args, **kwargs):
        raise RuntimeError("the reason\nand a long story")

    monkeypatch.setattr(torch.export, "export", refuse)
    with pytest.raises((ImportMismatchError, NetworkError), match="mixes the points") as info:
        load_network(Alone())
    assert str(info.value).endswith("torch.export, which was tried as well, does not help: RuntimeError: the reason")
