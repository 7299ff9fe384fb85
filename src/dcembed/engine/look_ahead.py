"""Looking ahead along binaries.

At a binary point the tangent of H knows only the slope; far away, where the other binary points are, H is higher. Once the tangent
model promises nothing, the slope along each binary is replaced by what flipping it really changes. That is no bound, so a
candidate found with it must prove itself, but it sees over ridges that stop the procedure.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dcembed.engine.global_split import GlobalSplit
from dcembed.engine.local_split import LocalSplit
from dcembed.program.elimination import EmbeddedProgram
from dcembed.program.measurements import Tangents

Array = np.ndarray

# Each flip costs an evaluation of all networks.
MAX_FLIPS = 64


def flip_columns(embedded: EmbeddedProgram) -> Array:
    """Binary columns that network inputs depend on; none if they are too many to try each."""
    host, columns = embedded.host, embedded.input_columns
    binary = columns[host.integer[columns] & (host.lb[columns] == 0) & (host.ub[columns] == 1)]
    return binary if binary.size <= MAX_FLIPS else binary[:0]


def look_ahead(split: GlobalSplit | LocalSplit, w: Array, columns: Array) -> Tangents:
    """The tangents of H at w with the slope along each of the binary `columns` replaced by the change a flip makes."""
    tangents = split.tangents(w)
    height = tangents.slope @ w + tangents.constant
    slope = sp.lil_array(tangents.slope)
    for column in columns:
        flipped = w.copy()
        flipped[column] = 1.0 - w[column]
        other = split.tangents(flipped)
        change = other.slope @ flipped + other.constant - height
        slope[:, [column]] = ((1.0 - 2.0 * w[column]) * change)[:, None]
    rows = sp.csr_array(slope)
    return Tangents(tangents.value, rows, height - rows @ w)
