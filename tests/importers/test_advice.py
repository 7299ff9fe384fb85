"""Advice about layers that are refused fits the layer."""

from __future__ import annotations

import pytest

from dcembed.importers.advice import advise


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
        # The name that the user gave is no kind of layer.
        ("layer 1, 'round': Zeta", "Replace what is listed"),
    ],
)
def test_advice(problem, advice):
    assert len(advise([problem, problem])) == 1
    assert advise([problem])[0].startswith(advice)
