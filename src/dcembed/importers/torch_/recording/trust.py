"""Kernels of torch that trust their arguments: with wrong ones they read memory that is not theirs, so these are looked at before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from dcembed.errors import NetworkError
from dcembed.importers.torch_.recording.names import operator_name


def check_arguments(target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raise NetworkError if an operator of a file is given what its kernel would not look at."""
    name = operator_name(target)
    if name not in _CHECKS:
        return
    names = [argument.name for argument in target._schema.arguments]
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    if not _CHECKS[name](given):
        shown = ", ".join(f"{key}: {tuple(value.shape)}" for key, value in given.items() if isinstance(value, torch.Tensor))
        raise NetworkError(
            f"The model calls torch.{name} with sizes or indices that do not belong together ({shown}). It is damaged. Save the model again."
        )


def _fits_channels(given: Mapping[str, Any]) -> bool:
    """Batch normalization has one number per channel of each kind."""
    value = given["input"]
    vectors = [given.get(key) for key in ("weight", "bias", "running_mean", "running_var")]
    return value.ndim > 1 and all(vector is None or tuple(vector.shape) == (value.shape[1],) for vector in vectors)


def _fits_bags(given: Mapping[str, Any]) -> bool:
    """Bags begin at places in the list of indices, one after the other."""
    offsets, count = given["offsets"], given["indices"].numel()
    return offsets.numel() == 0 or bool((offsets >= 0).all() and (offsets <= count).all() and (offsets.diff() >= 0).all())


def _fits_norms(given: Mapping[str, Any]) -> bool:
    """Weight normalization has one norm per row or column; other axes are not in its kernel."""
    direction, dim = given["v"], given.get("dim", 0)
    return direction.ndim > 0 and dim in (0, direction.ndim - 1) and given["g"].numel() == direction.shape[dim]


_CHECKS: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "native_batch_norm": _fits_channels,
    "cudnn_batch_norm": _fits_channels,
    "_native_batch_norm_legit": _fits_channels,
    "_native_batch_norm_legit_functional": _fits_channels,
    "_native_batch_norm_legit_no_training": _fits_channels,
    "_batch_norm_no_update": _fits_channels,
    "_batch_norm_with_update": _fits_channels,
    "_batch_norm_with_update_functional": _fits_channels,
    "_embedding_bag": _fits_bags,
    "_embedding_bag_forward_only": _fits_bags,
    "_weight_norm_interface": _fits_norms,
}
