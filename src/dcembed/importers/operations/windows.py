"""The windows of pooling along one axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.importers.operations.values import Unsupported


@dataclass(frozen=True, eq=False)
class Windows:
    """Which entries of an axis the windows hold.

    Parameters
    ----------
    positions
        Shape (windows, most entries of one); -1 where a window has fewer, or reaches over the end.
    counts
        Entries of each window, those of the padding included.
    """

    positions: Array
    counts: Array


def sliding_windows(size: int, length: int, stride: int, padding: tuple[int, int], dilation: int = 1, ceil_mode: bool = False) -> Windows:
    """Windows of `length` entries, `stride` apart, over an axis with `padding` before and after it.

    Examples
    --------
    >>> sliding_windows(5, 2, 2, (0, 0), ceil_mode=True).positions
    array([[ 0,  1],
           [ 2,  3],
           [ 4, -1]])
    """
    before, after = padding
    room = size + before + after - dilation * (length - 1) - 1
    count = (-(-room // stride) if ceil_mode else room // stride) + 1
    # The last window begins inside of the value or the padding before it.
    if ceil_mode and (count - 1) * stride >= size + before:
        count -= 1
    if count < 1:
        raise Unsupported(f"has windows of {length} entries over an axis of {size}, padding {padding}")
    places = np.arange(count)[:, None] * stride - before + np.arange(length) * dilation
    return Windows(np.where((places >= 0) & (places < size), places, -1), (places < size + after).sum(axis=1))


def adaptive_windows(size: int, count: int) -> Windows:
    """`count` windows that cover the axis as evenly as can be.

    Examples
    --------
    >>> adaptive_windows(5, 3).positions
    array([[ 0,  1, -1],
           [ 1,  2,  3],
           [ 3,  4, -1]])
    """
    begins = np.arange(count) * size // count
    ends = -(-(np.arange(count) + 1) * size // count)
    places = begins[:, None] + np.arange((ends - begins).max())
    return Windows(np.where(places < ends[:, None], places, -1), ends - begins)
