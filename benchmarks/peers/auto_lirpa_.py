"""auto_LiRPA: lower bounds of a network's prediction over boxes, by its forward, backward and optimized relaxations.

Its release on the package index was made for older packages; three names that it looks for there are put back before it is imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from dcembed import Network
from dcembed.network.activations import RELU, find_activation

Array = np.ndarray


def is_installed() -> bool:
    """Whether it can be compared with."""
    return all(importlib.util.find_spec(name) is not None for name in ("auto_LiRPA", "torch"))


def build_bounder(network: Network, num_boxes: int, method: str, iterations: int) -> Callable[[Array, Array], Array]:
    """A function of boxes (k, num_inputs) that gives lower bounds (k,) of the only prediction by one of its methods."""
    torch = _torch()
    _put_back_names(torch)
    from auto_LiRPA import BoundedModule, BoundedTensor, PerturbationLpNorm

    middle = torch.zeros(num_boxes, network.num_inputs)
    # Slopes that are stored for open units alone do not fit its indices on some boxes.
    settings = {"optimize_bound_args": {"iteration": iterations}, "sparse_features_alpha": False, "sparse_spec_alpha": False}
    model = BoundedModule(_as_module(network, torch), middle, bound_opts=settings)

    def bound(lb: Array, ub: Array) -> Array:
        low, high = torch.tensor(lb), torch.tensor(ub)
        inputs = BoundedTensor((low + high) / 2, PerturbationLpNorm(norm=np.inf, x_L=low, x_U=high))
        # Forward it gives both sides or none.
        least, _ = model.compute_bounds(x=(inputs,), method=method, bound_upper=method == "forward")
        return np.asarray(least.detach().numpy())[:, 0]

    return bound


def _torch() -> Any:
    import torch

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    return torch


def _put_back_names(torch: Any) -> None:
    if "numpy.lib.arraysetops" not in sys.modules:
        module = ModuleType("numpy.lib.arraysetops")
        module.isin = np.isin  # type: ignore[attr-defined]
        sys.modules["numpy.lib.arraysetops"] = module
    # Not the one of the same name that torch.onnx shows.
    symbolic_helper: Any = importlib.import_module("torch.onnx.symbolic_helper")
    if not hasattr(symbolic_helper, "_set_opset_version"):
        from torch.onnx._internal.torchscript_exporter._globals import GLOBALS

        symbolic_helper._set_opset_version = lambda version: setattr(GLOBALS, "export_onnx_opset_version", version)
    if not hasattr(torch._C.Node, "__getitem__"):
        torch._C.Node.__getitem__ = lambda node, key: getattr(node, node.kindOf(key))(key)


def _as_module(network: Network, torch: Any) -> Any:
    """The layers of a network without skips as a module of torch."""
    units = {RELU: torch.nn.ReLU, find_activation("tanh"): torch.nn.Tanh, find_activation("sigmoid"): torch.nn.Sigmoid}
    layers = []
    for index, affine in enumerate((*network.stages, network.output)):
        linear = torch.nn.Linear(affine.weights[index].shape[1], affine.num_rows)
        linear.weight.data, linear.bias.data = torch.tensor(affine.weights[index]), torch.tensor(affine.bias)
        layers += [linear] if affine is network.output else [linear, units[network.activations[index]]()]
    return torch.nn.Sequential(*layers)
