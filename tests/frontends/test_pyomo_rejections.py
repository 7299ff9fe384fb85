"""Pyomo models that cannot be carried: the message names what is in the way."""

from __future__ import annotations

import pytest

from dcembed.errors import InputError, MissingBoundError

pyo = pytest.importorskip("pyomo.environ")

from pyomo.gdp import Disjunct  # noqa: E402
from tests.frontends.pyomo_models import NETWORK, box_model, build_milp, solve  # noqa: E402

import dcembed.pyomo  # noqa: E402


def nonlinear(m):
    m.c = pyo.Constraint(["a", "b"], rule=lambda m, i: pyo.sin(m.x[0]) + m.x[1] <= (1 if i == "a" else 2))


def quadratic(m):
    m.q = pyo.Constraint(expr=m.x[0] ** 2 >= 0.5)


def quadratic_equality(m):
    m.q = pyo.Constraint(expr=m.x[0] ** 2 + m.x[1] == 0.5)


def output_in_product(m):
    m.q = pyo.Constraint(expr=m.x[0] * m.nn.outputs[0] <= 1)


def quadratic_in_disjunct(m):
    m.d = Disjunct()
    m.d.q = pyo.Constraint(expr=m.x[0] ** 2 <= 1)


def no_parameter(m):
    m.p = pyo.Param(mutable=True)
    m.c = pyo.Constraint(expr=m.p * m.x[0] <= 1)


def no_right_side(m):
    m.p = pyo.Param(mutable=True)
    m.c = pyo.Constraint(expr=m.x[0] <= m.p)


def fixed_at_nothing(m):
    m.v = pyo.Var()
    m.v.fix()
    m.c = pyo.Constraint(expr=m.x[0] + m.v <= 1)


def not_a_number(m):
    m.c = pyo.Constraint(expr=float("nan") * m.x[0] + m.x[1] <= 1)


def nonlinear_objective(m):
    m.o.expr = pyo.exp(m.x[0])


def two_objectives(m):
    m.o2 = pyo.Objective(expr=m.x[1])


def odd_domain(m):
    m.v = pyo.Var(domain=[1, 3, 7])
    m.c = pyo.Constraint(expr=m.x[0] + m.v <= 9)


def crossed_bounds(m):
    m.x[0].setlb(2)


def logical(m):
    m.b = pyo.BooleanVar(range(2))
    m.l = pyo.LogicalConstraint(expr=m.b[0].implies(m.b[1]))


def special_ordered(m):
    m.s = pyo.SOSConstraint(var=m.x, sos=1)


def nonlinear_input(m):
    m.more = pyo.Block()
    dcembed.pyomo.embed(m.more, NETWORK, inputs=[m.x[0], m.x[0] * m.x[1]])


def nested_disjunct(m):
    m.d = Disjunct()
    m.d.inner = Disjunct()


def inside_disjunct(m):
    m.d = Disjunct()
    dcembed.pyomo.embed(m.d, NETWORK, inputs=m.x)


def disjunct_with_logic(m):
    m.d = Disjunct()
    m.d.l = pyo.LogicalConstraint(expr=m.d.indicator_var)


LINEAR = (
    "Linear and convex quadratic constraints are accepted; a network goes in with dcembed.pyomo.embed. "
    "Reformulate the constraint or deactivate it."
)
CURVED = "QuadraticConstraint: quadratic is not positive semidefinite (smallest eigenvalue {}), so the constraint is not convex. dcembed takes convex constraints; note that 1/2 w'Qw + a'w <= ub is meant."
PRODUCT = "A product that only the objective needs is taken in the objective itself, convex or not."
VALUES = "Give every parameter and every fixed variable a number before solving."
UNSET = "Error evaluating Param value (p): The Param value is currently set to an invalid value. This is typically from a scal..."
INSIDE = "A prediction holds always, not only when the disjunct is on. Embed on a block outside and use the outputs in the constraints of the disjunct."

REJECTIONS = [
    (nonlinear, f"Constraint 'c[a]' has a nonlinear term: sin(x[0]). {LINEAR}"),
    (quadratic, f"Constraint 'q' is quadratic, but not convex. {CURVED.format(-2)} {PRODUCT}"),
    (quadratic_equality, f"Constraint 'q' is quadratic and bounded on both sides, which is not convex. {LINEAR} {PRODUCT}"),
    (output_in_product, f"Constraint 'q' is quadratic, but not convex. {CURVED.format(-1)} {PRODUCT}"),
    (quadratic_in_disjunct, "Constraint 'd.q' has a quadratic term inside a disjunct. Linear constraints are accepted there."),
    (no_parameter, f"Constraint 'c' uses something that has no value: {UNSET} {VALUES}"),
    (no_right_side, f"Constraint 'c' uses something that has no value: {UNSET} {VALUES}"),
    (fixed_at_nothing, f"Constraint 'c' uses something that has no value: 'v' evaluated to a nonnumeric value 'None'. {VALUES}"),
    (not_a_number, "Constraint 'c' has the coefficient or constant nan; finite numbers are accepted."),
    (nonlinear_objective, "Objective 'o' has a nonlinear term: exp(x[0]). Linear and quadratic objectives are accepted."),
    (two_objectives, "The model has 2 active objectives: 'o', 'o2'. Deactivate all but one."),
    (odd_domain, "Variable 'v' has the domain {1, 3, 7}; intervals of reals and of integers are accepted."),
    (crossed_bounds, "Program: the bounds of column 'x[0]' cross: lb = 2 > ub = 1."),
    (
        logical,
        "'l' is an active LogicalConstraint, which is not read. "
        'Apply TransformationFactory("core.logical_to_linear").apply_to(model) first.',
    ),
    (special_ordered, "'s' is an active SOSConstraint, which is not read. Write it with binary variables."),
    (nonlinear_input, "Input 1 of the network on 'more' has a quadratic term. Inputs and outputs are linear in the variables."),
    (
        nested_disjunct,
        "Disjunct 'd.inner' is inside disjunct 'd'; nested disjuncts are not read. "
        'Apply TransformationFactory("gdp.bigm").apply_to(model) first.',
    ),
    (inside_disjunct, f"A network is embedded on 'd', inside the disjunct 'd'. {INSIDE}"),
    (
        disjunct_with_logic,
        "'d.l' is a LogicalConstraint inside a disjunct, which is not read. "
        'Apply TransformationFactory("gdp.bigm").apply_to(model) first.',
    ),
]


@pytest.mark.parametrize(("spoil", "message"), REJECTIONS, ids=lambda item: getattr(item, "__name__", ""))
def test_what_cannot_be_carried_is_named(spoil, message):
    m = box_model()
    dcembed.pyomo.embed(m.nn, NETWORK, inputs=m.x)
    m.o = pyo.Objective(expr=m.nn.outputs[0])
    spoil(m)
    with pytest.raises(InputError) as error:
        solve(m)
    assert str(error.value) == message


def test_abstract_and_foreign_models():
    with pytest.raises(InputError, match="Make a concrete model with create_instance"):
        solve(pyo.AbstractModel())
    with pytest.raises(InputError, match="A Pyomo model or block is solved, received int"):
        solve(3)
    with pytest.raises(InputError, match="has no variables to solve for"):
        solve(pyo.ConcreteModel())


def test_an_abstract_model_has_its_networks_in_the_rule_of_a_block():
    def embed(block):
        dcembed.pyomo.embed(block, NETWORK, block.model().x)

    abstract = pyo.AbstractModel()
    abstract.places = pyo.Set()
    abstract.x = pyo.Var(abstract.places, bounds=(-1, 1))
    with pytest.raises(InputError, match="Embed in the rule of a Block"):
        embed(abstract)
    abstract.nn = pyo.Block(rule=embed)
    abstract.o = pyo.Objective(rule=lambda m: m.nn.outputs[0])
    concrete = abstract.create_instance({None: {"places": {None: ["a", "b"]}}})
    solve(concrete)
    point = [[concrete.x[place].value for place in "ab"]]
    assert concrete.nn.outputs[0].value == pytest.approx(NETWORK(point)[0, 0], abs=1e-6)


def test_a_disjunct_on_a_variable_without_bounds_names_it():
    m = build_milp()
    m.free = pyo.Var()
    m.off.c = pyo.Constraint(expr=m.free >= m.x[0])
    with pytest.raises(MissingBoundError) as error:
        solve(m, solver="highs")
    assert str(error.value) == (
        "Column 'free' has no finite lower bound, but it is behind an indicator, which is written with a bound here. "
        "Give column 'free' a finite lower bound, or rows that imply one."
    )
