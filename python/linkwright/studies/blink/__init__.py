"""Tests Blink's claims on collectives (MLSys'20), published beside reproduced.

The paper is Wang et al., "Blink: Fast and Generic Collectives for Distributed ML",
https://arxiv.org/abs/1910.04940. Published numbers come from the data file `validation/blink.toml`,
and NCCL's measured speeds over PCIe from `validation/nccl-tests.csv`.
"""

from __future__ import annotations

from linkwright.studies.blink.allocations import allocations
from linkwright.studies.blink.end_to_end import end_to_end
from linkwright.studies.blink.epochs import epochs
from linkwright.studies.blink.fragments import fragments_of_a_day
from linkwright.studies.blink.hybrid import hybrid
from linkwright.studies.blink.measure import Progress, contestants
from linkwright.studies.blink.one_server import one_server
from linkwright.studies.blink.servers import two_servers
from linkwright.studies.blink.servers_training import training_on_two_servers
from linkwright.studies.blink.streams import streams
from linkwright.studies.blink.switched import switched
from linkwright.studies.blink.training import training
from linkwright.studies.parts import Parts, chosen, made
from linkwright.studies.study import Study

__all__ = ["INTRODUCTION", "TITLE", "run"]

TITLE = "Trees in place of rings"
INTRODUCTION = (
    "Blink (Wang et al., MLSys'20) packs spanning trees into the links that a job was given, "
    "where NCCL makes rings. It reports how much faster that is. This study plans the same "
    "collectives on Linkwright's model of the same machines and times every schedule on the "
    "model's links. It puts each published number beside the reproduced one.",
    "Every comparison names its NCCL. Blink was measured against NCCL 2.3 and 2.4, which is "
    "`nccl-classic` here. It sends everything over PCIe where no ring of NVLinks exists. "
    "`nccl-ring` and `nccl-tree` are the search of NCCL 2.18, which relays through another GPU of "
    "the job instead. So against NCCL 2.18 **the win in broadcast mostly disappears**.",
    "Our times come from a model, not from a machine. The paper gives the maximum and the "
    "geometric mean of its measurements. Its figures have no table behind them.",
)


def run(*, quick: bool = False, progress: Progress | None = None, only: str | None = None) -> Study:
    """Runs the study, or one section.

    Args:
        quick: Fewer sizes on the DGX-2, networks, allocations and jobs; the tables are the same
            ones.
        progress: Called with the stage, the steps done, and the steps in all.
        only: Makes this section alone.

    Raises:
        LinkwrightError: If there is no section of that name.
    """
    names = contestants()
    parts: Parts = {
        "allocations": allocations,
        "broadcast": lambda: one_server("broadcast", names, progress),
        "all-reduce": lambda: one_server("all-reduce", names, progress),
        "dgx2": lambda: switched(quick=quick, progress=progress),
        "streams": lambda: streams(names, quick=quick, progress=progress),
        "hybrid": lambda: hybrid(progress),
        "servers": lambda: two_servers(progress),
        "training": lambda: training(names, quick=quick, progress=progress),
        "epochs": lambda: epochs(quick=quick, progress=progress),
        "end-to-end": lambda: end_to_end(quick=quick, progress=progress),
        "training-on-servers": lambda: training_on_two_servers(quick=quick, progress=progress),
        "fragments": lambda: fragments_of_a_day(quick=quick, progress=progress),
    }
    sections = made(chosen("blink", parts, only))
    return Study(
        name="blink",
        title=TITLE,
        introduction=INTRODUCTION,
        sections=tuple(sections),
    )
