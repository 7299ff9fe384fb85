"""Every construction of torch as a program of torch.export: the program itself, its file, and what is left when torch takes layers apart."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from dcembed.importers import load_network  # noqa: E402
from dcembed.importers.torch_.live import second_try  # noqa: E402
from dcembed.importers.torch_.live.arguments import Arguments  # noqa: E402
from importers.torch_.comparing import assert_same, export  # noqa: E402
from importers.torch_.constructions import BY_NAME, choose  # noqa: E402
from importers.torch_.forms import REFUSED, End, Form, accepted  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("name", accepted(Form.PROGRAM))
def test_construction(name, tmp_path):
    construction = BY_NAME[name]
    program = export(construction.build(), construction.shape)
    torch.export.save(program, tmp_path / "program.pt2")
    for source in (program, tmp_path / "program.pt2"):
        network = load_network(source)
        assert_same(network, construction.build(), construction.shape)
        assert network.is_piecewise_linear or not construction.piecewise


@pytest.mark.parametrize("name", REFUSED[Form.PROGRAM])
def test_refused(name):
    """The table of refusals is true."""
    assert REFUSED[Form.PROGRAM][name].end is End.NOT_WRITTEN
    with pytest.raises(Exception, match="sparse"):
        export(BY_NAME[name].build(), BY_NAME[name].shape)


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
def test_core_operators(name):
    """After torch has taken the layers apart."""
    construction = BY_NAME[name]
    network = load_network(export(construction.build(), construction.shape, count=4).run_decompositions())
    assert network.num_inputs == np.prod(construction.shape)
    assert_same(network, construction.build(), construction.shape)


@pytest.mark.parametrize("name", SOME[::3])
def test_core_operators_of_a_fixed_batch(name):
    """With the size of the batch in all reshapes."""
    construction = BY_NAME[name]
    network = load_network(export(construction.build(), construction.shape, count=4, free=False).run_decompositions())
    assert network.num_inputs == np.prod(construction.shape)
    assert_same(network, construction.build(), construction.shape)


@pytest.mark.parametrize("name", SOME)
def test_fixed_batch(name):
    construction = BY_NAME[name]
    network = load_network(export(construction.build(), construction.shape, count=5, free=False))
    assert network.num_inputs == np.prod(construction.shape)
    assert_same(network, construction.build(), construction.shape)


@pytest.mark.parametrize("name", SOME[::4])
def test_second_try(name):
    construction = BY_NAME[name]
    arguments = Arguments(("x",), ("x",), {})
    program = second_try.export_module(construction.build(), arguments, {"x": construction.shape}, torch.float64)
    assert_same(load_network(program), construction.build(), construction.shape)
