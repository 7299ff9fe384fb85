"""A column that a model of scikit-learn encodes is one binary for each category, by name, in every front end."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")

from tests.frontends.learned import categorical_pipeline  # noqa: E402
from tests.frontends.tools import TOOLS  # noqa: E402

from dcembed import load_network  # noqa: E402
from dcembed.errors import InputError  # noqa: E402

COLORS = ["blue", "green", "red"]
NAMES = ("area", "color_blue", "color_green", "color_red", "age")


def best():
    """The smallest prediction over a fine grid, by scikit-learn."""
    grid = np.linspace(0.0, 1.0, 101)
    tables = [pd.DataFrame({"area": grid, "color": color, "age": 0.5}) for color in COLORS]
    return min(categorical_pipeline().predict(table).min() for table in tables)


@pytest.mark.parametrize("tool", TOOLS)
def test_the_best_category_is_found_and_the_model_agrees(tool):
    host = tool()
    binaries = {f"color_{color}": host.var(0, 1, "B") for color in COLORS}
    host.add(sum(binaries.values()) == 1)
    area = host.var(0.0, 1.0)
    frame = pd.DataFrame([{**binaries, "age": 0.5, "area": area}], dtype=object)
    embedded = host.embed(categorical_pipeline(), frame)
    result = host.minimize(embedded.output[0, 0], max_starts=6, seed=1)
    assert result.is_feasible
    color = max(COLORS, key=lambda color: host.value(binaries[f"color_{color}"]))
    said = categorical_pipeline().predict(pd.DataFrame({"area": [host.value(area)], "color": [color], "age": [0.5]}))
    assert embedded.output_values[0, 0] == pytest.approx(said[0], abs=1e-5)
    assert embedded.output_values[0, 0] <= best() + 1e-3
    assert embedded.get_error().max() <= 1e-5


def test_the_column_itself_is_no_name_any_more():
    assert load_network(categorical_pipeline()).input_names == NAMES
    host = TOOLS[0]()
    frame = pd.DataFrame([{"area": host.var(0, 1), "color": "red", "age": 0.5}], dtype=object)
    with pytest.raises(InputError, match=r"Missing: 'color_blue', 'color_green', 'color_red'. Surplus: 'color'"):
        host.embed(categorical_pipeline(), frame)


def test_elsewhere():
    cp = pytest.importorskip("cvxpy", reason="cvxpy is not installed")
    pyo = pytest.importorskip("pyomo.environ", reason="Pyomo is not installed")
    linopy = pytest.importorskip("linopy", reason="linopy is not installed")
    from dcembed.cvxpy import embed as embed_cvxpy
    from dcembed.linopy import embed as embed_linopy
    from dcembed.pyomo import embed as embed_pyomo

    values = {"color_red": 1.0, "age": 0.5, "area": 0.25, "color_green": 0.0, "color_blue": 0.0}
    in_order = [values[name] for name in NAMES]
    variable = cp.Variable(value=0.25)
    assert embed_cvxpy(categorical_pipeline(), {**values, "area": variable}).inputs.value.tolist() == in_order
    model = pyo.ConcreteModel()
    model.x = pyo.Var(list(values), initialize=values)
    assert embed_pyomo(model, categorical_pipeline(), model.x).input_values.tolist() == [in_order]
    host = linopy.Model()
    area = host.add_variables(lower=0.25, upper=0.25, name="area")
    embedded = embed_linopy(host, categorical_pipeline(), {**values, "area": area})
    host.add_objective(1 * embedded.output)
    host.solve(max_starts=1)
    assert embedded.input_values.values.tolist() == pytest.approx(in_order)
    said = categorical_pipeline().predict(pd.DataFrame({"area": [0.25], "color": ["red"], "age": [0.5]}))
    assert float(embedded.output_values) == pytest.approx(said[0], abs=1e-5)
