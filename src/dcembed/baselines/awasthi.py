"""The difference-of-convex algorithm of Awasthi, Mao, Mohri and Zhong (2024): a network in the objective, and nowhere else.

The objective is split by their recursion (theorem 3.1 of the paper) into G - H; H is linearized at the iterate, G is held by the
columns of both components, layer by layer, and the convex rest is solved over the host until the objective stands still. Without
neural rows there is nothing to penalize, and the penalty convex-concave procedure with the two-path representation is just that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dcembed.embedded.elimination import eliminate
from dcembed.embedded.embedding import Embedding
from dcembed.engine.solve import solve as solve_embedded
from dcembed.errors import InputError
from dcembed.options import Options
from dcembed.program.program import Program
from dcembed.result import Result
from dcembed.run.arguments import read_embeddings, read_options

Array = np.ndarray


def solve(
    program: Program,
    embeddings: Sequence[Embedding] | Embedding,
    start: Array | Sequence[Array] | None = None,
    options: Options | Mapping[str, object] | None = None,
) -> Result:
    """Iterate from each start. Parameters are those of `dcembed.solve`; `formulation` and `decomposition` are given by the method.

    Predictions may be used in the linear objective only. Integers of the host stay in the subproblems.
    """
    options = replace(read_options(options), formulation="two-path", decomposition="global")
    embeddings = read_embeddings(program, embeddings)
    num_rows = eliminate(program, embeddings).restrictions.num_restrictions
    if num_rows:
        raise InputError(
            f"The algorithm of Awasthi et al. takes a network in a scalar objective only, but this problem has {num_rows} neural "
            "restrictions: predictions in rows, bounds or indicators, or ones that must stay columns (integer, in the quadratic "
            "objective, or inputs of another network). Use dcembed.solve or another baseline for it."
        )
    return solve_embedded(program, embeddings, start, options)
