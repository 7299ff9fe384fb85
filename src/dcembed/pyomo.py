"""Networks in Pyomo models.

    import dcembed.pyomo
    import pyomo.environ as pyo

    dcembed.pyomo.embed(m.block, "net.onnx", inputs=[m.x, m.y], outputs=[m.z])
    results = pyo.SolverFactory("dcembed").solve(m, tee=True, time_limit=60)

Importing this module registers the solver.
"""

from dcembed.errors import MissingPackageError

try:
    import pyomo.environ  # noqa: F401
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] != "pyomo":
        raise
    raise MissingPackageError('dcembed.pyomo needs the package pyomo, which is not installed. Run: pip install "dcembed[pyomo]"') from None

from dcembed.frontends.pyomo_ import Host, extract, restore
from dcembed.frontends.pyomo_embed import EmbeddedNetwork, embed
from dcembed.frontends.pyomo_solver import DCEmbedSolver

__all__ = ["DCEmbedSolver", "EmbeddedNetwork", "Host", "embed", "extract", "restore"]
