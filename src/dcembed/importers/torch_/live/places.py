"""Where a module is while it runs: the layer that an operator belongs to, as the user knows it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from dcembed.importers.lowering import Layer

# What users call operators that have other names inside of torch.
_NAMES = {"_to_copy": "Tensor.to", "_local_scalar_dense": "Tensor.item", "_softmax": "torch.softmax", "_log_softmax": "torch.log_softmax"}
# Modules that hold others and do nothing themselves.
_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)


class Places:
    """The modules that are running, outermost first.

    Parameters
    ----------
    model
        Its parts are known by the names that they have in it.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._names = {module: name for name, module in model.named_modules()}
        self._running: list[nn.Module] = []
        self._count = -1
        # The innermost module that an exception came from.
        self.failed: nn.Module | None = None

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Follow the model as long as this lasts."""
        handles = []
        # Scripted modules have no hooks.
        for module in (module for module in self._names if not isinstance(module, torch.jit.ScriptModule)):
            handles.append(module.register_forward_pre_hook(self._enter, prepend=True))
            handles.append(module.register_forward_hook(self._leave, always_call=True))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _enter(self, module: nn.Module, args: Any) -> None:
        if _is_layer(module) and not any(map(_is_layer, self._running)):
            self._count += 1
        self._running.append(module)

    def _leave(self, module: nn.Module, args: Any, output: Any) -> None:
        # An exception leaves the innermost module first, without an output.
        if output is None and self.failed is None:
            self.failed = module
        while self._running and self._running.pop() is not module:
            continue

    def last(self) -> Layer:
        """The layer from which an exception came."""
        assert self.failed is not None
        return Layer(max(self._count, 0), self._names[self.failed] or "model", type(self.failed).__name__)

    def where(self) -> str:
        """The innermost module from which an exception came, for messages."""
        if self.failed is None:
            return "no layer"
        return f"'{self._names[self.failed] or 'model'}' ({type(self.failed).__name__})"

    def at(self, operator: str) -> Layer:
        """The layer that an operator belongs to: a layer of torch.nn that is running, or the operator itself."""
        layers = [module for module in self._running if _is_layer(module)]
        if layers:
            return Layer(self._count, self._names[layers[-1]] or "model", type(layers[-1]).__name__)
        self._count += 1
        name = self._names[self._running[-1]] if self._running else ""
        return Layer(self._count, name or "model", _NAMES.get(operator, f"torch.{operator}"))


def _is_layer(module: nn.Module) -> bool:
    return type(module).__module__.startswith("torch.nn") and not isinstance(module, _CONTAINERS)


def has_layers(model: nn.Module) -> bool:
    """Whether there is anything in a model but containers."""
    return not all(isinstance(module, _CONTAINERS) for module in model.modules())
