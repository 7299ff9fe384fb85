"""Convolution, pooling, padding and resizing."""

from __future__ import annotations

import numpy as np

from ..models import node
from .case import GRID, RNG, case

CASES = {
    "Conv": case(node("Conv", "x kernel shift6"), GRID),
    "Conv stride and padding": case(node("Conv", "x kernel", strides=[2, 1], pads=[1, 0, 2, 1]), GRID),
    "Conv dilation": case(node("Conv", "x kernel", dilations=[2, 3], kernel_shape=[3, 2]), GRID),
    "Conv groups": case(node("Conv", "x grouped shift6", group=2, pads=[1, 1, 1, 1]), GRID),
    "Conv same upper": case(node("Conv", "x kernel", auto_pad="SAME_UPPER", strides=[2, 2]), GRID),
    "Conv same lower": case(node("Conv", "x kernel", auto_pad="SAME_LOWER", strides=[2, 1]), GRID),
    "Conv valid": case(node("Conv", "x kernel", auto_pad="VALID"), GRID),
    "Conv 1d": case(node("Conv", "x kernel1 shift5", strides=[2]), ("batch", 3, 7)),
    "Conv 3d": case(node("Conv", "x k"), ("batch", 2, 3, 4, 3), constants={"k": RNG.normal(size=(2, 2, 2, 2, 2))}),
    "ConvTranspose": case(node("ConvTranspose", "x spread shift3", strides=[2, 3]), GRID),
    "ConvTranspose padding": case(node("ConvTranspose", "x spread", strides=[2, 2], pads=[1, 0, 1, 1], output_padding=[1, 0]), GRID),
    "ConvTranspose dilation": case(node("ConvTranspose", "x spread", dilations=[2, 2]), GRID),
    "ConvTranspose groups": case(
        node("ConvTranspose", "x spread2 s", group=2, strides=[2, 2]), GRID, constants={"s": RNG.normal(size=6)}, reference=False
    ),
    "ConvTranspose output shape": case(node("ConvTranspose", "x spread", strides=[2, 2], output_shape=[10, 12]), GRID, reference=False),
    "ConvTranspose same upper": case(node("ConvTranspose", "x spread", strides=[2, 2], auto_pad="SAME_UPPER"), GRID, reference=False),
    "ConvTranspose output shape beyond reach": case(
        node("ConvTranspose", "x spread", strides=[2, 2], output_shape=[12, 12], auto_pad="SAME_UPPER"), GRID, reference=False
    ),
    "ConvTranspose 1d": case(node("ConvTranspose", "x k"), ("batch", 2, 4), constants={"k": RNG.normal(size=(2, 3, 2))}),
    "MaxPool": case(node("MaxPool", "x", kernel_shape=[2, 2], strides=[2, 2]), GRID),
    "MaxPool padding": case(node("MaxPool", "x", kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[1, 2]), GRID),
    "MaxPool dilation": case(node("MaxPool", "x", kernel_shape=[2, 2], dilations=[2, 3]), GRID),
    "MaxPool ceil": case(node("MaxPool", "x", kernel_shape=[2, 2], strides=[3, 4], ceil_mode=1), GRID),
    "MaxPool same": case(node("MaxPool", "x", kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER"), GRID),
    "MaxPool same lower": case(node("MaxPool", "x", kernel_shape=[2, 2], strides=[2, 2], auto_pad="SAME_LOWER"), GRID, reference=False),
    "MaxPool 1d": case(node("MaxPool", "x", kernel_shape=[3]), ("batch", 2, 7)),
    "MaxPool 3d": case(node("MaxPool", "x", kernel_shape=[2, 2, 2], strides=[1, 2, 1]), ("batch", 1, 3, 4, 3)),
    "AveragePool": case(node("AveragePool", "x", kernel_shape=[2, 2], strides=[2, 2]), GRID),
    "AveragePool padding": case(node("AveragePool", "x", kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[1, 2]), GRID),
    "AveragePool padding counts": case(node("AveragePool", "x", kernel_shape=[3, 2], pads=[1, 0, 1, 1], count_include_pad=1), GRID),
    "AveragePool ceil": case(node("AveragePool", "x", kernel_shape=[2, 2], strides=[3, 4], ceil_mode=1), GRID, reference=False),
    "AveragePool ceil counts": case(
        node("AveragePool", "x", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1, count_include_pad=1),
        GRID,
        opset=19,
        reference=False,
    ),
    "AveragePool same": case(node("AveragePool", "x", kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER"), GRID),
    "AveragePool dilation": case(node("AveragePool", "x", kernel_shape=[2, 2], dilations=[2, 1]), GRID, opset=19, reference=False),
    "LpPool": case(node("LpPool", "x", kernel_shape=[2, 2], strides=[2, 2], p=2), GRID, atol=1e-6),
    "GlobalAveragePool": case(node("GlobalAveragePool", "x"), GRID),
    "GlobalMaxPool": case(node("GlobalMaxPool", "x"), GRID),
    "GlobalLpPool": case(node("GlobalLpPool", "x", p=2), GRID, reference=False),
    "Pad": case(node("Pad", "x w c"), ("batch", 2, 3), constants={"w": np.array([0, 1, 0, 0, 0, 2]), "c": np.array(1.5)}),
    "Pad axes": case(
        node("Pad", "x w _ a", mode="reflect"), ("batch", 2, 3), opset=18, constants={"w": np.array([1, 2]), "a": np.array([-1])}
    ),
    "Pad edge": case(node("Pad", "x w", mode="edge"), ("batch", 2, 3), constants={"w": np.array([0, 1, 0, 0, 0, 2])}),
    "Pad wrap": case(node("Pad", "x w", mode="wrap"), ("batch", 2, 3), opset=19, constants={"w": np.array([0, 0, 1, 0, 0, 2])}),
    "Pad crop": case(node("Pad", "x w"), ("batch", 2, 3), constants={"w": np.array([0, 0, -1, 0, 0, 0])}, reference=False),
    "Resize nearest": case(node("Resize", "x _ s"), GRID, constants={"s": np.array([1.0, 1.0, 2.0, 1.5])}),
    "Resize asymmetric": case(
        node("Resize", "x _ s", coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
        GRID,
        constants={"s": np.array([1.0, 1.0, 2.0, 2.0])},
    ),
    "Resize linear": case(node("Resize", "x _ s", mode="linear"), GRID, constants={"s": np.array([1.0, 1.0, 2.0, 1.5])}),
    "Resize linear corners": case(
        node("Resize", "x _ _ s", mode="linear", coordinate_transformation_mode="align_corners"),
        (1, 4, 5, 6),
        constants={"s": np.array([1, 4, 9, 7])},
    ),
    "Resize pytorch": case(
        node("Resize", "x _ s", mode="linear", coordinate_transformation_mode="pytorch_half_pixel"),
        GRID,
        constants={"s": np.array([1.0, 1.0, 0.5, 0.4])},
    ),
    "Resize cubic": case(node("Resize", "x _ s", mode="cubic", cubic_coeff_a=-0.5), GRID, constants={"s": np.array([1.0, 1.0, 2.0, 2.0])}),
    "Resize axes": case(node("Resize", "x _ s", axes=[2, 3], mode="linear"), GRID, opset=18, constants={"s": np.array([2.0, 2.0])}),
    "Upsample": case(node("Upsample", "x s"), GRID, opset=9, constants={"s": np.array([1.0, 1.0, 2.0, 3.0])}),
    "Upsample linear": case(
        node("Upsample", "x s", mode="linear"), GRID, opset=9, constants={"s": np.array([1.0, 1.0, 2.0, 3.0])}, reference=False
    ),
    "Col2Im": case(
        node("Col2Im", "x image block", strides=[2, 1], pads=[0, 1, 0, 1]),
        ("batch", 8, 8),
        opset=18,
        constants={"image": np.array([4, 3]), "block": np.array([2, 2])},
    ),
}
