"""The network in skip form: data, evaluation, bounds and the difference-of-convex split.

Examples
--------
The hat f(x) = max(x, 0) - 2 max(x - 1, 0) rises to 1 at x = 1 and falls from there on.

>>> from dcembed.network import build_mlp
>>> from dcembed.network.bounds import bound
>>> from dcembed.network.split import split
>>> hat = build_mlp(weights=[[[1.0], [1.0]], [[1.0, -2.0]]], biases=[[0.0, -1.0], None])
>>> hat([[0.5], [1.0], [1.5]]).ravel()
array([0.5, 1. , 0.5])

Over 0 <= x <= 0.5 its pre-activations lie in [0, 0.5] and [-1, -0.5]: both units are settled there.

>>> [(low, high)] = bound(hat, [[0.0]], [[0.5]])
>>> low, high
(array([[ 0., -1.]]), array([[ 0.5, -0.5]]))

As a difference of convex functions f = G - H, with G = 1 z_1 and H = 2 z_2:

>>> parts = split(hat, [[1.0]])
>>> parts.convex, parts.concave
((array([[1., 0.]]),), (array([[0., 2.]]),))
"""

from dcembed.network.affine import Affine
from dcembed.network.builder import NetworkBuilder, Tensor
from dcembed.network.network import Network, build_mlp

__all__ = ["Affine", "Network", "NetworkBuilder", "Tensor", "build_mlp"]
