"""How things are called in the tool that a problem is written in: what to do next is said in words that can be typed there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Words:
    """The words of one tool.

    Parameters
    ----------
    go_on
        What goes on from the best point of a run.
    nearest
        Where the point is that is nearest to feasible, where none is feasible.
    prove
        What asks for a bound.
    option
        How an option is named, with {} for its name.
    named
        Options that are called otherwise.
    """

    go_on: str
    nearest: str
    prove: str = "prove='auto'"
    option: str = "{}"
    named: Mapping[str, str] = field(default_factory=dict)

    def fill_in(self, text: str) -> str:
        """A text that names options and what to do in braces, in the words of the tool.

        Examples
        --------
        >>> PYTHON.fill_in("Raise {time_limit} to go on with {go_on}.")
        'Raise time_limit to go on with start=result.'
        """
        return text.format_map(_Named(self))


class _Named(dict[str, str]):
    """The words by what stands in braces; what is none of them is the name of an option."""

    def __init__(self, words: Words) -> None:
        super().__init__(go_on=words.go_on, nearest=words.nearest, prove=words.prove, **words.named)
        self._option = words.option

    def __missing__(self, name: str) -> str:
        return self._option.format(name)


PYTHON = Words(go_on="start=result", nearest="in result.x", prove="Options(prove='auto')")
