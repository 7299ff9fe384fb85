"""What to do next is said in words that can be typed in the tool in use."""

from __future__ import annotations

import re
from dataclasses import replace

import dcembed
from dcembed import Options, Program, Status
from dcembed.words import PYTHON, Words

HAT = dcembed.build_mlp([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -1.0], None])
OTHER = Words(go_on="GO ON", nearest="NEAREST", prove="PROVE", option="<{}>", named={"time_limit": "LIMIT"})


def test_every_status_is_filled_in():
    for status in Status:
        for words in (PYTHON, OTHER):
            assert not re.search(r"[{}]", status.help_in(words))
    assert "Raise LIMIT to go on from it with GO ON." in Status.TIME_LIMIT.help_in(OTHER)
    assert "a larger <max_penalty>" in Status.LOCALLY_INFEASIBLE.help_in(OTHER)
    assert "PROVE bounds how much better" in Status.LOCALLY_SOLVED.help_in(OTHER)


def test_options_that_are_named_in_the_words_of_python_exist():
    named = {name for status in Status for name in re.findall(r"{(\w+)}", status.value)} - {"go_on", "nearest", "prove"}
    assert named <= set(Options.__dataclass_fields__)
    assert len(named) >= 4


def test_what_is_said_fits_the_point():
    """A run that was ended without a feasible point has none to go on from, and one with a bound is not told how to get one."""
    program, embedding = Program(cost=[0.0, 1.0], lb=[0.0, -9.0], ub=[3.0, 9.0]), dcembed.Embedding(HAT, [0], [1])
    done = dcembed.solve(program, embedding, options={"verbose": False, "max_starts": 1})
    assert "bounds how much better" in done.help
    assert "bounds how much better" not in replace(done, bound=-5.0).help
    assert "start=result" in replace(done, status=Status.TIME_LIMIT).help
    for status in (Status.TIME_LIMIT, Status.ITERATION_LIMIT, Status.INTERRUPTED):
        stopped = replace(done, status=status, is_feasible=False).help
        assert "before a feasible point was found." in stopped
        assert stopped.endswith("The point that is nearest to feasible is in result.x.")
        assert "nearest" not in replace(done, status=status, is_feasible=False, x=None).help
        assert "start=result" not in stopped


def test_python_says_python():
    program = Program(cost=[0.0, 1.0], lb=[0.0, 5.0], ub=[3.0, 9.0])
    result = dcembed.solve(program, dcembed.Embedding(HAT, [0], [1]), options={"verbose": False, "max_starts": 1})
    assert result.status is Status.LOCALLY_INFEASIBLE
    assert result.summary().endswith("The point that is nearest to feasible is in result.x.")
    assert result.help.startswith(result.status.help)
