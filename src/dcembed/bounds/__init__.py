"""How good a point can be at best: relaxations, hull cuts, branching, and what they prove."""
