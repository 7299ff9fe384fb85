"""The experiments of the paper as programs and embeddings."""
