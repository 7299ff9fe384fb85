"""What the exact encoding proves on small problems, dcembed finds."""

from __future__ import annotations

import pytest

import dcembed
from dcembed import Status
from dcembed.baselines import BASELINES
from problems import binary_problem, indicator_problem, quiet
from repetitions import repetitions


@pytest.mark.patient
@pytest.mark.parametrize("make", [binary_problem, indicator_problem])
@pytest.mark.parametrize("seed", range(repetitions(1)))
def test_the_default_finds_what_big_m_proves(make, seed):
    program, embedding = make(seed)
    exact = BASELINES["big-m"](program, embedding, options=quiet())
    found = dcembed.solve(program, embedding, options=quiet(max_starts=None))
    assert exact.status is Status.OPTIMAL
    assert found.is_feasible
    assert found.objective == pytest.approx(exact.objective, abs=1e-3)
