"""Work that is independent of other work, in other processes or on other machines: whoever does it, the answers are the same."""

from dcembed.crew.ray_ import RayExecutor
from dcembed.crew.workers import Workers

__all__ = ["RayExecutor", "Workers"]
