"""Defines statements, and holds the helpers that are shared by the checks of all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from linkwright.studies.memory.measured import Measured, View
from linkwright.studies.memory.published import published

__all__ = [
    "NOT_RUN",
    "Outcome",
    "SizeOf",
    "Statement",
    "ViewOf",
    "change",
    "judged",
    "ratio",
    "signed",
    "spoken",
]


ViewOf = Callable[[View], float | None]
SizeOf = Callable[[Measured], str]


@dataclass(frozen=True)
class Outcome:
    """Says whether a statement holds, None if nothing could tell, and gives the evidence.

    Attributes:
        holds: Whether it holds.
        measured: The numbers.
    """

    holds: bool | None
    measured: str


NOT_RUN = Outcome(None, "not run")


@dataclass(frozen=True)
class Statement:
    """Checks one sentence of the dissertation.

    Attributes:
        source: Where it stands.
        says: The sentence, restated so that it can be checked.
        published: Its number, if it has one.
        check: The check.
        both: Whether MGCC matters, so that it is checked as printed, too.
        why: The likely reason where it does not hold.
        needs: A memory system. If no run has it, the statement is left out.
        size: At which sizes it was run, where these are not one for each benchmark of its figure.
    """

    source: str
    says: str
    published: str
    check: Callable[[View], Outcome]
    both: bool = False
    why: str = ""
    needs: str = ""
    size: SizeOf | None = None

    def outcomes(self, measured: Measured) -> list[Outcome | None]:
        """Returns the outcomes with MGCC mended, and as printed where that matters."""
        printed = self.check(View(measured, printed=True)) if self.both else None
        return [self.check(View(measured)), printed]


def ratio(
    source: str,
    says: str,
    said: float,
    of: ViewOf,
    *,
    both: bool = False,
    why: str = "",
    size: SizeOf | None = None,
) -> Statement:
    """A statement whose number is a ratio, which holds if ours is near it."""

    def check(view: View) -> Outcome:
        found = of(view)
        if found is None:
            return NOT_RUN
        near = abs(found / said - 1) <= published()["readings"]["near"]
        return Outcome(near, f"{found:.3g}")

    return Statement(source, says, f"{said:g}", check, both, why, size=size)


def change(
    source: str,
    says: str,
    said: float,
    of: ViewOf,
    *,
    both: bool = False,
    why: str = "",
) -> Statement:
    """A statement whose number is a change, which holds if ours is near it.

    Args:
        source: Where it stands.
        says: The quantity that changes.
        said: By which share.
        of: The ratio that is measured; less 1, it is the change.
        both: Whether MGCC matters.
        why: The likely reason where it does not hold.
    """

    def check(view: View) -> Outcome:
        found = of(view)
        if found is None:
            return NOT_RUN
        readings = published()["readings"]
        allowed = max(readings["change"] * abs(said), readings["points"])
        return Outcome(abs(found - 1 - said) <= allowed, signed(found - 1))

    return Statement(source, says, signed(said), check, both, why)


def judged(found: dict[str, float], holds: Callable[[Sequence[float]], bool]) -> Outcome:
    """The outcome for those that were measured, if any were."""
    if not found:
        return NOT_RUN
    return Outcome(holds(list(found.values())), spoken(found))


def spoken(found: dict[str, float]) -> str:
    """Ratios by their names, in a line."""
    return ", ".join(f"{name}: {value:.2f}" for name, value in found.items())


def signed(share: float) -> str:
    """Writes a share as a change in percent."""
    return f"{100 * share:+.3g} %"
