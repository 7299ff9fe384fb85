"""Convolutions, padding, pooling and resizing against torch."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

from dcembed.importers import operations as ops  # noqa: E402
from dcembed.importers.operations import Unsupported  # noqa: E402
from dcembed.network.builder import NetworkBuilder  # noqa: E402
from importers.operations.comparing import compare, names, num_nonzeros  # noqa: E402

CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("seed", range(40))
def test_convolution(seed):
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 4))
    groups = int(rng.choice([1, 1, 2, 3]))
    kernel, stride, dilation, padding = (rng.integers(low, high, axes).tolist() for low, high in ((1, 4), (1, 4), (1, 3), (0, 3)))
    sizes = [int(rng.integers(d * (k - 1) + 1, d * (k - 1) + 5)) for k, d in zip(kernel, dilation, strict=True)]
    weight = draw(seed, groups * int(rng.integers(1, 3)), int(rng.integers(1, 3)), *kernel)
    bias = draw(seed + 1, weight.shape[0]) if seed % 2 else None
    compare(
        lambda b, v: ops.convolve(b, v, weight, bias, stride=stride, padding=[(p, p) for p in padding], dilation=dilation, groups=groups),
        lambda x: CONVOLUTIONS[axes](
            x, torch.tensor(weight), None if bias is None else torch.tensor(bias), stride, padding, dilation, groups
        ),
        (1, weight.shape[1] * groups, *sizes),
    )


@pytest.mark.parametrize("seed", range(40))
def test_transposed_convolution(seed):
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 4))
    groups = int(rng.choice([1, 1, 2, 3]))
    kernel, stride, dilation = (rng.integers(low, high, axes).tolist() for low, high in ((1, 4), (1, 4), (1, 3)))
    padding = [int(rng.integers(0, d * (k - 1) // 2 + 1)) for k, d in zip(kernel, dilation, strict=True)]
    more = [int(rng.integers(0, max(s, d))) for s, d in zip(stride, dilation, strict=True)]
    weight = draw(seed, groups * int(rng.integers(1, 3)), int(rng.integers(1, 3)), *kernel)
    bias = draw(seed + 1, weight.shape[1] * groups) if seed % 2 else None
    compare(
        lambda b, v: ops.convolve_transposed(
            b, v, weight, bias, stride=stride, padding=[(p, p) for p in padding], output_padding=more, dilation=dilation, groups=groups
        ),
        lambda x: TRANSPOSED[axes](
            x, torch.tensor(weight), None if bias is None else torch.tensor(bias), stride, padding, more, groups, dilation
        ),
        (1, weight.shape[0], *rng.integers(1, 5, axes).tolist()),
    )


def test_uneven_padding():
    weight = draw(0, 2, 1, 3)
    compare(
        lambda b, v: ops.convolve(b, v, weight, stride=[2], padding=[(0, 2)], dilation=[1]),
        lambda x: F.conv1d(F.pad(x, (0, 2)), torch.tensor(weight), stride=2),
        (1, 1, 6),
    )


def test_shapes_that_do_not_fit_are_refused():
    builder = NetworkBuilder((1, 2, 4))
    with pytest.raises(Unsupported, match=r"takes 3 channels and 1 axes .* received a value of shape \(1, 2, 4\)"):
        ops.convolve(builder, builder.input, draw(0, 2, 3, 2), stride=[1], padding=[(0, 0)], dilation=[1])
    with pytest.raises(Unsupported, match="larger than the padded value"):
        ops.convolve(builder, builder.input, draw(0, 2, 2, 5), stride=[1], padding=[(0, 0)], dilation=[1])


def test_convolutions_stay_sparse():
    """Two convolutions over 3 x 32 x 32 with 12,288 units: as many numbers as there are weights at places, no more."""
    builder = NetworkBuilder((1, 3, 32, 32))
    options = {"stride": [1, 1], "padding": [(1, 1), (1, 1)], "dilation": [1, 1]}
    value = ops.relu(builder, ops.convolve(builder, builder.input, draw(0, 8, 3, 3, 3), draw(1, 8), **options))
    value = ops.max_pool(builder, value, [2, 2], stride=[2, 2], padding=[(0, 0), (0, 0)])
    value = ops.relu(builder, ops.convolve(builder, value, draw(2, 16, 8, 3, 3), draw(3, 16), **options))
    network = builder.finish(ops.adaptive_average_pool(builder, value, [1, 1]))
    inside = (3 * 32 - 2) ** 2
    assert network.widths[0] == 8192
    assert network.stages[0].weights[0].nnz == 8 * 3 * inside
    assert network.widths[1:] == (4096, 2048, 4096)
    assert all(sp.issparse(block) for stage in network.stages for block in stage.weights.values())
    assert network.output.weights[4].nnz == 4096


def test_zeros_of_pruned_kernels_are_not_stored():
    weight = draw(0, 2, 2, 3)
    weight[0] = 0.0
    network = compare(
        lambda b, v: ops.convolve(b, v, weight, stride=[1], padding=[(0, 0)], dilation=[1]),
        lambda x: F.conv1d(x, torch.tensor(weight)),
        (1, 2, 7),
    )
    assert num_nonzeros(network) == 2 * 3 * 5


MODES = ("constant", "reflect", "replicate", "circular")


@pytest.mark.parametrize(("mode", "seed"), list(itertools.product(MODES, range(5))))
def test_padding(mode, seed):
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 3))
    widths = [(int(a), int(b)) for a, b in rng.integers(0, 3, (axes, 2))]
    network = compare(
        lambda b, v: ops.pad(b, v, [(0, 0), (0, 0), *widths], mode),
        lambda x: F.pad(x, [width for pair in reversed(widths) for width in pair], mode),
        (1, 2, *rng.integers(3, 6, axes).tolist()),
    )
    assert network.num_hidden == 0


def test_padding_with_a_value_and_cropping():
    compare(
        lambda b, v: ops.pad(b, v, [(0, 0), (1, 0), (-1, 2)], fill=3.0),
        lambda x: F.pad(x, (-1, 2, 1, 0), value=3.0),
        (1, 2, 4),
    )
    with pytest.raises(Unsupported, match="mode 'even'"):
        ops.pad(NetworkBuilder((1,)), np.zeros(3), [(1, 1)], "even")


@pytest.mark.parametrize("seed", range(30))
def test_pooling(seed):
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 4))
    kernel, stride = rng.integers(1, 4, axes).tolist(), rng.integers(1, 4, axes).tolist()
    padding = [int(rng.integers(0, k // 2 + 1)) for k in kernel]
    sizes = rng.integers(4, 8, axes).tolist()
    ceil_mode, include = bool(rng.integers(2)), bool(rng.integers(2))
    pairs = [(p, p) for p in padding]
    average, largest = {1: (F.avg_pool1d, F.max_pool1d), 2: (F.avg_pool2d, F.max_pool2d), 3: (F.avg_pool3d, F.max_pool3d)}[axes]
    network = compare(
        lambda b, v: ops.average_pool(b, v, kernel, stride=stride, padding=pairs, ceil_mode=ceil_mode, count_include_pad=include),
        lambda x: average(x, kernel, stride, padding, ceil_mode, include),
        (1, 2, *sizes),
    )
    assert network.num_hidden == 0
    network = compare(
        lambda b, v: ops.max_pool(b, v, kernel, stride=stride, padding=pairs, ceil_mode=ceil_mode),
        lambda x: largest(x, kernel, stride, padding, 1, ceil_mode),
        (1, 2, *sizes),
    )
    assert network.is_piecewise_linear


def test_pooling_options():
    shape = (1, 2, 5, 6)
    compare(
        lambda b, v: ops.average_pool(b, v, [2, 3], stride=[2, 3], padding=[(1, 1)] * 2, divisor=5),
        lambda x: F.avg_pool2d(x, (2, 3), padding=1, divisor_override=5),
        shape,
    )
    compare(
        lambda b, v: ops.max_pool(b, v, [2, 2], stride=[1, 2], padding=[(0, 0)] * 2, dilation=[2, 3]),
        lambda x: F.max_pool2d(x, 2, stride=(1, 2), dilation=(2, 3)),
        shape,
    )
    compare(lambda b, v: ops.adaptive_average_pool(b, v, [3, None]), lambda x: F.adaptive_avg_pool2d(x, (3, None)), shape)
    compare(lambda b, v: ops.adaptive_max_pool(b, v, [2, 4]), lambda x: F.adaptive_max_pool2d(x, (2, 4)), shape)
    compare(lambda b, v: ops.norm_pool(b, v, 2, [2, 2], stride=[2, 2], padding=[(0, 0)] * 2), lambda x: F.lp_pool2d(x, 2.0, 2), shape)


def test_max_pooling_is_one_stage_per_level():
    network = compare(
        lambda b, v: ops.max_pool(b, v, [3, 3], stride=[1, 1], padding=[(0, 0)] * 2), lambda x: F.max_pool2d(x, 3, 1), (1, 1, 6, 6)
    )
    # Per axis two levels; pairs that windows share are one unit. Without sharing there would be 16 windows of 8 units each.
    assert len(network.stages) == 4
    assert network.num_hidden < 16 * 8


RESIZES = [
    ("nearest", {"coordinates": "asymmetric"}, {"mode": "nearest"}),
    ("nearest", {"coordinates": "half_pixel", "rounding": "round_prefer_ceil"}, {"mode": "nearest-exact"}),
    ("linear", {"coordinates": "half_pixel"}, {"mode": "linear"}),
    ("linear", {"coordinates": "align_corners"}, {"mode": "linear", "align_corners": True}),
    ("cubic", {"coordinates": "half_pixel"}, {"mode": "bicubic"}),
    ("cubic", {"coordinates": "align_corners"}, {"mode": "bicubic", "align_corners": True}),
]


@pytest.mark.parametrize(("mode", "ours", "theirs"), RESIZES)
@pytest.mark.parametrize("sizes", [(7,), (2,), (1,), (3, 8), (9, 2), (6, 5, 4)])
def test_resizing(mode, ours, theirs, sizes):
    if theirs["mode"] == "bicubic" and len(sizes) != 2:
        pytest.skip("torch has it for images only")
    names_ = {1: "linear", 2: "bilinear", 3: "trilinear"}
    theirs = {**theirs, "mode": names_[len(sizes)] if theirs["mode"] == "linear" else theirs["mode"]}
    network = compare(
        lambda b, v: ops.resize(b, v, sizes, mode=mode, **ours),
        lambda x: F.interpolate(x, size=sizes, **theirs),
        (1, 2, 4, 5, 3)[: 2 + len(sizes)],
    )
    assert num_nonzeros(network) <= 2 * int(np.prod(sizes)) * {"nearest": 1, "linear": 2, "cubic": 4}[mode] ** len(sizes)


def test_resizing_by_a_scale():
    compare(
        lambda b, v: ops.resize(b, v, [7], mode="linear", scales=[1.5]),
        lambda x: F.interpolate(x, scale_factor=1.5, mode="linear", recompute_scale_factor=False),
        (1, 1, 5),
    )
    with pytest.raises(Unsupported, match="mode 'area'"):
        ops.resize(NetworkBuilder((1,)), np.zeros((1, 1, 3)), [2], mode="area")


def test_shuffles():
    compare(lambda b, v: ops.pixel_shuffle(b, v, 2), lambda x: F.pixel_shuffle(x, 2), (1, 8, 2, 3))
    compare(lambda b, v: ops.pixel_unshuffle(b, v, 2), lambda x: F.pixel_unshuffle(x, 2), (1, 2, 4, 6))
    compare(lambda b, v: ops.pixel_unshuffle(b, ops.pixel_shuffle(b, v, 2, False), 2, False), lambda x: x, (1, 8, 2, 3))
    assert names(compare(lambda b, v: ops.pixel_shuffle(b, v, 3), lambda x: F.pixel_shuffle(x, 3), (1, 9, 1, 1))) == set()
