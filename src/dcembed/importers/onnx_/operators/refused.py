"""Operators of ONNX that cannot be embedded, each with what would help."""

from __future__ import annotations

_JUMPS = "jumps; only continuous functions can be embedded. Export the model without it, or choose values before it with outputs="
_LABELS = "gives a place or a label, which jumps. Choose the scores before it with outputs="
_COMPARES = "compares computed values, which jumps. Write max, min, clip or relu where they do the same, or give the input a value with inputs={...}"
_STEPS = "goes through a sequence with a body of its own. Export it with a fixed number of steps written out"
_QUANTIZED = "rounds to whole numbers, which jumps. Pass the model before it was quantized"
_TREES = (
    "is made of trees, which are piecewise constant. Embed them with a package for trees: gurobi-machinelearning, PySCIPOpt-ML, OMLT or "
    "MathOptAI.jl"
)
_KERNELS = "is a support vector machine with kernels over its vectors. Use a linear one, or train a network on its predictions"
_RANDOM = "draws random numbers. Export the model for inference, or choose outputs that do without it (outputs=)"
_TEXT = "takes texts. Give its input a value with inputs={...}, or embed what comes behind it"
_CATEGORIES = (
    "makes columns of categories. Give its input a value with inputs={...}, or embed what comes behind it with binary variables as inputs"
)
_INDEX = "is steered by computed places. Give them values with inputs={...}, or embed what comes before or behind it"
_DOMAIN = "is not defined for all numbers, or has poles. Export the model without it"
_OPTIMIZED = "was put there by an optimizer of another runtime. Pass the model as it was exported, before that"

_GROUPS = {
    _JUMPS: "Binarizer Ceil Floor Hardmax Mod Round",
    _LABELS: "ArgMax ArgMin LabelEncoder ZipMap",
    _COMPARES: "And Equal IsInf IsNaN Or Xor",
    _STEPS: "Scan",
    _QUANTIZED: "ConvInteger DequantizeLinear DynamicQuantizeLinear MatMulInteger QLinearConv QLinearMatMul QuantizeLinear",
    _TREES: "TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor",
    _KERNELS: "SVMClassifier SVMRegressor",
    _RANDOM: "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike",
    _TEXT: "DictVectorizer StringNormalizer TfIdfVectorizer",
    _CATEGORIES: "CategoryMapper OneHot OneHotEncoder",
    _INDEX: "Compress DeformConv GridSample MaxUnpool NonMaxSuppression NonZero RoiAlign Unique",
    _DOMAIN: "Acos Acosh Asin Atanh Tan",
}
REFUSED: dict[str, str] = {name: words for words, names in _GROUPS.items() for name in names.split()}


def reason(domain: str, name: str) -> str | None:
    """What to do about an operator; None where nothing is known of it."""
    return _OPTIMIZED if domain.startswith("com.microsoft") else REFUSED.get(name)
