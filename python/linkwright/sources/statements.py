"""Says what a source does, as far as its communication goes, in one form for all languages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = [
    "UNKNOWN",
    "Assignment",
    "Body",
    "Branch",
    "Call",
    "Comprehension",
    "Constant",
    "Element",
    "Evaluation",
    "Expression",
    "Function",
    "Listing",
    "Loop",
    "Name",
    "Operation",
    "Over",
    "Place",
    "Return",
    "Statement",
]


@dataclass(frozen=True)
class Place:
    """Holds line and column of a source, from one."""

    line: int
    column: int


@dataclass(frozen=True)
class Constant:
    """A number, a text, or nothing that is known (`UNKNOWN`)."""

    value: object


class _Unknown:
    """Stands for what the source does not say."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()


@dataclass(frozen=True)
class Name:
    """Holds a variable, or a path of attributes such as `self.rank`."""

    text: str


@dataclass(frozen=True)
class Operation:
    """Holds an operator and its operands: `?` of three, others of one or two; `,` of any number."""

    operator: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Element:
    """Holds an item of a list or an array."""

    base: Expression
    index: Expression


@dataclass(frozen=True)
class Listing:
    """Gives the items of a list."""

    items: tuple[Expression, ...]


@dataclass(frozen=True)
class Comprehension:
    """A list of one value for each item, where a condition holds."""

    variable: str | None
    items: Expression
    condition: Expression
    value: Expression


@dataclass(frozen=True)
class Call:
    """A call: of what, with what, and where. `written` are variables that it may write to."""

    name: str
    arguments: tuple[Expression, ...]
    keywords: tuple[tuple[str, Expression], ...]
    written: tuple[str | None, ...]
    place: Place
    text: str


@dataclass(frozen=True)
class Body:
    """Holds statements in place of an expression, as of a lambda."""

    statements: tuple[Statement, ...]


Expression: TypeAlias = (
    Constant | Name | Operation | Element | Listing | Comprehension | Call | Body
)


@dataclass(frozen=True)
class Assignment:
    """A variable gets a value."""

    name: str
    value: Expression


@dataclass(frozen=True)
class Evaluation:
    """An expression for what it does."""

    value: Expression


@dataclass(frozen=True)
class Branch:
    """Holds one of two blocks."""

    condition: Expression
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class Loop:
    """A block, again and again while the condition holds; `step` follows it."""

    condition: Expression
    body: tuple[Statement, ...]
    step: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class Over:
    """A block for each item; the variable is None where it is no single name."""

    variable: str | None
    items: Expression
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Return:
    """Ends a function."""

    value: Expression


@dataclass(frozen=True)
class Function:
    """Holds a function that a source defines."""

    name: str
    parameters: tuple[str, ...]
    body: tuple[Statement, ...] = field(repr=False)
    defaults: tuple[tuple[str, Expression], ...] = ()


Statement: TypeAlias = Assignment | Evaluation | Branch | Loop | Over | Return | Function
