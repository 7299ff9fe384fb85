"""Trained neural networks inside optimization models, without activation binaries."""

from dcembed.crew import RayExecutor, Workers
from dcembed.embedded import AffineInputs, Embedding, Verification, verify
from dcembed.engine.compiled import CompiledProblem, compile
from dcembed.engine.prove import prove
from dcembed.engine.solve import solve
from dcembed.ensembles import Ensemble, ensemble
from dcembed.errors import DcembedError
from dcembed.importers import load_network, save_network
from dcembed.loading import load_result
from dcembed.network import Network, NetworkBuilder, build_mlp
from dcembed.options import Options
from dcembed.program import ConeConstraint, Indicator, Program, QuadraticConstraint, split_quadratic
from dcembed.result import Iteration, Result
from dcembed.run.clock import stop
from dcembed.status import Status
from dcembed.support import Support, support
from dcembed.version import __version__

__all__ = [
    "AffineInputs",
    "CompiledProblem",
    "ConeConstraint",
    "DcembedError",
    "Embedding",
    "Ensemble",
    "Indicator",
    "Iteration",
    "Network",
    "NetworkBuilder",
    "Options",
    "Program",
    "QuadraticConstraint",
    "RayExecutor",
    "Result",
    "Status",
    "Support",
    "Verification",
    "Workers",
    "__version__",
    "build_mlp",
    "compile",
    "ensemble",
    "load_network",
    "load_result",
    "prove",
    "save_network",
    "solve",
    "split_quadratic",
    "stop",
    "support",
    "verify",
]
