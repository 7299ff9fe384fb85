"""Where a module is while it runs: the layer that an operator belongs to, as the user knows it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

from dcembed.importers.lowering import Layer

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
        self._layer: tuple[Any, ...] | None = None
        self._count = -1
        # The innermost module that an exception came from.
        self.failed: nn.Module | None = None

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Follow the model as long as this lasts."""
        handles = []
        for module in self._names:
            handles.append(module.register_forward_pre_hook(self._enter, prepend=True))
            handles.append(module.register_forward_hook(self._leave, always_call=True))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _enter(self, module: nn.Module, args: Any) -> None:
        self._running.append(module)
        self._layer = None

    def _leave(self, module: nn.Module, args: Any, output: Any) -> None:
        # An exception leaves the innermost module first, without an output.
        if output is None and self.failed is None:
            self.failed = module
        while self._running and self._running.pop() is not module:
            continue
        self._layer = None

    @property
    def module(self) -> nn.Module | None:
        """The innermost module that is running."""
        return self._running[-1] if self._running else None

    def where(self) -> str:
        """The innermost module from which an exception came, for messages."""
        if self.failed is None:
            return "no layer"
        return f"'{self._names[self.failed] or 'model'}' ({type(self.failed).__name__})"

    def at(self, operator: str) -> Layer:
        """The layer that an operator belongs to: a layer of torch.nn that is running, or the operator itself."""
        layers = [module for module in self._running if _is_layer(module)]
        key = (layers[0],) if layers else (self.module, operator, self._count)
        if self._layer != key:
            self._count += 1
            self._layer = key if layers else None
        if layers:
            return Layer(self._count, self._names[layers[0]] or "model", type(layers[0]).__name__)
        return Layer(self._count, (self._names[self.module] if self.module is not None else "") or "model", f"torch.{operator}")


def _is_layer(module: nn.Module) -> bool:
    return type(module).__module__.startswith("torch.nn") and not isinstance(module, _CONTAINERS)


def has_layers(model: nn.Module) -> bool:
    """Whether there is anything in a model but containers."""
    return any(_is_layer(module) for module in model.modules()) or not isinstance(model, _CONTAINERS)
