"""What operators of ONNX give, in plain numpy, where onnx's own reference implementation cannot be relied on."""

from dcembed.importers.onnx_.definitions.table import definitions

__all__ = ["definitions"]
