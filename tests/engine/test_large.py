"""Very many evaluations and units: work and memory that grow with their number and no faster, and clear words where something is too large."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from benchmarks.problems.big import samples_instance
from block_problems import block_case
from dcembed import Options
from dcembed.baselines import BASELINES
from dcembed.bounds.hull import Hull
from dcembed.bounds.pieces import count_pieces, find_pieces
from dcembed.bounds.relaxation import build_relaxation
from dcembed.crew.crew import Crew
from dcembed.crew.task import Shared
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.embedded.measurements import slopes
from dcembed.engine.columns import batched_lp, generator, recombination
from dcembed.engine.columns.batched_lp import Programs, solve_programs
from dcembed.engine.columns.generator import Task, begin, price, relax
from dcembed.engine.columns.greedy import combine_greedily
from dcembed.engine.columns.integers import find_choices
from dcembed.engine.columns.layout import lay_out
from dcembed.engine.columns.recombination import Kind, recombine
from dcembed.engine.problem import build_problem
from dcembed.engine.search import orders
from dcembed.errors import InputError
from dcembed.program import derive
from dcembed.program.tightening import tighten
from dcembed.run.clock import Clock, RunEnded
from dcembed.solvers.base import Limits
from problems import box_problem, quiet, random_mlp


@pytest.fixture(scope="module")
def samples():
    """Forty samples of the treatment problem, eliminated."""
    instance = samples_instance(40, width=8)
    return instance, eliminate(instance.program, instance.embeddings)


def test_a_pass_multiplies_the_inputs_once_however_many_chunks_it_has(samples, monkeypatch):
    _, embedded = samples
    w = np.random.default_rng(0).uniform(0.0, 0.5, embedded.host.num_columns)
    whole, slope = embedded.predict(w), slopes(embedded, w)
    calls, moved = [], MeasuredNetwork.moved
    monkeypatch.setattr(MeasuredNetwork, "moved", lambda self, at: calls.append(1) or moved(self, at))
    for room in ("network.network", "embedded.measured_network"):
        monkeypatch.setattr(f"dcembed.{room}.CHUNK_ENTRIES", 60)
    assert np.allclose(embedded.predict(w)[0], whole[0])
    assert len(calls) == 1
    assert abs(slopes(embedded, w) - slope).max() <= 1e-12
    assert len(calls) == 2


def test_weights_of_units_are_not_kept_where_every_evaluation_is_weighed_in_its_own_way(monkeypatch):
    rng, network = np.random.default_rng(4), random_mlp(1, (2, 6, 5, 3))
    outputs = 2 * 30 + np.arange(90).reshape(30, 3)
    cost = np.concatenate([np.zeros(60), rng.normal(size=90)])
    program = dcembed.Program(cost=cost, lb=-np.ones(150), ub=np.concatenate([np.ones(60), np.full(90, np.inf)]))
    embedding = dcembed.Embedding(network, np.arange(60).reshape(30, 2), outputs)
    w = rng.uniform(-1.0, 1.0, 60)
    kept = slopes(eliminate(program, [embedding]), w)
    monkeypatch.setattr("dcembed.embedded.measured_network.MAX_CONSTANTS", 10)
    embedded = eliminate(program, [embedding])
    assert abs(slopes(embedded, w) - kept).max() <= 1e-12
    assert embedded.networks[0].directions.shape[0] >= 30
    assert "direct" not in vars(embedded.networks[0])


@pytest.mark.parametrize("has_definitions", [False, True])
def test_indicators_are_moved_all_at_once(has_definitions, monkeypatch):
    """One by one, each would look at all columns."""
    from benchmarks.problems.water import with_score_columns

    counts = []
    for number in (5, 50):
        instance = samples_instance(number, width=4)
        if has_definitions:
            instance = with_score_columns(instance, number)
        calls, take = [], derive.take_columns
        with monkeypatch.context() as patch:
            patch.setattr(derive, "take_columns", lambda *arguments, take=take, calls=calls: calls.append(1) or take(*arguments))
            embedded = eliminate(instance.program, instance.embeddings)
            # The indicators of the program are on predictions; here they are of the host.
            kept = derive.keep_columns(instance.program, np.arange(instance.program.num_columns))
        counts.append(len(calls))
        assert embedded.restrictions.num_restrictions == number
        assert len(kept.indicators) == number
        for one, other in zip(kept.indicators, instance.program.indicators, strict=True):
            assert one.column == other.column
            assert (one.lb, one.ub, one.value) == (other.lb, other.ub, other.value)
            assert abs(one.coefficients - other.coefficients).max() == 0.0
    assert counts[0] == counts[1]


def test_many_programs_are_solved_some_at_a_time(monkeypatch):
    rng = np.random.default_rng(2)
    programs = Programs(rng.normal(size=(30, 6)), rng.normal(size=(30, 3, 6)), rng.uniform(0.5, 2.0, (30, 3)), np.full((30, 3), 50.0))
    whole = solve_programs(programs)
    sizes, follow = [], batched_lp._follow_paths
    monkeypatch.setattr(batched_lp, "_follow_paths", lambda some: sizes.append(some.rhs.shape[0]) or follow(some))
    monkeypatch.setattr(batched_lp, "CHUNK_ENTRIES", 7 * 18)
    parts = solve_programs(programs)
    assert sizes == [7, 7, 7, 7, 2]
    values = [np.einsum("bn,bn->b", programs.cost, solutions.s) for solutions in (whole, parts)]
    assert np.allclose(*values, atol=1e-4)


def sampled_task(monkeypatch, link: str = "budget") -> Task:
    """A problem of few blocks that counts as one of very many."""
    monkeypatch.setattr(generator, "MAX_RELAXED", 20)
    if link == "samples":
        instance = samples_instance(40, width=8)
        program, embeddings = instance.program, instance.embeddings
        embedded = eliminate(program, embeddings)
    else:
        embedded = block_case(0, 40, link).eliminate()
    problem = build_problem(embedded, Options(verbose=False))
    assert problem.blocks is not None
    layout = lay_out(embedded, problem.blocks, problem.box)
    assert layout is not None
    nothing = np.clip(np.zeros(embedded.host.num_columns), layout.box.lb, layout.box.ub)
    return Task(Shared(problem), layout, find_choices(layout), nothing)


def test_very_many_blocks_are_combined_without_a_solver(monkeypatch):
    task = sampled_task(monkeypatch, "samples")
    assert task.is_sampled
    rng, clock = np.random.default_rng(0), Clock(np.inf)
    state = begin(task)
    for _ in range(4):
        state = relax(task, price(task, state, state.prices, rng, Crew(), clock), clock)

    def refuse(*_arguments, **_more):
        raise AssertionError("no solver is needed")

    monkeypatch.setattr(recombination, "solve_master", refuse)
    w = recombine(task, state, None, Kind.QUICK, Limits())
    assert w is not None
    point = dcembed.embedded.point.measure_point(task.layout.embedded, w)
    assert point.is_feasible(1e-5)
    assert point.objective <= -5.0
    # From a good point it gets no worse.
    again = combine_greedily(task, state, w)
    assert again is not None
    assert dcembed.embedded.point.measure_point(task.layout.embedded, again).objective <= point.objective


def test_a_combination_from_a_point_that_misses_a_link_is_left_to_the_master(monkeypatch):
    task = sampled_task(monkeypatch, "samples")
    layout = task.layout
    monkeypatch.setattr("dcembed.engine.columns.greedy._limits", lambda _: (layout.links.lb, np.full(layout.links.num_links, -1.0)))
    assert combine_greedily(task, begin(task), None) is None


def test_the_run_on_very_many_blocks_is_as_good_as_the_usual_one(monkeypatch):
    instance = samples_instance(40, width=8)
    options = quiet(max_starts=1, max_iterations=0)
    usual = dcembed.solve(instance.program, instance.embeddings, start=instance.starts, options=options)
    monkeypatch.setattr(generator, "MAX_RELAXED", 20)
    sampled = dcembed.solve(instance.program, instance.embeddings, start=instance.starts, options=options)
    assert sampled.is_feasible
    assert sampled.objective <= 0.85 * usual.objective


def test_no_solver_is_opened_for_a_start_that_the_time_does_not_reach(monkeypatch):
    program, embedding = box_problem(random_mlp(3, (2, 8, 1)), np.array([0.3, -0.2]), 1.0)

    def refuse(*_arguments):
        raise AssertionError("the time is over")

    monkeypatch.setattr(orders, "run_start", refuse)
    result = dcembed.solve(program, embedding, start=[0.0, 0.0, 0.0], options=quiet(time_limit=0.0))
    assert result.status is dcembed.Status.TIME_LIMIT
    assert result.is_feasible


def test_a_time_limit_that_ends_while_bounds_are_tightened_is_no_missing_bound(samples):
    instance, embedded = samples
    assert np.isinf(embedded.host.ub).any()
    assert np.isinf(build_problem(embedded, quiet(), is_over=lambda: True).box.ub).any()
    assert np.isfinite(build_problem(embedded, quiet()).box.ub).all()
    result = dcembed.solve(instance.program, instance.embeddings, start=instance.starts, options=quiet(time_limit=0.0))
    assert result.status is dcembed.Status.TIME_LIMIT
    assert result.is_feasible


@pytest.mark.parametrize("formulation", ["shared", "two-path"])
def test_a_formulation_with_too_many_columns_is_refused_with_its_sizes(formulation, monkeypatch):
    instance = samples_instance(10, width=8)
    monkeypatch.setattr("dcembed.embedded.room.MAX_COEFFICIENTS", 1000)
    with pytest.raises(InputError, match=r"makes a column of every hidden unit.*(160|320) columns.*1,000 are accepted.*lazy"):
        dcembed.solve(instance.program, instance.embeddings, options=quiet(formulation=formulation))
    assert build_problem(eliminate(instance.program, instance.embeddings), quiet()).options.formulation == "lazy"


@pytest.mark.parametrize("name", ["big-m", "complementarity"])
def test_baselines_that_write_out_every_unit_refuse_too_many(name, monkeypatch):
    instance = samples_instance(10, width=8)
    monkeypatch.setattr("dcembed.embedded.room.MAX_COEFFICIENTS", 1000)
    with pytest.raises(InputError, match=r"160 columns"):
        BASELINES[name](instance.program, instance.embeddings, options=quiet(time_limit=5.0))


def test_local_splits_that_are_asked_for_and_do_not_fit_are_refused(monkeypatch):
    instance = samples_instance(10, width=8)
    monkeypatch.setattr("dcembed.engine.problem.MAX_LOCAL_ENTRIES", 1000)
    with pytest.raises(InputError, match=r"decomposition='local'.*10 evaluations.*16 units.*'global'"):
        dcembed.solve(instance.program, instance.embeddings, options=quiet(decomposition="local"))


def test_tangents_that_do_not_fit_are_refused_with_the_largest_embedding(monkeypatch):
    instance = samples_instance(10, width=8)
    monkeypatch.setattr("dcembed.embedded.room.MAX_COEFFICIENTS", 100)
    with pytest.raises(InputError, match=r"180 coefficients.*embedding 0, 10 evaluations of a network with 9 inputs.*fewer evaluations"):
        dcembed.solve(instance.program, instance.embeddings, options=quiet())


def test_a_proof_of_very_many_evaluations_makes_no_cuts_and_says_so(monkeypatch):
    instance = samples_instance(12, width=4)
    monkeypatch.setattr("dcembed.bounds.hull.MAX_COVERED", 5)
    monkeypatch.setattr("dcembed.bounds.certify.MAX_COVERED", 5)
    # The relaxation alone: what comes after it takes all the time there is.
    monkeypatch.setattr("dcembed.bounds.certify._prove_exactly", lambda *_: None)
    monkeypatch.setattr("dcembed.bounds.certify.branch", lambda *_: iter(()))
    result = dcembed.prove(instance.program, instance.embeddings, point=instance.starts[0], options=quiet(columns=False))
    assert -12.0 <= result.bound <= 0.0
    assert any("more than 5 evaluations" in note for note in result.notes)


def test_pieces_are_looked_for_when_somebody_asks_and_the_time_ends_that(samples):
    _, embedded = samples
    relaxation = build_relaxation(embedded, tighten(embedded.bounded_host))
    assert count_pieces(relaxation) == 40
    assert len(find_pieces(relaxation)) == 40
    over = Clock(0.0)
    hull = Hull(relaxation, over, Crew())
    with pytest.raises(RunEnded):
        _ = hull.pieces
