"""What the numbers in the memory of tensors stand for.

While a module runs on one point, every number that depends on the input has a value here beside it. It is found by where the number is
stored, so views see what is changed in place, whatever the tensor is called by then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from dcembed.arrays import Array
from dcembed.importers import operations as ops
from dcembed.importers.lowering import UNKNOWN
from dcembed.importers.operations import Value
from dcembed.importers.torch_.aten.conditions import Condition
from dcembed.importers.torch_.recording.constants import to_array
from dcembed.network.builder import NetworkBuilder, Tensor

# The value of what comes after something that cannot be lowered, where nothing can stand in for it.
FAILED = object()


@dataclass
class _Block:
    """One piece of memory.

    Parameters
    ----------
    owner
        Keeps the memory from being used again for something else.
    value
        All its numbers in their order, UNKNOWN or FAILED.
    item
        How many bytes a number takes.
    is_condition
        Whether it is not the numbers that are kept but what is compared with zero to get them.
    """

    owner: Any
    value: Any
    item: int
    is_condition: bool = False


class Memory:
    """The values of all tensors that depend on the input.

    Parameters
    ----------
    builder
        Makes the values.
    """

    def __init__(self, builder: NetworkBuilder) -> None:
        self._builder = builder
        self._blocks: dict[int, _Block] = {}
        # Of memory that is not as it should be: the memory itself, so that it is not used again, and the numbers of the problems.
        self._blamed: dict[int, tuple[Any, frozenset[int]]] = {}

    def causes(self, tensor: torch.Tensor) -> frozenset[int]:
        """The numbers of the problems that a tensor depends on."""
        return self._blamed[_address(tensor)][1] if _address(tensor) in self._blamed else frozenset()

    def blame(self, tensor: torch.Tensor, causes: frozenset[int]) -> None:
        """A tensor, and all that share its numbers, depend on these problems too."""
        if causes:
            self._blamed[_address(tensor)] = (tensor.untyped_storage(), self.causes(tensor) | causes)

    def holds(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor depends on the input."""
        return _address(tensor) in self._blocks

    def read(self, tensor: torch.Tensor) -> Any:
        """The value of a tensor: computed, a constant, a condition, UNKNOWN or FAILED."""
        block = self._blocks.get(_address(tensor))
        if block is None:
            # A copy: the tensor may be changed in place later.
            return np.array(to_array(tensor))
        if block.value is UNKNOWN or block.value is FAILED or block.item != tensor.element_size():
            return UNKNOWN if block.value is UNKNOWN else FAILED
        value = ops.pick(self._builder, block.value, _numbers(tensor))
        return Condition(value) if block.is_condition else value

    def write(self, tensor: torch.Tensor, value: Any) -> None:
        """From now on the numbers of `tensor` stand for `value`, in all tensors that share them."""
        if value is UNKNOWN or value is FAILED:
            self._blocks[_address(tensor)] = _Block(tensor.untyped_storage(), value, tensor.element_size())
            return
        is_condition = isinstance(value, Condition)
        own = _flat(self._builder, value.above if is_condition else value)
        numbers = _numbers(tensor).reshape(-1)
        size = _size(tensor)
        if not np.array_equal(numbers, np.arange(size)):
            own = self._replace(tensor, numbers, own)
        self._blocks[_address(tensor)] = _Block(tensor.untyped_storage(), own, tensor.element_size(), is_condition)

    def _replace(self, tensor: torch.Tensor, numbers: Array, own: Tensor) -> Tensor:
        """All numbers of the memory, some of them replaced."""
        whole = self.read(tensor.detach().as_strided((_size(tensor),), (1,), 0))
        # Memory that nothing was written to yet may hold anything.
        known = (
            whole if isinstance(whole, Tensor) else np.zeros(_size(tensor)) if whole is UNKNOWN or whole is FAILED else np.nan_to_num(whole)
        )
        before = _flat(self._builder, known)
        entries = np.arange(before.affine.num_rows)
        entries[numbers] = before.affine.num_rows + np.arange(numbers.size)
        return ops.pick(self._builder, self._builder.concat([before, own]), entries)


def _flat(builder: NetworkBuilder, value: Value) -> Tensor:
    tensor = ops.as_tensor(value)
    return builder.reshape(tensor, (tensor.affine.num_rows,))


def _address(tensor: torch.Tensor) -> int:
    """Where a tensor is stored; zero for one that has no memory of the usual kind."""
    return int(tensor.untyped_storage()._cdata) if tensor.layout == torch.strided and tensor.numel() else 0


def _size(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage().nbytes() // tensor.element_size())


def _numbers(tensor: torch.Tensor) -> Array:
    """Which numbers of its memory a tensor is made of, in its shape."""
    numbers = np.asarray(tensor.storage_offset())
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        numbers = numbers[..., None] + np.arange(size) * stride
    return numbers
