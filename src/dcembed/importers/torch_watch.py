"""Watching torch run: every operator of aten comes by, and none that does several layers at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.utils._python_dispatch import TorchDispatchMode


# The types of torch are not read, so that mypy takes its classes for Any.
class Watch(TorchDispatchMode):  # type: ignore[misc]
    """A mode in which `__torch_dispatch__` is given every operator."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here; to say so in another way imports the compiler, which takes seconds."""
        return False


@contextmanager
def plain_kernels() -> Iterator[None]:
    """Without kernels that do several layers at once, which are faster but say nothing of what they do."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
