"""The host as matrices, embeddings of networks in it, elimination of outputs, completion and verification."""

from dcembed.program.cones import ConeConstraint, QuadraticConstraint
from dcembed.program.embedding import AffineInputs, Embedding
from dcembed.program.program import Indicator, Program
from dcembed.program.verify import Verification, verify

__all__ = ["AffineInputs", "ConeConstraint", "Embedding", "Indicator", "Program", "QuadraticConstraint", "Verification", "verify"]
