"""What a front end is: `extract` lifts a model out of its tool, `restore` puts the answer back.

The program of an extraction has the names and the sense of the user's model in it. So no front end negates an objective or translates a
message: a maximization goes into `dcembed.solve` as it is, and everything that comes back speaks of the user's model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.engine.solve import solve_for
from dcembed.frontends.extension import NO_EXTENSION, Extension
from dcembed.frontends.probability import NO_PROBABILITIES, Probabilities, fill_in
from dcembed.options import Options
from dcembed.program.program import Program
from dcembed.reading import as_flag
from dcembed.result import Result
from dcembed.status import Status
from dcembed.words import Words

Starts = Result | Array | Sequence[Result | Array]

Model = TypeVar("Model")
Handle = TypeVar("Handle")
Answer = TypeVar("Answer")
ModelIn = TypeVar("ModelIn", contravariant=True)
AnswerOut = TypeVar("AnswerOut", covariant=True)


@dataclass(frozen=True, eq=False)
class Extraction(Generic[Handle]):
    """A model of some tool as matrices, and the way back.

    Parameters
    ----------
    program
        The host, with the user's names of columns and constraints and the user's sense.
    embeddings
        The networks in the model.
    handle
        The user's objects, in whatever form the front end's `restore` needs to put values into them.
    probabilities
        Columns that get their value from another one after the run.
    extension
        Columns behind those of the user's model, which exist in the program only.
    """

    program: Program
    embeddings: tuple[Embedding, ...]
    handle: Handle
    probabilities: Probabilities = NO_PROBABILITIES
    extension: Extension = NO_EXTENSION


class FrontEnd(Protocol[ModelIn, Handle, AnswerOut]):
    """What translates between a tool and dcembed; each module of a tool is one."""

    @property
    def WORDS(self) -> Words:
        """How users of the tool do what a result advises."""

    def extract(self, model: ModelIn, /) -> Extraction[Handle]:
        """Read a model. Nothing of it is changed."""

    def restore(self, extraction: Extraction[Handle], result: Result, /, load_infeasible: bool = False) -> AnswerOut:
        """Put the point of a result into the model that was extracted, and say in the tool's words what happened.

        A point that is not feasible is put there only where `load_infeasible` asks for it; what is said of it is the same.
        """


def solve_model(
    front_end: FrontEnd[Model, Handle, Answer],
    model: Model,
    options: Options,
    find_start: Callable[[Extraction[Handle]], Starts | None] | None = None,
    is_hint: bool = False,
    load_infeasible: bool = False,
) -> Answer:
    """Extract a model, solve it, and restore the answer.

    Parameters
    ----------
    front_end, model
        The tool's translator and what it translates.
    options
        Of the run.
    find_start
        Gives the points to begin from; called once, between the extraction and the run.
    is_hint
        Whether a start that leads to nothing feasible is forgotten and the run begun anew, as MIP solvers do with theirs.
    load_infeasible
        Whether the point that is nearest to feasible is put into the model where none is feasible.
    """
    as_flag(load_infeasible, "solve: load_infeasible")
    extraction = front_end.extract(model)
    start = find_start(extraction) if find_start is not None else None
    start = extraction.extension.complete_start(start, extraction.embeddings, extraction.program.num_columns)
    result = solve_for(front_end.WORDS, extraction.program, extraction.embeddings, start, options)
    if is_hint and start is not None and result.status is Status.LOCALLY_INFEASIBLE:
        remaining = replace(options, time_limit=max(options.time_limit - result.seconds, 0.0))
        result = solve_for(front_end.WORDS, extraction.program, extraction.embeddings, None, remaining)
    completed = fill_in(extraction.extension.complete_result(result), extraction.probabilities)
    return front_end.restore(extraction, completed, load_infeasible)


def is_loaded(result: Result, load_infeasible: bool) -> bool:
    """Whether the point of a result belongs into the model."""
    return result.x is not None and (result.is_feasible or load_infeasible)
