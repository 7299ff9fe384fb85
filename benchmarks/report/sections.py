"""One section of the report for each experiment: all methods, all sizes, then every number."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.methods.table import METHODS
from benchmarks.report import formats, paper_figures
from benchmarks.report.comparison import OURS, PROVER, Cell, Sweep, left_out, proved_percent, summarize
from benchmarks.report.markdown import folded, heading, table
from benchmarks.report.views import Results

FEWER, SHORTER, STOPPED = "\u2020", "\u2021", "\u25a0"

PAPER_NOTE = (
    "Its own networks, machine and solver (Gurobi), 180 s; its method is `shared` here. The QP's bound mu and the water classifier are not "
    "published, so that objectives of these two are not comparable with ours one by one, only their order."
)

Show = Callable[[Sweep, str, str], str]


def sections(results: Results) -> list[str]:
    """All of them."""
    return [block for sweep in results.last_sweeps for block in _section(sweep, results)]


def _section(sweep: Sweep, results: Results) -> list[str]:
    blocks: list[str] = [heading(sweep.experiment.title)]
    reasons = [f"{METHODS[m].label}: {why}" for m in METHODS if (why := left_out(m, sweep.experiment)) is not None]
    if reasons:
        blocks.append(folded(f"{len(reasons)} methods are not run here", ["; ".join(reasons) + "."]))
    for seconds in results.checkpoints:
        at = next((each for each in results.sweeps[seconds] if each.experiment is sweep.experiment), None)
        blocks += [heading(f"NPI at {seconds:g} s, percent", 3), _table(at, at.methods, _npi)] if at is not None else []
    blocks += [heading(formats.OBJECTIVE_TITLES[sweep.experiment.family], 3), _table(sweep, sweep.methods, _objective)]
    blocks += [heading("Seconds to within 1 % / 0.1 % of the best known objective", 3), _table(sweep, sweep.methods, _times)]
    blocks += [heading("Memory, MiB / added columns / added binaries", 3), _table(sweep, sweep.methods, _sizes)]
    blocks += _proofs(sweep, results)
    blocks += _marks("\n".join(blocks), sweep.horizon)
    paper = _paper_table(sweep)
    if paper is not None:
        blocks += [folded("What the paper prints", [PAPER_NOTE, paper])]
    blocks += [
        folded(f"All numbers, {sweep.experiment.axis}: {formats.size_name(sweep.experiment, size)}", [_detail(sweep, size)])
        for size in sweep.sizes
    ]
    return blocks


def _table(sweep: Sweep, methods: tuple[str, ...], show: Show) -> str:
    """Methods below one another, sizes side by side."""
    head = [sweep.experiment.axis, *(formats.size_name(sweep.experiment, size) for size in sweep.sizes)]
    return table(head, [[METHODS[method].label, *(show(sweep, size, method) for size in sweep.sizes)] for method in methods])


def _marks(text: str, horizon: float) -> list[str]:
    """What the marks in the tables mean, of those that occur."""
    meanings = {
        FEWER: "over fewer trials than those of dcembed; it is compared with dcembed on these alone",
        SHORTER: f"of runs that are shorter than {horizon:g} s, for want of longer ones",
        STOPPED: "ended early because it was still at its start; what it had then counts to the horizon",
    }
    there = [f"{mark} {meaning}" for mark, meaning in meanings.items() if mark in text]
    legend = "Means over the trials, their range in small print, times are medians; bold is the best."
    return [f"{legend} {'. '.join(there)}{'.' if there else ''}".strip()]


def _cautions(sweep: Sweep, size: str, method: str) -> str:
    """The marks of a cell whose runs are fewer or shorter than others."""
    is_shorter = any(record.time_limit < sweep.horizon for record in sweep.cells[size, method].records)
    return (f" {FEWER}" if _has_fewer_trials(sweep, size, method) else "") + (f" {SHORTER}" if is_shorter else "")


def _has_fewer_trials(sweep: Sweep, size: str, method: str) -> bool:
    ours, other = sweep.cells.get((size, OURS)), sweep.cells.get((size, method))
    return ours is not None and other is not None and other.npi is not None and len(other.npi_of_trial) < len(ours.npi_of_trial)


def _npi(sweep: Sweep, size: str, method: str) -> str:
    cell = sweep.cells.get((size, method))
    if cell is None:
        return formats.NOTHING
    text = cell.failures if cell.npi is None else formats.with_range(cell.npi, list(cell.npi_of_trial.values()))
    if cell.npi is not None and cell.failures:
        text += f" ({cell.failures})"
    text += f" {STOPPED}" if cell.num_stopped else ""
    text += f" {FEWER}" if _has_fewer_trials(sweep, size, method) else ""
    return f"**{text}**" if method == sweep.best(size) else text


def _objective(sweep: Sweep, size: str, method: str) -> str:
    cell, best = sweep.cells.get((size, method)), _best_objective(sweep, size)
    if cell is None or cell.objective is None:
        return formats.NOTHING
    text = formats.objective(sweep.experiment, cell.objective)
    if not _has_fewer_trials(sweep, size, method) and text == formats.objective(sweep.experiment, best):
        text = f"**{text}**"
    return text + _cautions(sweep, size, method)


def _best_objective(sweep: Sweep, size: str) -> float | None:
    """The best mean; those over other trials are not compared with these."""
    cells = [(m, cell) for (s, m), cell in sweep.cells.items() if s == size and not _has_fewer_trials(sweep, s, m)]
    return min((cell.objective for _, cell in cells if cell.objective is not None), default=None)


def _times(sweep: Sweep, size: str, method: str) -> str:
    cell = sweep.cells.get((size, method))
    if cell is None or cell.npi is None:
        return formats.NOTHING
    is_fewer, shown = _has_fewer_trials(sweep, size, method), []
    for name in ("to_percent", "to_permille"):
        value = getattr(cell, name)
        # Medians over other trials are not compared with these.
        others = [other for (s, m), other in sweep.cells.items() if s == size and not _has_fewer_trials(sweep, s, m)]
        known = [each for other in others if (each := getattr(other, name)) is not None]
        text = formats.seconds(value)
        shown.append(f"**{text}**" if value is not None and not is_fewer and value <= min(known) else text)
    return " / ".join(shown) + _cautions(sweep, size, method)


def _sizes(sweep: Sweep, size: str, method: str) -> str:
    cell = sweep.cells.get((size, method))
    if cell is None:
        return formats.NOTHING
    columns, _, binaries = cell.added
    return " / ".join([f"{cell.memory:,.0f}", *(formats.NOTHING if value is None else f"{value:,}" for value in (columns, binaries))])


def _proofs(sweep: Sweep, results: Results) -> list[str]:
    """What dcembed proves where it is asked to, size by size; nothing if it never was."""
    rows = []
    for size in sweep.sizes:
        runs = tuple(run for run in results.proofs.values() if (run.experiment, run.size) == (sweep.experiment.family, size))
        if runs:
            rows.append(_proof_row(sweep, summarize(PROVER, size, runs, sweep.references)))
    head = [sweep.experiment.axis, "trials", "limit, s", "ended", "objective", "bound", "proved gap, %", "NPI, %"]
    return [heading("What dcembed proves when it is asked to", 3), table(head, rows)] if rows else []


def _proof_row(sweep: Sweep, cell: Cell) -> list[str]:
    gaps = [gap for run in cell.records if (gap := proved_percent(run)) is not None]
    return [
        formats.size_name(sweep.experiment, cell.size),
        str(len(cell.records)),
        *_limits_and_ends(cell),
        _objective_range(sweep, cell),
        formats.objective(sweep.experiment, cell.bound),
        formats.with_range(cell.proved, gaps) if cell.proved is not None else formats.NOTHING,
        formats.number(cell.npi),
    ]


def _paper_table(sweep: Sweep) -> str | None:
    """Final objectives and NPI of the paper beside ours, for the sizes that both have."""
    experiment, family = sweep.experiment, sweep.experiment.family
    methods = list(dict.fromkeys(m for f, s, m in paper_figures.OBJECTIVES if f == family))
    sizes = [size for size in sweep.sizes if any((family, size, m) in paper_figures.OBJECTIVES for m in methods)]
    if not sizes:
        return None
    head = [experiment.axis, *(f"{_paper_name(m)} (paper)" for m in methods), "dcembed here", "NPI (paper)"]
    rows = []
    for size in sizes:
        printed = [paper_figures.OBJECTIVES.get((family, size, m)) for m in methods]
        ours = sweep.cells.get((size, OURS))
        npi = [f"{_paper_name(m)} {value:g}" for m in methods if (value := paper_figures.NPI.get((family, size, m))) is not None]
        own = formats.objective(experiment, ours.objective if ours is not None else None)
        digits = {"qp": 5, "water": 2, "pooling": 4}[family]
        shown = (formats.NOTHING if value is None else f"{value:.{digits}f}" for value in printed)
        rows.append([formats.size_name(experiment, size), *shown, own, ", ".join(npi) or formats.NOTHING])
    return table(head, rows)


def _paper_name(method: str) -> str:
    return "DCEmbed" if method == "shared" else METHODS[method].label


def _detail(sweep: Sweep, size: str) -> str:
    cells = [cell for m in sweep.methods if (cell := sweep.cells.get((size, m))) is not None]
    has_gap, has_bound = any(cell.gap is not None for cell in cells), any(cell.bound is not None for cell in cells)
    head = ["method", "trials", "limit, s", "ended", "first feasible, s", "to 1 %, s", "to 0.1 %, s", "objective"]
    head += [*(["off the optimum, %"] if has_gap else []), *(["bound", "proved gap, %"] if has_bound else [])]
    head += ["memory, MiB", "preparation, s", "processor s / s", "added columns", "rows", "binaries", "points rejected"]
    return table(head, [_detail_row(sweep, cell, has_gap, has_bound) for cell in cells])


def _detail_row(sweep: Sweep, cell: Cell, has_gap: bool, has_bound: bool) -> list[str]:
    return [
        METHODS[cell.method].label,
        str(len(cell.records)),
        *_limits_and_ends(cell),
        *(formats.seconds(value) for value in (cell.first_feasible, cell.to_percent, cell.to_permille)),
        _objective_range(sweep, cell),
        *([formats.NOTHING if cell.gap is None else f"{cell.gap:.3f}"] if has_gap else []),
        *([formats.objective(sweep.experiment, cell.bound), formats.number(cell.proved)] if has_bound else []),
        f"{cell.memory:,.0f}",
        f"{cell.preparation:.1f}",
        formats.NOTHING if cell.load is None else f"{cell.load:.2f}",
        *(formats.NOTHING if value is None else f"{value:,}" for value in cell.added),
        str(cell.num_rejected),
    ]


def _limits_and_ends(cell: Cell) -> tuple[str, str]:
    """The time limits of the runs of a cell, and how they ended."""
    limits = sorted({record.time_limit for record in cell.records})
    ends = dict.fromkeys(record.status.replace("_", " ") for record in cell.records)
    return " ".join(f"{limit:g}" for limit in limits), ", ".join(ends)


def _objective_range(sweep: Sweep, cell: Cell) -> str:
    """The mean, with the range over the trials."""
    middle = formats.objective(sweep.experiment, cell.objective)
    ends = [formats.objective(sweep.experiment, end(cell.objectives)) for end in (min, max)] if cell.objectives else []
    return middle if len(set(ends)) < 2 else f"{middle}<br><sub>{' to '.join(sorted(ends, key=float))}</sub>"
