"""Where the windows of ONNX convolutions and poolings lie: what their attributes say about padding, as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Windows:
    """Windows over the last axes of a value.

    Parameters
    ----------
    kernel, strides, dilations
        Per axis.
    pads
        Per axis, entries before and behind the value that windows may cover.
    counts
        Per axis, the number of windows. The last may reach beyond the padding (`ceil_mode`).
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    counts: tuple[int, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        """What a window reaches over, per axis."""
        return tuple(_extent(size, dilation) for size, dilation in zip(self.kernel, self.dilations, strict=True))


def read_windows(
    sizes: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    auto_pad: str | bytes = "NOTSET",
    ceil_mode: int = 0,
) -> Windows:
    """The windows over axes of these sizes.

    Examples
    --------
    >>> read_windows((5, 5), (3, 2), strides=(2, 2), auto_pad="SAME_UPPER").pads
    ((1, 1), (0, 1))
    >>> read_windows((5,), (2,), strides=(2,)).counts, read_windows((5,), (2,), strides=(2,), ceil_mode=1).counts
    ((2,), (3,))
    """
    num = len(sizes)
    steps, gaps = tuple(strides or (1,) * num), tuple(dilations or (1,) * num)
    if not (len(kernel) == len(steps) == len(gaps) == num) or min((*kernel, *steps, *gaps), default=1) < 1:
        raise ValueError(f"windows of {tuple(kernel)}, strides {steps} and dilations {gaps} over axes of sizes {tuple(sizes)}")
    mode = auto_pad.decode() if isinstance(auto_pad, bytes) else auto_pad
    around = [_pads(*axis, mode) for axis in zip(sizes, kernel, steps, gaps, _pairs(pads, num), strict=True)]
    counts = [_count(*axis, bool(ceil_mode)) for axis in zip(sizes, kernel, steps, gaps, around, strict=True)]
    return Windows(tuple(kernel), steps, gaps, tuple(around), tuple(counts))


def _extent(kernel: int, dilation: int) -> int:
    return (kernel - 1) * dilation + 1


def _pairs(pads: Sequence[int] | None, num: int) -> list[tuple[int, int]]:
    """ONNX lists all that is before, then all that is behind."""
    flat = tuple(pads or (0,) * (2 * num))
    if len(flat) != 2 * num:
        raise ValueError(f"pads {flat} for {num} axes")
    return list(zip(flat[:num], flat[num:], strict=True))


def _pads(size: int, kernel: int, stride: int, dilation: int, given: tuple[int, int], mode: str) -> tuple[int, int]:
    if mode == "NOTSET" or not mode:
        return given
    if mode == "VALID":
        return (0, 0)
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise ValueError(f"auto_pad {mode}")
    # As many windows as strides fit; what is missing is shared out, and an odd one goes where the mode says.
    total = max((-(-size // stride) - 1) * stride + _extent(kernel, dilation) - size, 0)
    less, more = total // 2, total - total // 2
    return (less, more) if mode == "SAME_UPPER" else (more, less)


def _count(size: int, kernel: int, stride: int, dilation: int, pads: tuple[int, int], up: bool) -> int:
    room = size + sum(pads) - _extent(kernel, dilation)
    count = (-(-room // stride) if up else room // stride) + 1
    # A window that would begin behind the value and what is before it has nothing to cover.
    count -= up and (count - 1) * stride >= size + pads[0]
    if count < 1:
        raise ValueError(f"a window of {kernel} does not fit an axis of size {size} with padding {pads}")
    return count
