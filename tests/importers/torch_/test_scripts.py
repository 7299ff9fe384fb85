"""Every construction of torch as TorchScript, live and from files: traced all of them, scripted those whose code has branches."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from dcembed.errors import DcembedError  # noqa: E402
from importers.torch_.comparing import assert_same, load_script  # noqa: E402
from importers.torch_.constructions import BY_NAME, choose  # noqa: E402
from importers.torch_.forms import REFUSED, End, Form, accepted  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def trace(construction):
    example = torch.full((3, *construction.shape), 0.1, dtype=torch.float64)
    return torch.jit.trace(construction.build(), example, check_trace=False)


@pytest.mark.parametrize("name", accepted(Form.SCRIPT))
def test_traced_construction(name, tmp_path):
    construction = BY_NAME[name]
    for network in load_script(trace(construction), tmp_path, input_shape=construction.shape):
        assert_same(network, construction.build(), construction.shape)


@pytest.mark.parametrize("name", REFUSED[Form.SCRIPT])
def test_refused(name, tmp_path):
    """The table of refusals is true."""
    assert REFUSED[Form.SCRIPT][name].end is End.NOT_READ
    with pytest.raises(DcembedError):
        load_script(trace(BY_NAME[name]), tmp_path, input_shape=BY_NAME[name].shape)


# Layers of torch.nn, with all their branches in the code.
SCRIPTED = choose(
    "ReLU",
    "PReLU",
    "RReLU",
    "ELU",
    "CELU",
    "GELU tanh",
    "SiLU",
    "Softplus",
    "Threshold",
    "Softmax",
    "LogSoftmax",
    "Conv1d same",
    "Conv2d",
    "Conv2d reflect",
    "Conv2d circular",
    "ConvTranspose2d",
    "CNN",
    "MaxPool2d dilated",
    "AvgPool2d",
    "AdaptiveAvgPool2d",
    "AdaptiveMaxPool2d",
    "LPPool2d",
    "BatchNorm1d",
    "InstanceNorm2d",
    "LayerNorm",
    "GroupNorm",
    "RMSNorm",
    "LocalResponseNorm",
    "Upsample nearest",
    "Upsample bilinear",
    "Upsample bicubic",
    "ReflectionPad2d",
    "PixelShuffle",
    "Unfold",
    "Fold",
    "Unflatten",
    "Dropout",
    "AlphaDropout",
    "TransformerEncoderLayer",
    "TransformerEncoderLayer first",
    "residual with a check of the shape",
)


@pytest.mark.parametrize("name", SCRIPTED)
def test_scripted_construction(name, tmp_path):
    construction = BY_NAME[name]
    for network in load_script(torch.jit.script(construction.build()), tmp_path, input_shape=construction.shape):
        assert_same(network, construction.build(), construction.shape)
