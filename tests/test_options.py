"""Options: checked, and each of them changes something."""

from __future__ import annotations

import dataclasses
import re
import types
from typing import get_args, get_type_hints

import numpy as np
import pytest

import dcembed
from dcembed import Options
from dcembed.errors import InputError, OptionError
from dcembed.solvers import BACKENDS
from frontends.problems import NeuralMILP
from problems import box_problem, level_problem, quiet, random_mlp


def says(text: str) -> str:
    return "^" + re.escape(text)


def test_an_unknown_option_is_an_error_that_suggests_the_right_one():
    with pytest.raises(
        OptionError, match=says("Options: unknown option 'tme_limit'. Did you mean 'time_limit'? Accepted: time_limit, max_iterations,")
    ):
        Options(tme_limit=3)
    with pytest.raises(TypeError):
        Options(verbosity=3)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("time_limit", -1, "Options: time_limit=-1 is not accepted. Give a number of seconds, at least 0."),
        ("time_limit", "60", "Options: time_limit='60' is not accepted. Give a number of seconds, at least 0."),
        ("time_limit", np.nan, "Options: time_limit=nan is not accepted."),
        ("max_iterations", 2.5, "Options: max_iterations=2.5 is not accepted. Give a whole number, at least 0."),
        ("search", "forever", "Options: search='forever' is not accepted. Give one of 'patient', 'until-limit', 'converge', 'local'."),
        (
            "search",
            "until-limit",
            "Options: search='until-limit' is not accepted. Give it a time_limit (or max_starts) to end at, or 'patient'.",
        ),
        ("max_starts", 0, "Options: max_starts=0 is not accepted. Give a whole number, at least 1, or None."),
        ("formulation", "big-m", "Options: formulation='big-m' is not accepted. Give one of 'auto', 'lazy', 'shared', 'two-path'"),
        ("decomposition", "none", "Options: decomposition='none' is not accepted. Give one of 'auto', 'local', 'global'"),
        ("initial_penalty", 0.0, "Options: initial_penalty=0.0 is not accepted. Give a positive number, or None."),
        ("penalty_growth", 1.0, "Options: penalty_growth=1.0 is not accepted. Give a number above 1."),
        ("max_penalty", np.inf, "Options: max_penalty=inf is not accepted. Give a positive number, or None."),
        ("feasibility_tol", 0, "Options: feasibility_tol=0 is not accepted. Give a positive number."),
        ("objective_tol", -1e-6, "Options: objective_tol=-1e-06 is not accepted. Give a number, at least 0."),
        ("prove", "yes", "Options: prove='yes' is not accepted. Give one of False, 'auto', True."),
        ("prove", 1, "Options: prove=1 is not accepted. Give one of False, 'auto', True."),
        ("gap_tol", -1e-6, "Options: gap_tol=-1e-06 is not accepted. Give a number, at least 0."),
        ("gap_tol", np.inf, "Options: gap_tol=inf is not accepted. Give a number, at least 0."),
        ("solver_options", 3, "Options: solver_options=3 is not accepted. Give a mapping of option names to values."),
        ("threads", 0, "Options: threads=0 is not accepted. Give a whole number, at least 1."),
        ("seed", -1, "Options: seed=-1 is not accepted. Give a whole number, at least 0."),
        ("callback", 1, "Options: callback=1 is not accepted. Give a function of one Iteration, or None."),
        ("checkpoint", 3, "Options: checkpoint=3 is not accepted. Give the path of an .npz file, or None."),
        ("checkpoint", "run.json", "Options: checkpoint='run.json' is not accepted. Give the path of an .npz file, or None."),
        ("stop", True, "Options: stop=True is not accepted. Give a threading.Event, or None."),
    ],
)
def test_a_bad_value_says_what_is_accepted(name, value, text):
    with pytest.raises(InputError, match=says(text)):
        Options(**{name: value})


def test_a_local_split_goes_with_cuts_only():
    text = "Options: decomposition='local' is not accepted. Give 'global' or 'auto' with formulation='shared'."
    with pytest.raises(InputError, match=says(text)):
        Options(formulation="shared", decomposition="local")


def solve(**changes):
    program, embedding = level_problem(17)
    return dcembed.solve(program, embedding, options=quiet(**changes))


def trace(result):
    return [(record.objective, record.penalty, record.solver_status) for record in result.history]


@pytest.mark.parametrize(
    ("changes", "differs"),
    [
        ({"time_limit": 0.0}, lambda r: r.status),
        ({"max_iterations": 1}, lambda r: len(r.history)),
        ({"formulation": "two-path"}, lambda r: r.sizes.added_columns),
        ({"formulation": "shared"}, lambda r: r.sizes.added_columns),
        ({"decomposition": "global"}, trace),
        ({"initial_penalty": 0.01}, trace),
        ({"initial_penalty": 0.01, "penalty_growth": 2.0}, trace),
        ({"initial_penalty": 0.01, "max_penalty": 0.02}, trace),
        ({"feasibility_tol": 0.5}, trace),
        ({"solver": "piqp"}, lambda r: r.solver),
        ({"solver_options": {"simplex_iteration_limit": 1, "presolve": "off"}}, lambda r: (r.status, trace(r))),
        ({"callback": lambda record: True}, lambda r: r.status),
        ({"stop": types.SimpleNamespace(is_set=lambda: True)}, lambda r: r.status),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else "",
)
def test_every_option_changes_something(changes, differs):
    assert differs(solve(**changes)) != differs(solve())


def test_a_loose_objective_ends_the_procedure_of_the_paper_sooner():
    assert len(solve(formulation="shared", objective_tol=0.9).history) < len(solve(formulation="shared").history)


def test_further_starts_are_tried_when_none_is_given_and_the_first_leads_nowhere():
    program, embedding = level_problem(3)
    one = dcembed.solve(program, embedding, options=quiet(max_starts=1))
    more = dcembed.solve(program, embedding, options=quiet(max_starts=5))
    assert one.status is dcembed.Status.LOCALLY_INFEASIBLE
    assert more.status is dcembed.Status.LOCALLY_SOLVED
    assert more.is_feasible
    given = dcembed.solve(program, embedding, start=one.x, options=quiet(max_starts=1))
    assert given.status is dcembed.Status.LOCALLY_INFEASIBLE
    # Ours follow those that were given.
    followed = dcembed.solve(program, embedding, start=one.x, options=quiet(max_starts=5))
    assert followed.is_feasible
    assert {record.start for record in followed.history} > {0}


def test_the_best_of_several_starts_is_returned():
    program, embedding = NeuralMILP.matrices()
    one = dcembed.solve(program, embedding, options=quiet(max_starts=1, formulation="shared"))
    more = dcembed.solve(program, embedding, options=quiet(max_starts=5, formulation="shared"))
    assert {record.start for record in more.history} == set(range(5))
    assert one.is_feasible
    assert more.objective < one.objective - 0.5
    # All x are 1 there, found by enumeration of the binaries with a fine grid on x.
    assert more.objective == pytest.approx(-1.4932175626845483)


def test_seed_and_threads_reach_the_solver(monkeypatch):
    from dcembed.solvers import BACKENDS

    seen = []
    real = BACKENDS["highs"]
    spy = dataclasses.replace(real, open=lambda program, options: seen.append(options) or real.open(program, options))
    monkeypatch.setitem(BACKENDS, "highs", spy)
    monkeypatch.setattr("dcembed.options.num_processors", lambda: 8)
    solve(seed=17, threads=2)
    assert {(options.seed, options.threads) for options in seen} == {(17, 2)}


@pytest.mark.parametrize(("workers", "threads", "each"), [(None, 8, 4), (1, 3, 3), (2, 8, 2), (2, 1, 1), (9, 2, 1)])
def test_threads_of_solvers_do_not_multiply_with_workers(monkeypatch, workers, threads, each):
    monkeypatch.setattr("dcembed.options.num_processors", lambda: 4)
    assert dcembed.Options(workers=workers, threads=threads).threads_each == each


def test_it_is_said_where_workers_leave_fewer_threads_than_asked_for(monkeypatch, capsys):
    monkeypatch.setattr("dcembed.options.num_processors", lambda: 2)
    solve(threads=2, workers=2, verbose=True)
    assert "threads=2 is more than the processors have for each of 2 workers; 1 are used." in capsys.readouterr().out


def test_verbose_false_is_silent_and_true_is_not(capsys):
    solve()
    assert capsys.readouterr().out == ""
    solve(verbose=True)
    assert "LOCALLY_SOLVED" in capsys.readouterr().out


def test_a_mapping_serves_as_options():
    network = random_mlp(4, (2, 8, 1))
    program, embedding = box_problem(network, np.zeros(2), 1.0)
    assert dcembed.solve(program, embedding, options={"verbose": False, "max_iterations": 1}).is_feasible
    with pytest.raises(OptionError, match="unknown option 'iterations'"):
        dcembed.solve(program, embedding, options={"iterations": 1})
    with pytest.raises(InputError, match=re.escape("solve: options is an Options or a mapping of option names, received int 3.")):
        dcembed.solve(program, embedding, options=3)


def test_a_proof_may_take_a_share_of_the_time_all_of_it_or_none():
    assert Options().proof_seconds(30.0) == 0.0
    assert Options(prove="auto").proof_seconds(30.0) == 30.0
    assert Options(prove="auto").proof_seconds(0.1) == 1.0
    assert Options(prove=True).proof_seconds(30.0) == np.inf


def test_an_unknown_solver_is_refused_when_it_is_given():
    with pytest.raises(
        InputError, match=re.escape("Options: solver='cplex' is unknown. Accepted: 'highs', 'piqp', 'clarabel', 'scip', 'gurobi'")
    ):
        Options(solver="cplex")


def test_words_that_options_take_are_known_to_type_checkers():
    hints = get_type_hints(Options, localns={"Iteration": object})
    assert get_args(get_args(hints["solver"])[0]) == tuple(BACKENDS)
    assert get_args(hints["search"]) == ("patient", "until-limit", "converge", "local")
    for name in ("formulation", "decomposition"):
        assert "auto" in get_args(hints[name])
