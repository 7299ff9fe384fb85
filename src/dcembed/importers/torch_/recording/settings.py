"""Settings of torch that are the user's: they neither change what is read, nor are they changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import torch


@contextmanager
def own_settings() -> Iterator[None]:
    """Tensors are made on the CPU, whatever the default device is, and the random numbers that are drawn meanwhile are drawn again."""
    # A device as a context looks at every call, so that it is entered only where it is needed.
    device = nullcontext() if torch.get_default_device().type == "cpu" else torch.device("cpu")
    with device, torch.random.fork_rng(devices=[]):
        yield
