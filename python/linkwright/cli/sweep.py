"""`linkwright collective time`: what a schedule takes by the time model, over sizes."""

from __future__ import annotations

from typing import Any

import typer

from linkwright import Schedule, System, names, time_sweep
from linkwright.cli import output
from linkwright.cli.options import Json, MachineName, NetworkName
from linkwright.cli.schedules import (
    ELEMENT,
    AlgorithmName,
    Chunk,
    CollectiveName,
    Factor,
    Gpus,
    LeastSize,
    Links,
    MostSize,
    On,
    Plot,
    Protocol,
    Root,
    Servers,
    chunk_of,
    job_text,
    machine_of,
    named_gpus,
    plan_fields,
    plan_on,
    save_plot,
)
from linkwright.cli.sizes import parse_size, size_text

__all__ = ["time"]


def time(
    collective: CollectiveName,
    machine: MachineName,
    on: On = None,
    gpus: Gpus = None,
    algorithm: AlgorithmName = "packing",
    links: Links = "auto",
    root: Root = None,
    least: LeastSize = "8",
    most: MostSize = "8GiB",
    factor: Factor = 2,
    chunk: Chunk = None,
    protocol: Protocol = None,
    servers: Servers = 1,
    network: NetworkName = None,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Time a plan over sizes, as nccl-tests does on real GPUs.

    Bandwidths are nccl-tests': algbw is size over time, busbw the same times the
    collective's factor. Sizes are rounded down to whole float32 elements of every shard.
    """
    gpus = named_gpus(on, gpus)
    whole = machine_of(machine, servers, network)
    # One schedule for all sizes: the one that is best for the largest.
    schedule = plan_on(whole, collective, gpus, algorithm, links, root, size=parse_size(most))
    sizes = _sizes(schedule, parse_size(least), parse_size(most), factor)
    rows = _sweep(schedule, whole, sizes, chunk_of(chunk), protocol)
    if json:
        document = {"protocol": protocol or schedule.protocol, "sweep": rows}
        output.print_json(plan_fields(schedule, whole) | document)
    else:
        made = output.table(["size\nB", "time\nus", "algbw\nGB/s", "busbw\nGB/s", "chunk"])
        for row in rows:
            made.add_row(
                str(row["size"]),
                f"{row['time'] * 1e6:.1f}",
                f"{row['algorithm_bandwidth']:.2f}",
                f"{row['bus_bandwidth']:.2f}",
                size_text(row["chunk"]),
            )
        console = output.console()
        console.print(_title(schedule, whole), style="bold")
        output.print_table(made)
        output.notes("Notes", schedule.notes)
    if plot is not None:
        from linkwright.collective_plot import bandwidth_by_size

        title = f"{schedule.collective} on {job_text(schedule.gpus, whole)}"
        save_plot(bandwidth_by_size({schedule.algorithm or "": rows}, title), plot)


def _sizes(schedule: Schedule, least: int, most: int, factor: int) -> list[int]:
    if least > most:
        raise typer.BadParameter(
            f"--min-bytes is {size_text(least)} and --max-bytes {size_text(most)}; swap them."
        )
    unit = schedule.shards * ELEMENT
    sizes, size = [], least
    while size <= most:
        whole = size // unit * unit
        if whole > 0 and whole not in sizes:
            sizes.append(whole)
        size *= factor
    if not sizes:
        raise typer.BadParameter(
            f"no size of {unit} bytes or more from {size_text(least)} to {size_text(most)}; "
            f"{schedule.collective} takes a float32 of {ELEMENT} bytes for each of "
            f"{schedule.shards} shards."
            if schedule.shards > 1
            else f"no size from {size_text(least)} to {size_text(most)} holds a float32."
        )
    return sizes


def _sweep(
    schedule: Schedule,
    machine: System,
    sizes: list[int],
    chunk: int | None,
    protocol: names.ProtocolName | None,
) -> list[dict[str, Any]]:
    with output.progress_bar() as show:

        def progress(done: int, total: int) -> None:
            if show is not None:
                show("timing", done, total)

        made = time_sweep(
            schedule, machine, sizes, chunk=chunk, protocol=protocol, progress=progress
        )
    return list(made)


def _title(schedule: Schedule, machine: System) -> str:
    job = job_text(schedule.gpus, machine)
    return f"{schedule.collective} on {job}: {schedule.algorithm}"
