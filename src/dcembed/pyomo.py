"""Networks in Pyomo models.

    import dcembed.pyomo
    import pyomo.environ as pyo

    dcembed.pyomo.embed(m.block, "net.onnx", inputs=[m.x, m.y], outputs=[m.z])
    results = pyo.SolverFactory("dcembed").solve(m, tee=True, time_limit=60)

Importing this module registers the solver. Other solvers raise an error where a model has a network in it.
"""

from dcembed.frontends.contract import Extraction
from dcembed.frontends.packages import missing_package

try:
    from dcembed.frontends.pyomo_ import extract, restore
    from dcembed.frontends.pyomo_embed import EmbeddedNetwork, embed, without_networks
    from dcembed.frontends.pyomo_solver import DCEmbedSolver
except ModuleNotFoundError as error:
    raise missing_package(error, "pyomo", "pyomo") from None

__all__ = ["DCEmbedSolver", "EmbeddedNetwork", "Extraction", "embed", "extract", "restore", "without_networks"]
