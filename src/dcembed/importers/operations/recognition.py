"""Products and quotients that are known activations, written out.

x sigmoid(x) is SiLU, x (1 + erf(x / sqrt 2)) / 2 is GELU, and so on, in any order of the factors and with any constants between them. As one
activation they are exact; as products they would be differences of squares, which are less exact and looser to bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dcembed.arrays import Array
from dcembed.importers.operations.structure import (
    ROUNDING,
    Units,
    ratio,
    read_absolute,
    read_clip,
    read_cube,
    read_units,
)
from dcembed.importers.operations.units import cube, multiply_by_squares
from dcembed.importers.operations.values import flat
from dcembed.network.activations import RELU, smooth
from dcembed.network.affine import Affine
from dcembed.network.builder import NetworkBuilder, Tensor


def product(builder: NetworkBuilder, left: Tensor, right: Tensor) -> Tensor:
    """left * right, entry by entry: a known activation where it is one, a difference of squares otherwise."""
    one, other = flat(builder, left), flat(builder, right)
    result = _multiple(builder, one, other)
    for value, gate in ((one, other), (other, one)):
        result = _gated(builder, value, gate) if result is None else result
    result = multiply_by_squares(builder, one, other) if result is None else result
    return builder.reshape(result, left.shape)


def _multiple(builder: NetworkBuilder, left: Tensor, right: Tensor) -> Tensor | None:
    """Of left = s right + t: s right^2 + t right."""
    factor = ratio(left.affine, right.affine)
    if factor is None:
        return None
    rest = left.affine.bias - factor * right.affine.bias
    squares = builder.scale(builder.activate(right, smooth.square()), factor)
    return squares if _vanishes(rest, left.affine.bias) else builder.add(squares, builder.scale(right, rest))


def _gated(builder: NetworkBuilder, value: Tensor, gate: Tensor) -> Tensor | None:
    """Of value = s a + t and gate = c g(a) + d, where a g(a) is known: s (c a g(a) + d a) + t gate."""
    for read in _GATES:
        found = read(builder, value, gate)
        if found is not None:
            return found
    return None


def _join(builder: NetworkBuilder, value: Tensor, gate: Tensor, inner: Affine, gated: Callable[[Tensor], Tensor]) -> Tensor | None:
    """The product, if `value` is affine in `inner`; `gated` gives inner * gate."""
    factor = ratio(value.affine, inner)
    if factor is None:
        return None
    rest = value.affine.bias - factor * inner.bias
    main = builder.scale(gated(Tensor(inner, value.shape)), factor)
    return main if _vanishes(rest, value.affine.bias) else builder.add(main, builder.scale(gate, rest))


def _vanishes(rest: Array, scale: Array) -> bool:
    return bool(np.abs(rest).max(initial=0.0) <= ROUNDING * np.abs(scale).max(initial=0.0))


def _weighted(builder: NetworkBuilder, units: Units, known: Tensor, inner: Tensor) -> Tensor:
    """factor * known + shift * inner."""
    main = builder.scale(known, units.factor)
    return builder.add(main, builder.scale(inner, units.shift)) if units.shift.any() else main


def _by_unit(builder: NetworkBuilder, value: Tensor, gate: Tensor) -> Tensor | None:
    """Gates that are units of the value itself."""
    units = read_units(builder, gate.affine)
    if units is None or units.activation.name not in _TIMES:
        return None
    times = _TIMES[units.activation.name]
    return _join(builder, value, gate, units.before, lambda inner: _weighted(builder, units, times(builder, inner), inner))


def _times_erf(builder: NetworkBuilder, value: Tensor) -> Tensor:
    """a erf(a) = sqrt(2) gelu(sqrt(2) a) - a."""
    root = math.sqrt(2.0)
    return builder.add(builder.scale(builder.activate(builder.scale(value, root), smooth.gelu()), root), builder.scale(value, -1.0))


_TIMES: dict[str, Callable[[NetworkBuilder, Tensor], Tensor]] = {
    "sigmoid": lambda builder, value: builder.activate(value, smooth.silu()),
    "erf": _times_erf,
    "relu": lambda builder, value: builder.activate(builder.activate(value, RELU), smooth.square()),
    "square": cube,
}


def _mish(builder: NetworkBuilder, value: Tensor, gate: Tensor) -> Tensor | None:
    """x tanh(softplus(x))."""
    units = read_units(builder, gate.affine)
    if units is None or units.activation.name != "tanh":
        return None
    inside = read_units(builder, units.before)
    if inside is None or inside.activation.name != "softplus" or not (inside.factor == 1.0).all() or inside.shift.any():
        return None
    return _join(
        builder, value, gate, inside.before, lambda inner: _weighted(builder, units, builder.activate(inner, smooth.mish()), inner)
    )


def _gelu_tanh(builder: NetworkBuilder, value: Tensor, gate: Tensor) -> Tensor | None:
    """y tanh(sqrt(2 / pi) (y + 0.044715 y^3)) = 2 gelu_tanh(y) - y for a multiple y of the value that is cubed."""
    units = read_units(builder, gate.affine)
    found = read_cube(builder, units.before) if units is not None and units.activation.name == "tanh" else None
    if units is None or found is None:
        return None
    base, factor, rest = found
    linear = ratio(rest, base)
    if linear is None or not _vanishes(rest.bias - linear * base.bias, np.maximum(1.0, np.abs(base.bias))):
        return None
    times = linear / smooth.ROOT_TWO_OVER_PI
    if not np.allclose(factor, smooth.ROOT_TWO_OVER_PI * smooth.CUBIC * times**3, rtol=1e-9, atol=0):
        return None

    def gated(inner: Tensor) -> Tensor:
        scaled = builder.scale(inner, times)
        known = builder.add(builder.scale(builder.activate(scaled, smooth.gelu_tanh()), 2.0), builder.scale(scaled, -1.0))
        return _weighted(builder, units, builder.scale(known, 1.0 / times), inner)

    return _join(builder, value, gate, base, gated)


def _hardswish(builder: NetworkBuilder, value: Tensor, gate: Tensor) -> Tensor | None:
    """(p - w / 2) clip(p, 0, w) = (w^2 / 6) hardswish(6 (p - w / 2) / w)."""
    found = read_clip(builder, gate.affine)
    if found is None:
        return None
    before, factor, width = found
    middle = Affine(before.weights, before.bias - 0.5 * width)

    def gated(inner: Tensor) -> Tensor:
        known = builder.activate(builder.scale(inner, 6.0 / width), smooth.hardswish())
        main = builder.scale(known, factor * width**2 / 6.0)
        return builder.add(main, builder.scale(inner, gate.affine.bias)) if gate.affine.bias.any() else main

    return _join(builder, value, gate, middle, gated)


def _softsign(builder: NetworkBuilder, value: Tensor, gate: Tensor) -> Tensor | None:
    """a / (d + f |a|) = softsign(f a / d) / f."""
    units = read_units(builder, gate.affine)
    if units is None or units.activation.name != "power" or units.activation.parameters[0] != -1.0:
        return None
    found = read_absolute(builder, units.before)
    if found is None:
        return None
    inside, factor, offset = found
    if (offset <= 0).any() or (factor <= 0).any():
        return None

    def gated(inner: Tensor) -> Tensor:
        known = builder.activate(builder.scale(inner, factor / offset), smooth.softsign())
        return _weighted(builder, units, builder.scale(known, 1.0 / factor), inner)

    return _join(builder, value, gate, inside, gated)


_GATES = (_by_unit, _mish, _gelu_tanh, _hardswish, _softsign)
