"""Makes branches of a switch, whatever its language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linkwright.sources import statements as st
from linkwright.sources.statements import Expression, Statement

__all__ = ["Case", "switched"]


@dataclass(frozen=True)
class Case:
    """Holds a case: its value, None of the rest, and its statements."""

    value: Expression | None
    body: tuple[Statement, ...]
    guard: Expression | None = None


def switched(
    name: str, value: Expression, cases: Sequence[Case], *, falls: bool = True
) -> Iterator[Statement]:
    """Gives a switch as branches, one after the other.

    Args:
        name: Every switch has another.
        value: It decides.
        cases: In their order.
        falls: Whether a case falls into the next.
    """
    of_value, taken = st.Name(f"<{name}>"), st.Name(f"<taken by {name}>")
    named = st.Listing(tuple(case.value for case in cases if case.value is not None))
    branches = []
    for case in cases:
        rest = st.Operation("not in", (of_value, named))
        condition: Expression = rest if falls else st.Constant(1)
        if case.value is not None:
            condition = st.Operation("==", (of_value, case.value))
        if case.guard is not None:
            condition = st.Operation("&&", (condition, case.guard))
        before: Expression = taken if falls else st.Operation("!", (taken,))
        whole = st.Operation("||" if falls else "&&", (before, condition))
        take = st.Assignment(taken.text, st.Constant(1), declares=True)
        branches.append(st.Branch(whole, (take, *case.body)))
    yield st.Assignment(of_value.text, value, declares=True)
    yield st.Assignment(taken.text, st.Constant(0), declares=True)
    yield st.Once(tuple(branches)) if falls else st.Branch(st.Constant(1), tuple(branches))
