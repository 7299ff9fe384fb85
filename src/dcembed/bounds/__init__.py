"""Certified bounds on the optimum: how good a point is."""
