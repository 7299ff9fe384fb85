"""Read trained networks: `load_network` takes a live model or a file and returns a checked `Network`."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from dcembed.errors import DcembedError, InputError, MissingPackageError, NetworkError, UnsupportedLayerError
from dcembed.importers.archives import check_file, holds_script
from dcembed.importers.lowering import parse_input_shape, parse_input_shapes
from dcembed.importers.request import Request
from dcembed.importers.trees import why_not_trees
from dcembed.importers.weights.arrays_ import save_network
from dcembed.network.builder import Head
from dcembed.network.network import Network
from dcembed.reading import as_names

__all__ = ["load_network", "save_network"]


@dataclass(frozen=True)
class Importer:
    """One row of the table of importers.

    Parameters
    ----------
    adapter
        The module of this folder whose `load(model, request)` returns a checked Network.
    package
        The package that the adapter wraps; models are recognised by it. None for plain numpy.
    suffixes
        Of the files that the adapter reads.
    accepts
        One line for messages.
    """

    adapter: str
    package: str | None
    suffixes: tuple[str, ...]
    accepts: str


# Files that may hold TorchScript, the code of a model as text; most of them are pickles.
TORCHSCRIPT = (".pt", ".pth", ".ts", ".jit", ".torchscript")

# Keras comes before torch: with the torch backend a Keras model is a torch module as well.
IMPORTERS = (
    Importer(
        "keras_", "keras", (".keras", ".h5", ".hdf5"), "Keras 3: a keras.Model, or the path of a .keras or .h5 file of layers of Keras"
    ),
    Importer(
        "torch_",
        "torch",
        (".pt2", *TORCHSCRIPT),
        "PyTorch: nn.Sequential and other nn.Module, a program of torch.export or the path of a .pt2 file, TorchScript live or in a file",
    ),
    Importer("onnx_", "onnx", (".onnx", ".onnx.gz"), "ONNX: a ModelProto or the path of an .onnx file, gzipped or not"),
    Importer("sklearn_", "sklearn", (), "scikit-learn: fitted regressors, classifiers, transformers and pipelines of them"),
    Importer("weights.arrays_", None, (".npz",), "NumPy: the path of an .npz file with W1, b1, W2, b2, ... or written by save_network"),
    Importer(
        "weights.safetensors_", "safetensors", (".safetensors",), "safetensors: the path of a .safetensors file with the weights of an MLP"
    ),
    Importer("weights.nnet_", None, (".nnet",), "NNet: the path of a .nnet file"),
)

# Files that are pickles inside.
PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".joblib", ".ckpt", ".bin", ".sav", ".dill")


def load_network(
    model: Any,
    *,
    input_shape: int | Sequence[int] | Mapping[str, int | Sequence[int]] | None = None,
    inputs: Sequence[str] | Mapping[str, Any] | None = None,
    outputs: str | Sequence[str] | None = None,
    architecture: Any = None,
) -> Network:
    """Read a trained network and check it against its framework.

    Parameters
    ----------
    model
        A torch, Keras 3, ONNX or scikit-learn model, a path (`.onnx`, `.onnx.gz`, `.keras`, `.h5`, `.npz`, `.safetensors`, `.nnet`, `.pt2`, `.pt` of
        TorchScript), or a Network, which is returned unchanged.
    input_shape
        Shape of one point, without the batch axis. Only needed when the model does not say it. Of several inputs of a torch, Keras or ONNX
        model, a mapping of their names to their shapes.
    inputs
        Where a model has several inputs: the names of those that become inputs of the network, one after the other. A mapping may give
        values to those that are constants, and None to the others. All inputs by default.
    outputs
        Where a model has several outputs: the name, or names, of those that become predictions; all of them by default.
        "logits" stands for what goes into a sigmoid, softmax or log-softmax at the end; of several outputs, those that end in one become
        predictions, and the others are left out (of a torch model they stay as they are). "probabilities" stands for what a scikit-learn
        classifier gives as `predict_proba`.
    architecture
        What is done between the layers of a .safetensors or .npz file that holds nothing but weights: the name of an activation ("relu",
        "tanh", "leaky_relu(0.01)", "linear"), or a list with one name for each hidden layer and, if need be, one more for the output.

    Returns
    -------
    Network
        Takes points (k, num_inputs), with entries of one point in row-major order, and gives predictions (k, num_outputs).
        Dropout and batch normalization are taken as at inference. A classifier of scikit-learn gives its scores (logits) by default; a
        column that it encodes is one input for each category.

    Examples
    --------
    >>> import dcembed
    >>> from torch import nn
    >>> dcembed.load_network(nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1)))
    Network(2 inputs -> 8 -> 1 outputs)

    What cannot be embedded is named, all of it at once.

    >>> dcembed.load_network(nn.Sequential(nn.Linear(2, 8), nn.Hardshrink(), nn.Linear(8, 1)))
    Traceback (most recent call last):
    dcembed.errors.UnsupportedLayerError: The torch model has 1 layer that cannot be embedded:
      layer 1, '1': Hardshrink (jumps by 0.5 at 0.5 (hard shrinkage); only continuous functions can be embedded, such as soft shrinkage)
    ...
    """
    return _load(model, _read_request(input_shape, inputs, outputs, architecture))


def load_logits(model: Any) -> tuple[Network, tuple[Head | None, ...]]:
    """What `load_network` gives for outputs="logits", and the functions that its outputs ended in; None for one that ended in none."""
    request = Request(logits=True)
    return _load(model, request), tuple(request.heads)


def _load(model: Any, request: Request) -> Network:
    if isinstance(model, Network):
        request.allow_only("Network")
        request.refuse_logits("Network")
        return model
    if isinstance(model, str | Path):
        return _load_file(Path(model), request)
    network: Network = _import_adapter(_match_object(model)).load(model, request)
    return network


def _read_request(input_shape: Any, inputs: Any, outputs: Any, architecture: Any) -> Request:
    names = None if inputs is None else as_names(list(inputs) if isinstance(inputs, Mapping) else inputs, "load_network: inputs")
    fixed = {str(name): value for name, value in inputs.items() if value is not None} if isinstance(inputs, Mapping) else {}
    logits = isinstance(outputs, str) and outputs == "logits"
    named = [outputs] if isinstance(outputs, str) else outputs
    return Request(
        input_shape=None if isinstance(input_shape, Mapping) else parse_input_shape(input_shape),
        input_shapes=parse_input_shapes(input_shape) if isinstance(input_shape, Mapping) else None,
        inputs=None if names is None else tuple(name for name in names if name not in fixed),
        fixed=fixed or None,
        outputs=None if named is None or logits else as_names(named, "load_network: outputs"),
        logits=logits,
        architecture=_read_architecture(architecture),
    )


def _read_architecture(architecture: Any) -> Any:
    if architecture is None or isinstance(architecture, str):
        return architecture
    return list(as_names(architecture, "load_network: architecture"))


def sklearn_link(model: Any) -> str | None:
    """How the classes of a scikit-learn classifier follow from its scores; None where it has none that can be read."""
    link: str | None = importlib.import_module("dcembed.importers.sklearn_").link_of(model)
    return link


def _load_file(path: Path, request: Request) -> Network:
    """Read a file. Whatever a package says of bytes that are not what they should be, the file is what is wrong."""
    adapter = _import_adapter(_match_path(path))
    try:
        # Numbers that overflow or are none are found, and named, when the network is built.
        with np.errstate(all="ignore"):
            network: Network = adapter.load(path, request)
    except DcembedError:
        raise
    except Exception as error:
        raise NetworkError(
            f"{path} cannot be read: {type(error).__name__}: {error}. It is damaged, or not what its name says; write or export it again."
        ) from error
    return network


def _match_path(path: Path) -> Importer:
    suffix = path.suffix.lower()
    # A gzipped file is what its name says before that.
    suffix = Path(path.stem).suffix.lower() + suffix if suffix == ".gz" else suffix
    _refuse_code(path, suffix)
    for importer in IMPORTERS:
        if suffix in importer.suffixes:
            check_file(path)
            return importer
    raise InputError(f"Files with the suffix '{suffix}' are not read: {path}. Accepted are:\n{_list_accepted()}")


def _refuse_code(path: Path, suffix: str) -> None:
    if suffix in PICKLES and not (suffix in TORCHSCRIPT and holds_script(path)):
        raise InputError(
            f"{path} is not opened: '{suffix}' files are usually pickles, and a pickle runs code when it is opened. If you trust it, open it "
            f'yourself and pass the live model to load_network; dcembed.save_network(dcembed.load_network(model), "{path.stem}.npz") keeps it '
            "in a file that is read. Or export the model to ONNX and pass the .onnx file."
        )


def _match_object(model: Any) -> Importer:
    """By the packages that the model's classes come from, so that no framework is imported to find out."""
    packages = {base.__module__.partition(".")[0] for base in type(model).__mro__}
    for importer in IMPORTERS:
        if importer.package in packages:
            return importer
    kind = f"{type(model).__module__}.{type(model).__qualname__}"
    reason = why_not_trees(model)
    if reason is not None:
        raise UnsupportedLayerError(f"A {kind} {reason}.")
    raise InputError(f"An object of type {kind} is not a model that can be read. Accepted are:\n{_list_accepted()}")


def _import_adapter(importer: Importer) -> ModuleType:
    try:
        return importlib.import_module(f"dcembed.importers.{importer.adapter}")
    except ModuleNotFoundError as error:
        if importer.package is None or error.name is None or error.name.partition(".")[0] != importer.package:
            raise
        raise MissingPackageError(
            f'Reading this model needs the package {importer.package}, which is not installed. Run: pip install "dcembed[{importer.package}]"'
        ) from None


def _list_accepted() -> str:
    return "\n".join(f"  {importer.accepts}" for importer in IMPORTERS) + "\n  dcembed: a Network"
