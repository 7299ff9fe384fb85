"""Big-M with the inequalities of the ideal formulation of Anderson et al. as cuts at the root.

A unit z = max(0, a) with a = sum_i c_i v_i + e over lb <= v <= ub and with the binary d satisfies, for every set I of its inputs,

    z <= sum_{i in I} c_i (v_i - L_i (1 - d)) + (e + sum_{i not in I} c_i U_i) d

where L_i and U_i are the ends of v_i at which c_i v_i is least and largest: at d = 1 the right side is at least a, at d = 0 at least 0.
With z >= 0 and z >= a these describe the convex hull of the unit over the box, which the rows of big-M do not. There are exponentially
many; the most violated one at a point takes the smaller of its two terms for every input by itself.

The relaxation without integers is solved, every unit is given its most violated inequality, and so on for some rounds; then the encoding
with those that are tight goes to the solver.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.baselines import big_m
from dcembed.baselines.recorder import Recorder
from dcembed.embedded.big_m import BigM, build_big_m, default_bounds
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.unit_bounds import column_box
from dcembed.errors import MissingBoundError
from dcembed.options import Options
from dcembed.program.derive import add_rows, relaxed
from dcembed.program.indicators import linearize_indicators
from dcembed.program.program import Program
from dcembed.result import Result
from dcembed.run.arguments import read_arguments
from dcembed.run.clock import Clock
from dcembed.solvers import choose_backend
from dcembed.solvers.base import SessionOptions
from dcembed.solvers.failover import LastingSession, Solver
from dcembed.sparse import row_numbers

NUM_ROUNDS = 20
# An inequality is added where it is violated by this, relative to the largest value of its unit, and kept where its slack is at most this.
VIOLATION, TIGHT = 1e-4, 1e-5
# Right sides are larger by this, relative to their terms: the ends of columns are known to the tolerances of the solver only.
SAFETY = 1e-7
# Solvers drop smaller coefficients; these are left out here, for no less than they can be worth.
LEAST_COEFFICIENT = 1e-9
# Rounds end when one gains less than this, relative to the objective, and when they have taken this share of the time.
GAIN, SHARE_OF_TIME = 1e-4, 0.25


@dataclass(frozen=True, eq=False)
class OpenUnits:
    """The units of an encoding that have a binary, as sums over its columns: a = coefficients @ columns + constant.

    Parameters
    ----------
    coefficients, constant
        Shapes (k, number of columns) and (k,).
    lowest, highest
        For each entry of the coefficients, the end of its column at which the term is least and largest.
    unit, binary
        Columns of z and d, each of shape (k,).
    largest
        What z is at most, shape (k,).
    margin
        By how much the right sides are larger, shape (k,).
    """

    coefficients: sp.csr_array
    constant: Array
    lowest: Array
    highest: Array
    unit: Array
    binary: Array
    largest: Array
    margin: Array


@dataclass(frozen=True, eq=False)
class Cuts:
    """Rows @ columns <= rhs, shapes (m, number of columns) and (m,)."""

    rows: sp.csr_array
    rhs: Array


@dataclass(frozen=True, eq=False)
class Root:
    """The cuts that are tight at the last relaxation, and the least objective of each relaxation that was solved, the plain one first."""

    cuts: Cuts
    objectives: list[float]


def solve(
    program: Program,
    embeddings: Sequence[Embedding] | Embedding,
    start: Result | Array | Sequence[Result | Array] | None = None,
    options: Options | Mapping[str, object] | None = None,
    num_rounds: int = NUM_ROUNDS,
) -> Result:
    """Add cuts at the root, in no more than so many rounds, then solve the exact encoding with them.

    The other parameters are those of `dcembed.solve`; the rounds are part of the time limit.
    """
    arguments = read_arguments(program, embeddings, start, options)

    def build(recorder: Recorder) -> BigM:
        problem, listed, check = arguments.minimized, arguments.embeddings, recorder.clock.check
        encoded = build_big_m(problem, listed, default_bounds(problem, listed, check))
        units = find_open_units(encoded, *column_box(problem, listed, check))
        part = recorder.clock.part(SHARE_OF_TIME * recorder.clock.left)
        cuts = cut_root(encoded.program, units, num_rounds, part, recorder.session_options).cuts
        return BigM(encoded.encoding, _with_cuts(encoded.program, cuts))

    return big_m.solve_encoding(arguments, build, "big-M with cuts at the root")


def find_open_units(encoded: BigM, lb: Array, ub: Array) -> OpenUnits:
    """The open units of an encoding of a program whose columns are between lb and ub, each of shape (n,)."""
    encoding, n = encoded.encoding, lb.size
    unit, cut = encoding.open_columns()
    # What a unit cuts off is in the row that defines it, and in no other one of the encoding.
    defining = sp.csc_array(encoding.rows)[:, cut].indices
    rows = sp.coo_array(encoding.rows[defining])
    low, high = (np.concatenate([ends, rest[n:]]) for ends, rest in ((lb, encoding.lb), (ub, encoding.ub)))
    is_term = (rows.col != unit[rows.row]) & (rows.col != cut[rows.row]) & (rows.data != 0)
    row, column, value = rows.row[is_term], rows.col[is_term], -rows.data[is_term]
    size = np.abs(value) * np.maximum(np.abs(low[column]), np.abs(high[column]))
    counts = np.abs(value) >= LEAST_COEFFICIENT
    # A term and what stands for it at the other end of its column are that far apart at most.
    margin = _sums(row, np.where(counts, SAFETY, 2.0) * size, unit.size) + SAFETY * np.abs(encoding.constant[defining])
    coefficients = sp.csr_array((value[counts], (row[counts], column[counts])), shape=(unit.size, encoded.program.num_columns))
    low, high, rises = low[coefficients.indices], high[coefficients.indices], coefficients.data > 0
    return OpenUnits(
        coefficients,
        encoding.constant[defining],
        np.where(rises, low, high),
        np.where(rises, high, low),
        unit,
        encoding.num_columns + np.arange(unit.size),
        encoding.ub[unit],
        margin,
    )


def separate(units: OpenUnits, x: Array, violation: float = VIOLATION) -> Cuts:
    """The most violated inequality at a point x of all columns, of every unit that has one that is violated enough."""
    coefficients, row = units.coefficients, row_numbers(units.coefficients)
    d = x[units.binary]
    inside = coefficients.data * (x[coefficients.indices] - units.lowest * (1.0 - d[row]))
    outside = coefficients.data * units.highest * d[row]
    excess = x[units.unit] - _sums(row, np.minimum(inside, outside), d.size) - units.constant * d
    return _write(units, inside < outside, np.flatnonzero(excess > violation * np.maximum(units.largest, 1.0)))


def cut_root(program: Program, units: OpenUnits, num_rounds: int, clock: Clock, options: SessionOptions) -> Root:
    """Cuts of an encoded program, round by round, until none is violated, little is gained, or the rounds or the time are used up."""
    relaxation = _relax(program)
    solver = Solver(choose_backend(relaxation.problem_class), SessionOptions(options.threads, options.seed))
    none = Cuts(sp.csr_array((0, program.num_columns)), np.zeros(0))
    cuts, objectives = none, list[float]()
    found = none
    for _ in range(num_rounds + 1):
        tried = Cuts(sp.csr_array(sp.vstack([cuts.rows, found.rows])), np.concatenate([cuts.rhs, found.rhs]))
        # Opened anew each time: from the last basis the dual simplex method of HiGHS takes a hundred times as long on some of these.
        with closing(LastingSession(_with_cuts(relaxation, tried), solver)) as session:
            x = session.solve(clock.limits()).x
        if x is None or clock.ended():
            break
        objectives.append(relaxation.objective(x))
        cuts = _select(tried, np.flatnonzero(tried.rhs - tried.rows @ x <= TIGHT * (1.0 + np.abs(tried.rhs))))
        found = separate(units, x)
        if found.rhs.size == 0 or (len(objectives) > 1 and objectives[-1] - objectives[-2] <= GAIN * abs(objectives[-1])):
            break
    return Root(cuts, objectives)


def _relax(program: Program) -> Program:
    """The program without integers; indicators become rows where bounds allow it, so that what is behind them counts."""
    try:
        return relaxed(linearize_indicators(program))
    except MissingBoundError:
        return relaxed(program)


def _write(units: OpenUnits, inside: Array, chosen: Array) -> Cuts:
    """The inequalities of some units as rows; `inside` says which entries of the coefficients are in the set I of their unit.

    z - sum_{i in I} c_i v_i - (e + sum_{i in I} c_i L_i + sum_{i not in I} c_i U_i) d <= -sum_{i in I} c_i L_i
    """
    coefficients, row = units.coefficients, row_numbers(units.coefficients)
    least, most, size = coefficients.data * units.lowest, coefficients.data * units.highest, units.unit.size
    at_zero, kept = _sums(row, np.where(inside, least, 0.0), size), np.flatnonzero(inside)
    slope = units.constant + _sums(row, np.where(inside, least, most), size)
    number = np.arange(size)
    entries = np.concatenate([-coefficients.data[kept], np.ones(size), -slope])
    places = np.concatenate([row[kept], number, number]), np.concatenate([coefficients.indices[kept], units.unit, units.binary])
    rows = sp.csr_array((entries, places), shape=coefficients.shape)
    return _select(Cuts(rows, units.margin - at_zero), chosen)


def _with_cuts(program: Program, cuts: Cuts) -> Program:
    return add_rows(program, cuts.rows, np.full(cuts.rhs.size, -np.inf), cuts.rhs) if cuts.rhs.size else program


def _select(cuts: Cuts, chosen: Array) -> Cuts:
    return Cuts(sp.csr_array(cuts.rows[chosen]), cuts.rhs[chosen])


def _sums(row: Array, values: Array, size: int) -> Array:
    return np.bincount(row, values, minlength=size)
