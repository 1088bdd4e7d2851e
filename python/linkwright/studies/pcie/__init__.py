"""Plays the study of PCIe scheduling (IEEE CAL 2019): four policies of a shared bus.

Li et al., "Priority-Based PCIe Scheduling for Multi-Tenant Multi-GPU Systems",
https://doi.org/10.1109/LCA.2019.2955119. Published numbers come from the data file
`validation/pcie.toml`, with the times of kernels and copies that the paper does not give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from linkwright.studies.parts import Parts, chosen, made
from linkwright.studies.pcie.contention import BATCH
from linkwright.studies.pcie.dependence import dependence, own_kernels
from linkwright.studies.pcie.eight import eight_tasks, faster_resnet, fit
from linkwright.studies.pcie.layouts import LAYOUTS, QUICK, Layout
from linkwright.studies.pcie.published import published
from linkwright.studies.pcie.readback import read_backs
from linkwright.studies.pcie.readings import readings
from linkwright.studies.pcie.runs import Pair, Progress, perform
from linkwright.studies.pcie.sections import each_layout, each_pair, longer, statements, workloads
from linkwright.studies.study import Study

__all__ = ["INTRODUCTION", "TITLE", "run"]

TITLE = "Small copies first on a PCIe bus"
INTRODUCTION = (
    "Li et al. (IEEE Computer Architecture Letters, 2019) let two tenants share the PCIe bus of a "
    "server with four GPUs. Each repeats: copy from the host, then execute. The bus does not "
    "serve virtual channels in turn. The copy with the least left goes first, and a copy that "
    "would miss its deadline is raised. This study plays Table 1's workloads in all 28 pairs on "
    "Linkwright's [model of the bus](../concepts/pcie.md), packet by packet, under their four "
    "policies.",
    "The comparison is limited to published numbers: Table 1's sizes, and the sentences on Figs. "
    "3, 5 and 6. The paper says neither how long kernels take nor how fast copies are. Kernel "
    "times here are those of the R9 Nano of MGPUSim v4.2.0 at Table 1's sizes. The paper extends "
    "that simulator. The times of Linkwright's own R9 Nano stand beside them. Copies reach 26 "
    "GB/s behind 0.5 µs, as over PCIe 4. Only inputs are copied, since the table has one size for "
    "each workload. A section compares other readings of these with the paper, and one copies "
    "results back. None is fitted to a result. The paper says less of Fig. 3, so one number there "
    "is fitted to one point.",
    "The paper measures for 0.3 seconds, in which 81.75 iterations are done in the mean. "
    "Iterations of Table 1's sizes take 8 to 70 µs, so 0.3 seconds hold thousands. 0.3 "
    "milliseconds are of the right order. The study measures for that long unless `--set window` "
    "says otherwise. Of iterations under way at the end, the parts within the window count.",
    "**The gain of priority depends on what is shared, and the paper does not say that.** Its "
    "Fig. 2 has two switches below one root complex. If they share one link of 16 lanes, the "
    "tasks ask for more of it than it has in more than half of the pairs. If each switch has its "
    "own, they ask for little more than half of it. The published gain lies between the two.",
)


def run(
    *,
    quick: bool = False,
    progress: Progress | None = None,
    window: float | None = None,
    batch: int = BATCH,
    only: str | None = None,
) -> Study:
    """Runs the study, or one section.

    Args:
        quick: Two of the eight layouts, no other readings and no longer window.
        progress: Called with the stage, the pairs done, and the pairs in all.
        window: Seconds in which iterations are counted; where absent, 0.3 ms.
        batch: Images of a step of ResNet-50, of the eight tasks of Fig. 3.
        only: Makes this section alone.

    Raises:
        LinkwrightError: If there is no section of that name.
    """
    seconds = published()["window"]["used"] * 1e-3 if window is None else window

    @cache
    def found() -> Mapping[Layout, Sequence[Pair]]:
        return {
            layout: perform(layout, seconds, progress=progress, stage=layout.name)
            for layout in (QUICK if quick else LAYOUTS)
        }

    parts: Parts = {
        "workloads": lambda: workloads(seconds),
        "kernels": own_kernels,
        "throughput": lambda: statements(found(), seconds),
        "layouts": lambda: each_layout(found()),
        "pairs": lambda: each_pair(found()),
        "results": read_backs,
        "eight": lambda: eight_tasks(fit(batch, progress), batch),
    }
    if not quick:
        parts = {
            **parts,
            "readings": lambda: readings(found(), seconds, progress),
            "dependence": lambda: dependence(found(), seconds, progress),
            "window": lambda: longer(seconds, progress),
            "faster-resnet": lambda: faster_resnet(batch, progress),
        }
    sections = tuple(made(chosen("pcie", parts, only)))
    return Study(name="pcie", title=TITLE, introduction=INTRODUCTION, sections=sections)
