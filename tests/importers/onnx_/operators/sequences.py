"""Sequences of values."""

from __future__ import annotations

from onnx import TensorProto

from ..models import node
from .case import case

CASES = {
    "Sequence": case(
        [
            node("Relu", "x", "r"),
            node("SequenceConstruct", "x r", "s"),
            node("SequenceAt", "s i1", "a"),
            node("SequenceInsert", "s a", "t"),
            node("ConcatFromSequence", "t", axis=1),
        ],
        runtime=False,
    ),
    "SplitToSequence": case(
        [
            node("SplitToSequence", "x i1", "s", axis=1),
            node("SequenceAt", "s i0", "a"),
            node("SequenceAt", "s minus", "c"),
            node("Sub", "a c"),
        ],
        runtime=False,
    ),
    "SequenceEmpty": case(
        [
            node("SequenceEmpty", "", "e", dtype=TensorProto.FLOAT),
            node("SequenceInsert", "e x", "s"),
            node("ConcatFromSequence", "s", axis=0),
        ],
        runtime=False,
    ),
}
