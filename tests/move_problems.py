"""Problems in which the next better point is a move away, and what moves need to know of them."""

from __future__ import annotations

import itertools

import numpy as np

from dcembed import Embedding, Program, build_mlp
from dcembed.embedded.elimination import eliminate
from dcembed.engine.moves.narrowing import narrow
from dcembed.engine.moves.suggestion import Suggestion
from dcembed.engine.moves.terrain import Terrain
from dcembed.engine.outcome import Outcome
from dcembed.engine.problem import build_problem
from dcembed.engine.start import run_start
from dcembed.engine.workshop import Steps
from dcembed.run.arguments import read_arguments
from dcembed.run.journal import open_journal
from dcembed.run.space import Space
from dcembed.run.starts import measure_start
from dcembed.solvers.base import Limits
from problems import quiet, random_mlp

NUM_CORES = NUM_KINDS = 3


def jobs_problem(seed: int = 0) -> tuple[Program, Embedding]:
    """Three cores with three jobs each, of three kinds with three jobs each; what a core costs is predicted. No job can move alone."""
    network, size = random_mlp(seed, (NUM_KINDS, 6, 1)), NUM_CORES * NUM_KINDS
    n = size + NUM_CORES
    rows = np.zeros((NUM_CORES + NUM_KINDS, n))
    for core, kind in itertools.product(range(NUM_CORES), range(NUM_KINDS)):
        rows[core, NUM_KINDS * core + kind] = rows[NUM_CORES + kind, NUM_KINDS * core + kind] = 1.0
    program = Program(
        cost=np.concatenate([0.3 * np.random.default_rng(seed).normal(size=size), [1.0, 1.3, 0.7]]),
        rows=rows,
        row_lb=3.0,
        row_ub=3.0,
        lb=np.concatenate([np.zeros(size), np.full(NUM_CORES, -np.inf)]),
        ub=np.concatenate([np.full(size, 3.0), np.full(NUM_CORES, np.inf)]),
        integer=np.arange(size),
    )
    return program, Embedding(network, np.arange(size).reshape(NUM_CORES, NUM_KINDS), size + np.arange(NUM_CORES))


def all_jobs(program: Program, embedding: Embedding) -> tuple[np.ndarray, np.ndarray]:
    """Every feasible point of the jobs, and its objective."""
    rows = [row for row in itertools.product(range(4), repeat=NUM_KINDS) if sum(row) == 3]
    points = [np.concatenate(choice) for choice in itertools.product(rows, repeat=NUM_CORES) if (np.sum(choice, axis=0) == 3).all()]
    jobs = np.array(points, dtype=float)
    predictions = embedding.network(jobs.reshape(-1, NUM_KINDS)).reshape(-1, NUM_CORES)
    return jobs, np.hstack([jobs, predictions]) @ program.cost


def two_valleys() -> tuple[Program, Embedding]:
    """The least of two valleys at the ends of a range: 0.8 at the one, 1 at the other, a ridge between them."""
    network = build_mlp([np.array([[1.0], [-1.0]]), np.array([[-1.0, -0.8]])], [np.zeros(2), np.zeros(1)])
    return Program(cost=[0.0, 1.0], lb=[-2.0, -np.inf], ub=[2.0, np.inf]), Embedding(network, [0], [1])


def open_terrain(program: Program, embedding: Embedding) -> Terrain:
    """The problem as moves see it."""
    arguments = read_arguments(program, embedding, None, quiet())
    embedded = eliminate(arguments.minimized, arguments.embeddings)
    problem = build_problem(embedded, arguments.options)
    return Terrain(problem, Space(embedded, problem.box), lambda: Limits(60.0))


def follow(terrain: Terrain, suggested: Suggestion) -> Outcome:
    """The start that is suggested."""
    embedded = terrain.problem.embedded
    steps = Steps(0, 30, is_probe=True, is_on_foot=suggested.is_on_foot, is_brief=True)
    with open_journal(read_arguments(embedded.program, embedded.embeddings, None, quiet())) as journal:
        problem = narrow(terrain.problem, suggested.box)
        return run_start(problem, measure_start(embedded, suggested.w), steps, (), journal)
