"""Random programs with networks, small enough for the oracle. The same seed gives the same case."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from .case import Array, Case, Cone, Evaluation, Net, Switch, predicted

KINDS = ("LP", "QP", "SOCP", "MILP", "MIQP")
# Hidden units of all evaluations together: each is a binary of the oracle.
MAX_UNITS = 30
BOX = 2.0


def draw(kind: str, seed: int) -> Case:
    """A case of this kind: columns, networks, a point they are drawn around, then what constrains them."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    case = _columns(rng, kind, f"{kind}:{seed}")
    witness = _witness(rng, case)
    case = _with_rows(rng, case, witness)
    if kind in ("QP", "MIQP"):
        case = replace(case, quadratic=_quadratic(rng, case))
    if kind == "SOCP":
        case = replace(case, cones=(_cone(rng, case, witness),))
    if kind in ("MILP", "MIQP"):
        case = replace(case, switches=_switches(rng, case, witness))
    if rng.random() < 0.2:
        case = replace(case, maximize=True, cost=-case.cost, quadratic=None if case.quadratic is None else -case.quadratic)
    for spoil, chance in ((_spoilt, 0.15), (_badly_scaled, 0.1), (_widened, 0.15)):
        if rng.random() < chance:
            case = spoil(rng, case)
    return case


def _columns(rng: np.random.Generator, kind: str, name: str) -> Case:
    """Inputs, other columns of the host, predictions; integers among the first two."""
    num_inputs, num_others = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    evaluations, n = _evaluations(rng, num_inputs, num_inputs + num_others)
    lb, ub = np.full(n, -BOX), np.full(n, BOX)
    first_output = num_inputs + num_others
    lb[first_output:], ub[first_output:] = -np.inf, np.inf
    integer = np.zeros(n, dtype=bool)
    if kind.startswith("MI"):
        binary = num_inputs
        lb[binary], ub[binary], integer[binary] = 0.0, 1.0, True
        integer[: int(rng.integers(0, min(3, num_inputs) + 1))] = True
        integer[num_inputs + 1 : first_output] = rng.random(num_others - 1) < 0.5
    fixed = np.flatnonzero((rng.random(n) < 0.05) & (np.arange(n) < first_output) & ~integer)
    lb[fixed] = ub[fixed] = rng.uniform(-1, 1, fixed.size)
    padded = tuple(replace(e, matrix=np.pad(e.matrix, ((0, 0), (0, n - e.matrix.shape[1])))) for e in evaluations)
    empty = np.zeros(0)
    cost = rng.normal(size=n) * (rng.random(n) < 0.8)
    return Case(name, cost, None, np.zeros((0, n)), empty, empty, lb, ub, integer, (), (), padded, traits=("fixed",) if fixed.size else ())


def _evaluations(rng: np.random.Generator, num_inputs: int, n: int) -> tuple[list[Evaluation], int]:
    """One to three evaluations: of networks of their own, of the same again, or on the predictions of the one before."""
    evaluations: list[Evaluation] = []
    units = 0
    for _ in range(int(rng.integers(1, 4))):
        how = rng.choice(["new", "again", "chain"]) if evaluations else "new"
        last = evaluations[-1] if evaluations else None
        if how == "again" and last is not None and last.matrix.shape[1] >= num_inputs:
            net = last.net
            matrix, offset = _inputs(rng, net.weights[0].shape[1], num_inputs, n)
        elif how == "chain" and last is not None:
            net = _net(rng, last.outputs.size)
            matrix, offset = np.zeros((last.outputs.size, n)), np.zeros(last.outputs.size)
            matrix[np.arange(last.outputs.size), last.outputs] = 1.0
        else:
            net = _net(rng, int(rng.integers(1, num_inputs + 1)))
            matrix, offset = _inputs(rng, net.weights[0].shape[1], num_inputs, n)
        units += sum(bias.size for bias in net.biases[:-1])
        if evaluations and units > MAX_UNITS:
            break
        num_outputs = net.biases[-1].size
        evaluations.append(Evaluation(net, matrix, offset, np.arange(n, n + num_outputs)))
        n += num_outputs
    return evaluations, n


def _inputs(rng: np.random.Generator, size: int, num_inputs: int, n: int) -> tuple[Array, Array]:
    """Some columns themselves, or an affine map of all of them."""
    matrix = np.zeros((size, n))
    if rng.random() < 0.75:
        matrix[np.arange(size), rng.permutation(num_inputs)[:size] if size <= num_inputs else rng.integers(0, num_inputs, size)] = 1.0
        return matrix, np.zeros(size)
    matrix[:, :num_inputs] = rng.normal(size=(size, num_inputs)) / np.sqrt(num_inputs)
    return matrix, 0.3 * rng.normal(size=size)


def _net(rng: np.random.Generator, num_inputs: int) -> Net:
    """One to three layers of 2 to 12 units, some of them dead."""
    widths = rng.integers(2, 13, size=int(rng.integers(1, 4)))
    while widths.sum() > MAX_UNITS - 6:
        widths = np.maximum(widths - 1, 2)
    sizes = [num_inputs, *widths.tolist(), int(rng.integers(1, 4))]
    weights = [rng.normal(size=(b, a)) * 1.5 / np.sqrt(a) for a, b in pairwise(sizes)]
    biases = [0.5 * rng.normal(size=b) for b in sizes[1:]]
    if rng.random() < 0.1:
        biases[0] = biases[0] - 20.0 * (rng.random(sizes[1]) < 0.7)
    return Net(tuple(weights), tuple(biases))


def _witness(rng: np.random.Generator, case: Case) -> Array:
    """A point within the bounds, with true predictions."""
    low, high = np.where(np.isinf(case.lb), 0.0, case.lb), np.where(np.isinf(case.ub), 0.0, case.ub)
    w = rng.uniform(low, high)
    w[case.integer] = np.round(w[case.integer])
    return predicted(case, w)


def _with_rows(rng: np.random.Generator, case: Case, witness: Array) -> Case:
    """Rows over the host, over predictions, over both: inequalities, ranges, equalities; mostly with the witness inside."""
    n, outputs = witness.size, case.outputs
    holds = rng.random() < 0.7
    target = witness if holds else predicted(case, witness + 0.5 * rng.normal(size=n))
    rows, lb, ub, equalities = [], [], [], 0
    room, most = rng.choice([0.5, 0.1, 0.01]), 1 + int((~case.integer[: case.outputs[0]]).sum() > 3)
    for _ in range(int(rng.integers(1, 6))):
        row = np.zeros(n)
        neural = rng.random() < 0.7
        if neural:
            row[rng.choice(outputs, size=min(outputs.size, int(rng.integers(1, 3))), replace=False)] = rng.choice([-1.0, 1.0, 0.5])
        if not neural or rng.random() < 0.5:
            some = rng.random(n) < 0.5
            some[outputs] = False
            row[some] = rng.normal(size=int(some.sum()))
        if not row.any():
            continue
        value, slack = row @ target, rng.exponential(room)
        way = rng.choice(["below", "above", "range", "equal"], p=[0.4, 0.3, 0.15, 0.15])
        # With more equalities than columns to move the witness would be the only point, and not one that numbers can hold.
        if way == "equal" and (equalities == most or row[case.integer].any()):
            way = "range"
        equalities += way == "equal"
        rows.append(row)
        lb.append(value if way == "equal" else value - slack if way in ("above", "range") else -np.inf)
        ub.append(value if way == "equal" else value + slack if way in ("below", "range") else np.inf)
    traits = (*case.traits, *(["equality"] if equalities else []), *(["tight"] if room < 0.05 else []))
    matrix = np.array(rows).reshape(len(rows), n)
    return replace(case, rows=matrix, row_lb=np.array(lb), row_ub=np.array(ub), witness=witness if holds else None, traits=traits)


def _quadratic(rng: np.random.Generator, case: Case) -> Array:
    """Positive semidefinite; with cross terms of free predictions and columns in a third of the cases."""
    n = case.cost.size
    factor = rng.normal(size=(int(rng.integers(1, n + 1)), n))
    if rng.random() < 0.65:
        factor[:, case.outputs] = 0.0
    return factor.T @ factor / n


def _cone(rng: np.random.Generator, case: Case, witness: Array) -> Cone:
    """Around the witness; over predictions too in a third of the cases."""
    n = witness.size
    matrix = np.zeros((int(rng.integers(2, 5)), n))
    matrix[1:] = rng.normal(size=(matrix.shape[0] - 1, n)) / np.sqrt(n)
    if rng.random() < 0.65:
        matrix[:, case.outputs] = 0.0
    offset = np.zeros(matrix.shape[0])
    offset[0] = np.linalg.norm(matrix[1:] @ witness) + rng.exponential(0.3)
    return Cone(matrix, offset)


def _switches(rng: np.random.Generator, case: Case, witness: Array) -> tuple[Switch, ...]:
    """Up to two rows behind binaries, over predictions or the host; the witness is in those that are on."""
    binaries = np.flatnonzero(case.integer & (case.lb == 0.0) & (case.ub == 1.0))
    switches = []
    for _ in range(int(rng.integers(0, 3))):
        column, row = int(rng.choice(binaries)), np.zeros(witness.size)
        if rng.random() < 0.6:
            row[rng.choice(case.outputs)] = 1.0
        else:
            row[: case.outputs[0]] = rng.normal(size=case.outputs[0])
        value, slack = row @ witness, rng.exponential(0.5)
        ways = ((-np.inf, value + slack), (value - slack, np.inf), (value - slack, value + slack))
        switches.append(Switch(column, int(rng.integers(2)), row, *ways[int(rng.integers(3))]))
    return tuple(switches)


def _spoilt(rng: np.random.Generator, case: Case) -> Case:
    """A prediction is asked for that the network hardly gives, or not at all."""
    lb, output = case.lb.copy(), int(rng.choice(case.outputs))
    samples = [predicted(case, _witness(rng, case))[output] for _ in range(200)]
    lb[output] = np.quantile(samples, 0.9) if rng.random() < 0.5 else max(samples) + 10.0 * (1.0 + abs(max(samples)))
    return replace(case, lb=lb, witness=None, traits=(*case.traits, "spoilt"))


def _badly_scaled(rng: np.random.Generator, case: Case) -> Case:
    """Rows times powers of ten. The tolerance stays, so that the oracle keeps to a point that has room."""
    scale = 10.0 ** rng.integers(-2, 4, size=case.rows.shape[0])
    return replace(
        case, rows=case.rows * scale[:, None], row_lb=case.row_lb * scale, row_ub=case.row_ub * scale, traits=(*case.traits, "badly scaled")
    )


def _widened(rng: np.random.Generator, case: Case) -> Case:
    """Some or all columns without bounds; integers and what switches depend on keep theirs."""
    some = ~case.integer & (rng.random(case.lb.size) < rng.choice([0.3, 1.0]))
    if case.switches:
        return case
    lb, ub = np.where(some, -np.inf, case.lb), np.where(some, np.inf, case.ub)
    return replace(case, lb=lb, ub=ub, traits=(*case.traits, "free"))
