"""What all pictures share: matplotlib, if it is there, an empty figure, and colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dcembed.errors import MissingPackageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, GREY, RED, GREEN = "#1f5fa8", "#9aa5b1", "#c0392b", "#2e8b57"


def require_matplotlib() -> None:
    """Raise MissingPackageError if no picture can be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise MissingPackageError(
            'A picture needs the package matplotlib, which is not installed. Run: pip install "dcembed[plot]"'
        ) from None


def new_figure(size: tuple[float, float]) -> Figure:
    """An empty figure of so many inches; no window is opened."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def tidy(axes: Axes) -> None:
    """A grid behind what is drawn, and no frame."""
    axes.grid(True, color="#e6e9ed", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
