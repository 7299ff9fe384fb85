"""Ensembles of networks: several trained models with the same inputs as one network.

Examples
--------
The worst of two predictions, x and 1 - x, is smallest at 1/2:

>>> import dcembed
>>> one, other = dcembed.build_mlp([[[1.0]]], [None]), dcembed.build_mlp([[[-1.0]]], [[1.0]])
>>> worst = dcembed.ensemble([one, other], output="max")
>>> program = dcembed.Program(cost=[0.0, 1.0], lb=[0.0, -10.0], ub=[1.0, 10.0])
>>> result = dcembed.solve(program, [dcembed.Embedding(worst, [0], [1])], options={"verbose": False})
>>> round(result.objective, 6)
0.5
"""

from dcembed.ensembles.build import ensemble
from dcembed.network.ensemble import Ensemble, member_values

__all__ = ["Ensemble", "ensemble", "member_values"]
