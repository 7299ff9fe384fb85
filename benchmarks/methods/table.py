"""The methods that are compared."""

from __future__ import annotations

from dataclasses import replace

import dcembed
from benchmarks.methods.method import BASELINE_ROOMS, PROBLEM_ROOMS, WATCH, Method, baseline, paper, peer, solve_of, with_proof
from benchmarks.problems.experiments import Experiment

# Its own default; that of dcembed's baselines is lower.
IPOPT_ITERATIONS = 3000
_NO_INTEGERS = "its projection needs a continuous host"
_CONTINUOUS = dict.fromkeys(("water", "pooling"), "it needs a continuous host")
_BOXES = "it takes boxes and balls without rows"
_SMALL = "another way to write the same, compared where exact methods come to their end"
_ENCODED = "pyscipopt", "gurobipy"
_SCALAR = "it minimizes the output of a network and takes no neural constraints"


def strongest(experiment: Experiment) -> dict[str, object]:
    """The solver that an encoding gets furthest with, where that is not the default one.

    Gurobi where its pip licence may carry the encoding; what it does not carry goes on with the default. On water SCIP, which takes
    indicators as they are, comes to points where HiGHS stays at its start: 8 of 25 samples within half a minute.
    """
    if experiment.is_small:
        return {"solver": "gurobi"}
    return {"solver": "scip"} if experiment.family == "water" else {}


METHODS = {
    method.name: method
    for method in (
        Method(
            "dcembed",
            "dcembed",
            "The default: lazy cuts and local splits.",
            dcembed.solve,
            settings=with_proof,
        ),
        Method(
            "dcembed-prove",
            "dcembed + proof",
            "The same with a bound: what the search leaves of the time, which is most of it, goes into a proof.",
            dcembed.solve,
            settings=lambda experiment: {"prove": True},
            not_small="dcembed itself proves a bound there",
        ),
        Method("shared", "shared", "The paper's method, one column per hidden unit.", dcembed.solve, settings=paper("shared")),
        Method(
            "two-path",
            "two-path",
            "The paper's ablation, both components layer by layer.",
            dcembed.solve,
            why_not={"pooling": "with one hidden layer it is the same as shared"},
            settings=paper("two-path"),
        ),
        replace(
            baseline("big-m", "big-M", "One binary per open ReLU, bounds from intervals.", packages=_ENCODED, may_stop=True),
            settings=strongest,
        ),
        Method(
            "big-m-obbt",
            "big-M + OBBT",
            "The same after bound tightening, whose time is not counted.",
            solve_of("methods.tightened"),
            settings=strongest,
            packages=("dcembed.baselines", *_ENCODED),
            rooms=BASELINE_ROOMS,
            sources=("methods/tightened.py", WATCH),
            may_stop=True,
        ),
        replace(
            baseline(
                "big-m-cuts",
                "big-M + cuts",
                "Big-M with the inequalities of the ideal formulation of Anderson et al. as cuts at the root.",
                packages=_ENCODED,
                small_only=_SMALL,
            ),
            settings=strongest,
        ),
        baseline(
            "pgd",
            "PGD",
            "Projected gradients with a line search between feasible and infeasible iterates.",
            why_not={"water": _NO_INTEGERS, "pooling": _NO_INTEGERS},
        ),
        baseline(
            "ipopt",
            "Ipopt",
            "Ipopt on a batched oracle of the networks, with the Hessian of the host.",
            why_not=_CONTINUOUS,
            packages=("ipyopt",),
            max_iterations=IPOPT_ITERATIONS,
        ),
        baseline(
            "ipopt-lbfgs",
            "Ipopt L-BFGS",
            "The same with its limited-memory Hessian.",
            why_not=_CONTINUOUS,
            packages=("ipyopt",),
            max_iterations=IPOPT_ITERATIONS,
        ),
        baseline(
            "attack",
            "attack",
            "Sampling, then sign and Adam steps from many points at a time, in torch.",
            why_not={**_CONTINUOUS, "qp": _BOXES},
            packages=("torch",),
        ),
        baseline("complementarity", "complementarity", "The complementarity DCA of Liu and Dvorkin."),
        baseline("awasthi", "DCA (Awasthi)", "The DCA of Awasthi et al. for scalar objectives.", why_not={"qp": _SCALAR, "water": _SCALAR}),
        baseline(
            "relax-and-walk",
            "relax-and-walk",
            "From linear region to linear region, after Tong, Cai and Serra.",
            why_not={**_CONTINUOUS, "qp": _SCALAR},
            packages=(),
        ),
        baseline(
            "dual-decomposition",
            "dual decomposition",
            "Host and networks by turns, tied by prices, after Zeng et al.",
            why_not=dict.fromkeys(("qp", "pooling", "boxes"), "it is compared on hosts that fall into blocks"),
            packages=(),
        ),
        Method(
            "greedy",
            "greedy",
            "Samples in the order of their own treatment cost, as long as the budgets last.",
            solve_of("methods.greedy"),
            why_not=dict.fromkeys(("qp", "pooling", "boxes"), "it is a heuristic for water treatment"),
            rooms=PROBLEM_ROOMS,
            sources=("methods/greedy.py",),
        ),
        peer(
            "gurobi-ml",
            "Gurobi ML",
            "gurobi-machinelearning on Gurobi, MIPFocus = 1.",
            "gurobi_ml_",
            packages=("gurobipy", "gurobi_ml", "torch"),
        ),
        peer(
            "pyscipopt-ml",
            "PySCIPOpt-ML",
            "PySCIPOpt-ML on SCIP, big-M formulation.",
            "pyscipopt_ml_",
            packages=("pyscipopt", "pyscipopt_ml", "torch"),
        ),
        peer(
            "pyscipopt-ml-sos",
            "PySCIPOpt-ML SOS",
            "The same with its formulation by special ordered sets, which is its default.",
            "pyscipopt_ml_",
            packages=("pyscipopt", "pyscipopt_ml", "torch"),
            small_only=_SMALL,
            formulation="sos",
        ),
        peer(
            "omlt",
            "OMLT",
            "OMLT's big-M formulation in Pyomo, on HiGHS; on SCIP where the objective is quadratic.",
            "omlt_",
            packages=("pyomo", "omlt", "pyscipopt"),
        ),
        peer(
            "omlt-partition",
            "OMLT partition",
            "The same with its formulation by parts of the weights, after Tsay et al.; two parts, as it has them.",
            "omlt_",
            packages=("pyomo", "omlt", "pyscipopt"),
            small_only=_SMALL,
            formulation="partition",
        ),
        peer(
            "omlt-complementarity",
            "OMLT complementarity",
            "The same with its formulation by products of a unit and what it cuts off, on SCIP.",
            "omlt_",
            packages=("pyomo", "omlt", "pyscipopt"),
            small_only=_SMALL,
            formulation="complementarity",
        ),
    )
}
