"""Run a chemical reactor by its neural surrogate.

A network (4 inputs, 64 ReLU units, trained by train_reactor.py on a kinetic model, shipped as ONNX) predicts the gross margin and
the impurity of a reactor from temperature, residence time, feed concentration and the number of catalyst charges. Find the most
profitable operating point that keeps the impurity at 8 percent and the heating within its budget. The charges are an integer.

    python examples/reactor.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import dcembed

HERE = Path(__file__).parent
PICTURE = HERE.parent / "out" / "reactor.png"

# Columns: temperature (K), residence time (min), feed (mol/l), catalyst charges; predicted gross margin (per hour), impurity (%).
TEMPERATURE, TIME, FEED, CHARGES, MARGIN, IMPURITY = range(6)
LOW = np.array([330.0, 2.0, 0.5, 0.0])
HIGH = np.array([375.0, 14.0, 2.0, 4.0])
MAX_IMPURITY = 8.0
HEAT_BUDGET, HEAT_OF_FEED = 378.0, 12.0
COSTS = np.array([0.01, 0.0, 0.2, 0.95])  # of a kelvin above 330, of a minute, of a mol/l, of a charge


def build_problem() -> tuple[dcembed.Program, dcembed.Embedding]:
    """maximize margin - costs  subject to  impurity <= 8 and temperature + 12 feed <= 378."""
    network = dcembed.load_network(HERE / "reactor.onnx")
    program = dcembed.Program(
        cost=np.concatenate([-COSTS, [1.0, 0.0]]),
        offset=COSTS[TEMPERATURE] * LOW[TEMPERATURE],
        maximize=True,
        rows=[[1.0, 0.0, HEAT_OF_FEED, 0.0, 0.0, 0.0]],
        row_ub=HEAT_BUDGET,
        lb=np.concatenate([LOW, [-np.inf, -np.inf]]),
        ub=np.concatenate([HIGH, [np.inf, MAX_IMPURITY]]),
        integer=[CHARGES],
        column_names=["temperature", "time", "feed", "charges", "margin", "impurity"],
        row_names=["heating"],
    )
    return program, dcembed.Embedding(network, inputs=[TEMPERATURE, TIME, FEED, CHARGES], outputs=[MARGIN, IMPURITY])


def draw(result: dcembed.Result, embedding: dcembed.Embedding) -> None:
    """Where the best point lies, and how the iterations got there."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained", width_ratios=[3, 2])
    x = result.x
    temperature, minutes = np.meshgrid(np.linspace(LOW[0], HIGH[0], 200), np.linspace(LOW[1], HIGH[1], 200))
    points = np.stack([temperature, minutes, np.full_like(temperature, x[FEED]), np.full_like(temperature, x[CHARGES])], axis=-1)
    margin, impurity = np.moveaxis(embedding.network(points.reshape(-1, 4)).reshape(200, 200, 2), 2, 0)
    profit = margin - points @ COSTS + COSTS[TEMPERATURE] * LOW[TEMPERATURE]
    filled = left.contourf(temperature, minutes, profit, levels=np.linspace(-6, 6, 25), cmap="viridis", extend="both")
    figure.colorbar(filled, label="predicted profit per hour")
    left.contourf(temperature, minutes, impurity, levels=[MAX_IMPURITY, np.inf], colors=["white"], alpha=0.5)
    left.contour(temperature, minutes, impurity, levels=[MAX_IMPURITY], colors="crimson", linewidths=2)
    left.axvline(HEAT_BUDGET - HEAT_OF_FEED * x[FEED], color="black", linestyle="--", linewidth=1.5)
    left.plot(x[TEMPERATURE], x[TIME], "*", color="gold", markersize=20, markeredgecolor="black", label="best verified point")
    left.plot([], [], color="crimson", linewidth=2, label=f"impurity {MAX_IMPURITY:g} % (pale: too impure)")
    left.plot([], [], color="black", linestyle="--", label="heating budget at this feed")
    left.set(xlabel="temperature (K)", ylabel="residence time (min)", title=f"catalyst charges: {x[CHARGES]:.0f}, feed {x[FEED]:.2f} mol/l")
    left.legend(loc="upper left")

    for start in range(result.num_starts):
        way = [record for record in result.history if record.start == start and record.violation <= result.feasibility_tol]
        right.plot([r.number for r in way], [r.objective for r in way], "o-", label=f"start {start}")
    right.axhline(result.objective, color="gray", linewidth=1, linestyle=":")
    right.set(xlabel="iteration", ylabel="profit per hour", title="feasible candidates, measured on the network")
    right.xaxis.get_major_locator().set_params(integer=True)
    right.legend(loc="lower right")
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=110)
    plt.close(figure)


def main() -> dcembed.Result:
    program, embedding = build_problem()
    result = dcembed.solve(program, [embedding], options=dcembed.Options(time_limit=10, prove=True, max_starts=2))
    if not result.is_feasible:
        return result
    x = result.x
    print(
        f"\nRun at {x[TEMPERATURE]:.1f} K for {x[TIME]:.1f} min with {x[FEED]:.2f} mol/l, catalyst charges: {x[CHARGES]:.0f}; "
        f"profit {result.objective:.3f} per hour at {x[IMPURITY]:.2f} % impurity."
    )
    print(f"No point earns more than {result.bound:.3f}: {result.status.name} to a gap of {result.gap:.2%}.")
    draw(result, embedding)
    print(f"Picture: {PICTURE.relative_to(HERE.parent)}")
    return result


if __name__ == "__main__":
    main()
