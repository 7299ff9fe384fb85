"""Front ends: each extracts a Program and Embeddings from a modelling tool and restores the answer into it."""
