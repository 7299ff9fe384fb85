"""A module that is not read by running it on one point is tried through torch.export, for which the number of points is a symbol."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import nn

from dcembed.errors import DcembedError
from dcembed.importers.request import Request
from dcembed.importers.torch_.live.arguments import Arguments, Shapes
from dcembed.importers.torch_.programs.export import choose_outputs, load_program, read_exported
from dcembed.network.network import Network

# Points in the batch that a module is exported with: other sizes than these are left open, or not, as torch finds out.
EXAMPLES = (2, 1)


# The types of torch are not read, so that mypy takes its classes for Any.
class _OfInputs(nn.Module):  # type: ignore[misc]
    """A module as a function of its inputs alone, in the order in which a point holds them."""

    def __init__(self, model: nn.Module, arguments: Arguments, dtype: torch.dtype) -> None:
        super().__init__()
        self.model = model
        self.arguments = arguments
        self.dtype = dtype

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.arguments.call(self.model, dict(zip(self.arguments.names, inputs, strict=True)), self.dtype)


def export_module(model: nn.Module, arguments: Arguments, shapes: Shapes, dtype: torch.dtype) -> Any:
    """The ExportedProgram of a module; what torch raises if there is none."""
    first: Exception | None = None
    for count in EXAMPLES:
        inputs = tuple(torch.zeros((count, *shapes[name]), dtype=dtype) for name in arguments.names)
        dynamic = {"inputs": tuple({0: torch.export.Dim.AUTO} for _ in inputs)} if count > 1 else None
        try:
            with warnings.catch_warnings(), torch.no_grad():
                warnings.simplefilter("ignore")
                return torch.export.export(_OfInputs(model, arguments, dtype), inputs, dynamic_shapes=dynamic)
        except Exception as error:
            first = first or error
    assert first is not None
    raise first


def load_by_export(
    model: nn.Module, arguments: Arguments, shapes: Shapes, request: Request, dtype: torch.dtype, error: DcembedError
) -> tuple[Network, Network, list[int]]:
    """The network with its last activations, the one that is asked for, and the numbers of its outputs among all that the module returns.

    `error` is what was wrong before.
    """
    try:
        program = read_exported(export_module(model, arguments, shapes, dtype))
        whole = load_program(program, Request(outputs=request.outputs))
        wanted = load_program(program, Request(outputs=request.outputs, logits=True, heads=request.heads)) if request.logits else whole
        return whole, wanted, choose_outputs(program, request)
    except DcembedError:
        # It is no better for the export.
        raise error from None
    except Exception as failure:
        raise type(error)(f"{error}\ntorch.export, which was tried as well, does not help: {_first_line(failure)}") from error


def _first_line(error: Exception) -> str:
    """Torch says much; the first line has the reason."""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {text[:200]}{'...' if len(text) > 200 else ''}"
