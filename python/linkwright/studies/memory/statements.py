"""The dissertation's sentences as statements, each with what was measured."""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.studies.memory.checks import Statement
from linkwright.studies.memory.coherence_statements import COHERENCE_STATEMENTS
from linkwright.studies.memory.cost_statements import COST_STATEMENTS
from linkwright.studies.memory.measured import Measured
from linkwright.studies.memory.published import published
from linkwright.studies.memory.sensitivity_statements import SENSITIVITY_STATEMENTS
from linkwright.studies.memory.speedup_statements import SPEEDUP_STATEMENTS
from linkwright.studies.memory.way_statements import WAY_STATEMENTS
from linkwright.studies.memory.xtreme_statements import XTREME_STATEMENTS
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["STATEMENTS", "statements", "verdicts"]

STATEMENTS: tuple[Statement, ...] = (
    *SPEEDUP_STATEMENTS,
    *COHERENCE_STATEMENTS,
    *SENSITIVITY_STATEMENTS,
    *XTREME_STATEMENTS,
    *COST_STATEMENTS,
    *WAY_STATEMENTS,
)

_VERDICTS = {True: "yes", False: "no", None: "not run"}


def verdicts(measured: Measured) -> dict[str, bool | None]:
    """Whether each statement holds, with MGCC mended; None of one that was not run."""
    systems = {setting.memory for setting in measured.runs}
    told = [each for each in STATEMENTS if not each.needs or each.needs in systems]
    holds = [each.outcomes(measured)[0] for each in told]
    return {
        each.says: found.holds if found else None for each, found in zip(told, holds, strict=True)
    }


def statements(measured: Measured) -> Section:
    """Writes the section on the statements."""
    rows: list[tuple[Cell, ...]] = []
    reasons: dict[str, list[str]] = {}
    systems = {setting.memory for setting in measured.runs}
    for statement in STATEMENTS:
        if statement.needs and statement.needs not in systems:
            continue
        outcomes = statement.outcomes(measured)
        told: list[Cell] = []
        for outcome in outcomes:
            told += [outcome.measured, _VERDICTS[outcome.holds]] if outcome else ["", ""]
        size = statement.size(measured) if statement.size else ""
        rows.append((statement.source, statement.says, size, statement.published, *told))
        parts = any(outcome is not None and outcome.holds is False for outcome in outcomes)
        if parts and statement.why:
            reasons.setdefault(statement.why, []).append(statement.says)
    readings = published()["readings"]
    count = {column: sum(row[column] == "yes" for row in rows) for column in (5, 7)}
    judged = {column: sum(row[column] in ("yes", "no") for row in rows) for column in (5, 7)}
    whys = [_reason(why, says) for why, says in reasons.items()]
    return Section(
        title="The statements",
        text=[
            "Each sentence of the dissertation is a check, with MGCC mended, and where it matters "
            f"with MGCC as printed. A ratio holds within {readings['near']:.0%} of the published "
            f"one. A change holds within {readings['change']:.0%} of itself or "
            f"{readings['points']:.0%} of the whole, whichever is more. Means are of the nine "
            "benchmarks. If no size stands here, its figure's section has it.",
            f"{count[5]} of {judged[5]} that were run hold; as printed {count[7]} of {judged[7]}.",
        ],
        tables=[
            StudyTable(
                title="The dissertation's sentences, checked on our numbers",
                columns=(
                    "where",
                    "statement",
                    "size",
                    "published",
                    "reproduced",
                    "holds",
                    "with MGCC as printed",
                    "holds as printed",
                ),
                rows=tuple(rows),
            )
        ],
        reasons=["\n".join(whys)] if whys else (),
    )


def _reason(why: str, says: Sequence[str]) -> str:
    """Writes a reason in Markdown, with the statement that it explains, or the list of them."""
    if len(says) == 1:
        return f"- *{says[0]}*. {why}"
    head = f"- {why} This explains {len(says)} statements:"
    return "\n".join([head, *(f"    - *{each}*" for each in says)])
