"""The operators of ONNX that can be embedded, and those that are refused with words."""

from dcembed.importers.onnx_.operators.table import OPERATORS, SUBGRAPHS, find_operator, is_known, list_operators

__all__ = ["OPERATORS", "SUBGRAPHS", "find_operator", "is_known", "list_operators"]
