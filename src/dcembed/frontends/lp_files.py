"""LP files as a `Program`, by hand: the reader of HiGHS takes no names with signs in them, no indicators, and does not say where it stopped.

What is read is what CPLEX, Gurobi, SCIP, Pyomo, linopy and HiGHS write: a linear or quadratic objective, rows, ranges and indicators, bounds,
binaries and integers. What is not is refused with the line that it stands in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
import scipy.sparse as sp

from dcembed.errors import InputError
from dcembed.frontends.infinity import unlimited
from dcembed.frontends.lines import REMEDY, LineError
from dcembed.frontends.lp_words import (
    BINARIES,
    BOUNDS,
    CURVES,
    GENERAL,
    INTEGERS,
    LABEL,
    NAME,
    NUMBER,
    OBJECTIVE,
    ROWS,
    SEMI,
    SIGN,
    SOS,
    Section,
    Word,
    read_sections,
)
from dcembed.program.nonconvex import split_quadratic
from dcembed.program.program import Indicator, Program

# What each relation says of its left side: at most, at least, or both.
RELATIONS = {"<": "<=", "<=": "<=", "=<": "<=", ">": ">=", ">=": ">=", "=>": ">=", "=": "="}
MIRRORED = {"<=": ">=", ">=": "<=", "=": "="}
LIMITS = ("inf", "infinity")
REFUSED = {
    SOS: "special ordered sets",
    SEMI: "semi-continuous columns",
    CURVES: "a piecewise-linear objective",
    GENERAL: "general constraints",
}


@dataclass
class Expression:
    """A sum of terms: coefficients by column, of products by pairs of columns, and a constant."""

    linear: dict[int, float] = field(default_factory=dict)
    products: dict[tuple[int, int], float] = field(default_factory=dict)
    constant: float = 0.0

    def add(self, column: int, coefficient: float) -> None:
        """Add a linear term; those of the same column are added up."""
        self.linear[column] = self.linear.get(column, 0.0) + coefficient

    def add_product(self, first: int, second: int, coefficient: float) -> None:
        """Add a term with two columns, or with one squared."""
        pair = (first, second) if first <= second else (second, first)
        self.products[pair] = self.products.get(pair, 0.0) + coefficient


@dataclass(frozen=True)
class Row:
    """A row with what switches it on, a binary and its value, if anything does."""

    name: str
    linear: dict[int, float]
    lb: float
    ub: float
    switch: tuple[int, int] | None


@dataclass
class Model:
    """What has been read so far; columns are numbered as they are met."""

    columns: dict[str, int] = field(default_factory=dict)
    objective: Expression = field(default_factory=Expression)
    is_maximized: bool = False
    rows: list[Row] = field(default_factory=list)
    lb: dict[int, float] = field(default_factory=dict)
    ub: dict[int, float] = field(default_factory=dict)
    integer: set[int] = field(default_factory=set)

    def column(self, name: str) -> int:
        """The number of a column, which may be new."""
        return self.columns.setdefault(name, len(self.columns))


class Reader:
    """The words of a section, one after the other."""

    def __init__(self, section: Section) -> None:
        last = section.words[-1].line if section.words else section.line
        # Whoever looks ahead, by four words at most, finds the end as words without kind and text.
        self._words, self._at, self._end = [*section.words, *[Word("", "", last)] * 4], 0, len(section.words)

    def peek(self, ahead: int = 0) -> Word:
        """The word that comes next, or one after it; a word without kind and text at the end."""
        return self._words[self._at + ahead]

    def take(self) -> Word:
        """The next word, which counts as read."""
        self._at += 1
        return self._words[self._at - 1]

    def take_if(self, *texts: str) -> Word | None:
        """The next word, if it is one of these signs."""
        word = self._words[self._at]
        if word.kind != SIGN or word.text not in texts:
            return None
        self._at += 1
        return word

    def expect(self, kind: str, what: str) -> Word:
        """The next word, which has to be of a kind."""
        if self.peek().kind != kind:
            self.refuse(what)
        return self.take()

    def refuse(self, what: str) -> NoReturn:
        """Say what was expected here instead of what there is."""
        word = self.peek()
        found = f"{word.text!r} stands" if word.kind else "the section ends"
        raise LineError(word.line, f"{found} where {what} is expected.")

    @property
    def is_over(self) -> bool:
        """Whether all words are read."""
        return self._at >= self._end


def read_lp(text: str) -> Program:
    r"""The program in the text of an LP file; InputError with the line of what is not read.

    Examples
    --------
    >>> program = read_lp("Minimize\n obj: x[1] + 2 y\nSubject To\n only: b = 1 -> x[1] - y >= 1\nBinaries\n b\nEnd")
    >>> program
    Program(3 columns, 0 rows, 1 integer, 1 indicator)
    >>> program.column_names
    ('x[1]', 'y', 'b')
    """
    model = Model()
    for section in read_sections(text):
        if section.kind in REFUSED and section.words:
            raise LineError(section.words[0].line, f"section {section.header} ({REFUSED[section.kind]}) is not read from files. {REMEDY}")
        if section.kind in _PARTS:
            _PARTS[section.kind](model, section)
    if not model.columns:
        raise InputError("There are no columns. Is it an LP file?")
    return _build_program(model)


# The sections.


def _read_objective(model: Model, section: Section) -> None:
    if "multi" in section.header.lower():
        raise LineError(section.line, "several objectives are not read. Write one, with weights.")
    model.is_maximized = section.header[:3].lower() == "max"
    reader = Reader(section)
    if reader.peek().kind == LABEL:
        reader.take()
    model.objective = _read_expression(model, reader)
    if not reader.is_over:
        reader.refuse("a term with + or - before it")


def _read_rows(model: Model, section: Section) -> None:
    reader = Reader(section)
    while not reader.is_over:
        model.rows.append(_read_row(model, reader))


def _read_row(model: Model, reader: Reader) -> Row:
    name = reader.take().text if reader.peek().kind == LABEL else f"R{len(model.rows)}"
    switch = _read_switch(model, reader)
    line = reader.peek().line
    left = _read_expression(model, reader)
    relation = _read_relation(reader)
    if left.linear or left.products or not _begins_expression(reader):
        limits = _limits(relation, _read_number(reader) - left.constant)
    else:
        # The number came first: 3 <= x + y, or 3 <= x + y <= 5.
        limits = _limits(MIRRORED[relation], left.constant)
        left = _read_expression(model, reader)
        if reader.peek().text in RELATIONS and reader.peek().kind == SIGN:
            other = _limits(_read_relation(reader), _read_number(reader))
            limits = max(limits[0], other[0]), min(limits[1], other[1])
        limits = limits[0] - left.constant, limits[1] - left.constant
    if left.products:
        raise LineError(line, f"row '{name}' has products of columns; a quadratic constraint is not read from files. {REMEDY}")
    return Row(name, left.linear, *limits, switch)


def _read_switch(model: Model, reader: Reader) -> tuple[int, int] | None:
    """`b = 1 ->` before a row."""
    words = [reader.peek(ahead) for ahead in range(4)]
    if [word.kind for word in words] != [NAME, SIGN, NUMBER, SIGN] or words[1].text != "=" or words[3].text not in ("->", "<->"):
        return None
    if words[3].text == "<->":
        raise LineError(words[3].line, f"<-> is not read. Write two indicators, one for each value of '{words[0].text}'.")
    if float(words[2].text) not in (0.0, 1.0):
        raise LineError(words[2].line, f"an indicator is on at 0 or 1, not at {words[2].text}.")
    for _ in words:
        reader.take()
    return model.column(words[0].text), int(float(words[2].text))


def _read_bounds(model: Model, section: Section) -> None:
    reader = Reader(section)
    while not reader.is_over:
        first = _read_limit(reader)
        relation = None if first is None else _read_relation(reader)
        word = reader.expect(NAME, "the name of a column")
        column = model.column(word.text)
        if first is not None and relation is not None:
            _bound(model, column, MIRRORED[relation], first)
            if reader.peek().text not in RELATIONS:
                continue
        elif reader.peek().kind == NAME and reader.peek().text.lower() == "free":
            reader.take()
            model.lb[column], model.ub[column] = -np.inf, np.inf
            continue
        _bound(model, column, _read_relation(reader), _read_number(reader))


def _read_limit(reader: Reader) -> float | None:
    """The number that a line of bounds begins with; None where a name comes first, also one that is called inf or free."""
    word, after = reader.peek(), reader.peek(1)
    if word.kind == NAME and (word.text.lower().lstrip("+-") not in LIMITS or after.kind != SIGN or reader.peek(2).kind != NAME):
        return None
    return _read_number(reader)


def _bound(model: Model, column: int, relation: str, value: float) -> None:
    if relation in (">=", "="):
        model.lb[column] = value
    if relation in ("<=", "="):
        model.ub[column] = value


def _read_binaries(model: Model, section: Section) -> None:
    for column in _read_names(model, section):
        model.integer.add(column)
        # Bounds that were given stay: a binary may be fixed.
        model.lb[column], model.ub[column] = max(model.lb.get(column, 0.0), 0.0), min(model.ub.get(column, 1.0), 1.0)


def _read_integers(model: Model, section: Section) -> None:
    model.integer.update(_read_names(model, section))


def _read_names(model: Model, section: Section) -> list[int]:
    reader = Reader(section)
    names = []
    while not reader.is_over:
        names.append(model.column(reader.expect(NAME, "the name of a column").text))
    return names


_PARTS: dict[str, Callable[[Model, Section], None]] = {
    OBJECTIVE: _read_objective,
    ROWS: _read_rows,
    BOUNDS: _read_bounds,
    BINARIES: _read_binaries,
    INTEGERS: _read_integers,
}


# Terms and numbers.


def _begins_expression(reader: Reader) -> bool:
    """Whether a column or a bracket comes next, after a sign and a number; at the beginning of a line a row without a label begins."""
    words = [reader.peek(ahead) for ahead in range(3)]
    ahead = int(words[0].kind == SIGN and words[0].text in ("+", "-"))
    ahead += words[ahead].kind == NUMBER
    word, before = words[ahead], words[max(ahead - 1, 0)]
    is_column = word.kind == NAME and word.line == before.line and word.text.lower().lstrip("+-") not in LIMITS
    return is_column or (word.kind == SIGN and word.text == "[")


def _read_expression(model: Model, reader: Reader) -> Expression:
    """Terms, each but the first with + or - before it, up to whatever is no term."""
    expression, is_first = Expression(), True
    while True:
        sign = _read_sign(reader)
        word = reader.peek()
        if word.kind not in (NUMBER, NAME) and not (word.kind == SIGN and word.text == "["):
            if sign is not None:
                reader.refuse("a term")
            return expression
        if sign is None and not is_first:
            reader.refuse("+, - or a relation")
        _read_term(model, reader, expression, 1.0 if sign is None else sign)
        is_first = False


def _read_sign(reader: Reader) -> float | None:
    """The product of the signs that come next; None without any."""
    sign = None
    while (word := reader.take_if("+", "-")) is not None:
        sign = (1.0 if sign is None else sign) * (-1.0 if word.text == "-" else 1.0)
    return sign


def _read_term(model: Model, reader: Reader, expression: Expression, sign: float) -> None:
    if reader.take_if("["):
        return _read_products(model, reader, expression, sign)
    coefficient = sign
    if reader.peek().kind == NUMBER:
        coefficient *= float(reader.take().text)
        reader.take_if("*")
        if reader.peek().kind != NAME:
            expression.constant += coefficient
            return None
    return expression.add(model.column(reader.take().text), coefficient)


def _read_products(model: Model, reader: Reader, expression: Expression, sign: float) -> None:
    """What stands in brackets, halved where / 2 comes after it."""
    inside = Expression()
    while not reader.take_if("]"):
        coefficient = _read_sign(reader) or 1.0
        if reader.peek().kind == NUMBER:
            coefficient *= float(reader.take().text)
            reader.take_if("*")
        first = model.column(reader.expect(NAME, "a column").text)
        if reader.take_if("^"):
            if reader.peek().text != "2":
                reader.refuse("the exponent 2")
            reader.take()
            inside.add_product(first, first, coefficient)
        elif reader.take_if("*"):
            inside.add_product(first, model.column(reader.expect(NAME, "a column").text), coefficient)
        else:
            reader.refuse("^2 or * and a column")
    factor = sign
    if reader.take_if("/"):
        if float(reader.peek().text if reader.peek().kind == NUMBER else 0.0) != 2.0:
            reader.refuse("the 2 of / 2")
        reader.take()
        factor /= 2.0
    for pair, coefficient in inside.products.items():
        expression.add_product(*pair, factor * coefficient)


def _read_relation(reader: Reader) -> str:
    word = reader.peek()
    if word.kind != SIGN or word.text not in RELATIONS:
        reader.refuse("<=, >= or =")
    return RELATIONS[reader.take().text]


def _read_number(reader: Reader) -> float:
    """A number with its signs, or an infinity, which Gurobi writes in one word with its sign."""
    sign = _read_sign(reader) or 1.0
    word = reader.peek()
    if word.kind == NAME and word.text.lower().lstrip("+-") in LIMITS:
        return -sign * np.inf if reader.take().text.startswith("-") else sign * np.inf
    return sign * float(reader.expect(NUMBER, "a number").text)


def _limits(relation: str, value: float) -> tuple[float, float]:
    return (value if relation in (">=", "=") else -np.inf), (value if relation in ("<=", "=") else np.inf)


# The program.


def _build_program(model: Model) -> Program:
    n = len(model.columns)
    plain = [row for row in model.rows if row.switch is None]
    switched = [(row, row.switch) for row in model.rows if row.switch is not None]
    lb, ub = np.zeros(n), np.full(n, np.inf)
    lb[list(model.lb)], ub[list(model.ub)] = unlimited(list(model.lb.values())), unlimited(list(model.ub.values()))
    cost = np.zeros(n)
    cost[list(model.objective.linear)] = list(model.objective.linear.values())
    quadratic, concave = split_quadratic(_symmetric(model.objective.products, n), model.is_maximized)
    return Program(
        cost=cost,
        quadratic=quadratic,
        concave=concave,
        offset=model.objective.constant,
        rows=_stack(plain, n),
        row_lb=unlimited([row.lb for row in plain]),
        row_ub=unlimited([row.ub for row in plain]),
        lb=lb,
        ub=ub,
        integer=np.isin(np.arange(n), list(model.integer)),
        indicators=[_indicator(row, switch, n) for row, switch in switched],
        maximize=model.is_maximized,
        column_names=list(model.columns),
        row_names=[row.name for row in plain],
    )


def _indicator(row: Row, switch: tuple[int, int], n: int) -> Indicator:
    lb, ub = unlimited([row.lb, row.ub]).tolist()
    return Indicator(*switch, _stack([row], n), lb, ub, row.name)


def _stack(rows: list[Row], n: int) -> sp.csr_array:
    counts = np.array([0, *(len(row.linear) for row in rows)])
    columns = [column for row in rows for column in row.linear]
    values = [value for row in rows for value in row.linear.values()]
    return sp.csr_array((np.array(values, dtype=float), np.array(columns, dtype=np.int64), np.cumsum(counts)), shape=(len(rows), n))


def _symmetric(products: dict[tuple[int, int], float], n: int) -> sp.csr_array:
    """Q of 1/2 w'Qw from coefficients of w_i w_j, i <= j."""
    first, second = np.array(list(products), dtype=np.int64).reshape(-1, 2).T
    values = np.array(list(products.values()), dtype=float)
    part = sp.csr_array((values, (first, second)), shape=(n, n))
    return sp.csr_array(part + part.T)
