"""What operators of ONNX give, in plain numpy, where onnx's own reference implementation cannot be relied on."""

from dcembed.importers.onnx_definitions.table import definitions

__all__ = ["definitions"]
