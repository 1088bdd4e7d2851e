"""How each study's page opens: a question, one picture, and one table, published beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

from linkwright.studies.tables import StudyTable

__all__ = ["OPENINGS", "Opening"]


@dataclass(frozen=True)
class Opening:
    """Holds the first screen of a study.

    Attributes:
        question: Its question, for a reader who knows no paper.
        reads: How the table is read.
        figure: The name of one of the study's charts.
        table: How the title of one of the study's tables begins.
        columns: The places of the columns that are shown; all where empty.
        keeps: Whether a row is shown, by its printed cells.
    """

    question: str
    reads: str
    figure: str
    table: str
    columns: Sequence[int] = ()
    keeps: Callable[[Sequence[str]], bool] = lambda _: True

    def of(self, tables: Iterable[StudyTable]) -> StudyTable | None:
        """The rows and columns of the study's table; None where that section was not made."""
        whole = next((each for each in tables if each.title.startswith(self.table)), None)
        if whole is None:
            return None
        places = self.columns or range(len(whole.columns))
        kept = [self.keeps(cells) for cells in whole.printed()]
        return StudyTable(
            title="",
            columns=tuple(whole.columns[place] for place in places),
            rows=tuple(tuple(row[place] for place in places) for row in compress(whole.rows, kept)),
            formats=tuple(whole.formats[place] for place in places) if whole.formats else (),
        )


OPENINGS: Mapping[str, Opening] = {
    "mapa": Opening(
        question="How much sooner do jobs end on a shared server if each gets the GPUs whose links "
        "suit it?",
        reads="Times as fast as with the lowest free ids. A range is over 20 lists of jobs.",
        figure="run-time-dgx1-v100",
        table="In short",
    ),
    "blink": Opening(
        question="How much faster does an all-reduce go over spanning trees than over rings?",
        reads="Times as fast on the GPUs of a DGX-1, at most and in the mean of all sets of GPUs, "
        "over each other library. Two prices of PCIe bound the published number.",
        figure="blink-all-reduce",
        table="Speed-up of all-reduce",
        columns=(0, 2, 3, 4, 5, 6, 7, 8),
        keeps=lambda cells: cells[1] == "packing",
    ),
    "network": Opening(
        question="How much slower do jobs run when more GPUs share a network interface, and how "
        "much bandwidth makes up for it?",
        reads="Each finding as published, and the numbers that come out here.",
        figure="network-gpus-per-node-fat-tree",
        table="The paper's findings",
        columns=(1, 2, -1),
        keeps=lambda cells: cells[0] in ("Table II", "VI.B"),
    ),
    "pcie": Opening(
        question="Two tenants copy to their GPUs over one PCIe bus: how much does it help to let "
        "small copies go first?",
        reads="How much more gets done than with turns, published and in two wirings.",
        figure="pcie-pairs",
        table="Throughput over round-robin, mean of 28 pairs",
    ),
    "memory": Opening(
        question="How much faster do kernels run if all GPUs share one memory, instead of reading "
        "each other's?",
        reads="Published numbers, and the numbers that come out here.",
        figure="memory-shared-over-rdma",
        table="The dissertation's sentences",
        columns=(1, 3, 4, 5),
        keeps=lambda cells: cells[0].startswith("section 3.3"),
    ),
    "thermal": Opening(
        question="How hot does a package of four GPUs, a CPU and four stacks of memory become?",
        reads="The hottest place under each assumption on the cooling, beside the published one.",
        figure="thermal-map",
        table="The hottest place",
        columns=(0, 1, 2, 3, 4),
    ),
    "training": Opening(
        question="How long does an epoch of training take on one to eight GPUs?",
        reads="Seconds of an epoch on a DGX-1P, published beside ours.",
        figure="training-times",
        table="Table 2.6",
        columns=(1, 2, 4, 5, 6, 7, 8),
        keeps=lambda cells: cells[2] == "64",
    ),
}
