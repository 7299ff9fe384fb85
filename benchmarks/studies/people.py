"""Problems that people have, beside what they would pick: `python -m benchmarks.studies.people [CASE ...] [--save FILE]`.

The same cases run by `python -m benchmarks.race people`, with a row for every method; here every problem has one row. Runs are written down
case by case (FILE with .jsonl), cases that are run again replace what is there, and `--table` writes the table of what was run.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks.studies.people_cases import people_cases
from benchmarks.studies.people_table import HEAD, TITLES, build_row, refusals, size_of
from benchmarks.studies.race import hold
from benchmarks.studies.race_case import Case
from benchmarks.studies.race_table import Contest, Lap, build_rows, head_lines

RESULTS = Path(__file__).parents[1] / "results" / "race" / "people.md"
# What the best known objective is, where it does not come from the runs.
MARKS = {"facilities": " (e)", "servers": " (e)", "admission": " (b)"}


def write_contest(contest: Contest, records: Path) -> None:
    """Put a case into the file of runs, in the place of what is there of it."""
    kept = [line for line in _lines(records) if json.loads(line)["case"] != contest.case.name]
    fields = {name: getattr(contest, name) for name in ("initial", "start", "best_known", "host_seconds")}
    laps = {name: [asdict(lap) for lap in own] for name, own in contest.laps.items()}
    line = json.dumps({"case": contest.case.name, "seconds": contest.case.time_limit, **fields, "laps": laps})
    records.write_text("\n".join([*kept, line]) + "\n", encoding="utf-8")


def read_contests(records: Path) -> list[Contest]:
    """All cases that were written down, in the order of the table."""
    read = {entry["case"]: entry for entry in map(json.loads, _lines(records))}
    return [_contest(case, read[case.name]) for case in people_cases() if case.name in read]


def _contest(case: Case, entry: dict) -> Contest:
    laps = {name: [Lap(**{**lap, "trace": tuple(map(tuple, lap["trace"]))}) for lap in own] for name, own in entry["laps"].items()}
    fields = (entry[name] for name in ("initial", "start", "best_known", "host_seconds"))
    return Contest(replace(case, time_limit=entry["seconds"]), laps, *fields)


def _lines(records: Path) -> list[str]:
    return records.read_text(encoding="utf-8").splitlines() if records.is_file() else []


def write_table(contests: Sequence[Contest], path: Path) -> None:
    """One row a problem, what could not run, and below it all methods."""
    rows = [build_row(contest, size_of(contest.case.build()), _mark(contest)) for contest in contests]
    seconds = max((contest.case.time_limit for contest in contests), default=0.0)
    left_out = refusals(contests)
    parts = [
        HEAD.format(seconds=seconds),
        _markdown([list(TITLES), ["---"] * len(TITLES), *rows]),
        *(["", "Not run, by their own words:", "", *left_out] if left_out else []),
        "",
        "## All methods",
        "",
        _markdown([*head_lines(), *(row for contest in contests for row in build_rows(contest))]),
        "",
    ]
    path.write_text("\n".join(parts), encoding="utf-8")


def _mark(contest: Contest) -> str:
    """Where the best known objective is from: an enumeration or bound that no run is better than, or the runs."""
    known = contest.case.best_known()
    is_reached = known is not None and np.isclose(known, contest.best_known, rtol=1e-9)
    return MARKS.get(contest.case.name.split("-")[1], "") if is_reached else ""


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(cell or " " for cell in line) + " |" for line in lines)


def find_people(names: Sequence[str]) -> list[Case]:
    """Cases by their names or how those begin, with or without "people-"; all for no name."""
    chosen = [case for case in people_cases() if not names or any(_fits(case.name, name) for name in names)]
    for name in names:
        if not any(_fits(case.name, name) for case in chosen):
            raise ValueError(f"unknown case {name!r}; accepted: {', '.join(c.name for c in people_cases())}, or how they begin")
    return chosen


def _fits(case: str, name: str) -> bool:
    return f"{case}-".startswith((f"{name}-", f"people-{name}-"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, write down, write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.people", description="Problems that people have.")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="such as heat-pump or people-molecule-0; all by default")
    parser.add_argument("--save", type=Path, default=RESULTS, metavar="FILE", help="the Markdown file; runs are in .jsonl beside it")
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="of each run; that of the case by default")
    parser.add_argument("--methods", nargs="+", metavar="METHOD", help="those of the case by default")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="runs of each method, of which medians are shown")
    parser.add_argument("--missing", action="store_true", help="run only cases that are not written down yet")
    parser.add_argument("--table", action="store_true", help="write the table of what was run, and run nothing")
    chosen = parser.parse_args(arguments)
    console, records = Console(width=200), chosen.save.with_suffix(".jsonl")
    try:
        cases = [] if chosen.table else find_people(chosen.cases)
    except ValueError as error:
        parser.error(str(error))
    known = {contest.case.name for contest in read_contests(records)} if chosen.missing else set()
    for case in cases:
        if case.name not in known:
            contest = hold(case, chosen.methods or case.methods, None, chosen.repeat, chosen.time_limit)
            write_contest(contest, records)
            console.print(" | ".join(build_row(contest, size_of(case.build()))), highlight=False)
    write_table(read_contests(records), chosen.save)


if __name__ == "__main__":
    main()
