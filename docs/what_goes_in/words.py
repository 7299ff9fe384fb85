"""The words between the tables."""

from __future__ import annotations

HEAD = """
# What goes in

`dcembed.load_network(model)` takes the model as it is and gives a `Network`, compared with the framework at random points before you
get it. Layers become affine maps, which stay sparse, and units: functions of one number. What is no such function is written out in them: a
product of two values is a difference of squares, LayerNorm squares and a power, softmax exponentials.

The tables are made of the importers' own tables of handlers (`python -m docs.what_goes_in` writes this page; a test fails where it is
not what the handlers say).

| | how to load |
| --- | --- |
| [PyTorch](pytorch.md), live | `load_network(module)`, with `input_shape=(3, 32, 32)` where the layers do not tell it. The module is run on one point and what it does is read; what that cannot follow is tried by torch.export. |
| torch.export, .pt2 | `load_network(torch.export.export(module, (x,)))`, `load_network("net.pt2")` |
| TorchScript | `load_network(torch.jit.trace(module, x))`, `load_network("net.pt")`; of a file the code is read as text and the tensors as numbers, and nothing but operators of torch that compute is called |
| [ONNX](onnx.md) | `load_network("net.onnx")`, `.onnx.gz`, or a ModelProto; opsets 1 to 24 |
| [Keras](keras.md) 3 | `load_network(model)`, `load_network("net.keras")`, `.h5`; files are read without running code |
| [scikit-learn](scikit_learn.md) | `load_network(pipeline)` |
| files of weights | `load_network("net.safetensors", architecture="tanh")`, `.npz` with W1, b1, W2, b2, ..., `.nnet`; `dcembed.save_network(network, "net.npz")` keeps all that any network here has |

Of several inputs or outputs all are taken, flattened, one after the other; `inputs=["x", "u"]` chooses and orders them, `inputs={"x": None, "season": 3.0}`
gives values to those that are constants, `outputs=["demand"]` chooses outputs. A sigmoid, softmax or log-softmax at the end is embedded as it is, as probabilities;
`outputs="logits"` leaves it out. Classifiers of scikit-learn give scores, and probabilities with `outputs="probabilities"`.

PyTorch has the same table of operators on all its ways; what is not in it is written in simpler operators by torch itself, as LSTM is. Of torch.nn those
modules are named that the tests load.
"""

METHODS = """
"Units" says what a function is made of. Networks of ReLU units alone work in every method. With other units, `dcembed.solve` works, and all of its settings but
`formulation=` {formulations}; the baselines {baselines} refuse them by the name of the activation. What jumps cannot be embedded: see [below](#what-does-not-go-in-and-what-to-do).
"""

REFUSED = """
## What does not go in, and what to do

All that is wrong is named at once, with the layer, the reason and what would help. In general: choose outputs before what is refused (`outputs=`), give an input
that steers it a value (`inputs={...}`), or pass the part of the model before it.
"""

BESIDE_OTHERS = """
## Beside others

Networks that can be embedded, of the versions named, as read from their files and partly tried.

| | dcembed | gurobi-ml 1.7 | OMLT 1.2 | PySCIPOpt-ML 1.4 | MathOptAI.jl 0.2.9 |
| --- | --- | --- | --- | --- | --- |
| networks from | PyTorch (modules, torch.export, TorchScript), ONNX, Keras, scikit-learn, files of weights | PyTorch (Sequential), Keras, ONNX, scikit-learn | Keras, ONNX | PyTorch (Sequential), Keras, ONNX, scikit-learn | PyTorch (Sequential), Flux, Lux |
| layers | the tables above | dense | dense, Conv2d, MaxPool2d | dense, Flatten | dense, Conv2d, pooling, LayerNorm |
| activations | the table above | ReLU | ReLU, sigmoid, tanh, softplus | ReLU, sigmoid, tanh, softmax, softplus | most |
| BatchNorm / residual connections / leaky ReLU | yes / yes / yes | no / no / no | no / no / no | no / no / no | no / by hand / yes |
| Sequential inside of Sequential, Dropout | yes | no | from Keras and ONNX only | no | yes |
| affine expressions as inputs | yes | no | no | no | yes |
| trees | no | yes | yes | yes | yes |
"""
