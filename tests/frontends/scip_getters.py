"""Call everything that reads from a PySCIPOpt model, and print what ends the process after our runs but not after SCIP's own.

    python -m tests.frontends.scip_getters

PySCIPOpt crashes on some calls whatever was solved before; these do not count.
"""

from __future__ import annotations

import contextlib
import inspect
import os
from typing import NoReturn

import pyscipopt
from tests.frontends.problems import make_network

from dcembed.pyscipopt import add_predictor_constr, optimize

READING = ("get", "is", "has", "print", "check", "lp")


def build(kind: str) -> pyscipopt.Model:
    scip = pyscipopt.Model()
    scip.hideOutput()
    x = [scip.addVar(f"x{i}", lb=-1, ub=1) for i in range(2)]
    b, y = scip.addVar("b", vtype="B"), scip.addVar("y", lb=-5, ub=5)
    scip.addCons(x[0] + y >= -3, name="row")
    scip.addConsIndicator(x[0] <= 0.5, b, name="on")
    scip.setObjective(y + b, "minimize")
    if kind == "scip":
        scip.optimize()
        return scip
    add_predictor_constr(scip, make_network(2, (3,), 0), x, [y])
    if kind == "optimize":
        scip.optimize()
    else:
        optimize(scip, max_starts=1)
    return scip


def call(scip: pyscipopt.Model, name: str) -> None:
    """With something fitting for every argument that is needed."""
    row, variable, solution = scip.getConss(transformed=False)[0], scip.getVars()[0], scip.getBestSol()
    fitting = {"var": variable, "variable": variable, "expr": variable, "cons": row, "constraint": row, "sol": solution}
    fitting |= {"solution": solution, "original": True, "param": "limits/time", "name": "limits/time"}
    method = getattr(scip, name)
    needed = [p.name for p in inspect.signature(method).parameters.values() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    method(*(fitting.get(argument, 0) for argument in needed))


def crashing(scip: pyscipopt.Model, names: list[str]) -> list[str]:
    """Those that end the process in which they are called; whether a call raises does not matter."""
    found: list[str] = []
    while names:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            _call_all(scip, names, writer)
        os.close(writer)
        with os.fdopen(reader) as called:
            last = called.read().split()[-1]
        os.waitpid(child, 0)
        if last != "end":
            found.append(last)
        names = names[names.index(last) + 1 :] if last != "end" else []
    return found


def _call_all(scip: pyscipopt.Model, names: list[str], writer: int) -> NoReturn:
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    for name in names:
        os.write(writer, f"{name}\n".encode())
        with contextlib.suppress(BaseException):
            call(scip, name)
    os.write(writer, b"end\n")
    os._exit(0)


def main() -> None:
    solved = build("scip")
    for kind in ("optimize", "dcembed"):
        scip = build(kind)
        names = [name for name in dir(scip) if name.startswith(READING)]
        suspects = crashing(scip, names)
        also = crashing(solved, suspects)
        print(kind, len(names), *(name for name in suspects if name not in also))


if __name__ == "__main__":
    main()
