"""From predictions as columns to the embedded problem of the paper (problem 2).

An output column that the host uses linearly is eliminated: its coefficients in a row are the paper's
nu, and the row becomes a neural row. An output that is integer, that sits in the quadratic objective,
a quadratic constraint or a cone, or that feeds another network stays a column w_j and is tied by the neural equality w_j - f_j(x) = 0.
Columns that the rows define by predictions alone are substituted first (`definitions.py`).

Every neural row is written as one-sided restrictions  a'w + nu'f(x) <= rhs : a range gives two of
them, an equality two that share a slack. The lower side of a row is the upper side of its negative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.balance import balance
from dcembed.embedded.definitions import Definitions, find_definitions, substitute
from dcembed.embedded.embedded_program import EmbeddedProgram, Restrictions
from dcembed.embedded.embedding import AffineInputs, Embedding
from dcembed.embedded.grouping import distinct, distinct_pairs, outside
from dcembed.embedded.measured_network import MeasuredNetwork, Parts, Terms
from dcembed.embedded.origin import Origin
from dcembed.embedded.switches import read_switches, unread
from dcembed.embedded.windows import add_windows
from dcembed.network.bounds import go_on
from dcembed.program.derive import derive, keep_columns, keep_rows
from dcembed.program.program import IndicatorRows, Program, stacked
from dcembed.sparse import above, compressed, from_entries, row_numbers, scale_rows, take_columns, take_rows, unit_rows


def eliminate(
    program: Program, embeddings: Sequence[Embedding], with_switches: bool = False, check: Callable[[], None] = go_on
) -> EmbeddedProgram:
    """Write a program and its embeddings as host, restrictions and measured networks.

    Parameters
    ----------
    with_switches
        Whether rows that a large coefficient on a binary switches off are read as indicators.
    check
        Called while these are looked for; what it raises ends the elimination.
    """
    n = program.num_columns
    inputs = [embedding.affine_inputs(n) for embedding in embeddings]
    outputs = np.concatenate([np.zeros(0, dtype=np.int64), *(embedding.outputs.reshape(-1) for embedding in embeddings)])
    stays = _must_stay(program, inputs, outputs)
    definitions, defining, kept = _find_kept(program, inputs, outputs[~stays])
    if kept.size == 0:
        # All inputs are constants and every column follows from them; solvers want one all the same.
        stays[0] = True
        definitions, defining, kept = _find_kept(program, inputs, outputs[~stays])
    gone = outputs[~stays]
    plain, substitution = substitute(program, definitions, defining)
    switched = read_switches(plain, embeddings, gone, check) if with_switches else unread(plain)
    plain = switched.program
    # Coefficients on column j become coefficients on prediction p where select[j, p] = 1.
    select = _select(gone, np.flatnonzero(~stays), n, outputs.size)

    indicators = stacked(plain.indicator_rows, switched.indicators)
    rows = _neural_rows(plain, indicators, outputs, stays, select)
    restrictions, coefficients, (upper, lower) = _one_sided(rows, kept)
    in_objective = np.zeros(outputs.size)
    in_objective[~stays] = plain.cost[gone]
    measured = above(_one_row(in_objective), coefficients)
    host = _host(plain, kept, gone)
    embedded = EmbeddedProgram(
        program=program,
        embeddings=tuple(embeddings),
        kept=kept,
        host=derive(host, concave=None),
        concave=host.concave,
        restrictions=restrictions,
        networks=_measured_networks(embeddings, inputs, measured, kept),
        # A column that two networks define may be gone all the same: the first of them eliminates it.
        linked=_places(outputs[stays], kept, n),
        definitions=definitions,
        num_switches=switched.num_read,
        origin=Origin(
            substitution=substitution,
            gone=gone,
            plain=np.setdiff1d(np.arange(plain.num_rows), rows.touched),
            neural=rows.touched,
            bounded=rows.bounded,
            conditional=(indicators.lb[rows.conditional], indicators.ub[rows.conditional]),
            num_linked=int(stays.sum()),
            upper=upper,
            lower=lower,
        ),
    )
    balanced = balance(embedded)
    return add_windows(balanced, check) if with_switches else balanced


def _places(columns: Array, kept: Array, num_columns: int) -> Array:
    """Where in `kept` the columns are that are there, in order."""
    is_there = np.zeros(num_columns, dtype=bool)
    is_there[columns] = True
    return np.flatnonzero(is_there[kept])


def _find_kept(program: Program, inputs: list[AffineInputs], gone: Array) -> tuple[Definitions, Array, Array]:
    """What the eliminated outputs define, the rows that say so, and the columns that are left."""
    definitions, defining = find_definitions(program, gone, inputs)
    return definitions, defining, outside(program.num_columns, np.concatenate([gone, definitions.columns]))


def _must_stay(program: Program, inputs: list[AffineInputs], outputs: Array) -> Array:
    """Mask over predictions: those whose column cannot be substituted."""
    stays = program.integer.copy()
    stays |= program.curved_columns
    for affine in inputs:
        stays[affine.coefficients.indices] = True
    first = np.zeros(program.num_columns, dtype=np.int64)
    # What is written last stays, so the first use of a column is written last.
    first[outputs[::-1]] = np.arange(outputs.size)[::-1]
    mask: Array = stays[outputs] | (first[outputs] != np.arange(outputs.size))
    return mask


@dataclass(frozen=True, eq=False)
class _Rows:
    """Two-sided neural rows over all columns: lb <= linear @ w + coefficients @ predictions <= ub.

    They are `touched` rows of the program, then bounds of `bounded` columns, then `conditional` indicators, then equalities.
    """

    touched: Array
    bounded: Array
    conditional: Array
    linear: sp.csr_array
    coefficients: sp.csr_array
    lb: Array
    ub: Array
    indicator: Array
    indicator_value: Array


def _neural_rows(program: Program, indicators: IndicatorRows, outputs: Array, stays: Array, select: sp.csr_array) -> _Rows:
    """Rows, output bounds and indicators with predictions in them, and the equalities of the outputs that stay."""
    gone = outputs[~stays]
    touched = np.flatnonzero(_touches(program.rows, gone))
    conditional = np.flatnonzero(_touches(indicators.matrix, gone))
    bounded = gone[np.isfinite(program.lb[gone]) | np.isfinite(program.ub[gone])]
    linked = np.flatnonzero(stays)
    linear = reduce(
        above,
        [
            take_rows(program.rows, touched),
            _units(bounded, program),
            take_rows(indicators.matrix, conditional),
            _units(outputs[linked], program),
        ],
    )
    coefficients = sp.csr_array(linear @ select)
    num_linked = linked.size
    if num_linked:
        tie = sp.csr_array((-np.ones(num_linked), (np.arange(num_linked), linked)), shape=(num_linked, outputs.size))
        # A column that two networks define is eliminated by the first, so its own coefficient is already on that prediction.
        coefficients = sp.csr_array(sp.vstack([coefficients[:-num_linked], coefficients[-num_linked:] + tie], format="csr"))
    zeros = np.zeros(num_linked)
    before = touched.size + bounded.size
    none = np.full(linear.shape[0], -1, dtype=np.int64)
    value = np.zeros(linear.shape[0], dtype=np.int64)
    none[before : before + conditional.size] = indicators.column[conditional]
    value[before : before + conditional.size] = indicators.value[conditional]
    return _Rows(
        touched=touched,
        bounded=bounded,
        conditional=conditional,
        linear=linear,
        coefficients=coefficients,
        lb=np.concatenate([program.row_lb[touched], program.lb[bounded], indicators.lb[conditional], zeros]),
        ub=np.concatenate([program.row_ub[touched], program.ub[bounded], indicators.ub[conditional], zeros]),
        indicator=none,
        indicator_value=value,
    )


def _units(columns: Array, program: Program) -> sp.csr_array:
    return unit_rows(columns, np.ones(columns.size), program.num_columns)


def _one_row(values: Array) -> sp.csr_array:
    used = np.flatnonzero(values)
    return compressed(values[used], used, np.array([0, used.size]), (1, values.size))


def _select(columns: Array, predictions: Array, num_columns: int, num_predictions: int) -> sp.csr_array:
    """One in each of the columns, at its prediction."""
    return from_entries(columns, predictions, np.ones(columns.size), (num_columns, num_predictions))


def _touches(rows: sp.csr_array, columns: Array) -> Array:
    """Mask of the rows that have one of the columns in them."""
    is_there = np.zeros(rows.shape[1], dtype=bool)
    is_there[columns] = True
    used = is_there[rows.indices] & (rows.data != 0)
    return np.bincount(row_numbers(rows)[used], minlength=rows.shape[0]) > 0


def _one_sided(rows: _Rows, kept: Array) -> tuple[Restrictions, sp.csr_array, tuple[Array, Array]]:
    """Restrictions over the kept columns, their coefficients on the predictions, and the rows whose upper and lower sides they are."""
    upper, lower = np.flatnonzero(np.isfinite(rows.ub)), np.flatnonzero(np.isfinite(rows.lb))
    source = np.concatenate([upper, lower])
    sign = np.concatenate([np.ones(upper.size), -np.ones(lower.size)])
    equality = (rows.lb == rows.ub)[source]
    # Sides of one equality share a slack; every other restriction has its own.
    key = np.where(equality, source, rows.lb.size + np.arange(source.size))
    restrictions = Restrictions(
        linear=scale_rows(take_columns(take_rows(rows.linear, source), kept), sign),
        rhs=np.concatenate([rows.ub[upper], -rows.lb[lower]]),
        slack=np.unique(key, return_inverse=True)[1].reshape(-1),
        indicator=np.where(rows.indicator[source] < 0, -1, np.searchsorted(kept, rows.indicator[source])),
        indicator_value=rows.indicator_value[source],
    )
    return restrictions, scale_rows(take_rows(rows.coefficients, source), sign), (upper, lower)


def _host(program: Program, kept: Array, gone: Array) -> Program:
    plain = np.flatnonzero(~_touches(program.rows, gone))
    conditional = _touches(program.indicator_rows.matrix, gone)
    indicators = tuple(indicator for indicator, has in zip(program.indicators, conditional, strict=True) if not has)
    return keep_columns(derive(keep_rows(program, plain), indicators=indicators), kept)


def _measured_networks(
    embeddings: Sequence[Embedding], inputs: list[AffineInputs], measured: sp.csr_array, kept: Array
) -> tuple[MeasuredNetwork, ...]:
    """Cut the coefficients on predictions by embedding; embeddings that nothing uses drop out."""
    result = []
    start = 0
    for number, (embedding, affine) in enumerate(zip(embeddings, inputs, strict=True)):
        stop = start + embedding.outputs.size
        network = _measured_network(number, embedding, affine, take_columns(measured, np.arange(start, stop)), kept)
        result += [network] if network.terms.block.size else []
        start = stop
    return tuple(result)


def _measured_network(number: int, embedding: Embedding, inputs: AffineInputs, measured: sp.csr_array, kept: Array) -> MeasuredNetwork:
    num_inputs, num_outputs = embedding.network.num_inputs, embedding.network.num_outputs
    used = measured.data != 0
    block, output = np.divmod(measured.indices[used].astype(np.int64), num_outputs)
    measurement, block, term = distinct_pairs(row_numbers(measured)[used].astype(np.int64), block)
    nu = np.zeros((block.size, num_outputs))
    np.add.at(nu, (term, output), measured.data[used])
    scale = np.abs(nu).sum(axis=1)
    directions, direction = _directions(np.round(nu / scale[:, None], 15) if scale.size else nu)
    blocks, block_number = distinct(block)
    map_of, maps = _find_maps(inputs, blocks, num_inputs)
    part, parts = _parts(measurement, block_number, map_of)
    return MeasuredNetwork(
        number=number,
        network=embedding.network,
        evaluations=blocks,
        maps=take_columns(maps, kept),
        map_of=map_of,
        offset=inputs.offset if blocks.size == inputs.offset.shape[0] else inputs.offset[blocks],
        directions=directions,
        terms=Terms(measurement, block_number, direction, scale, part),
        parts=parts,
    )


def _directions(nu: Array) -> tuple[Array, Array]:
    """The different rows of nu (t, n_out), and which of them each is."""
    if nu.shape[1] == 1:
        values, number = distinct(nu[:, 0])
        return values[:, None], number
    rows, number = np.unique(nu, axis=0, return_inverse=True)
    return rows, number.reshape(-1)


def _find_maps(inputs: AffineInputs, blocks: Array, num_inputs: int) -> tuple[Array, sp.csr_array]:
    """Which map each block has, and the different maps one below the other."""
    if inputs.is_shared:
        return np.zeros(blocks.size, dtype=np.int64), inputs.coefficients
    map_of, first = equal_maps(inputs.matrix, blocks, num_inputs)
    return map_of, take_rows(inputs.matrix, (blocks[first][:, None] * num_inputs + np.arange(num_inputs)).reshape(-1))


def equal_maps(matrix: sp.csr_array, blocks: Array, num_inputs: int) -> tuple[Array, Array]:
    """Which blocks have inputs with equal coefficients: a number for each, and the first block with each number."""
    # Coefficients against fixed random weights: equal ones give equal sums, others different ones.
    rng = np.random.default_rng(0)
    key = np.zeros((blocks.size, 2))
    for column in range(2):
        sums = (matrix @ rng.standard_normal(matrix.shape[1])).reshape(-1, num_inputs)
        # Row by row: a product of matrices rounds its last rows in another way than the others.
        key[:, column] = np.einsum("ki,i->k", sums, rng.standard_normal(num_inputs))[blocks]
    # Complex numbers are sorted by their real and then their imaginary parts, as rows of two entries are.
    _, first, number = np.unique(key.view(np.complex128)[:, 0], return_index=True, return_inverse=True)
    return number.reshape(-1), first


def _parts(measurement: Array, block: Array, map_of: Array) -> tuple[Array, Parts]:
    """Group terms by measurement and by how their inputs depend on the columns."""
    measurements, maps, part = distinct_pairs(measurement, map_of[block])
    return part, Parts(measurements, maps)
