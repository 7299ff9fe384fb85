"""A problem with columns behind the user's own, by which is written what a `Program` and its embeddings have no word for.

A step of lifting takes a `Lift` and returns one: regions of data become rows over new columns, the worst of an ensemble becomes a row for
each of its members. All new columns follow from the user's own, so that a point of the user's is completed, and one of the lifted problem is
cut off. Methods see the lifted problem alone, results are about the user's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.program.program import Program


@dataclass(frozen=True, eq=False)
class Lift:
    """The user's problem, and what methods work on.

    Parameters
    ----------
    given
        Program and embeddings as the user wrote them: results are measured against these.
    program, embeddings
        The lifted problem; its first columns are the user's.
    completions
        One for each step of lifting: a point of the columns so far to one with those that the step has added.
    replaced
        Embeddings of the user's whose outputs are no predictions of the lifted problem: their columns may be off there in the direction that does no good.
    """

    given: tuple[Program, tuple[Embedding, ...]]
    program: Program
    embeddings: tuple[Embedding, ...]
    completions: tuple[Callable[[Array], Array], ...] = ()
    replaced: tuple[Embedding, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether the problem is as the user wrote it."""
        return not self.completions

    def complete(self, x: Array) -> Array:
        """A point of the user's columns with the values of all others; one that has them already keeps its first columns only."""
        if self.is_plain:
            return x
        point = self.cut(x)
        for complete in self.completions:
            point = complete(point)
        return point

    def cut(self, x: Array) -> Array:
        """The user's columns of a point, all predictions in their places."""
        if self.is_plain:
            return x
        point = x[: self.given[0].num_columns].copy()
        for embedding in self.replaced:
            point[embedding.outputs] = embedding.predict(point)
        return point


def unlifted(program: Program, embeddings: Sequence[Embedding]) -> Lift:
    """A problem as it is."""
    return Lift((program, tuple(embeddings)), program, tuple(embeddings))
