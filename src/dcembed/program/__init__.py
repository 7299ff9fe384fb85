"""The host alone: matrices, bounds, integers, indicators and convex constraints."""

from dcembed.program.cones import ConeConstraint, QuadraticConstraint
from dcembed.program.nonconvex import split_quadratic
from dcembed.program.program import Indicator, Program

__all__ = ["ConeConstraint", "Indicator", "Program", "QuadraticConstraint", "split_quadratic"]
