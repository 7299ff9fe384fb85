"""The walk through a model, whatever its framework."""

from __future__ import annotations

import numpy as np
import pytest

from dcembed.errors import NetworkError
from dcembed.importers.lowering import Layer, Lowering


def raise_nothing_left(builder, value):
    raise MemoryError


OUT_OF_MEMORY = {
    "numpy says how much": (lambda builder, value: np.empty(2**58), "Unable to allocate 2.00 EiB"),
    "no words": (raise_nothing_left, "there is none left"),
}


@pytest.mark.parametrize("name", OUT_OF_MEMORY)
def test_a_layer_that_does_not_fit_into_memory_is_named(name):
    operation, reason = OUT_OF_MEMORY[name]
    lowering = Lowering("Keras", "layers", (1, 2))
    with pytest.raises(NetworkError, match=f"At layer 3, 'pool': Pooling. Its matrix does not fit into memory: {reason}"):
        lowering.apply(Layer(3, "pool", "Pooling"), operation, lowering.input)
