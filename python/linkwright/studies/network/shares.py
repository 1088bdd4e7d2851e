"""Plays Fig. 4: computing and communicating at 32 processes, before and after scaling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow

from linkwright.studies.network.charts import shares_by_application
from linkwright.studies.network.jobs import APPLICATIONS, MixJob, cluster_job
from linkwright.studies.network.published import published
from linkwright.studies.network.settings import Setting, cluster
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["communicating", "shares", "within"]

# After the first iterations, ranks are as much out of step as they stay.
ITERATIONS = 4
SMALLEST = 32
SCALINGS = {"before_scaling": False, "after_scaling": True}


def communicating(application: str, *, scaled: bool) -> float:
    """Returns the share of time in which an application alone waits for messages, 0 to 1."""
    job = cluster_job(MixJob(application, SMALLEST, ITERATIONS), scaled=scaled)
    [row] = pyarrow.table(cluster(Setting("fat-tree")).play([job]).jobs()).to_pylist()
    exposed, computing = row["exposed_communication"], row["computing"]
    return float(exposed / (exposed + computing))


def within(share: float, said: Mapping[str, float]) -> bool:
    """Whether a share is what the paper says of it."""
    if "about" in said:
        return abs(share - said["about"]) <= said["tolerance"]
    return said.get("above", 0.0) <= share <= said.get("below", 1.0)


def shares() -> Section:
    """Writes the section on Fig. 4."""
    entry = published()["shares"]
    found = {
        (name, when): communicating(name, scaled=scaled)
        for name in APPLICATIONS
        for when, scaled in SCALINGS.items()
    }
    rows: list[tuple[Cell, ...]] = []
    for name in APPLICATIONS:
        cells: list[Cell] = []
        for when in SCALINGS:
            said, share = entry[when][name], found[name, when]
            cells += [_said(said), share, "yes" if within(share, said) else "no"]
        rows.append((name, *cells))
    return Section(
        title="Fig. 4: computing and communicating on 32 processes",
        text=[
            "Each application runs alone on the fat-tree with one GPU per node. Its computation "
            "is as on the CPUs of the traces, and as on GPUs. Communication counts where no "
            "computation hides it.",
        ],
        tables=[
            StudyTable(
                title="Share of time in communication on 32 processes",
                columns=(
                    "application",
                    "before scaling, published",
                    "before scaling, reproduced",
                    "within",
                    "after scaling, published",
                    "after scaling, reproduced",
                    "within ",
                ),
                rows=tuple(rows),
                formats=("", "", ".1%", "", "", ".1%", ""),
                note=(
                    "The paper prints neither message sizes nor factors of scaling. The "
                    "skeletons' parameters are chosen for these shares. So this table shows that "
                    "the packet simulation meets them, and predicts nothing."
                ),
            )
        ],
        figures={"network-shares": shares_by_application(_bars(found))},
    )


def _said(said: Mapping[str, float]) -> str:
    if "about" in said:
        return f"about {said['about']:.0%}"
    bounds = (f"{words} {said[bound]:.0%}" for bound, words in WORDS.items() if bound in said)
    return ", ".join(bounds)


WORDS = {"above": "over", "below": "under"}


def _bars(found: Mapping[tuple[str, str], float]) -> list[dict[str, Any]]:
    return [
        {"application": name, "computation": when.replace("_", " "), "part": part, "share": share}
        for (name, when), exposed in found.items()
        for part, share in (("communicating", exposed), ("computing", 1 - exposed))
    ]
