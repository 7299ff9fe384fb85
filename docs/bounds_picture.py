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
    """The reactor of the examples: maximize the predicted margin less the costs."""
    network = dcembed.load_network(ROOT / "examples" / "reactor.onnx")
    program = dcembed.Program(
        cost=[-0.01, 0.0, -0.2, -0.95, 1.0, 0.0],
        offset=3.3,
        maximize=True,
        rows=[[1.0, 0.0, 12.0, 0.0, 0.0, 0.0]],
        row_ub=378.0,
        lb=[330.0, 2.0, 0.5, 0.0, -np.inf, -np.inf],
        ub=[375.0, 14.0, 2.0, 4.0, np.inf, 8.0],
        integer=[3],
    )
    embedding = dcembed.Embedding(network, inputs=[0, 1, 2, 3], outputs=[4, 5])
    return dcembed.solve(program, [embedding], options=dcembed.Options(time_limit=30, max_starts=2, prove=True))


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
    axes.set(xlabel="seconds", ylabel="profit per hour (maximized)", xlim=(0.0, end), ylim=(-2.0, 18.0))
    axes.set_title(
        f"The reactor: {result.status.name}, objective {result.objective:.4f}, bound {result.bound:.4f}", loc="left", fontsize=11
    )
    axes.legend(loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, dpi=110)


def _over(grid: np.ndarray, entries: list[tuple[float, float]]) -> np.ndarray:
    """The last value before each time, NaN before the first."""
    seconds, values = (np.array(part) for part in zip(*entries, strict=True))
    return np.concatenate([[np.nan], values])[np.searchsorted(seconds, grid, side="right")]


if __name__ == "__main__":
    draw(run())
    print(f"wrote {PICTURE.name}")
