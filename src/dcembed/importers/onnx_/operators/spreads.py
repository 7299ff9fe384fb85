"""Where a transposed convolution of ONNX spreads its entries, and what of the result is cut off: its attributes, as numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Numbers = Sequence[int]


@dataclass(frozen=True)
class Spread:
    """Over the last axes of a value.

    Parameters
    ----------
    strides, dilations
        Per axis, from one entry's kernel to the next one's, and from one tap to the next.
    reach
        Per axis, how many places the kernels cover.
    extra
        Per axis, zeros behind what is covered.
    cuts
        Per axis, places that are left out before and behind, those of `extra` among them.
    """

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    reach: tuple[int, ...]
    extra: tuple[int, ...]
    cuts: tuple[tuple[int, int], ...]

    @property
    def size(self) -> int:
        """The number of places before anything is cut off."""
        return math.prod(reach + more for reach, more in zip(self.reach, self.extra, strict=True))


def read_spread(
    sizes: Numbers,
    kernel: Numbers,
    strides: Numbers | None = None,
    dilations: Numbers | None = None,
    pads: Numbers | None = None,
    output_padding: Numbers | None = None,
    output_shape: Numbers | None = None,
    auto_pad: str = "NOTSET",
) -> Spread:
    """The places of a result for axes of these sizes.

    Examples
    --------
    >>> read_spread((3,), (3,), strides=(2,), auto_pad="SAME_UPPER").cuts, read_spread((3,), (3,), strides=(2,), output_shape=(6,)).cuts
    (((0, 1),), ((1, 0),))
    >>> read_spread((3,), (3,), strides=(2,), output_shape=(8,)).extra
    (1,)
    """
    num = len(sizes)
    steps, gaps, extra = tuple(strides or (1,) * num), tuple(dilations or (1,) * num), tuple(output_padding or (0,) * num)
    reach = tuple((size - 1) * step + (taps - 1) * gap + 1 for size, step, taps, gap in zip(sizes, steps, kernel, gaps, strict=True))
    if not output_shape and not auto_pad.startswith("SAME"):
        flat = tuple(pads or ()) if auto_pad != "VALID" else ()
        flat = flat or (0,) * (2 * num)
        return Spread(steps, gaps, reach, extra, tuple(zip(flat[:num], flat[num:], strict=True)))
    wanted = tuple(output_shape or (size * step for size, step in zip(sizes, steps, strict=True)))[-num:]
    excess = [covered + more - size for covered, more, size in zip(reach, extra, wanted, strict=True)]
    # Where more is wanted than there is, nothing is cut off, and zeros follow.
    grown = tuple(more + max(-total, 0) for more, total in zip(extra, excess, strict=True))
    return Spread(steps, gaps, reach, grown, tuple(_share(max(total, 0), auto_pad) for total in excess))


def _share(total: int, auto_pad: str) -> tuple[int, int]:
    """Both sides alike; an odd place goes where the mode says."""
    less, more = total // 2, total - total // 2
    return (less, more) if auto_pad == "SAME_UPPER" else (more, less)
