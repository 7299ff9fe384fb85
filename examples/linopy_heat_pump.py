"""A day of district heating in linopy, with a network that predicts what the heat pump gives.

A small scikit-learn network learns the heat of a heat pump from (synthetic) records: the more power, the more heat, but less of it for each
kW near full load and in the cold. A tank of hot water lets it
run when power is cheap and the air mild, and a gas boiler helps out.
The model is over hours, and one call embeds the network in all of them. Minimize the cost of electricity and gas.

    python examples/linopy_heat_pump.py
"""

from __future__ import annotations

from pathlib import Path

import linopy
import numpy as np
import pandas as pd
from sklearn.neural_network import MLPRegressor

import dcembed.linopy

PICTURE = Path(__file__).resolve().parent.parent / "out" / "linopy_heat_pump.png"
MAX_POWER, MAX_BOILER, TANK = 5.0, 10.0, 20.0  # kW and kWh
GAS, KEPT = 0.1, 0.98  # euro per kWh; share of the tank's heat that is left after an hour

HOURS = pd.date_range("2030-01-15", periods=24, freq="h", name="hour")
HOUR = np.arange(24)
OUTDOOR = pd.Series(1.0 - 5.0 * np.cos(2 * np.pi * (HOUR - 4) / 24), index=HOURS)  # degrees Celsius
PRICE = pd.Series(0.28 + 0.1 * np.cos(2 * np.pi * (HOUR - 19) / 24) + 0.05 * np.cos(4 * np.pi * (HOUR - 8) / 24), index=HOURS)
DEMAND = pd.Series(8.0 + 3.0 * np.exp(-((HOUR - 7) ** 2) / 6) + 2.0 * np.exp(-((HOUR - 20) ** 2) / 8), index=HOURS)


def measured_heat(power: np.ndarray, outdoor: np.ndarray) -> np.ndarray:
    """kW of heat: the coefficient of performance falls with load and frost, and the fans cost something."""
    performance = 3.4 + 0.09 * outdoor - 0.12 * np.maximum(power - 2.5, 0.0) ** 1.5
    return np.maximum(performance * power - 0.4, 0.0)


def train_network(seed: int = 0) -> MLPRegressor:
    """Heat as a function of power and outdoor temperature, learned from noisy records."""
    rng = np.random.default_rng(seed)
    records = pd.DataFrame({"power": rng.uniform(0.0, MAX_POWER, 400), "outdoor": rng.uniform(-10.0, 12.0, 400)})
    heat = measured_heat(records["power"].to_numpy(), records["outdoor"].to_numpy()) + rng.normal(0, 0.05, 400)
    return MLPRegressor(hidden_layer_sizes=(12,), solver="lbfgs", max_iter=2000, tol=1e-3, random_state=seed).fit(records, heat)


def build_model() -> linopy.Model:
    model = linopy.Model()
    power = model.add_variables(lower=0, upper=MAX_POWER, coords=[HOURS], name="power")
    boiler = model.add_variables(lower=0, upper=MAX_BOILER, coords=[HOURS], name="boiler")
    level = model.add_variables(lower=0, upper=TANK, coords=[HOURS], name="level")
    heat = dcembed.linopy.embed(model, train_network(), {"power": power, "outdoor": OUTDOOR}, name="heat").output
    # The day begins as it ends.
    model.add_constraints(level - KEPT * level.roll(hour=1) == heat + boiler - DEMAND, name="tank")
    model.add_objective((PRICE * power + GAS * boiler).sum())
    return model


def draw(model: linopy.Model) -> None:
    """Who heats when, and the price of electricity above it."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    values = model.solution
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(9, 6), layout="constrained", sharex=True, height_ratios=[1, 2])
    upper.step(HOUR, PRICE, where="mid", color="crimson", label="price of electricity (euro/kWh)")
    upper.plot(HOUR, OUTDOOR / 100, color="gray", linestyle=":", label="outdoor temperature (100 degrees C)")
    upper.legend(loc="upper left")
    lower.bar(HOUR, values["heat"], color="#1f5fa8", label="heat pump, as the network predicts")
    lower.bar(HOUR, values["boiler"], bottom=values["heat"], color="#9aa5b1", label="gas boiler")
    lower.step(HOUR, DEMAND, where="mid", color="black", label="demand")
    lower.plot(HOUR, values["level"], color="darkorange", marker="o", markersize=3, label="tank (kWh)")
    lower.set(xlabel="hour", ylabel="kW", ylim=(0, 32))
    lower.legend(loc="upper left", ncols=2)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=110)
    plt.close(figure)


def main() -> dcembed.Result:
    model = build_model()
    status, condition = model.solve(time_limit=10, prove=True)
    result = dcembed.linopy.result_of(model)
    if status == "ok":
        print(
            f"\nThe day costs {model.objective.value:.2f} euro ({status}, {condition}), and no plan costs less than {result.bound:.2f}: the gap is {result.gap:.2%}."
        )
        print(
            f"The pump gives {float(model.solution['heat'].sum()):.0f} of {DEMAND.sum():.0f} kWh and rests {int((model.solution['power'] < 0.5).sum())} hours."
        )
        draw(model)
        print(f"Picture: {PICTURE.relative_to(PICTURE.parent.parent)}")
    return result


if __name__ == "__main__":
    main()
