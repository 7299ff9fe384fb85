"""`solve(prove=...)` and `prove`: gaps that close, time and Ctrl-C that are heard, the same bounds for the same seed."""

import itertools
import threading

import numpy as np
import pytest

import dcembed
from dcembed import Embedding, Indicator, Options, Program, Status
from dcembed.bounds import certify as certify_module
from dcembed.run.journal import Journal


def _network(seed, num_inputs=2, width=6, activation="relu"):
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=(width, num_inputs)), rng.normal(size=(width, width)) / 2, rng.normal(size=(1, width))]
    return dcembed.build_mlp(weights, [rng.normal(size=width), rng.normal(size=width), None], activation)


def _problem(seed=0, activation="relu", integer=(), maximize=False):
    program = Program(
        cost=[0.3, -0.2, 1.0],
        rows=[[1.0, 1.0, 0.0]],
        row_ub=1.5,
        lb=[-2.0, -2.0, -np.inf],
        ub=[2.0, 2.0, np.inf],
        integer=list(integer),
        maximize=maximize,
    )
    return program, Embedding(_network(seed, activation=activation), [0, 1], [2])


def _best_on_grid(program, embedding, integer=()):
    axes = [np.arange(-2.0, 2.5) if column in integer else np.linspace(-2, 2, 401) for column in range(2)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    points = points[points.sum(axis=1) <= 1.5]
    values = points @ program.cost[:2] + embedding.network(points)[:, 0]
    return values.max() if program.maximize else values.min()


@pytest.mark.parametrize("activation", ["relu", "tanh", "gelu"])
@pytest.mark.parametrize("integer", [(), (0,), (0, 1)])
@pytest.mark.parametrize("maximize", [False, True])
def test_small_problems_are_proved(activation, integer, maximize):
    program, embedding = _problem(3, activation, integer, maximize)
    result = dcembed.solve(program, embedding, options=Options(prove=True, time_limit=60, verbose=False))
    assert result.status is Status.OPTIMAL
    assert result.gap <= 1e-4
    best = _best_on_grid(program, embedding, integer)
    assert program.sense * result.bound <= program.sense * best + 1e-7 * max(1.0, abs(best))
    assert result.bounds[-1][1] == result.bound
    assert all(program.sense * (later - earlier) > 0 for (_, earlier), (_, later) in zip(result.bounds, result.bounds[1:], strict=False))


def test_without_prove_nothing_is_known():
    program, embedding = _problem()
    result = dcembed.solve(program, embedding, options=Options(verbose=False))
    assert (result.bound, result.gap, result.bounds) == (-np.inf, np.inf, [])
    assert result.agreement >= 1


def test_a_proof_goes_on_from_a_result(monkeypatch):
    program, embedding = _problem(5, "tanh")
    with monkeypatch.context() as patch:
        patch.setattr(certify_module, "branch", lambda here, root: iter([root.bound]))
        patch.setattr(certify_module, "cut_hull", lambda *arguments: iter([]))
        first = dcembed.solve(program, embedding, options=Options(prove=True, verbose=False))
    assert first.status is Status.LOCALLY_SOLVED
    assert np.isfinite(first.bound)
    assert first.gap > 1e-4
    second = dcembed.prove(program, embedding, point=first, time_limit=60, options={"verbose": False})
    assert second.status is Status.OPTIMAL
    assert second.bounds[0][1] == first.bound
    assert second.objective <= first.objective + 1e-9


def test_the_bound_of_another_problem_is_not_taken_over():
    program, embedding = _problem(5)
    known = dcembed.solve(program, embedding, options=Options(prove=True, verbose=False))
    other = dcembed.Program(cost=program.cost + 0.01, lb=program.lb, ub=program.ub, rows=program.rows, row_ub=program.row_ub)
    proved = dcembed.prove(other, embedding, point=known, time_limit=0.0, options={"verbose": False})
    assert proved.bound == -np.inf
    assert proved.is_feasible


def test_the_bound_of_an_equal_problem_from_a_file_is_taken_over(tmp_path):
    program, embedding = _problem(5)
    known = dcembed.solve(program, embedding, options=Options(prove=True, verbose=False))
    known.save(tmp_path / "known.npz")
    equal, _ = _problem(5)
    for point in (known, dcembed.load_result(tmp_path / "known.npz")):
        proved = dcembed.prove(equal, embedding, point=point, time_limit=0.0, options={"verbose": False})
        assert proved.bound == known.bound
        assert proved.objective == known.objective


def test_a_bad_point_is_improved():
    program, embedding = _problem(7, "tanh")
    corner = np.array([-2.0, -2.0, 0.0])
    corner[2] = embedding.network(corner[None, :2])[0, 0]
    proved = dcembed.prove(program, embedding, point=corner, time_limit=60, options={"verbose": False})
    assert proved.status is Status.OPTIMAL
    assert proved.objective < program.objective(corner) - 1e-3


def test_proved_infeasible():
    program, embedding = _problem(1, "tanh")
    rows = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    hopeless = Program(cost=program.cost, rows=rows, row_lb=[-np.inf, 1e3], lb=program.lb, ub=program.ub)
    result = dcembed.prove(hopeless, embedding, time_limit=60, options={"verbose": False})
    assert result.status is Status.INFEASIBLE
    assert (result.bound, result.gap, result.x) == (np.inf, np.inf, None)


def test_stop_keeps_point_and_bound():
    program, embedding = _problem(2, "tanh")
    stop, certify = threading.Event(), Journal.certify

    def hear(self, bound, message=""):
        certify(self, bound, message)
        if np.isfinite(self.bound):
            stop.set()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Journal, "certify", hear)
        patch.setattr("dcembed.engine.search.loop.ATTEMPTED", -1)
        result = dcembed.solve(program, embedding, options=Options(prove=True, stop=stop, verbose=False))
    assert result.status is Status.INTERRUPTED
    assert result.is_feasible
    assert np.isfinite(result.bound)
    assert len(result.bounds) == 1


@pytest.mark.parametrize("limit", [0.0, 0.3])
def test_the_time_limit_is_heard(limit):
    """Hundreds of inputs in wide boxes: the proof could go on for years."""
    network = _network(0, num_inputs=40, width=60)
    program = Program(cost=np.concatenate([np.full(40, 1e-3), [1.0]]), lb=[-3.0] * 40 + [-np.inf], ub=[3.0] * 40 + [np.inf])
    embedding = Embedding(network, np.arange(40), [40])
    result = dcembed.solve(program, embedding, options=Options(prove=True, time_limit=limit, verbose=False))
    assert result.seconds < limit + 10
    assert result.gap > 0


def test_the_same_seed_gives_the_same_bounds():
    program, embedding = _problem(4, "gelu", (0,))
    options = Options(prove=True, verbose=False, seed=3)
    first, second = (dcembed.solve(program, embedding, options=options) for _ in range(2))
    assert [bound for _, bound in first.bounds] == [bound for _, bound in second.bounds]
    assert first.objective == second.objective


def test_auto_is_enough_for_a_small_problem():
    program, embedding = _problem(6)
    result = dcembed.solve(program, embedding, options=Options(prove="auto", verbose=False))
    assert result.status is Status.OPTIMAL


def test_networks_behind_indicators_are_proved():
    network = _network(8, activation="tanh")
    # Whoever takes the prize of 1 keeps the prediction below 0.
    program = Program(
        cost=[0.5, 0.2, 0.0, -1.0],
        lb=[0.0, 0.0, -np.inf, 0.0],
        ub=[2.0, 2.0, np.inf, 1.0],
        integer=[3],
        indicators=[Indicator(3, 1, [0.0, 0.0, 1.0, 0.0], ub=-0.1)],
    )
    result = dcembed.solve(program, Embedding(network, [0, 1], [2]), options=Options(prove=True, time_limit=60, verbose=False))
    assert result.status is Status.OPTIMAL
    axis = np.linspace(0, 2, 401)
    points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    kept = points[network(points)[:, 0] <= -0.1]
    best = min(0.0, (kept @ [0.5, 0.2]).min(initial=np.inf) - 1.0)
    assert result.bound <= best + 1e-7
    assert result.objective == pytest.approx(best, abs=0.01)


def test_nothing_is_split_once_a_solver_has_closed_the_gap(monkeypatch):
    program, embedding = _problem(3)

    def close(journal, budget, max_open, nodes):
        journal.certify(journal.incumbent.point.objective)
        return True

    def split(here, root):
        raise AssertionError("The gap is closed.")

    monkeypatch.setattr("dcembed.engine.solve.attempt", lambda *arguments: None)
    monkeypatch.setattr(certify_module, "cut_hull", lambda *arguments: iter([]))
    monkeypatch.setattr(certify_module, "prove_exactly", close)
    monkeypatch.setattr(certify_module, "branch", split)
    assert dcembed.solve(program, embedding, options=Options(prove=True, verbose=False)).status is Status.OPTIMAL


def test_starts_that_agree_make_room_for_the_proof(monkeypatch):
    monkeypatch.setattr("dcembed.engine.solve.attempt", lambda *arguments: None)
    monkeypatch.setattr("dcembed.engine.solve.certify", lambda *arguments: None)
    network = dcembed.build_mlp([[[1.0, 0.5], [0.5, 1.0]], [[1.0, 1.0]]], [None, None])
    program = Program([-1.0, -1.5, 1.0], lb=[-1.0, -1.0, -9.0], ub=[1.0, 1.0, 9.0])
    proving, searching = (
        dcembed.solve(program, Embedding(network, [0, 1], [2]), options=Options(prove=prove, verbose=False, time_limit=600.0))
        for prove in (True, False)
    )
    assert "8 starts in a row ended within 0.1%" in proving.reason
    assert 8 <= proving.num_starts < searching.num_starts
    assert proving.objective == pytest.approx(searching.objective)


def _deep_box():
    """The least of a deep network over a box and nothing else, with far too many units for an encoding to be first."""
    rng = np.random.default_rng(4)
    sizes = [3, 24, 24, 24, 1]
    weights = [1.5 * rng.normal(size=(b, a)) / np.sqrt(a) for a, b in itertools.pairwise(sizes)]
    network = dcembed.build_mlp(weights, [0.5 * rng.normal(size=len(weight)) for weight in weights])
    return Program([0.0, 0.0, 0.0, 1.0], lb=[-1.0, -1.0, -1.0, -np.inf], ub=[1.0, 1.0, 1.0, np.inf]), Embedding(network, [0, 1, 2], [3])


def test_cuts_of_a_single_evaluation_come_before_its_encoding(monkeypatch):
    def encode(*arguments):
        raise AssertionError("Cuts close the gap sooner.")

    monkeypatch.setattr(certify_module, "prove_exactly", encode)
    result = dcembed.solve(*_deep_box(), options=Options(prove=True, verbose=False))
    assert result.status is Status.OPTIMAL
    assert dcembed.prove(*_deep_box(), point=result.x, options=Options(verbose=False)).status is Status.OPTIMAL


def test_a_proof_goes_on_with_the_boxes_of_its_attempt(monkeypatch):
    found, certify = [], certify_module.certify
    # Just enough for the attempt to begin.
    monkeypatch.setattr(certify_module, "ATTEMPT_WORK", 1e6)
    monkeypatch.setattr(
        "dcembed.engine.solve.certify",
        lambda journal, box, solver, clock, covers, *rest: (
            found.append(covers.num_boxes) or certify(journal, box, solver, clock, covers, *rest)
        ),
    )
    assert dcembed.solve(*_deep_box(), options=Options(prove=True, verbose=False)).status is Status.OPTIMAL
    assert found
    assert found[0] > 200


def test_cuts_offer_the_points_that_their_covers_meet(monkeypatch):
    # The search ends where it begins: only the proof can find better points.
    monkeypatch.setattr(certify_module, "branch", lambda here, root: iter([]))
    monkeypatch.setattr(certify_module, "prove_exactly", lambda *arguments: False)
    program, embedding = _deep_box()
    result = dcembed.prove(program, embedding, point=np.zeros(4), options=Options(verbose=False))
    assert result.status is Status.OPTIMAL
    points = np.random.default_rng(0).uniform(-1, 1, (100_000, 3))
    assert result.objective <= embedding.network(points).min() + 1e-4 * abs(result.objective)


def test_the_point_that_closes_a_gap_is_settled():
    program, embedding = _deep_box()
    result = dcembed.prove(program, embedding, point=np.zeros(4), options=Options(gap_tol=0.05, verbose=False))
    assert result.status is Status.OPTIMAL
    assert result.origins[-1] == "proof"
    again = dcembed.solve(program, embedding, start=result, options=Options(search="local", verbose=False))
    assert again.objective >= result.objective - 1e-6 * abs(result.objective)
