"""Makes branches of a switch, whatever its language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linkwright.sources import statements as st
from linkwright.sources.statements import Expression, Statement

__all__ = ["Case", "switched"]

VALUE = "<switch>"


@dataclass(frozen=True)
class Case:
    """Holds a case: its value, None of the rest, and its statements."""

    value: Expression | None
    body: tuple[Statement, ...]
    guard: Expression | None = None


def switched(
    value: Expression, cases: Sequence[Case], *, falls: bool = True
) -> Iterator[Statement]:
    """Gives a switch as branches; a case falls into those below it where no `break` ends it."""
    bodies = []
    below: tuple[Statement, ...] = ()
    for case in reversed(cases):
        ends = not falls or (case.body and isinstance(case.body[-1], st.Leave | st.Return))
        below = case.body if ends else (*case.body, *below)
        bodies.append(below)
    bodies.reverse()
    branch: tuple[Statement, ...] = ()
    for case, body in zip(reversed(cases), reversed(bodies), strict=True):
        if case.value is None and case.guard is None:
            branch = body
    for case, body in zip(reversed(cases), reversed(bodies), strict=True):
        if case.value is not None:
            condition: Expression = st.Operation("==", (st.Name(VALUE), case.value))
            if case.guard is not None:
                condition = st.Operation("&&", (condition, case.guard))
            branch = (st.Branch(condition, body, branch),)
        elif case.guard is not None:
            branch = (st.Branch(case.guard, body, branch),)
    yield st.Assignment(VALUE, value, declares=True)
    yield st.Once(branch)
