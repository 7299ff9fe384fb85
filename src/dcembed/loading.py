"""`dcembed.load_result`: a result from its file, measured again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.errors import InputError
from dcembed.importers.archives import DAMAGES
from dcembed.program.program import Program
from dcembed.reading import as_path
from dcembed.result import Iteration, Result, Sizes, build_result
from dcembed.saving.archive import damaged, latest_beside, read_archive
from dcembed.saving.packed import Packed
from dcembed.saving.plain import unpack_plain, unpack_table
from dcembed.saving.problem import fingerprint, unpack_problem
from dcembed.status import Status

# An objective that differs from what a file says by no more, relatively, is the same: other machines round otherwise.
SAME = 1e-6
# Statuses that say of the point that it is feasible, and those that say that none was found.
FEASIBLE = (Status.OPTIMAL, Status.LOCALLY_SOLVED)
WITHOUT = (Status.INFEASIBLE, Status.HOST_INFEASIBLE, Status.OUTSIDE_SUPPORT, Status.LOCALLY_INFEASIBLE)


def load_result(path: str | Path) -> Result:
    """Read a result that `Result.save` or `Options(checkpoint=...)` has written, with its program and its networks.

    The point is measured again from them: `objective`, `violation` and `is_feasible` are never what the file says, and a status that the
    point does not bear out is changed. What cannot be measured, the bound above all, is reported as it is in the file: trust it as far as
    you trust the file.

    Parameters
    ----------
    path
        An .npz file. Beside the checkpoint of a run that was killed there may be a newer point, which is read as well.

    Raises
    ------
    InputError
        If the file is damaged, or something else than a saved result.

    Examples
    --------
    >>> import dcembed
    >>> dcembed.load_result("nowhere.npz")
    Traceback (most recent call last):
    dcembed.errors.InputError: There is no file nowhere.npz. Check the path; it is relative to ...
    """
    target = as_path(path, "load_result: path")
    packed = read_archive(target)
    try:
        with np.errstate(all="ignore"):
            program, embeddings = unpack_problem(packed, target)
            runs = [packed, *_beside(target, fingerprint(program, embeddings))]
            return _best([_unpack_run(run, program, embeddings) for run in runs])
    except DAMAGES as error:
        raise damaged(target, error) from error


def load_earlier(path: Path, program: Program, embeddings: Sequence[Embedding]) -> Result | None:
    """What an earlier run on this very problem has left in a file; None if the file is about another problem."""
    packed = read_archive(path, lambda name: name.startswith("run."))
    try:
        about = fingerprint(program, embeddings)
        if packed.part("run").record.get("problem") != about:
            return None
        with np.errstate(all="ignore"):
            return _best([_unpack_run(run, program, embeddings) for run in (packed, *_beside(path, about))])
    except DAMAGES as error:
        raise damaged(path, error) from error


def rank(result: Result) -> tuple[int, float]:
    """Less for a better point: feasible ones by what is minimized, then others by their violation, then none."""
    if result.x is None:
        return 2, 0.0
    return (0, result.program.sense * result.objective) if result.is_feasible else (1, result.violation)


def _beside(path: Path, about: str) -> list[Packed]:
    """What a run that was killed has written beside its file since; it is about the same problem, or not looked at."""
    latest = latest_beside(path)
    if not latest.is_file():
        return []
    try:
        packed = read_archive(latest)
        return [packed] if packed.part("run").record.get("problem") == about else []
    except (InputError, ValueError):
        # The file itself is whole, and what is beside it is only newer.
        return []


def _best(results: list[Result]) -> Result:
    """The best point of results about one problem, the last one of equals, with the best bound."""
    sense = results[0].program.sense
    best = min(reversed(results), key=rank)
    bounded = max(reversed(results), key=lambda result: sense * result.bound)
    if bounded is best or bounded.bound == best.bound:
        return best
    return replace(best, bound=bounded.bound, bounds=bounded.bounds)


def _unpack_run(packed: Packed, program: Program, embeddings: Sequence[Embedding]) -> Result:
    """The result in a file, about a problem; the point is measured."""
    run = packed.part("run")
    plain = unpack_plain(Result, run.record, "result")
    said = plain.pop("objective"), plain.pop("bound")
    for name in ("violation", "is_feasible"):
        plain.pop(name)
    tolerance = plain.pop("feasibility_tol")
    if not 0 < tolerance < np.inf or np.isnan(said[1]):
        raise ValueError(f"its tolerance is {tolerance} and its bound {said[1]}")
    points = _unpack_points(run, program.num_columns)
    rest: dict[str, Any] = {
        "sizes": Sizes(**unpack_plain(Sizes, run.record["sizes"], "sizes")),
        "history": _unpack_history(run, points),
        "bounds": _pairs(run, "bounds"),
        "incumbents": _pairs(run, "incumbents"),
        "incumbent_points": [points[place] for place in run.whole("incumbent_points", len(points))],
        **plain,
    }
    if len(rest["incumbents"]) != len(rest["incumbent_points"]):
        raise ValueError("its improving points are not as many as their objectives")
    status, x = Status[str(run.record["status"])], _one_of(points, run.numbers("x", "i"))
    return _borne_out(build_result(status, x, program, embeddings, tolerance, said[1], **rest), status, said[0])


def _borne_out(result: Result, status: Status, objective: float) -> Result:
    """The result with a status that its point, as measured, does not contradict; what differs from the file is noted."""
    notes = list(result.notes)
    if result.x is not None and not isclose(objective, result.objective, rel_tol=SAME, abs_tol=SAME):
        notes.append(f"load_result: the file says that the objective is {objective:.9g}; measured, it is {result.objective:.9g}.")
    true = _true_status(result, status)
    if true is not status:
        notes.append(f"load_result: the file says {status.name}, which the point does not bear out as it is measured.")
    return replace(result, status=true, notes=tuple(notes))


def _true_status(result: Result, status: Status) -> Status:
    if (status in FEASIBLE and not result.is_feasible) or (status in WITHOUT and result.is_feasible):
        return Status.NUMERICAL_ERROR
    if status is Status.OPTIMAL and not result.gap <= result.gap_tol:
        return Status.LOCALLY_SOLVED
    return status


def _unpack_points(run: Packed, num_columns: int) -> list[Array]:
    points = [run.numbers(f"point{number}") for number in range(sum(name.startswith("point") for name in run.arrays))]
    for number, point in enumerate(points):
        if point.size != num_columns or not np.isfinite(point).all():
            raise ValueError(f"point{number} has {point.size} entries, some of them perhaps not finite; {num_columns} numbers are expected")
    return points


def _unpack_history(run: Packed, points: list[Array]) -> list[Iteration]:
    rows, places = unpack_table(run.part("history"), Iteration), run.numbers("history_points", "i")
    if len(rows) != places.size:
        raise ValueError("its steps are not as many as their points")
    return [Iteration(**row, point=_one_of(points, place)) for row, place in zip(rows, places, strict=True)]


def _pairs(run: Packed, name: str) -> list[tuple[float, float]]:
    table = run.numbers(name, dimensions=2)
    if table.shape[1] != 2:
        raise ValueError(f"{name} has shape {table.shape}")
    return [(first, second) for first, second in table.tolist()]


def _one_of(points: list[Array], place: Array) -> Array | None:
    """The point of a number, None for -1."""
    number = int(np.reshape(place, ()))
    if not -1 <= number < len(points):
        raise ValueError(f"it points to point {number}, but there are {len(points)}")
    return points[number] if number >= 0 else None
