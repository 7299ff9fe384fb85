"""Watching torch run: every operator of aten comes by, and none that does several layers at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from dcembed.importers.torch_.recording.constants import check_size
from dcembed.network.growth import UNLIMITED, Growth

# Numbers in one value of a file, for all points that are compared together.
TOGETHER = Growth(50_000_000)


# The types of torch are not read, so that mypy takes its classes for Any.
class Watch(TorchDispatchMode):  # type: ignore[misc]
    """A mode in which `__torch_dispatch__` is given every operator."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here; to say so in another way imports the compiler, which takes seconds."""
        return False


class Guard(Watch):
    """No operator gives more numbers than are accepted.

    Parameters
    ----------
    growth
        How many these are.
    """

    def __init__(self, growth: Growth) -> None:
        super().__init__()
        self._growth = growth

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        check_size(func, args, kwargs or {}, self._growth)
        return func(*args, **(kwargs or {}))


def guard_comparison(growth: Growth) -> Guard:
    """For what comes from a file, and has `growth` for one point: many points are compared together."""
    return Guard(UNLIMITED if growth.most is None else Growth(max(TOGETHER.most or 0, growth.most)))


@contextmanager
def plain_torch() -> Iterator[None]:
    """Torch without gradients, and without kernels that do several layers at once."""
    attention: Any = getattr(torch.backends, "mha", None)
    fast = attention is not None and attention.get_fastpath_enabled()
    if fast:
        attention.set_fastpath_enabled(False)
    try:
        with torch.no_grad():
            yield
    finally:
        if fast:
            attention.set_fastpath_enabled(True)
