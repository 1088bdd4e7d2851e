"""`linkwright collective run`: a schedule on real data, proved and measured."""

from __future__ import annotations

import time as clock
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from linkwright import names
from linkwright.collectives import Schedule, reduction_names
from linkwright.errors import CollectiveError
from linkwright.cli import output
from linkwright.cli.options import Json, MachineName, NetworkName, Servers, among
from linkwright.cli.schedules import (
    AlgorithmName,
    CollectiveName,
    Gpus,
    Links,
    On,
    Root,
    Size,
    divided,
    named_gpus,
    plan_fields,
    plan_on,
)
from linkwright.cli.sizes import parse_size, size_text
from linkwright.cli.standard_input import machine_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The most bytes of input in all: the proof needs about eight times as much.
MOST_DATA = 4 << 30

# How often a measurement is repeated; the fastest counts.
REPEATS = 3


def run(
    collective: CollectiveName,
    machine: MachineName,
    on: On = None,
    gpus: Gpus = None,
    size: Size = "16MiB",
    algorithm: AlgorithmName = "packing",
    links: Links = "auto",
    root: Root = None,
    dtype: Annotated[
        Literal["float32", "float64", "int32", "int64"], typer.Option(help="The elements.")
    ] = "float32",
    reduction: Annotated[
        names.ReductionName,
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
    network: NetworkName = None,
    json: Json = False,
) -> None:
    """Execute a plan on real data, with a thread for each rank, and prove the result.

    The bandwidth is that of this computer's memory and says nothing of a GPU's links; a plain
    copy of as many bytes, by one thread, is measured beside it.
    """
    gpus = named_gpus(on, gpus)
    whole = machine_of(machine, servers, network)
    schedule = plan_on(whole, collective, gpus, algorithm, links, root, size=parse_size(size))
    data, notes = _divided(schedule, parse_size(size), dtype)
    inputs = _inputs(schedule, data, dtype, seed)
    seconds = []
    for _ in range(REPEATS):
        outputs, took = _execute(schedule, inputs, reduction, in_place, processes)
        seconds.append(took)
    worst = _compare(schedule, inputs, outputs, reduction)
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
        document = plan_fields(schedule, whole) | {"run": fields}
        output.print_json(document | {"notes": schedule.notes + notes})
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
    output.notes("Notes", notes)


def _divided(schedule: Schedule, size: int, dtype: str) -> tuple[int, list[str]]:
    """What of a size divides into whole elements of every shard, and what to say of the rest."""
    import numpy as np

    return divided(schedule, size, np.dtype(dtype).itemsize)


def _execute(
    schedule: Schedule,
    inputs: list[NDArray[Any]],
    reduction: names.ReductionName,
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
        raise CollectiveError(
            f"{size_text(size)} do not divide into whole elements of {dtype}",
            f"give a multiple of {unit} bytes, such as {max(size // unit, 1) * unit}",
        )
    ranks = len(schedule.gpus)
    if size * ranks > MOST_DATA:
        most = MOST_DATA // ranks
        raise CollectiveError(
            f"{size_text(size)} on each of {ranks} ranks are too much for one computer",
            f"give {size_text(most)} at most",
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
    reduction: names.ReductionName,
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
