"""The operators of ONNX that can be embedded, and those that are refused with words."""

from dcembed.importers.onnx_.operators.table import ACCEPTED, OPERATORS, SUBGRAPHS, find_operator, is_known

__all__ = ["ACCEPTED", "OPERATORS", "SUBGRAPHS", "find_operator", "is_known"]
