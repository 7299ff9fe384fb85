"""What a unit does with its pre-activation: one table of functions of one variable, and what holds for all of them.

A new activation is one entry of `smooth.py`: its value, its first two derivatives, and where it changes from convex to concave. Ranges
(`ranges.py`), lines above and below it on an interval (`lines.py`) and its convex parts (`parts.py`) follow from that.
"""

from dcembed.network.activations.activation import Activation
from dcembed.network.activations.numerical import activation_from
from dcembed.network.activations.relu import RELU
from dcembed.network.activations.table import ACTIVATIONS, find_activation

__all__ = ["ACTIVATIONS", "RELU", "Activation", "activation_from", "find_activation"]
