"""A Pyomo model with a network in it is for `SolverFactory("dcembed")`: everything else says so instead of leaving the network out."""

from __future__ import annotations

import io
import pickle

import pytest

from dcembed.errors import InputError

pyo = pytest.importorskip("pyomo.environ")

from pyomo.common.errors import ApplicationError  # noqa: E402
from pyomo.contrib.solver.common.factory import SolverFactory as NewSolverFactory  # noqa: E402
from pyomo.gdp import Disjunct, Disjunction  # noqa: E402
from tests.frontends.pyomo_models import NETWORK, box_model, build_milp, solve  # noqa: E402

import dcembed.pyomo  # noqa: E402

REFUSED = (
    "The model has a network in it, 'nn.dcembed_network', which SolverFactory(\"dcembed\") alone can read: other solvers, files and "
    'transformations would leave it out. Call SolverFactory("dcembed").solve(model); or, to go on without the network, deactivate '
    "'nn.dcembed_network' first."
)


def build():
    """min f(x) with f(x) >= -50, where -50 is far below all predictions."""
    m = box_model()
    dcembed.pyomo.embed(m.nn, NETWORK, inputs=m.x)
    m.low = pyo.Constraint(expr=m.nn.outputs[0] >= -50)
    m.o = pyo.Objective(expr=m.nn.outputs[0])
    return m


def lowest(m) -> float:
    return m.nn.outputs[0].value


SOLVERS = ("appsi_highs", "highs", "gurobi", "gurobi_direct", "gurobi_direct_v2", "appsi_gurobi", "scip_direct", "mindtpy", "gdpopt.loa")


@pytest.mark.parametrize("name", SOLVERS)
def test_other_solvers_refuse(name):
    solver = pyo.SolverFactory(name)
    try:
        installed = solver.available(exception_flag=False)
    except (TypeError, ApplicationError):
        installed = False
    if not installed:
        pytest.skip(f"{name} is not installed")
    m = build()
    with pytest.raises(InputError) as error:
        solver.solve(m)
    assert str(error.value) == REFUSED
    assert lowest(m) is None


@pytest.mark.parametrize("name", ["highs", "gurobi_direct", "scip_direct"])
def test_solvers_of_the_new_interface_refuse(name):
    solver = NewSolverFactory(name)
    if not solver.available():
        pytest.skip(f"{name} is not installed")
    with pytest.raises(InputError, match=r"SolverFactory\(\"dcembed\"\) alone can read"):
        solver.solve(build())


@pytest.mark.parametrize("kind", ["lp", "nl", "mps", "gms", "bar"])
def test_files_are_not_written_without_the_network(kind, tmp_path):
    with pytest.raises(InputError, match="would leave it out"):
        build().write(str(tmp_path / f"model.{kind}"))


@pytest.mark.parametrize(
    "undo",
    [
        lambda m: m.nn.dcembed_network.deactivate(),
        lambda m: m.nn.dcembed_network.embedded.remove(),
        lambda m: m.nn.deactivate(),
        lambda m: m.nn.del_component("dcembed_network"),
    ],
    ids=["component off", "removed", "block off", "component deleted"],
)
def test_without_the_network_the_model_is_for_all_solvers_again(undo):
    m = build()
    undo(m)
    pyo.SolverFactory("appsi_highs").solve(m)
    assert lowest(m) == pytest.approx(-50)
    # Our own solver leaves it out then as well.
    solve(m)
    assert lowest(m) == pytest.approx(-50)


def test_a_deleted_block_takes_its_network_along():
    m = build()
    m.y = pyo.Var(bounds=(-2, 2))
    m.del_component(m.o)
    m.del_component(m.low)
    m.del_component(m.nn)
    m.o = pyo.Objective(expr=m.y)
    pyo.SolverFactory("appsi_highs").solve(m)
    assert m.y.value == -2


def test_networks_can_be_left_out_for_a_while(tmp_path):
    m = build()
    with dcembed.pyomo.without_networks(m):
        m.write(str(tmp_path / "host.lp"))
        pyo.SolverFactory("appsi_highs").solve(m)
    assert lowest(m) == pytest.approx(-50)
    solve(m)
    assert m.nn.dcembed_network() <= 1e-9
    assert lowest(m) > -10


@pytest.mark.parametrize("copied", [lambda m: m.clone(), lambda m: pickle.loads(pickle.dumps(m))], ids=["clone", "pickle"])
def test_copies_refuse_too_and_are_solved_by_ours(copied):
    m = copied(build())
    with pytest.raises(InputError, match="would leave it out"):
        pyo.SolverFactory("appsi_highs").solve(m)
    solve(m)
    embedded = m.nn.dcembed_network.embedded
    assert embedded.output[0][0] is m.nn.outputs[0]
    assert embedded.get_error().max() <= 1e-9


def test_printing_says_what_it_is():
    m = build()
    text = io.StringIO()
    m.pprint(text)
    m.display(ostream=text)
    line = "EmbeddedNetwork(Network(2 inputs -> 4 -> 1 outputs) on 'nn', evaluated 1 times)"
    assert f"Size=1, Active=True, Network={line}" in text.getvalue()
    assert f"dcembed_network : {line}\n" in text.getvalue()


@pytest.mark.parametrize("name", ["gdp.bigm", "gdp.hull"])
def test_transformations_of_what_is_beside_the_network_work(name):
    m = build_milp()
    m.nn.outputs.setlb(-20)
    m.nn.outputs.setub(20)
    pyo.TransformationFactory(name).apply_to(m)
    solve(m)
    assert pyo.value(m.profit) == pytest.approx(1.4932175627, abs=1e-5)


def test_transformations_of_the_network_are_refused():
    m = box_model()
    m.d, m.e = Disjunct(), Disjunct()
    m.choice = Disjunction(expr=[m.d, m.e])
    dcembed.pyomo.embed(m.d, NETWORK, inputs=m.x)
    with pytest.raises(InputError, match=r"'d\.dcembed_network'"):
        pyo.TransformationFactory("gdp.bigm").apply_to(m)
