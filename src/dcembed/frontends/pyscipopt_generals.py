"""SOS constraints and logical ones of SCIP, with binary columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyscipopt

from dcembed.frontends.cases import Cases, both, either
from dcembed.frontends.extension import Extension
from dcembed.frontends.pyscipopt_predictor import column_numbers
from dcembed.frontends.switches import Switches, special_ordered
from dcembed.program.program import Program

ORDERS = {"SOS1": 1, "SOS2": 2}
LOGIC = {"and": both, "or": either}
# SCIP's names of the constraints that are read here.
KINDS = (*ORDERS, *LOGIC)


def read_extension(scip: pyscipopt.Model, constraints: Sequence[Any], numbers: Mapping[int, int], program: Program) -> Extension:
    """What constraints of these kinds add to a program."""
    parts = tuple(_read(scip, constraint, numbers, program) for constraint in constraints)
    return Extension(program.num_columns, parts=parts, sense=program.sense)


def _read(scip: pyscipopt.Model, constraint: Any, numbers: Mapping[int, int], program: Program) -> Cases | Switches:
    kind, name = constraint.getConshdlrName(), constraint.name
    # SCIP has the members of a set by their weights, and the result of a logical constraint last.
    columns = column_numbers(scip.getConsVars(constraint), numbers, f"in the constraint '{name}'")
    if kind in ORDERS:
        return special_ordered([columns], ORDERS[kind], program.lb, program.ub, name)
    *members, result = columns.tolist()
    return LOGIC[kind](name, result, members)
