"""Where a surrogate knows: regions of the data that it was trained on, and how far from them an answer is."""

from dcembed.support.region import Support, support

__all__ = ["Support", "support"]
