"""The study as a whole: its sections are made of measured times, wherever these come from."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow
import pyarrow.csv
import pyarrow.parquet

from linkwright.studies.network.bandwidth import bandwidth, requirement
from linkwright.studies.network.density import density
from linkwright.studies.network.jobs import SEED, SPAN
from linkwright.studies.network.measured import JobTime, Measured, times_table
from linkwright.studies.network.nic import nic
from linkwright.studies.network.placed import Placed
from linkwright.studies.network.quartz import quartz
from linkwright.studies.network.quartz_measured import QuartzTime, quartz_csv
from linkwright.studies.network.settings import NETWORKS
from linkwright.studies.network.shares import shares
from linkwright.studies.network.statements import STATEMENTS, statements
from linkwright.studies.parts import Parts, chosen, made
from linkwright.studies.study import TimedStudy
from linkwright.studies.tables import Section

__all__ = ["INTRODUCTION", "TITLE", "NetworkStudy", "coverage", "sections_of"]

TITLE = "GPUs that share a network interface"
INTRODUCTION = (
    'Bhowmik et al., "A Simulation Study of Hardware Parameters for Future GPU-based HPC '
    'Platforms" (IPCCC 2021), study clusters of 2048 GPUs. They ask how much a cluster loses when '
    "more GPUs share a node, and so a network interface. They ask which bandwidth makes up for "
    "it, and in which order an interface should send. This study plays mixes of jobs on "
    "Linkwright's packet model of the same networks, and puts the paper's findings beside ours.",
    "The comparison is limited to published numbers. The traces, the mixes and the message sizes "
    "are unpublished, and the figures are charts without tables. So the applications are "
    "skeletons, whose parameters are chosen for the shares of Fig. 4. The sends of Stencil4d are "
    "chosen for Fig. 8, too. The lines of Subcomm3d and the messages of Kripke and Laghos are "
    "chosen for Table II. The messages of AMG are chosen for Section VI.C, at one GPU per node "
    "([Programs](../concepts/programs.md) names each). Agreement there is a fit; all else is a "
    "result. When we fitted on the dragonfly, packets could still take detours within groups. "
    "They no longer do. Statements check the paper's sentences. No published number enters a "
    "model.",
    "The mixes are drawn by the paper's rule. Jobs take nodes one after another. The paper states "
    "this linear mapping for its validation alone "
    "([What placement decides](#what-placement-decides)). All start at once. Each repeats its "
    f"main loop, at least once, for about {SPAN * 1e3:g} ms of its time alone on the fat-tree "
    "with one GPU per node. So at first all jobs disturb each other. Where a setting slows some "
    "jobs more than others, these have the network to themselves at the end. The paper does not "
    "say how long its jobs run. Packets are routed adaptively on the fat-tree and by progressive "
    "adaptive routing on the dragonfly. As in CODES, the paper's simulator, they never cross a "
    "third switch of a group, and no hops weigh the queues "
    "([Routing](../concepts/network.md#routing)).",
)


@dataclass(frozen=True)
class NetworkStudy(TimedStudy):
    """Holds the outcome of the network study.

    Attributes:
        times: The time of every job of every run.
        on_quartz: Those of Fig. 3's mixes.
        only: Makes this section alone.
        placed: Those of jobs alone under each placement.
        placed_mixes: Those of mixes under each placement.
    """

    times: Sequence[JobTime]
    on_quartz: Sequence[QuartzTime]
    placed: Sequence[JobTime] = ()
    placed_mixes: Sequence[JobTime] = ()

    def contents(self) -> dict[str, bytes]:
        """Returns the files without figures, by name; `times` and `quartz` hold jobs' times."""
        text = io.BytesIO()
        pyarrow.csv.write_csv(times_table(self.times), text)
        files = {
            "times.parquet": _parquet(self.times),
            "times.csv": text.getvalue(),
            "quartz.csv": quartz_csv(self.on_quartz).encode(),
        }
        placed = {"placed": self.placed, "placed-mixes": self.placed_mixes}
        files |= {f"{name}.parquet": _parquet(times) for name, times in placed.items() if times}
        return {**super().contents(), **files}


def _parquet(times: Sequence[JobTime]) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(times_table(times), file, compression="zstd")
    return file.getvalue()


def sections_of(
    times: Sequence[JobTime],
    placed: Sequence[JobTime] = (),
    placed_mixes: Sequence[JobTime] = (),
    *,
    on_quartz: Sequence[QuartzTime] = (),
    only: str | None = None,
) -> list[Section]:
    """The sections, or that of the name `only`, of times that were measured now or before.

    Args:
        times: Those of the mixes.
        placed: Those of jobs alone under each placement.
        placed_mixes: Those of mixes under each placement.
        on_quartz: Those of Fig. 3's mixes.
        only: Makes this section alone.
    """
    measured = Measured(times)
    of_placement = Placed(placed, STATEMENTS, placed_mixes) if placed else None
    parts: Parts = {
        "findings": lambda: statements(measured, of_placement),
        "placement": lambda: None if of_placement is None else of_placement.section(),
        "shares": shares,
        **{f"density-{network}": partial(density, measured, network) for network in NETWORKS},
        "bandwidth": lambda: bandwidth(measured),
        "requirement": lambda: requirement(measured),
        "interfaces": lambda: nic(measured),
        "quartz": lambda: quartz(on_quartz) if on_quartz else None,
    }
    return made(chosen("network", parts, only))


def coverage(times: Sequence[JobTime]) -> str:
    """A sentence on how much was run."""
    mixes = sorted({each.mix for each in times})
    settings = {each.setting for each in times}
    runs = {(each.setting, each.mix) for each in times}
    return (
        f"Here: {len(mixes)} of the 20 mixes of seed {SEED} (numbers "
        f"{', '.join(map(str, mixes))}), {len(settings)} systems, {len(runs)} runs."
    )
