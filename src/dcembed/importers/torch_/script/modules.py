"""TorchScript as modules of torch.nn, so that it is read as all modules are: the code of a file, or a live ScriptModule."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from dcembed.errors import InputError
from dcembed.importers.torch_.files.objects import Record
from dcembed.importers.torch_.recording.watch import TOGETHER, Guard
from dcembed.importers.torch_.script.code import find_forward, run_script
from dcembed.importers.torch_.script.files import read_script


# The types of torch are not read, so that mypy takes its classes for Any.
class Scripted(nn.Module):  # type: ignore[misc]
    """A module around TorchScript."""


class ScriptCode(Scripted):
    """The code of a file, run by us (`torchscript`)."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.script = read_script(path)

    def _apply(self, function: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> ScriptCode:
        """What .double() and the like do to all tensors."""
        _change_tensors(self.script.root, function, {})
        self.script.constants[:] = [_changed(value, function, {}) for value in self.script.constants]
        return self

    def run(self, arguments: inspect.BoundArguments) -> Any:
        """What the forward pass gives."""
        with Guard(TOGETHER):
            return run_script(self.script, list(arguments.arguments.values())[1:])


def _change_tensors(record: Record, function: Callable[[torch.Tensor], torch.Tensor], seen: dict[int, Any]) -> None:
    if id(record) in seen:
        return
    seen[id(record)] = record
    record.attributes.update({name: _changed(value, function, seen) for name, value in record.attributes.items()})


def _changed(value: Any, function: Callable[[torch.Tensor], torch.Tensor], seen: dict[int, Any]) -> Any:
    if isinstance(value, Record):
        _change_tensors(value, function, seen)
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, list | tuple):
        return type(value)(_changed(item, function, seen) for item in value)
    if isinstance(value, dict):
        return {key: _changed(item, function, seen) for key, item in value.items()}
    return value


class LiveScript(Scripted):
    """A live ScriptModule, which is not registered as a part: its own parts cannot be watched."""

    def __init__(self, script: Any) -> None:
        super().__init__()
        self.script = [script]

    def _apply(self, function: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> LiveScript:
        """What .double() and the like do to all tensors."""
        self.script[0]._apply(function)
        return self

    def train(self, mode: bool = True) -> LiveScript:
        """As at training, or as at inference; frozen modules know nothing of it."""
        if hasattr(self.script[0], "training"):
            self.script[0].train(mode)
        return self

    def run(self, arguments: inspect.BoundArguments) -> Any:
        """What the forward pass gives."""
        return self.script[0](*list(arguments.arguments.values())[1:])


def script_from_file(path: Path) -> nn.Module:
    """The module in a file."""
    module = ScriptCode(path)
    arguments = find_forward(module.script).args
    names = [argument.arg for argument in arguments.args[1:]]
    kinds = [ast.unparse(argument.annotation) if argument.annotation else "Tensor" for argument in arguments.args[1:]]
    defaults = [inspect.Parameter.empty] * (len(names) - len(arguments.defaults)) + [_literal(node) for node in arguments.defaults]
    return _with_signature(module, [_parameter(place, *entry) for place, entry in enumerate(zip(names, kinds, defaults, strict=True))])


def script_from_module(script: Any) -> nn.Module:
    """The module around a live one."""
    parameters = [
        _parameter(
            place, argument.name, str(argument.type), argument.default_value if argument.has_default_value() else inspect.Parameter.empty
        )
        for place, argument in enumerate(script.forward.schema.arguments[1:])
    ]
    return _with_signature(LiveScript(script), parameters)


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise InputError(f"The TorchScript model has the default {ast.unparse(node)}, which is not a plain value.") from None


def _parameter(place: int, name: str, kind: str, default: Any) -> inspect.Parameter:
    """Names of TorchScript need not be names of Python; such a one is called by its place."""
    valid = name if name.isidentifier() else f"input_{place}"
    return inspect.Parameter(valid, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind)


def _with_signature(module: Any, parameters: list[inspect.Parameter]) -> nn.Module:
    """The same module, whose forward pass has the arguments of the script."""
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([own, *parameters])

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        return self.run(bound)

    forward.__signature__ = signature  # type: ignore[attr-defined]
    module.__class__ = type(type(module).__name__, (type(module),), {"forward": forward})
    whole: nn.Module = module
    return whole
