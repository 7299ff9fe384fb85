"""Every trial on which another method is better is told, in whatever respect, with what is known of the reason."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.harness.records import Record
from benchmarks.report import reasons
from benchmarks.report.losses import find_losses, losses_section
from benchmarks.report.views import gather

OURS = Record(
    "water",
    "25",
    0,
    "dcembed",
    180.0,
    "1",
    "locally_solved",
    initial_objective=0.0,
    start_objective=0.0,
    trace=((1.0, -50.0), (2.0, -100.0)),
)
SLOW = replace(OURS, method="greedy", trace=((90.0, -90.0),))


def trials(record: Record) -> list[Record]:
    return [replace(record, trial=trial) for trial in range(3)]


def lost(*records: Record) -> list[tuple]:
    return [(loss.size, loss.trial, loss.method, loss.respect) for loss in find_losses(gather(list(records), 180.0))]


def test_without_a_better_run_nothing_is_lost():
    assert lost(*trials(OURS), *trials(SLOW)) == []
    text = "\n".join(losses_section(gather([*trials(OURS), *trials(SLOW)], 180.0)))
    assert "There is no such trial" in text


def test_one_trial_of_three_is_told_though_the_mean_is_in_our_favour():
    fast = replace(SLOW, trial=1, trace=((0.5, -100.0),))
    others = [fast if record.trial == 1 else record for record in trials(SLOW)]
    assert lost(*trials(OURS), *others) == [
        ("25", 1, "greedy", "NPI at 30 s, %"),
        ("25", 1, "greedy", "NPI at 180 s, %"),
        ("25", 1, "greedy", "to 1 %, s"),
        ("25", 1, "greedy", "to 0.1 %, s"),
    ]
    text = "\n".join(losses_section(gather([*trials(OURS), *others], 180.0)))
    assert (
        "| Water treatment, 25 | greedy | 1 (1 of 3) | 1.67 against 5.00 | 0.28 against 0.83 |  | 0.50 against 2.00 | 0.50 against 2.00 |"
        in text
    )


def test_a_better_end_is_told_and_who_is_slower_but_gets_there_alone():
    better = replace(SLOW, trace=((90.0, -110.0),))
    assert [respect for *_, respect in lost(OURS, better)] == ["final objective", "to 1 %, s", "to 0.1 %, s"]
    text = "\n".join(losses_section(gather([OURS, better], 180.0)))
    assert "110.00 against 100.00 (by 9.1 %) | 90.0 against never | 90.0 against never |" in text


def test_a_method_that_is_ahead_early_only_is_told_for_that():
    early = replace(SLOW, trace=((0.1, -97.0),))
    assert [respect for *_, respect in lost(OURS, early)] == ["NPI at 30 s, %"]
    # And one with a short run alone is compared as far as it goes.
    short = replace(SLOW, time_limit=30.0, trace=((0.1, -100.0),))
    assert [respect for *_, respect in lost(OURS, short)] == ["NPI at 30 s, %", "to 1 %, s", "to 0.1 %, s"]


def test_what_an_end_is_compared_with_is_as_long():
    """At 30 s the other was better, at 180 s, where both have a run, it is not."""
    late = replace(OURS, trace=((20.0, -50.0), (100.0, -100.0)))
    other = replace(SLOW, trace=((25.0, -90.0),))
    assert "final objective" not in [respect for *_, respect in lost(late, other)]
    assert "final objective" in [respect for *_, respect in lost(late, replace(other, time_limit=30.0))]


def test_differences_below_what_is_told_do_not_count():
    same = replace(OURS, method="greedy", trace=((1.0, -50.0), (1.9999, -100.00001)))
    assert [respect for *_, respect in lost(OURS, same)] == []


def test_an_instance_of_two_experiments_comes_once():
    ours, other = (
        replace(record, experiment="qp", size="64x3") for record in (OURS, replace(OURS, method="ipopt", trace=((0.1, -100.0),)))
    )
    assert [loss.experiment.name for loss in find_losses(gather([ours, other], 180.0)) if loss.respect == "to 1 %, s"] == ["qp-width"]


def test_the_reason_stands_beside_it_and_where_none_is_known_it_says_so(monkeypatch):
    fast = [replace(OURS, method=method, version="0", trace=((0.1, -100.0),)) for method in ("greedy", "shared")]
    monkeypatch.setitem(reasons.REASONS, ("water", "greedy", reasons.SPEED), "it knows the problem")
    rows = {line.split("|")[2].strip(): line for line in losses_section(gather([OURS, *fast], 180.0))[3].splitlines()}
    assert rows["greedy"].endswith("| it knows the problem; the run of dcembed is of version 1 |")
    assert rows["shared"].endswith("| not known; the run of dcembed is of version 1 |")
    monkeypatch.setitem(reasons.REASONS, ("small-water", "greedy", reasons.SPEED), "it is small")
    assert reasons.reason("small-water", "water", "greedy", reasons.SPEED) == "it is small"


def test_a_reason_is_of_what_was_lost(monkeypatch):
    monkeypatch.setitem(reasons.REASONS, ("water", reasons.ALL, reasons.SPEED), "it has less to do")
    sooner, better = replace(OURS, method="greedy", trace=((0.1, -100.0),)), replace(OURS, method="shared", trace=((90.0, -100.05),))
    both = replace(OURS, method="big-m", trace=((0.1, -110.0),))
    rows = {line.split("|")[2].strip(): line for line in losses_section(gather([OURS, sooner, better], 180.0))[3].splitlines()}
    assert rows["greedy"].endswith("| it has less to do |")
    assert rows["shared"].endswith("| not known |")
    (row,) = losses_section(gather([OURS, both], 180.0))[3].splitlines()[2:]
    assert row.endswith("| objective: not known; speed: it has less to do |")


def test_reasons_are_of_methods_and_experiments_that_there_are():
    from benchmarks.methods.table import METHODS
    from benchmarks.problems.experiments import EXPERIMENTS

    places = {name for experiment in EXPERIMENTS.values() for name in (experiment.name, experiment.family)}
    assert {place for place, _, _ in reasons.REASONS} <= places
    assert {method for _, method, _ in reasons.REASONS} <= {*METHODS, reasons.ALL}
    assert {what for _, _, what in reasons.REASONS} <= {reasons.END, reasons.SPEED}
