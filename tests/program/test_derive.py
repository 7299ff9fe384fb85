"""Programs made from others lose nothing: every field is filled, and every verb is shown to carry it."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
import scipy.sparse as sp

from dcembed import ConeConstraint, Embedding, Indicator, Program, QuadraticConstraint, build_mlp, verify
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.point import measure_point
from dcembed.embedded.verify import KINDS
from dcembed.program.derive import add_columns, add_rows, derive, keep_columns, keep_rows, minimized, relaxed, without_objective
from dcembed.program.indicators import linearize_indicators

N = 5


def full_program(maximize: bool = False) -> Program:
    """Every field says something; column 4 is used by the objective alone."""
    sign = -1.0 if maximize else 1.0
    root = np.array([[1.0, 0.5, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0, 0.0]])
    return Program(
        cost=[1.0, -2.0, 0.5, 3.0, 0.25],
        quadratic=sign * root.T @ root,
        concave=sign * np.diag([0.5, 0.0, 0.0, 0.0, 0.25]),
        offset=7.0,
        rows=[[1.0, 1.0, 0.0, 2.0, 0.0], [0.0, 1.0, -1.0, 0.0, 0.0]],
        row_lb=[-1.0, 0.5],
        row_ub=[2.0, 0.5],
        lb=[-2.0, -3.0, -1.0, 0.0, -9.0],
        ub=[2.0, 3.0, 4.0, 1.0, 9.0],
        integer=[2, 3],
        indicators=[Indicator(3, 1, [1.0, 0.0, -1.0, 0.0, 0.0], -0.5, 0.5, name="on")],
        quadratic_constraints=[QuadraticConstraint(np.diag([1.0, 2.0, 0.0, 0.0, 0.0]), [0.0, 1.0, 0.0, 0.0, 0.0], 1.0, name="disc")],
        cones=[ConeConstraint([[0.0, 0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]], [1.0, 0.0], names=["cone"])],
        maximize=maximize,
        column_names=list("abcde"),
        row_names=["first", "second"],
    )


def test_every_field_of_the_full_program_is_filled():
    plain = Program(cost=np.zeros(N))
    for field in fields(Program):
        if field.name == "column_numbers":
            continue
        ours, empty = getattr(full_program(maximize=True), field.name), getattr(plain, field.name)
        assert repr(ours) != repr(empty), field.name


def excesses(program: Program, w: np.ndarray) -> dict[str, float]:
    measured = verify(program, [], w)
    return {kind: getattr(measured, kind) for kind in KINDS}


def points() -> np.ndarray:
    """Half of them with integral integers, so that indicators are on at some."""
    rng = np.random.default_rng(0)
    w = 2.0 * rng.normal(size=(40, N))
    w[::2, 2:4] = np.column_stack([np.round(w[::2, 2]), rng.integers(0, 2, 20)])
    return w


def wide(w: np.ndarray) -> np.ndarray:
    return np.append(w, [0.3, -0.4])


# What each verb makes of the full program, the point that corresponds, and which kinds of violation it is meant to change.
VERBS = {
    "derive": (lambda p: derive(p, cost=p.cost), lambda w: w, ()),
    "minimized": (minimized, lambda w: w, ()),
    "relaxed": (relaxed, lambda w: w, ("integrality", "indicators")),
    "without objective": (without_objective, lambda w: w, ()),
    "add columns": (lambda p: add_columns(p, np.full(2, -1.0), np.full(2, 1.0)), wide, ()),
    "keep columns": (lambda p: keep_columns(p, np.arange(4)), lambda w: w[:4], ()),
    "keep rows": (lambda p: keep_rows(p, np.arange(2)), lambda w: w, ()),
    "add rows": (lambda p: add_rows(p, sp.csr_array((1, N)), np.array([-1.0]), np.array([1.0])), lambda w: w, ()),
    "linearize indicators": (linearize_indicators, lambda w: w, ("rows", "indicators")),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("maximize", [False, True])
def test_no_constraint_is_lost(verb, maximize):
    program = full_program(maximize)
    change, lift, meant = VERBS[verb]
    derived = change(program)
    for w in points():
        w[4] = np.clip(w[4], -9.0, 9.0)  # the bounds of the column that one verb drops
        before, after = excesses(program, w), excesses(derived, lift(w))
        assert {k: v for k, v in before.items() if k not in meant} == {k: v for k, v in after.items() if k not in meant}


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in ("without objective", "keep columns")])
@pytest.mark.parametrize("maximize", [False, True])
def test_the_objective_is_kept(verb, maximize):
    program = full_program(maximize)
    change, lift, _ = VERBS[verb]
    derived = change(program)
    for w in points():
        assert derived.sense * derived.objective(lift(w)) == pytest.approx(program.sense * program.objective(w))


@pytest.mark.parametrize("verb", VERBS)
def test_names_come_along(verb):
    program = full_program()
    derived = VERBS[verb][0](program)
    assert [derived.column_label(j) for j in range(4)] == [f"column {name!r}" for name in "abcd"]
    assert {f"row {name!r}" for name in ("first", "second")} <= {derived.row_label(i) for i in range(derived.num_rows)}
    assert derived.quadratic_constraints[0].name == "disc"
    assert derived.cone_rows.names == ("cone",)
    if derived.indicators:
        assert derived.indicators[0].name == "on"


def test_numbers_of_columns_are_those_of_the_user():
    program = derive(full_program(), column_names=None)
    kept = keep_columns(add_columns(program, np.zeros(1), np.ones(1)), np.array([0, 1, 2, 3, 5]))
    assert [kept.column_label(j) for j in range(5)] == ["column 0", "column 1", "column 2", "column 3", "column -1"]


def test_nothing_is_checked_again(monkeypatch):
    from dcembed.program import program as module

    program = full_program()
    monkeypatch.setattr(module, "check_convex", lambda *rest: pytest.fail("checked again"))
    for change, _, _ in VERBS.values():
        change(program)
    eliminate(program, [])


def test_an_unknown_field_is_a_mistake():
    with pytest.raises(TypeError, match="Program has no field"):
        derive(full_program(), costs=np.zeros(N))


def test_elimination_keeps_every_field():
    # One more column stands for a prediction that a row, an indicator and the objective use.
    network = build_mlp([[[1.0], [-1.0]], [[1.0, -0.5]]], [None, [0.2]])
    program = add_columns(full_program(), np.array([-5.0]), np.array([0.4]), cost=np.array([2.0]))
    row = sp.csr_array([[1.0, 0.0, 0.0, 0.0, 0.0, -1.0]])
    program = add_rows(program, row, np.array([-1.0]), np.array([1.0]))
    program = derive(program, indicators=(*program.indicators, Indicator(3, 0, row, ub=0.25)))
    embedded = eliminate(program, [Embedding(network, [0], [5])])
    seen = set()
    for w in points():
        point = measure_point(embedded, w)
        measured = verify(program, embedded.embeddings, point.x)
        assert point.objective == pytest.approx(measured.objective)
        assert point.violation == pytest.approx(measured.violation)
        host = excesses(embedded.host, point.w)
        for kind in ("quadratics", "cones", "integrality"):
            assert host[kind] == pytest.approx(getattr(measured, kind))
        seen |= {kind for kind in KINDS if getattr(measured, kind) > 0}
    assert seen >= {"rows", "bounds", "indicators", "quadratics", "cones"}
