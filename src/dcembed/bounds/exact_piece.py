"""The least price over the set of a piece by its exact encoding: where boxes of inputs are too many, units are few."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.bounds.exact_solver import bound_linear, choose_solver, is_moderate, loosened, solve_strictly, without_tiny
from dcembed.bounds.exact_units import limit_units, tighten_units
from dcembed.bounds.pieces import Piece
from dcembed.embedded.big_m import build_big_m
from dcembed.embedded.embedding import AffineInputs, Embedding
from dcembed.options import Options
from dcembed.program.program import Program
from dcembed.run.clock import Clock
from dcembed.solvers.base import Backend, Limits, SolveStatus

# Hidden units up to which a piece is encoded, and open ones after tightening.
MAX_UNITS, MAX_OPEN = 256, 128
# Seconds for one piece at most, the share of them for bounds of units, and the relative gap that is enough.
SECONDS, TIGHTEN_SHARE, GAP = 20.0, 0.05, 0.01
# The encoding leaves room above the price up to which it looks.
ROOM = 1e-6


def is_encodable(piece: Piece) -> bool:
    """Whether a piece has an exact encoding that is worthwhile."""
    return piece.network.is_piecewise_linear and piece.network.num_hidden <= MAX_UNITS


def least_exactly(piece: Piece, columns: Array, functions: Array, most: float, options: Options, clock: Clock) -> float:
    """A lower bound of prices over the set of a piece, no more than `most`; -inf where nothing is proved."""
    program = _program(piece, columns, functions, most)
    embedding = Embedding(piece.network, AffineInputs(_map(piece), piece.offset[None]), np.array([_outputs(piece)]))
    limits = clock.limits(GAP)
    seconds = min(limits.seconds, SECONDS)
    limited = limit_units(program, [embedding], clock.check)
    if not limited.is_finite:
        return -np.inf
    limited = tighten_units(limited, TIGHTEN_SHARE * seconds, lambda: clock.ended() is not None, options.seed)
    clock.check()
    encoded = build_big_m(program, limited.embeddings, limited.bounds, 0.0)
    box = (
        np.concatenate([limited.lb, encoded.program.lb[limited.lb.size :]]),
        np.concatenate([limited.ub, encoded.program.ub[limited.ub.size :]]),
    )
    strict = without_tiny(encoded.program, *box)
    backend = choose_solver(strict, options)
    if backend is None or limited.num_open > MAX_OPEN or not is_moderate(strict):
        return -np.inf
    solution = solve_strictly(strict, backend, replace(options, threads=1), replace(limits, seconds=seconds))
    clock.check()
    if solution.status is SolveStatus.INFEASIBLE:
        return most if _is_empty(strict, backend, options, replace(clock.limits(), seconds=seconds)) else -np.inf
    return min(most, bound_linear(solution, strict, *box))


def _is_empty(program: Program, backend: Backend, options: Options, limits: Limits) -> bool:
    """Whether a program is infeasible with looser rows and bounds, too: by a hair it may be a matter of tolerances."""
    relaxed = loosened(program)
    return relaxed is not None and solve_strictly(relaxed, backend, options, limits).status is SolveStatus.INFEASIBLE


def _outputs(piece: Piece) -> list[int]:
    first = piece.columns.size
    return [*range(first, first + piece.network.num_outputs)]


def _map(piece: Piece) -> sp.csr_array:
    shape = piece.offset.size, piece.columns.size + piece.network.num_outputs
    return sp.csr_array((piece.factor, (piece.place, np.arange(piece.columns.size))), shape=shape)


def _program(piece: Piece, columns: Array, functions: Array, most: float) -> Program:
    """min prices over [w_J | predictions], with the own restrictions and a row that leaves out what costs more than `most`."""
    c, outputs = piece.columns.size, piece.network.num_outputs
    cost = np.concatenate([columns, functions @ piece.weights])
    own = piece.own
    linear = np.zeros((own.rhs.size, c))
    np.add.at(linear.T, np.arange(c), (own.slope[:, piece.place] * piece.factor).T)
    rows = np.hstack([linear, own.weights])
    rhs = own.rhs - own.slope @ piece.offset
    room = most + ROOM * max(1.0, abs(most))
    free = np.full(outputs, np.inf)
    return Program(
        cost=cost,
        rows=np.vstack([rows, cost]),
        row_ub=np.concatenate([rhs, [room]]),
        lb=np.concatenate([piece.lb, -free]),
        ub=np.concatenate([piece.ub, free]),
    )
