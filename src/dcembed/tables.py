"""What a result has, as columns of a table: plain data, of which pandas makes a frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.errors import MissingPackageError
from dcembed.program.program import Program

if TYPE_CHECKING:
    import pandas


def name_columns(program: Program) -> list[str]:
    """The user's names of the columns; numbered where there are none.

    Examples
    --------
    >>> name_columns(Program(cost=[1.0, 2.0, 3.0], column_names=["a", "", "c"]))
    ['a', 'x1', 'c']
    """
    names = program.column_names or ("",) * program.num_columns
    return [name or f"x{number}" for number, name in enumerate(names)]


def columns_table(program: Program, embeddings: Sequence[Embedding], x: Array | None) -> dict[str, Any]:
    """Value, bounds and kind of every column."""
    kinds = np.full(program.num_columns, "continuous", dtype=object)
    kinds[program.integer] = "integer"
    for embedding in embeddings:
        kinds[np.asarray(embedding.outputs).reshape(-1)] = "prediction"
    value = np.full(program.num_columns, np.nan) if x is None else x
    return {"value": value, "lower": program.lb, "upper": program.ub, "kind": kinds}


def build_frame(columns: dict[str, Any], index: Sequence[str] | None = None, name: str | None = None) -> pandas.DataFrame:
    """A frame of pandas; MissingPackageError where that is not installed."""
    try:
        import pandas
    except ModuleNotFoundError:
        raise MissingPackageError("A frame needs the package pandas, which is not installed. Run: pip install pandas") from None
    frame = pandas.DataFrame(columns, index=index)
    frame.index.name = name
    return frame
