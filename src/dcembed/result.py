"""What a run returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.verify import NO_POINT, Verification, Violation, measure, verify
from dcembed.errors import InputError, NoSolutionError
from dcembed.gap import relative_gap, show_gap
from dcembed.plot import draw_run
from dcembed.program.program import Program
from dcembed.saving.archive import check_target, write_archive
from dcembed.saving.packed import Packed, joined
from dcembed.saving.plain import pack_plain, pack_table
from dcembed.saving.problem import fingerprint, pack_problem
from dcembed.status import Status, help_for
from dcembed.support.lifting import lift_problem
from dcembed.tables import build_frame, columns_table, name_columns
from dcembed.words import PYTHON, Words

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from dcembed.prices.prices import Prices
    from dcembed.support.report import SupportReport

# A violation below this is shown as such.
NOISE = 1e-9


@dataclass(frozen=True)
class Iteration:
    """One subproblem.

    Parameters
    ----------
    start
        Which starting point, counted from 0.
    number
        Which subproblem from that start, counted from 1.
    seconds
        Time since the run began.
    objective, violation
        F and V of the candidate, measured; NaN and inf where the solver returned none.
    merit
        F + tau * (sum of the violations of the neural rows), the penalized true objective of the candidate; of a maximization the
        negative of F is meant, so that less is better.
    point_merit
        The same of the point that the subproblem was built around; it never increases at a fixed penalty.
    penalty
        tau of this subproblem; inf where no slack was allowed at all.
    step
        Largest change of a column from the last point.
    solver_status
        The solver's own words.
    is_incumbent
        Whether the best feasible point has improved since the last iteration: by the candidate, its completion, or a point met on the way.
    kind
        Which step it was: "tangent" on the plain tangents, "bundle" on the cutting-plane model; empty for methods with one kind of step.
    best
        Objective of the best feasible point so far, in the sense of the program; NaN before there is one.
    point
        All columns at the best feasible point so far; None before there is one, and later where it is left out of `incumbent_points`.
    origin
        What its start comes from: "given", "host", "scout", "columns", or a move from points that were found before ("perturbation", "opposite",
        "crossover", "relaxation", "blocks", "exchange"); empty for methods that do not tell.
    """

    start: int
    number: int
    seconds: float
    objective: float
    violation: float
    merit: float
    point_merit: float
    penalty: float
    step: float
    solver_status: str
    is_incumbent: bool
    kind: str = ""
    best: float = np.nan
    point: Array | None = field(default=None, compare=False, repr=False)
    origin: str = ""


@dataclass(frozen=True)
class Sizes:
    """Columns, rows and binaries of a subproblem beside those of the host."""

    host_columns: int
    host_rows: int
    integers: int
    networks: int
    evaluations: int
    hidden_units: int
    neural_rows: int
    added_columns: int
    added_rows: int
    slacks: int
    added_binaries: int = 0
    blocks: int = 0
    links: int = 0
    # Rows that were read as indicators, and rows of the host that neural rows behind a binary imply.
    switches: int = 0
    implied_rows: int = 0


@dataclass(frozen=True, eq=False)
class Result:
    """The best point of a run, measured against the problem itself.

    Parameters
    ----------
    status
        Why the run ended; `status.help` says what it means.
    x
        Values of all columns, predictions included; None if no point was found.
    objective
        F at x, recomputed in float64; NaN without a point.
    violation
        V at x, the largest violation of any constraint, recomputed; inf without a point.
    is_feasible
        violation <= feasibility_tol.
    bound
        A certified bound: no feasible point is better. Below the objective of a minimization and -inf where nothing is known, above that
        of a maximization and inf where nothing is known; the other infinity where it is proved that there is no feasible point.
    bounds
        (seconds, bound) whenever a better bound was certified.
    agreement, num_starts
        How many starts ended within 0.1 % of the best feasible objective, 0 without a feasible point, and how many were made. This proves
        nothing, but a best point that most starts meet is seldom beaten. Starts that are made from good points agree with nothing.
    incumbents
        (seconds, objective) of every improving feasible point.
    incumbent_points
        All columns at each of the `incumbents`, so that anyone can measure them again. Where all would take more than 200 MB, some are left
        out, evenly, and None is in their places; the first and the last are always there.
    origins
        What brought each of the `incumbents`: the kind of its start, see `Iteration.origin`.
    history
        One `Iteration` per subproblem.
    seconds
        Time of the whole run.
    solver
        Backend of the subproblems.
    sizes
        What the problem has and what was added to it.
    program, embeddings, feasibility_tol
        What the point was measured against.
    gap_tol
        The gap at which the run would call its point optimal.
    reason
        Why the run made no further start, in words; empty where a method has none to tell.
    notes
        What happened on the way that a person should know: solvers that failed or were changed, memory that ran out.
    preparation_seconds
        Time spent before the clock of the run was started, on what is kept for later runs (bound tightening); not in `seconds`.
    words
        How things are called in the tool that the problem was written in.
    """

    status: Status
    x: Array | None
    objective: float
    violation: float
    is_feasible: bool
    incumbents: list[tuple[float, float]]
    incumbent_points: list[Array | None] = field(default_factory=list, kw_only=True)
    origins: list[str] = field(default_factory=list, kw_only=True)
    bound: float = field(kw_only=True)
    bounds: list[tuple[float, float]] = field(default_factory=list, kw_only=True)
    agreement: int = field(default=0, kw_only=True)
    num_starts: int = field(default=0, kw_only=True)
    gap_tol: float = field(default=1e-4, kw_only=True)
    history: list[Iteration]
    seconds: float
    solver: str
    sizes: Sizes
    program: Program
    embeddings: Sequence[Embedding]
    feasibility_tol: float
    preparation_seconds: float = 0.0
    reason: str = ""
    notes: tuple[str, ...] = ()
    words: Words = field(default=PYTHON, kw_only=True)

    def save(self, path: str | Path) -> None:
        """Write everything to an .npz file, the problem included, which `dcembed.load_result` reads back.

        Arrays and text are in it, nothing is pickled. The file is written whole or not at all. `solve(..., start=result)` goes on from it.

        Parameters
        ----------
        path
            Ends with .npz; its folder must be there. A file of that name is replaced.

        Raises
        ------
        InputError
            If it cannot be written, or a network has an activation of your own, which no file can keep.

        Examples
        --------
        >>> import tempfile
        >>> import dcembed
        >>> hat = dcembed.build_mlp([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -1.0], None])
        >>> program = dcembed.Program(cost=[0.0, 1.0], lb=[0.0, -9.0], ub=[3.0, 9.0], maximize=True)
        >>> result = dcembed.solve(program, dcembed.Embedding(hat, [0], [1]), options={"verbose": False})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.save(f"{folder}/hat.npz")
        ...     again = dcembed.load_result(f"{folder}/hat.npz")
        >>> again.objective == result.objective, again.program
        (True, Program(2 columns, 0 rows))
        """
        target = check_target(path, "Result.save")
        problem = pack_problem(self.program, self.embeddings, "Result.save")
        write_archive(target, joined(problem, pack_run(self, fingerprint(self.program, self.embeddings))))

    def verify(self) -> Verification:
        """Measure x again, constraint kind by constraint kind."""
        if self.x is None:
            return NO_POINT
        return verify(self.program, self.embeddings, self.x)

    @property
    def gap(self) -> float:
        """How much better than x, relative to |objective|, a feasible point could be by the bound; inf where nothing is known, never NaN."""
        return relative_gap(self.objective, self.bound, self.program.sense) if self.is_feasible else np.inf

    @property
    def help(self) -> str:
        """What the status means and what to do next, in the words of the tool that the problem was written in."""
        return help_for(self.status, self.words, self.x is not None, self.is_feasible, bool(np.isfinite(self.bound)))

    @cached_property
    def prices(self) -> Prices:
        """What one more unit of every limit would add to the objective here: local multipliers of rows, bounds and predictions, by name.

        They come from the tangents at x, with the integers held; see `Prices` for what they mean and do not mean.

        Raises
        ------
        NoSolutionError
            Where there is no feasible point.

        Examples
        --------
        The hat rises to 1 at x = 1, and x is held below that: one more unit of x would bring 1 - 0.25.

        >>> import dcembed
        >>> hat = dcembed.build_mlp([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -1.0], None])
        >>> rows = {"rows": [[1.0, 0.0]], "row_ub": 0.6, "row_names": ["budget"]}
        >>> program = dcembed.Program(cost=[-0.25, 1.0], lb=[0.0, -9.0], ub=[3.0, 9.0], maximize=True, **rows)
        >>> result = dcembed.solve(program, dcembed.Embedding(hat, [0], [1]), options={"verbose": False})
        >>> round(result.prices.by_name["budget"], 6)
        0.75
        """
        if self.x is None or not self.is_feasible:
            raise NoSolutionError(f"prices: they are those of a feasible point, and the run has found none ({self.status.name}).")
        # scipy.optimize takes as long to import as a small problem to solve.
        from dcembed.prices.prices import find_prices

        # Regions that bind have prices, too, and without them those of the rows would not explain the point.
        lift = lift_problem(self.program, self.embeddings)
        return find_prices(lift.program, lift.embeddings, lift.complete(self.x)).of(self.program)

    @cached_property
    def support(self) -> SupportReport | None:
        """Where the inputs of every evaluation are among the data that was given by `dcembed.support`, and how sure the networks are there.

        Distances from box, hull, ellipsoid and nearest points of the data, the spread of ensembles, and the error of the network nearby where
        targets were given. None where no embedding has data nor is an ensemble, or without a point.

        Examples
        --------
        >>> import dcembed, numpy as np
        >>> hat = dcembed.build_mlp([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -1.0], None])
        >>> region = dcembed.support(np.linspace(0.0, 0.8, 41)[:, None], "box")
        >>> program = dcembed.Program(cost=[0.0, 1.0], lb=[0.0, -9.0], ub=[3.0, 9.0], maximize=True)
        >>> result = dcembed.solve(program, dcembed.Embedding(hat, [0], [1], support=region), options={"verbose": False})
        >>> print(round(result.objective, 6), result.support)
        0.8 inside box, hull and ellipsoid of the data, data 0.38 away (usually 0.21)
        """
        if self.x is None or not np.isfinite(self.x).all():
            return None
        from dcembed.support.report import report_support

        return report_support(self.program, self.embeddings, self.x)

    @property
    def worst_violations(self) -> tuple[Violation, ...]:
        """The three most violated constraints at x by the user's names, worst first; none where all hold exactly."""
        return self.verify().worst

    @property
    def by_name(self) -> dict[str, float]:
        """The value of every column by its name; columns without a name are x0, x1, ... by their numbers. Empty without a point."""
        return {} if self.x is None else dict(zip(name_columns(self.program), self.x.tolist(), strict=True))

    def to_frame(self, what: Literal["columns", "incumbents", "bounds", "history", "support"] = "columns") -> pandas.DataFrame:
        """A pandas DataFrame.

        Parameters
        ----------
        what
            "columns": value, bounds and kind (continuous, integer, prediction) of every column, by name. "incumbents": seconds, objective and origin
            of every improving point. "bounds": seconds and value of every better bound. "history": every step of the run.
            "support": where the inputs of every evaluation are among the data, see `support`.

        Raises
        ------
        MissingPackageError
            Where pandas is not installed.
        """
        if what == "columns":
            return build_frame(columns_table(self.program, self.embeddings, self.x), name_columns(self.program), "column")
        if what == "incumbents":
            seconds, objectives = np.array(self.incumbents, dtype=np.float64).reshape(-1, 2).T
            return build_frame({"seconds": seconds, "objective": objectives, "origin": self.origins or [""] * seconds.size})
        if what == "bounds":
            seconds, bounds = np.array(self.bounds, dtype=np.float64).reshape(-1, 2).T
            return build_frame({"seconds": seconds, "bound": bounds})
        if what == "history":
            names = [each.name for each in fields(Iteration) if each.name != "point"]
            return build_frame({name: [getattr(record, name) for record in self.history] for name in names})
        if what == "support":
            if self.support is None:
                raise InputError(
                    "Result.to_frame: there is no data to compare with. Embed with support=dcembed.support(data, ...), or an ensemble."
                )
            return self.support.to_frame()
        raise InputError(f"Result.to_frame: {what!r} is not known. Accepted: 'columns', 'incumbents', 'bounds', 'history', 'support'.")

    def plot(self, title: str = "", what: Literal["run", "support"] = "run", axes: Any = None) -> Figure:
        """The run, or the answer among the data, as a matplotlib figure; a notebook shows it.

        `figure.savefig("run.png")` writes it. MissingPackageError where matplotlib is not installed.

        Parameters
        ----------
        title
            A line above the picture.
        what
            "run": objective and bound over time, and the violation of every candidate. "support": the inputs among the data of each region.
        axes
            Of "support": two inputs by names or numbers; the principal axes of the data by default.
        """
        if what == "run":
            return draw_run(self, title)
        if what != "support":
            raise InputError(f"Result.plot: {what!r} is not known. Accepted: 'run', 'support'.")
        if self.x is None:
            raise NoSolutionError(f"plot: there is no point to show among the data ({self.status.name}).")
        from dcembed.plot.data import draw_data

        return draw_data(self.embeddings, self.x, axes, title)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        *lines, words = self.summary().splitlines()
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(text[:12].strip())}</th><td>{escape(text[12:])}</td></tr>" for text in lines
        )
        return f"<table>{rows}</table><p>{escape(words)}</p>"

    def summary(self) -> str:
        """A few lines for a person."""
        if self.x is None:
            point = "no point found"
        else:
            kind = "feasible" if self.is_feasible else "NOT feasible"
            point = (
                f"objective {self.objective:.9g}, violation {show_violation(self.violation)} ({kind}, tolerance {self.feasibility_tol:.2g})"
            )
        lines = [
            f"Status      {self.status.name}",
            f"Point       {point}",
            f"Work        {show_count(len(self.history), 'subproblem')} on {self.solver}, {self.seconds:.2f} s, {show_count(len(self.incumbents), 'improving point')}",
        ]
        if np.isfinite(self.bound):
            lines.insert(2, f"Bound       {self.bound:.9g}" + (f", gap {show_gap(self.gap)}" if self.is_feasible else ""))
        if self.reason:
            lines.append(f"Ended       {self.reason}")
        if self.agreement and self.num_starts > 1:
            lines.append(f"Agreement   {self.agreement} of {self.num_starts} starts within 0.1 % of the best")
        if self.x is not None and not self.is_feasible:
            lines.append("Violated    " + "; ".join(map(str, self.worst_violations)))
        if self.support is not None:
            lines.append(f"Support     {self.support}")
        if self.incumbents:
            lines.append(f"Best found  after {self.incumbents[-1][0]:.2f} s" + self._brought())
        return "\n".join([*lines, self.help])

    def _brought(self) -> str:
        """What brought the best point, and how many improving points each kind of start has."""
        if not any(self.origins):
            return ""
        counts = Counter(self.origins)
        shares = ", ".join(f"{name or 'others'} {number}" for name, number in counts.most_common())
        return f", by {self.origins[-1] or 'others'} (improving points: {shares})"

    def __repr__(self) -> str:
        gap = f"gap={show_gap(self.gap)}, " if np.isfinite(self.gap) else ""
        return f"Result({self.status.name}, objective={self.objective:.9g}, violation={show_violation(self.violation)}, {gap}{self.seconds:.2f} s)"


def show_violation(violation: float) -> str:
    """A violation for a person: what is below 1e-9 is what float64 makes of a sum, and need not be read digit by digit.

    Examples
    --------
    >>> show_violation(0.0), show_violation(3.1e-15), show_violation(0.25)
    ('0', '<1e-9', '0.25')
    """
    return "<1e-9" if 0.0 < violation < NOISE else f"{violation:.2g}"


def show_count(number: int, thing: str, things: str = "") -> str:
    """So many things, or one.

    Examples
    --------
    >>> show_count(1, "row"), show_count(2_000, "row"), show_count(3, "box", "boxes")
    ('1 row', '2,000 rows', '3 boxes')
    """
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def build_result(
    status: Status,
    x: Array | None,
    program: Program,
    embeddings: Sequence[Embedding],
    feasibility_tol: float,
    bound: float | None = None,
    **rest: Any,
) -> Result:
    """A result whose objective and violation are measured here, from the problem alone; without a `bound` none is known."""
    measured = measure(program, embeddings, x, with_names=False) if x is not None else None
    violation = measured.violation if measured else np.inf
    if status is Status.OPTIMAL and not violation <= feasibility_tol:
        # A solver's proof is about another problem than the user's if its point is not feasible there.
        status = Status.NUMERICAL_ERROR
    return Result(
        status=status,
        x=x,
        objective=measured.objective if measured else np.nan,
        violation=violation,
        is_feasible=violation <= feasibility_tol,
        bound=-program.sense * np.inf if bound is None else bound,
        program=program,
        embeddings=embeddings,
        feasibility_tol=feasibility_tol,
        **rest,
    )


def pack_run(result: Result, about: str) -> Packed:
    """All that a result has beside its problem, whose fingerprint is `about`. Points that are there several times are kept once."""
    met = [result.x, *result.incumbent_points, *(record.point for record in result.history)]
    distinct = {id(point): point for point in met if point is not None}
    place = {key: number for number, key in enumerate(distinct)}
    numbers = np.array([-1 if point is None else place[id(point)] for point in met], dtype=np.int64)
    end = 1 + len(result.incumbent_points)
    arrays: dict[str, Array] = {
        "x": numbers[:1],
        "incumbent_points": numbers[1:end],
        "history_points": numbers[end:],
        "incumbents": np.array(result.incumbents, dtype=np.float64).reshape(-1, 2),
        "bounds": np.array(result.bounds, dtype=np.float64).reshape(-1, 2),
        **{f"point{number}": point for number, point in enumerate(distinct.values())},
    }
    record = {**pack_plain(result), "status": result.status.name, "sizes": pack_plain(result.sizes), "problem": about}
    return joined(Packed(arrays, record), pack_table(result.history, Iteration).within("history")).within("run")
