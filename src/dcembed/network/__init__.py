"""The network in skip form: data, evaluation, bounds and the difference-of-convex split."""

from dcembed.network.affine import Affine
from dcembed.network.builder import NetworkBuilder, Tensor
from dcembed.network.network import Network, build_mlp

__all__ = ["Affine", "Network", "NetworkBuilder", "Tensor", "build_mlp"]
