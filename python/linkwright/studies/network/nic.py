"""Figs. 8 to 11: in which order a network interface makes packets of messages."""

from __future__ import annotations

from linkwright.studies.network.charts import speedup_by_nic
from linkwright.studies.network.measured import Measured
from linkwright.studies.network.published import published
from linkwright.studies.network.settings import NIC_DENSITIES, NICS, nic_settings
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["FIGURES", "RANKS", "nic"]

# AMG has no figure; the text says that it is like SW4lite.
FIGURES = {
    "stencil4d": "Fig. 8",
    "subcomm3d": "Fig. 9",
    "laghos": "Fig. 10",
    "sw4lite": "Fig. 11",
    "amg": "text",
    "kripke": "text",
}
RANKS = (64, 512)


def nic(measured: Measured) -> Section:
    """Writes the section on the policies of network interfaces."""
    said = published()["nic_scheduling"]
    rows: list[tuple[Cell, ...]] = []
    bars = []
    for application, where in FIGURES.items():
        for ranks in RANKS:
            for gpus in NIC_DENSITIES:
                settings = nic_settings(gpus)
                found = [measured.speedup(each, application, ranks) for each in settings]
                cells: list[Cell] = []
                for name, speedup in zip(NICS, found, strict=True):
                    cells.append(speedup)
                    if name in ("fcfs", "rr"):
                        cells.append(said.get(f"{application}_{ranks}_{name}_on_{gpus}_per_node"))
                rows.append((application, where, ranks, gpus, *cells))
                bars += [
                    {
                        "application": application,
                        "system": f"{ranks} on {gpus}",
                        "policy": name,
                        "speedup": speedup,
                    }
                    for name, speedup in zip(NICS, found, strict=True)
                    if speedup is not None
                ]
    return Section(
        title="Figs. 8 to 11: network interfaces on the dragonfly",
        text=[
            "FCFS makes a message into packets whole before the next; RR takes a packet of each "
            "message in turn, and RR-N of the first N. All speed-ups are over FCFS with one GPU "
            "per node, with links of bandwidth x.",
        ],
        tables=[
            StudyTable(
                title="Speed-up over FCFS at 1 GPU per node on the dragonfly",
                columns=(
                    "application",
                    "of",
                    "processes",
                    "GPUs per node",
                    "FCFS",
                    "FCFS, published",
                    "RR-2",
                    "RR-4",
                    "RR",
                    "RR, published",
                ),
                rows=tuple(rows),
                formats=("", "", "", "", *(".2f",) * 6),
                note="The published numbers are those that the text names; the figures have no "
                "tables.",
            )
        ],
        figures={
            "network-interfaces": speedup_by_nic(
                bars,
                "Speed-up over FCFS with 1 GPU per node on the dragonfly",
                "Simulated, by the policy of the network interfaces; bandwidth x.",
            )
        },
    )
