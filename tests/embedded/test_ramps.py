"""Sums of many ramps against the sums themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcembed.embedded.ramps import build_ramps, ramp_slopes, ramp_values
from embedded.scenarios import collapsing_from
from strategies import seeds

WEIGHTS, BIAS = np.array([[1.0, 0.0, -0.5], [0.0, 0.0, 0.0], [-2.0, 0.25, 0.0]]), np.array([0.5, -1.0, 0.0])
KINDS = ("normal", "grid", "outliers", "equal", "tiny")


def offsets(kind: str, rng: np.random.Generator, size: int) -> np.ndarray:
    """Normal ones, whole ones with many ties, some that are far away, all the same, and differences that all but vanish."""
    normal = rng.normal(size=(size, 3))
    return {
        "normal": normal,
        "grid": rng.integers(-2, 3, (size, 3)).astype(np.float64),
        "outliers": np.where(rng.random((size, 1)) < 0.05, 1e6 * normal, normal),
        "equal": np.tile(normal[0], (size, 1)),
        "tiny": normal * 1e-310,
    }[kind]


@given(st.sampled_from(KINDS), seeds())
def test_values_and_slopes_are_those_of_the_sums(kind, seed):
    rng = np.random.default_rng(seed)
    edges = np.array([0, 40, 300])
    offset, scale = offsets(kind, rng, 300), rng.uniform(0.1, 1.0, 300)
    with collapsing_from(1):
        ramps = build_ramps(WEIGHTS, BIAS, offset, scale, edges)
    c = offset @ WEIGHTS.T + BIAS
    # Points anywhere, beyond all kinks, and exactly on some.
    t = np.stack([rng.normal(size=(2, 3)), np.full((2, 3), 1e9), np.full((2, 3), -1e9), -c[[0, 50]], -c[[30, 299]]])
    for group, terms in enumerate((slice(0, 40), slice(40, 300))):
        at = t[:, None, group] + c[terms]
        value, above, on = (np.einsum("t,ptj->pj", scale[terms], part) for part in (np.maximum(at, 0.0), at > 1e-7, at >= -1e-7))
        size = 1.0 + np.abs(at).max()
        assert np.allclose(ramp_values(ramps, t)[:, group], value, rtol=1e-9, atol=1e-12 * size)
        assert np.allclose(ramp_slopes(ramps, t, 1e-7)[:, group], above, rtol=1e-9)
        assert np.allclose(ramp_slopes(ramps, t, -1e-7, is_strict=False)[:, group], on, rtol=1e-9)


def test_without_end_values_are_infinite_or_zero():
    ramps = build_ramps(np.ones((1, 1)), np.zeros(1), np.arange(100.0)[:, None], np.ones(100), np.array([0, 100]))
    assert ramp_values(ramps, np.array([[[np.inf]], [[-np.inf]]])).tolist() == [[[np.inf]], [[0.0]]]


@pytest.mark.parametrize("size", [1000, 100_000])
def test_a_value_looks_at_few_ramps_however_many_there_are(size):
    rng = np.random.default_rng(0)
    ramps = build_ramps(np.ones((1, 1)), np.zeros(1), rng.normal(size=(size, 1)), np.ones(size), np.array([0, size]))
    assert np.diff(ramps.begin).max() <= 1000
    assert ramps.order.dtype == np.int32
