"""Shows which wiring between second levels and shared memory keeps what that is worth."""

from __future__ import annotations

from linkwright.studies.memory.measured import Measured, mean
from linkwright.studies.memory.settings import BASE, NARROW, SHAPES, WIRED, WIRED_GPUS, wired
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["HOPS", "wirings"]

_TOLD = {
    "switch": "one switch",
    "crossbar": "crossbar",
    "ring": "ring",
    "mesh": "mesh",
    "clos": "Clos, two middle switches",
    "interposers": "two interposers",
}
# Rows and columns of a mesh, by its GPUs.
_MESHES = {4: "2 x 2", 8: "2 x 4", 16: "4 x 4"}
# Links from a bank to its controller, by GPUs: the mean over all GPUs and controllers. A ring of N
# takes N/4 steps. Of sixteen tiles, every other one has a controller.
HOPS = {
    4: {"switch": 2.0, "crossbar": 1.0, "ring": 3.0, "mesh": 3.0, "clos": 3.5, "interposers": 2.5},
    8: {"switch": 2.0, "crossbar": 1.0, "ring": 4.0, "mesh": 3.75, "clos": 3.75}
    | {"interposers": 2.5},
    16: {"switch": 2.0, "crossbar": 1.0, "ring": 6.0, "mesh": 4.5, "clos": 3.875}
    | {"interposers": 2.5},
}
_LOCAL, *_SHARED = WIRED
# Wirings that keep this share of one switch's gain are named.
KEPT = 0.9


def wirings(measured: Measured) -> Section | None:
    """The section on wirings; None where none was run."""
    tables: list[StudyTable] = []
    kept: list[str] = []
    for gpus in WIRED_GPUS:
        rows, names = _rows(measured, gpus)
        if not rows:
            continue
        kept.append(f"With {gpus} GPUs: {'; '.join(names) or 'none'}.")
        tables.append(
            StudyTable(
                title=f"The nine benchmarks, small, by wiring of {gpus} GPUs",
                columns=(
                    "wiring",
                    "GB/s between",
                    "hops",
                    *(f"{memory} over {_LOCAL}" for memory in _SHARED),
                    f"{_SHARED[1]}, of one switch's",
                    "the least of a benchmark",
                ),
                rows=tuple(rows),
            )
        )
    if not tables:
        return None
    return Section(
        title="Section 5.2.2: wirings",
        text=[
            "The text has one switch between second levels and memory, and names others as open: "
            "ring, mesh, crossbar, Clos, several interposers. Here each GPU and its share of eight "
            "controllers make a tile. Of sixteen tiles every other one has a controller. Each link "
            "takes 70 cycles, so that one switch of two links is that of the tables above. A link "
            "between switches carries 32 GB/s each way, as much as a GPU's way to memory, or 8. "
            "Hops are links from a bank to its controller, in the mean.",
            "Half of all lines is on the interposer of the GPU that asks. So the one link between "
            "two interposers bounds what all GPUs read and write together: to four times its "
            "bandwidth, whatever their number. A ring bounds it to eight times, and a mesh of four "
            "or eight GPUs too; a mesh of sixteen bounds it to sixteen times. One switch has "
            "32 GB/s to memory for each GPU, and as much back.",
            f"Some keep nine tenths or more of what one switch gains. {' '.join(kept)}",
        ],
        tables=tables,
    )


def _rows(measured: Measured, gpus: int) -> tuple[list[tuple[Cell, ...]], list[str]]:
    """Gives a row for each wiring of some GPUs, and names those that keep the gain."""
    rows: list[tuple[Cell, ...]] = []
    kept: list[str] = []
    switch = _speedups(measured, wired("switch"), gpus)
    for shape in SHAPES:
        name = f"mesh, {_MESHES[gpus]}" if shape == "mesh" else _TOLD[shape]
        for bandwidth in ("32", "8"):
            is_narrow = bandwidth == "8"
            if is_narrow and shape not in NARROW:
                continue
            found = _speedups(measured, wired(shape, narrow=is_narrow), gpus)
            means = [mean(each) for each in found]
            if None in means:
                continue
            coherent = found[1]
            share = _share(coherent, switch[1])
            if shape != "switch" and share >= KEPT:
                between = f" ({bandwidth} GB/s)" if shape in NARROW else ""
                kept.append(f"{name}{between}")
            least = min(coherent, key=lambda name: coherent[name] / switch[1][name])
            rows.append(
                (
                    name,
                    bandwidth if shape in NARROW else "",
                    HOPS[gpus][shape],
                    *(f"{each:.2f}" for each in means if each is not None),
                    f"{share:.1%}",
                    f"{least}, {coherent[least] / switch[1][least]:.1%}",
                )
            )
    return rows, kept


def _speedups(measured: Measured, switches: str, gpus: int) -> list[dict[str, float]]:
    """How many times as fast each shared memory is over a wiring as local memories are."""
    own = Measured(measured.all.items(), switches)
    local = Measured(measured.all.items(), BASE)
    names = sorted({each.benchmark for each in own.all if each.part == "wirings"})
    found = []
    for memory in _SHARED:
        both = {
            name: (
                local.result("wirings", name, _LOCAL, gpus=gpus),
                own.result("wirings", name, memory, gpus=gpus),
            )
            for name in names
        }
        found.append({name: a.time / b.time for name, (a, b) in both.items() if a and b})
    return found


def _share(of: dict[str, float], whole: dict[str, float]) -> float:
    """Takes the mean of one as a share of another's, by benchmark."""
    return mean([of[name] / whole[name] for name in of]) or 0.0
