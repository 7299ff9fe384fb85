"""Walk a model layer by layer, and remember everything in it that cannot be embedded.

After a layer that cannot be lowered the walk goes on to the end with a stand-in, so that one error names every layer that
has to change. `UNKNOWN` is the stand-in for a value of unknown shape.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcembed.errors import DcembedError, InputError, NetworkError, UnsupportedLayerError
from dcembed.importers.advice import advise
from dcembed.importers.operations import Unsupported, as_tensor
from dcembed.network.builder import NetworkBuilder, Tensor
from dcembed.network.growth import UNLIMITED, Growth
from dcembed.network.network import Network
from dcembed.reading import as_whole

UNKNOWN = object()


@dataclass(frozen=True)
class Layer:
    """Where we are in a model: position from 0, the framework's name, the type of the layer or operation."""

    index: int
    name: str
    kind: str

    def __str__(self) -> str:
        return f"layer {self.index}, '{self.name}': {self.kind}"


class Lowering:
    """One walk through a model.

    Parameters
    ----------
    framework
        For messages.
    accepted
        The layers that the importer knows, for messages.
    shape
        Whole shape of the input for one point; None when it is not known, and then only the kinds of the layers are looked at.
    growth
        How large values may become.
    advice
        What to do about layers that cannot be embedded; None for what follows from what they are.
    """

    def __init__(
        self, framework: str, accepted: str, shape: Sequence[int] | None, growth: Growth = UNLIMITED, advice: str | None = None
    ) -> None:
        self._framework = framework
        self._accepted = accepted
        self._advice = advice
        self._problems: list[str] = []
        self.builder = NetworkBuilder(shape or (1,), growth)
        self.input: Any = UNKNOWN if shape is None else self.builder.input

    def apply(self, layer: Layer, operation: Callable[..., Any] | None, *args: Any, **kwargs: Any) -> Any:
        """operation(builder, *args, **kwargs), or a stand-in when it cannot be lowered."""
        if operation is None:
            return self._report(str(layer), args)
        if holds_unknown(args) or holds_unknown(kwargs):
            self._probe(layer, operation, args, kwargs)
            return UNKNOWN
        try:
            _check_arguments(operation, args, kwargs)
            # NaN and infinite weights are reported by the Network itself.
            with np.errstate(all="ignore"):
                return operation(self.builder, *args, **kwargs)
        except Unsupported as reason:
            return self._report(f"{layer} ({reason})", args)
        except (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError) as error:
            if self._problems:
                return UNKNOWN
            raise NetworkError(_locate(layer, error)) from (None if isinstance(error, DcembedError) else error)

    def _probe(self, layer: Layer, operation: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Look for what the layer itself refuses, such as its activation; handlers do so before they look at the shape of their input."""
        if not args or args[0] is not UNKNOWN or holds_unknown(args[1:]) or holds_unknown(kwargs):
            return
        try:
            operation(self.builder, as_tensor(np.zeros((1, 1))), *args[1:], **kwargs)
        except Unsupported as reason:
            self._problems.append(f"{layer} ({reason})")
        except Exception:
            return

    def _report(self, problem: str, args: Sequence[Any]) -> Any:
        """Remember the problem; go on with the layer's input, since most layers keep the shape, or with UNKNOWN."""
        self._problems.append(problem)
        return args[0] if args and isinstance(args[0], Tensor) else UNKNOWN

    @property
    def num_problems(self) -> int:
        """How many layers could not be lowered so far."""
        return len(self._problems)

    def raise_problems(self, numbers: Iterable[int] | None = None) -> None:
        """Raise one error that names every layer which could not be lowered, or those with these numbers."""
        said = self._problems if numbers is None else [self._problems[number] for number in sorted(numbers)]
        problems = list(dict.fromkeys(said))
        if not problems:
            return
        count = "1 layer" if len(problems) == 1 else f"{len(problems)} layers"
        lines = "\n".join(f"  {problem}" for problem in problems)
        advice = self._advice or "\n".join([*advise(problems), f"Accepted are {self._accepted}."])
        raise UnsupportedLayerError(f"The {self._framework} model has {count} that cannot be embedded:\n{lines}\n{advice}")

    def finish(self, output: Any) -> Network:
        """The network that computes `output`."""
        self.raise_problems()
        return self.builder.finish(as_tensor(output))


def parse_input_shape(input_shape: int | Sequence[int] | None) -> tuple[int, ...] | None:
    """The user's `input_shape` as a tuple of positive sizes, without the batch axis.

    Examples
    --------
    >>> parse_input_shape(4), parse_input_shape([1, 8, 8]), parse_input_shape(None)
    ((4,), (1, 8, 8), None)
    """
    if input_shape is None:
        return None
    try:
        sizes = [input_shape] if isinstance(input_shape, int | np.integer) else list(input_shape)
        shape = tuple(as_whole(size, "input_shape") for size in sizes)
    except (TypeError, ValueError):
        shape = ()
    if not shape or min(shape) < 1:
        raise InputError(
            f"input_shape={input_shape!r} is not the shape of one point. Accepted are positive sizes without the batch axis, "
            "such as input_shape=4 or input_shape=(1, 8, 8)."
        )
    return shape


def parse_input_shapes(input_shape: Mapping[Any, Any]) -> dict[str, tuple[int, ...]]:
    """The user's shapes of several inputs.

    Examples
    --------
    >>> parse_input_shapes({"x": 4, "image": (1, 8, 8)})
    {'x': (4,), 'image': (1, 8, 8)}
    """
    shapes = {name: parse_input_shape(shape) for name, shape in input_shape.items()}
    wrong = [name for name, shape in shapes.items() if shape is None or not isinstance(name, str)]
    if wrong or not shapes:
        raise InputError(
            f"input_shape={dict(input_shape)!r} does not give shapes to names, such as input_shape={{'x': 4, 'image': (1, 8, 8)}}."
        )
    return {name: shape for name, shape in shapes.items() if shape is not None}


def unknown_input(framework: str, reason: str, example: str = "(4,)") -> InputError:
    """The error that asks for the input shape."""
    return InputError(
        f"The input size of the {framework} model is not known: {reason}. "
        f"Pass the shape of one point without the batch axis, for example load_network(model, input_shape={example})."
    )


def find_handler(table: dict[type, Callable[..., Any]], instance: Any, method: str) -> Callable[..., Any] | None:
    """The handler of the first class of `instance` that is in the table, unless a subclass replaced `method`, the forward pass."""
    kind = type(instance)
    for base in kind.__mro__:
        if base in table:
            return table[base] if getattr(kind, method) is getattr(base, method) else None
    return None


def holds_unknown(value: Any) -> bool:
    """Whether `UNKNOWN` is anywhere in an argument of a layer."""
    if isinstance(value, dict):
        return any(holds_unknown(item) for item in value.values())
    if isinstance(value, list | tuple):
        return any(holds_unknown(item) for item in value)
    return value is UNKNOWN


def _check_arguments(operation: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """An argument that the operation does not know could change its meaning."""
    try:
        inspect.signature(operation).bind(None, *args, **kwargs)
    except TypeError as error:
        raise Unsupported(f"its arguments are not known: {error}") from None


def _locate(layer: Layer, error: Exception) -> str:
    if isinstance(error, MemoryError):
        reason = str(error).rstrip(".") or "there is none left"
        return f"At {layer}. Its matrix does not fit into memory: {reason}. Make its input or its windows smaller, or use more memory."
    text = str(error) if isinstance(error, DcembedError) else f"{type(error).__name__}: {error}"
    return f"At {layer}. {text}"
