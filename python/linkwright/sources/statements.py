"""Says what a source does, as far as its communication goes, in one form for all languages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = [
    "UNKNOWN",
    "Assignment",
    "Body",
    "Branch",
    "Call",
    "Comprehension",
    "Constant",
    "Element",
    "ElementAssignment",
    "Evaluation",
    "Expression",
    "Function",
    "Leave",
    "Lent",
    "Listing",
    "Loop",
    "Member",
    "Name",
    "Once",
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
    """Lists one value for each item that meets a condition, after the assignments `bound`."""

    variable: str
    bound: tuple[Assignment, ...]
    items: Expression
    condition: Expression
    value: Expression


@dataclass(frozen=True)
class Lent:
    """Holds the variable that an argument hands on: itself, its address, or that of an item."""

    name: str
    is_address: bool = False
    index: Expression | None = None


@dataclass(frozen=True)
class Call:
    """Holds a call: of what, with what, and where.

    Attributes:
        base: A method is called on this value. A function has none.
        lent: Of each argument the variable that it hands on.
        text: The function's name as written.
    """

    name: str
    arguments: tuple[Expression, ...]
    keywords: tuple[tuple[str, Expression], ...]
    lent: tuple[Lent | None, ...]
    place: Place
    text: str
    base: Expression | None = None


@dataclass(frozen=True)
class Body:
    """Holds statements within an expression, as of a lambda, and the value after them."""

    statements: tuple[Statement, ...]
    value: Expression = Constant(UNKNOWN)


Expression: TypeAlias = (
    Constant | Name | Operation | Element | Listing | Comprehension | Call | Body
)


@dataclass(frozen=True)
class Assignment:
    """A variable gets a value; one that is declared is of its function alone."""

    name: str
    value: Expression
    declares: bool = False


@dataclass(frozen=True)
class Member:
    """Declares a variable that each object of a class has."""

    name: str


@dataclass(frozen=True)
class ElementAssignment:
    """An item of a variable's list gets a value."""

    name: str
    index: Expression
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
    """A block, again and again while the condition holds; `step` follows it.

    The first turn is taken whatever the condition where it is tested after the block.
    """

    condition: Expression
    body: tuple[Statement, ...]
    step: tuple[Statement, ...] = ()
    tested_after: bool = False


@dataclass(frozen=True)
class Over:
    """Holds a block that is run for each item."""

    variable: str
    items: Expression
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Once:
    """Holds a block that `break` leaves, such as a switch has."""

    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Leave:
    """Leaves a loop (`break`) or its turn (`continue`)."""

    how: Literal["break", "continue"]


@dataclass(frozen=True)
class Return:
    """Ends a function."""

    value: Expression


@dataclass(frozen=True)
class Function:
    """Holds a function that a source defines.

    Attributes:
        references: These parameters are their caller's variables.
        is_macro: It is text. It counts where it is used alone.
        is_nested: It stands within another function. It sees its variables.
    """

    name: str
    parameters: tuple[str, ...]
    body: tuple[Statement, ...] = field(repr=False)
    defaults: tuple[tuple[str, Expression], ...] = ()
    references: frozenset[str] = frozenset()
    is_macro: bool = False
    is_nested: bool = False


Statement: TypeAlias = (
    Assignment
    | Member
    | ElementAssignment
    | Evaluation
    | Branch
    | Loop
    | Over
    | Once
    | Leave
    | Return
    | Function
)
