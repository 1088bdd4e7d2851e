"""Judges the findings again under each placement and seed: of jobs alone, or of mixes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from statistics import fmean

from linkwright.studies.network.checks import Outcome, Statement
from linkwright.studies.network.measured import JobTime, Measured
from linkwright.studies.network.nic import FIGURES, RANKS
from linkwright.studies.network.placements import PLACEMENTS, Placement
from linkwright.studies.network.published import published
from linkwright.studies.network.settings import (
    NETWORKS,
    NIC_DENSITIES,
    NICS,
    Setting,
    density_settings,
)
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["Placed"]

# The section whose findings are of Figs. 8 to 11.
OF_POLICIES = "VI.C"
# Verdicts on a finding that no placement and seed can tell.
UNTOLD = ("empty", "not measured")


class Placed:
    """Holds the times by placement.

    Args:
        times: Those of jobs alone, under every placement and seed that was played.
        statements: The paper's findings.
        mixes: The times of mixes, for findings that compare a job's neighbours.
    """

    def __init__(
        self,
        times: Sequence[JobTime],
        statements: Sequence[Statement],
        mixes: Sequence[JobTime] = (),
    ) -> None:
        self._statements = statements
        by_placement = _by_placement(times)
        self._measured = {key: Measured(of) for key, of in by_placement.items()}
        self._mixed = {key: Measured(of) for key, of in _by_placement(mixes).items()}
        # A quick study has the settings of one section alone.
        dense = {setting for network in NETWORKS for setting in density_settings(network)}
        self._whole = {
            key for key, of in by_placement.items() if dense <= {each.setting for each in of}
        }

    @cached_property
    def _outcomes(self) -> Mapping[str, Mapping[str, list[Outcome]]]:
        """Judges each finding under each placement, a seed after another."""

        def found(statement: Statement, mapping: str) -> list[Outcome]:
            by_placement = self._mixed if statement.of_mixes else self._measured
            return [
                statement.check(measured)
                for placement, measured in by_placement.items()
                if placement.mapping == mapping
                and (
                    statement.of_mixes
                    or statement.source == OF_POLICIES
                    or placement in self._whole
                )
            ]

        return {
            statement.says: {mapping: found(statement, mapping) for mapping in PLACEMENTS}
            for statement in self._statements
        }

    def _told(self, says: str, mapping: str) -> list[bool]:
        """Whether a finding holds under a placement, for each seed that can tell."""
        outcomes = self._outcomes[says][mapping]
        return [each.holds for each in outcomes if each.holds is not None]

    def holds_under(self, says: str) -> str:
        """Names the placements under which a finding holds with every seed."""
        told = {mapping: self._told(says, mapping) for mapping in PLACEMENTS}
        if not any(told.values()):
            outcomes = [each for of in self._outcomes[says].values() for each in of]
            return "empty" if any(each.empty for each in outcomes) else "not measured"
        under = [mapping for mapping, seeds in told.items() if seeds and all(seeds)]
        if len(under) == len(PLACEMENTS):
            return "all"
        return ", ".join(under) if under else "none"

    def counts(self) -> str:
        """Says how many findings hold under which placement."""
        under = [self.holds_under(statement.says) for statement in self._statements]
        measured = sum(it not in UNTOLD for it in under)
        each = ", ".join(
            f"{sum(it == 'all' or mapping in it.split(', ') for it in under)} under {mapping}"
            for mapping in PLACEMENTS
        )
        of_mixes = sum(
            statement.of_mixes and it not in UNTOLD
            for statement, it in zip(self._statements, under, strict=True)
        )
        empty = under.count("empty")
        return (
            f"Jobs alone can tell {measured - of_mixes} of {len(under)} findings"
            + (f", and mixes {of_mixes} more" if of_mixes else "")
            + (f"; {empty} {'is' if empty == 1 else 'are'} empty" if empty else "")
            + f". The findings that hold are {each}, and {under.count('all')} under all four."
        )

    def section(self) -> Section:
        """Makes the section on placements."""
        return Section(
            title="What placement decides",
            text=[
                "The paper states a linear mapping for its validation alone, and every other "
                "table of this page has that: jobs take nodes one after another. Here each job is "
                "alone, runs its loop twice, and takes its nodes in four ways. `linear`: the "
                "first nodes. `random-nodes`: nodes by chance. `random-switches`: switches by "
                "chance, whose nodes it fills. `contiguous`: a stretch of nodes that begins at "
                "any. Each has three seeds, of the placement and of adaptive routing. GPUs of a "
                "node stay together in all. A finding on a job's neighbours is judged on five "
                "mixes, whose jobs take their nodes one job after another in the same ways.",
                f"{self.counts()} A finding holds under a placement if it does with every seed.",
                "Alone, linear mapping explains why round robin gains nothing for Subcomm3d: its "
                "lines then lie at one switch or two. With nodes by chance it gains, too, and "
                "Stencil4d gains less than with linear mapping: the first table has both beside "
                "the paper's numbers. "
                "It is no cure for all, as the other findings show.",
            ],
            tables=[self._numbers(), self._findings()],
        )

    def _numbers(self) -> StudyTable:
        said = {
            name: value
            for name, value in published()["nic_scheduling"].items()
            if isinstance(value, float)
        }
        rows: list[tuple[Cell, ...]] = []
        for application in FIGURES:
            for ranks in RANKS:
                for gpus in NIC_DENSITIES:
                    for nic in NICS:
                        key = f"{application}_{ranks}_{nic}_on_{gpus}_per_node"
                        if key in said:
                            setting = Setting("dragonfly", gpus, nic=nic)
                            cells = [
                                self._spread(mapping, setting, application, ranks)
                                for mapping in PLACEMENTS
                            ]
                            rows.append((application, ranks, gpus, nic, said[key], *cells))
        return StudyTable(
            title="The numbers of Figs. 8 and 9 under each placement",
            columns=(
                "application",
                "processes",
                "GPUs per node",
                "policy",
                "published",
                *PLACEMENTS,
            ),
            rows=tuple(rows),
            formats=("", "", "", "", ".2f", *("",) * len(PLACEMENTS)),
            note="Speed-up over FCFS at one GPU per node, of a job alone: the mean over seeds, and "
            "in brackets the least and the most.",
        )

    def _spread(self, mapping: str, setting: Setting, application: str, ranks: int) -> str:
        found = [
            value
            for placement, measured in self._measured.items()
            if placement.mapping == mapping
            and (value := measured.speedup(setting, application, ranks)) is not None
        ]
        if not found:
            return "not measured"
        return f"{fmean(found):.2f} ({min(found):.2f} to {max(found):.2f})"

    def _findings(self) -> StudyTable:
        def cell(says: str, mapping: str) -> str:
            told = self._told(says, mapping)
            return f"{sum(told)} of {len(told)}" if told else "not measured"

        rows = [
            (
                statement.source,
                statement.says,
                *(cell(statement.says, mapping) for mapping in PLACEMENTS),
            )
            for statement in self._statements
            if self.holds_under(statement.says) not in UNTOLD
        ]
        return StudyTable(
            title="With how many seeds a finding holds",
            columns=("section", "finding", *PLACEMENTS),
            rows=tuple(rows),
        )


def _by_placement(times: Sequence[JobTime]) -> dict[Placement, list[JobTime]]:
    """Sorts times by placement."""
    found: dict[Placement, list[JobTime]] = {}
    for each in times:
        found.setdefault(each.placement, []).append(each)
    return dict(sorted(found.items()))
