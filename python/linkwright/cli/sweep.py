"""`linkwright collective time`: what a schedule takes by the time model, over sizes."""

from __future__ import annotations

from typing import Any

import typer

from linkwright import System, names
from linkwright.collectives import Schedule, plan_for_sizes
from linkwright.cli import output
from linkwright.cli.error_bars import error_bars, print_legend, shown
from linkwright.cli.library_times import (
    MOST_PLANNED,
    library_rows,
    refuse_with_many,
)
from linkwright.cli.options import Json, MachineName, NetworkName, Servers
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
    NoStreamReuse,
    On,
    Plot,
    Processes,
    Protocol,
    Root,
    chunk_of,
    gpus_of,
    job_text,
    named_gpus,
    network_notes,
    plan_fields,
    plan_on,
    save_plot,
)
from linkwright.cli.sizes import parse_size, size_text
from linkwright.cli.standard_input import machine_of

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
    processes: Processes = None,
    no_stream_reuse: NoStreamReuse = False,
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
    sizes = _sizes(parse_size(least), parse_size(most), factor)
    job = gpus_of(whole, gpus)
    if len(job) > MOST_PLANNED:
        refuse_with_many(
            len(job), algorithm, chunk=chunk, links=links, no_stream_reuse=no_stream_reuse
        )
        rows = library_rows(whole, job, collective, algorithm, root, sizes, protocol, processes)
        fields: dict[str, object] = {"machine": whole.name, "collective": collective, "root": root}
        fields |= {"gpus": job, "algorithm": algorithm}
        ran: list[str | None] = [algorithm] * len(rows)
        notes = [f"of {len(job)} GPUs nothing is written down but what {algorithm} takes"]
    else:
        reuse = not no_stream_reuse
        schedules = _plans(whole, collective, gpus, algorithm, links, root, sizes, reuse)
        rows = _sweep(schedules, sizes, chunk_of(chunk), protocol, processes)
        fields = plan_fields(schedules[-1], whole)
        ran = [each.algorithm for each in schedules]
        notes = list(schedules[-1].notes)
    notes += network_notes(whole, job, network)
    bars = error_bars(whole, job, [row["size"] for row in rows], collective, ran)
    title = f"{collective} on {job_text(job, whole)}"
    if plot is not None:
        from linkwright.collective_plot import bandwidth_by_size

        save_plot(bandwidth_by_size({ran[-1] or "": rows}, title), plot)
    if json:
        sweep = [row | {"error": bar} for row, bar in zip(rows, bars, strict=True)]
        output.print_json(fields | {"sweep": sweep, "notes": notes})
    else:
        heads = ["size\nB", "time\nus", "algbw\nGB/s", "busbw\nGB/s", "chunk", "protocol", "±"]
        made = output.table(heads, left=["protocol"], kept=["±"])
        for row, bar in zip(rows, bars, strict=True):
            made.add_row(
                str(row["size"]),
                f"{row['time'] * 1e6:.1f}",
                f"{row['algorithm_bandwidth']:.2f}",
                f"{row['bus_bandwidth']:.2f}",
                size_text(row["chunk"]),
                row["protocol"],
                shown(bar),
            )
        console = output.console()
        console.print(f"{title}: {ran[-1]}", style="bold")
        output.print_table(made)
        print_legend(bars)
        output.notes("Notes", notes)


def _sizes(least: int, most: int, factor: int) -> list[int]:
    if least > most:
        raise typer.BadParameter(
            f"--min-bytes is {size_text(least)} and --max-bytes {size_text(most)}; swap them."
        )
    sizes = [least]
    while sizes[-1] * factor <= most:
        sizes.append(sizes[-1] * factor)
    return sizes


def _plans(
    machine: System,
    collective: names.CollectiveName,
    gpus: str | None,
    algorithm: names.AlgorithmName,
    links: names.LinksName,
    root: int | None,
    sizes: list[int],
    stream_reuse: bool,
) -> list[Schedule]:
    """For each size the plan that is the fastest there."""
    if links == "hybrid":
        return [
            plan_on(
                machine,
                collective,
                gpus,
                algorithm,
                links,
                root,
                size=size,
                stream_reuse=stream_reuse,
            )
            for size in sizes
        ]
    return plan_for_sizes(
        machine,
        gpus_of(machine, gpus),
        collective,
        sizes,
        algorithm=algorithm,
        root=root,
        links=links,
        stream_reuse=stream_reuse,
    )


def _sweep(
    schedules: list[Schedule],
    sizes: list[int],
    chunk: int | None,
    protocol: names.ProtocolName | None,
    processes: names.ProcessesName | None,
) -> list[dict[str, Any]]:
    rows: dict[int, dict[str, Any]] = {}
    with output.progress_bar() as show:
        for done, (schedule, wanted) in enumerate(zip(schedules, sizes, strict=True)):
            if show is not None:
                show("timing", done, len(sizes))
            # A size that does not divide, or is too little, is rounded to whole elements.
            unit = schedule.shards * ELEMENT
            size = wanted // unit * unit
            if size == 0 or size in rows:
                continue
            timing = schedule.time(size, chunk=chunk, protocol=protocol, processes=processes)
            rows[size] = {
                "size": size,
                "chunk": timing.chunk,
                "time": timing.time,
                "algorithm_bandwidth": timing.algorithm_bandwidth,
                "bus_bandwidth": timing.bus_bandwidth,
                "protocol": timing.protocol,
            }
    if not rows:
        shards = schedules[-1].shards
        of_all = f"{size_text(sizes[0])} to {size_text(sizes[-1])}"
        raise typer.BadParameter(
            f"no size of {shards * ELEMENT} bytes or more from {of_all}; "
            f"{schedules[-1].collective} takes a float32 of {ELEMENT} bytes for each of "
            f"{shards} shards."
            if shards > 1
            else f"no size from {of_all} holds a float32."
        )
    return list(rows.values())
