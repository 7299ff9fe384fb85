"""Live modules: a copy is run on one point, and every operator that runs is lowered."""
