"""Rearranging, reductions, normalization, softmax and contraction against torch."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

from dcembed.importers import operations as ops  # noqa: E402
from dcembed.importers.operations import Unsupported  # noqa: E402
from dcembed.importers.operations.sorting import comparators  # noqa: E402
from dcembed.network.builder import NetworkBuilder  # noqa: E402
from importers.operations.comparing import compare, names  # noqa: E402

SHAPE = (2, 3, 4)
MASK = np.random.default_rng(0).integers(0, 2, (3, 4)).astype(bool)
INDEX = np.array([[2, 0, 1, 1], [0, 0, 2, 1]])

REARRANGING = {
    "transpose": (lambda b, v: ops.transpose(b, v, [2, 0, 1]), lambda x: x.permute(2, 0, 1)),
    "stack": (lambda b, v: ops.stack(b, [v, ops.negate(b, v)], 1), lambda x: torch.stack([x, -x], 1)),
    "stack with a constant": (lambda b, v: ops.stack(b, [v, np.ones(SHAPE)], -1), lambda x: torch.stack([x, torch.ones_like(x)], -1)),
    "split": (lambda b, v: ops.split(b, v, [1, 3], 2)[1], lambda x: x.split([1, 3], 2)[1]),
    "take": (lambda b, v: ops.take(b, v, [2, 0, -1], 1), lambda x: x[:, [2, 0, -1]]),
    "gather": (lambda b, v: ops.gather(b, v, INDEX[:, None], 1), lambda x: torch.gather(x, 1, torch.tensor(INDEX[:, None]))),
    "index": (lambda b, v: ops.index(b, v, (slice(None), None, 1, slice(0, 3, 2))), lambda x: x[:, None, 1, 0:3:2]),
    "mask": (lambda b, v: ops.index(b, v, (slice(None), MASK)), lambda x: x[:, torch.tensor(MASK)]),
    "where": (lambda b, v: ops.where(b, MASK, v, np.asarray(3.0)), lambda x: torch.where(torch.tensor(MASK), x, 3.0)),
    "where of two": (lambda b, v: ops.where(b, MASK, v, ops.relu(b, v)), lambda x: torch.where(torch.tensor(MASK), x, F.relu(x))),
    "expand": (lambda b, v: ops.expand(b, v, (5, *SHAPE)), lambda x: x.expand(5, *SHAPE)),
    "tile": (lambda b, v: ops.tile(b, v, (2, 1, 3)), lambda x: x.tile(2, 1, 3)),
    "repeat": (lambda b, v: ops.repeat(b, v, 2, 1), lambda x: x.repeat_interleave(2, 1)),
    "flip": (lambda b, v: ops.flip(b, v, [0, 2]), lambda x: x.flip(0, 2)),
    "roll": (lambda b, v: ops.roll(b, v, [1, -2], [1, 2]), lambda x: x.roll([1, -2], [1, 2])),
    "cumsum": (lambda b, v: ops.cumulative_sum(b, v, 1), lambda x: x.cumsum(1)),
    "cumsum reverse": (lambda b, v: ops.cumulative_sum(b, v, 1, True, True), lambda x: x.flip(1).cumsum(1).flip(1) - x),
}

REDUCTIONS = {
    "sum": (ops.total, torch.sum, set()),
    "mean": (ops.mean, torch.mean, set()),
    "max": (ops.largest_over, torch.amax, {"relu"}),
    "min": (ops.smallest_over, torch.amin, {"relu"}),
    "logsumexp": (ops.log_sum_exp, torch.logsumexp, {"softplus"}),
    "variance": (ops.variance, lambda x, *a, **k: torch.var(x, *a, correction=0, **k), {"square"}),
    "norm 1": (lambda b, v, *a: ops.norm(b, v, 1.0, *a), lambda x, *a, **k: torch.linalg.vector_norm(x, 1, *a, **k), {"relu"}),
    "norm 2": (lambda b, v, *a: ops.norm(b, v, 2.0, *a), lambda x, *a, **k: torch.linalg.vector_norm(x, 2, *a, **k), {"square", "power"}),
    "norm inf": (
        lambda b, v, *a: ops.norm(b, v, np.inf, *a),
        lambda x, *a, **k: torch.linalg.vector_norm(x, float("inf"), *a, **k),
        {"relu"},
    ),
    "sum of squares": (ops.sum_of_squares, lambda x, *a, **k: torch.sum(x * x, *a, **k), {"square"}),
}


@pytest.mark.parametrize("name", REARRANGING)
def test_rearranging(name):
    network = compare(*REARRANGING[name], SHAPE)
    assert network.is_piecewise_linear


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axes", [(1,), (0, 2), (0, 1, 2), (-1,)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(name, axes, keepdims):
    ours, theirs, made_of = REDUCTIONS[name]
    network = compare(lambda b, v: ours(b, v, axes, keepdims), lambda x: theirs(x, dim=axes, keepdim=keepdims), SHAPE)
    assert names(network) == made_of


def test_large_maximum_is_a_balanced_tree():
    network = compare(lambda b, v: ops.largest_over(b, v), torch.max, (37,))
    assert network.widths == (18, 9, 5, 2, 1, 1)[: len(network.widths)]
    assert len(network.stages) == 6
    assert network.num_hidden == 36


def test_logsumexp_of_two_is_softplus():
    network = compare(lambda b, v: ops.log_sum_exp(b, v, 1), lambda x: x.logsumexp(1), (3, 2), scale=50.0)
    assert names(network) == {"softplus"}


@pytest.mark.parametrize("size", range(1, 12))
def test_sorting(size):
    network = compare(lambda b, v: ops.sort(b, v, 1), lambda x: x.sort(1).values, (2, size))
    assert network.is_piecewise_linear
    compare(lambda b, v: ops.sort(b, v, 0, descending=True), lambda x: x.sort(0, descending=True).values, (size, 2))


def test_sorting_is_a_network_of_comparators():
    assert sum(len(low) for low, _ in comparators(8)) == 19
    assert len(comparators(8)) == 6


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_softmax(axis):
    for ours, theirs in ((ops.softmax, F.softmax), (ops.log_softmax, F.log_softmax)):
        network = compare(lambda b, v, ours=ours: ours(b, v, axis), lambda x, theirs=theirs: theirs(x, dim=axis), SHAPE, scale=1000.0)
        made_of = {"softplus"} if ours is ops.log_softmax else {"sigmoid"} if axis == 0 else {"softplus", "exp"}
        assert names(network) == made_of


@pytest.mark.parametrize("low", [-np.inf, -1e9, -1e4, float(np.finfo(np.float32).min)])
def test_masked_softmax(low):
    allowed = np.tri(4, dtype=bool)
    network = compare(
        lambda b, v: ops.softmax(b, ops.where(b, allowed, v, np.asarray(low)), -1),
        lambda x: torch.softmax(x.masked_fill(torch.tensor(~allowed), low), -1),
        (1, 4, 4),
    )
    assert np.isfinite(network(np.ones(16))).all()
    compare(
        lambda b, v: ops.softmax(b, ops.add(b, v, np.where(allowed, 0.0, low)), -1),
        lambda x: torch.softmax(x + torch.tensor(np.where(allowed, 0.0, low)), -1),
        (1, 4, 4),
    )


def test_head_is_dropped():
    builder = NetworkBuilder((1, 3))
    inside = builder.scale(builder.input, 2.0)
    for head, kind in ((ops.softmax, "softmax"), (ops.log_softmax, "log_softmax"), (ops.sigmoid, "sigmoid")):
        value = ops.reshape(builder, head(builder, inside), (3,))
        dropped = ops.drop_head(value)
        assert dropped.shape == (3,)
        assert ops.heads_of(value) == (kind,)
        np.testing.assert_allclose(builder.finish(dropped)([1.0, 2.0, 3.0]), [2.0, 4.0, 6.0])
    assert ops.drop_head(inside) is None
    assert ops.heads_of(inside) == ()
    assert ops.heads_of(ops.softmax(builder, inside, 0)) == ("softmax",) * 3
    assert ops.drop_head(ops.negate(builder, ops.sigmoid(builder, inside))) is None


GAMMA, BETA = np.linspace(0.5, 2.0, 4), np.linspace(-1.0, 1.0, 4)


def test_normalization():
    gamma, beta = torch.tensor(GAMMA), torch.tensor(BETA)
    shape = (1, 4, 3, 2)
    compare(
        lambda b, v: ops.batch_norm(b, v, BETA, GAMMA, GAMMA, BETA, 1e-5),
        lambda x: F.batch_norm(x, beta, gamma, gamma, beta, eps=1e-5),
        shape,
    )
    compare(lambda b, v: ops.layer_norm(b, v, -1, GAMMA, BETA, 1e-5), lambda x: F.layer_norm(x, (4,), gamma, beta), (1, 3, 4))
    compare(lambda b, v: ops.rms_norm(b, v, -1, GAMMA, 1e-5), lambda x: F.rms_norm(x, (4,), gamma, 1e-5), (1, 3, 4))
    compare(lambda b, v: ops.group_norm(b, v, 2, GAMMA, BETA, 1e-5), lambda x: F.group_norm(x, 2, gamma, beta), shape)
    compare(lambda b, v: ops.group_norm(b, v, 4, GAMMA, BETA, 1e-5), lambda x: F.instance_norm(x, weight=gamma, bias=beta), shape)
    for size in (1, 2, 3, 9):
        compare(
            lambda b, v, size=size: ops.local_response_norm(b, v, size, 0.3, 0.75, 2.0),
            lambda x, size=size: F.local_response_norm(x, size, 0.3, 0.75, 2.0),
            shape,
        )


EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)),
    ("bi,oij,bj->bo", (1, 3), (2, 3, 4), (1, 4)),
    ("ij->ji", (2, 3)),
    ("ij->", (2, 3)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("i,j", (2,), (3,)),
    ("...i,ij->...j", (2, 2, 3), (3, 2)),
    ("...i,...i->...", (2, 1, 3), (4, 3)),
    ("bhqd,bhkd->bhqk", (1, 2, 3, 2), (1, 2, 3, 2)),
    ("bnc, hcd -> bnhd", (1, 2, 3), (2, 3, 2)),
]


@pytest.mark.parametrize(("equation", "shapes"), [(row[0], row[1:]) for row in EQUATIONS])
def test_einsum(equation, shapes):
    compare(lambda b, *values: ops.einsum(b, equation, *values), lambda *values: torch.einsum(equation, *values), *shapes)
    for place in range(len(shapes) if len(shapes) > 1 else 0):
        constants = [np.random.default_rng(9).normal(size=shape) for shape in shapes]

        def put(value, make, place=place, constants=constants):
            return [value if k == place else make(constant) for k, constant in enumerate(constants)]

        network = compare(
            lambda b, v, put=put: ops.einsum(b, equation, *put(v, np.asarray)),
            lambda x, put=put: torch.einsum(equation, *put(x, torch.tensor)),
            shapes[place],
        )
        assert len(shapes) > 2 or network.num_hidden == 0


MATRICES = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3, 4)),
    ((1, 2, 3), (3, 4)),
    ((2, 3), (2, 3, 4)),
    ((2, 1, 2, 3), (5, 3, 2)),
]


@pytest.mark.parametrize(("left", "right"), MATRICES)
def test_matmul(left, right):
    one, other = (np.random.default_rng(5).normal(size=shape) for shape in (left, right))
    compare(lambda b, v: ops.matmul(b, v, other), lambda x: x @ torch.tensor(other), left)
    compare(lambda b, v: ops.matmul(b, one, v), lambda x: torch.tensor(one) @ x, right)
    network = compare(ops.matmul, torch.matmul, left, right)
    assert names(network) == {"square"}


def test_embedding():
    table = np.random.default_rng(0).normal(size=(5, 2))
    builder = NetworkBuilder((2,))
    np.testing.assert_array_equal(ops.embedding(builder, np.array([[1, 4]]), table), table[[[1, 4]]])
    with pytest.raises(Unsupported, match="which is an index there"):
        ops.embedding(builder, builder.input, table)


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (lambda b, x: ops.split(b, x, [1, 2], 0), "size 2 into pieces"),
        (lambda b, x: ops.take(b, np.ones(3), x, 0), "computed from the input"),
        (lambda b, x: ops.index(b, x, (x,)), "computed from the input"),
        (lambda b, x: ops.where(b, x, x, x), "which jumps"),
        (lambda b, x: ops.total(b, x, 3), "axes"),
        (lambda b, x: ops.norm(b, x, -1.0), "order -1"),
        (lambda b, x: ops.variance(b, x, 0, correction=2), "correction of 2"),
        (lambda b, x: ops.layer_norm(b, x, 0, None, None, 0.0), "without an epsilon"),
        (lambda b, x: ops.matmul(b, x, np.asarray(1.0)), "a number"),
        (lambda b, x: ops.softmax(b, ops.add(b, x, np.array(-np.inf)), 0), "masks all"),
    ],
)
def test_refusals(refused, reason):
    builder = NetworkBuilder((2,))
    with pytest.raises(Unsupported, match=reason):
        refused(builder, builder.input)
