"""A refreshed problem is the one that an elimination from the beginning makes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from changing_problems import PROBLEMS, changed, random_change
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.measurements import evaluate_measurements, slopes
from dcembed.embedded.refresh import refresh, what_is_lost
from dcembed.program.change import change
from dcembed.program.derive import derive, minimized

NUM_CHANGES = 12


def assert_same(one: object, other: object, where: str) -> None:
    """Field by field, as far down as there are fields."""
    if isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other, err_msg=where)
    elif sp.issparse(one):
        assert one.shape == other.shape, where
        assert abs(one - other).sum() == 0, where
    elif dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            assert_same(getattr(one, field.name), getattr(other, field.name), f"{where}.{field.name}")
    elif isinstance(one, tuple | list):
        assert len(one) == len(other), where
        for number, (each, its) in enumerate(zip(one, other, strict=True)):
            assert_same(each, its, f"{where}[{number}]")
    elif isinstance(one, dict):
        assert one.keys() == other.keys(), where
    elif not callable(one):
        assert one == other, where


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("with_switches", [False, True])
def test_what_is_refreshed_is_what_is_eliminated_anew(name, with_switches):
    program, embeddings = PROBLEMS[name]()
    rng, num_refreshed = np.random.default_rng(0), 0
    base = minimized(program)
    known = eliminate(base, embeddings, with_switches)
    for _ in range(NUM_CHANGES):
        made = random_change((program, embeddings), rng)
        fresh_program, fresh_embeddings = changed((program, embeddings), made)
        fields = {field: value for field, value in made.items() if field != "inputs_offset"}
        altered = minimized(change(program, fields)) if program.maximize else change(base, fields)
        if program.maximize and "quadratic" not in made:
            # A compiled problem keeps the matrices of its minimization.
            altered = derive(altered, quadratic=base.quadratic, concave=base.concave)
        expected = eliminate(minimized(fresh_program), fresh_embeddings, with_switches)
        if what_is_lost(known, altered, fresh_embeddings, with_switches) is None:
            num_refreshed += 1
            got = refresh(known, altered, fresh_embeddings)
            assert_same(dataclasses.replace(got, embeddings=()), dataclasses.replace(expected, embeddings=()), name)
            w = rng.normal(size=got.host.num_columns)
            np.testing.assert_array_equal(evaluate_measurements(got, w), evaluate_measurements(expected, w))
            assert abs(slopes(got, w) - slopes(expected, w)).sum() == 0
    assert num_refreshed > 0


@pytest.mark.parametrize(
    ("name", "made", "words"),
    [
        ("rows", {"cost": [-1.0, -1.2, 0.1, 0.5]}, "what predictions cost"),
        ("rows", {"row_ub": [0.8, np.inf]}, "have come or gone"),
        ("rows", {"ub": [1.0, 1.0, 1.0, 2.0]}, "have come or gone"),
        ("definition", {"cost": [-1.0, -1.2, 0.3, 0.2]}, "what predictions cost"),
        ("definition", {"row_lb": [0.0, -np.inf]}, "have come or gone"),
        ("big-M rows", {"ub": [0.9, 1.0, 1.0, np.inf]}, "switches and windows"),
        ("indicators", {"ub": [0.9, 1.0, 1.0, np.inf]}, "switches and windows"),
        ("nonconvex", {"ub": [0.9, 1.0, 1.0, np.inf]}, "split by the ranges"),
        ("maximize", {"quadratic": -np.eye(4)}, "quadratic objective"),
    ],
)
def test_what_changes_the_structure_is_said(name, made, words):
    program, embeddings = PROBLEMS[name]()
    known = eliminate(minimized(program), embeddings, True)
    assert words in what_is_lost(known, minimized(change(program, made)), embeddings, True)
