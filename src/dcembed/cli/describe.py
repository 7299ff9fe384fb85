"""What `dcembed solve` says about what it has read, and in one line about what it found."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING

from dcembed.gap import show_gap
from dcembed.screen import say

if TYPE_CHECKING:
    from dcembed.embedded.embedding import AffineInputs
    from dcembed.frontends.contract import Extraction
    from dcembed.frontends.files_ import ModelFile
    from dcembed.program.program import Program
    from dcembed.result import Result


def describe(extraction: Extraction[ModelFile]) -> None:
    """Which columns go where: patterns should hold no surprise."""
    from dcembed.frontends.files_ import column_names

    program, names = extraction.program, column_names(extraction.program)
    say(f"{extraction.handle.host}: {program}, {'maximized' if program.maximize else 'minimized'}")
    for embedding in extraction.embeddings:
        points = embedding.affine_inputs(program.num_columns)
        num_inputs, num_outputs = embedding.network.num_inputs, embedding.network.num_outputs
        say(f"  {embedding.network}")
        shown = min(3, embedding.num_evaluations)
        for row in range(shown):
            entries = [_show_entry(points, row, j, num_inputs, names) for j in range(min(6, num_inputs))]
            outputs = [names[column] for column in embedding.outputs[row][:6]]
            say(f"    {_join(outputs, num_outputs)} = f({_join(entries, num_inputs)})")
        if embedding.num_evaluations > shown:
            say(f"    ... {embedding.num_evaluations} evaluations")
        if embedding.support is not None:
            say(f"    inputs {_show_demand(embedding.support.weight)} the {embedding.support.label}")
        _mind_default(program, names, embedding.outputs.reshape(-1).tolist())
    say()


def _show_demand(weight: float | None) -> str:
    """What is asked of inputs outside of their support."""
    return "must be in" if weight is None else f"cost {weight:g} for a unit outside of" if weight else "are compared with"


def _mind_default(program: Program, names: Sequence[str], outputs: Sequence[int]) -> None:
    """Say it where predictions have the bounds that columns of files have without a word: a negative one would not be taken."""
    kept = [names[column] for column in outputs if program.lb[column] == 0.0 and program.ub[column] == inf]
    if kept:
        which = kept[0] if len(kept) == 1 else f"{kept[0]} and {len(kept) - 1} more predictions"
        say(f"    {which} >= 0, as columns of files are by default; '{kept[0]} free' among the bounds lets predictions be negative")


def _show_entry(points: AffineInputs, row: int, j: int, width: int, names: Sequence[str]) -> str:
    line, constant = points.matrix[[row * width + j]], points.offset[row, j]
    terms = [
        names[column] if factor == 1.0 else f"{factor:g} {names[column]}" for column, factor in zip(line.indices, line.data, strict=True)
    ]
    shown = [*terms[:3], *(["..."] if len(terms) > 3 else []), *([f"{constant:g}"] if constant or not terms else [])]
    return " + ".join(shown)


def _join(entries: list[str], total: int) -> str:
    return ", ".join([*entries, *(["..."] if total > len(entries) else [])])


def closing_line(result: Result) -> str:
    """Status, objective, violation and bound."""
    from dcembed.status import Status

    bound = f", bound {result.bound:.9g}" if isfinite(result.bound) else ""
    if result.status is Status.INFEASIBLE:
        return f"{result.status.name}: it is proved that no point satisfies all constraints, {result.seconds:.2f} s"
    if result.x is None:
        return f"{result.status.name}: no point found{bound}, {result.seconds:.2f} s"
    if bound and result.is_feasible:
        bound += f", gap {show_gap(result.gap)}"
    kind = "feasible" if result.is_feasible else "NOT feasible: " + "; ".join(map(str, result.worst_violations))
    return (
        f"{result.status.name}: objective {result.objective:.9g}, violation {result.violation:.2g} ({kind}){bound}, {result.seconds:.2f} s"
    )
