"""Piecewise linear functions of one column, as Gurobi means them.

The first and the last piece go on beyond the points. Where two points have the same place the function jumps, and both values are its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dcembed.frontends.cases import Cases, Row, attained

# Gurobi's own: points that are closer are a jump.
JUMP = 1e-6
# Slopes that differ by less, relative to the largest, are those of one line: they come from differences of rounded numbers.
SLOPE_TOL = 1e-12
# A place this far outside a piece is on its end, up to rounding.
PLACE_TOL = 1e-9


@dataclass(frozen=True)
class Piece:
    """y = slope x + intercept for start <= x <= end."""

    start: float
    end: float
    slope: float
    intercept: float


@dataclass(frozen=True)
class Curve:
    """A function through points, given by their places in increasing order and their values."""

    places: tuple[float, ...]
    values: tuple[float, ...]

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """From left to right; a point between two jumps is a piece of its own."""
        x, y = np.array(self.places), np.array(self.values)
        jumps = np.diff(x) < JUMP
        lone = np.concatenate([[True], jumps]) & np.concatenate([jumps, [True]])
        found = []
        for i in range(x.size):
            if lone[i]:
                found.append(Piece(x[i], x[i], 0.0, y[i]))
            elif i + 1 < x.size and not jumps[i]:
                slope = (y[i + 1] - y[i]) / (x[i + 1] - x[i])
                start, end = -np.inf if i == 0 else x[i], np.inf if i + 2 == x.size else x[i + 1]
                found.append(Piece(float(start), float(end), float(slope), float(y[i] - slope * x[i])))
        return tuple(found)

    @property
    def bend(self) -> float:
        """1 of a convex function, -1 of a concave one, 0 of any other."""
        if (np.diff(self.places) < JUMP).any():
            return 0.0
        slopes = np.array([piece.slope for piece in self.pieces])
        turns = np.diff(slopes)
        slack = SLOPE_TOL * np.abs(slopes).max()
        return 1.0 if (turns >= -slack).all() else -1.0 if (turns <= slack).all() else 0.0

    def value(self, x: float, sense: float) -> float:
        """At x; where it jumps the smaller value for `sense` 1, the larger one for -1."""
        away = [max(piece.start - x, x - piece.end, 0.0) for piece in self.pieces]
        near = [piece for piece, distance in zip(self.pieces, away, strict=True) if distance <= min(away) + PLACE_TOL]
        return min((piece.slope * x + piece.intercept for piece in near), key=lambda y: sense * y)


SIZE = Curve((-1.0, 0.0, 1.0), (1.0, 0.0, 1.0))


def on_curve(name: str, x: int, y: int, curve: Curve) -> Cases:
    """w[y] is the value of the curve at w[x]."""
    if curve.bend:
        return _among_lines(name, x, y, curve)
    return Cases(
        name,
        (),
        tuple(
            (Row((x,), (1.0,), piece.start, piece.end), Row((y, x), (1.0, -piece.slope), piece.intercept, piece.intercept))
            for piece in curve.pieces
        ),
    )


def beyond_curve(name: str, x: int, y: int, curve: Curve) -> Cases:
    """w[y] is not below a convex curve, or not above a concave one: all that an objective that wants it there has to know."""
    return Cases(name, _among_lines(name, x, y, curve).always)


def _among_lines(name: str, x: int, y: int, curve: Curve) -> Cases:
    """A convex curve is the largest of its lines, a concave one the smallest."""
    sign = curve.bend
    return attained(name, [((y, x), (sign, -sign * line.slope), sign * line.intercept) for line in curve.pieces])
