"""The loop of the paper: the penalty convex-concave procedure on an exact epigraph of the kept components."""
