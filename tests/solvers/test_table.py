"""The solver table: who takes what, and what is said when nobody does."""

from __future__ import annotations

import pytest

from dcembed.errors import DcembedError, InputError, MissingPackageError, NoBackendError
from dcembed.solvers import BACKENDS, CLASSES, choose_backend, is_installed, table


def install(monkeypatch, *names: str) -> None:
    """As if exactly these backends were installed."""
    monkeypatch.setattr(table, "is_installed", lambda backend: backend.name in names)


def message(kind: type[DcembedError], *args) -> str:
    with pytest.raises(kind) as caught:
        choose_backend(*args)
    return str(caught.value)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("LP", "highs"),
        ("MILP", "highs"),
        ("QP", "piqp"),
        ("QCP", "clarabel"),
        ("SOCP", "clarabel"),
        ("MIQP", "scip"),
        ("MIQCP", "scip"),
        ("MISOCP", "scip"),
    ],
)
def test_each_problem_class_has_its_default(monkeypatch, kind, expected):
    install(monkeypatch, *BACKENDS)
    assert choose_backend(kind).name == expected


@pytest.mark.parametrize(
    ("installed", "kind", "expected"),
    [(("piqp", "scip"), "LP", "piqp"), (("highs", "scip"), "QP", "scip"), (("highs", "gurobi"), "MISOCP", "gurobi")],
)
def test_the_next_one_stands_in_for_a_default_that_is_not_installed(monkeypatch, installed, kind, expected):
    install(monkeypatch, *installed)
    assert choose_backend(kind).name == expected


def test_a_backend_can_be_named(monkeypatch):
    install(monkeypatch, *BACKENDS)
    assert choose_backend("LP", "scip").name == "scip"


def test_one_backend_can_be_left_out(monkeypatch):
    install(monkeypatch, *BACKENDS)
    assert choose_backend("LP", without=BACKENDS["highs"]).name == "piqp"


def test_every_class_is_taken_by_an_open_solver():
    assert all(any(kind in backend.classes for name, backend in BACKENDS.items() if name != "gurobi") for kind in CLASSES)


def test_every_entry_is_found_under_its_name():
    assert all(backend.name == name for name, backend in BACKENDS.items())


def test_the_core_dependencies_are_installed():
    assert is_installed(BACKENDS["highs"])
    assert is_installed(BACKENDS["piqp"])


def test_an_unknown_name_lists_the_known_ones():
    assert message(InputError, "LP", "cplex") == (
        "Options: solver='cplex' is unknown. Accepted: 'highs', 'piqp', 'clarabel', 'scip', 'gurobi', or None to choose by the problem."
    )


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("QP", "highs", "The host is a QP, but the solver 'highs' takes LP, MILP only. Leave solver=None to choose one that fits."),
        ("MILP", "piqp", "The host is an MILP, but the solver 'piqp' takes LP, QP only. Leave solver=None to choose one that fits."),
        ("MIQP", "piqp", "The host is an MIQP, but the solver 'piqp' takes LP, QP only. Leave solver=None to choose one that fits."),
        ("SOCP", "piqp", "The host is an SOCP, but the solver 'piqp' takes LP, QP only. Leave solver=None to choose one that fits."),
        (
            "MIQCP",
            "clarabel",
            "The host is an MIQCP, but the solver 'clarabel' takes LP, QP, QCP, SOCP only. Leave solver=None to choose one that fits.",
        ),
    ],
)
def test_a_class_that_the_named_solver_does_not_take(monkeypatch, kind, name, expected):
    install(monkeypatch, *BACKENDS)
    assert message(NoBackendError, kind, name) == expected


def test_a_named_solver_that_is_not_installed(monkeypatch):
    install(monkeypatch, "highs", "piqp")
    assert message(MissingPackageError, "MIQP", "scip") == (
        "The solver 'scip' needs the package pyscipopt. Install it: pip install \"dcembed[scip]\"."
    )


def test_a_mixed_integer_quadratic_host_without_scip(monkeypatch):
    install(monkeypatch, "highs", "piqp")
    assert message(NoBackendError, "MIQP") == (
        "The host is an MIQP and no installed solver takes that. Installed: highs (LP, MILP), piqp (LP, QP). "
        "Install one: pip install \"dcembed[scip]\" (backend 'scip') or pip install \"dcembed[gurobi]\" (backend 'gurobi')."
    )


def test_nothing_installed_at_all(monkeypatch):
    install(monkeypatch)
    assert message(NoBackendError, "LP") == (
        "The host is an LP and no installed solver takes that. Installed: none. "
        "Install one: pip install highspy (backend 'highs') or pip install piqp (backend 'piqp') or "
        "pip install \"dcembed[clarabel]\" (backend 'clarabel') or pip install \"dcembed[scip]\" (backend 'scip') or "
        "pip install \"dcembed[gurobi]\" (backend 'gurobi')."
    )


def test_a_quadratic_host_with_highs_alone(monkeypatch):
    install(monkeypatch, "highs")
    assert message(NoBackendError, "QP") == (
        "The host is a QP and no installed solver takes that. Installed: highs (LP, MILP). "
        "Install one: pip install piqp (backend 'piqp') or pip install \"dcembed[clarabel]\" (backend 'clarabel') or "
        "pip install \"dcembed[scip]\" (backend 'scip') or pip install \"dcembed[gurobi]\" (backend 'gurobi')."
    )
