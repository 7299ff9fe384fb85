"""`python -m tests.attack`: attack dcembed for some minutes, and print what broke."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.table import Table

from .campaign import Attack, Campaign, write_down

# What an attack takes of the time.
SHARES = {"programs": 0.55, "faults": 0.15, "signals": 0.15, "files": 0.15}
FAILURES = Path("out/attack/failures.jsonl")


def attack_of(kind: str) -> Attack:
    """The attack called so; its module is imported only now."""
    if kind == "programs":
        from . import programs

        # A run that overruns is a fault of its own; one that takes this long will not end.
        patience = 3 * programs.TIME_LIMIT + 3 * programs.ORACLE_LIMIT
        return Attack("programs", programs.names, programs.attempt, patience, programs.summarize)
    if kind == "faults":
        from . import faults

        return Attack("faults", faults.names, faults.attempt, 12 * faults.TIME_LIMIT, faults.summarize)
    if kind == "signals":
        from . import signals

        return Attack("signals", signals.names, signals.attempt, signals.TO_BUILD + signals.TO_END, signals.summarize)
    raise ValueError(f"no attack is called {kind!r}")


def main(arguments: list[str] | None = None) -> int:
    read = _parser().parse_args(arguments)
    if read.replay:
        return _replay(read.replay)
    console, began = Console(stderr=True), time.monotonic()
    FAILURES.parent.mkdir(parents=True, exist_ok=True)
    FAILURES.unlink(missing_ok=True)
    kinds = [read.only] if read.only else [kind for kind in SHARES if kind != "files" or _has_mutants()]
    total = sum(SHARES[kind] for kind in kinds)
    table = Table("what", "found", title=f"attack, seed {read.seed}")
    with console.status("") as status:

        def show(text: str) -> None:
            status.update(f"{time.monotonic() - began:5.0f} s  {text}")

        for kind in kinds:
            seconds = 60.0 * read.minutes * SHARES[kind] / total
            lines = _mutate(seconds, read.seed) if kind == "files" else _run(kind, seconds, read.seed, show)
            table.add_section()
            for line in lines:
                table.add_row(*line)
    Console(width=200).print(table)
    # It is written where something has failed.
    return int(FAILURES.exists())


def _run(kind: str, seconds: float, seed: int, show: Callable[[str], None]) -> list[tuple[str, str]]:
    campaign = Campaign(attack_of(kind))
    campaign.run(seconds, seed, FAILURES, show)
    return campaign.lines()


def _has_mutants() -> bool:
    return find_spec(f"{__package__}.mutants") is not None


def _mutate(seconds: float, seed: int) -> list[tuple[str, str]]:
    """The file mutator runs by itself; it is imported only now, and only where it is."""
    report = import_module(f"{__package__}.mutants").run(seconds, seed)
    for failure in report.failures:
        write_down(FAILURES, f"file:{failure.seed}", {"file": f"{failure.specimen}: {failure.problem}"})
    lines = [("file mutants", f"{report.made}"), ("refused in one line", f"{report.refused}"), ("read", f"{report.read}")]
    shown = " ".join(f"file:{failure.seed}" for failure in report.failures[:12])
    return [*lines, ("not refused as they should be", f"{len(report.failures)} {shown}".strip())]


def _replay(name: str) -> int:
    kind, _, number = name.partition(":")
    if kind == "file":
        mutants, seconds = import_module(f"{__package__}.mutants"), 60.0
        with tempfile.TemporaryDirectory() as folder:
            outcomes = mutants._read_until(time.monotonic() + seconds, mutants.make_specimens(), int(number), Path(folder))
            outcome = next(outcomes)
            outcomes.close()
        Console(width=200).print(outcome)
        return int(outcome not in ("refused", "read"))
    trial = attack_of({"fault": "faults", "signal": "signals"}.get(kind, "programs")).attempt(name)
    Console(width=200).print(trial)
    return 1 if trial.faults else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long (30)")
    parser.add_argument("--seed", type=int, default=0, help="where to begin (0)")
    parser.add_argument("--only", choices=list(SHARES), help="one kind of attack alone")
    parser.add_argument("--replay", metavar="KIND:SEED", help="one trial again, by the name in out/attack/failures.jsonl")
    return parser


if __name__ == "__main__":
    sys.exit(main())
