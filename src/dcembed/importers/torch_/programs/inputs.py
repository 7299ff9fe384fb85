"""How the inputs of a program are used: which ones a point is made of, what shape they have for one point, and where batches go."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.importers.lowering import unknown_input
from dcembed.importers.request import Request
from dcembed.importers.torch_.programs.program import Input, Program

# Numbers in a batch of fixed size; larger ones are not filled up for the few points that are compared.
MOST_IN_BATCH = 1_000_000


@dataclass(frozen=True)
class Source:
    """An input and its part of a point.

    Parameters
    ----------
    shape
        Whole shape for one point.
    batched
        Whether the first axis is a batch axis.
    value
        Of an input that is the same at all points, in its whole shape; None if it is part of the points.
    """

    name: str
    shape: tuple[int, ...]
    batched: bool
    value: Any = None

    @property
    def size(self) -> int:
        """Numbers that a point has of this input."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Layout:
    """All inputs of a program.

    Parameters
    ----------
    sources
        In the order of the program.
    order
        The names of those that a point is made of, one after the other.
    batch
        The size of the batch axis that is written down in the graph, None if there is none such.
    batches
        The least and the largest size of a batch.
    """

    sources: tuple[Source, ...]
    order: tuple[str, ...]
    batch: int | None
    batches: tuple[int, int]

    @property
    def parts(self) -> dict[str, slice]:
        """Where the inputs are in a point."""
        sizes = [self.find(name).size for name in self.order]
        ends = np.cumsum(sizes).tolist()
        return {name: slice(end - size, end) for name, size, end in zip(self.order, sizes, ends, strict=True)}

    @property
    def is_batched(self) -> bool:
        """Whether the program takes several points at once."""
        return any(source.batched for source in self.sources)

    def find(self, name: str) -> Source:
        """The input of this name."""
        return next(source for source in self.sources if source.name == name)


@dataclass(frozen=True)
class Layouts:
    """How the inputs may be meant.

    Parameters
    ----------
    likely
        With a batch axis, where there may be one.
    otherwise
        All axes are those of a point; None if that is not in question.
    """

    likely: Layout
    otherwise: Layout | None = None


def read_layouts(program: Program, request: Request) -> Layouts:
    """A free first axis is a batch axis, a fixed one may be one."""
    order, fixed = _choose(program, request)
    inputs = {entry.name: entry for entry in program.inputs}
    given = _given_shapes(request, order)
    for name in order:
        if name not in given:
            _require_sizes(inputs[name])
    fitted = {name: _fit(inputs[name], shape) for name, shape in given.items()}
    shapes = {name: shape for name, (shape, _) in fitted.items()}
    batch = next(iter(fitted.values()))[1] if fitted else _batch_size([inputs[name] for name in order])
    likely = _layout(program, order, fixed, shapes, batch)
    # A batch of one is a point, whatever its first axis is called.
    if batch in (None, 1) or batch == 0 or fitted:
        return Layouts(likely if batch != 1 else _layout(program, order, fixed, {}, None))
    return Layouts(likely, _layout(program, order, fixed, {}, None))


def _given_shapes(request: Request, order: Sequence[str]) -> dict[str, tuple[int, ...]]:
    shapes = dict(request.input_shapes or {})
    unknown = [name for name in shapes if name not in order]
    if unknown:
        raise InputError(f"load_network: input_shape has '{unknown[0]}', but the inputs of the torch model are {', '.join(order)}.")
    if request.input_shape is not None and len(order) > 1:
        raise InputError(
            f"load_network: input_shape={request.input_shape} is one shape, but the torch model has {len(order)} inputs "
            f"({', '.join(order)}). Give one for each: input_shape={{'{order[0]}': {request.input_shape}, ...}}."
        )
    return shapes if request.input_shape is None else {order[0]: request.input_shape}


def _choose(program: Program, request: Request) -> tuple[tuple[str, ...], dict[str, Any]]:
    order = request.choose_inputs("torch", [entry.name for entry in program.inputs])
    _require_numbers(program, order)
    return order, dict(request.fixed or {})


def _require_numbers(program: Program, order: Sequence[str]) -> None:
    whole = [entry for entry in program.inputs if entry.name in order and entry.dtype is not None and not entry.dtype.is_floating_point]
    if whole:
        raise InputError(
            f"The input '{whole[0].name}' of the program is of type {whole[0].dtype}, and points are of floating-point numbers. "
            f"Give it a value: load_network(model, inputs={{{whole[0].name!r}: value, ...}}) with None for the others."
        )


def _require_sizes(entry: Input) -> None:
    if None in entry.sizes[1:]:
        raise unknown_input("torch", f"its input '{entry.name}' has axes of free size beside the batch axis")


def _batch_size(inputs: Sequence[Input]) -> int | None:
    """0 for a free batch axis, None if there is no batch axis."""
    if any(entry.sizes and entry.sizes[0] is None for entry in inputs):
        return 0
    return next((entry.sizes[0] for entry in inputs if len(entry.sizes) > 1), None)


def _fit(entry: Input, shape: tuple[int, ...]) -> tuple[tuple[int, ...], int | None]:
    """The whole shape for one point, and the size of the batch axis as above."""

    def fits(sizes: Sequence[int | None]) -> bool:
        return len(sizes) == len(shape) and all(size in (None, wanted) for size, wanted in zip(sizes, shape, strict=True))

    if entry.sizes and fits(entry.sizes[1:]):
        return (1, *shape), entry.sizes[0] or 0
    if fits(entry.sizes):
        return shape, None
    sizes = ", ".join("free" if size is None else str(size) for size in entry.sizes)
    raise InputError(f"The input '{entry.name}' has the axes ({sizes}), which input_shape={shape} does not fit.")


def _layout(program: Program, order: Sequence[str], fixed: dict[str, Any], shapes: dict[str, tuple[int, ...]], batch: int | None) -> Layout:
    sources = []
    limits = [(1, 2**31)]
    for entry in program.inputs:
        batched = batch is not None and bool(entry.sizes) and entry.sizes[0] in ((None,) if batch == 0 else (batch,))
        whole = shapes.get(entry.name, tuple(size or 1 for size in entry.sizes))
        shape = (1, *whole[1:]) if batched else whole
        limits += [entry.batches] if batched and batch == 0 else []
        value = _read_value(entry, fixed[entry.name], shape) if entry.name in fixed else None
        sources.append(Source(entry.name, shape, batched, value))
    least, most = max(low for low, _ in limits), min(high for _, high in limits)
    return Layout(tuple(sources), tuple(order), batch or None, (batch, batch) if batch else (least, most))


def _read_value(entry: Input, value: Any, shape: tuple[int, ...]) -> Any:
    """The value that the user gives, for one point."""
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or array.shape not in (shape, shape[1:]):
        raise InputError(
            f"load_network: inputs: the value of '{entry.name}' has shape {array.shape} and type {array.dtype}. "
            f"Accepted are numbers of shape {shape[1:] if len(shape) > 1 else shape}."
        )
    _require_kept(entry, array)
    return array.reshape(shape)


def _require_kept(entry: Input, array: Array) -> None:
    """Whole numbers and switches are given as such: 2.7 would become 2."""
    if entry.dtype.is_floating_point or np.array_equal(torch.tensor(array).to(entry.dtype).numpy(), array):
        return
    raise InputError(
        f"load_network: inputs: the value of '{entry.name}' is {np.array2string(array, threshold=5)}, and the program takes numbers of type "
        f"{entry.dtype}, which it cannot be without a change. Give it values of this type."
    )


def batches(layout: Layout, points: Array) -> Iterator[tuple[int, int, Array]]:
    """Points in batches of a size that the program takes: (how many of the rows count, the size, the points that fill it up)."""
    least, most = layout.batches
    together = all(layout.find(name).batched for name in layout.order) and least * points.shape[1] <= MOST_IN_BATCH
    step = min(max(len(points), least), most) if together else 1
    for start in range(0, len(points), step):
        part = points[start : start + step]
        size = step if together else least
        yield len(part), size, part[np.arange(size) % len(part)]


def arguments(layout: Layout, points: Array, program: Program, double: bool) -> list[torch.Tensor]:
    """What the program is called with for a batch of points."""
    return [_argument(layout, source, entry, points, double) for source, entry in zip(layout.sources, program.inputs, strict=True)]


def _argument(layout: Layout, source: Source, entry: Input, points: Array, double: bool) -> torch.Tensor:
    if source.value is None:
        own = points[:, layout.parts[source.name]]
        array = own.reshape(-1, *source.shape[1:]) if source.batched else own[0].reshape(source.shape)
    else:
        array = np.repeat(source.value, len(points), axis=0) if source.batched else source.value
    return torch.tensor(array, dtype=torch.float64 if double and entry.dtype.is_floating_point else entry.dtype)
