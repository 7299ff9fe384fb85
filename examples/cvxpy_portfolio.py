"""Rebalance a portfolio in CVXPY when a network predicts what the trades cost.

A small scikit-learn network learns the cost of a trade in each of five assets from (synthetic) records of past trades: a kinked,
nonconvex function of its size. Maximize expected return minus predicted cost, with a limit on the risk, which is a second-order cone.

    python examples/cvxpy_portfolio.py
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from sklearn.neural_network import MLPRegressor

import dcembed.cvxpy

NUM_ASSETS = 5
RETURNS = np.array([4.0, 6.0, 7.0, 9.0, 12.0])  # percent per year
HOLDINGS = np.array([0.4, 0.3, 0.2, 0.1, 0.0])
MAX_RISK, MAX_TRADE = 6.0, 0.3


def past_costs(trade: np.ndarray) -> np.ndarray:
    """Percent of the portfolio: a spread on every trade, and a surcharge that levels off for large ones."""
    size = np.abs(trade)
    return 0.4 * size + 0.12 * np.minimum(size, 0.1) / 0.1


def train_network(seed: int = 0) -> MLPRegressor:
    """The cost of one trade as a function of its size, learned from noisy records."""
    rng = np.random.default_rng(seed)
    trades = rng.uniform(-MAX_TRADE, MAX_TRADE, size=(600, 1))
    costs = past_costs(trades[:, 0]) + rng.normal(0, 0.005, size=600)
    return MLPRegressor(hidden_layer_sizes=(16,), solver="lbfgs", max_iter=2000, random_state=seed).fit(trades, costs)


def build_problem() -> tuple[cp.Problem, cp.Variable]:
    rng = np.random.default_rng(1)
    spread = rng.normal(size=(NUM_ASSETS, NUM_ASSETS)) * 2.0 + np.diag([3.0, 6.0, 9.0, 14.0, 20.0])
    weights = cp.Variable(NUM_ASSETS, nonneg=True, name="weights")
    trades = weights - HOLDINGS
    # One evaluation of the network for each asset: a column of inputs.
    costs = dcembed.cvxpy.embed(train_network(), cp.reshape(trades, (NUM_ASSETS, 1), order="C"), name="costs")
    constraints = [cp.sum(weights) == 1, cp.norm(spread @ weights) <= MAX_RISK, cp.abs(trades) <= MAX_TRADE]
    return cp.Problem(cp.Maximize(RETURNS @ weights - cp.sum(costs)), constraints), weights


def main() -> dcembed.Result:
    problem, weights = build_problem()
    problem.solve(method="dcembed", time_limit=10, prove=True, verbose=True)
    result = dcembed.cvxpy.result_of(problem)
    if result.is_feasible:
        print(f"\nReturn after costs {problem.value:.3f} %, weights {np.round(weights.value, 3) + 0.0}, status {problem.status}")
        proved = problem.solver_stats.extra_stats
        print(f"No portfolio returns more than {proved.bound:.3f} %: the gap is {proved.gap:.2%}.")
    return result


if __name__ == "__main__":
    main()
