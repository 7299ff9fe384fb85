"""What holds for every kind: the data is inside, far points are outside, and rows and cones say the same as the distance."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed.embedded.lift import unlifted
from dcembed.errors import InputError
from dcembed.solvers import Limits, SessionOptions, SolveStatus, choose_backend
from dcembed.support.lifting import lift_supports
from support.regions import KINDS, QUICK, host, make, score_network, two_clouds

for_every_kind = pytest.mark.parametrize("name", KINDS)


@for_every_kind
def test_all_data_are_inside_and_far_points_are_not(name):
    data = two_clouds()
    region = make(name, data)
    assert region.excess(data).max() <= 1e-9
    far = data.mean(axis=0) + data.std(axis=0) * np.random.default_rng(1).normal(size=(50, 3)) * 40.0
    away = np.linalg.norm((far - data.mean(axis=0)) / data.std(axis=0), axis=1) > 20.0
    assert away.sum() > 20
    assert not region.contains(far[away]).any()


@for_every_kind
@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_the_share_that_was_asked_for_is_inside(name, coverage):
    data = two_clouds(400)
    share = make(name, data, coverage=coverage).contains(data).mean()
    assert coverage <= share + 1e-12
    # A hull has points of those left out inside, too; none keeps all of them.
    assert share < 1.0


def least_slack(region: dcembed.Support, point: np.ndarray) -> float:
    """The cheapest value of the lifted problem with the inputs held at a point, by a solver that knows nothing of the region."""
    program = dcembed.Program(cost=np.zeros(4), lb=[*point, 0.0], ub=[*point, 0.0])
    constant = dcembed.build_mlp([np.zeros((1, 3))], [None])
    lift = lift_supports(unlifted(program, [dcembed.Embedding(constant, [0, 1, 2], [3], support=region)]))
    session = choose_backend(lift.program.problem_class).open(lift.program, SessionOptions())
    try:
        solution = session.solve(Limits(gap=1e-9))
    finally:
        session.close()
    assert solution.status is SolveStatus.OPTIMAL
    return lift.program.objective(solution.x)


@pytest.mark.parametrize("name", [name for name in KINDS if name != "network"])
def test_the_rows_of_a_soft_region_cost_the_distance(name):
    data = two_clouds()
    region, rng = make(name, data, weight=1.0), np.random.default_rng(3)
    scale = data.std(axis=0)
    # Of clusters, an integer that is off by a solver's tolerance buys a little.
    for reach in (0.5, 1.5, 4.0):
        point = data[rng.integers(len(data))] + reach * scale * rng.normal(size=3)
        assert least_slack(region, point) == pytest.approx(region.excess(point[None])[0], abs=2e-3 if name == "clusters" else 2e-5)


@for_every_kind
@pytest.mark.parametrize("is_soft", [False, True])
def test_a_completed_point_holds_wherever_the_region_does(name, is_soft):
    data = two_clouds()
    region = make(name, data, weight=2.0 if is_soft else None)
    program, network = host()
    lift = lift_supports(unlifted(program, [dcembed.Embedding(network, [0, 1, 2], [3], support=region)]))
    rng = np.random.default_rng(4)
    for point in (data[3], data.mean(axis=0), data[5] + data.std(axis=0) * rng.normal(size=3)):
        x = lift.complete(np.append(point, network(point)))
        measured = dcembed.verify(lift.program, list(lift.embeddings), x)
        distance = region.excess(point[None])[0]
        if is_soft:
            assert measured.violation <= 1e-7
            assert lift.program.objective(x) == pytest.approx(network(point)[0] - 2.0 * distance, abs=1e-7)
        else:
            assert (measured.violation <= 1e-7) == (distance <= 1e-7)
        assert np.array_equal(lift.cut(x), np.append(point, network(point)))


@for_every_kind
@pytest.mark.parametrize("maximize", [True, False])
def test_an_answer_is_inside_and_no_better_one_is_among_the_data(name, maximize):
    data = two_clouds()
    region = make(name, data)
    program, network = host(maximize=maximize)
    result = dcembed.solve(program, dcembed.Embedding(network, [0, 1, 2], [3], support=region), options=QUICK)
    assert result.is_feasible
    assert region.contains(result.x[None, :3], 1e-5).all()
    assert result.verify().support <= 1e-5
    assert result.x.size == 4
    best = network(data).max() if maximize else network(data).min()
    assert program.sense * result.objective <= program.sense * best + 1e-6
    free = dcembed.solve(program, dcembed.Embedding(network, [0, 1, 2], [3]), options=QUICK)
    assert program.sense * free.objective <= program.sense * result.objective + 1e-6


def test_a_price_is_in_the_objective_and_grows_with_the_weight():
    data = two_clouds()
    program, network = host()
    distances, objectives = [], []
    for weight in (0.01, 1.0, 1e4):
        region = make("hull", data, weight=weight)
        result = dcembed.solve(program, dcembed.Embedding(network, [0, 1, 2], [3], support=region), options=QUICK)
        distance = region.excess(result.x[None, :3])[0]
        assert result.is_feasible
        assert result.objective == pytest.approx(network(result.x[:3])[0] - weight * distance, abs=1e-6)
        assert result.incumbents[-1][1] == pytest.approx(result.objective, abs=1e-5)
        distances.append(distance)
        objectives.append(result.objective)
    assert distances[0] > 1.0
    assert distances[-1] <= 1e-6
    assert objectives == sorted(objectives, reverse=True)


def test_a_region_that_only_reports_changes_nothing():
    program, network = host()
    region = dcembed.support(two_clouds(), "report")
    with_data = dcembed.solve(program, dcembed.Embedding(network, [0, 1, 2], [3], support=region), options=QUICK)
    without = dcembed.solve(program, dcembed.Embedding(network, [0, 1, 2], [3]), options=QUICK)
    assert np.array_equal(with_data.x, without.x)
    assert with_data.sizes == without.sizes


def test_several_evaluations_and_affine_inputs_each_belong_into_the_region():
    data = two_clouds()
    _, network = host()
    matrix = np.zeros((6, 5))
    matrix[[0, 1, 2], [0, 1, 2]] = matrix[[3, 4], [0, 1]] = 1.0
    inputs = dcembed.AffineInputs(matrix, [[0.0, 0.0, 0.0], [1.0, -5.0, 0.05]])
    program = dcembed.Program(
        cost=[0.0, 0.0, 0.0, 1.0, 1.0], lb=[-40, -900, -4, -np.inf, -np.inf], ub=[40, 900, 4, np.inf, np.inf], maximize=True
    )
    for name in ("hull", "ellipsoid", "clusters of boxes"):
        region = make(name, data)
        result = dcembed.solve(program, dcembed.Embedding(network, inputs, [[3], [4]], support=region), options=QUICK)
        x = result.x
        assert result.is_feasible
        assert region.contains([[x[0], x[1], x[2]], [x[0] + 1.0, x[1] - 5.0, 0.05]], 1e-5).all()


def test_bounds_are_of_the_problem_with_its_region():
    data = two_clouds()
    program, network = host()
    region = make("hull", data)
    result = dcembed.solve(
        program, dcembed.Embedding(network, [0, 1, 2], [3], support=region), options={"verbose": False, "time_limit": 20, "prove": "auto"}
    )
    free = dcembed.solve(program, dcembed.Embedding(network, [0, 1, 2], [3]), options=QUICK)
    assert result.objective <= result.bound + 1e-6
    assert result.bound < free.objective
    assert result.gap < 0.5


def test_workers_checkpoints_results_and_compiled_problems_have_the_users_columns(tmp_path):
    data = two_clouds()
    program, network = host()
    embedding = dcembed.Embedding(network, [0, 1, 2], [3], support=make("hull", data))
    seen = []
    path = tmp_path / "run.npz"
    options = {
        "verbose": False,
        "checkpoint": path,
        "callback": lambda record: seen.append(record.point),
        "search": "converge",
        "max_starts": 2,
    }
    result = dcembed.solve(program, embedding, options=options)
    assert all(point is None or point.size == 4 for point in [*seen, *result.incumbent_points])
    again = dcembed.load_result(path)
    assert again.objective == result.objective
    assert again.embeddings[0].support.label == embedding.support.label
    further = dcembed.solve(program, embedding, start=[again, result.x], options={"verbose": False, "search": "local"})
    assert further.objective >= result.objective
    with dcembed.compile(program, embedding, {"verbose": False, "search": "local"}) as problem:
        first = problem.solve(start=result)
        narrow = problem.solve(ub=[4.0, 900.0, 4.0, np.inf], start=result)
    assert first.objective >= result.objective - 1e-9
    assert narrow.is_feasible
    assert narrow.x[0] <= 4.0 + 1e-6
    assert embedding.support.contains(narrow.x[None, :3], 1e-5).all()


def test_baselines_mind_the_region_too():
    from dcembed.baselines import BASELINES

    data = two_clouds()
    program, network = host()
    region = make("box", data)
    result = BASELINES["big-m"](
        program, dcembed.Embedding(network, [0, 1, 2], [3], support=region), options={"verbose": False, "time_limit": 20}
    )
    assert result.is_feasible
    assert result.x.size == 4
    assert region.contains(result.x[None, :3], 1e-5).all()


def test_the_point_is_measured_without_the_solver():
    data = two_clouds()
    program, network = host()
    region = make("hull", data)
    outside = data.max(axis=0) + data.std(axis=0)
    x = np.append(outside, network(outside))
    measured = dcembed.verify(program, dcembed.Embedding(network, [0, 1, 2], [3], support=region), x)
    assert measured.support == pytest.approx(region.excess(outside[None])[0])
    assert measured.violation == measured.support
    assert "hull of the data" in str(measured.worst[0])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"kind": "ball"}, "kind='ball' is not known. Accepted: 'box', 'hull'"),
        ({"kind": "clusters"}, "support(data, 'clusters', clusters=3)"),
        ({"kind": "clusters", "clusters": 0}, "clusters=0 is not accepted"),
        ({"kind": "clusters", "clusters": 2, "shape": "ball"}, "shape='ball' is not known"),
        ({"kind": "box", "coverage": 0.0}, "coverage"),
        ({"kind": "box", "coverage": 1.5}, "coverage"),
        ({"kind": "box", "weight": -1.0}, "weight=-1.0 is not accepted"),
        ({"kind": "report", "weight": 1.0}, "kind='report' restricts nothing"),
        ({"kind": "network"}, "needs network="),
        ({"kind": "hull", "network": "x"}, "network is for kind='network'"),
        ({"kind": "hull", "points": 1}, "points=1 is not accepted"),
        ({"kind": "hull", "targets": [1.0]}, "targets have shape (1,), but the data has 120 rows"),
        ({"kind": "network", "network": dcembed.build_mlp([np.ones((1, 2))], [None])}, "3 inputs, as the data has columns"),
    ],
)
def test_mistakes_are_named(arguments, words):
    with pytest.raises(InputError) as error:
        dcembed.support(two_clouds(), **arguments)
    assert words in str(error.value)


def test_a_region_that_does_not_fit_the_network_is_refused():
    _, network = host()
    with pytest.raises(InputError, match="2 columns, but the network has 3 inputs"):
        dcembed.Embedding(network, [0, 1, 2], [3], support=dcembed.support(two_clouds()[:, :2], "box"))
    with pytest.raises(InputError, match=r"a region made by dcembed.support"):
        dcembed.Embedding(network, [0, 1, 2], [3], support="hull")
    with pytest.raises(InputError, match=r"expected \(k, 3\)"):
        dcembed.support(two_clouds(), "box").contains([[1.0, 2.0]])


def test_the_threshold_of_a_score_is_what_was_given():
    data = two_clouds()
    region = dcembed.support(data, "network", network=score_network(data), threshold=-2.0)
    values = score_network(data)(data)[:, 0]
    assert np.array_equal(region.contains(data), values >= -2.0 - 1e-9)
