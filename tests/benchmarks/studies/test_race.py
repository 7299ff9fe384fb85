"""Methods side by side: the same problem for all, measured here, and a table that says who was where when."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from benchmarks.harness.fingerprint import PACKAGE
from benchmarks.harness.outcome import check
from benchmarks.problems.data import MissingDataError
from benchmarks.problems.instance import Instance
from benchmarks.problems.qp import build_qp
from benchmarks.problems.water import build_water
from benchmarks.studies import case_runner, race_cases
from benchmarks.studies.case_files import write_case
from benchmarks.studies.race import hold, main, time_host
from benchmarks.studies.race_case import Case
from benchmarks.studies.race_cases import find_cases, pooling_cases
from benchmarks.studies.race_table import Contest, Lap, build_table, write_markdown
from dcembed import ConeConstraint, Embedding, Program, QuadraticConstraint, build_mlp

# Both come to an end by themselves, whatever the speed of the machine; nothing that they are compared by is a matter of time.
TINY = Case("tiny", partial(build_qp, "8x3x1", 0), ("dcembed", "complementarity"), 100.0)


def rendered(contest: Contest) -> str:
    console = Console(width=240)
    with console.capture() as capture:
        console.print(build_table([contest]))
    return capture.get()


def test_contestants_run_on_the_same_problem_and_are_measured_here():
    contest = hold(TINY, TINY.methods, before=PACKAGE.parents[1], repeats=1, time_limit=200.0)
    assert contest.case.time_limit == 200.0
    assert {name: len(laps) for name, laps in contest.laps.items()} == {"dcembed": 1, "complementarity": 1, "before": 1}
    assert contest.initial == 0.0
    ours, before = contest.laps["dcembed"][0], contest.laps["before"][0]
    assert ours.objective == before.objective
    assert contest.best_known <= ours.objective < 0
    assert ours.num_steps >= ours.num_first > 0
    for lap in (ours, before, *contest.laps["complementarity"]):
        processor, wall, objectives = np.array(lap.trace).T
        assert (np.diff(processor) >= 0).all()
        assert (np.diff(wall) >= 0).all()
        assert (np.diff(objectives) < 0).all()
        assert lap.processor_seconds > 0
        assert lap.wall_seconds > 0
    assert contest.host_seconds > 0
    shown = rendered(contest)
    assert all(
        word in shown for word in ("tiny", "dcembed", "complementarity", "before", *(laps[0].status for laps in contest.laps.values()))
    )


def test_the_table_is_saved_for_those_who_read_it_later(tmp_path):
    contest = Contest(TINY, {"dcembed": [Lap(((0.1, 0.2, -1.0),), 1.0, 2.0, 3, 2, 50.0, "locally_solved")]}, 0.0, 0.0, -1.0, 0.01)
    write_markdown([contest, contest], tmp_path / "race.md")
    text = (tmp_path / "race.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 4
    assert len({len(row) for row in rows}) == 1
    assert all(word in text for word in ("tiny", "dcembed", "0.100 / 0.200", "locally_solved"))


def test_a_method_that_fails_is_told_with_its_reason():
    contest = hold(TINY, ("awasthi",), before=None, repeats=1, time_limit=100.0)
    assert "takes a network in a scalar objective only" in contest.laps["awasthi"][0].status
    assert not contest.laps["awasthi"][0].trace
    # The table has little room for it, over several lines.
    assert "InputError" in rendered(contest)


def test_a_method_that_finds_no_point_says_how_it_ended():
    program = Program(cost=[1.0, 0.0], lb=[0.0, 5.0], ub=[1.0, np.inf])
    embedding = Embedding(build_mlp([[[1.0]], [[1.0]]], [None, None]), [0], [1])
    case = Case("pointless", lambda: Instance("pointless", program, (embedding,), []), ("dcembed",), 0.0)
    lap = hold(case, case.methods, before=None, repeats=1, time_limit=0.0).laps["dcembed"][0]
    assert lap.status == "time_limit"
    assert not lap.trace


def test_integral_and_arrival_are_those_of_the_trace():
    lap = Lap(trace=((1.0, 2.0, -50.0), (4.0, 5.0, -99.95)), processor_seconds=4.0, wall_seconds=5.0, num_steps=3, num_first=3)
    contest = Contest(Case("made", lambda: None, (), 10.0), {"dcembed": [lap], "ipopt": [lap]}, 0.0, None, -100.0, 0.01)
    assert contest.arrival(lap, 0) == 4.0
    assert contest.arrival(lap, 1) == 5.0
    # One second at 100 %, three at 50 %, six at 0.05 %.
    assert contest.npi(lap, 0) == pytest.approx(100 / 10 * (1 + 1.5 + 0.003))
    assert contest.npi(lap, 1) == pytest.approx(100 / 10 * (2 + 1.5 + 0.0025))
    # A start that is known at second zero takes its part of the first second.
    assert replace(contest, start=-20.0).npi(lap, 0) == pytest.approx(100 / 10 * (0.8 + 1.5 + 0.003))
    shown = rendered(contest)
    assert "400" in shown
    assert "1.00" in shown


def test_the_wider_level_is_reached_sooner():
    lap = Lap(trace=((1.0, 2.0, -50.0), (3.0, 3.5, -99.2), (4.0, 5.0, -99.95)))
    contest = Contest(Case("made", lambda: None, (), 10.0), {"dcembed": [lap]}, 0.0, None, -100.0, 0.01)
    assert (contest.wide_arrival(lap, 0), contest.wide_arrival(lap, 1)) == (3.0, 3.5)
    assert contest.arrival(lap, 0) == 4.0
    assert "3.000 / 3.500" in rendered(contest)


def test_the_own_arrival_is_where_nearly_all_of_the_own_way_was_gone():
    lap = Lap(trace=((1.0, 2.0, -50.0), (3.0, 3.5, -96.0), (4.0, 5.0, -97.0), (6.0, 7.0, -100.0)))
    contest = Contest(Case("made", lambda: None, (), 10.0), {"dcembed": [lap]}, 0.0, None, -200.0, 0.01)
    assert (contest.own_arrival(lap, 0), contest.own_arrival(lap, 1)) == (4.0, 5.0)
    # From -60 on, 97 % of the way to -100 are at -98.8.
    assert replace(contest, initial=-60.0).own_arrival(lap, 0) == 6.0
    assert contest.own_arrival(Lap(), 0) == np.inf
    assert "4.00 / 5.00" in rendered(contest)


def test_without_a_start_there_is_no_integral():
    lap = Lap(trace=((1.0, 2.0, -50.0),))
    contest = Contest(Case("made", lambda: None, (), 10.0), {"dcembed": [lap]}, None, None, -50.0, 0.01)
    assert np.isnan(contest.npi(lap, 0))
    assert contest.arrival(lap, 0) == 1.0


def test_a_case_without_starts_and_with_curved_constraints_comes_out_of_its_files_as_it_went_in(tmp_path):
    program = Program(
        cost=[1.0, 0.0, 2.0],
        maximize=True,
        quadratic=-np.diag([1.0, 0.0, 0.0]),
        concave=-np.diag([0.0, 2.0, 0.0]),
        ub=3.0,
        quadratic_constraints=[
            QuadraticConstraint(np.diag([1.0, 2.0, 0.0]), [0.5, 0.0, 0.0], 4.0),
            QuadraticConstraint(np.eye(3), None, 9.0),
        ],
        cones=[
            ConeConstraint([[0, 0, 1.0], [1.0, 0, 0]], [0.5, 0.0]),
            ConeConstraint([[0, 0, 0], [0, 1.0, 0], [1.0, 0, 0]], [2.0, 0.0, 0.1]),
        ],
    )
    embedding = Embedding(build_mlp([[[1.0, 2.0]], [[1.0]]], [None, None]), [0, 1], [2])
    write_case(Instance("curved", program, (embedding,), []), {}, tmp_path)
    read = case_runner.read_program(dict(np.load(tmp_path / "program.npz")))
    assert read.maximize
    w = np.array([0.3, -0.7, 0.2])
    assert [q.value(w) - q.ub for q in read.quadratic_constraints] == [q.value(w) - q.ub for q in program.quadratic_constraints]
    assert np.array_equal(read.cone_rows.excess(w), program.cone_rows.excess(w))
    assert read.objective(w) == program.objective(w)
    assert np.load(tmp_path / "starts.npz")["starts"].shape == (0, 3)


def test_a_case_whose_data_is_missing_is_left_out_and_the_others_run(monkeypatch, capsys):
    def missing():
        raise MissingDataError("Fetch it.")

    gone = Case("gone-1", missing, ("dcembed",), 1.0)
    monkeypatch.setattr(race_cases, "FAMILIES", {"made": lambda: [gone, replace(TINY, methods=("complementarity",))]})
    main([])
    shown = capsys.readouterr().out
    assert "gone-1 is left out. Fetch it." in shown
    assert "tiny" in shown


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="the system does not list processes")
def test_processes_that_still_run_are_counted():
    # It counts to ten million, says so, and waits to be ended.
    code = "import sys\nfor _ in range(10**7): pass\nprint('done', flush=True)\nsys.stdin.read()"
    # Solvers of other tests may still run.
    before, others = case_runner.processor_seconds(), case_runner.running_seconds("self")
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        work = case_runner.running_seconds("self") - others
        assert work > 0
        during = case_runner.processor_seconds()
        process.stdin.close()
        process.wait()
    assert during >= before + work
    # What was counted while it ran is counted after it ended, and not twice.
    assert case_runner.processor_seconds() == pytest.approx(during, abs=work)


def test_the_host_is_timed_without_its_networks():
    assert time_host(TINY.build()) > 0


def test_cases_are_found_by_how_their_names_begin():
    assert [case.name for case in find_cases(["qp-64x3"])] == ["qp-64x3-0", "qp-64x3-1", "qp-64x3-2"]
    assert [case.name for case in find_cases(["pooling-6", "qp-8x3-1"])] == ["pooling-6", "qp-8x3-1"]
    assert {case.name.partition("-")[0] for case in find_cases([])} >= {"qp", "pooling"}
    assert {case.name.partition("-")[0] for case in find_cases(["integers"])} == {"routing", "dispatch", "lots"}
    assert [case.name for case in find_cases(["blocks-water-25"])] == ["blocks-water-25-0", "blocks-water-25-1", "blocks-water-25-2"]
    assert [case.name for case in find_cases(["smooth-qp-tanh-64x3-0"])] == ["smooth-qp-tanh-64x3-0"]
    assert {case.name.rpartition("-")[0] for case in find_cases(["process"])} == {"process-1", "process-4", "process-16"}
    assert {case.name.split("-")[2] for case in find_cases(["smooth-integers"])} == {"dispatch", "lots"}
    assert len(find_cases(["digits-cnn-28-gelu", "smooth-water-tanh-25"])) == 6
    assert {case.name for case in find_cases(["blocks-all"])} == {"blocks-all-100-0", "blocks-all-800-0"}
    with pytest.raises(ValueError, match="unknown case 'qp-6'; accepted: qp-8x3-0"):
        find_cases(["qp-6"])


def test_the_best_known_objective_of_a_qp_is_that_of_the_records():
    (case,) = find_cases(["qp-64x3-0"])
    assert case.best_known() == pytest.approx(-0.08426118, abs=1e-7)


@pytest.mark.usefixtures("data_folder")
def test_pooling_has_two_plain_starts_and_its_optima():
    cases = pooling_cases()
    assert [-case.best_known() for case in cases] == pytest.approx([190.5408, 167.8190, 180.4798], abs=1e-4)
    instance = cases[0].build()
    nothing, small = instance.starts
    assert not nothing.any()
    assert small.sum() == 5
    assert (instance.program.rows @ small <= instance.program.row_ub).all()


def test_what_is_known_of_the_scholarships_is_their_bound():
    (case,) = find_cases(["blocks-admission-250"])
    start = case.build().starts[0]
    ((_, objective),) = check(case.build(), [(0.0, start)]).trace
    assert case.best_known() < objective


@pytest.mark.usefixtures("data_folder")
def test_the_greedy_takes_part_where_it_applies():
    (case,) = find_cases(["blocks-water-25-0"])
    small = replace(case, name="small", build=partial(build_water, "6", 0))
    contest = hold(small, ("greedy",), before=None, repeats=1, time_limit=100.0)
    (lap,) = contest.laps["greedy"]
    assert lap.status == "locally_solved"
    assert lap.objective <= -1
    assert lap.memory > 20


def test_packages_take_part_where_networks_are_smooth():
    pytest.importorskip("pyscipopt_ml")
    (case,) = find_cases(["smooth-integers-dispatch-softplus-2-1"])
    contest = hold(case, ("dcembed", "pyscipopt-ml"), before=None, repeats=1, time_limit=100.0)
    (ours,), (theirs,) = contest.laps["dcembed"], contest.laps["pyscipopt-ml"]
    assert theirs.status == "optimal"
    assert theirs.objective == pytest.approx(ours.objective, abs=1e-5)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["sailing"], "unknown case 'sailing'"),
        (["qp-8x3-0", "--against", "nowhere"], "src/dcembed in it"),
        (["--methods", "magic"], "invalid choice"),
    ],
)
def test_a_wrong_command_is_answered_with_what_is_accepted(arguments, told, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert told in capsys.readouterr().err
