"""Ensembles as rows and binaries of the host, where the host presses their outputs the right way (`written.py` has the rows).

The user's column is no prediction any more then, and may be larger than the value of the ensemble (smaller, for min). Since the host presses
it, the optimum is the same, and a point that is completed has the value itself.

Not everything that could be rows is. Measured on 27 uses of 5 to 20 trained members, three problems each and 5 s a run on a busy machine: a mean with its
deviation as rows came to its best point later than as units in 8 of 9 uses, up to fourteen times, and never to a better one. An agreement in the
objective was later in 5 of 6 and ended behind in two (by 1 % and by 7 %, where units were 2 % behind), ahead in one (by 1 %). An agreement under a
limit was later in 3 of 3 and ended as well: it is written with binaries because that is what its users expect to see in the host. Worst cases were even: earlier in 4 of 9, ends apart by less than 1 %.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from dcembed.arrays import Array
from dcembed.copies import replace
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.lift import Lift
from dcembed.embedded.unit_bounds import input_boxes
from dcembed.ensembles.pressed import Pressed, find_pressed
from dcembed.ensembles.written import WORDS, Written, build_indicators, build_rows, complete, new_bounds, new_names
from dcembed.network.along import measured_along
from dcembed.network.bounds import bound
from dcembed.network.ensemble import Ensemble
from dcembed.program.derive import add_columns, add_rows, derive
from dcembed.program.program import Program
from dcembed.program.tightening import SAFETY, tighten


def lift_ensembles(lift: Lift, is_wanted: Callable[[Ensemble], bool] = lambda _: True) -> Lift:
    """The problem with ensembles written as rows over the predictions of their members, where that is wanted and the host presses their outputs.

    These are worst cases, and agreements that are under limits alone. An ensemble whose outputs are not all pressed stays the network that it
    is, which is exact everywhere; so does an agreement over inputs without bounds, since solvers want bounds behind binaries.

    Examples
    --------
    >>> import dcembed
    >>> from dcembed.embedded.lift import unlifted
    >>> lines = [dcembed.build_mlp([[[slope]]], [None]) for slope in (1.0, -1.0)]
    >>> worst = dcembed.Embedding(dcembed.ensemble(lines, output="max"), [0], [1])
    >>> program = dcembed.Program(cost=[0.0, 1.0], lb=[-1.0, -np.inf], ub=[2.0, np.inf], column_names=["x", "t"])
    >>> lifted = lift_ensembles(unlifted(program, [worst]))
    >>> lifted.program, lifted.program.row_names
    (Program(4 columns, 2 rows), ("max of members for column 't', member 0", "max of members for column 't', member 1"))
    >>> lifted.complete(np.array([-0.5, 7.0]))
    array([-0.5,  0.5, -0.5,  0.5])
    """
    chosen = list(_choose(lift.program, lift.embeddings, is_wanted))
    if not chosen:
        return lift
    program = _with_columns(lift.program, chosen)
    for written in chosen:
        matrix, lb, ub, names = build_rows(written, program)
        program = add_rows(program, matrix, lb, ub, names)
    program = derive(
        program, indicators=(*program.indicators, *(each for written in chosen for each in build_indicators(written, program)))
    )
    program = _with_ends(program, lift, chosen)
    embeddings = _replace_chosen(lift.embeddings, chosen, program.num_columns)
    return replace(
        lift,
        program=program,
        embeddings=embeddings,
        completions=(*lift.completions, partial(_complete, chosen, program.num_columns)),
        replaced=(*lift.replaced, *(written.embedding for written in chosen)),
    )


def _choose(program: Program, embeddings: Sequence[Embedding], is_wanted: Callable[[Ensemble], bool]) -> Iterator[Written]:
    """The ensembles that are written as rows."""
    if not any(isinstance(each.network, Ensemble) and is_wanted(each.network) for each in embeddings):
        return
    pressed = find_pressed(program, embeddings)
    first = program.num_columns
    for number, embedding in enumerate(embeddings):
        ensemble = embedding.network
        if not isinstance(ensemble, Ensemble) or ensemble.combination not in WORDS or not is_wanted(ensemble):
            continue
        written = Written(number, embedding, ensemble, first)
        if _is_pressed(written, pressed) and (not written.has_binaries or _is_counted(written, program)):
            first += written.num_new
            yield written


def _is_pressed(written: Written, pressed: Pressed) -> bool:
    """Whether all outputs are pressed the right way; one member alone needs no rows."""
    mask = pressed.down if written.is_lower else pressed.up
    return written.ensemble.num_members > 1 and bool(mask[written.embedding.outputs].all())


def _is_counted(written: Written, program: Program) -> bool:
    """Whether members are counted by binaries: where limits alone are on their agreement, and ends of it are known."""
    return not program.cost[written.embedding.outputs].any() and _ends(program, written) is not None


def _with_columns(program: Program, chosen: Sequence[Written]) -> Program:
    lb, ub, integer = (np.concatenate(parts) for parts in zip(*map(new_bounds, chosen), strict=True))
    names = program.column_names if program.column_names is not None else ("",) * program.num_columns
    new = [name for written in chosen for name in new_names(written, program)]
    return derive(add_columns(program, lb, ub, integer=integer), column_names=(*names, *new))


def _ends(program: Program, written: Written) -> Array | None:
    """Lower bounds of t where it is pressed down, upper bounds where up, shape (k, n_out); None where there are none.

    The a-th smallest of values is not below the a-th smallest of their lower bounds.
    """
    embedding, rank = written.embedding, round(written.ensemble.parameter)
    box = input_boxes(embedding, *tighten(program))
    if not all(np.isfinite(side).all() for side in box):
        return None
    sign = 1.0 if written.is_lower else -1.0
    sides = [bound(measured_along(network, np.eye(network.num_outputs)), *box)[-1] for network in written.ensemble.networks]
    lows = np.stack([low if written.is_lower else -high for low, high in sides], axis=1)
    end = np.partition(lows, rank - 1, axis=1)[:, rank - 1]
    # Rounding never cuts a prediction off.
    return sign * (end - SAFETY * (1.0 + np.abs(end))) if np.isfinite(end).all() else None


def _with_ends(program: Program, lift: Lift, chosen: Sequence[Written]) -> Program:
    """Bounds for the columns behind indicators, which the predictions that they stood for had."""
    lb, ub = program.lb.copy(), program.ub.copy()
    for written in chosen:
        ends = _ends(lift.program, written) if written.has_binaries else None
        if ends is not None:
            (lb if written.is_lower else ub)[written.embedding.outputs] = ends
    # A limit of the user's beyond all predictions is one that no point keeps: the rows say so, bounds that cross would be refused.
    return derive(program, lb=np.minimum(lb, program.ub), ub=np.maximum(ub, program.lb))


def _replace_chosen(embeddings: Sequence[Embedding], chosen: Sequence[Written], num_columns: int) -> tuple[Embedding, ...]:
    by_number = {written.number: written for written in chosen}
    result: list[Embedding] = []
    for number, embedding in enumerate(embeddings):
        wide = embedding.widened(num_columns)
        result += _members(wide, by_number[number]) if number in by_number else [wide]
    return tuple(result)


def _members(embedding: Embedding, written: Written) -> Iterator[Embedding]:
    """The members, each by itself: rows on one of them need not look at the others."""
    for member, network in enumerate(written.ensemble.networks):
        # What is asked of the inputs is asked once.
        changes = {"support": None} if member and getattr(embedding, "support", None) is not None else {}
        yield replace(embedding, network=network, outputs=written.values[:, member, :], **changes)


def _complete(chosen: Sequence[Written], num_columns: int, w: Array) -> Array:
    """A point of the columns before this step, with the values of those that it adds."""
    point = np.concatenate([w, np.zeros(num_columns - w.size)])
    for written in chosen:
        complete(written, point, w)
    return point
