"""Which columns a point on its way to infinity has gone far along, in the user's names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.program.program import Program
from dcembed.tables import name_columns

# Columns that have gone this share of the farthest one's way have run away with it, from this far on; so many are named.
SHARE, FAR, MOST_NAMED = 1e-3, 1e6, 3


def name_runaways(program: Program, embeddings: Sequence[Embedding], x: Array) -> str:
    """What has gone how far where it has no bound; empty if nothing has. Predictions follow their inputs and are not named.

    Examples
    --------
    >>> program = Program(cost=[-1.0, 1.0], lb=[0.0, 0.0], column_names=["power", "heat"])
    >>> name_runaways(program, [], np.array([3e12, 5.0]))
    'power went to 3e+12, it has no upper bound'
    """
    is_input = np.ones(program.num_columns, dtype=bool)
    for embedding in embeddings:
        is_input[np.unique(embedding.outputs)] = False
    is_endless = np.isinf(np.where(x > 0, program.ub, program.lb)) & is_input
    far = np.flatnonzero(is_endless & (np.abs(x) >= max(FAR, SHARE * float(np.abs(x[is_endless]).max(initial=0.0)))))
    names, order = name_columns(program), far[np.argsort(-np.abs(x[far]), kind="stable")]
    named = [
        f"{names[column]} went to {x[column]:.0e}, it has no {'upper' if x[column] > 0 else 'lower'} bound" for column in order[:MOST_NAMED]
    ]
    more = [f"{far.size - MOST_NAMED} more columns without a bound"] if far.size > MOST_NAMED else []
    return "; ".join([*named, *more])
