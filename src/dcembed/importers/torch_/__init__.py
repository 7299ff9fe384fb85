"""Read PyTorch: modules, TorchScript, programs of torch.export, and the files that hold the last two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from dcembed.errors import InputError
from dcembed.importers.request import Request
from dcembed.importers.torch_.live.modules import load_module
from dcembed.importers.torch_.programs.export import load_program, read_exported
from dcembed.importers.torch_.programs.pt2 import read_pt2
from dcembed.importers.torch_.recording.settings import own_settings
from dcembed.importers.torch_.script.modules import script_from_file, script_from_module
from dcembed.network.growth import Growth
from dcembed.network.network import Network

# Numbers that one value made of a file may have, tens of megabytes; more only in proportion to those in the file. A convolution repeats its
# kernel for every place.
ALWAYS_ALLOWED = 20_000_000
MOST_GROWTH = 64


def load(model: Any, request: Request) -> Network:
    """Read a torch model."""
    request.allow_only("torch model", "inputs", "fixed", "outputs", "input_shapes")
    with own_settings():
        return _load(model, request)


def _load(model: Any, request: Request) -> Network:
    if isinstance(model, Path):
        return _load_file(model, request)
    if isinstance(model, torch.export.ExportedProgram):
        return load_program(read_exported(model), request)
    if isinstance(model, torch.jit.ScriptModule):
        return load_module(script_from_module(model), request)
    if isinstance(model, nn.Module):
        return load_module(model, request)
    raise InputError(
        f"A torch object of type {type(model).__name__} is not a model. Pass the nn.Module itself, for example nn.Sequential, a module of "
        "TorchScript, or what torch.export.export gives."
    )


def _load_file(path: Path, request: Request) -> Network:
    growth = Growth(max(ALWAYS_ALLOWED, MOST_GROWTH * path.stat().st_size // 4))
    if path.suffix.lower() == ".pt2":
        return load_program(read_pt2(path), request, growth)
    return load_module(script_from_file(path), request, growth)
