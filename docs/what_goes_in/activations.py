"""Rows of functions that go entry by entry, or along one axis, as they stand between layers."""

from __future__ import annotations

from docs.what_goes_in.rows import Row, Section

ACTIVATIONS = Section(
    "Activations",
    (
        Row("ReLU", "ReLU relu", "Relu", "ReLU relu", weights="relu"),
        Row(
            "leaky ReLU, one slope or many",
            "LeakyReLU PReLU RReLU leaky_relu prelu rrelu",
            "LeakyRelu PRelu",
            "LeakyReLU PReLU leaky_relu",
            weights="leaky_relu",
        ),
        Row("ReLU with a limit", "ReLU6 relu6", "", "relu6", weights="relu6"),
        Row("hard tanh, clip", "Hardtanh hardtanh clamp clip clamp_min clamp_max", "Clip", "hard_tanh clip", weights="hard_tanh"),
        Row("hard sigmoid", "Hardsigmoid hardsigmoid", "HardSigmoid", "hard_sigmoid sparse_sigmoid", weights="hard_sigmoid"),
        Row("soft shrinkage", "Softshrink softshrink", "Shrink", "soft_shrink", note="Shrink where it does not jump"),
        Row("threshold", "Threshold threshold", "ThresholdedRelu", "threshold", note="where it does not jump"),
        Row("hard shrinkage", "hardshrink", "", "hard_shrink"),
        Row("absolute value", "abs absolute", "Abs", "abs absolute fabs"),
        Row("maximum, minimum of two (maxout)", "maximum fmax minimum fmin", "Max Min", "Maximum Minimum maximum fmax minimum fmin"),
        Row("tanh", "Tanh tanh", "Tanh", "tanh", weights="tanh"),
        Row("sigmoid", "Sigmoid sigmoid", "Sigmoid", "sigmoid", weights="sigmoid"),
        Row("softplus", "Softplus softplus logaddexp", "Softplus", "softplus logaddexp", weights="softplus"),
        Row("log-sigmoid", "LogSigmoid log_sigmoid", "", "log_sigmoid", weights="log_sigmoid"),
        Row("ELU", "ELU elu", "Elu", "ELU elu", weights="elu"),
        Row("SELU, CELU", "SELU CELU selu celu", "Selu Celu", "selu celu", weights="selu celu"),
        Row("GELU, both forms", "GELU gelu", "Gelu", "gelu", weights="gelu gelu_tanh"),
        Row("SiLU (swish)", "SiLU silu", "Swish", "silu", weights="silu"),
        Row("Mish", "Mish mish", "Mish", "mish", weights="mish"),
        Row("hard swish", "Hardswish hardswish", "HardSwish", "hard_silu", weights="hardswish"),
        Row("softsign", "Softsign", "Softsign", "softsign", weights="softsign"),
        Row("tanh shrinkage", "Tanhshrink", "", "tanh_shrink"),
        Row("squareplus", "", "", "squareplus"),
        Row("sparse plus", "", "", "sparse_plus"),
        Row("gated linear unit", "GLU glu", "", "glu"),
        Row("softmax", "Softmax Softmax2d Softmin softmax", "Softmax", "Softmax softmax", note="hidden, or as the last layer"),
        Row("log-softmax", "LogSoftmax log_softmax", "LogSoftmax", "log_softmax"),
        Row("sine, cosine", "sin cos", "Sin Cos", "sin cos", weights="sin"),
        Row("hyperbolic sine, cosine", "sinh cosh", "Sinh Cosh", "sinh cosh"),
        Row("arctangent", "atan arctan", "Atan", "arctan", weights="arctan"),
        Row("error function", "erf erfc", "Erf", "erf"),
        Row("exponential", "exp exp2 expm1", "Exp", "exponential exp exp2 expm1", weights="exp"),
        Row("logarithm", "log log2 log10 log1p logit", "Log", "log log2 log10 log1p", note="of positive values"),
        Row("square", "square", "", "square", weights="square"),
        Row(
            "root, power, reciprocal",
            "sqrt rsqrt pow float_power reciprocal",
            "Sqrt Pow Reciprocal",
            "sqrt rsqrt power reciprocal",
            note="fractional and negative exponents: of positive values",
        ),
        Row("none, or by name", "", "", "Activation linear", weights="linear"),
    ),
)
