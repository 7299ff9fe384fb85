"""What a longer search is worth: `python -m benchmarks.studies.longer [CASE ...] [--seconds S] [--table]`.

Each case is solved by one pass, by the default (patient) search and by one until the limit, each for so many processor seconds at most: a machine
that others use as well changes nothing. A second search until the limit, from another seed, is there for reference alone. Runs are written down one
by one, and what is there is not run again. The table has the share of the difference between one pass and the best that is known without it that
the search until the limit has closed, and what kinds of starts brought it.

Cases are FAMILY-SIZE-SEED, avoidance-NUMBER and commitment-SEED.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import dcembed
from benchmarks.problems.avoidance import build_avoidance
from benchmarks.problems.commitment import build_commitment
from benchmarks.problems.dispatch import dispatch_instance
from benchmarks.problems.instance import Instance
from benchmarks.problems.lots import lots_instance
from benchmarks.problems.routing import routing_instance
from benchmarks.problems.water import load_water_network, water_instance

FAMILIES = {
    "dispatch": dispatch_instance,
    "lots": lots_instance,
    "routing": routing_instance,
    "water": lambda size, cohort: water_instance(load_water_network(), size, cohort),
    "avoidance": build_avoidance,
    "commitment": lambda seed: build_commitment("indicators", seed),
}
# The best objective that was known of each case before these runs: proved where `benchmarks/studies/integers.py` says so.
BEST_KNOWN = {
    "dispatch-4-2": 1.81245,
    "dispatch-5-0": 2.44426,
    "dispatch-6-0": 0.217073,
    "dispatch-8-0": 4.32844,
    "lots-6-0": 22.26700,
    "lots-8-0": 23.53818,
    "routing-6-0": 6.767013,
    "avoidance-5": -0.077206,
    "avoidance-11": 0.372932,
    "avoidance-17": -0.222738,
    "avoidance-23": 0.065180,
    "commitment-0": 147.577277,
    "commitment-1": 149.084373,
    "water-25-1": -18.0,
    "water-50-0": -27.0,
    "water-100-0": -40.0,
    "water-200-0": -54.0,
}
PROVED = ("dispatch-4-2", "dispatch-5-0")
# What is run: the kind of search and its seed. The last one is what others are compared with.
SEARCHES = {"converge": ("converge", 0), "patient": ("patient", 0), "until-limit": ("until-limit", 0), "reference": ("until-limit", 1)}
SECONDS = 60.0
RESULTS = Path(__file__).parents[1] / "results"
# Differences below this, relative to max(1, |best known|), are none.
SAME = 1e-5


@dataclass(frozen=True)
class Run:
    """One run: where it ended, what it took, how many improving points each kind of start brought, and what else must be said of it."""

    case: str
    search: str
    seconds: float
    objective: float
    is_feasible: bool
    processor_seconds: float
    num_starts: int
    brought: dict[str, int]
    best_by: str
    note: str = ""


class ProcessorTime:
    """Stops a run after so many processor seconds."""

    def __init__(self, seconds: float) -> None:
        self._end = time.process_time() + seconds

    def is_set(self) -> bool:
        """Whether they are over."""
        return time.process_time() >= self._end


def build_case(name: str) -> Instance:
    """The instance of a case."""
    family, *numbers = name.split("-")
    return FAMILIES[family](*map(int, numbers))


def run_case(name: str, search: str, seconds: float) -> Run:
    """Solve a case, one thread; the clock on the wall ends it where the machine is taken by others for long."""
    instance, began = build_case(name), time.process_time()
    kind, seed = SEARCHES[search]
    options = dcembed.Options(search=kind, time_limit=10 * seconds, stop=ProcessorTime(seconds), seed=seed, verbose=False)
    result = dcembed.solve(instance.program, list(instance.embeddings), list(instance.starts) or None, options)
    brought = dict(Counter(result.origins))
    return Run(
        name,
        search,
        seconds,
        result.objective,
        result.is_feasible,
        round(time.process_time() - began, 1),
        result.num_starts,
        brought,
        result.origins[-1] if result.origins else "",
    )


def closed(sense: float, one_pass: float, longer: float, best: float) -> float:
    """The share of the difference between one pass and the best known that a longer search has closed; NaN where there is none."""
    difference = sense * (one_pass - best)
    if difference <= SAME * max(1.0, abs(best)):
        return np.nan
    return min(1.0, sense * (one_pass - longer) / difference)


def read_runs(path: Path, seconds: float) -> dict[tuple[str, str], Run]:
    """The runs of so many seconds that were written down."""
    lines = path.read_text().splitlines() if path.exists() else []
    runs = [Run(**json.loads(line)) for line in lines]
    return {(run.case, run.search): run for run in runs if run.seconds == seconds}


def table(runs: dict[tuple[str, str], Run], seconds: float) -> str:
    """The table of all cases that have one pass and a search until the limit."""
    lines = [
        "# What a longer search is worth",
        "",
        f"Written by `python -m benchmarks.studies.longer`: at most {seconds:g} processor seconds a run, one thread, seed 0. Objectives; what is closed is",
        'the share of the difference between one pass (`search="converge"`) and the best known that `search="until-limit"` has closed. Best known is the',
        "better of what was known before and what the same search finds from another seed.",
        "Kinds of starts are those that brought improving points, with how many; the first brought the best.",
        "",
        "| case | one pass | s | patient | s | until the limit | starts | best known | closed | brought by |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    shares = []
    for case in dict.fromkeys(name for name, _ in runs):
        one, patient, longer, reference = (runs.get((case, search)) for search in SEARCHES)
        if one is None or longer is None:
            continue
        sense = 1.0 if not build_case(case).program.maximize else -1.0
        known = [BEST_KNOWN.get(case), reference.objective if reference is not None and reference.is_feasible else None]
        best = sense * min((sense * value for value in known if value is not None), default=np.inf)
        share = closed(sense, one.objective, longer.objective, best)
        shares += [share] if np.isfinite(share) else []
        lines.append(_line(case, one, patient, longer, best, share))
    mean = f"{np.mean(shares):.0%} was closed on average over the {len(shares)} cases that have one" if shares else "there was none"
    notes = [f"- {run.case}, {run.search}: {run.note}" for run in runs.values() if run.note]
    return "\n".join([*lines, "", f"Of the difference between one pass and the best known, {mean}.", *(["", *notes] if notes else []), ""])


def _line(case: str, one: Run, patient: Run | None, longer: Run, best: float, share: float) -> str:
    brought = sorted(longer.brought.items(), key=lambda entry: (entry[0] != longer.best_by, -entry[1]))
    cells = [
        case,
        f"{one.objective:.6g}",
        f"{one.processor_seconds:.0f}",
        f"{patient.objective:.6g}" if patient else "-",
        f"{patient.processor_seconds:.0f}" if patient else "-",
        f"{longer.objective:.6g}",
        str(longer.num_starts),
        f"{best:.6g}" + (" (proved)" if case in PROVED else ""),
        f"{share:.0%}" if np.isfinite(share) else "no difference",
        ", ".join(f"{name} {number}" for name, number in brought),
    ]
    return f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing, write it down, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.longer", description="What a longer search is worth.")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"such as {', '.join(BEST_KNOWN)}, which are those by default")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="processor seconds of each run at most; %(default)s by default")
    parser.add_argument("--searches", nargs="+", default=[*SEARCHES], choices=[*SEARCHES], help="all by default")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder of longer.jsonl and longer.md")
    parser.add_argument("--table", action="store_true", help="write the table of what was run, and run nothing")
    chosen = parser.parse_args(arguments)
    records = chosen.results / "longer.jsonl"
    for name in [] if chosen.table else chosen.cases or BEST_KNOWN:
        for search in chosen.searches:
            if (name, search) not in read_runs(records, chosen.seconds):
                run = run_case(name, search, chosen.seconds)
                print(f"{name} {search}: {run.objective:.6g} in {run.processor_seconds:.1f} s, {run.num_starts} starts", flush=True)
                with records.open("a") as file:
                    file.write(json.dumps(asdict(run)) + "\n")
    (chosen.results / "longer.md").write_text(table(read_runs(records, chosen.seconds), chosen.seconds))


if __name__ == "__main__":
    main()
