"""The engine: the search over starts, the strategy of one start, and a folder for each of its loops."""
