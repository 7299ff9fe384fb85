"""An embedded problem for a program that differs from the one it was made of in numbers alone.

    eliminate(changed)  ==  refresh(eliminate(program), changed)     wherever `what_is_lost` says nothing

Everything that follows from the structure is kept: the maps and terms of the networks, the patterns of their derivatives, their splits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dcembed.arrays import Array
from dcembed.copies import replace
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.embedding import AffineInputs, Embedding
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.embedded.origin import Origin
from dcembed.program.derive import have_same_bounds, revalue
from dcembed.program.program import Program

# What an embedded problem and a measured network compute once from their structure, and nothing else.
STRUCTURE = (
    *("input_columns", "moves_inputs", "integer", "part_sums", "slope_pattern", "drawer"),
    *("curvature_pattern", "num_curvature_terms", "movable", "_eliminated", "all_rows", "row_uses", "_gradient_sum", "_bent_sum"),
)
RESTRICTION_STRUCTURE = ("num_slacks", "is_switched", "sides")
NETWORK_STRUCTURE = ("split", "convex_form", "direct", "_groups", "term_sums", "part_maps", "usage")


def what_is_lost(embedded: EmbeddedProgram, program: Program, embeddings: Sequence[Embedding], with_switches: bool) -> str | None:
    """Why the changed program has to be eliminated again, in a few words; None where `refresh` gives the same.

    `program` is a minimization as `embedded.program` is, and has its shape.
    """
    old, origin = embedded.program, embedded.origin
    if origin is None:
        return "the problem was made in another way"
    if program.quadratic is not old.quadratic or program.concave is not old.concave:
        return "the quadratic objective has changed"
    touched = _touched(origin)
    if not np.array_equal(program.cost[touched], old.cost[touched]):
        return "what predictions cost has changed"
    if have_same_bounds(program, old) and _same_inputs(embeddings, embedded.embeddings):
        return None
    if with_switches and old.integer.any():
        return "switches and windows follow from bounds and rows, which have changed"
    if embedded.concave is not None:
        return "a nonconvex objective is split by the ranges of its columns, which have changed"
    if old.indicators and origin.substitution is not None:
        return "indicators on columns that rows define"
    return None if _same_structure(program, old, origin) else "bounds or sides of rows have come or gone, or rows have become equalities"


def refresh(embedded: EmbeddedProgram, program: Program, embeddings: Sequence[Embedding]) -> EmbeddedProgram:
    """The embedded problem with the numbers of the changed program."""
    origin, old = embedded.origin, embedded.host
    if origin is None:
        raise ValueError("Only what eliminate has made can be refreshed.")
    numbers = origin.numbers(program)
    host = revalue(old, cost=numbers.cost[embedded.kept], offset=numbers.offset)
    restrictions, definitions = embedded.restrictions, embedded.definitions
    if not have_same_bounds(program, embedded.program):
        lb, ub = numbers.lb[embedded.kept], numbers.ub[embedded.kept]
        # Who has an array already sees at a glance that it is the same.
        row_lb, row_ub = _same(old.row_lb, numbers.row_lb[origin.plain]), _same(old.row_ub, numbers.row_ub[origin.plain])
        host = revalue(host, lb=lb, ub=ub, row_lb=row_lb, row_ub=row_ub)
        restrictions = replace(restrictions, rhs=origin.rhs(numbers))
        _keep(restrictions, embedded.restrictions, RESTRICTION_STRUCTURE)
        definitions = replace(definitions, constant=numbers.constant)
    networks = tuple(_with_offset(measured, embeddings[measured.number]) for measured in embedded.networks)
    fresh = replace(
        embedded,
        program=program,
        embeddings=tuple(embeddings),
        host=host,
        restrictions=restrictions,
        networks=networks,
        definitions=definitions,
    )
    _keep(fresh, embedded, STRUCTURE)
    return fresh


def _same(old: Array, fresh: Array) -> Array:
    """The old array where the fresh one has the same numbers."""
    return old if np.array_equal(old, fresh) else fresh


def _touched(origin: Origin) -> Array:
    """Columns whose cost is one of predictions."""
    if origin.substitution is None:
        return origin.gone
    return np.concatenate([origin.gone, origin.substitution.columns])


def _same_inputs(embeddings: Sequence[Embedding], old: Sequence[Embedding]) -> bool:
    return all(one is other for one, other in zip(embeddings, old, strict=True))


def _same_structure(program: Program, old: Program, origin: Origin) -> bool:
    """Whether the same bounds and sides are there, and the same rows and eliminated columns have one value."""
    columns = _touched(origin)
    # Behind a substitution rows have other numbers.
    rows = origin.neural if origin.substitution is None else slice(None)
    for name, places in (("lb", columns), ("ub", columns), ("row_lb", rows), ("row_ub", rows)):
        fresh, known = getattr(program, name), getattr(old, name)
        if fresh is not known and not np.array_equal(np.isfinite(fresh[places]), np.isfinite(known[places])):
            return False
    # Any row that becomes an equality might define a column.
    has_same_sides = program.row_lb is old.row_lb and program.row_ub is old.row_ub
    if not (has_same_sides or np.array_equal(program.row_lb == program.row_ub, old.row_lb == old.row_ub)):
        return False
    is_fixed, was_fixed = (one.lb[columns] == one.ub[columns] for one in (program, old))
    return np.array_equal(is_fixed, was_fixed)


def _with_offset(measured: MeasuredNetwork, embedding: Embedding) -> MeasuredNetwork:
    """The measured network with the constants of an embedding; itself where they are the same."""
    inputs = embedding.inputs
    if not isinstance(inputs, AffineInputs):
        return measured
    offset = inputs.offset if measured.num_blocks == inputs.offset.shape[0] else inputs.offset[measured.evaluations]
    if offset is measured.offset or np.array_equal(offset, measured.offset):
        return measured
    fresh = replace(measured, offset=offset)
    _keep(fresh, measured, NETWORK_STRUCTURE)
    return fresh


def _keep(fresh: object, old: object, names: Sequence[str]) -> None:
    """Take over what has been computed already."""
    known = vars(old)
    vars(fresh).update({name: known[name] for name in names if name in known})
