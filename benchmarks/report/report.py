"""The report: one Markdown page with its pictures, made of the records alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.methods.table import METHODS
from benchmarks.report import charts, formats
from benchmarks.report.closing import closing
from benchmarks.report.comparison import Sweep
from benchmarks.report.findings import findings
from benchmarks.report.headline import headline
from benchmarks.report.losses import losses_section
from benchmarks.report.markdown import heading, listing, page, picture, table
from benchmarks.report.sections import sections
from benchmarks.report.views import Results, gather, read_all
from dcembed.result import show_count

TITLE = "dcembed against other methods"
NPI_CAPTION = (
    "NPI against size, at the second in each title: dcembed and every method that is the best of the others, or ahead of dcembed, at some size. Means "
    "over the trials that each was run on, with their range; grey are all other methods."
)


def write_report(paths: Sequence[Path], folder: Path, time_limit: float | None = None) -> Path:
    """Write report.md and the pictures beside it; returns the page."""
    everything = read_all(paths)
    if not everything:
        names = ", ".join(path.name for path in paths)
        raise SystemExit(f"There are no records in {names}. Make some first: python -m benchmarks run --short")
    results = gather(everything, time_limit)
    if not any(record.time_limit == results.horizon for record in results.last):
        raise SystemExit(f"There are no records with a time limit of {results.horizon:g} s. Leave --time-limit out to take what is there.")
    folder.mkdir(parents=True, exist_ok=True)
    blocks = [
        *_first_screen(results, folder),
        *_what_is_measured(results),
        *losses_section(results),
        *_size_by_size(results),
        *_over_time(results, folder),
        *sections(results),
        *closing(results.runs),
    ]
    target = folder / "report.md"
    target.write_text(page(blocks), encoding="utf-8")
    return target


def _first_screen(results: Results, folder: Path) -> list[str]:
    horizon = results.horizon
    return [
        heading(TITLE, 1),
        (
            f"Optimization problems with trained networks in them, {len(results.runs)} runs of up to {horizon:g} s with one thread each. **NPI** is how far "
            "a method was from the best known objective, averaged over the time: 100 % is no progress, 0 % is the best objective at once. "
            "Lower is better."
        ),
        picture(charts.draw_npi(_drawn(results), folder), NPI_CAPTION),
        headline(results.final, results.proofs),
        (
            "Within 1 % of the best known objective, in the median; NPI is a mean. The best other is the best of all other methods on each "
            "instance (size and trial), chosen afterwards and for each column anew. Final objectives are level within 0.01 %. "
            "A proved gap is a median, over some instances where it says so; at the paper's sizes it is of other runs of dcembed, which are asked for a proof."
        ),
        listing(findings(results)),
        *_machines(results),
    ]


def _machines(results: Results) -> list[str]:
    runs = Counter(record.machine for record in results.runs if record.machine)
    named = [f"{machine} ({show_count(number, 'run')})" for machine, number in runs.most_common()]
    return [f"Made on {formats.listed(named)}; [who ran where](#how-this-was-made)."] if named else []


def _drawn(results: Results) -> list[Sweep]:
    """The experiments that are in pictures: all but the small ones, which are about proofs, if there are others."""
    return [sweep for sweep in results.final if not sweep.experiment.is_small] or results.final


def _what_is_measured(results: Results) -> list[str]:
    texts = [
        "Every method gets the same problem, network and starts. Each run has a process of its own. A point counts only after the harness has "
        "measured it (integers rounded, predictions recomputed, all constraints to 1e-5), at the time it was found.",
        "NPI is 100/T times the integral over [0, T] of (J_best(t) - J_ref) / (J_0 - J_ref). J_ref is the best feasible objective of any record of "
        "the instance, whatever its limit and method, or the optimum where it was enumerated; J_0 is the objective of the start (pooling: of "
        "building nothing). Every method is credited with the best start from second zero. A run that crashed or was killed counts as one that "
        "stayed at the start.",
        "What comes before a method's own clock is not counted: bound tightening and building a model in a modelling tool, which the tables of all "
        "numbers have as preparation, and importing packages (4 to 40 ms a package), which records from before this was so do count.",
    ]
    if len(results.checkpoints) > 1:
        early = results.checkpoints[0]
        texts.append(
            f"Numbers at {early:g} s are of the same runs, cut then. A method that knows its limit may spend a shorter one in another way, and solvers "
            f"that are stopped hand over a last point: a run with a limit of {early:g} s can be a little better than this. Methods that have "
            f"only runs of {early:g} s stand there alone."
        )
    if any(record.stopped_early is not None for record in results.last):
        seconds = sorted({record.stopped_early for record in results.last if record.stopped_early is not None})
        shown = formats.listed([f"{second:g}" for second in seconds])
        texts.append(
            f"Exact encodings that were still at their start after {shown} s were ended there, and their trajectories are extended to the horizon. "
            "What they would have found later is not known. Other methods end by themselves or at the limit, and what they had then counts to the horizon: "
            "how they ended is in the tables of all numbers. Bounds of runs that were ended are those of the moment they were ended."
        )
    texts.append(
        "A proved gap is (J - bound) / |J| with the method's own bound; nothing where it proves none or the record is from before bounds were kept."
    )
    return [heading("What is measured"), listing(texts)]


def _size_by_size(results: Results) -> list[str]:
    """dcembed, the second best, how many times as high, and since when."""
    rows = []
    for sweep in results.final:
        for lead in filter(None, map(sweep.lead, sweep.sizes)):
            ahead = {None: "level", float("inf"): "behind"}.get(lead.ahead_from) or f"{lead.ahead_from:.1f} s"
            second = METHODS[lead.other].label if lead.has_rival else "all at the start"
            name = f"{sweep.experiment.title}, {formats.size_name(sweep.experiment, lead.size)}"
            num_trials = str(len(sweep.shared_trials(lead.size, lead.other)))
            numbers = formats.number(lead.ours), second, formats.number(lead.theirs), formats.times(lead.ratio)
            rows.append([name, num_trials, *numbers, ahead])
    return [
        heading("Size by size"),
        table(["instance", "trials", "dcembed, NPI %", "second best", "its NPI %", "as high", "ahead from"], rows),
        (
            "At the horizon. The second best is a method whose NPI is below that of dcembed, else the one next to it of those that were run on "
            "the most trials. **Ahead from** is the second from which dcembed had a better point than any other method to the end, in every "
            "trial; level or behind where another one ends with the same objective or a better one in some trial."
        ),
    ]


def _over_time(results: Results, folder: Path) -> list[str]:
    caption = (
        "Gap closed over time on the largest size that the most methods were run on: mean over the trials that all of them have, shades span "
        "them. Methods that never got away from the start are one grey line."
    )
    return [heading("Over time"), picture(charts.draw_trajectories(_drawn(results), folder), caption)]
