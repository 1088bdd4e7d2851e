"""Gives expressions their values for one rank, as far as constants go."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from linkwright.sources import statements as st
from linkwright.sources.calls import CALLS
from linkwright.sources.libraries import CONSTANTS, environment
from linkwright.sources.operators import applied
from linkwright.sources.statements import UNKNOWN, Expression, Statement
from linkwright.sources.values import (
    GONE,
    WORLD,
    Indexed,
    Instance,
    Reference,
    Scope,
    items_of,
    plain,
    same,
)

__all__ = ["MOST_STEPS", "Evaluator"]

# Statements that all ranks follow, together.
MOST_STEPS = 60_000


class Evaluator(ABC):
    """Holds what one rank knows.

    `shared` are the variables of the whole source, and `attributes` those with a dot.
    """

    def __init__(self, rank: int, ranks: int, is_python: bool) -> None:
        self.rank, self.ranks = rank, ranks
        self.is_python = is_python
        self.shared, self.attributes = Scope(), Scope()
        self.steps = MOST_STEPS // ranks

    @abstractmethod
    def block(self, statements: Sequence[Statement], values: Scope) -> None:
        """Runs statements."""

    @abstractmethod
    def call(self, call: st.Call, values: Scope) -> object:
        """Calls a function of the source, and gives the value."""

    def items(self, listed: object) -> Sequence[object] | None:
        """Gives the items to go through; None where they are not known or too many."""
        return None if self.steps < 0 else items_of(listed)

    def value(self, expression: Expression, values: Scope) -> object:
        """Gives the value of an expression."""
        match expression:
            case st.Constant(value):
                return value
            case st.Name(text):
                return self.named(text, values)
            case st.Operation(operator, operands):
                return self._operation(operator, operands, values)
            case st.Listing(items):
                return [self.value(item, values) for item in items]
            case st.Element(base, index):
                return self._element(base, self.value(index, values), values)
            case st.Comprehension():
                return self._comprehension(expression, values)
            case st.Body(statements, after):
                self.block(statements, values)
                return self.value(after, values)
            case st.Call():
                return self.call(expression, values)

    def named(self, text: str, values: Scope) -> object:
        """Gives the value of a variable, an attribute, or a constant of a library."""
        for known in (values, self.shared, self.attributes):
            found = known.find(text)
            if found is not GONE:
                return found
        if text in CALLS:
            return Reference(text)
        if text in CONSTANTS:
            return CONSTANTS[text]
        base, dot, attribute = text.rpartition(".")
        if not dot or not self.is_python:
            return UNKNOWN
        on = self.named(base, values)
        if on == WORLD:
            return {"rank": self.rank, "size": self.ranks}.get(attribute, UNKNOWN)
        if isinstance(on, Instance):
            return self.named(f"{on.of}.{attribute}", values)
        return UNKNOWN

    def _element(self, base: Expression, index: object, values: Scope) -> object:
        if base == st.Name("os.environ"):
            return environment(index, self.rank, self.ranks)
        listed = self.value(base, values)
        known = self.items(listed)
        item: object = UNKNOWN
        if known is not None and isinstance(index, int) and -len(known) <= index < len(known):
            item = known[index]
        is_array = listed is UNKNOWN or known is not None
        if item is UNKNOWN and is_array and isinstance(base, st.Name) and isinstance(index, int):
            # Of an array of communicators, which rank it is.
            return Indexed(index)
        return item

    def _comprehension(self, expression: st.Comprehension, values: Scope) -> object:
        listed = self.items(self.value(expression.items, values))
        known = listed is not None
        found: list[object] = []
        inner = values.layer()
        for item in [UNKNOWN] if listed is None else listed:
            self.steps -= 1
            inner[expression.variable] = item
            self.block(expression.bound, inner)
            condition = plain(self.value(expression.condition, inner))
            if condition is UNKNOWN or condition:
                known = known and condition is not UNKNOWN
                found.append(self.value(expression.value, inner))
        return found if known else UNKNOWN

    def _operation(self, operator: str, operands: Sequence[Expression], values: Scope) -> object:
        if operator == "?":
            return self._choice(operands, values)
        if operator in ("&&", "||") and len(operands) == 2:
            return self._both(operands, values, decides=operator == "||")
        return applied(operator, [self.value(operand, values) for operand in operands])

    def _choice(self, operands: Sequence[Expression], values: Scope) -> object:
        condition = plain(self.value(operands[0], values))
        if condition is not UNKNOWN:
            return self.value(operands[1 if condition else 2], values)
        both = [self.value(operand, values) for operand in operands[1:]]
        return both[0] if same(*both) else UNKNOWN

    def _both(self, operands: Sequence[Expression], values: Scope, decides: bool) -> object:
        """Gives `and`, which a false value decides, or `or`, which a true one does."""
        first = plain(self.value(operands[0], values))
        if first is not UNKNOWN:
            return first if bool(first) == decides else self.value(operands[1], values)
        # The second is evaluated or not, so that what it assigns is not known.
        taken = values.layer()
        second = plain(self.value(operands[1], taken))
        values.merge([taken, values.layer()])
        return second if second is not UNKNOWN and bool(second) == decides else UNKNOWN
