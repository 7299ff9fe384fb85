"""How sure: what a result says about the data around its answer."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed.errors import InputError
from dcembed.support.report import NEIGHBOURS, report_support
from support.regions import QUICK, host, make, two_clouds


def reported(x, region, network):
    program, _ = host()
    embedding = dcembed.Embedding(network, [0, 1, 2], [3], support=region)
    return report_support(program, [embedding], np.append(x, network(x)))


def test_distances_and_errors_are_those_of_a_plain_look_at_all_data():
    data = two_clouds()
    _, network = host()
    off = np.random.default_rng(0).normal(size=len(data))
    region = make("hull", data, targets=network(data)[:, 0] + off)
    z = (data - data.mean(axis=0)) / data.std(axis=0)
    for point in (data[7], data.mean(axis=0), data[7] + 9.0 * data.std(axis=0)):
        report = reported(point, region, network)
        distance = np.linalg.norm(z - (point - data.mean(axis=0)) / data.std(axis=0), axis=1)
        nearest = np.argsort(distance)[:NEIGHBOURS]
        assert report.nearest[0] == pytest.approx(distance.min(), abs=1e-9)
        assert report.near[0] == pytest.approx(distance[nearest].mean())
        assert report.error[0] == pytest.approx(np.abs(off[nearest]).mean())
        low, high = data.min(axis=0), data.max(axis=0)
        assert report.outside_box[0] == pytest.approx(np.maximum(np.maximum(low - point, point - high) / data.std(axis=0), 0.0).max())
        assert (report.outside_hull[0] <= 1e-9) == bool(region.contains(point[None])[0])
    inside, _, outside = (reported(p, region, network) for p in (data[7], data.mean(axis=0), data[7] + 9.0 * data.std(axis=0)))
    assert inside.warnings == ()
    assert "outside everything seen" in outside.warnings[0]
    assert outside.is_outside_everything.all()
    assert "inside box, hull and ellipsoid" in str(inside)
    assert "hull by" in str(outside)


def test_what_is_usual_is_what_points_of_the_data_have():
    data = np.arange(100.0)[:, None]
    region = dcembed.support(data, "box", scaler=(np.zeros(1), np.ones(1)))
    identity = dcembed.build_mlp([np.eye(1)], [None])
    program = dcembed.Program(cost=[0.0, 1.0], lb=0.0, ub=99.0)
    report = report_support(program, [dcembed.Embedding(identity, [0], [1], support=region)], np.array([50.2, 50.2]))
    assert report.usual[0] == pytest.approx(3.0)
    assert report.nearest[0] == pytest.approx(0.2)


def test_the_spread_is_that_of_the_members():
    _, network = host()
    rng = np.random.default_rng(1)
    others = [dcembed.build_mlp([rng.normal(size=(4, 3)), rng.normal(size=(1, 4))], [None, None]) for _ in range(4)]
    point = two_clouds()[0]
    report = reported(point, None, dcembed.ensemble([network, *others]))
    values = [member(point)[0] for member in (network, *others)]
    assert report.spread[0] == pytest.approx(np.std(values))
    assert np.isnan(report.near[0])
    assert "members differ by" in str(report)
    assert reported(point, None, network) is None


def test_a_result_has_a_line_a_frame_a_picture_and_a_warning(tmp_path):
    pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    data = two_clouds()
    program, network = host()
    log = tmp_path / "log.txt"
    options = {"verbose": False, "search": "local", "log_file": log}
    for kind, is_out in (("report", True), ("hull", False)):
        result = dcembed.solve(program, dcembed.Embedding(network, [0, 1, 2], [3], support=dcembed.support(data, kind)), options=options)
        line = next(text for text in result.summary().splitlines() if text.startswith("Support"))
        assert ("outside of the data" in line) == is_out
        assert any("outside everything seen" in note for note in result.notes) == is_out
        assert result.to_frame("support").loc["x3", "outside_hull"] == pytest.approx(result.support.outside_hull[0])
        for axes in (None, (0, 2)):
            result.plot(what="support", axes=axes).savefig(tmp_path / "data.png")
        assert (tmp_path / "data.png").stat().st_size > 5_000
    assert "outside everything seen" in log.read_text()
    with pytest.raises(InputError, match="axes are two inputs"):
        result.plot(what="support", axes=["a", "b"])
    with pytest.raises(InputError, match="Accepted: 'run', 'support'"):
        result.plot(what="data")
    plain = dcembed.solve(program, dcembed.Embedding(network, [0, 1, 2], [3]), options=options)
    assert plain.support is None
    assert "Support" not in plain.summary()
    for call in (lambda: plain.to_frame("support"), lambda: plain.plot(what="support")):
        with pytest.raises(InputError, match=r"dcembed.support\(data"):
            call()


def test_a_combination_that_was_never_seen_is_told():
    rng = np.random.default_rng(0)
    data = np.column_stack([rng.normal(size=60), np.eye(3)[rng.integers(0, 2, 60)]])
    region = dcembed.support(data, "report", discrete=[1, 2, 3])
    network = dcembed.build_mlp([np.ones((1, 4))], [None])
    program = dcembed.Program(cost=np.zeros(5), lb=-9.0, ub=9.0)
    for place, is_seen in ((0, True), (2, False)):
        x = np.array([0.0, *np.eye(3)[place], 1.0])
        report = report_support(program, [dcembed.Embedding(network, [0, 1, 2, 3], [4], support=region)], x)
        assert report.is_observed[0] == is_seen
        assert bool(report.warnings) != is_seen
    result = dcembed.solve(program, dcembed.Embedding(network, [0, 1, 2, 3], [4], support=region), options=QUICK)
    assert result.support is not None
