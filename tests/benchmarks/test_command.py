"""The command line of the benchmarks."""

from __future__ import annotations

import re

import pytest

from benchmarks.__main__ import main


@pytest.mark.parametrize(
    "arguments", [["run", "qp-width", "--sizes", "wide"], ["run", "water", "pooling", "--sizes", "25"], ["run", "sailing"]]
)
def test_a_wrong_command_is_answered_with_what_is_accepted(arguments, capsys, tmp_path):
    with pytest.raises(SystemExit):
        main([*arguments, "--records", str(tmp_path / "records.csv")])
    assert re.search("WIDTHxDEPTH|name one experiment|qp-width", capsys.readouterr().err)
