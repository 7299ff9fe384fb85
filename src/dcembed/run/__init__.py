"""What every method does with a point: arguments, clock, log, incumbent, completion, starts."""
