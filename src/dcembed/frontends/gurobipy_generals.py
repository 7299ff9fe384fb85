"""What a gurobipy model has beside matrices: general constraints, SOS, semi-continuous variables and piecewise linear objectives.

What is linear by cases is translated exactly. Functions that Gurobi itself approximates are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import gurobipy as gp
import numpy as np

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.frontends.cases import Cases, Row, both, either, largest, largest_size
from dcembed.frontends.curves import SIZE, Curve, beyond_curve, on_curve
from dcembed.frontends.extension import CurveColumn, Extension
from dcembed.frontends.gurobipy_state import registry
from dcembed.frontends.infinity import INFINITY
from dcembed.frontends.messages import CARRIES
from dcembed.frontends.norms import Norm
from dcembed.frontends.switches import Switches, semi_continuous, special_ordered
from dcembed.program.derive import derive
from dcembed.program.program import Program

KINDS = {value: name.removeprefix("GENCONSTR_") for name, value in vars(gp.GRB).items() if name.startswith("GENCONSTR_")}
SEMI = "S", "N"


@dataclass(frozen=True)
class Translation:
    """What a general constraint says; `binaries` are columns that are binary because of it, whatever their type."""

    parts: tuple[Cases, ...] = ()
    curves: tuple[CurveColumn, ...] = ()
    norms: tuple[Norm, ...] = ()
    binaries: tuple[int, ...] = ()


def read_extension(model: gp.Model, program: Program) -> tuple[Program, Extension]:
    """The program with bounds and kinds as these constraints mean them, and what they add to it."""
    n = program.num_columns
    objective = _read_objective(model)
    found = [Translation(_tie_objective(objective, n, program.sense), objective)]
    for constraint in model.getGenConstrs() if model.NumGenConstrs else []:
        if constraint.GenConstrType != gp.GRB.GENCONSTR_INDICATOR:
            found.append(_read_general(model, constraint, n + sum(len(item.curves) for item in found)))
    semi, program = _read_semi(model, program)
    cases = [part for item in found for part in item.parts]
    curves = tuple(curve for item in found for curve in item.curves)
    norms = tuple(norm for item in found for norm in item.norms)
    program = _make_binary(program, [column for item in found for column in item.binaries])
    return program, Extension(n, curves, (*semi, *_read_sets(model, program), *cases), norms, program.sense)


def _read_general(model: gp.Model, constraint: gp.GenConstr, next_column: int) -> Translation:
    kind, name = constraint.GenConstrType, constraint.GenConstrName
    if kind == gp.GRB.GENCONSTR_PWL:
        x, y, places, values = model.getGenConstrPWL(constraint)
        return Translation((on_curve(name, x.index, y.index, Curve(tuple(places), tuple(values))),))
    if kind == gp.GRB.GENCONSTR_ABS:
        result, x = model.getGenConstrAbs(constraint)
        return Translation((on_curve(name, x.index, result.index, SIZE),))
    if kind == gp.GRB.GENCONSTR_NORM:
        result, members, which = model.getGenConstrNorm(constraint)
        return _read_norm(name, result.index, _columns(members), which, next_column)
    if kind in _EXTREMES:
        read_extreme, sign = _EXTREMES[kind]
        result, members, constant = read_extreme(model, constraint)
        given = constant if abs(constant) < INFINITY else None
        return Translation((largest(name, result.index, _columns(members), given, sign),))
    if kind in _LOGIC:
        read_logic, write = _LOGIC[kind]
        result, members = read_logic(model, constraint)
        columns = _columns(members)
        return Translation((write(name, result.index, columns),), binaries=(result.index, *columns))
    raise InputError(f"optimize: the general constraint '{name}' is of kind {KINDS.get(kind, kind)}; {CARRIES}.")


_EXTREMES: dict[int, tuple[Callable[..., tuple[gp.Var, list[gp.Var], float]], float]] = {
    gp.GRB.GENCONSTR_MAX: (gp.Model.getGenConstrMax, 1.0),
    gp.GRB.GENCONSTR_MIN: (gp.Model.getGenConstrMin, -1.0),
}
_LOGIC: dict[int, tuple[Callable[..., tuple[gp.Var, list[gp.Var]]], Callable[[str, int, Sequence[int]], Cases]]] = {
    gp.GRB.GENCONSTR_AND: (gp.Model.getGenConstrAnd, both),
    gp.GRB.GENCONSTR_OR: (gp.Model.getGenConstrOr, either),
}


def _read_norm(name: str, result: int, members: tuple[int, ...], which: float, next_column: int) -> Translation:
    if which == 0:
        raise InputError(f"optimize: the general constraint '{name}' is a norm of order 0; dcembed takes 1, 2 and inf.")
    if which >= INFINITY:
        return Translation((largest_size(name, result, members),))
    if len(members) == 1:
        return Translation((on_curve(name, members[0], result, SIZE),))
    if which == 2:
        return Translation(norms=(Norm(name, result, members),))
    # The sum of added columns, each the absolute value of a member.
    sizes = tuple(range(next_column, next_column + len(members)))
    added = tuple(CurveColumn(f"{name} size {number}", member, SIZE) for number, member in enumerate(members))
    total = Cases(name, (Row((result, *sizes), (1.0, *(-1.0,) * len(sizes)), 0.0, 0.0),))
    return Translation((total, *(on_curve(name, x, y, SIZE) for x, y in zip(members, sizes, strict=True))), added)


def _read_objective(model: gp.Model) -> tuple[CurveColumn, ...]:
    """One column for each variable in which the objective is piecewise linear."""
    points = ((variable, model.getPWLObj(variable)) for variable in model.getVars()) if model.NumPWLObjVars else ()
    return tuple(
        CurveColumn(f"objective in {variable.VarName}", variable.index, Curve(*zip(*found, strict=True)), 1.0)
        for variable, found in points
        if found
    )


def _tie_objective(curves: Sequence[CurveColumn], first: int, sense: float) -> tuple[Cases, ...]:
    """What the objective wants against its curve anyway needs no binaries."""
    return tuple(
        (beyond_curve if added.curve.bend == sense else on_curve)(added.name, added.place, first + number, added.curve)
        for number, added in enumerate(curves)
    )


def _read_semi(model: gp.Model, program: Program) -> tuple[list[Switches], Program]:
    """Semi-continuous and semi-integer variables, and the program in which they may be zero."""
    is_semi = np.isin(model.getAttr("VType", model.getVars()), SEMI)
    members = np.flatnonzero(is_semi & ((program.lb > 0) | (program.ub < 0)))
    if not members.size:
        return [], program
    lb, ub = program.lb.copy(), program.ub.copy()
    lb[members], ub[members] = np.minimum(lb[members], 0.0), np.maximum(ub[members], 0.0)
    return [semi_continuous(members, program.lb, program.ub, "semi-continuous")], derive(program, lb=lb, ub=ub)


def _read_sets(model: gp.Model, program: Program) -> list[Switches]:
    """The SOS constraints, but for those by which predictors mark a model as mixed-integer."""
    markers = {marker.index for predictor in registry(model) for marker in predictor.sos}
    found = []
    for constraint in model.getSOSs() if model.NumSOS > len(markers) else []:
        if constraint.index not in markers:
            order, members, weights = model.getSOS(constraint)
            columns: Array = np.array(_columns(members), dtype=np.int64)[np.argsort(weights, kind="stable")]
            found.append(special_ordered([columns], order, program.lb, program.ub, f"SOS {constraint.index}"))
    return found


def _make_binary(program: Program, columns: Sequence[int]) -> Program:
    """Gurobi takes what is in a logical constraint for binary, whatever its type and bounds."""
    if not columns:
        return program
    which = list(columns)
    lb, ub, integer = program.lb.copy(), program.ub.copy(), program.integer.copy()
    lb[which], ub[which], integer[which] = np.maximum(lb[which], 0.0), np.minimum(ub[which], 1.0), True
    return derive(program, lb=lb, ub=ub, integer=integer)


def _columns(variables: Sequence[gp.Var]) -> tuple[int, ...]:
    return tuple(variable.index for variable in variables)
