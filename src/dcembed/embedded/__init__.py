"""Host and networks together: embeddings, elimination of outputs, measurements and verification."""

from dcembed.embedded.embedding import AffineInputs, Embedding
from dcembed.embedded.verify import Verification, verify

__all__ = ["AffineInputs", "Embedding", "Verification", "verify"]
