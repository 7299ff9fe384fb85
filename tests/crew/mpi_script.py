"""What test_mpi.py has `mpiexec` run: a run alone, the same with processes of MPI, and one that ends by its time limit.

It has no guard: with `main=False` the other processes do not run it again.
"""

from __future__ import annotations

import json
import sys

import numpy as np
from mpi4py.futures import MPIPoolExecutor

import crew_tasks
import dcembed
from dcembed.crew import crew as crews
from problems import quiet, random_mlp

# Others are called at once, however short the run is.
crews.CALL_SECONDS = 0.0

program = dcembed.Program(cost=[*np.zeros(10), 1.0], lb=[*-3.0 * np.ones(10), -np.inf], ub=[*3.0 * np.ones(10), np.inf])
embedding = dcembed.Embedding(random_mlp(1, (10, 16, 1)), [[*range(10)]], [[10]])

alone = dcembed.solve(program, embedding, options=quiet(search="converge", max_starts=5))
with MPIPoolExecutor(*map(int, sys.argv[1:]), main=False) as executor:
    others = dcembed.solve(program, embedding, options=quiet(search="converge", max_starts=5, executor=executor))
    limited = dcembed.solve(program, embedding, options=quiet(search="until-limit", max_starts=None, time_limit=1.0, executor=executor))
    kept = dict(future.result() for future in [executor.submit(crew_tasks.count_kept) for _ in range(4 * executor.num_workers)])
    print(
        json.dumps(
            {
                "num_workers": executor.num_workers,
                "kept": list(kept.values()),
                "here": crew_tasks.count_kept()[1],
                "points": [result.x.tolist() for result in (alone, others)],
                "notes": [*others.notes, *limited.notes],
                "limited": [limited.status.name, dcembed.verify(program, embedding, limited.x).objective == limited.objective],
            }
        )
    )
