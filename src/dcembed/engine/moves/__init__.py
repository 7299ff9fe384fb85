"""Moves: starts that are made from points that were verified before, and the choice among them by what they have brought."""
