"""What brought improvements for its work comes more often, and nothing is given up for good."""

from __future__ import annotations

from collections import Counter

import numpy as np

from dcembed.engine.moves.chooser import FINER, SMALLEST, WIDER, Chooser, Kind, resized
from dcembed.engine.moves.table import MOVES, open_chooser
from move_problems import jobs_problem, open_terrain, two_valleys


def tried(chooser: Chooser, rounds: int, good: str) -> Counter[str]:
    """Which kinds came first in some rounds in which one kind brings something every other time."""
    chosen: Counter[str] = Counter()
    for number in range(rounds):
        first = chooser.order(np.random.default_rng([1, number]))[0].name
        chosen[first] += 1
        chooser = chooser.heard(first, first == good and number % 2 == 0, 5.0, 1.0)
    return chosen


def test_what_brings_improvements_comes_more_often_and_the_others_still_come():
    chooser = Chooser((Kind("a", 0.1), Kind("b", 0.1), Kind("c", 0.1)))
    chosen = tried(chooser, 100, "b")
    assert chosen["b"] > 60
    assert min(chosen.values()) >= 2
    assert chosen == tried(chooser, 100, "b")


def test_every_kind_is_tried_once_in_turn():
    chooser = Chooser((Kind("a", 0.1), Kind("b", 0.1), Kind("c", 0.1)))
    for name in "abc":
        assert chooser.order(np.random.default_rng(0))[0].name == name
        chooser = chooser.heard(name, False, 1.0, 1.0)
    assert {kind.number for kind in chooser.kinds} == {1}
    assert Chooser((Kind("a", 0.1), Kind("b", 0.1))).missed(("a",)).order(np.random.default_rng(0))[0].name == "b"


def test_dear_starts_must_bring_more():
    cheap, dear = Kind("cheap", 1.0, effort=1.0), Kind("dear", 1.0, effort=50.0)
    chooser = Chooser((cheap, dear)).heard("cheap", True, 1.0, 1.0).heard("dear", True, 1.0, 1.0)
    first = Counter(chooser.order(np.random.default_rng(number))[0].name for number in range(100))
    assert first["cheap"] > 80


def test_neighbourhoods_grow_where_all_of_them_was_seen_and_shrink_where_it_was_not():
    assert resized(is_better=True, is_exhausted=True) == 1.0
    assert resized(is_better=False, is_exhausted=True) == WIDER
    assert resized(is_better=False, is_exhausted=False) == FINER
    chooser = Chooser((Kind("a", 0.5),))
    for _ in range(50):
        chooser = chooser.heard("a", False, 1.0, FINER)
    assert chooser.kinds[0].size == SMALLEST
    for _ in range(50):
        chooser = chooser.heard("a", False, 1.0, WIDER)
    assert chooser.kinds[0].size == 1.0


def test_a_problem_has_the_moves_that_it_has_a_use_for():
    integers = [kind.name for kind in open_chooser(open_terrain(*jobs_problem()), ("scout",)).kinds]
    assert set(integers) == {*MOVES, "scout"} - {"opposite"}
    inputs = [kind.name for kind in open_chooser(open_terrain(*two_valleys()), ("scout", "columns")).kinds]
    assert set(inputs) == {"perturbation", "crossover", "opposite", "scout", "columns"}
