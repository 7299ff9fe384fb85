"""Layers of Keras that have no form here, and what helps."""

from __future__ import annotations

from dcembed.importers.keras_backend import keras

_STATE = "keeps a state from one time step to the next; embed a model that takes the whole window at once, such as Dense or Conv1D layers over it"
_CATEGORIES = "turns its input into categories, which jumps; do that to the data first, and load the model behind it"
_RANDOM = "changes images in training; load the model without it"
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
    **dict.fromkeys(
        ("RandomCrop", "CenterCrop", "AugMix", "CutMix", "MixUp", "RandAugment", "AutoContrast", "Equalization", "Solarization"), _RANDOM
    ),
    **dict.fromkeys(("TFSMLayer", "TorchModuleWrapper", "JaxLayer", "FlaxLayer"), _OTHER),
    **dict.fromkeys(("MelSpectrogram", "STFTSpectrogram"), _SPECTRUM),
    "Masking": "drops time steps where all entries have a certain value, which jumps; load the model without it",
}

# By class; older versions do not have all of them.
REASONS: dict[type, str] = {getattr(keras.layers, name): reason for name, reason in _REASONS.items() if hasattr(keras.layers, name)}
