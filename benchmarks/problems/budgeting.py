"""Capital budgeting that is robust, of the shape of Neur2RO: projects are chosen now or later, a network predicts what comes of it.

Four risks xi in [-1, 1]^4 move profits and costs of n projects:  r_i(xi) = (1 + Q_i'xi / 2) r_i,   c_i(xi) = (1 + P_i'xi / 2) c_i. Chosen now,
a project brings r_i(xi) and costs c_i(xi). What is left of the budget is invested when the risks are known, in shares of the other
projects, which bring 0.8 of their profit then; what is lacking is borrowed at a loss:

    v(x, xi) = sum_i x_i r_i(xi) + max { 0.8 sum_i y_i r_i(xi) : sum_i y_i c_i(xi) <= left, 0 <= y_i <= 1 - x_i } - 1.5 max(-left, 0)

The second stage is a knapsack with shares, which its greedy order solves exactly. A network learns v / n from instances that are drawn, with
the encoder of `set_encoder.py` of (r_i(xi), c_i(xi), r_i(xi) / c_i(xi), budget / n). The host is the epigraph over some scenarios:

    minimize  theta   subject to   theta >= -n f(x, xi_s)  for all s,   sum_i c_i x_i <= budget,   projects of one group exclude one another
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.problems.host_builder import HostBuilder
from benchmarks.problems.instance import Instance
from benchmarks.problems.set_encoder import encode, load_part
from dcembed import Embedding
from dcembed.embedded.verify import predict

PROBLEM = "budgeting"
NUM_PROJECTS, NUM_RISKS, NUM_FEATURES, GROUP = 50, 4, 4, 5
LATER, BORROWED, BUDGET = 0.8, 1.5, 0.5


@dataclass(frozen=True, eq=False)
class Projects:
    """Profits and costs without risks (n,), what the risks do to them (n, 4), and the budget."""

    profit: np.ndarray
    cost: np.ndarray
    on_profit: np.ndarray
    on_cost: np.ndarray
    budget: float


def draw_projects(rng: np.random.Generator, number: int = NUM_PROJECTS) -> Projects:
    """Costs up to ten, profits about a fifth of them, and risks that are shared out among each project's own weights."""
    cost = rng.uniform(1.0, 10.0, number)
    profit = cost * rng.uniform(0.1, 0.3, number)
    on_profit, on_cost = (rng.dirichlet(np.ones(NUM_RISKS), number) * rng.choice([-1.0, 1.0], (number, NUM_RISKS)) for _ in range(2))
    return Projects(profit, cost, on_profit, on_cost, BUDGET * float(cost.sum()))


def draw_risks(number: int, rng: np.random.Generator) -> np.ndarray:
    """Scenarios (number, 4), many of them at the ends of their range."""
    return np.clip(rng.uniform(-1.5, 1.5, (number, NUM_RISKS)), -1.0, 1.0)


def at_risk(projects: Projects, risks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Profits and costs in scenarios (s, 4), shapes (s, n)."""
    moved = (1.0 + risks @ on.T / 2.0 for on in (projects.on_profit, projects.on_cost))
    return tuple(base * factor for base, factor in zip((projects.profit, projects.cost), moved, strict=True))


def features(projects: Projects, risks: np.ndarray) -> np.ndarray:
    """What the encoder sees of every project in scenarios (s, 4), shape (s, n, 4)."""
    profit, cost = at_risk(projects, risks)
    return np.stack([profit, cost, profit / cost, np.full_like(cost, projects.budget / projects.cost.size)], axis=2)


def value(projects: Projects, chosen: np.ndarray, risks: np.ndarray) -> float:
    """v(x, xi) for one choice (n,) and one scenario (4,)."""
    (profit,), (cost,) = at_risk(projects, risks[None])
    left = projects.budget - float(cost @ chosen)
    others = np.flatnonzero(chosen < 0.5)
    order = others[np.argsort(-profit[others] / cost[others])]
    spent = np.minimum(np.maximum(max(left, 0.0) - np.concatenate([[0.0], np.cumsum(cost[order])[:-1]]), 0.0), cost[order])
    later = float(np.sum(spent / cost[order] * profit[order]))
    return float(profit @ chosen) + LATER * later - BORROWED * max(-left, 0.0)


def build_budgeting(num_scenarios: int, seed: int, num_projects: int = NUM_PROJECTS) -> Instance:
    """Minus the worst predicted value is minimized; the start chooses nothing now."""
    rng = np.random.default_rng((seed, num_scenarios))
    projects, risks = draw_projects(rng, num_projects), draw_risks(num_scenarios, rng)
    host = HostBuilder()
    chosen = host.columns(num_projects, integer=True)
    worst = host.columns(lb=-10.0 * num_projects, ub=10.0 * num_projects, cost=1.0)
    predicted = host.columns(num_scenarios, lb=-np.inf, ub=np.inf)
    host.row((projects.cost, chosen), ub=projects.budget)
    for first in range(0, num_projects, GROUP):
        host.row((1.0, chosen[first : first + GROUP]), ub=GROUP - 2.0)
    for column in predicted:
        host.row((1.0, worst), (float(num_projects), column), lb=0.0)
    program = host.build()
    inputs = encode(load_part(PROBLEM, "encoder"), features(projects, risks), chosen, program.num_columns)
    embeddings = (Embedding(load_part(PROBLEM, "head"), inputs, predicted),)
    start = predict(embeddings, np.zeros(program.num_columns))
    start[worst] = np.max(-num_projects * start[predicted])
    return Instance(f"budgeting scenarios {num_scenarios} seed {seed}", program, embeddings, [start])
