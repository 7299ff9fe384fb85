"""The three problems as the text of model files."""

from __future__ import annotations

from tests.frontends.problems import ConvexQP, NeuralMILP, NeuralMIQP


def _sum(terms) -> str:
    return " ".join(f"{'+' if value >= 0 else '-'} {abs(value)!r} {name}" for value, name in terms)


def qp_lp() -> str:
    target = [float(t) for t in ConvexQP.target]
    linear = _sum((-t, f"x{i}") for i, t in enumerate(target))
    squares = " + ".join(f"x{i}^2" for i in range(4))
    constant = 0.5 * sum(t * t for t in target)
    return (
        f"\\ a convex QP with neural rows\nMinimize\n distance: {linear} + {constant!r} + [ {squares} ] / 2\n"
        f"Subject To\n total: x0 + x1 + x2 + x3 = {ConvexQP.total!r}\n"
        "Bounds\n"
        + "".join(f" -1 <= x{i} <= 1\n" for i in range(4))
        + "".join(f" -inf <= y{i} <= {ConvexQP.limit!r}\n" for i in range(2))
        + "End\n"
    )


def milp_lp() -> str:
    cost = [float(c) for c in NeuralMILP.cost]
    big = 20.0
    return (
        f"Maximize\n profit: y + {NeuralMILP.reward!r} b {_sum((-c, f'z{i}') for i, c in enumerate(cost))}\n"
        "Subject To\n open0: x0 - z0 <= 0\n open1: x1 - z1 <= 0\n few: z0 + z1 - b <= 1\n"
        f" level: y - {big!r} b >= {NeuralMILP.level - big!r}\n"
        "Bounds\n x0 <= 1\n x1 <= 1\n y free\nBinaries\n z0 z1 b\nEnd\n"
    )


def miqp_mps() -> str:
    a, b = (float(c) for c in NeuralMIQP.center)
    return f"""NAME miqp
ROWS
 N obj
 E tie
COLUMNS
    x0 obj {-2 * a!r}
    x1 obj {-2 * b!r}
    M1 'MARKER' 'INTORG'
    k obj 0.1 tie {-NeuralMIQP.slope!r}
    M2 'MARKER' 'INTEND'
    y tie 1.0
RHS
    RHS tie {NeuralMIQP.intercept!r} obj {-(a * a + b * b)!r}
BOUNDS
 LO BND x0 -1.0
 UP BND x0 1.0
 LO BND x1 -1.0
 UP BND x1 1.0
 LO BND k 0.0
 UP BND k 3.0
 FR BND y
QUADOBJ
    x0 x0 2.0
    x1 x1 2.0
ENDATA
"""


# File name, text, problem, inputs, outputs.
HOSTS = [
    ("qp.lp", qp_lp(), ConvexQP, ["x*"], ["y*"]),
    ("milp.lp", milp_lp(), NeuralMILP, ["x0", "x1"], ["y"]),
    ("miqp.mps", miqp_mps(), NeuralMIQP, ["x?"], ["y"]),
]
