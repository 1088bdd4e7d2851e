"""Plays two servers with parts of a job: all-reduce in three phases."""

from __future__ import annotations

from linkwright import System
from linkwright.names import AlgorithmName
from linkwright.studies.blink.measure import (
    LARGE,
    OF_ITS_TIME,
    RECENT,
    THREE_PHASE,
    Progress,
    named,
    timed,
)
from linkwright.studies.blink.published import published
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["two_servers"]

MACHINE = "dgx1-v100"
# The schedulers left these GPUs: the second set has no ring of NVLinks on either server.
PLACEMENTS = {
    "lowest ids": ((0, 1, 2, 3, 4), (0, 1, 2)),
    "scattered": ((0, 1, 4, 5, 6), (1, 4, 5)),
}
RIVALS: tuple[AlgorithmName, ...] = (OF_ITS_TIME, RECENT, "nccl-tree")


def two_servers(progress: Progress | None = None) -> Section:
    """Writes the section on a job on two servers."""
    server = System(MACHINE)
    rates = published()["servers"]["rates"]
    rows: list[tuple[Cell, ...]] = []
    for done, rate in enumerate(rates, 1):
        machine = System(server, 2, network=rate)
        for placement, (first, second) in PLACEMENTS.items():
            gpus = [*first, *(gpu + server.gpu_count for gpu in second)]
            found = {
                name: timed(machine, gpus, "all-reduce", name)[0] for name in (THREE_PHASE, *RIVALS)
            }
            ours = found[THREE_PHASE]
            gained = [found[rival].seconds / ours.seconds for rival in RIVALS]
            bandwidths = [each.bandwidth for each in found.values()]
            where = f"{placement}: {named(first)} and {named(second)}"
            rows.append((rate, where, *bandwidths, *gained))
        if progress is not None:
            progress("two servers", done, len(rates))
    return Section(
        title="Two DGX-1V with five and three GPUs of a job",
        text=[
            f"An all-reduce of {LARGE >> 20} MiB has three phases: it reduces on each server, "
            "exchanges between them, and sends out on each. The network's rate is the rate of "
            "each of a server's four interfaces.",
        ],
        tables=[
            StudyTable(
                title="All-reduce on two servers, reproduced: GB/s of the data's size, and times "
                "as fast",
                columns=(
                    "network",
                    "GPUs on each",
                    THREE_PHASE,
                    *RIVALS,
                    *(f"{THREE_PHASE} over {rival}" for rival in RIVALS),
                ),
                rows=tuple(rows),
                formats=("", "", *(".2f",) * (1 + 2 * len(RIVALS))),
                note=(
                    "Only a figure shows the published gain, of servers with one interface each. "
                    "The authors projected 100 and 400 Gb/s. Here a server has four interfaces. "
                    "Three phases use the two near the smaller part's GPUs. The channels of the "
                    "model's NCCL meet at one. That is a factor of 2 of the gain. At 400 Gb/s "
                    "nothing is faster than at 100, as PCIe 3 between a GPU and its interface is "
                    "the limit. A projection from the network's rate leaves that out."
                ),
            )
        ],
    )
