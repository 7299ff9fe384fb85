"""The network in skip form: data, evaluation, bounds and the difference-of-convex split."""

from dcembed.network.builder import NetworkBuilder, Tensor
from dcembed.network.network import Affine, Network, build_mlp

__all__ = ["Affine", "Network", "NetworkBuilder", "Tensor", "build_mlp"]
