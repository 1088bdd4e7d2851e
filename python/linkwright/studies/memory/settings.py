"""Lists the runs of the study: benchmarks at their sizes, under memory systems and variations."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from linkwright.gpu import gpu_benchmarks
from linkwright.scenario import choice_names
from linkwright.studies.memory.published import published

__all__ = [
    "ABLATION",
    "BASE",
    "BENCHMARKS",
    "LEASES",
    "LOCAL",
    "NARROW",
    "SHAPES",
    "SHARED",
    "SWITCHES",
    "SYSTEMS",
    "WIRED",
    "XTREME",
    "Setting",
    "known",
    "plan",
    "wired",
]

# Table 3.2's, with those first that section 3.3 calls memory-bound.
BENCHMARKS = ("bfs", "fir", "mm", "mt", "relu", "aes", "atax", "bicg", "conv")
XTREME = ("xtreme1", "xtreme2", "xtreme3")
SHARED = ("tsm-wt-c-rc", "tsm-wt-c-sc", "tsm-wt-c-rc-printed", "tsm-wt-c-sc-printed")
# At Table 3.2's footprints.
FOOTPRINTS = ("rdma", "tsm-wb-nc-rc")
SYSTEMS = ("rdma", "tsm-wb-nc-rc", "tsm-wt-nc-rc", *SHARED, "hmg")
# Read and write leases of Fig. 4-11; the text names one of the pairs that it shows.
LEASES = ((10, 5), (5, 2), (5, 10), (10, 10), (20, 5), (20, 10), (40, 20), (80, 5))
LOCAL = "rdma"
# The text says these of controllers and caches; each is switched on alone.
SWITCHES = ("evictions", "tracker", "merging", "leases", "locks")
# Those of the page's tables; a GPU's file has all of them.
BASE = "locks"
_MGCC = ("tsm-wt-c-rc", "tsm-wt-c-sc")
# Sets of switches beside the tables', with the memory systems that run Table 3.2's benchmarks, and
# whether Xtreme runs.
ABLATION: dict[str, tuple[tuple[str, ...], bool]] = {
    "evictions locks": (("rdma", "tsm-wb-nc-rc"), False),
    "tracker locks": (_MGCC, True),
    "tracker merging locks": ((), True),
    "leases locks": ((), True),
    "": ((), True),
    "evictions tracker leases locks": ((), True),
}
# Names of wirings in a GPU's file; `NARROW` have links between switches.
SHAPES = ("switch", "crossbar", "ring", "mesh", "clos", "interposers")
NARROW = ("ring", "mesh", "clos", "interposers")
# Memory systems that each wiring runs, after one that has none.
WIRED = (LOCAL, "tsm-wb-nc-rc", "tsm-wt-c-rc")
# How many GPUs each wiring joins.
WIRED_GPUS = (4, 8, 16)

# Smaller than Table 3.2's footprints, and but for aes at least the 8 MB of all second levels.
_LARGE = {
    "aes": 4_194_304,
    "atax": 2048,
    "bfs": 524_288,
    "bicg": 2048,
    "conv": 2048,
    "fir": 2_097_152,
    "mm": 1024,
    "mt": 2048,
    "relu": 2_097_152,
}
# Where many runs of each are compared, bandwidths and GPUs.
_SMALL = {
    "aes": 1_048_576,
    "atax": 1024,
    "bfs": 131_072,
    "bicg": 1024,
    "conv": 1024,
    "fir": 1_048_576,
    "mm": 512,
    "mt": 1024,
    "relu": 1_048_576,
}
# A product of 512 rows has one group for each compute unit of 4 GPUs, and nothing for more.
_DEALT = {**_SMALL, "mm": 1024}
# Rows of the transpose beside Table 3.2's 4,096, whose rows are as many pages as there are GPUs.
_UNEVEN = (4032, 4160)
_QUICK = {
    "aes": 65_536,
    "atax": 256,
    "bfs": 8192,
    "bicg": 256,
    "conv": 128,
    "fir": 32_768,
    "mm": 128,
    "mt": 256,
    "relu": 65_536,
}


@dataclass(frozen=True, order=True)
class Setting:
    """Describes one run.

    Attributes:
        part: The figure that it belongs to: `systems`, `footprints`, `bandwidth`, `gpus`, `xtreme`,
            `leases` or `ways`. No figure has `strides`, `wirings`, and `small`, whose runs end at
            once.
        benchmark: The benchmark that runs.
        size: How large.
        memory: How the GPUs share memory.
        gpus: How many.
        bandwidth: Of each GPU to shared memory, each way, in GB/s.
        read_lease: How long a copy that was read is valid, in logical time.
        write_lease: How long one that was written is.
        data: Whether it has data, so that its answer can be wrong.
        switches: Some of `SWITCHES`, with spaces between, are on; one of `SHAPES` after them is the
            wiring, with `narrow` links between its switches.
    """

    part: str
    benchmark: str
    size: int
    memory: str
    gpus: int = 4
    bandwidth: float = 32.0
    read_lease: int = 10
    write_lease: int = 5
    data: bool = False
    switches: str = BASE


def known(systems: tuple[str, ...]) -> list[str]:
    """Those of some memory systems that there are."""
    names = choice_names()["memory_system"]
    return [name for name in systems if name in names]


def plan(*, quick: bool = False, parts: Collection[str] | None = None) -> list[Setting]:
    """Lists every run of the study.

    Args:
        quick: Small sizes, and fewer of Xtreme's.
        parts: Only runs of these parts, with the switches of the page; all where absent.
    """
    every = [
        *_systems("systems", SYSTEMS, _QUICK if quick else _LARGE),
        *([] if quick else _systems("footprints", FOOTPRINTS, _full())),
        *([] if quick else (*_strides(), *_small())),
        *_bandwidths(_QUICK if quick else _SMALL),
        *_gpus(_QUICK if quick else _DEALT),
        *_xtreme(quick),
        *_leases(192 if quick else 384),
        *_ways(quick),
        *([] if quick else (*_ablation(), *_wirings())),
    ]
    if parts is None:
        return every
    own = [each for each in every if each.switches == BASE or each.part == "wirings"]
    return [each for each in own if each.part in parts]


def _systems(part: str, systems: tuple[str, ...], sizes: dict[str, int]) -> Iterator[Setting]:
    for memory in known(systems):
        for benchmark in BENCHMARKS:
            yield Setting(part, benchmark, sizes[benchmark], memory)


def _full() -> dict[str, int]:
    """Returns Table 3.2's footprints."""
    return {row["name"]: row["full_size"] for row in gpu_benchmarks()}


def _strides() -> Iterator[Setting]:
    for memory in known(FOOTPRINTS):
        for size in _UNEVEN:
            yield Setting("strides", "mt", size, memory)


def _small() -> Iterator[Setting]:
    """Each benchmark so small that a test plays it again, with more GPUs and bandwidth once."""
    for name in BENCHMARKS:
        yield Setting("small", name, _QUICK[name], "rdma")
        yield Setting("small", name, _QUICK[name], "tsm-wt-c-rc", gpus=8, bandwidth=64.0)


def _bandwidths(sizes: dict[str, int]) -> Iterator[Setting]:
    for whole in (128, *published()["fig_4_6"]["bandwidths"]):
        for memory in SHARED:
            for benchmark in BENCHMARKS:
                yield Setting("bandwidth", benchmark, sizes[benchmark], memory, bandwidth=whole / 4)


def _gpus(sizes: dict[str, int]) -> Iterator[Setting]:
    for gpus in (4, *published()["fig_4_7"]["gpus"]):
        for memory in SHARED:
            for benchmark in BENCHMARKS:
                yield Setting("gpus", benchmark, sizes[benchmark], memory, gpus)


def _xtreme(quick: bool) -> Iterator[Setting]:
    sizes = [192] if quick else published()["xtreme"]["sizes"]
    for size in sizes:
        for benchmark in XTREME:
            for memory in ("tsm-wt-nc-rc", *SHARED):
                yield Setting("xtreme", benchmark, size, memory, data=True)


def _leases(size: int) -> Iterator[Setting]:
    for benchmark in XTREME:
        yield Setting("leases", benchmark, size, "tsm-wt-nc-rc")
        for read, write in LEASES:
            for memory in SHARED:
                yield Setting("leases", benchmark, size, memory, read_lease=read, write_lease=write)


def _ablation() -> Iterator[Setting]:
    """Runs of other figures with other switches: memory systems compared, and small Xtreme."""
    for switches, (systems, has_xtreme) in ABLATION.items():
        for memory in known(systems):
            for name in BENCHMARKS:
                yield Setting("systems", name, _LARGE[name], memory, switches=switches)
        for memory in _MGCC if has_xtreme else ():
            for name in XTREME:
                for size in (384, 768):
                    yield Setting("xtreme", name, size, memory, data=True, switches=switches)


def wired(shape: str, *, narrow: bool = False) -> str:
    """Adds a wiring to the switches of the tables."""
    return " ".join([BASE, shape, *(["narrow"] if narrow else [])])


def _wirings() -> Iterator[Setting]:
    """Small runs over each wiring, and over none."""
    local, *shared = known(WIRED)
    everywhere = [wired(shape) for shape in SHAPES]
    narrow = [wired(shape, narrow=True) for shape in NARROW]
    for gpus in WIRED_GPUS:
        for name in BENCHMARKS:
            yield Setting("wirings", name, _QUICK[name], local, gpus)
        for switches in (*everywhere, *narrow):
            for memory in shared:
                for name in BENCHMARKS:
                    size = _QUICK[name]
                    yield Setting("wirings", name, size, memory, gpus, switches=switches)


def _ways(quick: bool) -> Iterator[Setting]:
    for benchmark, size in (("chase", 4096), ("stream", 65_536 if quick else 1_048_576)):
        yield Setting("ways", benchmark, size, LOCAL, gpus=1)
        for memory in choice_names()["memory_system"]:
            if not memory.endswith("-printed"):
                yield Setting("ways", benchmark, size, memory)
