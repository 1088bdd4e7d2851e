"""The paper's findings as statements, each with what was measured."""

from __future__ import annotations

from collections import Counter

from linkwright.studies.network.bandwidth_statements import BANDWIDTH_STATEMENTS
from linkwright.studies.network.checks import Statement
from linkwright.studies.network.density_statements import DENSITY_STATEMENTS
from linkwright.studies.network.measured import Measured
from linkwright.studies.network.nic_statements import NIC_STATEMENTS
from linkwright.studies.network.placed import Placed
from linkwright.studies.network.published import published
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["STATEMENTS", "statements"]

STATEMENTS: tuple[Statement, ...] = (
    *DENSITY_STATEMENTS,
    *BANDWIDTH_STATEMENTS,
    *NIC_STATEMENTS,
)


def statements(measured: Measured, placed: Placed | None = None) -> Section:
    """Writes the section on the findings.

    Args:
        measured: The times of the mixes, which linear placement has.
        placed: Those of jobs alone under each placement, if they were played.
    """
    readings = published()["readings"]
    words = {True: "yes", False: "no", None: "not measured"}
    rows: list[tuple[Cell, ...]] = []
    reasons = []
    verdicts: Counter[str] = Counter()
    for statement in STATEMENTS:
        outcome = statement.check(measured)
        verdict = "empty" if outcome.empty else words[outcome.holds]
        under = () if placed is None else (placed.holds_under(statement.says),)
        rows.append((statement.source, statement.says, verdict, *under, outcome.measured))
        verdicts[verdict] += 1
        if (outcome.holds is False or outcome.empty) and statement.why:
            reasons.append(f"- *{statement.says.rstrip('.')}*. {statement.why}")
    held, without = verdicts["yes"], verdicts["empty"]
    return Section(
        title="The findings",
        text=[
            f"Each sentence of the paper is a check. A change of {readings['noticeable']:.0%} or "
            f"more is noticeable, and one of {readings['indifferent']:.0%} or less is none. The "
            f"best policy is better than any other by {readings['clearly']:.0%} or more. For a "
            "whole application the median over its sizes counts. A finding is empty if its jobs "
            "send nothing over the network here, so that no network could refute it. Other "
            "findings leave such jobs out.",
            f"{held} of {len(rows)} hold, {without} {'is' if without == 1 else 'are'} empty.",
            *(
                ()
                if placed is None
                else (
                    "`holds` judges the mixes, whose jobs are placed linearly. `holds under` "
                    "judges each placement: of jobs alone, and of mixes where a finding compares "
                    f"neighbours. {placed.counts()}",
                )
            ),
        ],
        tables=[
            StudyTable(
                title="The paper's findings, checked on our numbers",
                columns=(
                    "section",
                    "finding",
                    "holds",
                    *(() if placed is None else ("holds under",)),
                    "measured",
                ),
                rows=tuple(rows),
            )
        ],
        reasons=["\n".join(reasons)] if reasons else (),
    )
