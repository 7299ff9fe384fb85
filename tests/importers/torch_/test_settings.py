"""Settings of torch are the user's: loading neither minds them nor changes them."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from dcembed.importers import load_network  # noqa: E402
from importers.torch_.files import assert_reads, export_model, make_model, save_script  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


class Draws(nn.Module):
    """Draws numbers that it makes no use of."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, x):
        torch.rand(2)
        return torch.relu(self.linear(x))


def test_random_numbers_are_drawn_again():
    model = Draws()
    before = torch.get_rng_state()
    load_network(model)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("kind", ["module", "script", "script file", "program", "program file"])
def test_default_device(kind, tmp_path):
    """As while a model is made without memory, or on another machine."""
    model = make_model()
    made = {"module": model, "script": torch.jit.script(model), "program": export_model()}
    made["script file"] = save_script(model, str(tmp_path / "script.pt"))
    torch.export.save(made["program"], tmp_path / "program.pt2")
    made["program file"] = tmp_path / "program.pt2"
    torch.set_default_device("meta")
    try:
        network = load_network(made[kind])
        assert torch.get_default_device().type == "meta"
    finally:
        torch.set_default_device(None)
    assert_reads(network)
