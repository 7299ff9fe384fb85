"""What an ONNX model itself gives: its nodes in double precision, evaluated by onnx's own reference implementation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from dcembed.arrays import Array
from dcembed.importers.onnx_.definitions import definitions
from dcembed.importers.onnx_.inputs import Input, Inputs

# Numbers in a batch of fixed size; larger ones are not filled up with zeros for the few points that are compared.
MOST_IN_BATCH = 1_000_000
# Numbers of the points that go through a model of free batch size together: what is computed of them can be a hundred times as large.
MOST_AT_ONCE = 200_000


def make_evaluator(nodes: Sequence[onnx.NodeProto], outputs: Sequence[str], opsets: Mapping[str, int]) -> ReferenceEvaluator:
    """Evaluates nodes whose inputs are given by name, in the precision of those."""
    results = [helper.make_tensor_value_info(name, onnx.TensorProto.UNDEFINED, None) for name in outputs]
    # Implementations begin at version 7 of the operators. What was different before that is defined by `definitions`.
    versions = [helper.make_opsetid(domain, max(version, 7) if domain == "" else version) for domain, version in opsets.items()]
    model = helper.make_model(helper.make_graph(list(nodes), "network", [], results), opset_imports=versions)
    return ReferenceEvaluator(model, new_ops=definitions(opsets))


@dataclass(frozen=True)
class Evaluation:
    """A model as a function of points.

    Parameters
    ----------
    evaluator
        Of the nodes, which takes weights and inputs by name.
    outputs
        Names of what it gives, several one after the other.
    """

    evaluator: ReferenceEvaluator
    weights: Mapping[str, Array]
    inputs: Inputs
    outputs: tuple[str, ...]

    def __call__(self, points: Array) -> Array:
        """The predictions (k, num_outputs) at points (k, num_inputs)."""
        if self.inputs.batch is None or self.inputs.batch * points.shape[1] > MOST_IN_BATCH:
            return self._one_by_one(points)
        try:
            return self._in_batches(points)
        except Exception:
            # Some exporters declare a free batch axis but write reshapes for one point.
            return self._one_by_one(points)

    def _run(self, points: Array, count: int | None) -> list[Array]:
        """On a batch of so many points, or on one point where the model takes no more."""
        fixed = {item.name: _repeat(item, count) for item in self.inputs.fixed}
        feed = {**self.weights, **_cut(points, self.inputs.free, count), **fixed}
        return [np.asarray(value) for value in self.evaluator.run(list(self.outputs), feed)]

    def _one_by_one(self, points: Array) -> Array:
        return np.stack([np.concatenate([value.reshape(-1) for value in self._run(row[None], None)]) for row in points])

    def _in_batches(self, points: Array) -> Array:
        # Two points at least show whether they are mixed.
        size = self.inputs.batch or min(len(points), max(2, MOST_AT_ONCE // points.shape[1]))
        padded = np.vstack([points, np.zeros((-len(points) % size, points.shape[1]))])
        parts = [self._run(padded[start : start + size], size) for start in range(0, len(padded), size)]
        values = [np.concatenate(column) for column in zip(*parts, strict=True)]
        rows = np.concatenate([value.reshape(len(padded), -1) for value in values], axis=1)[: len(points)]
        odd = next((value for value in values if len(value) != len(padded)), None)
        # Some converters write all predictions below one another, point by point. Other rows are passed on, for `check` to see.
        return rows if odd is None or np.allclose(rows, self._one_by_one(points), rtol=1e-9, equal_nan=True) else odd


def _cut(points: Array, free: Sequence[Input], count: int | None) -> dict[str, Array]:
    """Columns of points as the inputs that they stand for."""
    parts = np.split(points, np.cumsum([item.size for item in free])[:-1], axis=1)
    return {item.name: part.reshape(_shape(item, count)) for item, part in zip(free, parts, strict=True)}


def _shape(item: Input, count: int | None) -> tuple[int, ...]:
    shape = item.shape or ()
    return shape if count is None else (count, *shape[1:])


def _repeat(item: Input, count: int | None) -> Array:
    assert item.value is not None
    return item.value if count is None else np.repeat(item.value, count, axis=0)
