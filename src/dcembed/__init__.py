"""Trained neural networks inside optimization models, without activation binaries."""

from dcembed.engine.solve import solve
from dcembed.importers import load_network, save_network
from dcembed.network import Network, NetworkBuilder, build_mlp
from dcembed.options import Options
from dcembed.program import AffineInputs, Embedding, Indicator, Program, Verification, verify
from dcembed.result import Iteration, Result, Status
from dcembed.version import __version__

__all__ = [
    "AffineInputs",
    "Embedding",
    "Indicator",
    "Iteration",
    "Network",
    "NetworkBuilder",
    "Options",
    "Program",
    "Result",
    "Status",
    "Verification",
    "__version__",
    "build_mlp",
    "load_network",
    "save_network",
    "solve",
    "verify",
]
