"""Problems that people have, one row each."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest

from benchmarks.problems.facilities import build_facilities
from benchmarks.problems.scenario_design import enumerated_optimum
from benchmarks.studies import people
from benchmarks.studies.own_methods import PROVED
from benchmarks.studies.people_cases import people_cases
from benchmarks.studies.people_table import TITLES, Size, best_bound, best_peer, build_row, compare, refusals, size_of
from benchmarks.studies.race_case import Case
from benchmarks.studies.race_cases import find_cases
from benchmarks.studies.race_table import Contest, Lap

SMALL = partial(build_facilities, 10, "expected", 1, 0)
TINY = Case("people-tiny", SMALL, ("dcembed", PROVED, "big-m"), 100.0, lambda: enumerated_optimum(SMALL()))
SIZE = Size(1, 2, 3, 4, 5)


def made(laps: dict[str, Lap], best: float = -100.0) -> Contest:
    return Contest(Case("people-made", lambda: None, (), 30.0), {name: [lap] for name, lap in laps.items()}, 0.0, 0.0, best, 0.01)


def lap(*points: tuple[float, float], seconds: float = 30.0, **more) -> Lap:
    return Lap(trace=tuple((at, at, objective) for at, objective in points), processor_seconds=seconds, wall_seconds=seconds, **more)


FAST, SLOW, NEAR, FAR, NONE = lap((1.0, -100.0)), lap((8.0, -99.95)), lap((2.0, -99.5)), lap((1.0, -50.0)), lap()


@pytest.mark.parametrize(
    ("peers", "name"),
    [
        ({"a": SLOW, "b": FAST}, "b"),
        ({"a": NEAR, "b": SLOW}, "b"),
        ({"a": FAR, "b": NEAR}, "b"),
        ({"a": lap((1.0, -40.0)), "b": FAR}, "b"),
        ({"a": NONE}, None),
    ],
)
def test_the_best_peer_is_who_came_closest_first(peers, name):
    assert best_peer(made({"dcembed": FAST, PROVED: FAST, **peers})) == name


@pytest.mark.parametrize(
    ("ours", "theirs", "told"),
    [(FAST, SLOW, "0.12"), (FAST, FAR, "< 0.033"), (FAR, SLOW, "> 3.8"), (NEAR, lap((4.0, -99.5)), "(0.5)"), (FAR, FAR, "-")],
)
def test_times_are_compared_as_far_as_they_are_there(ours, theirs, told):
    assert compare(made({"dcembed": ours, "a": theirs}), "a") == told


def test_the_best_bound_is_the_highest_that_no_point_refutes():
    laps = {"a": lap((1.0, -100.0), bound=-120.0), "b": lap(bound=-105.0), "c": lap(bound=-90.0), "d": lap()}
    assert best_bound(made(laps)) == (-105.0, "b")
    assert best_bound(made({"d": lap()})) is None


def test_a_row_says_what_was_measured_and_who_could_not_run_is_listed():
    failed = Lap(status="LicenceError: needs 3,000 variables")
    contest = made({"dcembed": FAST, "gurobi-ml": failed, "omlt": SLOW})
    row = build_row(contest, SIZE, " (e)")
    assert len(row) == len(TITLES)
    assert row[:6] == ["made", "1 / 2 / 3", "4 / 5", "-100", "0.0e+00", "1.00 / 1.00"]
    assert row[6:11] == ["omlt", "-99.95", "5.0e-04", "8.00 / 8.00", "0.12"]
    assert row[11:] == ["-100 (e)", "-"]
    assert refusals([contest]) == ["- made, gurobi-ml: LicenceError: needs 3,000 variables"]
    assert build_row(made({"dcembed": NONE, "a": NONE}), SIZE)[3:7] == ["no point", "-", "-", "none has a point"]


def test_every_case_has_a_name_of_its_own_dcembed_and_a_peer():
    cases = people_cases()
    assert len({case.name for case in cases}) == len(cases)
    assert all(case.methods[:2] == ("dcembed", PROVED) and len(case.methods) > 2 for case in cases)
    assert [case.name for case in find_cases(["people"])] == [case.name for case in cases]


def test_cases_are_built_with_a_feasible_start_and_counted():
    (case,) = people.find_people(["budgeting-10"])
    assert size_of(case.build()) == Size(61, 21, 50, 10, 640)
    assert [c.name for c in people.find_people(["people-prices-grid"])] == ["people-prices-grid-1", "people-prices-grid-2"]
    with pytest.raises(ValueError, match="unknown case 'boats'"):
        people.find_people(["boats"])


def test_a_tiny_race_is_run_written_down_and_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(people, "people_cases", lambda: [TINY])
    target = tmp_path / "people.md"
    people.main(["--save", str(target)])
    assert "tiny" in capsys.readouterr().out
    (entry,) = map(json.loads, target.with_suffix(".jsonl").read_text().splitlines())
    assert set(entry["laps"]) == set(TINY.methods)
    (contest,) = people.read_contests(target.with_suffix(".jsonl"))
    for name in TINY.methods:
        assert contest.laps[name][0].objective == pytest.approx(contest.best_known, rel=1e-6)
    bound, _ = best_bound(contest)
    assert bound == pytest.approx(contest.best_known, rel=1e-3)
    text = target.read_text()
    assert text.count("| tiny |") == 1
    assert "## All methods" in text
    # What is there is not run again, and the table is the same.
    monkeypatch.setattr(people, "hold", lambda *arguments: pytest.fail("it ran again"))
    people.main(["--save", str(target), "--missing"])
    assert target.read_text() == text
    assert np.isfinite(contest.host_seconds)


def test_a_wrong_command_is_answered_with_what_is_accepted(capsys):
    with pytest.raises(SystemExit):
        people.main(["boats"])
    assert "unknown case 'boats'" in capsys.readouterr().err
