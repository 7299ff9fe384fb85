"""Runs with others: the same answers as without."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from block_problems import block_case
from crew_problems import check, margin
from dcembed import Options, Status
from dcembed.crew import crew as crews
from dcembed.engine.search.orders import is_hopeless
from problems import binary_problem, box_problem, indicator_problem, level_problem, quiet

pytestmark = pytest.mark.usefixtures("called_at_once")


@pytest.mark.parametrize("make", [margin, level_problem, binary_problem, indicator_problem])
def test_one_pass_has_the_same_answer_for_any_number_of_workers(make, workers):
    program, embedding = make(1)
    results = [
        dcembed.solve(program, embedding, options=quiet(search="converge", max_starts=5, **others))
        for others in ({}, {"executor": workers}, {"workers": 3})
    ]
    assert len({result.objective for result in results}) == 1
    assert len({result.x.tobytes() for result in results}) == 1
    assert len({result.num_starts for result in results}) == 1
    assert len({len(result.history) for result in results}) == 1


@pytest.mark.parametrize("search", ["patient", "converge"])
def test_blocks_have_the_same_answer_with_workers(search, workers, monkeypatch):
    monkeypatch.setattr("dcembed.engine.columns.walks.PART_BLOCKS", 4)
    case = block_case(2, num_items=12)
    options = {"search": search, "max_starts": 3}
    alone, others = (dcembed.solve(case.program, case.embeddings, options=quiet(**options, **more)) for more in ({}, {"executor": workers}))
    if search == "converge":
        assert alone.objective == others.objective
    assert others.is_feasible


@pytest.fixture
def sent(monkeypatch):
    """What is done elsewhere, by its name."""
    names, send = [], crews.Crew.send

    def count(self, function, *arguments, **more):
        errand = send(self, function, *arguments, **more)
        names.extend([function.__name__] if errand is not None else [])
        return errand

    monkeypatch.setattr(crews.Crew, "send", count)
    return names


def curved():
    """A smooth network: no mixed-integer solver has the last word on it, all of its proof is planes in boxes."""
    rng = np.random.default_rng(1)
    weights = [rng.normal(size=(6, 2)), rng.normal(size=(6, 6)) / 2, rng.normal(size=(1, 6))]
    return box_problem(dcembed.build_mlp(weights, [rng.normal(size=6), rng.normal(size=6), None], "tanh"), np.full(2, 0.1), 1.0)


@pytest.mark.parametrize("make", [lambda: margin(3, width=12), curved], ids=["margin", "curved"])
def test_a_proof_with_workers_is_that_without(make, workers, sent, monkeypatch):
    monkeypatch.setattr("dcembed.bounds.box_parts.PART_COST", 1e4)
    program, embedding = make()
    options = {"search": "converge", "max_starts": 2, "prove": True, "gap_tol": 1e-3}
    alone, others = (dcembed.solve(program, embedding, options=quiet(**options, **more)) for more in ({}, {"executor": workers}))
    assert alone.status is others.status is Status.OPTIMAL
    assert alone.bound == others.bound
    assert "planes_of_part" in sent or make is not curved


def test_prove_with_workers_proves_what_it_does_without(workers, sent, monkeypatch):
    monkeypatch.setattr("dcembed.bounds.box_parts.PART_COST", 1e4)
    program, embedding = curved()
    alone = dcembed.prove(program, embedding, options=quiet(gap_tol=1e-3))
    assert not sent
    for others in ({"executor": workers}, {"workers": 2}):
        result = dcembed.prove(program, embedding, options=quiet(gap_tol=1e-3, **others))
        assert alone.status is result.status is Status.OPTIMAL
        assert (alone.bound, alone.objective) == (result.bound, result.objective)
        # Those of the executor are there; others may come when all is done.
        assert "planes_of_part" in sent


def test_what_is_compiled_has_the_same_answers_with_workers(workers, sent):
    program, embedding = margin(2)
    changes = [{}, {"ub": [*2.0 * np.ones(10), np.inf]}, {"cost": [*np.linspace(-0.2, 0.2, 10), 1.0]}]
    points, counts = [], []
    for others in ({}, {"executor": workers}, {"workers": 2}):
        with dcembed.compile(program, embedding, quiet(search="converge", max_starts=4, **others)) as problem:
            points.append([problem.solve(**change).x for change in changes])
        counts.append(sent.count("follow_elsewhere"))
    for others in points[1:]:
        np.testing.assert_array_equal(others, points[0])
    assert np.abs(np.diff(points[0], axis=0)).max(axis=1).min() > 0.1
    assert counts[0] == 0
    assert counts[1] >= 3


def test_the_same_seed_and_number_of_workers_have_the_same_trace(workers):
    program, embedding = margin(5)
    runs = [dcembed.solve(program, embedding, options=quiet(executor=workers, max_starts=12)) for _ in range(3)]
    assert len({tuple((step.start, step.number, step.objective) for step in run.history) for run in runs}) == 1


def test_starts_are_made_elsewhere_and_told_of_here(workers):
    program, embedding = margin(2)
    seen = []
    result = dcembed.solve(
        program, embedding, options=quiet(executor=workers, max_starts=8, callback=lambda step: seen.append(step) and None)
    )
    check(program, embedding, result)
    assert {step.start for step in result.history} <= set(range(result.num_starts))
    assert result.num_starts >= 3
    assert [step.start for step in seen] == [step.start for step in result.history]
    assert sum(step.is_incumbent for step in result.history) >= 1
    assert result.incumbents == sorted(result.incumbents)


def test_a_callback_ends_a_run_with_workers(workers):
    program, embedding = margin(2)
    result = dcembed.solve(
        program,
        embedding,
        options=quiet(executor=workers, search="until-limit", max_starts=None, time_limit=60.0, callback=lambda step: step.start >= 2),
    )
    assert result.status is Status.INTERRUPTED
    assert result.seconds < 30.0
    check(program, embedding, result)


def test_a_network_that_cannot_be_sent_is_solved_here(workers):
    from dcembed.network.activations import numerical

    shape = numerical.activation_from("bump", lambda x: np.tanh(x) + 0.1 * x, lambda x: 1.1 - np.tanh(x) ** 2)
    network = dcembed.build_mlp([np.ones((3, 1)), [[1.0, -2.0, 1.0]]], [[0.0, 1.0, 2.0], None], activation=shape)
    program = dcembed.Program(cost=[0.0, 1.0], lb=[-3.0, -9.0], ub=[3.0, 9.0])
    result = dcembed.solve(program, dcembed.Embedding(network, [0], [1]), options=quiet(executor=workers, max_starts=4))
    assert result.is_feasible
    assert any("stays in this process" in note for note in result.notes)


def test_a_start_without_hope_is_left():
    falling = [10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0]
    assert not is_hopeless(falling, best=-5.0, num_left=20)
    assert is_hopeless(falling, best=-50.0, num_left=20)
    assert is_hopeless([4.0] * 8, best=3.9, num_left=1000)
    assert not is_hopeless([4.0] * 8, best=4.1, num_left=1)
    assert not is_hopeless([np.inf] * 8, best=0.0, num_left=1)
    assert not is_hopeless([4.0], best=0.0, num_left=1)


@pytest.mark.parametrize("options", [{"workers": 0}, {"workers": 1.5}, {"workers": True}, {"executor": 3}, {"workers": 10**6}])
def test_wrong_settings_are_refused(options):
    with pytest.raises(dcembed.DcembedError, match="is not accepted"):
        Options(**options)
