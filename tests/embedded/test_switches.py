"""Rows that a large coefficient on a binary switches off are read as indicators, and nothing else is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dcembed
from dcembed import Embedding, Indicator, Program, build_mlp
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.point import measure_point
from dcembed.embedded.points import measure_points
from dcembed.errors import DcembedError
from dcembed.program.derive import derive
from problems import quiet

# y = |x|, so between 0 and 2 on [-2, 2]; bounds of both units as they are give 0 <= y <= 4.
ABSOLUTE = build_mlp([[[1.0], [-1.0]], [[1.0, 1.0]]], [None, None])
X, T, Z, Y = range(4)


def program(*rows, lb=-np.inf, ub=np.inf, **changes) -> Program:
    """Columns x, t, z, y with y = |x|."""
    fields = {
        "cost": [0.0, 1.0, -1.0, 0.0],
        "rows": np.array(rows, dtype=float) if rows else None,
        "row_lb": lb if rows else None,
        "row_ub": ub if rows else None,
        "lb": [-2.0, 0.0, 0.0, -np.inf],
        "ub": [2.0, 3.0, 1.0, np.inf],
        "integer": [Z],
    }
    return Program(**{**fields, **changes})


def read(host: Program, network=ABSOLUTE) -> EmbeddedProgram:
    return eliminate(host, [Embedding(network, [X], [Y])], with_switches=True)


@pytest.mark.parametrize(
    ("coefficients", "lb", "ub", "value", "rhs"),
    [
        # y - t <= 10 (1 - z), and the same with z the other way round.
        ([0.0, -1.0, 10.0, 1.0], -np.inf, 10.0, 1, 0.0),
        ([0.0, -1.0, -10.0, 1.0], -np.inf, 0.0, 0, 0.0),
        # y + t >= 1 - 10 (1 - z), and the other way round.
        ([0.0, 1.0, -10.0, 1.0], -9.0, np.inf, 1, -1.0),
        ([0.0, 1.0, 10.0, 1.0], 1.0, np.inf, 0, -1.0),
    ],
)
def test_either_sense_and_either_side_are_read(coefficients, lb, ub, value, rhs):
    embedded = read(program(coefficients, lb=lb, ub=ub))
    restrictions = embedded.restrictions
    assert embedded.num_switches == 1
    assert embedded.kept[restrictions.indicator].tolist() == [Z]
    assert restrictions.indicator_value.tolist() == [value]
    assert restrictions.rhs.tolist() == [rhs]
    # No M is left.
    assert restrictions.linear.toarray()[0, Z] == 0.0


def test_both_sides_of_a_range_are_switches_of_opposite_senses():
    # -3 <= y - 7 z <= 0 says y <= 0 while z = 0, y >= 4 while z = 1, where y is below 4 in any case.
    embedded = read(program([0.0, 0.0, -7.0, 1.0], lb=-3.0, ub=0.0))
    assert embedded.num_switches == 1
    assert sorted(zip(embedded.restrictions.indicator_value.tolist(), embedded.restrictions.rhs.tolist(), strict=True)) == [
        (0, 0.0),
        (1, -4.0),
    ]


def test_a_side_that_always_counts_stays_a_row():
    # 2.5 <= y - t + 5 z <= 6 says y - t <= 1 while z = 1, and y - t >= -2.5 then, which t = 3 might not keep.
    embedded = read(program([0.0, -1.0, 5.0, 1.0], lb=2.5, ub=6.0))
    assert embedded.num_switches == 1
    assert min(embedded.restrictions.indicator.tolist()) == -1
    assert embedded.restrictions.num_restrictions == 2


@pytest.mark.parametrize(
    ("host", "what"),
    [
        (program([0.0, -1.0, 1.5, 1.0], ub=1.5), "M is too small: y may be 2 while z = 0"),
        (program([0.0, -1.0, 10.0, 1.0], ub=0.0), "the row counts at both values"),
        (program([0.0, 0.0, 10.0, 1.0], lb=10.0, ub=10.0), "an equality"),
        (program([0.0, -1.0, 10.0, 1.0], ub=10.0, integer=[T, Z]), "two integers"),
        (program([0.0, -1.0, 10.0, 1.0], ub=10.0, integer=[]), "no integer"),
        (
            Program(
                cost=np.zeros(4), rows=[[0.0, -1.0, 10.0, 1.0]], row_ub=20.0, lb=[-2, 0, 0, -np.inf], ub=[2, 3, 2, np.inf], integer=[Z]
            ),
            "an integer up to 2",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_only_looks_like_a_switch_is_left_alone(host, what):
    embedded, plain = read(host), eliminate(host, [Embedding(ABSOLUTE, [X], [Y])])
    assert embedded.num_switches == 0
    assert (embedded.restrictions.indicator == -1).all()
    assert np.array_equal(embedded.restrictions.linear.toarray(), plain.restrictions.linear.toarray())
    assert np.array_equal(embedded.restrictions.rhs, plain.restrictions.rhs)
    assert embedded.host.num_rows == plain.host.num_rows


def test_a_row_is_no_excuse_for_itself():
    # t is free but for this row, which implies t <= 10 while z = 0.
    host = program([0.0, 1.0, 10.0, 1.0], ub=10.0, lb=-np.inf)
    endless = derive(host, ub=np.array([2.0, np.inf, 1.0, np.inf]))
    assert read(endless).num_switches == 0
    # Nor are two for one another.
    both = program([1.0, 1.0, 10.0, 0.0], [-1.0, 1.0, 10.0, 0.0], ub=12.0, integer=[Z])
    both = derive(both, ub=np.array([2.0, np.inf, 1.0, np.inf]))
    assert read(both).num_switches == 0


def test_what_holds_while_the_binary_is_off_is_known():
    # y <= 1 - z is no switch where y may be 2 while z = 0, but one where -2 z <= x <= 2 z: then y = 0.
    limits = [1.0, 0.0, -2.0, 0.0], [-1.0, 0.0, -2.0, 0.0]
    alone = program([0.0, 0.0, 1.0, 1.0], ub=1.0)
    assert read(alone).num_switches == 0
    known = program([0.0, 0.0, 1.0, 1.0], *limits, ub=[1.0, 0.0, 0.0])
    embedded = read(known)
    assert embedded.restrictions.indicator_value.tolist() == [1]
    by_indicators = derived_with(alone, Indicator(Z, 0, [1.0, 0.0, 0.0, 0.0], lb=0.0, ub=0.0))
    assert read(by_indicators).num_switches == 1


def derived_with(host: Program, *indicators: Indicator) -> Program:
    return derive(host, indicators=indicators)


def test_a_row_that_no_solver_could_be_given_as_an_indicator_stays():
    # While z = 0, x = 0 and y = 0, but there is no end to x while z = 1: the M of an indicator would be infinite.
    host = derived_with(program([0.0, -1.0, 10.0, 1.0], ub=10.0), Indicator(Z, 0, [1.0, 0.0, 0.0, 0.0], lb=0.0, ub=0.0))
    assert read(host).num_switches == 1
    endless = derive(host, ub=np.array([np.inf, 3.0, 1.0, np.inf]))
    assert read(endless).num_switches == 0
    # What bounds t is a neural row, which the host does not have.
    free = program([0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 10.0, 1.0], ub=[5.0, 15.0], lb=-np.inf)
    assert read(free).num_switches == 1
    free = derive(free, ub=np.array([2.0, np.inf, 1.0, np.inf]))
    assert read(free).num_switches == 0
    assert dcembed.solve(free, [Embedding(ABSOLUTE, [X], [Y])], options=quiet(max_starts=1, max_iterations=2)).x is not None


def test_a_row_on_inputs_has_the_least_m_and_its_name():
    # x <= -1 + 1000 (1 - z): x <= 2 anyway.
    embedded = read(program([1.0, 0.0, 1000.0, 0.0], ub=999.0, row_names=["low"]))
    host = embedded.host
    assert embedded.num_switches == 1
    assert host.rows.toarray().tolist() == [[1.0, 0.0, 3.0]]
    assert host.row_ub.tolist() == [2.0]
    assert host.row_names == ("low",)
    # The M of x <= 2 z is the least.
    tight = program([1.0, 0.0, -2.0, 0.0], ub=0.0)
    assert read(tight).num_switches == 0


def test_a_row_on_neither_predictions_nor_inputs_is_left_to_the_solver():
    assert read(program([0.0, 1.0, 1000.0, 0.0], ub=1001.0)).num_switches == 0


def test_a_defined_column_is_a_prediction():
    # t = y + 1, and t <= 2 + 100 (1 - z).
    host = program([0.0, 1.0, 0.0, -1.0], [0.0, 1.0, 100.0, 0.0], lb=[1.0, -np.inf], ub=[1.0, 102.0])
    host = derive(host, lb=np.array([-2.0, -np.inf, 0.0, -np.inf]), ub=np.array([2.0, np.inf, 1.0, np.inf]))
    embedded = read(host)
    assert embedded.num_switches == 1
    assert embedded.restrictions.rhs.tolist() == [1.0]


def test_the_users_program_is_what_points_are_measured_in():
    host = program([0.0, -1.0, 1e6, 1.0], ub=1e6, row_names=["cap"])
    rows = host.rows.toarray()
    embedded = read(host)
    assert embedded.program is host
    assert np.array_equal(host.rows.toarray(), rows)
    point = measure_point(embedded, np.array([2.0, 0.5, 1.0]))
    assert point.violation == pytest.approx(1.5)
    assert measure_point(embedded, np.array([2.0, 0.5, 0.0])).violation == 0.0


def test_an_end_of_the_run_while_switches_are_read_leaves_them_unread():
    def end() -> None:
        raise RuntimeError

    host, embedding = program([0.0, -1.0, 10.0, 1.0], ub=10.0), Embedding(ABSOLUTE, [X], [Y])
    with pytest.raises(RuntimeError):
        eliminate(host, [embedding], with_switches=True, check=end)
    result = dcembed.solve(host, [embedding], options=quiet(time_limit=0.0))
    assert result.sizes.switches == 0


def test_the_option_and_the_header(capsys):
    host, embedding = program([0.0, -1.0, 1000.0, 1.0], ub=1000.0), Embedding(ABSOLUTE, [X], [Y])
    result = dcembed.solve(host, [embedding], options={"max_starts": 1, "max_iterations": 3})
    assert "switches  1 row read as indicators" in capsys.readouterr().out
    assert result.sizes.switches == 1
    left = dcembed.solve(host, [embedding], options={"max_starts": 1, "max_iterations": 3, "switches": False})
    assert left.sizes.switches == 0
    assert "read as indicators" not in capsys.readouterr().out
    with pytest.raises(DcembedError, match="switches"):
        dcembed.Options(switches=1)


@dataclass(frozen=True, eq=False)
class Drawn:
    """A program over x1, x2, t, z1, z2 and the predictions y1, y2 of a network, and its embedding."""

    program: Program
    embedding: Embedding


NUMBERS = st.integers(-4, 4).map(lambda number: number / 2)


@st.composite
def hosts(draw) -> Drawn:
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    network = build_mlp([rng.normal(size=(3, 2)), rng.normal(size=(2, 3))], [rng.normal(size=3), rng.normal(size=2)])
    count = draw(st.integers(1, 4))
    rows, lb, ub = np.zeros((count, 7)), np.full(count, -np.inf), np.full(count, np.inf)
    for i in range(count):
        rows[i, [0, 1, 2, 5, 6]] = draw(st.lists(NUMBERS, min_size=5, max_size=5))
        if draw(st.booleans()):
            rows[i, [5, 6]] = 0.0
        binary = draw(st.sampled_from([3, 4]))
        rows[i, binary] = draw(st.sampled_from([-50.0, -8.0, -3.0, -1.0, 1.0, 3.0, 8.0, 50.0]))
        if draw(st.integers(0, 5)) == 0:
            rows[i, 7 - binary] = draw(NUMBERS)
        # Where the row says something at one of the values.
        limit = draw(NUMBERS) + max(rows[i, binary], 0.0)
        side = draw(st.sampled_from(["upper", "lower", "range"]))
        ub[i] = limit if side != "lower" else np.inf
        lb[i] = limit - draw(st.sampled_from([2.0, 8.0, 60.0])) if side != "upper" else -np.inf
    indicators = [Indicator(3, 0, [1.0, 0, 0, 0, 0, 0, 0], ub=0.0)] if draw(st.booleans()) else []
    free = draw(st.booleans())
    host = Program(
        cost=np.ones(7),
        rows=rows,
        row_lb=lb,
        row_ub=ub,
        lb=[-1.0, 0.0, -np.inf if free else -1.0, 0.0, 0.0, -np.inf, -np.inf],
        ub=[1.0, 1.0, 2.0, 1.0, 1.0, np.inf, np.inf],
        integer=[3, 4],
        indicators=indicators,
    )
    return Drawn(host, Embedding(network, [0, 1], [5, 6]))


def violations(host: Program, points: np.ndarray) -> np.ndarray:
    """The largest violation of rows, bounds and indicators at each point."""
    rows, on = host.indicator_rows, points[:, host.indicator_rows.column] == host.indicator_rows.value
    ways = [
        (points, host.lb, host.ub, True),
        (points @ host.rows.T, host.row_lb, host.row_ub, True),
        (points @ rows.matrix.T, rows.lb, rows.ub, on),
    ]
    excess = [np.where(counts, np.maximum(value - ub, lb - value), 0.0) for value, lb, ub, counts in ways]
    return np.maximum(np.concatenate(excess, axis=1).max(axis=1), 0.0)


@settings(max_examples=60, deadline=None)
@given(hosts(), st.integers(0, 1000))
def test_the_feasible_points_are_the_same(drawn, seed):
    embedded = eliminate(drawn.program, [drawn.embedding], with_switches=True)
    rng = np.random.default_rng(seed)
    grid = [np.append(np.linspace(-1, 1, 5), rng.uniform(-1, 1)), np.linspace(0, 1, 4), [-9.0, -1.0, 0.5, 2.0], [0.0, 1.0], [0.0, 1.0]]
    columns = np.array(np.meshgrid(*grid)).reshape(5, -1).T
    user = violations(drawn.program, np.hstack([columns, drawn.embedding.network(columns[:, :2])]))
    made = np.maximum(violations(embedded.host, columns), measure_points(embedded, columns).excess.max(axis=1, initial=0.0))
    assert np.all(made[user <= 1e-9] <= 1e-6)
    assert np.all(user[made <= 1e-9] <= 1e-6)


@settings(max_examples=60, deadline=None)
@given(hosts())
def test_the_users_program_stays_and_so_do_rows_that_are_no_switches(drawn):
    before = drawn.program.rows.toarray(), drawn.program.row_lb.copy(), drawn.program.row_ub.copy()
    embedded = eliminate(drawn.program, [drawn.embedding], with_switches=True)
    assert all(
        np.array_equal(a, b)
        for a, b in zip(before, (drawn.program.rows.toarray(), drawn.program.row_lb, drawn.program.row_ub), strict=True)
    )
    several = (drawn.program.rows.toarray()[:, [3, 4]] != 0).all(axis=1)
    assert embedded.num_switches <= int((~several).sum())
