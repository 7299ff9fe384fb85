"""A program as arrays by name, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.program.cones import ConeConstraint, QuadraticConstraint
from dcembed.program.derive import derive
from dcembed.program.matrices import set_fields
from dcembed.program.program import Indicator, Program

_VECTORS = ("cost", "row_lb", "row_ub", "lb", "ub", "integer")

T = TypeVar("T", Indicator, QuadraticConstraint, ConeConstraint)


def pack(program: Program) -> dict[str, Array]:
    """All that a solver needs of a minimization, without copies of what is large; names of columns and rows stay behind."""
    arrays = {name: getattr(program, name) for name in _VECTORS} | {"offset": np.array(program.offset)}
    arrays |= pack_matrix("rows", program.rows)
    if program.quadratic is not None:
        arrays |= pack_matrix("quadratic", program.quadratic)
    if program.indicators:
        rows = program.indicator_rows
        arrays |= pack_matrix("indicators", rows.matrix)
        arrays |= {f"indicators.{name}": getattr(rows, name) for name in ("column", "value", "lb", "ub")}
    for number, constraint in enumerate(program.quadratic_constraints):
        arrays |= pack_matrix(f"constraint.{number}", constraint.quadratic)
        arrays |= pack_matrix(f"constraint.{number}.linear", constraint.coefficients)
    arrays["constraint.ub"] = np.array([constraint.ub for constraint in program.quadratic_constraints], dtype=np.float64)
    if program.cones:
        arrays |= pack_matrix("cones", program.cone_rows.matrix)
        arrays |= {"cones.offset": program.cone_rows.offset, "cones.sizes": program.cone_rows.sizes}
    return arrays


def unpack(arrays: Mapping[str, Array]) -> Program:
    """The program, of which nothing is checked again."""
    return derive(
        Program(np.zeros(arrays["cost"].size)),
        **{name: arrays[name] for name in _VECTORS},
        offset=float(arrays["offset"]),
        rows=unpack_matrix("rows", arrays),
        quadratic=unpack_matrix("quadratic", arrays) if "quadratic.data" in arrays else None,
        indicators=_indicators(arrays) if "indicators.data" in arrays else (),
        quadratic_constraints=tuple(_constraint(arrays, number, float(ub)) for number, ub in enumerate(arrays["constraint.ub"])),
        cones=(_cones(arrays),) if "cones.data" in arrays else (),
    )


def pack_matrix(name: str, matrix: sp.csr_array) -> dict[str, Array]:
    """The arrays of a matrix in compressed rows."""
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": np.array(matrix.shape)}
    return {f"{name}.{part}": array for part, array in parts.items()}


def unpack_matrix(name: str, arrays: Mapping[str, Array]) -> sp.csr_array:
    """The matrix of such arrays."""
    data, indices, indptr, shape = (arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr", "shape"))
    return sp.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))


def _indicators(arrays: Mapping[str, Array]) -> tuple[Indicator, ...]:
    matrix = unpack_matrix("indicators", arrays)
    column, value, lb, ub = (arrays[f"indicators.{name}"].tolist() for name in ("column", "value", "lb", "ub"))
    return tuple(
        _made(Indicator, column=column[i], value=value[i], coefficients=matrix[[i]], lb=lb[i], ub=ub[i], name=None)
        for i in range(matrix.shape[0])
    )


def _constraint(arrays: Mapping[str, Array], number: int, ub: float) -> QuadraticConstraint:
    quadratic, linear = (unpack_matrix(f"constraint.{number}{part}", arrays) for part in ("", ".linear"))
    return _made(QuadraticConstraint, quadratic=quadratic, coefficients=linear, ub=ub, name=None)


def _cones(arrays: Mapping[str, Array]) -> ConeConstraint:
    matrix = unpack_matrix("cones", arrays)
    return _made(ConeConstraint, matrix=matrix, offset=arrays["cones.offset"], sizes=arrays["cones.sizes"], names=None)


def _made(kind: type[T], **values: object) -> T:
    """With its fields as they are: what was checked once is not checked again."""
    made = object.__new__(kind)
    set_fields(made, **values)
    return made
