"""What handlers of Keras layers and operations have at hand.

A handler is called with the walk, the layer or operation, and what that is called with; values have the shape they have for one point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from dcembed.importers.operations import Value
from dcembed.network.builder import NetworkBuilder

Handler = Callable[..., Any]


def of_two(function: Callable[..., Value]) -> Handler:
    """The handler of an operation on two values that has nothing else to say."""
    return lambda walk, operation, left, right: function(walk.builder, left, right)


class Walk(Protocol):
    """The walk through a model."""

    @property
    def builder(self) -> NetworkBuilder:
        """What collects the stages."""

    def run(self, operation: Any, *args: Any, **kwargs: Any) -> Any:
        """The value of a layer, an operation of keras.ops or a whole model that is part of the one at hand."""

    def activate(self, function: Any, value: Value) -> Value:
        """The value of an activation: a function of Keras, a layer, or a function made of operations of Keras."""
