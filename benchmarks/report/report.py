"""The report: one Markdown page with its pictures, made of the records alone."""

from __future__ import annotations

from pathlib import Path

from benchmarks.harness.metrics import references, with_starts
from benchmarks.harness.records import FAILURES, Record, read_records
from benchmarks.methods.table import METHODS
from benchmarks.report import charts, paper_figures
from benchmarks.report.comparison import OURS, Cell, Sweep, choose_records, compare
from benchmarks.report.markdown import folded, heading, listing, page, picture, table

TITLE = "dcembed against other methods"
NOTHING = "-"
FEWER = "\u2020"


def write_report(path: Path, folder: Path, time_limit: float | None = None) -> Path:
    """Write report.md and the pictures beside it; returns the page."""
    everything = with_starts(read_records(path))
    if not everything:
        raise SystemExit(f"There are no records in {path.name}. Make some first: python -m benchmarks run --short")
    records, limit = choose_records(everything, time_limit)
    sweeps = compare(records, references(everything))
    if not sweeps:
        raise SystemExit(f"There are no records with a time limit of {limit:g} s. Leave --time-limit out to take what is there.")
    folder.mkdir(parents=True, exist_ok=True)
    blocks = [*_opening(sweeps, records, limit), *_pictures(sweeps, folder)]
    for sweep in sweeps:
        blocks += _section(sweep)
    blocks += _closing(records)
    target = folder / "report.md"
    target.write_text(page(blocks), encoding="utf-8")
    return target


def _opening(sweeps: list[Sweep], records: list[Record], limit: float) -> list[str]:
    return [
        heading(TITLE, 1),
        (
            f"Every method gets the same problem, network and starts, one thread and {limit:g} seconds. Each run has a process of its own. "
            "Every point counts only after the harness has measured it (integers rounded, predictions recomputed, all constraints to 1e-5)."
        ),
        (
            "**NPI** is the normalized primal integral in percent: 100/T times the integral of (J_best(t) - J_ref) / (J_0 - J_ref). J_ref is the "
            "best feasible objective of any method here, or the optimum where it was enumerated; J_0 is the objective of the start (pooling: "
            "of building nothing). Every method is credited with the best start from second zero; 100 is no progress, 0 is perfect. A run "
            "that crashed or was killed counts as one that stayed at the start."
        ),
        heading("In short"),
        listing(_findings(sweeps)),
        _lead_table(sweeps),
        (
            "The second best is the method whose NPI is next to that of dcembed, of those that were run on the most trials. **Ahead from** "
            "is the second from which dcembed had a better point than any other method to the end, in every trial; level or behind where "
            "another one ends with the same objective or a better one in some trial."
        ),
    ]


def _lead_table(sweeps: list[Sweep]) -> str:
    """Size by size: dcembed, the second best, how many times as high, and since when."""
    rows = []
    for sweep in sweeps:
        for lead in filter(None, map(sweep.lead, sweep.sizes)):
            ahead = {None: "level", float("inf"): "behind"}.get(lead.ahead_from) or f"{lead.ahead_from:.1f} s"
            second = METHODS[lead.other].label if lead.has_rival else "all at the start"
            name = f"{sweep.experiment.title}, {_size(sweep, lead.size)}"
            num_trials = str(len(sweep.shared_trials(lead.size, lead.other)))
            rows.append([name, num_trials, _number(lead.ours), second, _number(lead.theirs), _times(lead.ratio), ahead])
    return table(["instance", "trials", "dcembed, NPI %", "second best", "its NPI %", "as high", "ahead from"], rows)


def _findings(sweeps: list[Sweep]) -> list[str]:
    """Where dcembed is the best and by how much, and plainly where it is not."""
    lost, won = [], []
    for sweep in sweeps:
        title = sweep.experiment.title
        leads, num_compared = [], sum(sweep.lead(size) is not None for size in sweep.sizes)
        for size in sweep.sizes:
            ours, best, lead = sweep.cells.get((size, OURS)), sweep.best(size), sweep.lead(size)
            if ours is None or ours.npi is None:
                lost.append(f"{title}, {size}: dcembed has no run here.")
            elif lead is not None and best == OURS:
                leads.append(lead)
            elif lead is not None:
                lost.append(
                    f"**{title}, {size}: dcembed is not the best.** {METHODS[lead.other].label} has an NPI of {_percent(lead.theirs)}, "
                    f"dcembed {_percent(lead.ours)}."
                )
        if leads:
            least, most = min(leads, key=lambda lead: lead.ratio), max(leads, key=lambda lead: lead.ratio)
            won.append(
                f"{title}: lowest NPI on {len(leads)} of {num_compared} sizes; the second best is {_times(least.ratio)} as high at the "
                f"closest ({least.size}, {METHODS[least.other].label}) and {_times(most.ratio)} at the furthest "
                f"({most.size}, {METHODS[most.other].label})."
            )
    licences = sorted({METHODS[m].label for sweep in sweeps for (_, m), cell in sweep.cells.items() if "licence" in cell.failures})
    unknown = (
        [f"{', '.join(licences)} could not be run everywhere: the licence found is too small (see the list at the end)."]
        if licences
        else []
    )
    return [*won, *(lost or ["There is no size on which another method that could be run has a lower NPI than dcembed."]), *unknown]


def _pictures(sweeps: list[Sweep], folder: Path) -> list[str]:
    return [
        picture(
            charts.draw_npi(sweeps, folder),
            "NPI against size, mean over the trials that a method was run on; the shade spans them, dotted lines lead to names.",
        ),
        picture(
            charts.draw_trajectories(sweeps, folder),
            "Gap closed over time on the largest size that the most methods were run on, mean over the trials that all of them have.",
        ),
        picture(
            charts.draw_speed_up(sweeps, folder),
            "How many times sooner dcembed has a point as good as the best one of each other method. A triangle at the foot: never. "
            "Methods that did not improve on the start are not shown.",
        ),
    ]


def _section(sweep: Sweep) -> list[str]:
    head = [sweep.experiment.axis, *(METHODS[method].label for method in sweep.methods)]
    blocks: list[str] = [heading(sweep.experiment.title)]
    reasons = [
        f"{METHODS[m].label}: {why[sweep.experiment.family]}" for m in METHODS if sweep.experiment.family in (why := METHODS[m].why_not)
    ]
    if reasons:
        blocks.append("Not run here: " + "; ".join(reasons) + ".")
    blocks += [heading("NPI, percent", 3), table(head, [[_size(sweep, s), *_npi_cells(sweep, s)] for s in sweep.sizes])]
    blocks += [heading(_objective_title(sweep), 3), table(head, [[_size(sweep, s), *_objective_cells(sweep, s)] for s in sweep.sizes])]
    if any(_has_fewer_trials(sweep, s, m) for s in sweep.sizes for m in sweep.methods):
        blocks.append(f"{FEWER} the mean over fewer trials than those of dcembed; it is compared with dcembed on these alone.")
    paper = _paper_table(sweep)
    if paper is not None:
        blocks += [heading("What the paper prints", 3), PAPER_NOTE, paper]
    blocks.append(heading("In detail", 3))
    blocks += [folded(f"{sweep.experiment.axis}: {_size(sweep, size)}", [_detail(sweep, size)]) for size in sweep.sizes]
    return blocks


PAPER_NOTE = (
    "Its own networks, machine and solver (Gurobi), 180 s; its method is `shared` here. The QP's bound mu and the water classifier are not "
    "published, so that objectives of these two are not comparable with ours one by one, only their order."
)


def _has_fewer_trials(sweep: Sweep, size: str, method: str) -> bool:
    ours, other = sweep.cells.get((size, OURS)), sweep.cells.get((size, method))
    return ours is not None and other is not None and other.npi is not None and len(other.npi_of_trial) < len(ours.npi_of_trial)


def _npi_cells(sweep: Sweep, size: str) -> list[str]:
    best = sweep.best(size)
    cells = []
    for method in sweep.methods:
        cell = sweep.cells.get((size, method))
        text = NOTHING if cell is None else cell.failures if cell.npi is None else _number(cell.npi)
        if cell is not None and cell.npi is not None and cell.failures:
            text += f" ({cell.failures})"
        text += f" {FEWER}" if _has_fewer_trials(sweep, size, method) else ""
        cells.append(f"**{text}**" if method == best else text)
    return cells


def _objective_cells(sweep: Sweep, size: str) -> list[str]:
    values = {m: cell.objective for m in sweep.methods if (cell := sweep.cells.get((size, m))) is not None and cell.objective is not None}
    # Means over other trials are not compared with these.
    best = min((value for m, value in values.items() if not _has_fewer_trials(sweep, size, m)), default=None)
    shown = []
    for method in sweep.methods:
        value = values.get(method)
        text = NOTHING if value is None else _objective(sweep, value)
        if value is not None and _has_fewer_trials(sweep, size, method):
            shown.append(f"{text} {FEWER}")
        else:
            shown.append(f"**{text}**" if value is not None and text == _objective(sweep, best) else text)
    return shown


def _paper_table(sweep: Sweep) -> str | None:
    """Final objectives and NPI of the paper beside ours, for the sizes that both have."""
    family = sweep.experiment.family
    methods = list(dict.fromkeys(m for f, s, m in paper_figures.OBJECTIVES if f == family))
    sizes = [size for size in sweep.sizes if any((family, size, m) in paper_figures.OBJECTIVES for m in methods)]
    if not sizes:
        return None
    head = [
        sweep.experiment.axis,
        *(f"{'DCEmbed' if m == 'shared' else METHODS[m].label} (paper)" for m in methods),
        "dcembed here",
        "NPI (paper)",
    ]
    rows = []
    for size in sizes:
        printed = [paper_figures.OBJECTIVES.get((family, size, m)) for m in methods]
        ours = sweep.cells.get((size, OURS))
        npi = [
            f"{'DCEmbed' if m == 'shared' else METHODS[m].label} {value:g}"
            for m in methods
            if (value := paper_figures.NPI.get((family, size, m))) is not None
        ]
        own = _objective(sweep, ours.objective) if ours is not None and ours.objective is not None else NOTHING
        digits = {"qp": 5, "water": 2, "pooling": 4}[family]
        rows.append([_size(sweep, size), *(NOTHING if v is None else f"{v:.{digits}f}" for v in printed), own, ", ".join(npi) or NOTHING])
    return table(head, rows)


def _detail(sweep: Sweep, size: str) -> str:
    has_gap = any(cell.gap is not None for (s, _), cell in sweep.cells.items() if s == size)
    head = ["method", "ended", "NPI, %", "first feasible, s", "to 1 %, s", "to 0.1 %, s", "objective", *(["gap, %"] if has_gap else [])]
    head += ["memory, MiB", "preparation, s", "added columns", "rows", "binaries", "points rejected"]
    rows = [_detail_row(sweep, cell, has_gap) for m in sweep.methods if (cell := sweep.cells.get((size, m))) is not None]
    return table(head, rows)


def _detail_row(sweep: Sweep, cell: Cell, has_gap: bool) -> list[str]:
    statuses = ", ".join(dict.fromkeys(record.status.replace("_", " ") for record in cell.records))
    return [
        METHODS[cell.method].label,
        statuses,
        NOTHING if cell.npi is None else _number(cell.npi),
        *(_seconds(value) for value in (cell.first_feasible, cell.to_percent, cell.to_permille)),
        NOTHING if cell.objective is None else _objective(sweep, cell.objective),
        *([NOTHING if cell.gap is None else f"{cell.gap:.3f}"] if has_gap else []),
        f"{cell.memory:,.0f}",
        f"{cell.preparation:.1f}",
        *(NOTHING if value is None else f"{value:,}" for value in cell.added),
        str(cell.num_rejected),
    ]


def _closing(records: list[Record]) -> list[str]:
    failed = [
        f"{r.experiment} {r.size} trial {r.trial}, {METHODS[r.method].label}: {r.status}. {r.note}"
        for r in records
        if r.status in (*FAILURES, "licence")
    ]
    return [
        heading("Runs that failed or did not fit a licence"),
        folded(f"{len(failed)} runs", [listing(failed)]) if failed else "None.",
        heading("How this was made"),
        listing(
            [f"`{command}`" for command in dict.fromkeys(record.command for record in records) if command]
            + ["`python -m benchmarks report`"]
        ),
        listing(list(dict.fromkeys(text for record in records for text in (record.machine, record.versions) if text))),
        "The methods:",
        listing([f"**{METHODS[m].label}**: {METHODS[m].about}" for m in METHODS if any(record.method == m for record in records)]),
    ]


def _size(sweep: Sweep, size: str) -> str:
    number = f"{sweep.experiment.order(size):,}"
    return f"{number} (m = {size})" if sweep.experiment.family == "pooling" else f"{number} ({size})" if "x" in size else number


def _objective_title(sweep: Sweep) -> str:
    return {"qp": "Objective (lower is better)", "water": "Samples made potable", "pooling": "Profit (higher is better)"}[
        sweep.experiment.family
    ]


def _objective(sweep: Sweep, value: float) -> str:
    digits = {"qp": 6, "water": 2, "pooling": 4}[sweep.experiment.family]
    return f"{sweep.experiment.sign * value + 0.0:.{digits}f}"


def _number(value: float) -> str:
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{_number(value)} %"


def _seconds(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def _times(ratio: float) -> str:
    return f"{ratio:,.1f} times" if ratio < 100 else f"{ratio:,.0f} times"
