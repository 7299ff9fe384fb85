"""What a constraint is worth at a point: local multipliers."""
