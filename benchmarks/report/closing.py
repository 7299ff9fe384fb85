"""The end of the report: who was run on what, what failed, and how it all was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from benchmarks.harness.records import FAILURES, Record
from benchmarks.methods.table import METHODS
from benchmarks.problems.experiments import EXPERIMENTS, belongs
from benchmarks.report import formats
from benchmarks.report.comparison import left_out
from benchmarks.report.markdown import folded, heading, listing, table

NOT_RUN = (*FAILURES, "licence")


def closing(records: list[Record]) -> list[str]:
    """All of it, about the records that are compared."""
    return [
        heading("The methods"),
        *_methods(records),
        heading("Runs that failed"),
        _failures(records),
        heading("How this was made"),
        *_making(records),
    ]


def never_run(records: list[Record]) -> list[str]:
    """The methods that have no run which came to an end of its own or of its limit."""
    ran = {record.method for record in records if record.status not in NOT_RUN}
    return [name for name in METHODS if name not in ran]


def _methods(records: list[Record]) -> list[str]:
    rows = []
    for name, method in METHODS.items():
        own = [record for record in records if record.method == name]
        ended = Counter(record.status for record in own)
        failed = ", ".join(f"{ended[status]} {status}" for status in (*NOT_RUN, "stopped") if ended[status])
        num_ran = sum(record.status not in NOT_RUN for record in own)
        rows.append([method.label, method.about, str(num_ran) if num_ran else "**never**", failed or formats.NOTHING])
    silent = [f"**{METHODS[name].label}** ({_why_never(name, records)})" for name in never_run(records)]
    text = f"Never run: {formats.listed(silent)}." if silent else "Every method was run on at least one instance."
    return [text, table(["method", "what it is", "runs", "ended early or failed"], rows, num_texts=2)]


def _why_never(name: str, records: list[Record]) -> str:
    """Why there is no run of a method: what its records say, or what the table of methods does of the experiments that have some."""
    statuses = Counter(record.status for record in records if record.method == name)
    if statuses:
        return ", ".join(f"{count} {status}" for status, count in statuses.items())
    there = {record.instance[:2] for record in records}
    reasons = [left_out(name, e) for e in EXPERIMENTS.values() if any(belongs(e, family, size) for family, size in there)]
    return "; ".join(dict.fromkeys(filter(None, reasons))) if all(reasons) else "it is in none of these records"


def _failures(records: list[Record]) -> str:
    failed = [
        f"{r.experiment} {r.size} trial {r.trial}, {METHODS[r.method].label}: {r.status}. {r.note}" for r in records if r.status in NOT_RUN
    ]
    return folded(f"{len(failed)} runs failed or did not fit a licence", [listing(failed)]) if failed else "None."


def _parts(records: list[Record], tell: Callable[[Record], str]) -> list[str]:
    """What is told of records, each text once, with the runs of which methods it is true of."""
    found: dict[str, Counter[str]] = {}
    for record in records:
        if text := tell(record):
            found.setdefault(text, Counter())[METHODS[record.method].label] += 1
    return [
        f"{text}: {formats.listed([f'{label} {number}' for label, number in methods.most_common()])}." for text, methods in found.items()
    ]


def _making(records: list[Record]) -> list[str]:
    commands = [f"`{command}`" for command in dict.fromkeys(record.command for record in records) if command]
    return [
        folded(f"{len(commands) + 1} commands", [listing([*commands, "`python -m benchmarks report`"])]),
        listing([*_parts(records, lambda record: record.machine), *_parts(records, lambda record: record.versions)]),
        "The page and its pictures are made of the records alone.",
    ]
