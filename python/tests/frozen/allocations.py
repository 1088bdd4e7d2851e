"""Decisions: which GPUs each policy gives to each pattern, and how good they are."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from frozen.captured import Captured, Case
from frozen.names import PATTERNS, POLICIES, PRESETS
from frozen.tables import ROOT, of_rows, refused_or
from linkwright import Allocator, Pattern, System
from linkwright.allocation import Match, published_effective_bandwidth
from linkwright.collectives import packing_rate

__all__ = ["cases"]

MATCH = (
    "gpus double single pcie joined_by aggregated effective preserved candidates optimal gap"
    " packing_rate packing_links"
)
SIZES = (3, 5, 8)
LARGE = 16
# What is asked for one after another, and what is given back (`-`), so that the server splits.
BUSY = ("a 3", "b 2", "c 1", "-b", "d 2", "e 3", "-a", "f 4", "-c", "-d", "g 2", "h 5")
CHOICES: dict[str, dict[str, str]] = {
    "published": {"bandwidth_model": "published"},
    "data-sheet": {"bandwidth_profile": "data-sheet"},
    "published-ties": {"ties": "published"},
}


def cases() -> list[Case]:
    """Every preset, and each choice on those where it matters."""
    found = []
    for name in PRESETS:
        command = f"Allocator(System({name!r}), policy).decide('job', Pattern(shape, size))"
        found.append(Case(f"allocations/{name}", command, partial(_of_preset, name)))
    for choice in CHOICES:
        command = f"the same with {CHOICES[choice]}"
        found.append(Case(f"allocations/with-{choice}", command, partial(_of_choice, choice)))
    found.append(
        Case("allocations/counters", "Pattern.from_counters(examples/counters)", _counters)
    )
    command = "published_effective_bandwidth(double, single, pcie)"
    return [*found, Case("allocations/regression", command, _regression)]


def _match(machine: System, found: Match) -> list[Any]:
    gpus = sorted(found.gpus)
    rate = refused_or(lambda: packing_rate(machine, gpus), 2) if len(gpus) > 1 else [None, None]
    return [
        found.gpus,
        *found.links,
        list(found.joined_by.items()),
        found.aggregated_bandwidth,
        found.effective_bandwidth,
        found.preserved_bandwidth,
        found.candidates,
        found.optimal,
        found.gap,
        *rate,
    ]


def _of_preset(name: str) -> Iterator[Captured]:
    machine = System(name)
    yield _idle(machine, SIZES if machine.gpu_count <= LARGE else SIZES[:2])
    yield _busy(machine)
    yield from _explained(machine)


def _of_choice(choice: str) -> Iterator[Captured]:
    for name in ("dgx1-v100", "summit-node", "cubemesh-16"):
        yield _idle(System(name), (3, 5), **CHOICES[choice])


def _idle(machine: System, sizes: tuple[int, ...], **choice: str) -> Captured:
    """Each decision on the machine when it is idle."""
    rows = []
    for policy in POLICIES:
        allocator = Allocator(machine, policy, **choice)  # type: ignore[arg-type]
        for shape in PATTERNS:
            for size in sizes:
                if size > machine.gpu_count:
                    continue
                for sensitive in (True, False) if policy == "preserve" else (True,):
                    found = allocator.decide("job", Pattern(shape, size), sensitive=sensitive)
                    assert found is not None
                    rows.append([policy, shape, size, sensitive, *_match(machine, found)])
    return of_rows(f"{machine.name}, idle", f"policy pattern size sensitive {MATCH}", rows)


def _busy(machine: System) -> Captured:
    """Decisions while jobs come and go, and one GPU is out of order."""
    rows: list[list[Any]] = []
    for policy in POLICIES:
        allocator = Allocator(machine, policy)
        allocator.mark_unhealthy(1)
        held = set()
        for step in BUSY:
            if step.startswith("-"):
                if step[1:] in held:
                    allocator.release(step[1:])
                continue
            job, size = step.split()
            if int(size) > machine.gpu_count:
                continue
            found = allocator.allocate(job, Pattern("ring", int(size)))
            cells = [None] * len(MATCH.split()) if found is None else _match(machine, found)
            held |= set() if found is None else {job}
            rows.append([policy, step, allocator.free, *cells])
    return of_rows("busy", f"policy step free_after {MATCH}", rows)


def _explained(machine: System) -> Iterator[Captured]:
    rows = []
    size = min(4, machine.gpu_count)
    for policy in POLICIES:
        found = Allocator(machine, policy).explain("job", Pattern("ring", size), limit=4)
        assert found is not None
        for place, match in enumerate(found.ranking):
            rows.append([policy, found.decided_by, place, *_match(machine, match)])
    yield of_rows("explained", f"policy decided_by place {MATCH}", rows)


def _counters() -> Iterator[Captured]:
    """The pattern that the example's counters show, and where each policy would place it."""
    machine = System("dgx1-v100")
    before, after = (
        (name, (ROOT / "examples" / "counters" / name).read_text(encoding="utf-8"))
        for name in ("before.txt", "after.txt")
    )
    pattern, gpus, bytes_of = Pattern.from_counters(before, after, machine)
    yield of_rows("pattern", "shape size gpus", [(pattern.shape, pattern.size, gpus)])
    yield of_rows("edges", "first second there back", bytes_of)
    allocator = Allocator(machine)
    scored = [allocator.score(pattern, gpus), allocator.best_placement(pattern, [1, 4, 6])]
    yield of_rows("scored", MATCH, [_match(machine, match) for match in scored])


def _regression() -> Iterator[Captured]:
    rows = [
        (double, single, pcie, published_effective_bandwidth(double, single, pcie))
        for double in range(6)
        for single in range(6)
        for pcie in range(6)
    ]
    yield of_rows("Eq. 2", "double single pcie effective", rows)
