"""Pictures: of a run, and of an answer among the data."""

from dcembed.plot.figures import require_matplotlib
from dcembed.plot.run import draw_run, plot_run

__all__ = ["draw_run", "plot_run", "require_matplotlib"]
