"""Runs in processes of their own, measured and written down as records."""
