"""Draw docs/bounds.png, point and bound of one run over time: `python -m docs.bounds_picture` (needs matplotlib and onnx)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import dcembed

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "bounds.png"
BLUE, GREEN = "#1f5fa8", "#2e8b57"


def run() -> dcembed.Result:
    """Three reactors of the examples on one budget of heat, catalyst and impurity: maximize the predicted margins less the costs."""
    network = dcembed.load_network(ROOT / "examples" / "reactor.onnx")
    # Temperatures, minutes, feeds, charges; margins, impurities.
    program = dcembed.Program(
        cost=np.repeat([-0.01, 0.0, -0.2, -0.95, 1.0, 0.0], 3),
        offset=9.9,
        maximize=True,
        rows=np.repeat([[0.0, 0.0, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 12.0, 0.0, 0.0, 0.0]], 3, axis=1),
        row_ub=[24.0, 4.0, 1134.0],
        lb=np.repeat([330.0, 2.0, 0.5, 0.0, -np.inf, -np.inf], 3),
        ub=np.repeat([375.0, 14.0, 2.0, 4.0, np.inf, np.inf], 3),
        integer=[9, 10, 11],
    )
    embeddings = [dcembed.Embedding(network, inputs=[i, 3 + i, 6 + i, 9 + i], outputs=[12 + i, 15 + i]) for i in range(3)]
    return dcembed.solve(program, embeddings, options=dcembed.Options(time_limit=15, prove=True))


def draw(result: dcembed.Result) -> None:
    """The best point from below, the bound from above, and what is left between them."""
    figure = Figure(figsize=(8, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    end = 1.05 * result.seconds
    grid = np.linspace(0.0, end, 2000)
    found, proved = (_over(grid, entries) for entries in (result.incumbents, result.bounds))
    axes.plot(grid, proved, color=GREEN, linewidth=2, label="bound: no feasible point is better")
    axes.plot(grid, found, color=BLUE, linewidth=2, label="best feasible point")
    axes.fill_between(grid, found, proved, color="#e6e9ed", label="gap: the optimum is in here")
    axes.set(xlabel="seconds", ylabel="profit per hour (maximized)", xlim=(0.0, end), ylim=(0.0, 16.0))
    axes.set_title(
        f"Three reactors: {result.status.name}, objective {result.objective:.4f}, bound {result.bound:.4f}", loc="left", fontsize=11
    )
    axes.legend(loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, dpi=110)


def _over(grid: np.ndarray, entries: list[tuple[float, float]]) -> np.ndarray:
    """The last value before each time, NaN before the first."""
    seconds, values = (np.array(part) for part in zip(*entries, strict=True))
    return np.concatenate([[np.nan], values])[np.searchsorted(seconds, grid, side="right")]


if __name__ == "__main__":
    draw(run())
    print(f"wrote {PICTURE.name}")
