"""One start is a function of the problem, a point and what others have settled; what starts share never changes."""

from __future__ import annotations

import dataclasses
import importlib
import pickle
import pkgutil
import subprocess
import sys

import numpy as np
import pytest

import dcembed
from dcembed import engine
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.point import measure_point
from dcembed.engine.outcome import Outcome
from dcembed.engine.problem import Problem, build_problem
from dcembed.engine.start import run_start
from dcembed.engine.workshop import Steps
from dcembed.run.arguments import read_arguments
from dcembed.run.journal import open_journal
from problems import FORMULATIONS, binary_problem, indicator_problem, level_problem, quiet

PROBLEMS = {"continuous": lambda: level_problem(17), "binaries": lambda: binary_problem(2), "indicators": lambda: indicator_problem(0)}


def prepared(name: str, formulation: str) -> tuple[Problem, dcembed.Program, dcembed.Embedding]:
    program, embedding = PROBLEMS[name]()
    return build_problem(eliminate(program, [embedding]), quiet(formulation=formulation, callback=print)), program, embedding


def started(problem: Problem, program, embedding, settled=()) -> tuple[Outcome, list]:
    """The outcome of the start at the origin, and the trace that the journal heard."""
    with open_journal(read_arguments(program, embedding, None, quiet())) as journal:
        outcome = run_start(
            problem, measure_point(problem.embedded, np.zeros(problem.embedded.host.num_columns)), Steps(0, 1000), settled, journal
        )
    kept = journal.incumbent
    assert (outcome.best is not None) == kept.is_feasible
    assert outcome.best is None or outcome.best.objective <= kept.point.objective + 1e-12
    return outcome, [(r.objective, r.violation, r.penalty, r.solver_status) for r in journal.history]


def same(one: Outcome, other: Outcome) -> bool:
    return one.status is other.status and np.array_equal(one.point.w, other.point.w)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_start_gives_the_same_outcome_again_and_from_a_copy_of_the_problem(name, formulation):
    problem, program, embedding = prepared(name, formulation)
    copy = pickle.loads(pickle.dumps(problem))
    first, trace = started(problem, program, embedding)
    # Nothing of the first start is left in the problem, and nothing else is needed to run one.
    for again in (problem, copy, pickle.loads(pickle.dumps(problem))):
        outcome, other = started(again, program, embedding)
        assert same(first, outcome)
        assert trace == other
    assert same(first, pickle.loads(pickle.dumps(first)))


def test_a_start_in_another_process_ends_at_the_same_point(tmp_path):
    problem, program, embedding = prepared("binaries", "lazy")
    expected, _ = started(problem, program, embedding)
    path = tmp_path / "start.pickle"
    path.write_bytes(pickle.dumps((problem, program, embedding)))
    code = (
        f"import pickle, sys; sys.path[:0] = {sys.path!r}\n"
        f"from engine.test_start import started\n"
        f"outcome, _ = started(*pickle.load(open({str(path)!r}, 'rb')))\n"
        f"pickle.dump(outcome, open({str(path)!r}, 'wb'))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=200)
    assert same(expected, pickle.loads(path.read_bytes()))


def test_a_start_that_meets_a_settled_point_ends_there():
    problem, program, embedding = prepared("binaries", "lazy")
    alone, trace = started(problem, program, embedding)
    outcome, shorter = started(problem, program, embedding, settled=[alone.point.w])
    assert same(alone, outcome)
    assert len(shorter) < len(trace)


def test_what_the_engine_keeps_is_frozen():
    names = [module.name for module in pkgutil.walk_packages(engine.__path__, "dcembed.engine.")]
    kept = [
        thing
        for name in names
        for thing in vars(importlib.import_module(name)).values()
        if dataclasses.is_dataclass(thing) and isinstance(thing, type) and thing.__module__.startswith("dcembed.engine")
    ]
    assert len(kept) > 10
    for thing in kept:
        assert thing.__dataclass_params__.frozen, thing


def test_a_run_does_not_change_what_its_starts_share():
    problem, program, embedding = prepared("indicators", "lazy")

    def numbers(value, seen):
        """Every array that can be reached."""
        if id(value) in seen:
            return
        seen[id(value)] = value
        if isinstance(value, np.ndarray):
            yield value.copy()
        elif hasattr(value, "indptr"):
            yield from (value.data.copy(), value.indices.copy())
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            for field in dataclasses.fields(value):
                yield from numbers(getattr(value, field.name), seen)
        elif isinstance(value, (list, tuple)):
            for entry in value:
                yield from numbers(entry, seen)

    before = list(numbers(problem, {}))
    started(problem, program, embedding)
    after = list(numbers(problem, {}))
    assert len(before) > 20
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))
