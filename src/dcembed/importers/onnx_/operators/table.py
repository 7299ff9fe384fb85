"""The operators of ONNX that can be embedded: one table of handlers, by the version from which on each holds.

Handlers take inputs by position and attributes by their ONNX names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dcembed.importers import operations as ops
from dcembed.importers.advice import PAGE
from dcembed.importers.onnx_.operators import (
    activations,
    arithmetic,
    comparisons,
    normalization,
    places,
    recurrence,
    reductions,
    sequences,
    shapes,
    tables,
)
from dcembed.importers.onnx_.operators.attention import attention
from dcembed.importers.onnx_.operators.refused import reason
from dcembed.importers.operations import Unsupported
from dcembed.network.activations import smooth

Handler = Callable[..., Any]

_ML = "ai.onnx.ml"
_function, _reduce, _laid = activations.function_of, reductions.over_axes, arithmetic.lay_along

OPERATORS: dict[str, Handler | dict[int, Handler]] = {
    "Abs": ops.absolute,
    "Add": {1: _laid(ops.add), 7: ops.add},
    "Atan": _function(smooth.arctan()),
    "Attention": attention,
    "AveragePool": places.average_pool,
    "BatchNormalization": normalization.batch_norm,
    "Cast": comparisons.cast_comparison,
    "CastLike": activations.cast_like,
    "Celu": activations.celu,
    "Clip": activations.clip,
    "Col2Im": places.col2im,
    "Concat": shapes.concat,
    "ConcatFromSequence": sequences.join,
    "Conv": places.conv,
    "ConvTranspose": places.conv_transpose,
    "Cos": ops.cos,
    "Cosh": ops.cosh,
    "CumSum": arithmetic.cumulative_sum,
    "DepthToSpace": shapes.depth_to_space,
    "Div": {1: _laid(ops.divide), 7: ops.divide},
    "Dropout": activations.dropout,
    "Einsum": arithmetic.einsum,
    "Elu": activations.elu,
    "Erf": _function(smooth.erf()),
    "Exp": ops.exp,
    "Expand": shapes.expand,
    "EyeLike": shapes.eye_like,
    "Flatten": shapes.flatten,
    "Gather": shapes.gather,
    "GatherElements": shapes.gather_elements,
    "GatherND": shapes.gather_nd,
    # Since opset 20; earlier only where it was found written out.
    "Gelu": activations.gelu,
    "Gemm": arithmetic.gemm,
    "GlobalAveragePool": places.global_average_pool,
    "GlobalLpPool": places.global_lp_pool,
    "GlobalMaxPool": places.global_max_pool,
    "Greater": ops.is_above,
    "GreaterOrEqual": ops.is_above,
    "GroupNormalization": normalization.group_norm,
    "GRU": recurrence.gru,
    "HardSigmoid": activations.hard_sigmoid,
    "HardSwish": _function(smooth.hardswish()),
    "Identity": activations.identity,
    "InstanceNormalization": normalization.instance_norm,
    "LayerNormalization": normalization.layer_norm,
    "LeakyRelu": activations.leaky_relu,
    "Less": ops.is_below,
    "LessOrEqual": ops.is_below,
    "Log": ops.log,
    "LogSoftmax": {1: normalization.flat(ops.log_softmax), 13: ops.log_softmax},
    "LpNormalization": normalization.lp_norm,
    "LpPool": places.lp_pool,
    "LRN": normalization.local_response_norm,
    "LSTM": recurrence.lstm,
    "MatMul": ops.matmul,
    "Max": arithmetic.pairwise(ops.maximum),
    "MaxPool": places.max_pool,
    "Mean": arithmetic.mean,
    "Min": arithmetic.pairwise(ops.minimum),
    "Mish": _function(smooth.mish()),
    "Mul": {1: _laid(ops.multiply), 7: ops.let_through},
    "Neg": ops.negate,
    "Not": ops.is_not,
    "Pad": places.pad,
    "Pow": {1: _laid(ops.power), 7: ops.power},
    "PRelu": {1: activations.old_prelu, 7: activations.prelu},
    "Reciprocal": ops.reciprocal,
    "ReduceL1": _reduce(reductions.norm(1.0)),
    "ReduceL2": _reduce(reductions.norm(2.0)),
    "ReduceLogSum": _reduce(ops.log_sum),
    "ReduceLogSumExp": _reduce(ops.log_sum_exp),
    "ReduceMax": _reduce(ops.largest_over),
    "ReduceMean": _reduce(ops.mean),
    "ReduceMin": _reduce(ops.smallest_over),
    "ReduceProd": _reduce(ops.product_over),
    "ReduceSum": _reduce(ops.total),
    "ReduceSumSquare": _reduce(ops.sum_of_squares),
    "Relu": ops.relu,
    "Reshape": shapes.reshape,
    "Resize": {10: places.old_resize, 11: places.resize},
    "RMSNormalization": normalization.rms_norm,
    "RNN": recurrence.rnn,
    "Scatter": shapes.scatter_elements,
    "ScatterElements": shapes.scatter_elements,
    "ScatterND": shapes.scatter_nd,
    "Selu": activations.selu,
    "SequenceAt": sequences.at,
    "SequenceConstruct": sequences.construct,
    "SequenceEmpty": sequences.empty,
    "SequenceInsert": sequences.insert,
    "Shape": shapes.shape,
    "Shrink": activations.shrink,
    "Sigmoid": ops.sigmoid,
    "Sign": comparisons.sign,
    "Sin": _function(smooth.sin()),
    "Sinh": ops.sinh,
    "Size": shapes.size,
    "Slice": shapes.slice_,
    "Softmax": {1: normalization.flat(ops.softmax), 13: ops.softmax},
    "Softplus": _function(smooth.softplus()),
    "Softsign": _function(smooth.softsign()),
    "SpaceToDepth": shapes.space_to_depth,
    "Split": shapes.split,
    "SplitToSequence": sequences.split,
    "Sqrt": ops.sqrt,
    "Squeeze": shapes.squeeze,
    "Sub": {1: _laid(ops.subtract), 7: ops.subtract},
    "Sum": arithmetic.pairwise(ops.add),
    "Swish": activations.swish,
    "Tanh": ops.tanh,
    "ThresholdedRelu": activations.thresholded_relu,
    "Tile": shapes.tile,
    "TopK": reductions.top_k,
    "Transpose": shapes.transpose,
    "Trilu": shapes.trilu,
    "Unsqueeze": shapes.unsqueeze,
    "Upsample": {1: places.oldest_upsample, 9: places.old_resize},
    "Where": ops.choose,
    f"{_ML}.ArrayFeatureExtractor": shapes.array_feature_extractor,
    f"{_ML}.FeatureVectorizer": tables.feature_vectorizer,
    f"{_ML}.Imputer": tables.imputer,
    f"{_ML}.LinearClassifier": tables.linear_classifier,
    f"{_ML}.LinearRegressor": tables.linear_regressor,
    f"{_ML}.Normalizer": tables.normalizer,
    f"{_ML}.Scaler": tables.scaler,
}
# Known to the walk: their subgraphs are walked where the conditions are constants.
SUBGRAPHS = ("If", "Loop", "SequenceMap")

ACCEPTED = f"the operators {PAGE}, {len(OPERATORS) + len(SUBGRAPHS)} in all"


def find_operator(domain: str, name: str, version: int) -> Handler | None:
    """The handler of an operator in this version of its domain; one that gives the reason where it is refused, None where it is not known."""
    words = reason(domain, name)
    if words is not None:
        return _refuse(words)
    found = OPERATORS.get(f"{domain}.{name}" if domain else name)
    if isinstance(found, dict):
        since = max((number for number in found if number <= version), default=None)
        return None if since is None else found[since]
    return found


def is_known(domain: str, name: str) -> bool:
    """Whether an operator can be embedded."""
    plain = "" if domain == "ai.onnx" else domain
    return (f"{plain}.{name}" if plain else name) in (*OPERATORS, *SUBGRAPHS, "Constant", "ConstantOfShape", "Range")


def _refuse(words: str) -> Handler:
    def handler(*args: Any, **kwargs: Any) -> Any:
        raise Unsupported(words)

    return handler
