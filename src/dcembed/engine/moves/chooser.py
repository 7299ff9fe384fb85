"""Which kind of start comes next: those that have brought improvements for their work are likelier.

What is known of a kind is how many improvements it has brought and how much work it took, both fading with time. Its rate, improvements for a
unit of work, is drawn from what these leave open (Thompson's sampling), and the kind with the highest draw comes first: what is good is used, what
has been tried little is tried. Work is counted in steps, never in seconds, so that the same seed makes the same choices anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

# What is left of what is known after each start.
FADING = 0.98
# Improvements and work that each kind is credited with at first: as if every one was worth a try.
FIRST_GAIN, FIRST_WORK = 1.0, 10.0
# How sizes of neighbourhoods and kicks change: where nothing is left in them, and where they were too large to be finished.
WIDER, FINER, MUCH_FINER = 1.3, 0.8, 0.5
SMALLEST, LARGEST = 0.005, 1.0


@dataclass(frozen=True)
class Kind:
    """What is known of a kind of starts.

    Parameters
    ----------
    name
        The origin of its starts.
    size
        Of its neighbourhoods or kicks, in shares of what is there.
    effort
        What it takes to make a start of this kind before its first step, in steps.
    gain, work
        Improvements that it has brought, and what they and all others took, in steps; both fade.
    number
        Its starts so far.
    """

    name: str
    size: float
    effort: float = 1.0
    gain: float = FIRST_GAIN
    work: float = FIRST_WORK
    number: int = 0


@dataclass(frozen=True)
class Chooser:
    """The kinds of starts there are."""

    kinds: tuple[Kind, ...]

    def order(self, rng: np.random.Generator) -> tuple[Kind, ...]:
        """All kinds, the one that is to come next first; those that have not been tried come in turn before all others."""
        rates = [rng.gamma(kind.gain) / kind.work for kind in self.kinds]
        ranked = sorted(
            zip(self.kinds, rates, strict=True), key=lambda each: (each[0].number > 0, 0.0 if each[0].number == 0 else -each[1])
        )
        return tuple(kind for kind, _ in ranked)

    def heard(self, name: str, is_better: bool, work: float, factor: float) -> Chooser:
        """After a start of this kind whose steps were so much work; its size is to change by a factor."""
        faded = (replace(kind, gain=FADING * kind.gain, work=FADING * kind.work) for kind in self.kinds)
        return Chooser(tuple(_tried(kind, is_better, work, factor) if kind.name == name else kind for kind in faded))

    def missed(self, names: Sequence[str]) -> Chooser:
        """Some kinds had nothing to suggest: each counts as a start without a step."""
        return reduce(lambda chooser, name: chooser.heard(name, False, 0.0, 1.0), names, self)


def _tried(kind: Kind, is_better: bool, work: float, factor: float) -> Kind:
    size = float(np.clip(factor * kind.size, SMALLEST, LARGEST))
    return replace(kind, gain=kind.gain + is_better, work=kind.work + work + kind.effort, number=kind.number + 1, size=size)


def resized(is_better: bool, is_exhausted: bool, is_dear: bool = False) -> float:
    """The factor on the size of a kind: finer at once where it took long, as it was where it brought something, wider where all of it was seen."""
    if is_dear:
        return MUCH_FINER
    if is_better:
        return 1.0
    return WIDER if is_exhausted else FINER
