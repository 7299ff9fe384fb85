"""Run the code of TorchScript, statement by statement.

TorchScript is stored as text in a language of its own, a small part of Python. torch.jit.load runs it: methods of the file when it is opened
(`__setstate__`), and every operator it names, those that write files among them (`torch.save`). So the text is parsed here, and run with the
operators that compute and do nothing else.
"""

from __future__ import annotations

import ast
import math
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from dcembed.errors import NetworkError, UnsupportedLayerError
from dcembed.importers.torch_.files.objects import Record
from dcembed.importers.torch_.script.functions import call_operator
from dcembed.importers.torch_.script.work import count_values

# Statements that a forward pass may run, and operators of torch among them; a loop without end is not waited for.
MOST_STATEMENTS = 200_000
MOST_OPERATORS = 5_000
# Values that are looked at in the time of one statement.
VALUES_PER_STATEMENT = 100


@dataclass(frozen=True)
class Script:
    """What a TorchScript archive holds.

    Parameters
    ----------
    functions
        By their whole names; methods after the name of their class.
    tuples
        The names of the fields of named tuples, by their whole names.
    constants
        Tensors and other values that the code refers to by number.
    root
        The model.
    """

    functions: Mapping[str, ast.FunctionDef]
    tuples: Mapping[str, tuple[str, ...]]
    constants: list[Any]
    root: Record


@dataclass(frozen=True)
class _Function:
    """A function or a class, by its whole name."""

    name: str


@dataclass
class _Run:
    """What one forward pass has done so far; `made` are the objects that it made itself."""

    script: Script
    statements: int = 0
    operators: int = 0
    made: list[Record] = field(default_factory=list)


Step = Callable[[_Run, dict[str, Any], Any], Any]


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


def find_forward(script: Script) -> ast.FunctionDef:
    """The forward pass of the model."""
    name = f"{script.root.kind}.forward"
    if name not in script.functions:
        raise NetworkError(f"The TorchScript model {script.root.kind} has no forward method. Save a module that has one.")
    return script.functions[name]


def run_script(script: Script, inputs: Sequence[Any]) -> Any:
    """What the forward pass gives."""
    run = _Run(script)
    try:
        result = _call_function(run, f"{script.root.kind}.forward", [script.root, *inputs], {})
        _charge(run, [result])
        return result
    except RecursionError:
        raise NetworkError("The code of the TorchScript model calls itself without end.") from None


def _call_function(run: _Run, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    function = run.script.functions.get(name)
    if function is None:
        raise NetworkError(f"The code of the TorchScript model calls {name}, which is not in the file.")
    names = [argument.arg for argument in function.args.args]
    defaults = dict(zip(names[len(names) - len(function.args.defaults) :], function.args.defaults, strict=True))
    given = dict(zip(names, args, strict=False)) | dict(kwargs)
    missing = {key: _evaluate(run, {}, value) for key, value in defaults.items() if key not in given}
    scope = {**missing, **given}
    if set(scope) != set(names) or len(args) > len(names):
        raise NetworkError(f"The code of the TorchScript model calls {name} with other arguments than it takes.")
    try:
        _execute(run, scope, function.body)
    except _Return as result:
        return result.value
    return None


# Statements.


def _execute(run: _Run, scope: dict[str, Any], body: Sequence[ast.stmt]) -> None:
    for statement in body:
        _count(run, 1)
        step: Step = _STATEMENTS.get(type(statement), _unknown)
        step(run, scope, statement)


def _count(run: _Run, statements: int) -> None:
    run.statements += statements
    if run.statements > MOST_STATEMENTS:
        raise NetworkError(f"The code of the TorchScript model does not end within {MOST_STATEMENTS:,} statements.")


def _charge(run: _Run, values: Sequence[Any]) -> None:
    """Large values take the time of statements, wherever they are looked into."""
    _count(run, count_values(values) // VALUES_PER_STATEMENT)


def _unknown(run: _Run, scope: dict[str, Any], node: ast.AST) -> Any:
    raise NetworkError(
        f"The code of the TorchScript model has something that is not read: {ast.unparse(node)[:80]}. Export the model to ONNX instead."
    )


def _assign(run: _Run, scope: dict[str, Any], statement: Any) -> None:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    _bind(run, scope, targets[0], _evaluate(run, scope, statement.value))


def _bind(run: _Run, scope: dict[str, Any], target: ast.expr, value: Any) -> None:
    if isinstance(target, ast.Name):
        scope[target.id] = value
        return
    if isinstance(target, ast.Tuple | ast.List):
        for part, item in zip(target.elts, value, strict=True):
            _bind(run, scope, part, item)
        return
    owner: Any = _evaluate(run, scope, target.value) if isinstance(target, ast.Attribute) else None
    if isinstance(target, ast.Attribute) and any(owner is made for made in run.made):
        owner.attributes[target.attr] = value
    else:
        raise UnsupportedLayerError(
            f"The TorchScript model changes its own state ({ast.unparse(target)}), so that its predictions depend on earlier ones. "
            "Accepted are models without memory."
        )


def _if(run: _Run, scope: dict[str, Any], statement: ast.If) -> None:
    _execute(run, scope, statement.body if _evaluate(run, scope, statement.test) else statement.orelse)


def _while(run: _Run, scope: dict[str, Any], statement: ast.While) -> None:
    while _evaluate(run, scope, statement.test):
        _count(run, 1)
        _execute(run, scope, statement.body)


def _for(run: _Run, scope: dict[str, Any], statement: ast.For) -> None:
    for value in _evaluate(run, scope, statement.iter):
        _bind(run, scope, statement.target, value)
        _execute(run, scope, statement.body)


def _with(run: _Run, scope: dict[str, Any], statement: ast.With) -> None:
    """Of modes, such as no_grad, that change nothing here."""
    _execute(run, scope, statement.body)


def _return(run: _Run, scope: dict[str, Any], statement: ast.Return) -> None:
    raise _Return(None if statement.value is None else _evaluate(run, scope, statement.value))


_STATEMENTS: dict[type, Step] = {
    ast.Assign: _assign,
    ast.AnnAssign: _assign,
    ast.If: _if,
    ast.While: _while,
    ast.For: _for,
    ast.With: _with,
    ast.Return: _return,
    ast.Pass: lambda run, scope, statement: None,
    ast.Expr: lambda run, scope, statement: _evaluate(run, scope, statement.value),
}


# Expressions.


def _evaluate(run: _Run, scope: dict[str, Any], node: ast.expr) -> Any:
    step: Step = _EXPRESSIONS.get(type(node), _unknown)
    return step(run, scope, node)


def _name(run: _Run, scope: dict[str, Any], node: ast.Name) -> Any:
    if node.id in scope:
        return scope[node.id]
    if node.id in ("inf", "nan"):
        return getattr(math, node.id)
    return _unknown(run, scope, node)


def _attribute(run: _Run, scope: dict[str, Any], node: ast.Attribute) -> Any:
    path = _path(node)
    if path[:1] == ["__torch__"]:
        return _Function(".".join(path))
    if path[:1] == ["CONSTANTS"]:
        return run.script.constants[int(path[1].removeprefix("c"))]
    return _get(_evaluate(run, scope, node.value), node.attr)


def _get(owner: Any, name: str) -> Any:
    if isinstance(owner, tuple) and name in getattr(owner, "_fields", ()):
        return getattr(owner, name)
    if not isinstance(owner, Record) or name not in owner.attributes:
        raise NetworkError(
            f"The code of the TorchScript model reads '{name}' of {getattr(owner, 'kind', owner)!s}, which has no such value."
        )
    return owner.attributes[name]


def _path(node: ast.expr) -> list[str]:
    """The names of a dotted expression; empty if it is something else."""
    if isinstance(node, ast.Name):
        return [node.id]
    rest = _path(node.value) if isinstance(node, ast.Attribute) else []
    return [*rest, node.attr] if isinstance(node, ast.Attribute) and rest else []


def _call(run: _Run, scope: dict[str, Any], node: ast.Call) -> Any:
    path = _path(node.func)
    if path in (["annotate"], ["unchecked_cast"]):
        return _evaluate(run, scope, node.args[1])
    if path == ["uninitialized"]:
        return None
    args = [_evaluate(run, scope, argument) for argument in node.args if _path(argument)[:1] != ["Tensor"]]
    kwargs = {str(entry.arg): _evaluate(run, scope, entry.value) for entry in node.keywords}
    _charge(run, [*args, *kwargs.values()])
    if path == ["getattr"]:
        return _get(*args)
    if path[:1] == ["torch"] or path[:1] == ["ops"] or (len(path) == 1 and path[0] not in scope):
        run.operators += path[0] != "ops" and any(isinstance(argument, torch.Tensor) for argument in args)
        if run.operators > MOST_OPERATORS:
            raise NetworkError(f"The code of the TorchScript model does not end within {MOST_OPERATORS:,} operators.")
        return call_operator(path, args, kwargs)
    return _call_own(run, scope, node, args, kwargs)


def _call_own(run: _Run, scope: dict[str, Any], node: ast.Call, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A function of the file, or a method of one of its objects."""
    if isinstance(node.func, ast.Attribute) and _path(node.func)[:1] != ["__torch__"]:
        owner = _evaluate(run, scope, node.func.value)
        if not isinstance(owner, Record):
            return _unknown(run, scope, node)
        return _call_function(run, f"{owner.kind}.{node.func.attr}", [owner, *args], kwargs)
    function = _evaluate(run, scope, node.func)
    if not isinstance(function, _Function):
        return _unknown(run, scope, node)
    if function.name.endswith(".__new__"):
        run.made.append(Record(function.name.removesuffix(".__new__")))
        return run.made[-1]
    if function.name in run.script.tuples:
        return namedtuple("NamedTuple", run.script.tuples[function.name])(*args)
    return _call_function(run, function.name, args, kwargs)


def _subscript(run: _Run, scope: dict[str, Any], node: ast.Subscript) -> Any:
    owner, index = _evaluate(run, scope, node.value), _evaluate(run, scope, node.slice)
    _charge(run, [index])
    return owner[index]


def _many(run: _Run, scope: dict[str, Any], nodes: Sequence[Any]) -> list[Any]:
    values = [_evaluate(run, scope, node) for node in nodes]
    _charge(run, values)
    return values


_EXPRESSIONS: dict[type, Step] = {
    ast.Constant: lambda run, scope, node: node.value,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.Subscript: _subscript,
    ast.List: lambda run, scope, node: _many(run, scope, node.elts),
    ast.Tuple: lambda run, scope, node: tuple(_many(run, scope, node.elts)),
    ast.Dict: lambda run, scope, node: dict(zip(_many(run, scope, node.keys), _many(run, scope, node.values), strict=True)),
    ast.UnaryOp: lambda run, scope, node: (
        -_evaluate(run, scope, node.operand) if isinstance(node.op, ast.USub) else _unknown(run, scope, node)
    ),
    ast.IfExp: lambda run, scope, node: _evaluate(run, scope, node.body if _evaluate(run, scope, node.test) else node.orelse),
}
