"""Graphs that torch writes down: programs of torch.export, and what the inputs and points in them are."""
