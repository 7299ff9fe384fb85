"""gurobipy and PySCIPOpt behind the few calls that tests of both need."""

from __future__ import annotations

import pytest

gp = pytest.importorskip("gurobipy", reason="gurobipy is not installed")
pyscipopt = pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")

from dcembed import gurobipy as on_gurobi  # noqa: E402
from dcembed import pyscipopt as on_scip  # noqa: E402


class Gurobi:
    """A gurobipy model."""

    calls = on_gurobi

    def __init__(self):
        self.env = gp.Env(params={"OutputFlag": 0})
        self.model = gp.Model(env=self.env)

    def var(self, lb, ub, kind="C"):
        variable = self.model.addVar(lb=-gp.GRB.INFINITY if lb is None else lb, ub=gp.GRB.INFINITY if ub is None else ub, vtype=kind)
        self.model.update()
        return variable

    def embed(self, predictor, inputs, outputs=None, **keywords):
        return on_gurobi.add_predictor_constr(self.model, predictor, inputs, outputs, **keywords)

    def add(self, constraint):
        self.model.addConstr(constraint)

    def minimize(self, expression, max_starts=1, **options):
        self.model.setObjective(expression)
        return on_gurobi.optimize(self.model, max_starts=max_starts, **options)

    def value(self, variable):
        return variable.X


class Scip:
    """A PySCIPOpt model."""

    calls = on_scip

    def __init__(self):
        self.model = pyscipopt.Model()
        self.model.hideOutput()
        self.model.setParam("display/verblevel", 0)

    def var(self, lb, ub, kind="C"):
        return self.model.addVar(lb=lb, ub=ub, vtype=kind, name=f"v{self.model.getNVars()}")

    def embed(self, predictor, inputs, outputs=None, **keywords):
        return on_scip.add_predictor_constr(self.model, predictor, inputs, outputs, **keywords)

    def add(self, constraint):
        self.model.addCons(constraint)

    def minimize(self, expression, max_starts=1, **options):
        self.model.setObjective(expression)
        return on_scip.optimize(self.model, max_starts=max_starts, **options)

    def value(self, variable):
        return self.model.getVal(variable)


TOOLS = [Gurobi, Scip]
