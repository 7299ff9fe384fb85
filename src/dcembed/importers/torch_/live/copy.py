"""A copy of the user's module to run and to change: in double precision, on the CPU, in evaluation mode."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from dcembed.errors import NetworkError


def copy_module(model: nn.Module, dtype: torch.dtype = torch.float64) -> nn.Module:
    """The copy. Functions that a module holds may still hold the module itself: see `resting`."""
    if any(nn.parameter.is_lazy(tensor) for tensor in (*model.parameters(), *model.buffers())):
        raise NetworkError("The torch model has lazy layers without weights. Call it once on a batch of data, then load it.")
    # A compiled module keeps the original.
    original = getattr(model, "_orig_mod", model)
    try:
        with torch.no_grad():
            copied = copy.deepcopy(original, _computed_tensors(original)).cpu().to(dtype).eval()
    except Exception as error:
        raise NetworkError(f"The torch model cannot be copied to the CPU in double precision: {type(error).__name__}: {error}.") from error
    for module in copied.modules():
        # What Module.compile leaves behind would run instead of the module.
        module._compiled_call_impl = None
    _keep_epsilons(original, copied)
    return copied


@contextmanager
def resting(model: nn.Module) -> Iterator[None]:
    """The module in evaluation mode, and as it was afterwards: what a closure in its copy calls is the module itself."""
    training = [module for module in model.modules() if module.training]
    try:
        for module in training:
            module.training = False
        yield
    finally:
        for module in training:
            module.training = True


def _keep_epsilons(original: nn.Module, copied: nn.Module) -> None:
    """RMSNorm without an epsilon takes that of the precision of its input, which is another one in the copy."""
    for module, own in zip(original.modules(), copied.modules(), strict=True):
        if isinstance(own, nn.RMSNorm) and own.eps is None:
            floats = [tensor.dtype for tensor in (*module.parameters(), *original.parameters()) if tensor.is_floating_point()]
            own.eps = torch.finfo(floats[0] if floats else torch.get_default_dtype()).eps


def _computed_tensors(model: nn.Module) -> dict[int, Any]:
    """Tensors that were computed from parameters, as weight_norm keeps them: copy.deepcopy refuses them, and they are computed again anyway."""
    kept = [value for module in model.modules() for value in (*vars(module).values(), *module.buffers(recurse=False))]
    return {id(value): value.detach().clone() for value in kept if isinstance(value, torch.Tensor) and not value.is_leaf}
