"""Read .nnet files, the text format of the ACAS Xu networks.

Lines that begin with // are comments. Then come: the numbers of layers, inputs, outputs and the largest size; the sizes of all layers;
a flag that nothing uses; the least and the largest value of each input; the mean of each input and of the outputs; the range of each
input and of the outputs; and for each layer the rows of its weights, then its biases. Units are ReLU, and the outputs are linear.

The network takes and gives raw units: inputs are normalized, (x - mean) / range, and outputs are brought back, y * range + mean. Inputs are
*not* clipped to their least and largest values, as some programs that run such files do: give the columns of your model these bounds.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dcembed.arrays import Array
from dcembed.errors import NetworkError
from dcembed.importers.check import check
from dcembed.importers.request import Request
from dcembed.importers.weights.chain import LINEAR, Chain, Layers, build_chain, evaluate_chain
from dcembed.importers.weights.named_functions import NamedFunction
from dcembed.network.network import Network
from dcembed.reading import shorten

# Letters of a line that a message shows.
MOST_SHOWN = 40


def load(path: Path, request: Request) -> Network:
    """Read a .nnet file; the number of inputs is in it, so `input_shape` is not needed. Compared with plain numpy."""
    request.allow_only(".nnet file")
    request.refuse_logits(".nnet file")
    lines = _read_lines(path)
    sizes = _read_sizes(lines)
    lines.read_any("the flag that nothing uses")
    shift, scale = _read_normalization(lines, sizes[0], sizes[-1])
    weights, biases = _read_layers(lines, sizes)
    lines.check_end()
    first, last = slice(None, sizes[0]), slice(sizes[0], None)
    # The outputs are brought back by the last layer, so that the network stays a chain.
    layers = Layers(
        [*weights[:-1], scale[last][:, None] * weights[-1]],
        [*biases[:-1], scale[last] * biases[-1] + shift[last]],
        shift[first],
        scale[first],
    )
    chain = Chain(layers, [*[NamedFunction("relu")] * (len(weights) - 1), LINEAR])
    as_written = Chain(Layers(weights, biases, shift[first], scale[first]), chain.functions)
    return check(build_chain(chain), lambda points: evaluate_chain(as_written, points) * scale[last] + shift[last], "file")


@dataclass
class _Lines:
    """The lines of a file that are no comments, with their numbers, and how many of them are read."""

    path: Path
    lines: Sequence[tuple[int, str]]
    place: int = 0

    def read_any(self, what: str) -> tuple[int, str]:
        """The next line, whatever it says."""
        if self.place >= len(self.lines):
            raise NetworkError(f"{self.path} ends before {what}. It is cut off, or its sizes are wrong; write it again.")
        self.place += 1
        return self.lines[self.place - 1]

    def read_numbers(self, what: str, *counts: int) -> Array:
        """The numbers of the next line; as many as one of `counts`, if any is given."""
        number, text = self.read_any(what)
        try:
            values = np.array([float(part) for part in text.rstrip(", \t").split(",")])
        except ValueError:
            raise self.complain(
                number, f"expected are {what}, numbers with commas between them, received '{shorten(text, MOST_SHOWN)}'"
            ) from None
        if counts and values.size not in counts:
            wanted = " or ".join(map(str, dict.fromkeys(counts)))
            raise self.complain(number, f"expected are {what}, {wanted} of them, received {values.size}")
        if not np.isfinite(values).all():
            raise self.complain(number, f"there are NaN or infinite entries among {what}")
        return values

    def complain(self, number: int, problem: str) -> NetworkError:
        """The error about a line."""
        return NetworkError(f"{self.path}, line {number}: {problem}. Write the file again in the .nnet format.")

    def check_end(self) -> None:
        """Raise NetworkError if there are lines left."""
        if self.place < len(self.lines):
            number, text = self.lines[self.place]
            raise self.complain(number, f"all layers are read, but '{shorten(text, MOST_SHOWN)}' follows")


def _read_lines(path: Path) -> _Lines:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        text = path.read_text(encoding="latin-1")
    stripped = ((number, line.strip()) for number, line in enumerate(text.splitlines(), start=1))
    return _Lines(path, [(number, line) for number, line in stripped if line and not line.startswith("//")])


def _read_sizes(lines: _Lines) -> list[int]:
    number = lines.lines[0][0] if lines.lines else 0
    head = lines.read_numbers("the numbers of layers, inputs, outputs and the largest size", 4)
    sizes = lines.read_numbers("the sizes of the layers")
    # No layer has more units than the file has lines, nor more inputs than it has letters.
    most = sum(len(text) for _, text in lines.lines)
    if (sizes != np.round(sizes)).any() or (sizes < 1).any() or (sizes > most).any():
        raise lines.complain(lines.lines[1][0], "the sizes of the layers are positive whole numbers, no larger than the file")
    if len(sizes) < 2 or (head[0], head[1], head[2]) != (len(sizes) - 1, sizes[0], sizes[-1]):
        raise lines.complain(
            number,
            f"{head[0]:g} layers, {head[1]:g} inputs and {head[2]:g} outputs do not fit the sizes {shorten(_say(sizes), MOST_SHOWN)}",
        )
    return [int(size) for size in sizes]


def _say(numbers: Array) -> str:
    return ", ".join(f"{number:g}" for number in numbers)


def _read_normalization(lines: _Lines, num_inputs: int, num_outputs: int) -> tuple[Array, Array]:
    """What is taken off and divided by, for all inputs, then for all outputs."""
    if all(text.rstrip(", \t") in ("0", "0.0") for _, text in lines.lines[lines.place : lines.place + 4]):
        # Programs that do not normalize write a single zero in each of the four lines.
        for what in _NORMALIZATION:
            lines.read_any(what)
        return np.zeros(num_inputs + num_outputs), np.ones(num_inputs + num_outputs)
    for what in _NORMALIZATION[:2]:
        lines.read_numbers(what, num_inputs)
    # The outputs have one mean and one range together; some programs write one each.
    given = [lines.read_numbers(what, num_inputs + 1, num_inputs + num_outputs) for what in _NORMALIZATION[2:]]
    shift, scale = (np.concatenate([values[:num_inputs], np.broadcast_to(values[num_inputs:], num_outputs)]) for values in given)
    if (scale == 0).any():
        raise lines.complain(
            lines.lines[lines.place - 1][0], "a range is zero, and nothing can be divided by it; a constant input has range 1"
        )
    return shift, scale


_NORMALIZATION = (
    "the least values of the inputs",
    "the largest values of the inputs",
    "the means of the inputs and the outputs",
    "the ranges of the inputs and the outputs",
)


def _read_layers(lines: _Lines, sizes: Sequence[int]) -> tuple[list[Array], list[Array]]:
    weights, biases = list[Array](), list[Array]()
    for layer, (num_in, num_out) in enumerate(itertools.pairwise(sizes), start=1):
        numbers = range(1, num_out + 1)
        weights.append(np.array([lines.read_numbers(f"the weights of unit {number} of layer {layer}", num_in) for number in numbers]))
        biases.append(np.concatenate([lines.read_numbers(f"biases, that of unit {number} of layer {layer}", 1) for number in numbers]))
    return weights, biases
