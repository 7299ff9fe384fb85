"""In which forms the rows of the table come, and where a form ends before it is a network: by whom, and why.

Every row is loaded live, as a program of torch.export (with the file), as TorchScript (with the file), and from ONNX by the exporter of
TorchScript. The exporter of torch.export (dynamo) takes a second for a module of one layer, so it gets one row for each layer and each
operator: the rows whose name is one word, of layers for one, two and three axes the one for two. They are written in bundles (`bundles`).
What a parameter of a layer means is the same in all forms, and is compared in the others. In each form a row is compared with its module to 1e-9 in double precision, or is in one of the tables below.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from importers.torch_.constructions import BY_NAME, NAMES, choose


class Form(Enum):
    """What is given to load_network."""

    LIVE = "live module"
    PROGRAM = "program of torch.export"
    SCRIPT = "TorchScript"
    ONNX = "ONNX by the exporter of TorchScript"
    DYNAMO = "ONNX by the exporter of torch.export"


class End(Enum):
    """Where a row ends before it is a network that gives what the module gives."""

    NOT_WRITTEN = "torch does not write it"
    OTHER_FUNCTION = "torch writes another function than the module"
    NOT_READ = "the file is refused"


@dataclass(frozen=True)
class Refusal:
    """A row that a form does not have."""

    end: End
    reason: str


def _rows(end: End, reason: str, *names: str) -> dict[str, Refusal]:
    return dict.fromkeys(choose(*names), Refusal(end, reason))


REFUSED: dict[Form, dict[str, Refusal]] = {
    Form.LIVE: {},
    Form.PROGRAM: _rows(End.NOT_WRITTEN, "torch.export does not know sparse matrices", "sparse matrix"),
    Form.SCRIPT: _rows(End.NOT_READ, "the size of the batch is in the trace", "scatter", "scatter_add"),
    Form.ONNX: _rows(
        End.NOT_WRITTEN,
        "the exporter has no operator for it at opset 17",
        "torch.sinh",
        "Tensor.sinh",
        "torch.cosh",
        "Tensor.cosh",
        "torch.expm1",
        "Tensor.expm1",
        "torch.erfc",
        "Tensor.erfc",
        "torch.exp2",
        "Tensor.exp2",
        "logaddexp",
        "Bilinear",
        "F.bilinear without bias",
        "RMSNorm",
        "Upsample nearest-exact",
        "ChannelShuffle",
        "Fold",
        "permute",
        "take_along_dim",
        "flip and roll",
        "diff",
        "median",
        "running extremes",
        "logcumsumexp",
        "cumprod",
        "sparse matrix",
        "parametrizations.spectral_norm",
        "parametrizations.orthogonal",
    )
    | _rows(
        End.NOT_WRITTEN,
        "the exporter has adaptive pooling to divisors of a size only",
        "AdaptiveAvgPool1d",
        "AdaptiveMaxPool1d",
        "AdaptiveAvgPool2d",
        "AdaptiveMaxPool2d",
        "AdaptiveAvgPool3d",
        "AdaptiveMaxPool3d",
        "AdaptiveAvgPool2d kept",
        "F.interpolate area",
    )
    | _rows(End.NOT_WRITTEN, "the exporter knows the threshold zero only", "Threshold", "F.threshold")
    | _rows(End.NOT_WRITTEN, "the exporter wants to know the size of the batch", "InstanceNorm with statistics")
    | _rows(End.NOT_WRITTEN, "torch fails to trace its check of masks", "TransformerEncoderLayer", "TransformerEncoderLayer first")
    | _rows(End.NOT_READ, "the size of the example's batch is in the file", "scatter", "scatter_add")
    | _rows(End.OTHER_FUNCTION, "the exporter leaves the divisor out", "AvgPool2d divisor")
    | _rows(End.OTHER_FUNCTION, "the exporter loses changes in place", "change in place", "change a part in place")
    | _rows(End.OTHER_FUNCTION, "the exporter leaves out what is added to differences", "PairwiseDistance")
    | _rows(End.OTHER_FUNCTION, "the exporter loses entries that are added to one place", "index_add"),
    Form.DYNAMO: _rows(End.NOT_WRITTEN, "the exporter has no operator for it", "RReLU", "median", "cumprod", "distances")
    | _rows(
        End.NOT_WRITTEN,
        "the exporter has no adaptive maximum pooling",
        "AdaptiveMaxPool2d",
    )
    | _rows(End.NOT_READ, "a SequenceMap over names outside of it, which the evaluator of onnx does not run either", "hstack")
    | _rows(End.NOT_READ, "the size of the example's batch is in the file", "take_along_dim", "scatter", "scatter_add"),
}

# Numbers of an operator that ONNX keeps, or that an exporter writes, in single precision: these rows are compared to 1e-5.
SINGLE: dict[Form, list[str]] = {
    Form.LIVE: [],
    Form.PROGRAM: [],
    Form.SCRIPT: [],
    Form.ONNX: choose("Hardsigmoid", "RReLU", "SELU", "F.hardsigmoid", "F.selu", "torch.log2", "torch.log10"),
    Form.DYNAMO: choose("Hardsigmoid", "SELU", "torch.log2", "torch.log10", "MultiheadAttention"),
}


def names_of(form: Form) -> list[str]:
    """The rows that are looked at in a form."""
    return [name for name in NAMES if form is not Form.DYNAMO or _is_kind(name)]


def _is_kind(name: str) -> bool:
    """Whether a row stands for a layer or an operator by itself."""
    if name.endswith(("1d", "3d")) and f"{name[:-2]}2d" in BY_NAME:
        return False
    return name.isidentifier() or name.startswith("torch.")


# A row that a form does not get would be refused or loosened without a test.
assert all(name in names_of(form) for form in Form for name in (*REFUSED[form], *SINGLE[form]))


def accepted(form: Form) -> list[str]:
    """The rows that have to be read."""
    return [name for name in names_of(form) if name not in REFUSED[form]]


def tolerance(form: Form, name: str) -> float:
    """How far a network may be from its module, beside and in proportion to what the module gives."""
    return 1e-5 if name in SINGLE[form] else 1e-9
