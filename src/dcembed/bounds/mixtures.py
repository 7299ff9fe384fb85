"""Prices from inside: what a host pays for pieces that are mixtures of points which are known.

The multipliers of a relaxation say nothing about a row that its solution happens to keep, though all good points of the pieces violate it. With
each piece a mixture of points of its own set the row is paid for at once; these are the prices of a column generation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.bounds.boxes import Bounder, Multiplied
from dcembed.bounds.cover import Cover, inside
from dcembed.bounds.pieces import Piece
from dcembed.bounds.prices import Owners, Prices, paid_for
from dcembed.network.network import evaluate
from dcembed.program.derive import derive, widened
from dcembed.program.program import Program
from dcembed.solvers.base import SolveStatus

# Points of a piece that are mixed, the youngest.
MAX_POINTS = 200
# Mixtures whose points have no more than this share of the piece say nothing about where to split.
LEAST_SHARE = 0.01


@dataclass(frozen=True, eq=False)
class Mixture:
    """A piece as a mixture: its number, inputs of points (p, n_in), its functions there (p, k), and how far each input moves it (n_in,)."""

    number: int
    inputs: Array
    values: Array
    sensitivity: Array


@dataclass(frozen=True, eq=False)
class Mixed:
    """What is paid if pieces are mixtures, a point of the host (n,) with the largest part of each, and a column to split and where."""

    prices: list[Prices]
    guess: Array
    split: tuple[int, float] | None


def mix(number: int, piece: Piece, cover: Cover, best: Array | None) -> Mixture:
    """The points of a cover that are in the box of a piece, and where it is at the best point of the host (n,), if that is known."""
    points = cover.points if best is None else np.vstack([cover.points, piece.inputs(best)])
    points = inside(points, piece.box)[-MAX_POINTS:]
    values = evaluate(piece.network, points) @ piece.weights.T if points.size else np.zeros((0, piece.functions.size))
    return Mixture(number, points, values, cover.sensitivity)


def find_mixed_prices(owners: Owners, bounder: Bounder, mixtures: Sequence[Mixture], penalty: float) -> Mixed | None:
    """What the last relaxation pays if some of its pieces are mixtures; None where that is not known.

    Where no mixture is feasible a piece may go towards the point of the relaxation, at a penalty.
    """
    last = bounder.last
    if last is None or not mixtures:
        return None
    owner = owners.of_rows(last.relaxed, last.owner)
    base = np.flatnonzero(~np.isin(owner, [mixture.number for mixture in mixtures]))
    program = _program(owners, last, base, mixtures, penalty)
    solution = bounder.solve_aside(program)
    if solution.status is not SolveStatus.OPTIMAL or solution.x is None or solution.duals is None:
        return None
    multipliers = np.zeros(owner.size)
    multipliers[base] = solution.duals[: base.size]
    x, shares = np.split(solution.x, [last.x.size])
    prices = paid_for(owners, Multiplied(last.relaxed, x, multipliers, last.owner), owner)
    ends = np.cumsum([mixture.inputs.shape[0] + 1 for mixture in mixtures])
    parts = [own[:-1] for own in np.split(shares, ends[:-1])]
    w = x[: owners.relaxation.num_host]
    return Mixed(prices, _largest_parts(owners, mixtures, parts, w), _find_split(owners, mixtures, parts, prices, w))


def _largest_parts(owners: Owners, mixtures: Sequence[Mixture], parts: Sequence[Array], w: Array) -> Array:
    """The point with each piece at the point that has the largest share, where one column feeds each of its inputs."""
    guess = w.copy()
    for mixture, own in zip(mixtures, parts, strict=True):
        piece = owners.pieces[mixture.number]
        if own.max(initial=0.0) > 0 and np.unique(piece.place).size == piece.place.size:
            point = mixture.inputs[int(own.argmax())]
            guess[piece.columns] = (point - piece.offset)[piece.place] / piece.factor
    return guess


def _find_split(
    owners: Owners, mixtures: Sequence[Mixture], parts: Sequence[Array], prices: Sequence[Prices], w: Array
) -> tuple[int, float] | None:
    """In the piece whose mixture promises most over its mean, along the input in which its parts are furthest apart."""
    best: float = 0.0
    split: tuple[int, float] | None = None
    for mixture, own in zip(mixtures, parts, strict=True):
        piece, total = owners.pieces[mixture.number], float(own.sum())
        if total <= LEAST_SHARE:
            continue
        own = own / total
        mean = own @ mixture.inputs
        promise = evaluate(piece.network, mean[None])[0] @ piece.weights.T - own @ mixture.values
        missed = float(np.maximum(prices[mixture.number].functions, 0.0) @ np.maximum(promise, 0.0))
        # Of each column that feeds an input: how far apart the parts are there, and what the column could do about it.
        spread = (mixture.sensitivity * (own @ np.abs(mixture.inputs - mean)))[piece.place]
        reach = np.abs(piece.factor) * (piece.ub - piece.lb)
        if missed > best and spread.max(initial=0.0) > 0:
            column = int(piece.columns[np.lexsort((reach, spread))[-1]])
            best, split = missed, (column, float(w[column]))
    return split


def _program(owners: Owners, last: Multiplied, base: Array, mixtures: Sequence[Mixture], penalty: float) -> Program:
    """Columns are those of the relaxation, and the shares of the points."""
    relaxed, n = last.relaxed, owners.relaxation.num_host
    parts = [_tie(owners.pieces[mixture.number], mixture, last.x, n, relaxed.cost.size) for mixture in mixtures]
    shares = sp.block_diag([tie.shares for tie in parts], format="csr")
    size = shares.shape[1]
    cost = np.concatenate([np.append(np.zeros(tie.shares.shape[1] - 1), penalty) for tie in parts])
    own = sp.hstack([sp.vstack([tie.columns for tie in parts]), shares], format="csr")
    rest = sp.hstack([relaxed.rows[base], sp.csr_array((base.size, size))], format="csr")
    linear = Program(
        cost=np.concatenate([relaxed.cost, cost]),
        rows=sp.csr_array(sp.vstack([rest, own])),
        row_lb=np.concatenate([relaxed.row_lb[base], *(tie.lb for tie in parts)]),
        row_ub=np.concatenate([relaxed.row_ub[base], *(tie.ub for tie in parts)]),
        lb=np.concatenate([relaxed.lb, np.zeros(size)]),
        ub=np.concatenate([relaxed.ub, np.ones(size)]),
    )
    quadratic = relaxed.quadratic
    return linear if quadratic is None else derive(linear, quadratic=widened(quadratic, linear.cost.size, linear.cost.size))


@dataclass(frozen=True, eq=False)
class _Tie:
    """lb <= columns @ x + shares @ theta <= ub: inputs and functions of a piece are mixed."""

    columns: sp.csr_array
    shares: sp.csr_array
    lb: Array
    ub: Array


def _tie(piece: Piece, mixture: Mixture, x: Array, n: int, num_columns: int) -> _Tie:
    inputs, k = piece.offset.size, piece.functions.size
    points = np.vstack([mixture.inputs, piece.inputs(x[:n])])
    values = np.vstack([mixture.values, x[n + piece.functions]])
    row = np.concatenate([piece.place, inputs + np.arange(k)])
    column = np.concatenate([piece.columns, n + piece.functions])
    entry = np.concatenate([piece.factor, np.ones(k)])
    columns = sp.csr_array((entry, (row, column)), shape=(inputs + k + 1, num_columns))
    shares = np.vstack([-points.T, -values.T, np.ones(points.shape[0])])
    lb = np.concatenate([-piece.offset, np.zeros(k), [1.0]])
    ub = np.concatenate([-piece.offset, np.full(k, np.inf), [1.0]])
    return _Tie(columns, sp.csr_array(shares), lb, ub)
