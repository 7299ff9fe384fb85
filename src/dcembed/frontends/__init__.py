"""Modelling tools: `extract` a Program and Embeddings from a model, `restore` the answer into it. One file each."""
