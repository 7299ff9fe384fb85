"""Bounds of first-stage units over the host without its integers: two linear programs each, tighter than those of a box."""

from __future__ import annotations

import time

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.embedded.measurements import input_box
from dcembed.embedded.unit_bounds import StageBounds, propagate
from dcembed.engine.problem import Problem
from dcembed.network.bounds import bound
from dcembed.run.clock import Clock
from dcembed.run.host import HostProblem, release
from dcembed.solvers.base import SolveStatus

# A bound from a linear program is moved outwards by this, relative to its size: solvers end within their tolerances.
OUTWARDS = 1e-6
# Such bounds take no more than this share of the time that is left, and are found for no more than so many units.
BOUND_SHARE, MAX_BOUNDED = 0.05, 256


def bound_units(problem: Problem, host: HostProblem, clock: Clock) -> list[StageBounds]:
    """Bounds of all pre-activations of each network on the host's box, tightened as long as there is time."""
    bounds = [bound(measured.network, *input_box(measured, *problem.box)) for measured in problem.embedded.networks]
    if problem.embedded.host.quadratic is not None:
        # What is minimized on the way to a bound must be linear.
        return bounds
    until = time.monotonic() + BOUND_SHARE * clock.limits().seconds
    release(host)
    tight = [
        _tighten(problem, host, measured, stages, clock, until) for measured, stages in zip(problem.embedded.networks, bounds, strict=True)
    ]
    host.session.set_cost(problem.embedded.host.cost, problem.embedded.host.offset)
    return tight


def _tighten(
    problem: Problem, host: HostProblem, measured: MeasuredNetwork, bounds: StageBounds, clock: Clock, until: float
) -> StageBounds:
    """Tighten the first stage, and the others by what follows from it."""
    if not bounds:
        return bounds
    low, high = bounds[0][0].copy(), bounds[0][1].copy()
    stage = measured.network.stages[0]
    for block, unit in np.argwhere((low < 0) & (high > 0))[:MAX_BOUNDED]:
        if time.monotonic() > until or clock.ended():
            break
        weights = (np.eye(1, stage.num_rows, unit) @ stage.weights[0])[0]
        slope = weights @ measured.maps[measured.rows_of(measured.map_of[[block]])[0]]
        constant = float(stage.bias[unit] + weights @ measured.offset[block])
        low[block, unit] = max(low[block, unit], constant - _largest(host, -slope, clock))
        high[block, unit] = min(high[block, unit], constant + _largest(host, slope, clock))
    return propagate(measured.network, input_box(measured, *problem.box), [(low, high), *bounds[1:]])


def _largest(host: HostProblem, slope: Array, clock: Clock) -> float:
    """The largest value of slope @ w over the host without its integers; infinite where the solver does not say."""
    host.session.set_cost(-slope, 0.0)
    solution = host.session.solve(clock.limits(), relax=True)
    if solution.status is not SolveStatus.OPTIMAL or solution.x is None:
        return np.inf
    value = float(slope @ solution.x)
    return value + OUTWARDS * max(1.0, abs(value))
