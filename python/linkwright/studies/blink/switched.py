"""All-reduce on the 16 GPUs of a DGX-2, by size."""

from __future__ import annotations

from collections.abc import Mapping

from linkwright import System
from linkwright.names import AlgorithmName, ProtocolName
from linkwright.studies.blink.charts import speedup_by_size
from linkwright.studies.blink.measure import ONE_HOP, Progress, plan_for
from linkwright.studies.blink.published import published
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["best_times", "switched"]

MACHINE = "dgx2"
SIZES = tuple(1 << power for power in range(10, 31, 2))
QUICK_LARGEST = 64 << 20
RIVALS: tuple[AlgorithmName, ...] = ("nccl-classic", "nccl-ring", "nccl-tree")
# Up to which size a protocol is tried; beyond, the loss of bandwidth outweighs its latency.
PROTOCOLS: dict[ProtocolName, int] = {"LL": 4 << 20, "LL128": 16 << 20, "Simple": 1 << 62}
# LL128 came with NCCL 2.5.
NOT_OF_ITS_TIME = "LL128"


def switched(*, quick: bool = False, progress: Progress | None = None) -> Section:
    """The section on the DGX-2."""
    sizes = [size for size in SIZES if not quick or size <= QUICK_LARGEST]
    names = (ONE_HOP, *RIVALS)
    found = {}
    for done, name in enumerate(names, 1):
        found[name] = best_times(name, sizes)
        if progress is not None:
            progress("all-reduce on a DGX-2", done, len(names))
    simple = {size: seconds["Simple"] for size, seconds in found[ONE_HOP].items()}
    best = {
        name: {size: min(each.values()) for size, each in found[name].items()} for name in names
    }
    fair = {
        rival: {size: best[rival][size] / best[ONE_HOP][size] for size in sizes} for rival in RIVALS
    }
    plain = {rival: {size: best[rival][size] / simple[size] for size in sizes} for rival in RIVALS}
    rows = [
        {"size": size, "comparison": f"against {rival}, {reading}", "speedup": times[rival][size]}
        for reading, times, drawn in (
            ("best protocols", fair, RIVALS),
            ("one-hop in Simple", plain, RIVALS[1:2]),
        )
        for rival in drawn
        for size in sizes
    ]
    return Section(
        title="All-reduce on the 16 GPUs of a DGX-2",
        text=[
            "One star of one hop for each GPU, each with a sixteenth of the data, against NCCL's "
            "rings and chains. Every NCCL takes the fastest of its protocols at each size (LL, "
            "LL128, Simple; `nccl-classic` has no LL128). For `one-hop` there are two readings: "
            "with the fastest protocol, as a schedule that is exported to MSCCL gets it, and "
            "with Simple, which is nearer to the copies that Blink issues.",
        ],
        tables=[_claims(sizes, fair, plain), _times(sizes, best, simple)],
        figures={
            "blink-dgx2": speedup_by_size(
                rows,
                "All-reduce by one-hop on a DGX-2, 16 GPUs",
                "Modelled: how many times as fast as each NCCL.",
            )
        },
    )


def best_times(algorithm: AlgorithmName, sizes: list[int]) -> dict[int, dict[str, float]]:
    """Seconds by size and protocol, of the protocols that are worth while at that size."""
    machine = System(MACHINE)
    gpus = range(machine.gpu_count)
    found: dict[int, dict[str, float]] = {}
    for size in sizes:
        schedule = plan_for(machine, gpus, "all-reduce", algorithm, size)
        found[size] = {
            protocol: schedule.time(size, protocol=protocol).time
            for protocol, most in PROTOCOLS.items()
            if size <= most and not (algorithm == RIVALS[0] and protocol == NOT_OF_ITS_TIME)
        }
    return found


def _claims(
    sizes: list[int],
    fair: Mapping[AlgorithmName, dict[int, float]],
    plain: Mapping[AlgorithmName, dict[int, float]],
) -> StudyTable:
    entry = published()["switched"]
    rows: list[tuple[Cell, ...]] = []
    for rival in RIVALS:
        said = rival == RIVALS[0]
        for what, said_most, where in (
            ("latency, least size", entry["latency_maximum"], sizes[:1]),
            ("throughput, any size", entry["throughput_maximum"], sizes),
        ):
            cells = [max(reading[rival][size] for size in where) for reading in (fair, plain)]
            rows.append((what, rival, said_most if said else None, *cells))
    largest = _binary(sizes[-1])
    return StudyTable(
        title="What one-hop trees gain, published beside reproduced: times as fast at most",
        columns=("what", "against", "published", "best protocols", "one-hop in Simple"),
        rows=tuple(rows),
        formats=("", "", *(".2f",) * 3),
        note=(
            "Where ours part and why: the win is one of latency, a ring taking thirty steps "
            "where a star takes two, and it shrinks with size. Both sides pay the launches of "
            "sixteen GPUs by one process, which leave little of the published factors; what those "
            f"measured is not said. With long data nothing is left (at {largest} "
            f"{fair[RIVALS[1]][sizes[-1]]:.2f} against `{RIVALS[1]}`): rings use all bandwidth of "
            "a switched machine, too."
        ),
    )


def _times(
    sizes: list[int], best: Mapping[AlgorithmName, dict[int, float]], simple: dict[int, float]
) -> StudyTable:
    rows: list[tuple[Cell, ...]] = []
    for size in sizes:
        cells = [simple[size] * 1e6, *(times[size] * 1e6 for times in best.values())]
        gained = [best[rival][size] / best[ONE_HOP][size] for rival in RIVALS]
        rows.append((_binary(size), *cells, *gained))
    return StudyTable(
        title="All-reduce on 16 GPUs by size, reproduced: microseconds, and times as fast",
        columns=(
            "size",
            f"{ONE_HOP} in Simple",
            *(f"{name}" for name in best),
            *(f"{ONE_HOP} over {rival}" for rival in RIVALS),
        ),
        rows=tuple(rows),
        formats=("", *(".1f",) * (len(best) + 1), *(".2f",) * len(RIVALS)),
    )


def _binary(size: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size >> 10} KiB"
