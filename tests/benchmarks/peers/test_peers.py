"""The real packages on small problems."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from benchmarks.harness.outcome import Outcome, check, outcome_of
from benchmarks.methods.table import METHODS
from benchmarks.problems.dispatch import dispatch_instance
from benchmarks.problems.instance import Instance
from benchmarks.problems.qp import qp_instance
from dcembed.network.activations import find_activation
from problems import binary_problem, enumerate_binaries, level_problem, quiet, random_mlp

# All that prove what they find, on any host with ReLU networks.
EXACT = (
    "big-m",
    "big-m-obbt",
    "big-m-cuts",
    "gurobi-ml",
    "pyscipopt-ml",
    "pyscipopt-ml-sos",
    "omlt",
    "omlt-partition",
    "omlt-complementarity",
)


def run(name: str, instance: Instance) -> tuple[Outcome, float]:
    """What a method says, and the objective that is measured at its last point."""
    if METHODS[name].missing_package() is not None:
        pytest.skip(f"{METHODS[name].missing_package()} is not installed")
    answer = METHODS[name].solve(instance.program, instance.embeddings, instance.starts, quiet(time_limit=1000.0))
    outcome = answer if isinstance(answer, Outcome) else outcome_of(answer)
    checked = check(instance, outcome.points)
    assert checked.num_rejected == 0
    return outcome, checked.trace[-1][1]


@pytest.mark.parametrize("name", EXACT)
def test_exact_methods_prove_the_enumerated_optimum(name):
    program, embedding = binary_problem(1, num_binaries=6)
    optimum = enumerate_binaries(program, embedding)
    outcome, objective = run(name, Instance("binaries", program, (embedding,), [np.zeros(program.num_columns)]))
    assert outcome.status == "optimal"
    assert objective == pytest.approx(optimum, abs=1e-4)
    assert outcome.bound == pytest.approx(optimum, abs=1e-3)
    assert outcome.bound <= optimum + 1e-4


@pytest.mark.parametrize("name", EXACT)
def test_exact_methods_agree_on_a_small_qp_that_dcembed_proves(name):
    instance = qp_instance(random_mlp(1, (5, 3, 2, 1)), 0, num_blocks=1)
    ours = dcembed.solve(instance.program, instance.embeddings, options=quiet(prove=True, max_starts=5))
    assert ours.status is dcembed.Status.OPTIMAL
    # The start is not the optimum.
    assert ours.objective < -1e-3
    outcome, objective = run(name, instance)
    assert outcome.status == "optimal"
    assert objective == pytest.approx(ours.objective, rel=1e-3)
    assert outcome.bound == pytest.approx(ours.objective, rel=1e-3)


@pytest.mark.parametrize("formulation", ["big-m", "partition", "complementarity"])
def test_a_start_is_completed_to_a_point_of_every_formulation(formulation):
    pyo = pytest.importorskip("pyomo.environ")
    omlt_ = pytest.importorskip("benchmarks.peers.omlt_")
    from benchmarks.peers.host import build_plain_host, extend

    program, embedding = binary_problem(1, num_binaries=6)
    host = build_plain_host(program, [embedding])
    model = omlt_.build_model(host, formulation)
    omlt_._complete(model, host, extend(host, [embedding], np.zeros(program.num_columns)))
    for constraint in model.component_data_objects(pyo.Constraint, active=True):
        if constraint.parent_component() is not model.rows:
            assert pyo.value(constraint.slack()) >= -1e-9


def test_weights_that_solvers_drop_are_not_handed_over():
    from benchmarks.peers.host import layers

    _, embedding = binary_problem(1, num_binaries=6)
    embedding.network.stages[0].weights[0][0, 0] = 1e-30
    assert layers(embedding.network)[0][0][0, 0] == 0.0
    assert np.count_nonzero(layers(embedding.network)[0][0]) == embedding.network.stages[0].weights[0].size - 1


@pytest.mark.parametrize("name", ["gurobi-ml", "pyscipopt-ml", "omlt"])
@pytest.mark.parametrize("problem", [binary_problem, level_problem])
def test_the_real_packages_reach_what_dcembed_reaches_on_other_small_problems(name, problem):
    if METHODS[name].missing_package() is not None:
        pytest.skip(f"{METHODS[name].missing_package()} is not installed")
    program, embedding = problem(3)
    ours = dcembed.solve(program, embedding, options=quiet(max_starts=5))
    outcome = METHODS[name].solve(program, (embedding,), [ours.x], quiet(time_limit=200.0))
    checked = check(Instance("small", program, (embedding,), []), outcome.points)
    assert checked.num_rejected == 0
    assert checked.trace[-1][1] <= ours.objective + 1e-5
    assert outcome.added_binaries > 0


@pytest.mark.parametrize("name", ["pyscipopt-ml", "omlt"])
@pytest.mark.parametrize("activation", ["tanh", "softplus"])
def test_packages_that_take_smooth_networks_reach_what_dcembed_reaches(name, activation):
    if METHODS[name].missing_package() is not None:
        pytest.skip(f"{METHODS[name].missing_package()} is not installed")
    instance = dispatch_instance(2, 1, find_activation(activation))
    ours = dcembed.solve(instance.program, instance.embeddings, options=quiet(max_starts=5))
    outcome = METHODS[name].solve(instance.program, instance.embeddings, [ours.x], quiet(time_limit=200.0))
    checked = check(instance, outcome.points)
    assert outcome.status == "optimal"
    assert checked.num_rejected == 0
    assert checked.trace[-1][1] == pytest.approx(ours.objective, abs=1e-4)
    # One evaluation of each core, whose units are columns of their own.
    assert outcome.added_columns > 0
    assert outcome.added_binaries == 0


def test_scip_keeps_its_points_where_a_relaxation_fails():
    pyscipopt = pytest.importorskip("pyscipopt")
    from benchmarks.peers.scip_run import run_scip

    class Failing(pyscipopt.Model):
        says = "SCIP: error in LP solver!"

        def optimizeNogil(self):
            super().optimizeNogil()
            raise Exception(self.says)

    def run_one():
        model = Failing()
        column = model.addVar(lb=0.0, ub=7.5, vtype="I", obj=-1.0)
        return run_scip(model, [column], 1, [np.array([3.0])], quiet(time_limit=10.0))

    outcome = run_one()
    assert outcome.status == "numerical_error"
    assert outcome.points[-1][1] == [7.0]
    assert outcome.bound is None
    Failing.says = "SCIP: unspecified error!"
    with pytest.raises(Exception, match="unspecified"):
        run_one()
