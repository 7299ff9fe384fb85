"""Advice about layers that are refused fits the layer."""

from __future__ import annotations

import pytest

from dcembed.errors import NetworkError, UnsupportedLayerError
from dcembed.importers import load_network
from dcembed.importers.advice import advise
from dcembed.network.growth import growth_of


@pytest.mark.parametrize(
    ("problem", "advice"),
    [
        ("layer 1, 'act': Hardshrink (jumps by 0.5 at 0.5)", "A jump cannot be embedded"),
        ("layer 1, 'act': Round", "A jump cannot be embedded"),
        ("layer 1, 'drop': Dropout (drops entries at random)", "Nothing random can be embedded"),
        ("layer 1, 'table': Embedding", "An index is no number"),
        ("layer 1, 'norm': BatchNorm1d (normalizes with the batch itself)", "A layer that looks at the whole batch"),
        ("layer 1, 'fft': torch.fft_fft", "Complex numbers"),
        ("layer 1, 'f': Lambda", "Code that is part of a model is not run"),
        ("layer 1, 'e': MyDecoder", "Replace what is listed"),
        (
            "layer 1, 'conv': Conv (takes 3 channels and 2 axes of places behind the batch axis, received a value of shape (1, 4))",
            "Replace what is",
        ),
        ("layer 1, 'up': Resize (resizes with the coordinates 'a' and the rounding 'b', which are not known)", "Replace what is listed"),
        (
            "layer 1, 'up': Table (looks up rows of a table by the input, which is an index there; embed the model behind)",
            "An index is no number",
        ),
        (
            "layer 1, 'f': Floor (jumps; only continuous functions can be embedded. Export the model without it)",
            "A jump cannot be embedded",
        ),
        # The name that the user gave is no kind of layer.
        ("layer 1, 'round': Zeta", "Replace what is listed"),
    ],
)
def test_advice(problem, advice):
    assert len(advise([problem, problem])) == 1
    assert advise([problem])[0].startswith(advice)


@pytest.mark.parametrize(
    "problem",
    [
        "layer 1, 'r': LSTM (keeps a state from one time step to the next; embed a model that takes the whole window at once)",
        "layer 1, 'c': Concatenate (joins along the batch axis; it can join along the others)",
        "layer 1, 'q': QuantizeLinear (rounds to whole numbers, which jumps. Pass the model before it was quantized)",
        "layer 1, 'i': RandomCrop (changes images in a way that is not known here; do that to the data first, and load the model behind it)",
        "layer 1, 'p': Pad (pads in the mode 'x'; accepted are constant and edge)",
    ],
)
def test_words_that_say_what_to_do_are_not_followed_by_others(problem):
    assert advise([problem]) == []
    assert advise([problem, "layer 2, 'a': ArgMax"])[0].startswith("A jump cannot be embedded")


def refuse(model, **settings) -> list[str]:
    """The lines of the message about a model that cannot be embedded, without those about what is accepted."""
    with pytest.raises(UnsupportedLayerError) as raised:
        load_network(model, **settings)
    return [line.strip() for line in str(raised.value).splitlines()[1:] if not line.startswith("Accepted are")]


def test_a_torch_layer_that_draws_in_evaluation_mode_too():
    nn = pytest.importorskip("torch").nn
    lines = refuse(nn.Sequential(nn.Conv2d(1, 1, 1), nn.FractionalMaxPool2d(2, output_size=2)).eval(), input_shape=(1, 5, 5))
    assert "draws random numbers, also at inference; take them out" in lines[0]
    assert not any("evaluation mode" in line for line in lines)


def test_a_keras_layer_with_a_state():
    keras = pytest.importorskip("keras")
    lines = refuse(keras.Sequential([keras.Input((4, 2)), keras.layers.LSTM(3), keras.layers.Dense(1)]))
    assert len(lines) == 1
    assert "embed a model that takes the whole window at once" in lines[0]


def test_a_label_in_an_onnx_model():
    helper = pytest.importorskip("onnx.helper")
    nodes = [helper.make_node("ArgMax", ["x"], ["label"], axis=1), helper.make_node("Cast", ["label"], ["y"], to=1)]
    x, y = (helper.make_tensor_value_info(name, 1, [None, size]) for name, size in (("x", 3), ("y", 1)))
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    lines = refuse(model)
    assert len(lines) == 1
    assert "Choose the scores before it with outputs=" in lines[0]


def test_a_file_that_asks_for_too_much_is_told_what_has_no_limit():
    with pytest.raises(
        NetworkError, match=r"of a file or graph with so few weights.*pass what it was exported from: live modules of PyTorch"
    ):
        growth_of(10).check(10**9, "A value")
