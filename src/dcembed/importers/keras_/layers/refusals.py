"""Layers of Keras that have no form here, and what helps."""

from __future__ import annotations

from typing import Any

from dcembed.importers.keras_.backend import keras

_STATE = "keeps a state from one time step to the next; embed a model that takes the whole window at once, such as Dense or Conv1D layers over it"
_CATEGORIES = "turns its input into categories, which jumps; do that to the data first, and load the model behind it"
_IMAGES = "changes images in a way that is not known here; do that to the data first, and load the model behind it"
_OTHER = "runs a model of another framework; load that one itself"
_SPECTRUM = "computes spectra; do that to the data first, and load the model behind it"

_REASONS: dict[str, str] = {
    **dict.fromkeys(
        (
            "LSTM",
            "GRU",
            "SimpleRNN",
            "RNN",
            "Bidirectional",
            "ConvLSTM1D",
            "ConvLSTM2D",
            "ConvLSTM3D",
            "LSTMCell",
            "GRUCell",
            "SimpleRNNCell",
            "StackedRNNCells",
        ),
        _STATE,
    ),
    **dict.fromkeys(
        ("Discretization", "CategoryEncoding", "Hashing", "HashedCrossing", "IntegerLookup", "StringLookup", "TextVectorization"),
        _CATEGORIES,
    ),
    **dict.fromkeys(("RandomCrop", "CenterCrop", "AutoContrast", "Equalization", "Solarization"), _IMAGES),
    **dict.fromkeys(("TFSMLayer", "TorchModuleWrapper", "JaxLayer", "FlaxLayer"), _OTHER),
    **dict.fromkeys(("MelSpectrogram", "STFTSpectrogram"), _SPECTRUM),
    "Masking": "drops time steps where all entries have a certain value, which jumps; load the model without it",
}

_JUMPS = "jumps; use a continuous function, or load the model before it (outputs= chooses among several outputs)"
_SORTS = "sorts its entries; max, min and mean over an axis are accepted"

OPERATIONS: dict[str, str] = {
    **dict.fromkeys(
        (
            *(
                "Argmax",
                "Argmin",
                "Floor",
                "Ceil",
                "Round",
                "Trunc",
                "FloorDivide",
                "Mod",
                "Sign",
                "Signbit",
                "Heaviside",
                "OneHot",
                "Digitize",
            ),
            *("Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual", "LogicalXor"),
        ),
        _JUMPS,
    ),
    **dict.fromkeys(("Sort", "Argsort", "TopK", "Median", "Quantile", "Percentile", "Sparsemax"), _SORTS),
}

# By class; older versions do not have all of them.
REASONS: dict[type, str] = {getattr(keras.layers, name): reason for name, reason in _REASONS.items() if hasattr(keras.layers, name)}


def find_reason(operation: Any) -> str | None:
    """Why a layer or operation of Keras is refused, where that is known."""
    kind = type(operation)
    if isinstance(operation, keras.layers.Layer):
        return REASONS.get(kind)
    return OPERATIONS.get(kind.__name__) if kind.__module__.startswith("keras.") else None
