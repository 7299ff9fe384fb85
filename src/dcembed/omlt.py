"""Networks of OMLT without activation binaries.

from dcembed.omlt import DCEmbedFormulation, load_onnx_neural_network

m.nn = OmltBlock()
m.nn.build_formulation(DCEmbedFormulation(load_onnx_neural_network(...)))
SolverFactory("dcembed").solve(m, tee=True)
"""

from dcembed.frontends.packages import missing_package

try:
    import omlt  # noqa: F401

    import dcembed.pyomo  # noqa: F401  (registers the solver)
    from dcembed.frontends.omlt_ import DCEmbedFormulation, load_onnx_neural_network, load_onnx_neural_network_with_bounds
    from dcembed.importers.omlt_ import load_definition
except ModuleNotFoundError as error:
    raise missing_package(error, "omlt", "omlt", "pyomo", "networkx") from None

__all__ = ["DCEmbedFormulation", "load_definition", "load_onnx_neural_network", "load_onnx_neural_network_with_bounds"]
