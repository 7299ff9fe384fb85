"""A recipe in Pyomo, by a scikit-learn pipeline as it is: scaled and squared numbers, a category, a tanh network, a scaled target.

The pipeline learns the yield of a reaction from (synthetic) records with columns of a table: temperature, pressure, catalyst. Nothing of it is
rewritten. The catalyst is one binary for each kind, and all inputs are matched by the names of the columns. Maximize the value of the
yield minus the cost of the catalyst and of pressure, within what the heater and the compressor have together.

    python examples/pyomo_recipe.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyomo.environ as pyo
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

import dcembed.pyomo

PICTURE = Path(__file__).resolve().parent.parent / "out" / "pyomo_recipe.png"
TEMPERATURES, PRESSURES = (300.0, 400.0), (1.0, 10.0)  # kelvin, bar
ACTIVITY = {"nickel": 0.7, "palladium": 1.0, "platinum": 0.95}
COST = {"nickel": 1.0, "palladium": 9.0, "platinum": 12.0}
PRICE, COMPRESSION, POWER = 1.0, 0.4, 2.5  # per percent of yield, per bar, kW


def measured_yield(records: pd.DataFrame) -> np.ndarray:
    """Percent: best at a temperature that rises with the pressure, and better with pressure up to a point."""
    best = 340.0 + 3.0 * records["pressure"]
    pressure = records["pressure"] / (records["pressure"] + 2.0)
    return (90.0 * records["catalyst"].map(ACTIVITY) * pressure * np.exp(-(((records["temperature"] - best) / 25.0) ** 2))).to_numpy()


def train_pipeline(seed: int = 0) -> TransformedTargetRegressor:
    """Yield by temperature, pressure and catalyst, learned from noisy records."""
    rng = np.random.default_rng(seed)
    records = pd.DataFrame({"temperature": rng.uniform(*TEMPERATURES, 600), "pressure": rng.uniform(*PRESSURES, 600)})
    records["catalyst"] = rng.choice(list(ACTIVITY), 600)
    numbers = make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False))
    columns = make_column_transformer((numbers, ["temperature", "pressure"]), (OneHotEncoder(), ["catalyst"]))
    network = MLPRegressor(hidden_layer_sizes=(16, 16), activation="tanh", solver="lbfgs", max_iter=1000, random_state=seed)
    pipeline = TransformedTargetRegressor(make_pipeline(columns, network), transformer=StandardScaler())
    return pipeline.fit(records, measured_yield(records) + rng.normal(0, 0.5, 600))


def build_model(pipeline: TransformedTargetRegressor) -> pyo.ConcreteModel:
    model = pyo.ConcreteModel()
    model.temperature = pyo.Var(bounds=TEMPERATURES)
    model.pressure = pyo.Var(bounds=PRESSURES)
    model.catalyst = pyo.Var(list(COST), domain=pyo.Binary)
    model.one = pyo.Constraint(expr=sum(model.catalyst.values()) == 1)
    model.power = pyo.Constraint(expr=0.02 * (model.temperature - 300.0) + 0.25 * model.pressure <= POWER)
    model.predicted = pyo.Block()
    kinds = {f"catalyst_{kind}": model.catalyst[kind] for kind in COST}
    dcembed.pyomo.embed(model.predicted, pipeline, inputs={"temperature": model.temperature, "pressure": model.pressure, **kinds})
    cost = sum(COST[kind] * model.catalyst[kind] for kind in COST) + COMPRESSION * model.pressure
    model.profit = pyo.Objective(expr=PRICE * model.predicted.outputs[0] - cost, sense=pyo.maximize)
    return model


def draw(pipeline: TransformedTargetRegressor, model: pyo.ConcreteModel, chosen: str) -> None:
    """What the pipeline promises of each catalyst, and where the recipe is."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    temperature, pressure = np.meshgrid(np.linspace(*TEMPERATURES, 80), np.linspace(*PRESSURES, 60))
    figure, panels = plt.subplots(1, len(COST), figsize=(13, 4.2), layout="constrained", sharey=True)
    for panel, kind in zip(panels, COST, strict=True):
        points = pd.DataFrame({"temperature": temperature.ravel(), "pressure": pressure.ravel(), "catalyst": kind})
        profit = PRICE * pipeline.predict(points) - COST[kind] - COMPRESSION * points["pressure"]
        filled = panel.contourf(
            temperature, pressure, profit.to_numpy().reshape(temperature.shape), levels=np.linspace(-20, 60, 17), extend="both"
        )
        panel.plot(TEMPERATURES, [(POWER - 0.02 * (t - 300.0)) / 0.25 for t in TEMPERATURES], "k--", label="power")
        if kind == chosen:
            panel.plot(
                model.temperature.value, model.pressure.value, "*", color="gold", markersize=22, markeredgecolor="black", label="recipe"
            )
        panel.set(title=f"{kind}, cost {COST[kind]:.0f}", xlabel="temperature (K)", ylim=PRESSURES)
        panel.legend(loc="upper right")
    panels[0].set_ylabel("pressure (bar)")
    figure.colorbar(filled, ax=panels, label="predicted profit")
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=110)
    plt.close(figure)


def main() -> None:
    pipeline = train_pipeline()
    model = build_model(pipeline)
    results = pyo.SolverFactory("dcembed").solve(model, tee=True, time_limit=10, prove=True)
    chosen = max(COST, key=lambda kind: model.catalyst[kind].value)
    recipe = pd.DataFrame({"temperature": [model.temperature.value], "pressure": [model.pressure.value], "catalyst": [chosen]})
    print(f"\n{chosen} at {recipe.temperature[0]:.1f} K and {recipe.pressure[0]:.2f} bar: profit {pyo.value(model.profit):.3f}")
    print(f"The pipeline predicts a yield of {pipeline.predict(recipe)[0]:.3f} %, the model has {model.predicted.outputs[0].value:.3f} %.")
    best = results.problem
    print(f"{results.solver.termination_condition}: the best profit is between {best.lower_bound:.3f} and {best.upper_bound:.3f}.")
    draw(pipeline, model, chosen)
    print(f"Picture: out/{PICTURE.name}")


if __name__ == "__main__":
    main()
