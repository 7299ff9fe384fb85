"""The regions that inputs belong into as columns, rows, cones and predictions behind those of the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.lift import Lift, unlifted
from dcembed.ensembles.rows import lift_ensembles
from dcembed.program.cones import ConeConstraint
from dcembed.program.derive import add_columns, add_rows, derive
from dcembed.program.program import Program
from dcembed.support.region import Support
from dcembed.tables import name_columns


def lift_problem(program: Program, embeddings: Sequence[Embedding]) -> Lift:
    """The problem with ensembles and regions written as columns, rows, cones and predictions, wherever they have to be."""
    return lift_supports(lift_ensembles(unlifted(program, embeddings), lambda ensemble: ensemble.as_rows))


def lift_supports(lift: Lift) -> Lift:
    """The problem with every region written out: a few columns for each evaluation. Regions that ask for nothing are left out."""
    for number, embedding in enumerate(lift.embeddings):
        region = embedding.support
        if region is None:
            continue
        freed = tuple(each.with_support(None) if place == number else each for place, each in enumerate(lift.embeddings))
        lift = replace(lift, embeddings=freed)
        if isinstance(region, Support) and region.weight != 0.0:
            lift = _write(lift, number, region)
    return lift


def _write(lift: Lift, number: int, region: Support) -> Lift:
    """The lift with one region more."""
    program, embedding = lift.program, lift.embeddings[number]
    piece, k = region.piece, embedding.num_evaluations
    inputs, n = embedding.affine_inputs(program.num_columns), program.num_columns
    # Scaled inputs of all evaluations are z = matrix w + constant.
    scale = np.tile(1.0 / region.scale.spread, k)
    matrix = sp.csr_array(sp.diags_array(scale) @ inputs.matrix)
    constant = (inputs.offset - region.scale.center) / region.scale.spread
    labels = [_label(program, embedding, i) for i in range(k)]
    wide = _with_columns(program, region, k, labels)
    every = sp.eye_array(k, format="csr")

    def over(of_inputs: sp.csr_array, own: sp.csr_array) -> sp.csr_array:
        """Rows of all evaluations over all columns."""
        found = sp.csr_array(sp.hstack([sp.kron(every, of_inputs, "csr") @ matrix, sp.kron(every, own, "csr")], format="csr"))
        # A zero times a bound that is infinite would be no number.
        found.eliminate_zeros()
        return found

    if piece.num_rows:
        shift = (constant @ piece.rows.T).reshape(-1)
        names = [f"{name}, for {label}" for label in labels for name in piece.row_names]
        wide = add_rows(wide, over(piece.rows, piece.own_rows), np.tile(piece.row_lb, k) - shift, np.tile(piece.row_ub, k) - shift, names)
    if piece.cone_sizes.size:
        offset = (constant @ piece.cones.T + piece.cone_offset).reshape(-1)
        named = [f"{region.label}, for {label}" for label in labels for _ in piece.cone_sizes]
        cone = ConeConstraint(over(piece.cones, piece.own_cones), offset, np.tile(piece.cone_sizes, k), named)
        wide = derive(wide, cones=(*wide.cones, cone))
    embeddings = tuple(each.widened(wide.num_columns) for each in lift.embeddings)
    if piece.network is not None:
        scores = n + np.arange(k)[:, None] * piece.num_columns + piece.prediction
        embeddings += (Embedding(piece.network, embeddings[number].inputs, scores),)
    complete = partial(_complete, embedding=embedding, region=region)
    return replace(lift, program=wide, embeddings=embeddings, completions=(*lift.completions, complete))


def _with_columns(program: Program, region: Support, k: int, labels: list[str]) -> Program:
    """The program with the columns of the region for each evaluation; the distances cost the weight."""
    piece = region.piece
    cost = np.tile(program.sense * (region.weight or 0.0) * piece.slack, k)
    names = [*name_columns(program), *(f"{name}, for {label}" for label in labels for name in piece.column_names)]
    wide = add_columns(program, np.tile(piece.lb, k), np.tile(piece.ub, k), cost, np.tile(piece.integer, k))
    return derive(wide, column_names=tuple(names)) if program.column_names is not None else wide


def _label(program: Program, embedding: Embedding, evaluation: int) -> str:
    """What an evaluation is called: by its first prediction."""
    return f"inputs of {program.column_label(int(embedding.outputs[evaluation, 0]))}"


def _complete(x: Array, embedding: Embedding, region: Support) -> Array:
    """The point with the columns of the region."""
    return np.concatenate([x, region.complete(embedding.points(x)).reshape(-1)])
