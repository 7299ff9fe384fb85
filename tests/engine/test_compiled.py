"""What is compiled is solved like what is solved for the first time, and says what it could not keep."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import dcembed
from block_problems import block_case
from changing_problems import PROBLEMS, changed, random_change
from dcembed import Embedding, Program, Status
from dcembed.bounds import covers
from dcembed.engine import compiled
from dcembed.engine.columns import columns
from dcembed.errors import InputError, OptionError
from problems import QUIET, random_mlp

OPTIONS = {**QUIET, "search": "converge"}
NUM_CHANGES = 3
# A network with kinks, and a host that moves its inputs.
NETWORK = random_mlp(0, (2, 8, 6, 1))


def small(**parts) -> tuple[Program, Embedding]:
    program = Program(**{"cost": [1.0, 0.5, 0.3], "lb": [-2.0, -2.0, -np.inf], "ub": [2.0, 2.0, 1.0], **parts})
    return program, Embedding(NETWORK, [0, 1], [2])


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("search", ["converge", "local"])
def test_it_answers_as_a_fresh_solve_of_the_changed_problem_does(name, search):
    problem, options = PROBLEMS[name](), {**OPTIONS, "search": search}
    rng = np.random.default_rng(1)
    with dcembed.compile(*problem, options) as again:
        last = None
        for _ in range(NUM_CHANGES):
            change = random_change(problem, rng)
            result = again.solve(**change, start=last)
            program, embeddings = changed(problem, change)
            fresh = dcembed.solve(program, embeddings, None if last is None else last.x, options)
            assert result.status is fresh.status
            assert result.objective == pytest.approx(fresh.objective, rel=1e-9, abs=1e-9)
            assert result.is_feasible == fresh.is_feasible
            for field in ("cost", "lb", "ub", "row_lb", "row_ub", "offset"):
                np.testing.assert_array_equal(getattr(result.program, field), getattr(program, field))
            assert dcembed.verify(program, embeddings, result.x).violation == pytest.approx(result.violation, abs=1e-15)
            assert (result.program.column_names, result.program.maximize) == (program.column_names, program.maximize)
            last = result if result.x is not None else None


def test_a_solve_forgets_what_the_one_before_has_changed():
    program, embedding = small()
    with dcembed.compile(program, embedding, OPTIONS) as problem:
        first = problem.solve()
        moved = problem.solve(lb=[1.0, -2.0, -np.inf])
        assert moved.x[0] >= 1.0 - 1e-6
        np.testing.assert_array_equal(problem.solve().x, first.x)
    assert program.lb[0] == -2.0


def test_the_same_sequence_gives_the_same_answers():
    runs = []
    for _ in range(2):
        with dcembed.compile(*small(), OPTIONS) as problem:
            runs.append([problem.solve(cost=[1.0, 0.5, price]).x for price in (0.3, 0.6, 0.3)])
    for one, other in zip(*runs, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(runs[0][0], runs[0][2])


def test_what_was_computed_again_is_said():
    with dcembed.compile(*small(), OPTIONS) as problem:
        assert problem.solve(cost=[1.5, 0.5, 0.3]).notes == problem.rebuilt == ()
        problem.solve(lb=[-1.0, -2.0, -np.inf])
        assert problem.rebuilt == ("bounds that rows imply",)
        result = problem.solve(cost=[1.0, 0.5, 0.9])
        assert "what predictions cost has changed" in problem.rebuilt[0]
        assert any("what predictions cost has changed" in note for note in result.notes)


def test_elimination_and_sessions_are_kept_where_only_numbers_change(monkeypatch):
    counts = {"eliminate": 0, "open": 0}

    def counting(name, function):
        def call(*arguments, **named):
            counts[name] += 1
            return function(*arguments, **named)

        return call

    monkeypatch.setattr(compiled, "eliminate", counting("eliminate", compiled.eliminate))
    program, embedding = small(quadratic=np.diag([1.0, 1.0, 0.0]))
    from dcembed.solvers import piqp_

    monkeypatch.setattr(piqp_.PiqpSession, "__init__", counting("open", piqp_.PiqpSession.__init__))
    with dcembed.compile(program, embedding, {**OPTIONS, "search": "local"}) as problem:
        x = problem.solve().x
        before = dict(counts)
        for cost in (1.1, 1.2, 1.3):
            x = problem.solve(cost=[cost, 0.5, 0.3], start=x).x
    assert before["eliminate"] == counts["eliminate"] == 1
    assert before["open"] == counts["open"] > 0


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"lb": [0.0, 0.0]}, r"lb has shape \(2,\) but there are 3 columns: expected \(3,\)\. .*compile another one"),
        ({"cost": 1.0}, r"cost has shape \(\) but there are 3 columns"),
        ({"cost": [1.0, np.nan, 0.0]}, "cost"),
        ({"row_ub": [1.0]}, r"row_ub has shape \(1,\) but there are 0 rows"),
        ({"lb": [3.0, 0.0, 0.0]}, "the bounds of column 0 cross"),
        ({"ub": [np.nan, 2.0, 2.0]}, "a bound of column 0 is NaN"),
        ({"quadratic": -np.eye(3)}, "not convex"),
        ({"inputs_offset": [[0.0, 0.0]]}, "whose inputs are column numbers and have no constants"),
        ({"inputs_offset": {3: [0.0]}}, "names embedding 3; embeddings are numbered from 0 to 0"),
        ({"start": [0.0, 1.0]}, "a start has 2 entries but the program has 3 columns"),
    ],
)
def test_a_change_that_does_not_fit_is_refused_in_words(change, text):
    with dcembed.compile(*small(), OPTIONS) as problem:
        with pytest.raises(InputError, match=text):
            problem.solve(**change)
        assert problem.solve().is_feasible


def test_constants_of_inputs_must_keep_their_shape():
    problem = PROBLEMS["scenarios"]()
    with dcembed.compile(*problem, OPTIONS) as again:
        with pytest.raises(InputError, match=r"inputs_offset of embedding 0 has shape \(2, 2\), expected \(3, 2\)"):
            again.solve(inputs_offset=[np.zeros((2, 2)), None])
        with pytest.raises(InputError, match="one array, or None, for each of the 2 embeddings"):
            again.solve(inputs_offset=np.zeros((3, 2)))
        flat = again.solve(inputs_offset={0: np.zeros(6)})
        np.testing.assert_array_equal(flat.embeddings[0].inputs.offset, np.zeros((3, 2)))


def test_options_of_one_solve_are_for_that_alone():
    with dcembed.compile(*small(), OPTIONS) as problem:
        assert problem.solve(options={"max_iterations": 0}).status is Status.ITERATION_LIMIT
        assert problem.solve().status is Status.LOCALLY_SOLVED
        assert problem.solve(options={"formulation": "shared", "switches": False}).is_feasible
        assert "switches are read" in problem.rebuilt[0]
        with pytest.raises(OptionError, match="unknown option 'time'"):
            problem.solve(options={"time": 3})


def test_a_solve_without_time_leaves_the_problem_as_it_was():
    program, embedding = PROBLEMS["big-M rows"]()
    with dcembed.compile(program, embedding, OPTIONS) as problem:
        assert problem.solve(ub=[0.9, 1.0, 1.0, np.inf], options={"time_limit": 0.0}).status is Status.TIME_LIMIT
        assert problem.solve().objective == pytest.approx(dcembed.solve(program, embedding, options=OPTIONS).objective, abs=1e-9)


def test_a_start_may_be_a_result_or_several():
    with dcembed.compile(*small(), OPTIONS) as problem:
        first = problem.solve()
        for start in (first, [first, first.x], (first.x,), [first]):
            assert problem.solve(start=start).objective <= first.objective + 1e-6


def test_one_solve_at_a_time():
    inside = threading.Event()
    go_on = threading.Event()

    def wait(_):
        inside.set()
        go_on.wait(20)

    with dcembed.compile(*small(), {**OPTIONS, "callback": wait}) as problem:
        thread = threading.Thread(target=problem.solve)
        thread.start()
        try:
            assert inside.wait(20)
            with pytest.raises(InputError, match="one solve at a time"):
                problem.solve()
        finally:
            go_on.set()
            thread.join(20)
        assert problem.solve().is_feasible


def test_after_an_error_of_the_callback_it_solves_on():
    def fail(_):
        raise RuntimeError("no more")

    with dcembed.compile(*small(), OPTIONS) as problem:
        expected = problem.solve()
        with pytest.raises(RuntimeError, match="no more"):
            problem.solve(options={"callback": fail})
        np.testing.assert_array_equal(problem.solve().x, expected.x)


def test_a_closed_problem_says_so():
    problem = dcembed.compile(*small(), OPTIONS)
    assert repr(problem) == "CompiledProblem(Program(3 columns, 0 rows), 1 embedding)"
    problem.close()
    with pytest.raises(InputError, match="has been closed"):
        problem.solve()


def test_a_local_search_ends_where_its_master_shows_a_solution():
    problem = PROBLEMS["maximize"]()
    whole, local = (dcembed.solve(*problem, options={**QUIET, "search": search}) for search in ("converge", "local"))
    assert local.status is Status.LOCALLY_SOLVED
    assert local.num_starts == 1
    assert len(local.history) < len(whole.history)
    assert local.objective == pytest.approx(whole.objective, abs=1e-4)


def test_a_start_outside_of_the_bounds_comes_to_the_same_point():
    # A column that is held elsewhere than the start has it, as the state of a plant is: no box may be around the start itself.
    program, embedding = small(lb=[0.5, -2.0, -np.inf], ub=[0.5, 2.0, 1.0], quadratic=np.diag([1.0, 1.0, 0.0]))
    expected = dcembed.solve(program, embedding, [0.5, 0.0, 0.0], OPTIONS)
    moved = dcembed.solve(program, embedding, [0.3, 0.0, 0.0], OPTIONS)
    assert expected.is_feasible
    assert moved.is_feasible
    assert moved.objective == pytest.approx(expected.objective, abs=1e-5)


def counted(monkeypatch, owner, name: str) -> list[int]:
    """How often a function is called from now on, in the one entry of a list."""
    calls, function = [0], getattr(owner, name)

    def call(*arguments, **named):
        calls[0] += 1
        return function(*arguments, **named)

    monkeypatch.setattr(owner, name, call)
    return calls


@pytest.mark.parametrize("change", ["cost", "row_ub"])
def test_points_of_blocks_are_columns_of_the_next_solve(monkeypatch, change):
    case, rounds = block_case(0, num_items=10), counted(monkeypatch, columns, "price")
    changed_to = getattr(case.program, change) * 1.01
    with dcembed.compile(case.program, case.embeddings, {**OPTIONS, "max_starts": 2}) as problem:
        problem.solve()
        assert problem.taken == ()
        first, rounds[0] = rounds[0], 0
        result = problem.solve(**{change: changed_to})
        assert problem.taken[0].startswith("points of blocks (")
        assert any(problem.taken[0] in note for note in result.notes)
        assert rounds[0] < first
        assert dcembed.verify(result.program, result.embeddings, result.x).violation <= result.feasibility_tol
        fresh = dcembed.solve(result.program, result.embeddings, None, {**OPTIONS, "max_starts": 2})
        assert result.program.sense * (result.objective - fresh.objective) <= 1e-6 * abs(fresh.objective)


def test_points_of_blocks_that_hold_no_more_are_none():
    # With the first input of every item at zero nothing but what has that is a point.
    case = block_case(0, num_items=10)
    ub = case.program.ub.copy()
    ub[0::7][:10] = 0.0
    with dcembed.compile(case.program, case.embeddings, {**OPTIONS, "max_starts": 2}) as problem:
        known = problem.solve().x
        assert (known[0::7][:10] > 0.1).any()
        result = problem.solve(ub=ub)
        assert result.is_feasible
        assert result.x[0::7][:10].max() <= 1e-6


def proved() -> tuple[Program, Embedding, dict]:
    """Curved, so that no mixed-integer solver has a part in the proof."""
    rng = np.random.default_rng(0)
    network = dcembed.build_mlp([rng.normal(size=(12, 2)), rng.normal(size=(1, 12))], [rng.normal(size=12), None], activation="tanh")
    program = Program(cost=[0.1, 0.2, 1.0], lb=[-2, -2, -np.inf], ub=[2, 2, np.inf], rows=[[1.0, 1.0, 0.0]], row_lb=-1.0, row_ub=1.0)
    return program, Embedding(network, [0, 1], [2]), {**OPTIONS, "max_starts": 2, "prove": True, "time_limit": 60.0}


def test_covers_go_on_where_the_next_proof_has_the_same_pieces(monkeypatch):
    made = counted(monkeypatch, covers, "Cover")
    with dcembed.compile(*proved()) as problem:
        first = problem.solve()
        assert first.status is Status.OPTIMAL
        assert made[0] > 0
        before = made[0]
        again = problem.solve(cost=[-0.2, 0.15, 1.0])
        assert (made[0], again.status) == (before, Status.OPTIMAL)
        assert problem.taken == (f"covers of networks ({before})",)
        assert problem.rebuilt == ()
        assert f"taken from the last solve: covers of networks ({before})." in again.notes
        # Another box of the inputs has other covers.
        moved = problem.solve(ub=[1.5, 2.0, np.inf])
        assert made[0] > before
        assert problem.taken == ()
        assert problem.rebuilt == ("bounds that rows imply", f"covers of networks ({made[0] - before})")
        assert moved.status is Status.OPTIMAL
    for result in (first, again, moved):
        fresh = dcembed.solve(result.program, result.embeddings, None, proved()[2])
        assert fresh.bound <= result.objective + 1e-6
        assert result.bound <= fresh.objective + 1e-6


def test_what_an_error_has_interrupted_is_not_taken():
    calls = [0]

    def fail(_):
        calls[0] += 1
        if calls[0] > 1:
            raise RuntimeError("no more")

    with dcembed.compile(*proved()) as problem:
        problem.solve()
        with pytest.raises(RuntimeError, match="no more"):
            problem.solve(options={"callback": fail})
        assert problem.solve().status is Status.OPTIMAL
        assert problem.taken == ()
