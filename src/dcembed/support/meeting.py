"""Where a host and the regions that its inputs must be in do not meet: how near they come."""

from __future__ import annotations

from collections.abc import Sequence

from dcembed.arrays import Array
from dcembed.copies import replace
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.lift import Lift, unlifted
from dcembed.program.derive import without_objective
from dcembed.program.program import Program
from dcembed.support.lifting import lift_supports
from dcembed.support.region import Support

# Regions that are named.
NUM_NAMED = 3


def soften(program: Program, embeddings: Sequence[Embedding]) -> Lift | None:
    """The constraints of the host with regions that may be left, at the price of the distance alone; None where there is none that must not be."""
    is_held = [isinstance(each.support, Support) and each.support.weight is None for each in embeddings]
    if not any(is_held):
        return None
    freed = [_at_a_price(each) if held else each.with_support(None) for each, held in zip(embeddings, is_held, strict=True)]
    return lift_supports(unlifted(without_objective(program), freed))


def describe_outside(program: Program, embeddings: Sequence[Embedding], x: Array, tolerance: float) -> str:
    """Which regions a point is outside of, and by how much, the farthest first; empty where it is in all of them."""
    found = []
    for embedding in embeddings:
        region = embedding.support
        if region is None or region.weight is not None:
            continue
        found += [
            (
                float(far),
                f"the {region.label} that the inputs of {program.column_label(int(outputs[0]))} belong into is {far:.3g} scaled units away",
            )
            for far, outputs in zip(region.excess(embedding.points(x)), embedding.outputs, strict=True)
            if far > tolerance
        ]
    found.sort(key=lambda entry: -entry[0])
    more = f", and {len(found) - NUM_NAMED:,} more regions" if len(found) > NUM_NAMED else ""
    return "; ".join(text for _, text in found[:NUM_NAMED]) + more


def _at_a_price(embedding: Embedding) -> Embedding:
    region = embedding.support
    assert isinstance(region, Support)
    # The copy computes its own piece.
    return embedding.with_support(replace(region, weight=1.0))
