"""The second stage of a stochastic problem, solved by HiGHS again and again with other sides of its rows."""

from __future__ import annotations

import highspy
import numpy as np
import scipy.sparse as sp

# Relative gap at which a second stage with integers counts as solved, and nodes, the same on every machine, after which the best so far is taken.
GAP, MAX_NODES = 1e-3, 1_000


class Recourse:
    """minimize cost'y, lb <= rows y <= ub, 0 <= y <= y_ub; the first `num_integers` columns are whole."""

    def __init__(self, cost: np.ndarray, rows: sp.csc_array, y_ub: np.ndarray, num_integers: int = 0) -> None:
        self.highs = highspy.Highs()
        for name, value in (("output_flag", False), ("threads", 1), ("mip_rel_gap", GAP), ("mip_max_nodes", MAX_NODES)):
            self.highs.setOptionValue(name, value)
        lp = highspy.HighsLp()
        lp.num_row_, lp.num_col_ = rows.shape
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, np.zeros(cost.size), y_ub
        lp.row_lower_ = lp.row_upper_ = np.zeros(rows.shape[0])
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = rows.indptr, rows.indices, rows.data
        if num_integers:
            whole, real = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
            lp.integrality_ = [whole] * num_integers + [real] * (cost.size - num_integers)
        self.highs.passModel(lp)

    def solve(self, lb: np.ndarray, ub: np.ndarray) -> float:
        """The least cost with these sides."""
        for row, (low, high) in enumerate(zip(lb.tolist(), ub.tolist(), strict=True)):
            self.highs.changeRowBounds(row, low, high)
        self.highs.run()
        found = self.highs.getInfo()
        if found.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
            raise RuntimeError(f"HiGHS found no second stage: {self.highs.modelStatusToString(self.highs.getModelStatus())}")
        return float(found.objective_function_value)
