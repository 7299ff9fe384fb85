"""What the user asks of a model beside the model itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dcembed.errors import InputError, NetworkError
from dcembed.network.builder import Head


@dataclass(frozen=True)
class Request:
    """How a model is to be read; every field may be left open.

    Parameters
    ----------
    input_shape
        Shape of one point, without the batch axis.
    input_shapes
        The shapes of several inputs by their names, without the batch axis.
    inputs
        Names of the inputs that are to be inputs of the network, in this order; None for all of them in the order of the model.
    fixed
        Names of inputs that are constants, and their values.
    outputs
        Names of the outputs that are to be predictions, in this order; None for all of them.
    logits
        Whether the predictions are to be what goes into the last sigmoid, softmax or log-softmax.
    architecture
        What is done with the weights of a file that holds nothing else: the names of the activations between its layers.
    heads
        The answer to `logits`, which the adapter writes down: the functions that the outputs ended in, in order; None for an output
        that is as it was.
    """

    input_shape: tuple[int, ...] | None = None
    inputs: tuple[str, ...] | None = None
    fixed: Mapping[str, Any] | None = None
    outputs: tuple[str, ...] | None = None
    logits: bool = False
    architecture: Any = None
    input_shapes: Mapping[str, tuple[int, ...]] | None = None
    heads: list[Head | None] = field(default_factory=list)

    def allow_only(self, kind: str, *names: str) -> None:
        """Raise InputError if something is asked for that models of this kind do not know."""
        said = {"fixed": "inputs", "input_shapes": "input_shape with names"}
        for name in ("inputs", "fixed", "outputs", "architecture", "input_shapes"):
            if name not in names and getattr(self, name) is not None:
                raise InputError(f"load_network: {said.get(name, name)} does not apply to a {kind}. Leave it out.")

    def choose_inputs(self, framework: str, names: Iterable[str], given: Iterable[str] = ()) -> tuple[str, ...]:
        """The names of the inputs that points are made of, in their order.

        Parameters
        ----------
        framework
            For messages.
        names
            All inputs of the model.
        given
            Those that have a value in the model and need not be named.
        """
        known, fixed = tuple(names), self.fixed or {}
        for name in (*(self.inputs or ()), *fixed, *(self.input_shapes or ())):
            if name not in known:
                listed = ", ".join(map(repr, known)) or "none"
                raise InputError(f"load_network: the {framework} model has no input '{name}'. Its inputs are {listed}.")
        self.refuse_repeated_inputs(framework)
        needed = tuple(name for name in known if name not in fixed and name not in given)
        order = self.inputs or needed
        left = [name for name in needed if name not in order]
        if left:
            example = ", ".join([*(f"{name!r}: None" for name in order), f"{left[0]!r}: ..."])
            raise InputError(
                f"load_network: inputs leaves out '{left[0]}', which the {framework} model needs. Name it as well, or give it a value: "
                f"inputs={{{example}}}."
            )
        if not order:
            raise NetworkError(f"The {framework} model has no input that is not a constant. Pass a model that is a function of something.")
        return order

    def refuse_repeated_inputs(self, framework: str) -> None:
        """Raise InputError if an input is named twice: it would be two columns of a point."""
        twice = [name for name, count in Counter(self.inputs or ()).items() if count > 1]
        if twice:
            raise InputError(f"load_network: inputs has '{twice[0]}' more than once. Name each input of the {framework} model once.")

    def refuse_logits(self, kind: str) -> None:
        """Raise InputError if logits are asked of models of this kind, which have no sigmoid, softmax or log-softmax that could be left out."""
        if self.logits:
            raise InputError(f'load_network: outputs="logits" does not apply to a {kind}. Leave it out.')
