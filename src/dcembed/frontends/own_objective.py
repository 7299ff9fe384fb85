"""The objective as the user's tool computes it: without what inputs outside of their support cost.

The price of a soft region is in `result.objective`, which is what is optimized and what a bound is about. No tool has it in its model: what it shows as the
value of its objective is that of the user's own expression.
"""

from __future__ import annotations

from collections.abc import Sequence

from dcembed.embedded.embedding import Embedding
from dcembed.result import Result


def has_price(embeddings: Sequence[Embedding]) -> bool:
    """Whether inputs of a network may be outside of their support at a price."""
    return any(embedding.support is not None and bool(embedding.support.weight) for embedding in embeddings)


def own_objective(result: Result) -> float:
    """What the user's own expression is at the point of a result."""
    if result.x is None or not has_price(result.embeddings):
        return result.objective
    return result.program.objective(result.x)
