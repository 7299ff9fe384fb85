"""Balls around a point in many inputs."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from benchmarks.problems.many_inputs import RADIUS, ball_instance, build_many_inputs, many_inputs_sizes, random_network
from benchmarks.problems.sizes import SizeError
from problems import quiet


def test_sizes_are_read_and_built_by_their_seed():
    assert len(many_inputs_sizes()) == 15
    one, other = (build_many_inputs("784x16x3-inf", trial=1) for _ in range(2))
    network = one.embeddings[0].network
    assert (network.num_inputs, network.widths) == (784, (16, 16, 16))
    assert np.array_equal(one.starts[0], other.starts[0])
    assert not np.array_equal(one.starts[0], build_many_inputs("784x16x3-inf", trial=2).starts[0])


@pytest.mark.parametrize("size", ["784x16x3", "784x16-inf", "784x16x3-1", "x-2"])
def test_a_size_that_is_none_is_refused(size):
    with pytest.raises(SizeError, match="INPUTSxWIDTHxDEPTH-NORM"):
        build_many_inputs(size, trial=0)


@pytest.mark.parametrize("norm", ["inf", "2"])
def test_a_run_stays_in_the_ball_and_brings_the_output_down(norm):
    instance = ball_instance(random_network(40, 12, 2, seed=0), 0, norm)
    start = instance.starts[0]
    assert dcembed.verify(instance.program, instance.embeddings, start).violation <= 1e-12
    result = dcembed.solve(instance.program, instance.embeddings, start, quiet(max_iterations=20))
    assert result.is_feasible
    assert np.linalg.norm(result.x[:40] - start[:40], np.inf if norm == "inf" else 2) <= RADIUS[norm] + 1e-5
    assert result.objective < instance.program.objective(start)
