"""The one way from a model to its answer, with a front end that only remembers what it was given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dcembed
from dcembed import Embedding, Options, Program, Status, build_mlp
from dcembed.frontends import contract
from dcembed.frontends.contract import Extraction, solve_model
from dcembed.words import Words

HINGE = build_mlp([[[1.0]], [[1.0]]], [None, None])
# maximize x / 2 + the hinge of x on [-1, 1]
PROGRAM = Program(cost=[0.5, 1.0], lb=[-1.0, -np.inf], ub=[1.0, np.inf], maximize=True)
OPTIONS = Options(verbose=False, time_limit=60.0, max_starts=1)


class Slate:
    """A model that is a slate: its answer is written on it."""

    WORDS = Words(go_on="more chalk", nearest="on the slate")

    def __init__(self):
        self.answers = []

    def extract(self, model):
        return Extraction(PROGRAM, (Embedding(HINGE, [0], [1]),), model)

    def restore(self, extraction, result, load_infeasible=False):
        self.answers.append((extraction.handle, result))
        return "written"


def test_the_answer_is_what_restore_says_of_the_model_that_was_extracted():
    slate, model = Slate(), object()
    assert solve_model(slate, model, OPTIONS) == "written"
    ((handle, result),) = slate.answers
    assert handle is model
    assert result.objective == pytest.approx(1.5)
    assert result.program is PROGRAM
    assert result.words is Slate.WORDS


def test_a_start_is_found_from_the_extraction():
    slate = Slate()
    solve_model(slate, "model", replace(OPTIONS, max_iterations=0), lambda extraction: np.full(extraction.program.num_columns, 0.25))
    assert slate.answers[0][1].x.tolist() == [0.25, 0.25]


@pytest.mark.parametrize(
    ("status", "is_hint", "runs"),
    [
        (Status.LOCALLY_INFEASIBLE, True, ["start", None]),
        (Status.LOCALLY_INFEASIBLE, False, ["start"]),
        (Status.TIME_LIMIT, True, ["start"]),
    ],
)
def test_a_hint_that_leads_nowhere_is_forgotten(monkeypatch, status, is_hint, runs):
    seen, limits = [], []

    def solve(words, program, embeddings, start, options):
        seen.append(start)
        limits.append(options.time_limit)
        result = dcembed.solve(program, embeddings, None, options)
        return replace(result, status=status, seconds=20.0) if start is not None else result

    monkeypatch.setattr(contract, "solve_for", solve)
    solve_model(Slate(), "model", OPTIONS, lambda _: "start", is_hint=is_hint)
    assert seen == runs
    assert limits == [60.0, 40.0][: len(runs)]
