"""Computes Figs. 5 and 6: the cost of several GPUs per node for each application."""

from __future__ import annotations

from linkwright.studies.network.charts import speedup_by_ranks
from linkwright.studies.network.jobs import APPLICATIONS, ranks_of_jobs
from linkwright.studies.network.measured import Measured
from linkwright.studies.network.published import published
from linkwright.studies.network.settings import DENSITIES, density_settings
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["density"]

FIGURES = {"fat-tree": 5, "dragonfly": 6}


def density(measured: Measured, network: str) -> Section:
    """Writes the section on GPUs per node in one network."""
    said = published()["gpus_per_node"]["stencil4d_32_on_2_per_node"]
    fat_tree = network == "fat-tree"
    rows: list[tuple[Cell, ...]] = []
    bars = []
    for application in APPLICATIONS:
        for ranks in ranks_of_jobs():
            settings = density_settings(network)
            count = len(measured.occurrences(settings[0], application, ranks))
            cells = [measured.speedup(each, application, ranks) for each in settings[1:]]
            first = fat_tree and (application, ranks) == ("stencil4d", 32)
            rows.append((application, ranks, count, *cells, said if first else None))
            bars += [
                {
                    "application": application,
                    "ranks": ranks,
                    "which": f"{each.gpus_per_node} per node",
                    "speedup": measured.speedup(each, application, ranks),
                }
                for each in settings
                if count
            ]
    heads = [f"{gpus} per node" for gpus in DENSITIES[1:]]
    number = FIGURES[network]
    text = (
        "The table has the performance with several GPUs per node over the performance with one. "
        "It is the mean over all occurrences in the mixes. Links have "
        f"{published()['machine']['link_bandwidth']}, and interfaces serve first come, first "
        "served."
    )
    # The one published number of these figures is of the fat-tree.
    last = ("2 per node, published",) if fat_tree else ()
    columns = ("application", "processes", "occurrences", *heads, *last)
    table = StudyTable(
        title=f"Speed-up over 1 GPU per node on the {network}",
        columns=columns,
        rows=tuple(row[: len(columns)] for row in rows),
        formats=("", "", "", *(".2f",) * len(columns[3:])),
        note=_NOTES[network],
    )
    title = f"Speed-up over 1 GPU per node on the {network}"
    return Section(
        title=f"Fig. {number}: GPUs per node on the {network}",
        text=[text],
        tables=[table],
        figures={
            f"network-gpus-per-node-{network}": speedup_by_ranks(
                bars, title, "Simulated; mean over all occurrences in the mixes."
            )
        },
    )


_NOTES = {
    "fat-tree": (
        "The figure has no table behind it; one bar is named in the text. A job that no mix of "
        "this study has shows no number."
    ),
    "dragonfly": "The figure has no table behind it, and the text names no number of it.",
}
