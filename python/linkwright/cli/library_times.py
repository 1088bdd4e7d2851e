"""Times of more GPUs than a plan can have, for `linkwright collective time`."""

from __future__ import annotations

from typing import Any

import typer

from linkwright import System, expect, names

__all__ = ["MOST_PLANNED", "OF_LIBRARY", "library_rows", "refuse_with_many"]

#: The most GPUs whose plans are written down.
MOST_PLANNED = 1024

#: Planners that are NCCL's or RCCL's own algorithms, by the names that these have there.
OF_LIBRARY: dict[str, names.NcclAlgorithmName] = {
    "nccl-ring": "ring",
    "nccl-tree": "tree",
    "nvls": "nvls",
    "nvls-tree": "nvls-tree",
}


def refuse_with_many(
    gpus: int,
    algorithm: str,
    *,
    chunk: str | None,
    links: names.LinksName,
    no_stream_reuse: bool,
) -> None:
    """Refuse what only plans have that are written down.

    Raises:
        typer.BadParameter: Where one of them is given.
    """
    if algorithm not in OF_LIBRARY:
        raise typer.BadParameter(
            f"{gpus} GPUs are more than a plan can have, and {algorithm} is one; name "
            f"{MOST_PLANNED} GPUs at most, or --algorithm {', '.join(OF_LIBRARY)}."
        )
    given = {"--chunk": chunk is not None, "--links": links != "auto"}
    given["--no-stream-reuse"] = no_stream_reuse
    for option, is_given in given.items():
        if is_given:
            raise typer.BadParameter(
                f"{option} is for plans that are written down; of {gpus} GPUs none is. "
                f"Leave it out, or name {MOST_PLANNED} GPUs at most."
            )


def library_rows(
    machine: System,
    gpus: list[int],
    collective: names.CollectiveName,
    algorithm: str,
    root: int | None,
    sizes: list[int],
    protocol: names.ProtocolName | None,
    processes: names.ProcessesName | None,
) -> list[dict[str, Any]]:
    """A row for each size, as the library runs it with this one algorithm."""
    expected = expect(
        machine,
        gpus,
        collective,
        sizes,
        root=root,
        algorithm=OF_LIBRARY[algorithm],
        protocol=protocol,
        processes=processes,
    )
    kept = ("size", "chunk", "time", "algorithm_bandwidth", "bus_bandwidth", "protocol")
    return [{key: row[key] for key in kept} for row in expected]
