"""Shows which wiring between second levels and shared memory keeps what that is worth."""

from __future__ import annotations

from linkwright.studies.memory.measured import Measured, mean
from linkwright.studies.memory.settings import BASE, NARROW, SHAPES, WIRED, wired
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["wirings"]

_TOLD = {
    "switch": "one switch",
    "crossbar": "crossbar",
    "ring": "ring",
    "mesh": "mesh, 2 x 2",
    "clos": "Clos, two middle switches",
    "interposers": "two interposers",
}
# Links from a bank to its controller, mean of all: a quarter of them is beside the GPU.
_HOPS = {
    "switch": 2.0,
    "crossbar": 1.0,
    "ring": 3.0,
    "mesh": 3.0,
    "clos": 3.5,
    "interposers": 2.5,
}
_LOCAL, *_SHARED = WIRED
# Wirings that keep this share of one switch's gain are named.
KEPT = 0.9


def wirings(measured: Measured) -> Section | None:
    """The section on wirings; None where none was run."""
    rows: list[tuple[Cell, ...]] = []
    kept: list[str] = []
    switch = _speedups(measured, wired("switch"))
    for shape in SHAPES:
        for bandwidth in ("32", "8"):
            is_narrow = bandwidth == "8"
            if is_narrow and shape not in NARROW:
                continue
            found = _speedups(measured, wired(shape, narrow=is_narrow))
            means = [mean(each) for each in found]
            if None in means:
                continue
            coherent = found[1]
            share = _share(coherent, switch[1])
            if shape != "switch" and share >= KEPT:
                between = f" ({bandwidth} GB/s)" if shape in NARROW else ""
                kept.append(f"{_TOLD[shape]}{between}")
            least = min(coherent, key=lambda name: coherent[name] / switch[1][name])
            rows.append(
                (
                    _TOLD[shape],
                    bandwidth if shape in NARROW else "",
                    _HOPS[shape],
                    *(f"{each:.2f}" for each in means if each is not None),
                    f"{share:.1%}",
                    f"{least}, {coherent[least] / switch[1][least]:.1%}",
                )
            )
    if not rows:
        return None
    return Section(
        title="Section 5.2.2: wirings",
        text=[
            "The text has one switch between second levels and memory, and names others as open: "
            "ring, mesh, crossbar, Clos, several interposers. Here each of four GPUs and two of "
            "eight controllers make a tile. Each link takes 70 cycles, so one switch of two links "
            "is the switch of the tables above. A link between switches carries 32 GB/s each way, "
            "as much as a GPU's way to memory, or 8. Hops are links from a bank to its "
            "controller, in the mean.",
            "A fourth of all lines is beside the GPU that asks, and half is on its interposer. So "
            "the one link between two interposers bounds the reads and writes of all GPUs "
            "together, to four times its bandwidth. A ring or a mesh of four bounds it to eight "
            "times. One switch has 128 GB/s to memory and as much back.",
            "Some keep nine tenths or more of what one switch gains. They are: "
            f"{'; '.join(kept) or 'none'}.",
        ],
        tables=[
            StudyTable(
                title="The nine benchmarks, small, by wiring",
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
        ],
    )


def _speedups(measured: Measured, switches: str) -> list[dict[str, float]]:
    """How many times as fast each shared memory is over a wiring as local memories are."""
    own = Measured(measured.all.items(), switches)
    local = Measured(measured.all.items(), BASE)
    found = []
    for memory in _SHARED:
        both = {
            name: (local.result("wirings", name, _LOCAL), own.result("wirings", name, memory))
            for name in sorted({each.benchmark for each in own.all if each.part == "wirings"})
        }
        found.append({name: a.time / b.time for name, (a, b) in both.items() if a and b})
    return found


def _share(of: dict[str, float], whole: dict[str, float]) -> float:
    """Takes the mean of one as a share of another's, by benchmark."""
    return mean([of[name] / whole[name] for name in of]) or 0.0
