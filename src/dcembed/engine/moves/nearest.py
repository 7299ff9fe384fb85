"""The point of the host that is nearest to a place where it has none: integers that equalities tie together move by a solver alone."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.engine.moves.terrain import Terrain
from dcembed.engine.problem import solver_for
from dcembed.program.derive import add_columns, add_rows, derive, without_objective
from dcembed.program.program import Program
from dcembed.solvers.failover import LastingSession

# A point that is near is good enough: to this gap, in so many nodes.
GAP, NUM_NODES = 0.2, 20


def nearest(terrain: Terrain, w: Array, kept: Array) -> Array | None:
    """The point with the integers of `kept`, a mask over the columns, as they are in `w`, and the others near; None where there is none.

    Distance is counted in ranges, along network inputs and integers. Where bounds alone hold the columns, no solver is asked.
    """
    space = terrain.space
    if not space.tied.any() and not space.host.has_curves:
        inside: Array = space.clip(w[None])[0]
        return inside
    program = _distance(terrain, w, kept)
    limits = replace(terrain.limits(), gap=GAP, nodes=NUM_NODES)
    with closing(LastingSession(program, solver_for(terrain.problem, program.problem_class))) as session:
        solution = session.solve(limits)
    if solution.x is None or not np.isfinite(solution.x).all():
        return None
    found: Array = solution.x[: w.size]
    return found


def _distance(terrain: Terrain, w: Array, kept: Array) -> Program:
    """The host with a column for the distance of each telling one from where it should be."""
    host, columns = without_objective(terrain.problem.embedded.bounded_host), terrain.space.telling
    held = kept & host.integer
    at = np.clip(w, host.lb, host.ub)
    near = derive(host, lb=np.where(held, at, host.lb), ub=np.where(held, at, host.ub))
    size = columns.size
    wide = add_columns(near, np.zeros(size), np.full(size, np.inf), 1.0 / terrain.space.width[columns])
    pick = sp.csr_array((np.ones(size), (np.arange(size), columns)), shape=(size, host.num_columns))
    unit, endless = sp.eye_array(size, format="csr"), np.full(size, np.inf)
    above = add_rows(wide, sp.csr_array(sp.hstack([pick, unit], format="csr")), w[columns], endless)
    return add_rows(above, sp.csr_array(sp.hstack([pick, -unit], format="csr")), -endless, w[columns])
