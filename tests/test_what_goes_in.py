"""The page docs/what_goes_in.md says what the handlers do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

for package in ("torch", "onnx", "keras", "sklearn"):
    pytest.importorskip(package)

from dcembed.importers.torch_ import aten  # noqa: E402
from docs.what_goes_in import names, page  # noqa: E402
from docs.what_goes_in.activations import ACTIVATIONS  # noqa: E402
from docs.what_goes_in.refusals import read_refusals  # noqa: E402
from docs.what_goes_in.rows import Row, Section, check_places  # noqa: E402
from docs.what_goes_in.units import find_units, relu_only_methods  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
COMMAND = "python -m docs.what_goes_in"


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_the_page_is_what_the_handlers_say():
    written = (ROOT / "docs" / "what_goes_in.md").read_text().splitlines()
    now = page.write_page().splitlines()
    different = [
        f"  {sign} {line[:200]}"
        for sign, lines, others in (("-", written, now), ("+", now, written))
        for line in lines
        if line not in others
    ]
    assert written == now, "docs/what_goes_in.md is not what the handlers say now. Run: " + COMMAND + "\n" + "\n".join(different)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_handler_without_a_row_is_named(monkeypatch):
    monkeypatch.setitem(aten.OPERATORS, "zeta", lambda builder, value: value)
    with pytest.raises(
        LookupError, match=r"activations\.py, layers\.py, estimators\.py\) do not fit the handlers:\n  torch: zeta has a handler and no row"
    ):
        page.write_page()


def test_rows_that_do_not_fit_are_named():
    sections = (Section("One", (Row("a", torch="relu tanh"), Row("b", torch="relu"))),)
    with pytest.raises(LookupError) as raised:
        check_places(sections, {"torch": {"relu", "sin"}})
    assert str(raised.value).splitlines()[1:] == [
        "  torch: sin has a handler and no row",
        "  torch: tanh has a row and no handler",
        "  torch: relu is in two rows",
    ]


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_nothing_is_accepted_and_refused_at_once():
    known, refused = names.known_names(), read_refusals()
    # Known, and refused where they jump, which their handlers say.
    conditional = {"hard_shrink"}
    both = {name for framework, reasons in refused.items() for listed in reasons.values() for name in listed if name in known[framework]}
    assert both == conditional


def test_the_units_of_activations():
    units = {row.title: find_units(row) for row in ACTIVATIONS.rows}
    assert units["leaky ReLU, one slope or many"] == ["relu"]
    assert units["SiLU (swish)"] == ["silu"]
    assert units["softmax"] == ["exp", "softplus"]
    assert "jumps" in units["hard shrinkage"]
    assert all(isinstance(made_of, list) for title, made_of in units.items() if title != "hard shrinkage")


def test_methods_for_networks_of_relu_units():
    baselines, formulations = relu_only_methods()
    assert {"big-m", "big-m-obbt"} <= set(baselines)
    assert not {"pgd", "attack", "dual-decomposition", "ipopt"} & set(baselines)
    assert formulations == ["shared", "two-path"]


def test_messages_name_the_page():
    named = re.search(r"docs/\w+\.md", aten.ACCEPTED)
    assert named is not None
    assert (ROOT / named[0]).exists()
    heading = re.search(r'the page "([^"]+)"', aten.ACCEPTED)
    assert heading is not None
    assert (ROOT / named[0]).read_text().startswith(f"# {heading[1]}\n")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (["Dropout", "Dropout1d", "Dropout2d"], ["Dropout", "Dropout1d/2d"]),
        (["Conv1DTranspose", "Conv2DTranspose"], ["Conv1D/2DTranspose"]),
        (["relu", "relu6"], ["relu", "relu6"]),
    ],
)
def test_names_that_differ_in_their_dimensions(given, shown):
    assert page._collapse(given) == shown


@pytest.mark.parametrize(("operation", "name"), [("nn.LogSigmoid", "log_sigmoid"), ("nn.RMSNorm", "rms_norm"), ("numpy.Log1p", "log1p")])
def test_names_of_keras_operations(operation, name):
    assert names.keras_function(f"keras.src.ops.{operation}") == name
