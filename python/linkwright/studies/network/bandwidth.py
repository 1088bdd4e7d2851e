"""Computes Fig. 7 and Table II: the effect of more or less bandwidth."""

from __future__ import annotations

from math import inf

from linkwright.studies.network.charts import speedup_by_bandwidth
from linkwright.studies.network.jobs import APPLICATIONS
from linkwright.studies.network.measured import Measured
from linkwright.studies.network.published import published
from linkwright.studies.network.settings import (
    NETWORKS,
    REQUIREMENT_DENSITIES,
    bandwidth_factors,
    bandwidth_settings,
    factor_text,
)
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["REQUIREMENT_COLUMNS", "bandwidth", "requirement"]

RANKS = 128
# Processes and GPUs per node, in the order of the published columns.
REQUIREMENT_COLUMNS = [(ranks, gpus) for ranks in (32, 512) for gpus in REQUIREMENT_DENSITIES]


def bandwidth(measured: Measured) -> Section:
    """Writes the section on Fig. 7."""
    tables, figures = [], {}
    for network in NETWORKS:
        settings = bandwidth_settings(network)
        rows: list[tuple[Cell, ...]] = []
        points = []
        for application in APPLICATIONS:
            found = [measured.speedup(each, application, RANKS) for each in settings]
            rows.append((application, *found))
            points += [
                {"application": application, "bandwidth": each.bandwidth, "speedup": speedup}
                for each, speedup in zip(settings, found, strict=True)
                if speedup is not None
            ]
        title = f"Speed-up over 1 GPU per node and bandwidth x on the {network}"
        tables.append(
            StudyTable(
                title=f"{title}: {RANKS} processes, 4 GPUs per node",
                columns=("application", *map(factor_text, bandwidth_factors())),
                rows=tuple(rows),
                formats=("", *(".2f",) * len(settings)),
            )
        )
        figures[f"network-bandwidth-{network}"] = speedup_by_bandwidth(
            points, title, f"Simulated; {RANKS} processes, 4 GPUs per node."
        )
    x = published()["machine"]["link_bandwidth"]
    return Section(
        title="Fig. 7: bandwidth with four GPUs per node",
        text=[
            f"All jobs have {RANKS} processes, and x is {x}. The bandwidth within a node is "
            "multiplied, too, since it is defined as twice the bandwidth of a link.",
        ],
        tables=tables,
        figures=figures,
    )


def requirement(measured: Measured) -> Section:
    """Writes the section on Table II."""
    entry = published()["least_bandwidth"]
    rows: list[tuple[Cell, ...]] = []
    for application in APPLICATIONS:
        cells: list[Cell] = []
        for (ranks, gpus), said in zip(REQUIREMENT_COLUMNS, entry[application], strict=True):
            found = measured.least_bandwidth(application, ranks, gpus)
            cells += [factor_text(said), _least(found)]
        rows.append((application, *cells))
    heads = [
        head
        for ranks, gpus in REQUIREMENT_COLUMNS
        for head in (
            f"{ranks} on {gpus} per node, published",
            f"{ranks} on {gpus} per node, reproduced",
        )
    ]
    return Section(
        title="Table II: the least bandwidth for 90 % of the performance",
        text=[
            "The base is the mean performance on the fat-tree with one GPU per node and bandwidth "
            "x. The table has the least of nine bandwidths that keeps 90 % of it.",
        ],
        tables=[
            StudyTable(
                title="Least bandwidth for 90 % of the default's performance, fat-tree",
                columns=("application", *heads),
                rows=tuple(rows),
                note=f"{entry['remark']} The findings above say where ours part.",
            )
        ],
    )


def _least(factor: float | None) -> Cell:
    if factor is None:
        return None
    return f"over {factor_text(bandwidth_factors()[-1])}" if factor == inf else factor_text(factor)
