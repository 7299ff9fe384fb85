"""Code that computes with Keras, followed: a call with stand-ins for values leaves a graph of layers and operations.

That is how subclassed models and layers, layers that Keras writes in its own operations, and functions as activations are read.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dcembed.importers.keras_.backend import keras
from dcembed.importers.operations import Unsupported
from dcembed.network.builder import Tensor
from dcembed.reading import shorten

# Letters of an error of somebody else's code that a message shows.
MOST_SHOWN = 300


def follow(call: Callable[..., Any], owner: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The graph of a call, a keras.Function of the computed values among the arguments in their order, and the structure of its results.

    Parameters
    ----------
    owner
        The layer or model whose code it is, or None. It is left as it was.
    """
    stand_ins, (args, kwargs) = _stand_ins((args, kwargs), owner)
    if "training" in inspect.signature(call).parameters:
        kwargs = {**kwargs, "training": False}
    with _kept(owner), _variables_give_way():
        try:
            results = call(*args, **kwargs)
            flat = keras.tree.flatten(results)
            return keras.Function(stand_ins, [_as_graph(result) for result in flat]), results
        except Unsupported:
            raise
        except Exception as error:
            raise Unsupported(
                f"has code of its own that cannot be followed ({type(error).__name__}: {shorten(str(error), MOST_SHOWN)}); "
                "write it with layers and keras.ops, or export the model to ONNX"
            ) from None


def _stand_ins(arguments: Any, owner: Any) -> tuple[list[Any], Any]:
    """A Keras tensor for every computed value; constants stay."""
    found: list[Any] = []

    def replace(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        dtype = getattr(owner, "compute_dtype", None) or keras.config.floatx()
        found.append(keras.Input(batch_shape=value.shape, dtype=dtype))
        return found[-1]

    return found, keras.tree.map_structure(replace, arguments)


def _as_graph(result: Any) -> Any:
    if not isinstance(result, keras.KerasTensor):
        raise Unsupported("gives a constant, whatever it is called with")
    return result


@contextmanager
def _kept(owner: Any) -> Iterator[None]:
    """Keras writes every call into the layers that are called; these notes are taken off again."""
    layers = list(owner._flatten_layers()) if isinstance(owner, keras.layers.Layer) else []
    lengths = [(layer, len(layer._inbound_nodes), len(layer._outbound_nodes)) for layer in layers]
    try:
        yield
    finally:
        for layer, num_in, num_out in lengths:
            del layer._inbound_nodes[num_in:], layer._outbound_nodes[num_out:]


@contextmanager
def _variables_give_way() -> Iterator[None]:
    """In `weight * value` Python asks the weight first, and a Keras variable does not know stand-ins: they are asked instead, and know it."""
    kind = keras.Variable
    with _LOCK:
        before = {name: kind.__dict__.get(name) for name in _LEFT}
        for name in _LEFT:
            setattr(kind, name, _giving_way(getattr(kind, name)))
        try:
            yield
        finally:
            for name, method in before.items():
                if method is None:
                    delattr(kind, name)
                else:
                    setattr(kind, name, method)


def _giving_way(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        return NotImplemented if isinstance(other, keras.KerasTensor) else method(self, other)

    return operator


_LEFT = ("__add__", "__sub__", "__mul__", "__truediv__", "__pow__", "__matmul__")
_LOCK = threading.RLock()
