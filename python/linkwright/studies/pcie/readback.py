"""Results that are copied back: a reader beside a writer under each policy."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow

from linkwright.network import ClusterJob, Program, ProgramBuilder
from linkwright.studies.pcie.layouts import POLICIES, Layout, system
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["CASES", "Case", "last_copies", "read_backs"]

# Pinned copies over PCIe 3, in gigabytes per second.
COPIED = 13.0
# Bytes of a copy, and how many of them follow one another.
SIZE, COPIES = 500_000, 4


@dataclass(frozen=True)
class Case:
    """Describes a reader, whose results go to the host, and a writer beside it.

    Attributes:
        name: In words.
        to_peer: Whether the writer sends to a GPU behind the other switch.
        sizes: Bytes of a copy.
    """

    name: str
    to_peer: bool
    sizes: tuple[int, int]


CASES = (
    Case("inputs go down, results come up", to_peer=False, sizes=(SIZE, SIZE)),
    Case("the same, results a tenth", to_peer=False, sizes=(SIZE, SIZE // 10)),
    Case("a peer's data and results go up", to_peer=True, sizes=(SIZE, SIZE)),
)


def _host_copies(name: str, gpu: int, direction: str, size: int) -> ClusterJob:
    copied = {"input": "0 B", "output": "0 B", direction: f"{size} B"}
    program = Program.skeleton("copy-execute", 1, kernel="1 ns", **copied)
    return ClusterJob(program, name=name, iterations=COPIES, mapping=[gpu])


def _writer(case: Case) -> ClusterJob:
    size, _ = case.sizes
    if not case.to_peer:
        return _host_copies("writer", 0, "input", size)
    builder = ProgramBuilder(2)
    for _ in range(COPIES):
        builder.copy(0, "peer", f"{size} B", peer=1)
    # Behind the other switch, so that it crosses the reader's link to the host.
    return ClusterJob(builder.build(), name="writer", mapping=[0, 2])


def _reader(case: Case) -> ClusterJob:
    return _host_copies("reader", 1, "output", case.sizes[1])


def last_copies(case: Case, policy: str) -> tuple[float, float]:
    """When the writer's last copy and the reader's last have arrived, in milliseconds.

    Args:
        case: Says who copies.
        policy: Who goes first.
    """
    writer, reader = _played(policy, _writer(case), _reader(case))
    return writer, reader


def _played(policy: str, *jobs: ClusterJob) -> tuple[float, ...]:
    on = system(Layout(root=False, gpus=1, split=False, copied=COPIED), policy)
    table = pyarrow.table(on.play(list(jobs), timeline=1 << 12).copies()).to_pylist()
    ends = [max(row["end"] for row in table if row["job"] == job) for job in range(len(jobs))]
    return tuple(end * 1e3 for end in ends)


def read_backs() -> Section:
    """Plays the cases under each policy."""
    rows: list[tuple[Cell, ...]] = []
    found: dict[tuple[Case, str], tuple[float, float]] = {}
    for case in CASES:
        [writer] = _played("round-robin", _writer(case))
        [reader] = _played("round-robin", _reader(case))
        rows.append((case.name, "each alone", writer, reader, 1.0, 1.0))
        for policy in POLICIES:
            ends = found[case, policy] = last_copies(case, policy)
            rows.append((case.name, policy, *ends, ends[0] / writer, ends[1] / reader))
    down, small, up = (
        [found[case, policy][1] for policy in ("round-robin", "small first")] for case in CASES
    )
    return Section(
        title="Results copied back",
        text=[
            "Table 1 has one size for each workload, and above only inputs are copied. Here "
            f"{COPIES} copies of a writer and of a reader follow one another. Their GPUs are below "
            f"one switch, at {COPIED:g} GB/s. A read is a request that goes down without data, and "
            "responses that come up with it.",
            "**TOS makes a reader wait for a writer, even where their data share no link.** "
            "Inputs fill the link down, results the link up. Under round-robin both take little "
            f"more than alone: the reader {down[0]:.3f} ms. Under TOS it takes {down[1]:.3f} ms. "
            "Its requests are of the lowest rank on the way down. Strict priority lets them pass "
            "only when the writer pauses, or by the bound on waiting. Fewer bytes do not help: of "
            f"a tenth of the data it takes {small[0]:.3f} ms under round-robin and {small[1]:.3f} "
            "ms under TOS.",
            "**Response first matters where a peer's data go up.** Copies from a GPU to another "
            "are requests with data. They share the way up with responses. Under TOS the reader "
            f"takes {up[1]:.3f} ms and the writer waits; under round-robin it takes {up[0]:.3f}.",
            "Eqs. 1 and 2 say so, as they are written. A read's request and its response have the "
            "same ID_D and differ in ID_T, so they are two classes. No data is left in the class "
            "of requests, and its rank is the last. The text ranks *tasks* by the data that are "
            "left. That would give a request its task's rank, but the equations have no term for "
            "it. Eq. 3 does not see it at all. B_R / BW is the time of a bus that nobody else "
            "uses. A deadline raises the class of the responses, and never that of the requests "
            "that hold them up.",
        ],
        tables=[
            StudyTable(
                title="When the last copy has arrived",
                columns=(
                    "case",
                    "policy",
                    "writer (ms)",
                    "reader (ms)",
                    "writer, over alone",
                    "reader, over alone",
                ),
                rows=tuple(rows),
                formats=("", "", ".3f", ".3f", ".2f", ".2f"),
                note=(
                    "Small first and large first are alike: a reader's requests have no data "
                    "left, so no order by size moves them."
                ),
            )
        ],
    )
