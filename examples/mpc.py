"""Control four tanks by a neural model of them, solved anew every ten seconds.

Two pumps fill two lower tanks and, crosswise, two upper ones, which run into the lower ones. A network (6 inputs, two layers of 32 tanh units,
trained on the equations of the tanks, shipped as tanks.npz) predicts by how much the four levels rise in ten seconds. Every ten seconds the
levels are measured and the pumps are planned twenty steps ahead, so that the lower tanks come to where they are wanted; the first step is
made, the rest is planned anew. Where the plant is and what is wanted are all that changes, so the problem is compiled once.

    python examples/mpc.py
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import dcembed

HERE = Path(__file__).parent
PICTURE = HERE.parent / "out" / "mpc.png"

STEPS, NUM_SOLVES, NOISE = 20, 60, 0.02
LEVELS, PUMPS = 4, 2
# Bounds of the levels in cm (the upper tanks are small) and of the pumps in V; how fast these may change, and what a change costs.
LOW, HIGH = np.array([1.0, 1.0, 0.3, 0.3, 0.0, 0.0]), np.array([20.0, 20.0, 3.5, 3.5, 8.0, 8.0])
MOST_CHANGE, CHANGE_COST = 1.0, 0.05
# Levels of the lower tanks that are wanted, one after the other.
WANTED = np.array([[12.3, 12.8], [11.4, 13.9], [14.5, 14.1]])

# Columns: levels (21, 4), the first of which are measured; pumps (21, 2), the first of which have been; rises (20, 4), predicted.
LEVEL = np.arange((STEPS + 1) * LEVELS).reshape(-1, LEVELS)
PUMP = LEVEL.size + np.arange((STEPS + 1) * PUMPS).reshape(-1, PUMPS)
RISE = LEVEL.size + PUMP.size + np.arange(STEPS * LEVELS).reshape(-1, LEVELS)
NUM_COLUMNS = LEVEL.size + PUMP.size + RISE.size


def pick(columns: np.ndarray) -> sp.csr_array:
    """A row for each of the columns."""
    return sp.csr_array(sp.eye_array(NUM_COLUMNS, format="csr")[columns.reshape(-1)])


def build_problem() -> tuple[dcembed.Program, dcembed.Embedding]:
    """minimize |levels - wanted|^2 + 0.05 |changes of pumps|^2  subject to  level_(k+1) = level_k + network(level_k, pump_k)."""
    dynamics, changes = pick(LEVEL[1:]) - pick(LEVEL[:-1]) - pick(RISE), pick(PUMP[1:]) - pick(PUMP[:-1])
    lower = pick(LEVEL[1:, :2])
    lb, ub = np.full(NUM_COLUMNS, -np.inf), np.full(NUM_COLUMNS, np.inf)
    lb[LEVEL], ub[LEVEL], lb[PUMP], ub[PUMP] = LOW[:LEVELS], HIGH[:LEVELS], LOW[LEVELS:], HIGH[LEVELS:]
    limit = np.concatenate([np.zeros(RISE.size), np.full(changes.shape[0], MOST_CHANGE)])
    program = dcembed.Program(
        cost=np.zeros(NUM_COLUMNS),
        quadratic=2.0 * (lower.T @ lower + CHANGE_COST * changes.T @ changes),
        rows=sp.vstack([dynamics, changes]),
        row_lb=-limit,
        row_ub=limit,
        lb=lb,
        ub=ub,
    )
    network = dcembed.load_network(HERE / "tanks.npz")
    return program, dcembed.Embedding(network, inputs=np.hstack([LEVEL[:-1], PUMP[1:]]), outputs=RISE)


def numbers(program: dcembed.Program, levels: np.ndarray, pumps: np.ndarray, wanted: np.ndarray) -> dict:
    """What is different this time: where the plant is, by bounds of the first step, and what is wanted, by the cost."""
    lb, ub, cost = program.lb.copy(), program.ub.copy(), np.zeros(NUM_COLUMNS)
    lb[LEVEL[0]] = ub[LEVEL[0]] = levels
    lb[PUMP[0]] = ub[PUMP[0]] = pumps
    cost[LEVEL[1:, :2]] = -2.0 * wanted
    return {"lb": lb, "ub": ub, "cost": cost, "offset": STEPS * float(wanted @ wanted)}


def plan_from(network: dcembed.Network, levels: np.ndarray, pumps: np.ndarray) -> np.ndarray:
    """All columns with these pumps (21, 2) from these levels on, as the network has it: a start that all but holds."""
    x = np.zeros(NUM_COLUMNS)
    x[PUMP], x[LEVEL[0]] = pumps, levels
    for now, then, rise, pump in zip(LEVEL[:-1], LEVEL[1:], RISE, PUMP[1:], strict=True):
        x[rise] = network(np.concatenate([x[now], x[pump]])[None])[0]
        x[then] = x[now] + x[rise]
    return x


def plant(levels: np.ndarray, pumps: np.ndarray, seconds: float = 10.0, pieces: int = 200) -> np.ndarray:
    """The tanks themselves, by their equations: areas in cm2, flows in cm3/s."""
    area, outlet, flow = np.array([28.0, 32.0, 28.0, 32.0]), np.array([0.071, 0.057, 0.071, 0.057]), np.array([3.33, 3.35]) * pumps
    for _ in range(pieces):
        out = outlet * np.sqrt(2.0 * 981.0 * np.maximum(levels, 0.0))
        into = np.array([0.7 * flow[0] + out[2], 0.6 * flow[1] + out[3], 0.4 * flow[1], 0.3 * flow[0]])
        levels = levels + seconds / pieces * (into - out) / area
    return levels


def draw(measured: np.ndarray, made: np.ndarray, wanted: np.ndarray) -> None:
    """Levels and pumps over time."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (above, below) = plt.subplots(2, 1, figsize=(10, 7), sharex=True, layout="constrained")
    minutes = np.arange(len(made)) / 6
    for tank in range(LEVELS):
        above.plot(minutes, measured[:-1, tank], label=f"tank {tank + 1}")
    above.plot(minutes, wanted, "k--", linewidth=1)
    above.set_ylabel("level, cm")
    above.legend()
    below.step(minutes, made, where="post", label=["pump 1", "pump 2"])
    below.set_ylabel("pump, V")
    below.set_xlabel("minutes")
    below.legend()
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=110)


def main() -> dcembed.Result:
    program, embedding = build_problem()
    rng = np.random.default_rng(0)
    levels, pumps = np.array([8.5, 8.9, 1.1, 1.0]), np.array([2.5, 2.5])
    measured, made, milliseconds = [levels], [], []
    wanted = WANTED[np.arange(NUM_SOLVES) * len(WANTED) // NUM_SOLVES]
    plan = np.tile(pumps, (STEPS + 1, 1))
    with dcembed.compile(program, embedding, dcembed.Options(search="local", verbose=False)) as problem:
        for step in range(NUM_SOLVES):
            start = plan_from(embedding.network, levels, plan)
            began = time.perf_counter()
            result = problem.solve(**numbers(program, levels, pumps, wanted[step]), start=start)
            milliseconds.append(1e3 * (time.perf_counter() - began))
            if not result.is_feasible:
                raise SystemExit(f"step {step}: {result}")
            plan = result.x[PUMP]
            pumps = plan[1]
            # The pumps of this step have been; what was planned for the last is planned once more.
            plan = np.vstack([plan[1:], plan[-1:]])
            levels = plant(levels, pumps) + rng.normal(0.0, NOISE, LEVELS)
            measured.append(levels)
            made.append(pumps)
    draw(np.array(measured), np.array(made), wanted)
    print(f"{NUM_SOLVES} plans, all verified; {np.median(milliseconds):.1f} ms each, {max(milliseconds):.1f} ms at most")
    print(f"The lower tanks are at {levels[0]:.2f} and {levels[1]:.2f} cm, wanted at {wanted[-1][0]:.2f} and {wanted[-1][1]:.2f} cm")
    print("Picture: out/mpc.png")
    print(result.summary())
    return result


if __name__ == "__main__":
    main()
