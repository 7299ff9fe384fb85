"""Networks of OMLT without activation binaries.

from dcembed.omlt import DCEmbedFormulation

m.nn = OmltBlock()
m.nn.build_formulation(DCEmbedFormulation(load_onnx_neural_network(...)))
SolverFactory("dcembed").solve(m, tee=True)
"""

from dcembed.errors import MissingPackageError

try:
    import omlt  # noqa: F401
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] not in ("omlt", "pyomo", "networkx"):
        raise
    raise MissingPackageError('dcembed.omlt needs the package omlt, which is not installed. Run: pip install "dcembed[omlt]"') from None

import dcembed.pyomo  # noqa: F401  (registers the solver)
from dcembed.frontends.omlt_ import DCEmbedFormulation
from dcembed.importers.omlt_ import load_definition

__all__ = ["DCEmbedFormulation", "load_definition"]
