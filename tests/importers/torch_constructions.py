"""Layers and functions of torch that go in, one construction per row, for all ways that lead from torch to a network.

A row is a name, a function that makes the module (in double precision, in evaluation mode, with weights of its own), the shape of one
point, and whether all units have to be ReLU.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations, parametrize, prune


@dataclass(frozen=True)
class Construction:
    """One row of the table."""

    name: str
    make: Callable[[], nn.Module]
    shape: tuple[int, ...]
    piecewise: bool

    def build(self) -> nn.Module:
        """The module, the same one at every call."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(zlib.crc32(self.name.encode()))
            module = self.make()
            _stir(module)
        return module.double().eval()


def _stir(module: nn.Module) -> None:
    """Statistics and weights that would otherwise be zeros and ones."""
    for part in module.modules():
        if isinstance(part, nn.modules.batchnorm._NormBase) and part.running_mean is not None:
            part.running_mean.normal_()
            part.running_var.uniform_(0.3, 2.0)
        if isinstance(part, nn.modules.batchnorm._NormBase | nn.LayerNorm | nn.GroupNorm | nn.RMSNorm):
            for parameter in part.parameters(recurse=False):
                parameter.data.normal_(1.0, 0.5)


class Apply(nn.Module):
    """A function of a value and of the module itself, which may have more parts."""

    def __init__(self, function: Callable[..., Any], **parts: Any) -> None:
        super().__init__()
        self.function = function
        for name, part in parts.items():
            if isinstance(part, torch.Tensor) and not isinstance(part, nn.Parameter):
                self.register_buffer(name, part)
            else:
                setattr(self, name, part)

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(self, x)


CONSTRUCTIONS: list[Construction] = []


def _add(name: str, make: Callable[[], nn.Module], shape: tuple[int, ...] = (5,), piecewise: bool = True) -> None:
    CONSTRUCTIONS.append(Construction(name, make, shape, piecewise))


def _apply(name: str, function: Callable[..., Any], shape: tuple[int, ...] = (5,), piecewise: bool = True, **parts: Any) -> None:
    """Parts are given by functions that make them."""
    _add(name, lambda: Apply(function, **{key: make() for key, make in parts.items()}), shape, piecewise)


def _smooth(name: str, make: Callable[[], nn.Module], shape: tuple[int, ...] = (5,)) -> None:
    _add(name, make, shape, piecewise=False)


def _curved(name: str, function: Callable[..., Any], shape: tuple[int, ...] = (5,), **parts: Any) -> None:
    _apply(name, function, shape, piecewise=False, **parts)


def _param(*shape: int) -> Callable[[], nn.Parameter]:
    return lambda: nn.Parameter(torch.randn(*shape))


# Activations as modules.

for _kind in (nn.ReLU, nn.ReLU6, nn.Hardtanh, nn.Hardsigmoid, nn.LeakyReLU, nn.PReLU, nn.RReLU, nn.Softshrink):
    _add(_kind.__name__, _kind)
for _kind in (
    nn.ELU,
    nn.SELU,
    nn.CELU,
    nn.GELU,
    nn.SiLU,
    nn.Mish,
    nn.Softplus,
    nn.LogSigmoid,
    nn.Softsign,
    nn.Tanh,
    nn.Sigmoid,
    nn.Hardswish,
):
    _smooth(_kind.__name__, _kind)
_smooth("Tanhshrink", nn.Tanhshrink)
_smooth("GELU tanh", lambda: nn.GELU("tanh"))
_smooth("ELU alpha", lambda: nn.ELU(0.3))
_smooth("CELU alpha", lambda: nn.CELU(1.7))
_smooth("Softplus beta", lambda: nn.Softplus(3.0, 40.0))
_smooth("GLU", nn.GLU, (6,))
_smooth("GLU over channels", lambda: nn.GLU(1), (4, 3))
_add("LeakyReLU slope", lambda: nn.LeakyReLU(-0.3))
_add("PReLU per channel", lambda: nn.PReLU(5))
_add("PReLU over channels", lambda: nn.PReLU(2), (2, 3))
_add("Hardtanh limits", lambda: nn.Hardtanh(-0.3, 1.7))
_add("Threshold", lambda: nn.Threshold(0.4, 0.4))
_add("ReLU inplace", lambda: nn.Sequential(nn.Linear(5, 4), nn.ReLU(inplace=True), nn.Linear(4, 2)))
_add("Softshrink width", lambda: nn.Softshrink(1.2))
_smooth("Softmax", lambda: nn.Softmax(1))
_smooth("Softmax of two", lambda: nn.Sequential(nn.Linear(5, 2), nn.Softmax(-1)))
_smooth("Softmax2d", nn.Softmax2d, (3, 2, 2))
_smooth("Softmin", lambda: nn.Softmin(1))
_smooth("LogSoftmax", lambda: nn.LogSoftmax(-1))

# Activations as functions and methods.

_apply("F.relu", lambda m, x: F.relu(x))
_apply("F.relu inplace", lambda m, x: F.relu(2 * x, inplace=True))
_apply("Tensor.relu_", lambda m, x: (x + 1).relu_())
_apply("F.relu6", lambda m, x: F.relu6(x))
_apply("F.leaky_relu", lambda m, x: F.leaky_relu(x, negative_slope=0.3))
_apply("F.prelu", lambda m, x: F.prelu(x, m.slope), slope=lambda: torch.tensor([0.3]))
_apply("F.rrelu", lambda m, x: F.rrelu(x, 0.1, 0.4))
_apply("F.hardtanh", lambda m, x: F.hardtanh(x, -2.0, 0.5))
_apply("F.hardsigmoid", lambda m, x: F.hardsigmoid(x))
_apply("F.softshrink", lambda m, x: F.softshrink(x, 0.2))
_apply("F.threshold", lambda m, x: F.threshold(x, -0.5, -0.5))
_apply("abs", lambda m, x: torch.abs(x) + x.abs() + abs(x))
_apply("clamp", lambda m, x: torch.clamp(x, -0.3, 0.4) + x.clamp(min=0.5) + x.clamp_max(0.2) + torch.clip(x, max=0.1))
_apply("clamp by tensors", lambda m, x: torch.clamp(x, max=m.limit) + torch.clamp(x, m.limit - 1.0, m.limit), limit=lambda: torch.randn(5))
_apply("maximum and minimum", lambda m, x: torch.maximum(x, m.other) - torch.minimum(x, 2 * x), other=lambda: torch.randn(5))
_apply("maxout", lambda m, x: m.linear(x).reshape(-1, 4, 3).amax(2), linear=lambda: nn.Linear(5, 12))
for _name in ("elu", "selu", "celu", "gelu", "silu", "mish", "softplus", "logsigmoid", "softsign", "hardswish", "tanhshrink"):
    _curved(f"F.{_name}", lambda m, x, name=_name: getattr(F, name)(x))
for _name in ("tanh", "sigmoid", "sin", "cos", "exp", "square", "erf", "atan", "sinh", "cosh", "expm1", "erfc", "exp2"):
    _curved(f"torch.{_name}", lambda m, x, name=_name: getattr(torch, name)(0.5 * x))
    _curved(f"Tensor.{_name}", lambda m, x, name=_name: getattr(0.5 * x, name)())
for _name in ("sqrt", "rsqrt", "log", "log2", "log10", "log1p", "reciprocal"):
    _curved(f"torch.{_name}", lambda m, x, name=_name: getattr(torch, name)(x.abs() + 0.5))
_curved("F.glu", lambda m, x: F.glu(x, 1), (6,))
_curved("F.softmax", lambda m, x: F.softmax(x, dim=-1))
_curved("Tensor.softmax", lambda m, x: x.softmax(1))
_curved("F.log_softmax", lambda m, x: F.log_softmax(x, dim=-1))
_curved("F.softmin", lambda m, x: F.softmin(x, dim=-1))
_curved("logit", lambda m, x: torch.logit(0.1 + 0.8 * torch.sigmoid(x)) + torch.logit(0.01 * x + 0.5, eps=1e-3))
_curved("logsumexp", lambda m, x: torch.logsumexp(x, 1, keepdim=True))
_curved("logaddexp", lambda m, x: torch.logaddexp(x[:, :2], x[:, 2:4]))

# Written out.

_curved("swish written out", lambda m, x: x * torch.sigmoid(x))
_curved("swish as a quotient", lambda m, x: x / (1 + torch.exp(-x)))
_curved("quick GELU", lambda m, x: x * torch.sigmoid(1.702 * x))
_curved("GELU written out", lambda m, x: x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0))))
_curved("GELU tanh written out", lambda m, x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3)))))
_curved("Mish written out", lambda m, x: x * torch.tanh(F.softplus(x)))
_curved("hardswish written out", lambda m, x: x * F.relu6(x + 3) / 6)
_curved("softsign written out", lambda m, x: x / (1 + x.abs()))
_curved("logistic written out", lambda m, x: 1 / (1 + torch.exp(-x)))
_curved("softplus written out", lambda m, x: torch.log(1 + torch.exp(x)))
_curved("learned swish", lambda m, x: x * torch.sigmoid(m.beta * x), beta=lambda: nn.Parameter(torch.tensor(1.3)))

_apply("rectifier by where", lambda m, x: torch.where(x > 0, x, 0.1 * x) + torch.where(x < 1.0, 1.0, x))
_apply("rectifier by a mask", lambda m, x: x * (x > 0) + (x > 0).to(x.dtype) * x)
_apply("masked_fill by a comparison", lambda m, x: x.masked_fill(x < 0, 0.0))
_curved("ELU by where", lambda m, x: torch.where(x > 0, x, torch.exp(x) - 1))

# Arithmetic.

_apply("arithmetic", lambda m, x: (3 - 2 * x + x / 4) * m.vector - m.vector / 2, vector=_param(5))
_apply("alpha", lambda m, x: torch.add(x, m.vector, alpha=2) - torch.sub(x, m.vector, alpha=3) + torch.rsub(x, 1), vector=_param(5))
_apply("addcmul with constants", lambda m, x: torch.addcmul(x, m.vector, m.vector, value=0.5), vector=_param(5))
_apply("lerp", lambda m, x: torch.lerp(x, 2 * x + 1, 0.3))
_curved("product", lambda m, x: x[:, :2] * x[:, 2:4])
_curved("quotient", lambda m, x: x[:, :2] / (1 + x[:, 2:4] ** 2))
_curved("powers", lambda m, x: x**2 + torch.pow(0.5 * x, 3) + x.pow(4) / 10 + 2**x)
_curved("fractional power", lambda m, x: (x.abs() + 0.1) ** 0.7)
_curved("gating", lambda m, x: torch.tanh(m.one(x)) * torch.sigmoid(m.two(x)), one=lambda: nn.Linear(5, 3), two=lambda: nn.Linear(5, 3))
_curved("addcmul", lambda m, x: torch.addcmul(x, x, m.linear(x)), linear=lambda: nn.Linear(5, 5))

# Linear maps.

_add("Linear", lambda: nn.Linear(5, 3))
_add("Linear without bias", lambda: nn.Linear(5, 3, bias=False))
_add("Linear inside", lambda: nn.Sequential(nn.Unflatten(1, (2, 3)), nn.Linear(3, 4), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2)), (6,))
_add("Sequential", lambda: nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Dropout(), nn.Linear(4, 2)))
_apply("F.linear", lambda m, x: F.linear(x, m.weight, m.bias), weight=_param(3, 5), bias=_param(3))
_apply("matmul", lambda m, x: x @ m.weight + torch.matmul(x, m.weight) + torch.mm(x, m.weight), weight=_param(5, 3))
_apply("matmul from the left", lambda m, x: torch.matmul(m.weight, x), (3, 2), weight=_param(4, 3))
_apply("batches of matrices", lambda m, x: torch.matmul(x, m.weight), (2, 2, 3), weight=_param(2, 3, 4))
_apply("addmm", lambda m, x: torch.addmm(m.bias, x, m.weight, beta=2, alpha=0.5), weight=_param(5, 3), bias=_param(3))
_apply("baddbmm", lambda m, x: torch.baddbmm(m.bias, x, m.weight.expand(x.shape[0], 3, 4)), (2, 3), weight=_param(3, 4), bias=_param(2, 4))
_apply("bmm", lambda m, x: torch.bmm(x, m.weight.expand(x.shape[0], -1, -1)), (2, 3), weight=_param(3, 4))
_apply("einsum", lambda m, x: torch.einsum("bij,jk->bik", x, m.weight), (2, 3), weight=_param(3, 4))
_apply("einsum with an ellipsis", lambda m, x: torch.einsum("...j,kj->...k", x, m.weight), (2, 3), weight=_param(4, 3))
_apply("tensordot", lambda m, x: torch.tensordot(x, m.weight, dims=([1, 2], [0, 1])), (2, 3), weight=_param(2, 3, 4))
_apply("mv and outer", lambda m, x: (x @ m.vector)[:, None] * m.vector, vector=_param(5))
_curved("bmm of two values", lambda m, x: torch.bmm(x, x.transpose(1, 2)), (2, 3))
_curved("einsum of two values", lambda m, x: torch.einsum("bi,bj->bij", x[:, :2], x[:, 2:]))
_curved("dot of two values", lambda m, x: (x[:, :2] * x[:, 2:4]).sum(-1, keepdim=True))
_curved("Bilinear", lambda m, x: m.layer(x[:, :2], x[:, 2:]), layer=lambda: nn.Bilinear(2, 3, 4))
_curved("F.bilinear without bias", lambda m, x: F.bilinear(x[:, :2], x[:, 2:], m.weight), weight=_param(4, 2, 3))

# Convolutions.

_add("Conv1d", lambda: nn.Conv1d(2, 3, 3, stride=2, padding=1), (2, 7))
_add("Conv1d same", lambda: nn.Conv1d(2, 3, 4, padding="same", dilation=2), (2, 7))
_add("Conv2d", lambda: nn.Conv2d(2, 4, (3, 2), stride=(1, 2), padding=(1, 0), dilation=(2, 1), groups=2), (2, 6, 5))
_add("Conv2d valid", lambda: nn.Conv2d(1, 2, 3, padding="valid", bias=False), (1, 5, 4))
_add("Conv2d depthwise", lambda: nn.Conv2d(3, 6, 3, groups=3, padding=1), (3, 4, 4))
_add("Conv3d", lambda: nn.Conv3d(1, 2, 2, padding=1), (1, 3, 2, 3))
for _mode in ("reflect", "replicate", "circular"):
    _add(f"Conv1d {_mode}", lambda mode=_mode: nn.Conv1d(2, 2, 3, padding=2, padding_mode=mode), (2, 5))
    _add(f"Conv2d {_mode}", lambda mode=_mode: nn.Conv2d(1, 2, 3, padding=(1, 2), padding_mode=mode), (1, 4, 5))
_add("Conv3d circular", lambda: nn.Conv3d(1, 2, 3, padding=1, padding_mode="circular"), (1, 3, 3, 3))
_add("ConvTranspose1d", lambda: nn.ConvTranspose1d(2, 3, 3, stride=2, padding=1, output_padding=1), (2, 4))
_add("ConvTranspose2d", lambda: nn.ConvTranspose2d(2, 4, (3, 2), stride=2, groups=2, dilation=(1, 2)), (2, 3, 3))
_add("ConvTranspose3d", lambda: nn.ConvTranspose3d(1, 2, 2, stride=2, bias=False), (1, 2, 2, 2))
_apply("F.conv1d", lambda m, x: F.conv1d(x, m.weight, stride=2), (2, 6), weight=_param(3, 2, 2))
_apply("F.conv2d", lambda m, x: F.conv2d(x, m.weight, m.bias, padding="same"), (2, 4, 4), weight=_param(3, 2, 3, 3), bias=_param(3))
_apply("F.conv_transpose2d", lambda m, x: F.conv_transpose2d(x, m.weight, stride=3), (2, 2, 2), weight=_param(2, 1, 2, 2))
_add(
    "CNN",
    lambda: nn.Sequential(
        nn.Conv2d(1, 3, 3, padding=1),
        nn.BatchNorm2d(3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(3, 4, 3),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 2),
    ),
    (1, 8, 8),
)

# Pooling.

_add("MaxPool1d", lambda: nn.MaxPool1d(3, stride=2, padding=1), (2, 7))
_add("MaxPool2d", lambda: nn.MaxPool2d((2, 3), stride=(1, 2), padding=(0, 1), ceil_mode=True), (2, 4, 6))
_add("MaxPool2d dilated", lambda: nn.MaxPool2d(2, stride=1, dilation=2), (1, 4, 5))
_add("MaxPool3d", lambda: nn.MaxPool3d(2), (1, 4, 2, 2))
_add("AvgPool1d", lambda: nn.AvgPool1d(3, stride=2, padding=1, count_include_pad=False), (2, 7))
_add("AvgPool2d", lambda: nn.AvgPool2d((2, 3), stride=2, padding=1, ceil_mode=True), (2, 4, 5))
_add("AvgPool2d divisor", lambda: nn.AvgPool2d(2, divisor_override=3), (1, 4, 4))
_add("AvgPool3d", lambda: nn.AvgPool3d(2), (1, 2, 4, 2))
for _axes, _sizes in ((1, (5,)), (2, (5, 4)), (3, (3, 4, 2))):
    _add(f"AdaptiveAvgPool{_axes}d", lambda n=_axes: getattr(nn, f"AdaptiveAvgPool{n}d")((2,) * n), (2, *_sizes))
    _add(f"AdaptiveMaxPool{_axes}d", lambda n=_axes: getattr(nn, f"AdaptiveMaxPool{n}d")((2,) * n), (2, *_sizes))
_add("AdaptiveAvgPool2d kept", lambda: nn.AdaptiveAvgPool2d((None, 2)), (1, 3, 5))
_add("global average", lambda: nn.AdaptiveAvgPool2d(1), (2, 3, 4))
_apply("F.max_pool2d", lambda m, x: F.max_pool2d(x, 2), (2, 4, 4))
_apply("F.avg_pool2d", lambda m, x: F.avg_pool2d(x, 2, padding=1), (2, 4, 4))
_apply("F.adaptive_avg_pool2d", lambda m, x: F.adaptive_avg_pool2d(x, (1, 2)), (2, 4, 4))
_apply("F.adaptive_max_pool2d", lambda m, x: F.adaptive_max_pool2d(x, (1, 2)), (2, 4, 4))

_smooth("LPPool1d", lambda: nn.LPPool1d(2, 3), (2, 6))
_smooth("LPPool2d", lambda: nn.LPPool2d(2, 2), (1, 4, 4))

# Normalization.

_add("BatchNorm1d", lambda: nn.BatchNorm1d(5))
_add("BatchNorm1d on channels", lambda: nn.BatchNorm1d(2), (2, 3))
_add("BatchNorm1d not affine", lambda: nn.BatchNorm1d(5, affine=False))
_add("BatchNorm2d", lambda: nn.BatchNorm2d(2, eps=0.1), (2, 3, 2))
_add("BatchNorm3d", lambda: nn.BatchNorm3d(2), (2, 2, 2, 2))
_apply("F.batch_norm", lambda m, x: F.batch_norm(x, m.mean, m.mean**2, eps=1.0), mean=lambda: torch.randn(5))
_add("InstanceNorm with statistics", lambda: nn.InstanceNorm1d(2, track_running_stats=True), (2, 4))
_smooth("InstanceNorm1d", lambda: nn.InstanceNorm1d(2), (2, 4))
_smooth("InstanceNorm2d", lambda: nn.InstanceNorm2d(2, affine=True), (2, 3, 2))
_smooth("InstanceNorm3d", lambda: nn.InstanceNorm3d(1), (1, 2, 2, 2))
_smooth("LayerNorm", lambda: nn.LayerNorm(5))
_smooth("LayerNorm over two axes", lambda: nn.LayerNorm((2, 3)), (2, 3))
_smooth("LayerNorm not affine", lambda: nn.LayerNorm(3, elementwise_affine=False), (2, 3))
_smooth("GroupNorm", lambda: nn.GroupNorm(2, 4), (4, 3))
_smooth("RMSNorm", lambda: nn.RMSNorm(5, eps=1e-5))
_smooth("LocalResponseNorm", lambda: nn.LocalResponseNorm(3, alpha=0.5), (4, 3))
_curved("F.layer_norm", lambda m, x: F.layer_norm(x, (5,)))
_curved("F.group_norm", lambda m, x: F.group_norm(x, 2), (4, 3))
_curved("F.normalize", lambda m, x: F.normalize(x + 0.1, dim=1))
_curved("standardized by hand", lambda m, x: (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-3))

# Resizing, padding and shuffles.

for _mode in ("nearest", "nearest-exact", "linear"):
    _add(f"Upsample {_mode}", lambda mode=_mode: nn.Upsample(scale_factor=2.5, mode=mode), (2, 4))
_add("Upsample bilinear", lambda: nn.Upsample(size=(3, 7), mode="bilinear"), (1, 4, 3))
_add("Upsample bilinear corners", lambda: nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), (1, 4, 3))
_add("Upsample bicubic", lambda: nn.Upsample(scale_factor=(2, 1.5), mode="bicubic"), (1, 4, 4))
_add("Upsample bicubic corners", lambda: nn.Upsample(size=(5, 6), mode="bicubic", align_corners=True), (1, 4, 4))
_add("Upsample trilinear", lambda: nn.Upsample(scale_factor=2, mode="trilinear"), (1, 2, 2, 3))
_add("UpsamplingNearest2d", lambda: nn.UpsamplingNearest2d(scale_factor=2), (2, 2, 3))
_add("UpsamplingBilinear2d", lambda: nn.UpsamplingBilinear2d(scale_factor=2), (2, 2, 3))
_apply("F.interpolate", lambda m, x: F.interpolate(x, scale_factor=1.7, mode="linear", recompute_scale_factor=True), (1, 5))
_apply("F.interpolate area", lambda m, x: F.interpolate(x, size=3, mode="area"), (1, 5))
for _axes in (1, 2, 3):
    _sizes = (4, 3, 3)[:_axes]
    _add(f"ZeroPad{_axes}d", lambda n=_axes: getattr(nn, f"ZeroPad{n}d")(1), (2, *_sizes))
    _add(f"ConstantPad{_axes}d", lambda n=_axes: getattr(nn, f"ConstantPad{n}d")(2, 1.5), (2, *_sizes))
    _add(f"ReflectionPad{_axes}d", lambda n=_axes: getattr(nn, f"ReflectionPad{n}d")(1), (2, *_sizes))
    _add(f"ReplicationPad{_axes}d", lambda n=_axes: getattr(nn, f"ReplicationPad{n}d")(2), (2, *_sizes))
    _add(f"CircularPad{_axes}d", lambda n=_axes: getattr(nn, f"CircularPad{n}d")(1), (2, *_sizes))
_apply("F.pad", lambda m, x: F.pad(x, (1, 2, 0, 1), value=0.3) + F.pad(x, (-1, 4, 1, 0)), (2, 3))
_add("PixelShuffle", lambda: nn.PixelShuffle(2), (8, 2, 3))
_add("PixelUnshuffle", lambda: nn.PixelUnshuffle(2), (2, 4, 2))
_add("ChannelShuffle", lambda: nn.ChannelShuffle(2), (4, 2, 2))
_add("Unfold", lambda: nn.Unfold(2, padding=1, stride=2), (2, 3, 4))
_add("Fold", lambda: nn.Fold((3, 4), 2, padding=1, stride=2), (8, 6))

# Shapes and entries.

_add("Flatten", lambda: nn.Sequential(nn.Flatten(), nn.Linear(6, 2)), (2, 3))
_add("Flatten some axes", lambda: nn.Flatten(2, 3), (2, 3, 2))
_add("Unflatten", lambda: nn.Sequential(nn.Unflatten(1, (2, -1)), nn.Linear(3, 2)), (6,))
_apply("reshape", lambda m, x: x.reshape(x.shape[0], 3, -1) + x.view(-1, 3, 2) + torch.reshape(x, (x.size(0), 3, 2)), (6,))
_apply("flatten", lambda m, x: torch.flatten(x, 1) + x.flatten(start_dim=1), (2, 3))
_apply("permute", lambda m, x: x.permute(0, 2, 1) + x.transpose(1, 2) + x.mT + torch.movedim(x, 1, 2) + torch.swapaxes(x, 1, -1), (2, 3))
_apply("to a sequence and back", lambda m, x: m.linear(x.permute(1, 0, 2)).transpose(0, 1), (2, 3), linear=lambda: nn.Linear(3, 2))
_apply("squeeze", lambda m, x: x.unsqueeze(1).squeeze(1) + torch.squeeze(x[..., None], -1))
_apply("slices", lambda m, x: x[:, 1:4:2] + x[:, -2:] + x[..., :2] - x[:, [0, 3]])
_apply("integer and None", lambda m, x: x[:, 1] + x[:, None, -1][:, 0], (3, 2))
_apply("fancy index", lambda m, x: x[:, m.index] + x[:, [1, 0], [0, 1]][:, :, None], (2, 2), index=lambda: torch.tensor([1, 0]))
_apply("mask", lambda m, x: x[:, m.mask], mask=lambda: torch.tensor([True, False, True, True, False]))
_apply("index_select", lambda m, x: torch.index_select(x, 1, m.index), index=lambda: torch.tensor([4, 0, 0]))
_apply("gather", lambda m, x: torch.gather(x, 1, m.index.expand(x.shape[0], -1)), index=lambda: torch.tensor([[2, 2, 0]]))
_apply("take_along_dim", lambda m, x: torch.take_along_dim(x, m.index, 1), index=lambda: torch.tensor([[2, 2, 0]]))
_apply("split", lambda m, x: x.split([2, 3], 1)[1] + torch.split(x, 3, 1)[0])
_apply("chunk", lambda m, x: sum(x.chunk(2, dim=1)) + torch.chunk(x, 2, 1)[0], (6,))
_apply("unbind", lambda m, x: x.unbind(1)[0] - torch.unbind(x, 1)[1], (2, 3))
_apply("narrow and select", lambda m, x: x.narrow(1, 1, 2)[:, 0] + x.select(1, 2), (3, 2))
_apply("cat", lambda m, x: torch.cat([x, m.linear(x), torch.ones(x.shape[0], 1).to(x)], 1), linear=lambda: nn.Linear(5, 2))
_apply("stack", lambda m, x: torch.stack([x, 2 * x], 1) + torch.stack((x, x), dim=-1).transpose(1, 2))
_apply("hstack", lambda m, x: torch.hstack([x, -x]))
_apply("expand", lambda m, x: x.unsqueeze(1).expand(-1, 3, -1) * m.weight, weight=_param(3, 5))
_apply("repeat", lambda m, x: x.repeat(1, 2) + torch.tile(x, (1, 2)) + x.repeat_interleave(2, 1))
_apply("flip and roll", lambda m, x: torch.flip(x, [1]) + torch.roll(x, 2, 1) + torch.fliplr(x))
_apply("where", lambda m, x: torch.where(m.mask, x, 0.5 * x) + torch.where(m.mask, x, 3.0), mask=lambda: torch.tensor([1, 0, 1, 0, 0]) > 0)
_apply("masked_fill", lambda m, x: x.masked_fill(m.mask, -2.0), mask=lambda: torch.tensor([1, 0, 1, 0, 0]) > 0)
_apply("tril", lambda m, x: torch.tril(x) + torch.triu(x, 1), (3, 3))
_apply("diagonal", lambda m, x: torch.diagonal(x, dim1=1, dim2=2), (3, 3))
_apply("zeros_like", lambda m, x: torch.relu(x - torch.zeros_like(x)) + torch.full_like(x, 2.0) + x.new_ones(5))
_apply("write into zeros", lambda m, x: _write_into_zeros(x))
_apply("change in place", lambda m, x: _change_in_place(x))
_apply("change a part in place", lambda m, x: _change_part(x))


def _write_into_zeros(x: torch.Tensor) -> torch.Tensor:
    result = torch.zeros(x.shape[0], 4, dtype=x.dtype)
    result[:, 0] = x[:, 1]
    result[:, 1:3] = 2 * x[:, :2]
    return result


def _change_in_place(x: torch.Tensor) -> torch.Tensor:
    y = 2 * x
    z = y.view(-1, 1, 5)
    y += 1
    y.relu_()
    return z[:, 0] + y


def _change_part(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    part = y[:, 1:3]
    part.mul_(-3.0)
    y[:, 0] += x[:, 4]
    return torch.cat([y, part], 1)


# Reductions.

_apply("sum", lambda m, x: x.sum(1) + torch.sum(x, dim=(1,), keepdim=False), (2, 3))
_apply("mean", lambda m, x: x.mean((1, 2), keepdim=True) + torch.mean(x, 2, keepdim=True), (2, 3))
_apply("max", lambda m, x: x.max(1).values + torch.max(x, 1)[0] + torch.amax(x, 1) - x.min(dim=1)[0] - x.amin(1), (2, 3))
_apply("cumsum", lambda m, x: torch.cumsum(x, 1))
_apply("norm 1", lambda m, x: torch.norm(x, p=1, dim=1, keepdim=True) + x.norm(float("inf"), 1, True))
_apply("diff", lambda m, x: torch.diff(x, dim=1))
_curved("norm 2", lambda m, x: torch.linalg.vector_norm(x, dim=1, keepdim=True) + x.norm(dim=1, keepdim=True))
_curved("prod", lambda m, x: x.prod(1, keepdim=True), (3,))
_curved("var and std", lambda m, x: x.var(1, keepdim=True) + (x + torch.arange(5.0)).std(1, keepdim=True))

_apply("sort", lambda m, x: torch.sort(x, 1).values - x.sort(dim=1, descending=True)[0])
_apply("topk", lambda m, x: torch.topk(x, 3, 1).values + x.topk(3, largest=False).values)
_apply("median", lambda m, x: x.median(1, keepdim=True).values + torch.kthvalue(x, 2, 1, True).values)
_apply("GroupSort", lambda m, x: m.linear(x).reshape(-1, 3, 2).sort(-1).values.flatten(1), linear=lambda: nn.Linear(5, 6))
_apply("running extremes", lambda m, x: x.cummax(1).values - torch.cummin(x, 1).values)
_curved("logcumsumexp", lambda m, x: torch.logcumsumexp(x, 1))
_curved("cumprod", lambda m, x: torch.cumprod(x, 1))
_curved("distances", lambda m, x: torch.cdist(x, m.centres), centres=lambda: torch.randn(3, 5))
_curved("radial basis", lambda m, x: torch.exp(-((x[:, None] - m.centres) ** 2).sum(-1)), centres=lambda: torch.randn(3, 5))

# Graphs: sums into places.

_apply(
    "scatter_add",
    lambda m, x: torch.zeros_like(x).scatter_add(1, m.place.expand(len(x), -1), x),
    place=lambda: torch.tensor([[0, 2, 2, 1, 0]]),
)
_apply("index_add", lambda m, x: torch.zeros_like(x).index_add(1, m.place, 2 * x), place=lambda: torch.tensor([0, 2, 2, 1, 0]))
_apply("scatter", lambda m, x: torch.ones_like(x).scatter(1, m.place.expand(len(x), -1), x[:, :2]), place=lambda: torch.tensor([[4, 2]]))
_apply(
    "sparse matrix", lambda m, x: torch.sparse.mm(m.matrix.to_sparse(), x.t()).t(), matrix=lambda: torch.eye(5) + torch.ones(5, 5).tril(-3)
)

# Layers that do nothing at inference, and constants.

for _kind in (nn.Identity, nn.Dropout, nn.AlphaDropout, nn.FeatureAlphaDropout):
    _add(_kind.__name__, lambda kind=_kind: nn.Sequential(nn.Linear(5, 4), kind(), nn.ReLU()))
for _axes in (1, 2, 3):
    _add(f"Dropout{_axes}d", lambda n=_axes: getattr(nn, f"Dropout{n}d")(), (2, 2, 2, 2)[: _axes + 1])
_apply("F.dropout", lambda m, x: F.dropout(x, 0.5, m.training))
_apply(
    "Embedding of constants",
    lambda m, x: x + m.table(m.index).mean(0),
    table=lambda: nn.Embedding(7, 5),
    index=lambda: torch.tensor([1, 6]),
)
_apply("positions", lambda m, x: x + m.table(torch.arange(x.shape[1])), (3, 2), table=lambda: nn.Embedding(4, 2))
_apply(
    "input-convex", lambda m, x: F.relu(F.linear(F.relu(m.one(x)), F.softplus(m.weight))), one=lambda: nn.Linear(5, 4), weight=_param(3, 4)
)
_apply("clamped weights", lambda m, x: x @ m.weight.clamp(min=0).T + x @ m.weight.abs().T + x @ torch.exp(m.weight.T), weight=_param(3, 5))
_apply("scale by a parameter", lambda m, x: x * torch.exp(m.scale) + m.scale, scale=lambda: nn.Parameter(torch.tensor(0.3)))

# Weights that are computed.


def _weight_norm() -> nn.Module:
    layer = nn.utils.weight_norm(nn.Linear(5, 3))
    layer.weight_g.data.mul_(1.7)
    return layer


def _spectral_norm() -> nn.Module:
    layer = nn.utils.spectral_norm(nn.Linear(5, 3))
    layer(torch.randn(2, 5))
    return layer


def _pruned() -> nn.Module:
    layer = prune.l1_unstructured(nn.Linear(5, 4), "weight", 0.5)
    layer.weight_orig.data.mul_(1.5)
    return layer


class _Doubled(nn.Module):
    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        return 2.0 * weight.exp()


def _parametrized() -> nn.Module:
    layer = nn.Linear(5, 3)
    parametrize.register_parametrization(layer, "weight", _Doubled())
    return layer


def _hooked() -> nn.Module:
    layer = nn.Linear(5, 3)
    layer.register_forward_hook(lambda module, args, output: 2.0 * output)
    layer.register_forward_pre_hook(lambda module, args: (args[0] + 1.0,))
    return layer


_add("weight_norm", _weight_norm)
_add("weight_norm of a convolution", lambda: nn.Sequential(nn.utils.weight_norm(nn.Conv1d(2, 3, 2)), nn.ReLU()), (2, 4))
_add("parametrizations.weight_norm", lambda: parametrizations.weight_norm(nn.Linear(5, 3)))
_add("spectral_norm", _spectral_norm)
_add("parametrizations.spectral_norm", lambda: parametrizations.spectral_norm(nn.Linear(5, 3)))
_add("parametrizations.orthogonal", lambda: parametrizations.orthogonal(nn.Linear(5, 3)))
_add("parametrization", _parametrized)
_add("pruning", _pruned)
_add("hooks", _hooked)

# Attention and recurrence.

_curved("MultiheadAttention", lambda m, x: m.layer(x, x, x)[0], (3, 4), layer=lambda: nn.MultiheadAttention(4, 2, batch_first=True))
_curved("attention weights", lambda m, x: m.layer(x, x, x)[1], (3, 2), layer=lambda: nn.MultiheadAttention(2, 1, batch_first=True))
_curved("scaled_dot_product_attention", lambda m, x: F.scaled_dot_product_attention(x, 2 * x, x), (2, 3, 2))
_curved("causal attention", lambda m, x: F.scaled_dot_product_attention(x, x, x, is_causal=True), (1, 3, 2))
_curved("masked attention", lambda m, x: _masked_attention(x), (3, 2))
_smooth("TransformerEncoderLayer", lambda: nn.TransformerEncoderLayer(4, 2, 5, batch_first=True), (2, 4))
_smooth(
    "TransformerEncoderLayer first",
    lambda: nn.TransformerEncoderLayer(4, 2, 5, activation="gelu", batch_first=True, norm_first=True),
    (2, 4),
)
_apply("RNN of ReLU", lambda m, x: m.layer(x)[0], (3, 2), layer=lambda: nn.RNN(2, 3, nonlinearity="relu", batch_first=True))
_curved("RNN", lambda m, x: m.layer(x)[1].transpose(0, 1), (3, 2), layer=lambda: nn.RNN(2, 3, num_layers=2, batch_first=True))
_curved("LSTM", lambda m, x: m.layer(x)[0][:, -1], (2, 2), layer=lambda: nn.LSTM(2, 2, batch_first=True, bidirectional=True))
_curved("GRU", lambda m, x: m.layer(x)[0], (2, 2), layer=lambda: nn.GRU(2, 2, batch_first=True))
_curved("LSTMCell", lambda m, x: m.layer(x)[0], (3,), layer=lambda: nn.LSTMCell(3, 2))


def _masked_attention(x: torch.Tensor) -> torch.Tensor:
    scores = x @ x.transpose(-2, -1) / math.sqrt(2.0)
    mask = torch.ones(3, 3, dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(mask, float("-inf")), -1) @ x


# Control flow on shapes, shared layers, skip connections.


class _Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(5, 5) for _ in range(2)])
        self.last = nn.Linear(5, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dim() != 2 or x.shape[-1] != 5:
            raise ValueError("five features are expected")
        for layer in self.layers:
            x = x + F.relu(layer(x))
        return self.last(x).squeeze(-1)


_add("residual with a check of the shape", _Residual)
_apply("shared layer", lambda m, x: m.layer(F.relu(m.layer(x))), layer=lambda: nn.Linear(5, 5))
_apply("loop over columns", lambda m, x: torch.stack([F.relu(x[:, k] - k) for k in range(x.shape[1])], 1))
_apply("assertion", lambda m, x: _asserted(x))


def _asserted(x: torch.Tensor) -> torch.Tensor:
    assert x.ndim == 2
    assert len(x.shape) == 2
    return F.relu(x)


NAMES = [construction.name for construction in CONSTRUCTIONS]
BY_NAME = {construction.name: construction for construction in CONSTRUCTIONS}
assert len(BY_NAME) == len(CONSTRUCTIONS)


def choose(*names: str) -> list[str]:
    """The same names, all of which are in the table."""
    unknown = [name for name in names if name not in BY_NAME]
    if unknown:
        raise ValueError(f"The table of constructions has no {', '.join(unknown)}.")
    return list(names)
