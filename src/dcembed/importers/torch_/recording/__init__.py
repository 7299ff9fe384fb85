"""Watching torch compute one point: every operator that runs is lowered."""
