"""Solver backends: one file each, one table, and sessions that survive their failures."""

from dcembed.solvers.base import CLASSES, Backend, Limits, Session, SessionOptions, Solution, SolveStatus
from dcembed.solvers.table import BACKENDS, choose_backend, is_installed, other_backend

__all__ = [
    "BACKENDS",
    "CLASSES",
    "Backend",
    "Limits",
    "Session",
    "SessionOptions",
    "Solution",
    "SolveStatus",
    "choose_backend",
    "is_installed",
    "other_backend",
]
