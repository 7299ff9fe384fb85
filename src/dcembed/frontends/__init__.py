"""Front ends: one file for each modelling tool. They extract a Program and Embeddings from the user's model, and restore the answer."""
