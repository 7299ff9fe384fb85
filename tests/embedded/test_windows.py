"""What a neural row behind a binary says about the inputs of its network."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcembed import AffineInputs, Embedding, Indicator, Program, build_mlp
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.floors import PLACES
from dcembed.embedded.points import measure_points
from dcembed.program.derive import derive

ABSOLUTE = build_mlp([[[1.0], [-1.0]], [[1.0, 1.0]]], [None, None])
# |x| on [-2, 3], a coarse cell of which is 5 / 16 wide and a fine one 5 / 4096.
WIDTH, FINE = 5.0, 5.0 / 4096


def behind(limit: float, value: int = 1, network=ABSOLUTE, side: str = "ub") -> Program:
    """Columns x, z, y with y = f(x), x in [-2, 3], and z = value => y <= limit, or >= limit."""
    return Program(
        cost=[1.0, -1.0, 0.0],
        lb=[-2.0, 0.0, -np.inf],
        ub=[3.0, 1.0, np.inf],
        integer=[1],
        indicators=[Indicator(1, value, [0.0, 0.0, 1.0], **{side: limit})],
    )


def window(program: Program, network=ABSOLUTE, value: int = 1) -> tuple[float, float]:
    """The ends of x in the host while z has the value."""
    host = eliminate(program, [Embedding(network, [0], [2])], with_switches=True).host
    on_x, on_z = host.rows.toarray().T
    ends = (host.row_ub - on_z * value) / on_x
    return max([-2.0, *ends[on_x < 0]]), min([3.0, *ends[on_x > 0]])


@pytest.mark.parametrize("value", [0, 1])
def test_the_window_of_an_absolute_value(value):
    low, high = window(behind(1.0, value), value=value)
    assert -1.0 - FINE <= low <= -1.0
    assert 1.0 <= high <= 1.0 + FINE
    # While it is off, there is none.
    assert window(behind(1.0, value), value=1 - value) == (-2.0, 3.0)


def test_only_an_end_that_fails_is_cut_off():
    # |x| >= 1 leaves both ends and no middle.
    assert window(behind(1.0, side="lb")) == (-2.0, 3.0)
    assert window(behind(2.5)) == pytest.approx((-2.0, 2.5), abs=FINE)


def test_a_row_that_can_never_hold_switches_its_binary_off():
    host = eliminate(behind(-1.0), [Embedding(ABSOLUTE, [0], [2])], with_switches=True).host
    assert (host.lb[1], host.ub[1]) == (0.0, 0.0)
    host = eliminate(behind(-1.0, value=0), [Embedding(ABSOLUTE, [0], [2])], with_switches=True).host
    assert (host.lb[1], host.ub[1]) == (1.0, 1.0)


def test_without_bounds_or_with_several_evaluations_in_a_row_there_are_none():
    endless = derive(behind(1.0), ub=np.array([np.inf, 1.0, np.inf]))
    assert eliminate(endless, [Embedding(ABSOLUTE, [0], [2])], with_switches=True).host.num_rows == 0
    both = Program(
        cost=np.zeros(5),
        lb=[-2.0, -2.0, 0.0, -np.inf, -np.inf],
        ub=[3.0, 3.0, 1.0, np.inf, np.inf],
        integer=[2],
        indicators=[Indicator(2, 1, [0.0, 0.0, 0.0, 1.0, 1.0], ub=1.0)],
    )
    assert eliminate(both, [Embedding(ABSOLUTE, [[0], [1]], [[3], [4]])], with_switches=True).host.num_rows == 0


def test_methods_that_do_not_ask_for_it_get_the_host_as_it_is():
    assert eliminate(behind(1.0), [Embedding(ABSOLUTE, [0], [2])]).host.num_rows == 0


def test_lines_below_the_network_stand_in_the_host():
    # Columns x, t, z, y: z = 1 => y - t <= 0 with y = |x|, and x = 0 while z = 0. The host alone knows t >= |x| in the end, for z = 1.
    host = Program(
        cost=[0.0, 1.0, 0.0, 0.0],
        rows=[[1.0, 0.0, -2.0, 0.0], [1.0, 0.0, 2.0, 0.0]],
        row_lb=[-np.inf, 0.0],
        row_ub=[0.0, np.inf],
        lb=[-2.0, 0.0, 0.0, -np.inf],
        ub=[2.0, 9.0, 1.0, np.inf],
        integer=[2],
        indicators=[Indicator(2, 1, [0.0, -1.0, 0.0, 1.0], ub=0.0)],
    )
    embedded = eliminate(host, [Embedding(ABSOLUTE, [0], [3])], with_switches=True)
    rows = embedded.host.rows.toarray()[2:]
    assert rows.shape[0] == len(PLACES)
    # All go through the origin, so that nothing is said while z = 0.
    assert embedded.host.row_ub[2:] == pytest.approx(0.0, abs=1e-6)
    assert sorted(rows[:, 0].tolist()) == pytest.approx([-1.0, 0.0, 1.0], abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(-1.0, 3.0), st.sampled_from([1.0, -1.0]), st.integers(0, 1))
def test_no_feasible_point_is_below_a_floor(seed, limit, sign, value):
    rng = np.random.default_rng(seed)
    network = build_mlp([rng.normal(size=(6, 2)), rng.normal(size=(6, 6)), rng.normal(size=(1, 6))], [rng.normal(size=6)] * 2 + [None])
    program = Program(
        cost=np.zeros(4),
        lb=[-1.0, -2.0, 0.0, -np.inf],
        ub=[1.0, 2.0, 1.0, np.inf],
        integer=[2],
        indicators=[Indicator(2, value, [0.0, -1.0, 0.0, sign], ub=limit)],
    )
    # The second input is a constant.
    inputs = AffineInputs([[2.0, 0.0, 0.0, 0.0], [0.0] * 4], [0.5, rng.normal()])
    embedded = eliminate(program, [Embedding(network, inputs, [3])], with_switches=True)
    w = np.hstack([rng.uniform([-1.0, -2.0], [1.0, 2.0], (400, 2)), rng.integers(0, 2, (400, 1))])
    feasible = w[measure_points(embedded, w).excess.max(axis=1) <= 0.0]
    host = embedded.host
    assert np.all(feasible @ host.rows.T <= host.row_ub + 1e-7)
    assert np.all((host.lb <= feasible) & (feasible <= host.ub))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(-2.0, 2.0), st.booleans(), st.integers(0, 1))
def test_no_feasible_point_is_cut_off(seed, limit, is_upper, value):
    """Two networks of two inputs that share a column, one of them in a row with a column of its own."""
    rng = np.random.default_rng(seed)
    networks = [build_mlp([rng.normal(size=(4, 2)), rng.normal(size=(2, 4))], [rng.normal(size=4), rng.normal(size=2)]) for _ in range(2)]
    coefficients = np.zeros((2, 9))
    coefficients[0, 5:7], coefficients[1, 7:], coefficients[1, 3] = rng.normal(size=2), rng.normal(size=2), 1.0
    side = {"ub": limit} if is_upper else {"lb": limit}
    program = Program(
        cost=np.zeros(9),
        lb=[-1.0, -1.0, -1.0, 0.0, 0.0, *[-np.inf] * 4],
        ub=[1.0, 1.0, 1.0, 1.0, 1.0, *[np.inf] * 4],
        integer=[4],
        indicators=[Indicator(4, value, row, **side) for row in coefficients],
    )
    embeddings = [Embedding(networks[0], [0, 1], [5, 6]), Embedding(networks[1], [1, 2], [7, 8])]
    embedded = eliminate(program, embeddings, with_switches=True)
    w = np.hstack([rng.uniform([-1, -1, -1, 0], 1.0, (400, 4)), rng.integers(0, 2, (400, 1))])
    feasible = w[measure_points(embedded, w).excess.max(axis=1) <= 0.0]
    host = embedded.host
    assert np.all(feasible @ host.rows.T <= host.row_ub + 1e-7)
    assert np.all((host.lb <= feasible) & (feasible <= host.ub))
