"""What is saved comes back: every part of a host, every kind of network, every field of a result."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

import dcembed
from dcembed import AffineInputs, ConeConstraint, Embedding, Indicator, Iteration, Program, QuadraticConstraint, Result, Status
from dcembed.errors import InputError
from dcembed.network.activations import ACTIVATIONS, RELU, Activation, find_activation
from dcembed.network.affine import Affine
from dcembed.network.network import Network
from dcembed.program.derive import keep_columns
from dcembed.saving.problem import fingerprint, is_same_problem
from problems import box_problem, level_problem, quiet, random_mlp
from test_every_field import PARTS
from test_every_field import problem as part_problem

PARAMETERS = {"power": (2.0,)}


def saved(result: Result, folder) -> Result:
    result.save(folder / "result.npz")
    return dcembed.load_result(folder / "result.npz")


def same(one: object, other: object) -> bool:
    """Whether two values are the same down to every number, whatever they are made of."""
    if type(one) is not type(other) and not (isinstance(one, list | tuple) and isinstance(other, list | tuple)):
        return False
    if dataclasses.is_dataclass(one) and not isinstance(one, Activation):
        return all(same(getattr(one, field.name), getattr(other, field.name)) for field in dataclasses.fields(one))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if sp.issparse(one):
        return one.shape == other.shape and (one != other).nnz == 0
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return one == other or (one != one and other != other)


def solved(program: Program, embeddings, **changes) -> Result:
    return dcembed.solve(program, embeddings, options=quiet(**changes))


@pytest.mark.parametrize("part", PARTS)
def test_every_part_of_a_host_comes_back(tmp_path, part):
    program, embedding = part_problem(part)
    result = solved(program, embedding)
    again = saved(result, tmp_path)
    assert same(again.program, program)
    assert same(again.embeddings[0], embedding)
    assert same(again, result)
    assert again.is_feasible
    assert again.verify() == result.verify()


def everything() -> Program:
    """A program with all fields filled."""
    n = 5
    return Program(
        cost=np.arange(n) - 2.0,
        quadratic=-np.diag([1.0, 2.0, 0.0, 0.0, 0.0]),
        concave=-np.diag([0.5, 0.0, 0.0, 0.0, 0.0]),
        offset=3.25,
        rows=sp.random_array((3, n), density=0.6, rng=np.random.default_rng(0)),
        row_lb=[-np.inf, 0.0, -1.0],
        row_ub=[1.0, np.inf, 1.0],
        lb=[-1, -1, 0, 0, -np.inf],
        ub=[1, 1, 1, 1, np.inf],
        integer=[2, 3],
        indicators=[Indicator(2, 1, np.eye(n)[0], ub=0.5, name="on"), Indicator(3, 0, np.ones(n), lb=-9.0)],
        quadratic_constraints=[
            QuadraticConstraint(np.eye(n), np.ones(n), 40.0, "ball"),
            QuadraticConstraint(np.diag([0, 1.0, 0, 0, 0]), ub=9.0),
        ],
        cones=[
            ConeConstraint(np.eye(n)[:4], [9.0, 0.0, 9.0, 0.0], sizes=[2, 2], names=["c", "größe"]),
            ConeConstraint(np.eye(n)[:3], [9.0, 0, 0]),
        ],
        maximize=True,
        column_names=["a", "b", "", "z ö", "y\u2028"],
        row_names=["r", "s", "t"],
    )


def test_all_fields_of_a_program_come_back_together(tmp_path):
    program, embedding = everything(), Embedding(random_mlp(0, (2, 4, 1)), [0, 1], [4])
    again = saved(solved(program, embedding, time_limit=0.0), tmp_path)
    assert same(again.program, program)
    assert fingerprint(again.program, again.embeddings) == fingerprint(program, [embedding])
    part = keep_columns(Program(cost=np.ones(4), lb=0, ub=1), np.array([0, 2, 3]))
    again = saved(solved(part, Embedding(random_mlp(0, (2, 4, 1)), [0, 1], [2])), tmp_path)
    assert same(again.program, part)
    assert again.program.column_label(1) == part.column_label(1) == "column 2"


@pytest.mark.parametrize("name", [*ACTIVATIONS])
def test_every_activation_comes_back(tmp_path, name):
    activation = find_activation(name, PARAMETERS.get(name, ()))
    network = dcembed.build_mlp([np.ones((3, 2)), np.ones((1, 3))], [np.full(3, 0.1), None], activation)
    program, embedding = Program(cost=[1.0, 1.0, 1.0], lb=0.2, ub=[1, 1, np.inf]), Embedding(network, [0, 1], [2])
    again = saved(solved(program, embedding, time_limit=0.0), tmp_path)
    assert same(again.embeddings[0].network, network)


def odd_networks() -> dict[str, Network]:
    rng = np.random.default_rng(2)
    sparse = sp.csr_array(np.where(rng.random((40, 30)) < 0.05, 1.5, 0.0))
    skip = Network(
        2,
        (Affine({0: rng.normal(size=(3, 2))}, rng.normal(size=3)), Affine({1: rng.normal(size=(2, 3)), 0: np.eye(2)}, np.zeros(2))),
        Affine({2: np.ones((1, 2)), 0: np.ones((1, 2)), 1: np.ones((1, 3))}, [0.5]),
        ("price", "season"),
        (RELU, find_activation("tanh", ())),
    )
    return {
        "skips, names and two activations": skip,
        "sparse blocks": Network(30, (Affine({0: sparse}, np.zeros(40)),), Affine({1: np.ones((1, 40))}, [0.0])),
        "no units": dcembed.build_mlp([np.ones((2, 3))], [None]),
        "several outputs": random_mlp(1, (3, 5, 4, 3)),
    }


@pytest.mark.parametrize("kind", odd_networks())
def test_every_kind_of_network_comes_back(tmp_path, kind):
    network = odd_networks()[kind]
    n = network.num_inputs + network.num_outputs
    program = Program(cost=np.ones(n), lb=np.where(np.arange(n) < network.num_inputs, -1.0, -np.inf), ub=9.0)
    embedding = Embedding(network, np.arange(network.num_inputs), np.arange(network.num_inputs, n))
    again = saved(solved(program, embedding, time_limit=0.0), tmp_path)
    assert same(again.embeddings[0].network, network)


def test_embeddings_of_all_kinds_come_back_and_share_their_networks(tmp_path):
    one, two = random_mlp(0, (2, 4, 1)), random_mlp(1, (1, 3, 2))
    rows = np.eye(12)[:2] * 0.5
    embeddings = [
        Embedding(one, [[0, 1], [1, 2]], [[6], [7]]),
        Embedding(one, AffineInputs(rows, [[0.0, 0.1], [0.2, 0.3], [0.4, 0.5]]), [[8], [9], [10]]),
        Embedding(two, AffineInputs(np.eye(12)[[3]] - np.eye(12)[[0]]), [[4, 5]]),
        Embedding(one, [3, 3], [11]),
    ]
    program = Program(cost=np.ones(12), lb=[-1.0] * 4 + [-np.inf] * 8, ub=[1.0] * 4 + [np.inf] * 8)
    result = solved(program, embeddings, max_iterations=3)
    again = saved(result, tmp_path)
    assert same(list(again.embeddings), embeddings)
    assert again.embeddings[1].inputs.is_shared
    assert again.embeddings[0].network is again.embeddings[1].network is again.embeddings[3].network
    assert again.objective == pytest.approx(result.objective, rel=1e-12)
    assert is_same_problem((program, embeddings), (again.program, again.embeddings))


REGIONS = {
    "box": {},
    "hull": {"points": 8, "targets": True},
    "ellipsoid": {"coverage": 0.9, "weight": 0.3},
    "clusters": {"clusters": 2, "shape": "box", "seed": 3},
    "network": {"network": random_mlp(5, (2, 3, 1)), "threshold": -9.0},
    "report": {"scaler": ([0.0, 1.0], [2.0, 3.0])},
}


@pytest.mark.parametrize("kind", REGIONS)
def test_every_kind_of_region_comes_back(tmp_path, kind):
    rng = np.random.default_rng(1)
    data, chosen = rng.normal(size=(30, 2)) * 0.3, dict(REGIONS[kind])
    if chosen.pop("targets", False):
        chosen["targets"] = data[:, :1]
    region = dcembed.support(data, kind, **chosen)
    program = Program([1.0, -1.0, 0.5, 0.5], lb=[-1, -1, -np.inf, -np.inf], ub=[1, 1, np.inf, np.inf])
    network = random_mlp(2, (2, 4, 1))
    embeddings = [Embedding(network, [0, 1], [2], region), Embedding(network, AffineInputs(np.eye(4)[:2]), [3], region)]
    result = solved(program, embeddings)
    again = saved(result, tmp_path)
    regions = [embedding.support for embedding in again.embeddings]
    assert regions[0] is regions[1]
    points = rng.normal(size=(50, 2))
    assert np.array_equal(regions[0].excess(points), region.excess(points))
    assert (regions[0].weight, regions[0].label, regions[0].kind) == (region.weight, region.label, region.kind)
    assert same(regions[0].targets, region.targets)
    assert again.verify() == result.verify()
    # The same numbers are the same problem, which it is not without its regions or with another one.
    assert is_same_problem((program, embeddings), (again.program, again.embeddings))
    other = dcembed.support(2.0 * data, kind, **chosen)
    for changed in (None, other):
        assert not is_same_problem((program, embeddings), (program, [embedding.with_support(changed) for embedding in embeddings]))


def test_every_field_of_a_result_comes_back(tmp_path):
    program, embedding = level_problem(17)
    result = solved(program, embedding, max_starts=2, gap_tol=1e-3)
    # Nothing may be empty, or it would be seen by nobody.
    words = {"notes": ("one", "zwei ö"), "reason": "because"}
    full = dataclasses.replace(result, **words, preparation_seconds=0.5, bound=-9.0, bounds=[(0.25, -np.inf), (0.5, -9.0)])
    assert all(getattr(full, field.name) is not None for field in dataclasses.fields(full))
    assert full.history
    assert full.incumbents
    assert full.bounds
    again = saved(full, tmp_path)
    for field in dataclasses.fields(Result):
        assert same(getattr(again, field.name), getattr(full, field.name)), field.name
    for field in dataclasses.fields(Iteration):
        assert same([getattr(r, field.name) for r in again.history], [getattr(r, field.name) for r in full.history]), field.name
    assert again.summary() == full.summary()
    # Points that are there many times are in the file once.
    assert again.history[-1].point is again.incumbent_points[-1] is again.x


def test_a_result_without_a_point_comes_back(tmp_path):
    program, embedding = level_problem(9)
    result = dcembed.solve(program, embedding, options=quiet(time_limit=0.0))
    bare = dataclasses.replace(result, x=None, objective=np.nan, violation=np.inf, is_feasible=False, incumbents=[], incumbent_points=[])
    again = saved(bare, tmp_path)
    assert same(again, bare)
    assert again.gap == np.inf


def test_names_do_not_make_another_problem_but_numbers_do():
    program, embedding = level_problem(9)
    named = Program(cost=program.cost, lb=program.lb, ub=program.ub, column_names=["a", "b", "c"])
    moved = Program(cost=program.cost, lb=program.lb, ub=program.ub + 1e-9)
    other = Embedding(random_mlp(8, (2, 8, 6, 1)), embedding.inputs, embedding.outputs)
    assert is_same_problem((program, [embedding]), (named, [embedding]))
    assert not is_same_problem((program, [embedding]), (moved, [embedding]))
    assert not is_same_problem((program, [embedding]), (program, [other]))
    assert not is_same_problem((program, [embedding]), (program, []))
    assert not is_same_problem((program, [embedding]), (everything(), [embedding]))


def test_an_activation_of_the_users_own_is_named(tmp_path):
    own = dataclasses.replace(find_activation("tanh", ()), name="mine")
    network = dcembed.build_mlp([np.ones((3, 2)), np.ones((1, 3))], [None, None], own)
    program, embedding = box_problem(network, np.ones(2), 1.0)
    result = solved(program, embedding)
    with pytest.raises(InputError, match=r"Result\.save keeps activations by their names, and 'mine' is not one of relu"):
        result.save(tmp_path / "result.npz")
    assert not list(tmp_path.iterdir())
    with pytest.raises(InputError, match="Options: checkpoint keeps activations by their names"):
        solved(program, embedding, checkpoint=tmp_path / "run.npz")
    # To go on from it in memory is no matter, here and in an equal problem that nothing can compare.
    assert dcembed.solve(program, embedding, start=result, options=quiet()).objective <= result.objective
    twin = Embedding(network, embedding.inputs, embedding.outputs)
    assert dcembed.solve(program, twin, start=result, options=quiet()).objective <= result.objective


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("result", "Result.save writes .npz files, received the path .*result. Give it the suffix .npz."),
        ("result.json", "Result.save writes .npz files"),
        ("missing/result.npz", "cannot be written: there is no folder .*missing. Make it first."),
        ("folder.npz", "folder.npz cannot be written: it is a folder."),
        (3, "Result.save: path is not accepted: the path of a file is expected, received int 3."),
    ],
)
def test_a_path_that_cannot_be_written_says_why(tmp_path, path, message):
    (tmp_path / "folder.npz").mkdir()
    program, embedding = level_problem(9)
    result = solved(program, embedding, max_iterations=1)
    with pytest.raises(InputError, match=message):
        result.save(tmp_path / path if isinstance(path, str) else path)


def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch):
    program, embedding = level_problem(9)
    result = solved(program, embedding)
    result.save(tmp_path / "result.npz")
    before = (tmp_path / "result.npz").read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("numpy.lib.format.write_array", full)
        with pytest.raises(InputError, match="cannot be written: No space left on device"):
            result.save(tmp_path / "result.npz")
    assert (tmp_path / "result.npz").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["result.npz"]


def test_numpy_reads_the_file_and_the_same_result_is_the_same_file(tmp_path):
    program, embedding = level_problem(9)
    result = solved(program, embedding)
    result.save(tmp_path / "a.npz")
    result.save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        assert np.array_equal(arrays["program.cost"], program.cost)
        assert np.array_equal(arrays["run.point0"], result.x)


def test_status_is_not_optimal_where_the_gap_is_open(tmp_path):
    program, embedding = level_problem(9)
    result = solved(program, embedding)
    claimed = dataclasses.replace(result, status=Status.OPTIMAL, bound=result.objective - 1.0)
    again = saved(claimed, tmp_path)
    assert again.status is Status.LOCALLY_SOLVED
    assert again.bound == claimed.bound
    assert "the file says OPTIMAL" in again.notes[-1]
    assert saved(dataclasses.replace(claimed, bound=result.objective), tmp_path).status is Status.OPTIMAL


@pytest.mark.parametrize("status", [Status.OPTIMAL, Status.LOCALLY_SOLVED, Status.INFEASIBLE])
def test_a_point_is_measured_again(tmp_path, status):
    program, embedding = level_problem(9)
    result = solved(program, embedding)
    # The file says that this is feasible and better than it is; one column is beyond its bound.
    x = result.x.copy()
    x[0] = -7.0
    lying = dataclasses.replace(result, x=x if status is not Status.INFEASIBLE else result.x, status=status, objective=-100.0, bound=-100.0)
    again = saved(lying, tmp_path)
    assert again.status is Status.NUMERICAL_ERROR
    assert again.objective == program.objective(again.x)
    assert again.is_feasible is (status is Status.INFEASIBLE)
    assert "the file says that the objective is -100; measured, it is" in again.notes[0]
