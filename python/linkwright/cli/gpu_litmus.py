"""`linkwright gpu litmus`: small programs that tell a coherent memory from another."""

from __future__ import annotations

from typing import Annotated, Any, cast

import typer

from linkwright import GpuSystem, names
from linkwright.gpu import gpu_litmus
from linkwright.scenario import choice_names
from linkwright.cli import output
from linkwright.cli.gpu_options import (
    Bandwidth,
    Distribution,
    Dram,
    Gpus,
    Limit,
    Machine,
    Memories,
    On,
    Preset,
    ReadLease,
    TimestampBits,
    Without,
    WriteLease,
    between_of,
    check_heeded,
    choice,
    leases_of,
    memories_of,
    system_of,
)
from linkwright.cli.options import Json

TESTS = choice_names()["litmus_test"]


def litmus(
    test: Annotated[
        list[str] | None,
        typer.Option(help="Which test; repeatable; all if absent.", **choice("litmus test", TESTS)),
    ] = None,
    memory: Memories = None,
    seeds: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many starts of each test.")
    ] = 100,
    first_seed: Annotated[
        int, typer.Option(metavar="SEED", min=0, help="The first; the others follow it.")
    ] = 0,
    gpus: Gpus = None,
    preset: Preset = None,
    machine: Machine = None,
    on: On = None,
    without: Without = None,
    distribution: Distribution = "unified",
    dram: Dram = "ideal",
    shared_bandwidth: Bandwidth = 32.0,
    read_lease: ReadLease = 10,
    write_lease: WriteLease = 5,
    timestamp_bits: TimestampBits = 16,
    limit: Limit = 1e-3,
    json: Json = False,
) -> None:
    """Play litmus tests under memory systems, and count what no order of all accesses gives.

    Each test is played from cold caches and from such that hold its addresses. A seed draws the
    wavefronts' compute units, when they start, and whether x and y share a line or a bank: a start
    that went wrong comes again with --first-seed and --seeds 1. Where a memory system is relaxed,
    there is a fence between any two accesses. What goes wrong is a column, not an error.
    """
    leases = leases_of(read_lease, write_lease, timestamp_bits)
    between = between_of(machine, on, without, gpus)
    systems = [
        system_of(preset, between, kind, distribution, dram, shared_bandwidth, leases)
        for kind in memories_of(memory, between)
    ]
    check_heeded(systems, shared_bandwidth, leases)
    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys(test or TESTS):
        for system in systems:
            rows += [
                _played(system, name, warm, seeds, first_seed, limit) for warm in (False, True)
            ]
    if json:
        output.print_json(rows)
        return
    words = ["test", "memory", "caches", "first wrong"]
    made = output.table(
        ["test", "memory", "caches", "outcomes", "forbidden", "never ends", "seed", words[-1]],
        left=words,
        whole=["memory"],
    )
    for row in rows:
        wrong = next((it for it in row["outcomes"] if it["verdict"] != "allowed"), None)
        made.add_row(
            row["test"],
            row["memory"],
            row["caches"],
            f"{len(row['outcomes']):,}",
            f"{row['forbidden']:,}",
            f"{row['never_ends']:,}",
            "" if wrong is None else f"{wrong['seed']}",
            "" if wrong is None else wrong["outcome"] or "never ends",
        )
    output.print_table(made)


def _played(
    system: GpuSystem, test: str, warm: bool, seeds: int, first_seed: int, limit: float
) -> dict[str, Any]:
    """One test under one memory system, from cold or warm caches."""
    caches = "warm" if warm else "cold"
    with output.progress_bar() as bar:
        what = f"{test} {system.memory} {caches}"
        found = list(
            gpu_litmus(
                system,
                cast("names.LitmusTestName", test),
                seeds=seeds,
                first_seed=first_seed,
                warm=warm,
                limit=limit,
                progress=None if bar is None else lambda done, total: bar(what, done, total),
            )
        )

    def counted(verdict: str) -> int:
        return sum(row["count"] for row in found if row["verdict"] == verdict)

    return {
        "test": test,
        "memory": system.memory,
        "caches": caches,
        "seeds": seeds,
        "forbidden": counted("forbidden"),
        "never_ends": counted("never ends"),
        "outcomes": found,
    }
