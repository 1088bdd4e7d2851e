"""`linkwright collective run` and `time`: what a schedule does, measured or modelled."""

from __future__ import annotations

import time as clock
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from linkwright import (
    CollectiveError,
    Machine,
    Schedule,
    reduction_names,
    time_sweep,
)
from linkwright.cli import output
from linkwright.cli.options import Json, MachineName, among
from linkwright.cli.schedules import (
    AlgorithmName,
    Chunk,
    CollectiveName,
    Factor,
    Gpus,
    LeastSize,
    Links,
    MostSize,
    NetworkSpeed,
    Plot,
    Protocol,
    Root,
    Servers,
    Size,
    chunk_of,
    job_text,
    machine_of,
    plan_fields,
    plan_on,
    save_plot,
)
from linkwright.cli.sizes import parse_size, size_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

# What nccl-tests sweeps by default is float32.
ELEMENT = 4

# The most bytes of input in all: the proof needs about eight times as much.
MOST_DATA = 4 << 30

# How often a measurement is repeated; the fastest counts.
REPEATS = 3


def run(
    collective: CollectiveName,
    machine: MachineName,
    gpus: Gpus = None,
    size: Size = "16MiB",
    algorithm: AlgorithmName = "packing",
    links: Links = "auto",
    root: Root = None,
    dtype: Annotated[
        Literal["float32", "float64", "int32", "int64"], typer.Option(help="The elements.")
    ] = "float32",
    reduction: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"What is done to them: {', '.join(reduction_names())}.",
            callback=among("reduction", reduction_names()),
            autocompletion=reduction_names,
        ),
    ] = "sum",
    in_place: Annotated[
        bool, typer.Option("--in-place", help="With input and output in the same memory.")
    ] = False,
    processes: Annotated[
        bool, typer.Option("--processes", help="With a process for each rank, not a thread.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Which data.")] = 0,
    servers: Servers = 1,
    network: NetworkSpeed = None,
    json: Json = False,
) -> None:
    """Execute a plan on real data, with a thread for each rank, and prove the result.

    The bandwidth is that of this computer's memory and says nothing of a GPU's links; a plain
    copy of as many bytes, by one thread, is measured beside it.
    """
    whole = machine_of(machine, servers, network)
    schedule = plan_on(whole, collective, gpus, algorithm, links, root, size=parse_size(size))
    inputs = _inputs(schedule, parse_size(size), dtype, seed)
    seconds = []
    for _ in range(REPEATS):
        outputs, took = _execute(schedule, inputs, reduction, in_place, processes)
        seconds.append(took)
    worst = _compare(schedule, inputs, outputs, reduction)
    data = parse_size(size)
    bandwidth, copy = data / min(seconds) / 1e9, _copy_bandwidth(data)
    if json:
        fields = {
            "size": data,
            "dtype": dtype,
            "reduction": reduction,
            "in_place": in_place,
            "processes": processes,
            "time": min(seconds),
            "algorithm_bandwidth": bandwidth,
            "copy_bandwidth": copy,
            "worst_error": worst,
        }
        output.print_json(plan_fields(schedule, whole) | {"run": fields})
        return
    ranks = len(schedule.gpus)
    same = (
        "equal to the reference"
        if worst == 0
        else f"off by rounding, at most {worst:.0%} of its bound"
    )
    console = output.console()
    console.print(
        f"{schedule.collective} of {size_text(data)} of {dtype} on {ranks} ranks, "
        f"{schedule.step_count} steps: {same}"
    )
    console.print(
        f"{min(seconds) * 1e3:.2f} ms, {bandwidth:.2f} GB/s of its size; "
        f"a copy of as much by one thread: {copy:.2f} GB/s"
    )


def _execute(
    schedule: Schedule,
    inputs: list[NDArray[Any]],
    reduction: str,
    in_place: bool,
    processes: bool,
) -> tuple[list[NDArray[Any]], float]:
    if not processes:
        return schedule.execute_timed(inputs, reduction, in_place=in_place)
    from linkwright.processes import execute_in_processes_timed

    return execute_in_processes_timed(schedule, inputs, reduction, in_place=in_place)


def _inputs(schedule: Schedule, size: int, dtype: str, seed: int) -> list[NDArray[Any]]:
    """Random data for each rank, of which the longest buffer has the size."""
    import numpy as np

    element = np.dtype(dtype).itemsize
    unit = schedule.shards * element
    if size % unit:
        into = f"{schedule.shards} shards" if schedule.shards > 1 else "whole elements"
        raise CollectiveError(
            f"{size_text(size)} do not divide into {into} of {dtype}; give a multiple of "
            f"{unit} bytes, such as {max(size // unit, 1) * unit}"
        )
    ranks = len(schedule.gpus)
    if size * ranks > MOST_DATA:
        most = MOST_DATA // ranks
        raise CollectiveError(
            f"{size_text(size)} on each of {ranks} ranks are too much for one computer; give "
            f"{size_text(most)} at most"
        )
    random = np.random.default_rng(seed)

    def data(rank: int) -> NDArray[Any]:
        count = size // unit * schedule.input_shards[rank]
        if dtype.startswith("float"):
            return random.standard_normal(count).astype(dtype)
        return random.integers(-1000, 1000, count, dtype=dtype)

    return [data(rank) for rank in range(len(schedule.gpus))]


def _compare(
    schedule: Schedule,
    inputs: list[NDArray[Any]],
    outputs: list[NDArray[Any]],
    reduction: str,
) -> float:
    """The worst error as a share of what rounding allows; 0 where all values are equal.

    Raises:
        CollectiveError: If a value is off by more.
    """
    import numpy as np

    expected = schedule.reference(inputs, reduction)
    magnitudes = expected
    if reduction == "sum":
        magnitudes = schedule.reference([np.abs(array) for array in inputs], reduction)
    worst = 0.0
    for rank, (found, wanted, magnitude) in enumerate(
        zip(outputs, expected, magnitudes, strict=True)
    ):
        wrong = found != wanted
        if not wrong.any():
            continue
        if found.dtype.kind != "f" or reduction in ("min", "max"):
            raise CollectiveError(f"rank {rank} has {wrong.sum()} wrong values")
        bound = len(inputs) * np.finfo(found.dtype).eps * np.abs(magnitude)
        share = float((np.abs(found - wanted)[wrong] / bound[wrong]).max())
        if share > 1:
            raise CollectiveError(f"rank {rank} is off by {share:.1f} times what rounding allows")
        worst = max(worst, share)
    return worst


def _copy_bandwidth(size: int) -> float:
    """What one thread copies, in GB/s."""
    import numpy as np

    source = np.ones(size, dtype=np.uint8)
    target = np.zeros_like(source)
    seconds = []
    for _ in range(REPEATS):
        start = clock.perf_counter()
        np.copyto(target, source)
        seconds.append(clock.perf_counter() - start)
    return size / max(min(seconds), 1e-9) / 1e9


def time(
    collective: CollectiveName,
    machine: MachineName,
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
    network: NetworkSpeed = None,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Time a plan over sizes, as nccl-tests does on real GPUs.

    Bandwidths are nccl-tests': algbw is size over time, busbw the same times the
    collective's factor. Sizes are rounded down to whole float32 elements of every shard.
    """
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
    machine: Machine,
    sizes: list[int],
    chunk: int | None,
    protocol: str | None,
) -> list[dict[str, Any]]:
    import pyarrow as pa

    with output.progress_bar() as show:

        def progress(done: int, total: int) -> None:
            if show is not None:
                show("timing", done, total)

        made = time_sweep(
            schedule, machine, sizes, chunk=chunk, protocol=protocol, progress=progress
        )
    rows: list[dict[str, Any]] = pa.table(made).to_pylist()
    return rows


def _title(schedule: Schedule, machine: Machine) -> str:
    job = job_text(schedule.gpus, machine)
    return f"{schedule.collective} on {job}: {schedule.algorithm}"
