"""A `Program` as arrays and names, and back: what is read is checked like what a user gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.program.cones import ConeConstraint, QuadraticConstraint
from dcembed.program.derive import derive
from dcembed.program.program import Indicator, Program
from dcembed.saving.matrices import pack_matrices, unpack_matrices
from dcembed.saving.packed import Packed

VECTORS = ("cost", "row_lb", "row_ub", "lb", "ub")
OBJECTIVES = ("quadratic", "concave")


def pack_program(program: Program) -> Packed:
    """Numbers as arrays, names as a record."""
    indicators, quadratics, cones = program.indicator_rows, program.quadratic_constraints, program.cones
    arrays: dict[str, Array] = {name: getattr(program, name) for name in VECTORS}
    arrays |= {"offset": np.array([program.offset]), "integer": program.integer, "maximize": np.array([program.maximize])}
    arrays |= pack_matrices([program.rows], "rows")
    for name in OBJECTIVES:
        if (matrix := getattr(program, name)) is not None:
            arrays |= pack_matrices([matrix], name)
    arrays |= {f"indicators.{name}": getattr(indicators, name) for name in ("column", "value", "lb", "ub")}
    arrays |= pack_matrices([indicators.matrix], "indicators.coefficients")
    arrays["quadratics.ub"] = np.array([constraint.ub for constraint in quadratics], dtype=np.float64)
    arrays |= pack_matrices([constraint.quadratic for constraint in quadratics], "quadratics.quadratic")
    arrays |= pack_matrices([constraint.coefficients for constraint in quadratics], "quadratics.coefficients")
    arrays["cones.heights"] = np.array([cone.matrix.shape[0] for cone in cones], dtype=np.int64)
    arrays["cones.numbers"] = np.array([cone.num_cones for cone in cones], dtype=np.int64)
    arrays["cones.sizes"] = np.concatenate([np.zeros(0, dtype=np.int64), *(cone.sizes for cone in cones)])
    arrays["cones.offset"] = np.concatenate([np.zeros(0), *(cone.offset for cone in cones)])
    arrays |= pack_matrices([cone.matrix for cone in cones], "cones.matrix")
    if program.column_numbers is not None:
        arrays["column_numbers"] = program.column_numbers.astype(np.int64)
    return Packed(
        arrays,
        {
            "columns": _listed(program.column_names),
            "rows": _listed(program.row_names),
            "indicators": [indicator.name for indicator in program.indicators],
            "quadratics": [constraint.name for constraint in quadratics],
            "cones": [_listed(cone.names) for cone in cones],
        },
    )


def unpack_program(packed: Packed, most_bytes: int) -> Program:
    """The program; ValueError (an InputError of the program's own where numbers do not fit) for anything else than one.

    Each quadratic constraint has a matrix of its own with as many rows as there are columns: `most_bytes` is what these may take.
    """
    vectors = {name: packed.numbers(name) for name in VECTORS}
    n, num_rows = vectors["cost"].size, vectors["row_lb"].size
    if 8 * packed.numbers("quadratics.ub").size * (n + 1) > most_bytes:
        raise ValueError("its quadratic constraints take more room than the size of the file explains")
    program = Program(
        **vectors,
        offset=_one(packed.numbers("offset")),
        maximize=bool(_one(packed.numbers("maximize", "b"))),
        integer=packed.numbers("integer", "b"),
        rows=unpack_matrices(packed, "rows", [num_rows], n)[0],
        **{name: unpack_matrices(packed, name, [n], n)[0] for name in OBJECTIVES if f"{name}.values" in packed.arrays},
        indicators=_unpack_indicators(packed, n),
        quadratic_constraints=_unpack_quadratics(packed, n),
        cones=_unpack_cones(packed, n),
        column_names=packed.record["columns"],
        row_names=packed.record["rows"],
    )
    if "column_numbers" not in packed.arrays:
        return program
    numbers = packed.numbers("column_numbers", "i")
    if numbers.size != n:
        raise ValueError(f"column_numbers has {numbers.size} entries, but there are {n} columns")
    return derive(program, column_numbers=numbers.astype(np.int64))


def _unpack_indicators(packed: Packed, n: int) -> list[Indicator]:
    column, value = packed.whole("indicators.column", n), packed.whole("indicators.value", 2)
    lb, ub = packed.numbers("indicators.lb"), packed.numbers("indicators.ub")
    rows = unpack_matrices(packed, "indicators.coefficients", [1] * column.size, n)
    columns = zip(column, value, rows, lb, ub, _names(packed, "indicators", column.size), strict=True)
    return [Indicator(int(j), int(v), row, low, high, name) for j, v, row, low, high, name in columns]


def _unpack_quadratics(packed: Packed, n: int) -> list[QuadraticConstraint]:
    ub = packed.numbers("quadratics.ub")
    quadratics = unpack_matrices(packed, "quadratics.quadratic", [n] * ub.size, n)
    rows = unpack_matrices(packed, "quadratics.coefficients", [1] * ub.size, n)
    columns = zip(quadratics, rows, ub, _names(packed, "quadratics", ub.size), strict=True)
    return [QuadraticConstraint(matrix, row, limit, name) for matrix, row, limit, name in columns]


def _unpack_cones(packed: Packed, n: int) -> list[ConeConstraint]:
    sizes, offset = packed.numbers("cones.sizes", "iu"), packed.numbers("cones.offset")
    # All rows and all cones of the file are those of its constraints.
    heights, numbers = packed.whole("cones.heights", offset.size + 1), packed.whole("cones.numbers", sizes.size + 1)
    if heights.sum() != offset.size or numbers.sum() != sizes.size:
        raise ValueError(f"its cones have {heights.sum()} rows, but {offset.size} are there")
    matrices = unpack_matrices(packed, "cones.matrix", heights.tolist(), n)
    offsets, lengths = np.split(offset, np.cumsum(heights)[:-1]), np.split(sizes, np.cumsum(numbers)[:-1])
    names = _names(packed, "cones", len(matrices))
    # Without any cone a split has one part all the same.
    columns = zip(matrices, offsets[: len(matrices)], lengths[: len(matrices)], names, strict=True)
    return [ConeConstraint(matrix, constants, lengths, named) for matrix, constants, lengths, named in columns]


def _listed(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else list(names)


def _names(packed: Packed, what: str, size: int) -> list[Any]:
    names = packed.record[what]
    if not isinstance(names, list) or len(names) != size:
        raise ValueError(f"there are {size} {what}, but not as many names")
    return names


def _one(array: Array) -> Any:
    if array.size != 1:
        raise ValueError(f"one number is expected, and {array.size} are there")
    return array[0]
