"""Smooth networks in every method: the same points as other methods find, few steps, refusals by name."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import dcembed
from dcembed.baselines import attack, awasthi, big_m, complementarity, dual_decomposition, ipopt, obbt, pgd, relax_and_walk
from dcembed.embedded.curvature import curvature, has_curvature
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.measurements import slopes
from dcembed.errors import NetworkError
from dcembed.network.activations import find_activation
from dcembed.status import Status
from network.smooth_networks import layered, mixed
from problems import quiet

NAMES = ["tanh", "softplus", "sigmoid", "gelu", "silu", "sin", "hardswish"]


def box_problem(network, blocks=3, curved=True):
    """Minimize the sum of the first predictions of some evaluations over a box, with a linear row across them."""
    n, rng = 3 * blocks, np.random.default_rng(3)
    size = n + 2 * blocks
    cost = np.zeros(size)
    cost[n::2] = 1.0
    quadratic = sp.diags_array(np.concatenate([np.full(n, 0.2), np.zeros(size - n)]), format="csr") if curved else None
    rows = sp.csr_array(np.concatenate([rng.standard_normal(n), np.zeros(size - n)])[None])
    side = np.concatenate([np.full(n, 2.0), np.full(size - n, np.inf)])
    host = dcembed.Program(cost, quadratic=quadratic, rows=rows, row_ub=[1.0], lb=-side, ub=side)
    return host, dcembed.Embedding(network, np.arange(n).reshape(blocks, 3), n + np.arange(2 * blocks).reshape(blocks, 2))


def row_problem(network):
    """A linear objective with neural rows: one prediction has a limit, the other a value."""
    middle = network(np.full((1, 3), 0.3))[0]
    host = dcembed.Program(
        [1.0, -1.0, 0.5, 0.0, 0.0],
        lb=[-2.0, -2.0, -2.0, -np.inf, middle[1]],
        ub=[2.0, 2.0, 2.0, middle[0] + 0.1, middle[1]],
    )
    return host, dcembed.Embedding(network, [[0, 1, 2]], [[3, 4]])


def brute_force(host, embedding, number=200_000):
    """The best of many points of a box problem with one evaluation."""
    points = np.random.default_rng(5).uniform(-2.0, 2.0, (number, 3))
    keeps = points @ host.rows.toarray()[0, :3] <= 1.0
    values = embedding.network(points)[:, 0] + (0.1 * (points**2).sum(axis=1) if host.quadratic is not None else 0.0)
    return values[keeps].min()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "options", [{}, {"tangents": False}, {"tangents": False, "decomposition": "global"}], ids=["tangents", "local", "global"]
)
def test_no_point_of_many_is_better(name, options):
    if name == "sin" and "decomposition" in options:
        pytest.skip("has no split on the whole space")
    host, embedding = box_problem(layered(find_activation(name)), blocks=1)
    result = dcembed.solve(host, embedding, options=quiet(**options))
    assert result.status is Status.LOCALLY_SOLVED
    assert dcembed.verify(host, embedding, result.x).violation <= 1e-6
    assert result.objective <= brute_force(host, embedding) + 1e-4


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("curved", [True, False])
def test_tangent_steps_that_know_the_curvature_are_few(name, curved):
    """From one start, to where Ipopt ends from there and nothing more is to be gained."""
    host, embedding = box_problem(layered(find_activation(name)), curved=curved)
    result = dcembed.solve(host, embedding, options=quiet(max_starts=1))
    assert sum(record.kind == "tangent" for record in result.history) <= 40
    polished = ipopt.solve(host, embedding, start=result.x, options=quiet(max_starts=1))
    assert result.objective <= polished.objective + 1e-5 * max(1.0, abs(polished.objective)) or polished.objective < result.objective - 1e-2


@pytest.mark.parametrize("name", ["tanh", "softplus", "gelu"])
def test_rows_on_smooth_predictions(name):
    host, embedding = row_problem(layered(find_activation(name)))
    result = dcembed.solve(host, embedding, options=quiet(max_starts=5))
    other = ipopt.solve(host, embedding, options=quiet(max_starts=5))
    assert result.status is Status.LOCALLY_SOLVED
    assert dcembed.verify(host, embedding, result.x).violation <= 1e-5
    assert result.objective <= other.objective + 1e-5


def test_mixed_networks_in_every_method_that_takes_them():
    host, embedding = box_problem(mixed(), blocks=2)
    best = dcembed.solve(host, embedding, options=quiet()).objective
    for method in (ipopt, pgd, dual_decomposition):
        result = method.solve(host, embedding, options=quiet(max_iterations=200, time_limit=5.0))
        assert dcembed.verify(host, embedding, result.x).violation <= 1e-5
        assert best <= result.objective + 1e-5


def test_the_attack_takes_smooth_networks():
    pytest.importorskip("torch")
    host, embedding = box_problem(layered(find_activation("tanh")), blocks=1, curved=False)
    free = dcembed.Program(host.cost, lb=host.lb, ub=host.ub)
    result = attack.solve(free, embedding, options=quiet(time_limit=3.0))
    points = np.random.default_rng(5).uniform(-2.0, 2.0, (200_000, 3))
    assert result.objective <= embedding.network(points)[:, 0].min() + 1e-3


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (big_m, "The big-M encoding"),
        (obbt, "OBBT"),
        (complementarity, "The method of complementarity"),
        (relax_and_walk, "Relax-and-walk"),
        (awasthi, "The method of Awasthi et al."),
    ],
)
def test_encodings_by_rows_refuse_smooth_networks_by_name(method, words):
    host, embedding = box_problem(layered(find_activation("tanh")))
    with pytest.raises(NetworkError, match=rf"{words} takes networks of ReLU units alone: network 0 has the activation tanh in stage 1"):
        method.solve(host, embedding, options=quiet())


@pytest.mark.parametrize("formulation", ["shared", "two-path"])
def test_the_epigraphs_of_the_paper_are_for_relu_units(formulation):
    host, embedding = box_problem(layered(find_activation("gelu")))
    with pytest.raises(NetworkError, match=rf'The formulation "{formulation}" takes networks of ReLU units alone.*formulation="lazy"'):
        dcembed.solve(host, embedding, options=quiet(formulation=formulation))


def test_steep_units_have_no_split_on_the_whole_space():
    host, embedding = box_problem(layered(find_activation("square"), widths=(4,)))
    with pytest.raises(NetworkError, match=r"square.* grows faster than any line"):
        dcembed.solve(host, embedding, options=quiet(decomposition="global", tangents=False))
    assert dcembed.solve(host, embedding, options=quiet()).status is Status.LOCALLY_SOLVED


def test_integers_beside_smooth_networks():
    """One input of three is an integer, and one a binary that switches a row on a prediction."""
    network = layered(find_activation("tanh"))
    n = 5
    host = dcembed.Program(
        [0.3, -0.2, 0.1, 1.0, 0.0],
        lb=[-2.0, -2.0, 0.0, -np.inf, -np.inf],
        ub=[2.0, 2.0, 1.0, np.inf, np.inf],
        integer=[0, 2],
        indicators=[dcembed.Indicator(2, 1, np.eye(n)[4], ub=0.0)],
    )
    embedding = dcembed.Embedding(network, [[0, 1, 2]], [[3, 4]])
    result = dcembed.solve(host, embedding, options=quiet())
    grid = [(a, b, c) for a in range(-2, 3) for c in (0, 1) for b in np.linspace(-2.0, 2.0, 4001)]
    points = np.array(grid, dtype=float)
    values = network(points)
    total = points @ [0.3, -0.2, 0.1] + values[:, 0]
    allowed = (points[:, 2] == 0) | (values[:, 1] <= 0.0)
    assert dcembed.verify(host, embedding, result.x).violation <= 1e-6
    assert result.objective <= total[allowed].min() + 1e-3


def test_curvature_of_the_lagrangian():
    host, embedding = row_problem(layered(find_activation("tanh")))
    embedded = eliminate(host, [embedding])
    assert has_curvature(embedded)
    rng = np.random.default_rng(2)
    w, step = rng.uniform(-1.0, 1.0, embedded.host.num_columns), 1e-5
    weights = rng.standard_normal(embedded.restrictions.num_restrictions + 1)
    numerical = np.array(
        [(weights @ (slopes(embedded, w + step * e) - slopes(embedded, w - step * e))) / (2 * step) for e in np.eye(w.size)]
    )
    np.testing.assert_allclose(curvature(embedded, w, weights).toarray(), numerical, atol=1e-6)


def test_networks_of_relu_units_have_no_curvature():
    host, embedding = box_problem(layered(find_activation("relu")))
    assert not has_curvature(eliminate(host, [embedding]))
