"""Penalty convex-concave procedure: subproblems, penalty, starts, the loop."""
