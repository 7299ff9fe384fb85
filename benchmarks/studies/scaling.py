"""Two workers against one, side by side: `python -m benchmarks.studies.scaling [case ...]`.

Every case is run alone, with processes of our own that are begun in the run (`workers=2`), and with workers that are there already
(`executor=dcembed.Workers(2)`), in turn, so often as `--repeat` says; the medians are compared. `--out` writes the table as markdown.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import dcembed
from benchmarks.harness.machine import describe_machine
from benchmarks.problems.big import samples_instance
from benchmarks.problems.commitment import build_commitment
from benchmarks.problems.deep_pooling import deep_pooling
from benchmarks.problems.instance import Instance
from benchmarks.problems.pooling import build_pooling
from benchmarks.problems.qp import build_qp
from benchmarks.problems.water import build_water
from benchmarks.report.markdown import heading, page, table
from dcembed.crew.crew import Crew, open_crew
from dcembed.crew.task import Shared
from dcembed.engine.columns.columns import open_columns
from dcembed.engine.columns.generator import price, relax
from dcembed.engine.problem import build_problem
from dcembed.run.arguments import read_arguments
from dcembed.run.journal import open_journal

TITLES = (
    "case",
    "what",
    "alone, s",
    "workers=2, s",
    "ratio",
    "workers ready, s",
    "ratio",
    "processor s alone",
    "processor s of all",
    "same answer",
)
# Rounds of prices.
NUM_ROUNDS = 12


@dataclass(frozen=True)
class Case:
    """Work that takes an executor, or begins so many workers itself, and gives a number, which must not depend on that if it is one pass."""

    name: str
    what: str
    work: Callable[[Executor | None, int | None], float]
    is_one_pass: bool = True


@dataclass(frozen=True)
class Took:
    """Wall and processor seconds of all processes, and the answer."""

    seconds: float
    processor: float
    answer: float


def five_starts(build: Callable[[], Instance]) -> Callable[[Executor | None, int | None], float]:
    """One pass of five starts."""

    def work(executor: Executor | None, workers: int | None) -> float:
        instance = build()
        options = dcembed.Options(search="converge", verbose=False, executor=executor, workers=workers)
        starts = instance.starts if len(instance.starts) else None
        return dcembed.solve(instance.program, instance.embeddings, start=starts, options=options).objective

    return work


def proof(build: Callable[[], Instance], seconds: float, num_starts: int = 1) -> Callable[[Executor | None, int | None], float]:
    """A start and a proof that goes on until its gap is closed."""

    def work(executor: Executor | None, workers: int | None) -> float:
        instance = build()
        options = dcembed.Options(
            search="converge",
            max_starts=num_starts,
            prove=True,
            time_limit=seconds,
            gap_tol=0.02,
            verbose=False,
            executor=executor,
            workers=workers,
        )
        return dcembed.solve(instance.program, instance.embeddings, start=list(instance.starts), options=options).gap <= 0.02

    return work


def prices(build: Callable[[], Instance]) -> Callable[[Executor | None, int | None], float]:
    """Rounds of prices of all blocks, without the masters between them; the value of the relaxed master."""

    def work(executor: Executor | None, workers: int | None) -> float:
        instance = build()
        arguments = read_arguments(instance.program, instance.embeddings, list(instance.starts), dcembed.Options(verbose=False))
        with open_journal(arguments, True) as journal, open_crew(workers, executor, journal.log.note) as crew:
            problem = build_problem(journal.embedded, arguments.options)
            columns = open_columns(Shared(problem), journal, tuple(map(problem.embedded.lower, arguments.starts)))
            assert columns is not None
            return _rounds(columns._task, columns._state, crew, journal.clock)

    return work


def _rounds(task, state, crew: Crew, clock) -> float:
    rng = np.random.default_rng(0)
    with _only_this():
        for _ in range(NUM_ROUNDS):
            with _counted():
                state = price(task, state, state.prices, rng, crew, clock)
            state = relax(task, state, clock)
    return state.value


_counter = {"seconds": None}


@contextmanager
def _only_this() -> Iterator[None]:
    """Count what is counted, not the rest."""
    _counter["seconds"] = 0.0
    yield


@contextmanager
def _counted() -> Iterator[None]:
    began = time.perf_counter()
    yield
    _counter["seconds"] += time.perf_counter() - began


CASES = (
    Case("qp-256x3", "five starts", five_starts(lambda: build_qp("256x3", 0))),
    Case("commitment", "five starts", five_starts(lambda: build_commitment("indicators", 0))),
    Case("pooling-17", "five starts, half a second", five_starts(lambda: build_pooling("17", 0))),
    Case("pooling-64x64", "five starts, two hidden layers, 4,913 scenarios", five_starts(lambda: deep_pooling((64, 64), 17, 0))),
    Case("qp-8x3", "five starts, half a second", five_starts(lambda: build_qp("8x3", 0))),
    Case("water-800", f"{NUM_ROUNDS} rounds of prices, 800 blocks", prices(lambda: build_water("800", 0)), is_one_pass=False),
    Case("samples-10k", f"{NUM_ROUNDS} rounds of prices, 10,000 blocks", prices(lambda: samples_instance(10_000)), is_one_pass=False),
    Case("proof-qp-256x3", "one start, proof to 2 %", proof(lambda: build_qp("256x3", 0), 120.0)),
)


def measure(case: Case, kind: str) -> Took:
    """One run: "alone", "begun" for workers that the run begins, "ready" for workers that are there."""
    if kind != "ready":
        return _timed(case, None, 2 if kind == "begun" else None)
    with dcembed.Workers(2) as workers:
        workers.wait_until_ready()
        return _timed(case, workers, None)


def _timed(case: Case, executor: Executor | None, workers: int | None) -> Took:
    _counter["seconds"] = None
    began, processor = time.perf_counter(), _processor()
    answer = case.work(executor, workers)
    seconds = _counter["seconds"] if _counter["seconds"] is not None else time.perf_counter() - began
    return Took(seconds, _processor() - processor, float(answer))


def _processor() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def row(case: Case, repeat: int) -> list[str]:
    """The case in all three ways, in turn."""
    kinds = ("alone", "begun", "ready")
    took = {kind: [] for kind in kinds}
    for _ in range(repeat):
        for kind in kinds:
            took[kind].append(measure(case, kind))
    alone, begun, ready = (statistics.median(each.seconds for each in took[kind]) for kind in kinds)
    answers = {each.answer for kind in kinds for each in took[kind]}
    return [
        case.name,
        case.what,
        f"{alone:.2f}",
        f"{begun:.2f}",
        f"{begun / alone:.2f}",
        f"{ready:.2f}",
        f"{ready / alone:.2f}",
        f"{statistics.median(each.processor for each in took['alone']):.2f}",
        f"{statistics.median(each.processor for each in took['begun']):.2f}",
        "yes" if len(answers) == 1 else f"no: {sorted(answers)}" if case.is_one_pass else "not asked for",
    ]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help="beginnings of the names of cases; all by default")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(arguments)
    rows = []
    for case in CASES:
        if not chosen.cases or any(case.name.startswith(name) for name in chosen.cases):
            rows.append(row(case, chosen.repeat))
            print(*rows[-1], sep="  ", flush=True)
    if chosen.out is not None:
        words = f"Medians of {chosen.repeat} runs in turn, one thread each; `python -m benchmarks.studies.scaling`. {describe_machine()}."
        chosen.out.write_text(page([heading("Two workers against one", 1), words, table(TITLES, rows)]))


if __name__ == "__main__":
    main()
