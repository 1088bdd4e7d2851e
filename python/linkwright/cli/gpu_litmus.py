"""Has `linkwright gpu litmus`: small programs that tell a coherent memory from another."""

from __future__ import annotations

from typing import Annotated, Any, cast

import typer

from linkwright import GpuSystem, names
from linkwright.cli import output
from linkwright.cli.gpu_options import (
    LEASE_KEYS,
    MEMORY_KEYS,
    Gpu,
    Gpus,
    Machine,
    Memories,
    On,
    between_of,
    check_heeded,
    limit_key,
    memories_of,
    system_of,
)
from linkwright.cli.keys import Keys
from linkwright.cli.options import Json, Without, among
from linkwright.cli.panels import JOB, described_by
from linkwright.gpu import gpu_litmus
from linkwright.scenario import choice_names

TESTS = choice_names()["litmus_test"]
KEYS = Keys(*MEMORY_KEYS, *LEASE_KEYS, *limit_key("0.001"))


@described_by(KEYS, {"Tests": TESTS})
def litmus(
    test: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEST]...",
            help="Litmus tests, such as iriw.  [default: all]",
            callback=among("litmus test", TESTS),
            autocompletion=lambda: TESTS,
        ),
    ] = None,
    memory: Memories = None,
    seed: Annotated[
        int, typer.Option(metavar="SEED", min=0, rich_help_panel=JOB, help="The first start.")
    ] = 0,
    seeds: Annotated[
        int, typer.Option(metavar="N", min=1, rich_help_panel=JOB, help="Starts of each test.")
    ] = 100,
    setting: Annotated[list[str] | None, KEYS.option()] = None,
    machine: Machine = None,
    gpu: Gpu = None,
    without: Without = None,
    gpus: Gpus = None,
    on: On = None,
    json: Json = False,
) -> None:
    """Count outcomes of litmus tests that no order of all accesses gives.

    Each test runs from cold and from warm caches. A seed draws the compute units of wavefronts,
    their starts, and whether x and y share a line or a bank. To repeat a start that went wrong,
    give --seed N and --seeds 1. A relaxed memory system has a fence between any two accesses.
    """
    settings = KEYS.read(setting)
    between = between_of(machine, on, without, gpus)
    systems = [system_of(gpu, between, kind, settings) for kind in memories_of(memory, between)]
    check_heeded(systems, settings)
    limit = settings.get("limit", 1e-3)
    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys(test or TESTS):
        for system in systems:
            rows += [_played(system, name, warm, seeds, seed, limit) for warm in (False, True)]
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
    """Gives one test under one memory system, from cold or warm caches."""
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
