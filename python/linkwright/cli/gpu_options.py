"""What the commands of `linkwright gpu` have in common: the GPUs, and how they share memory."""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from linkwright import GpuSystem, names
from linkwright.gpu import GpuModel
from linkwright.scenario import choice_names
from linkwright.cli import output
from linkwright.cli.options import among, gpu_ids
from linkwright.cli.standard_input import given_machine
from linkwright.errors import printable
from linkwright.files import read_text
from linkwright.texts import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MEMORY = choice_names()["memory_system"]
# How many GPUs there are without a machine.
GPUS = 4
# What the options are that not all memory systems heed, where they are not given.
DEFAULTS = {
    "shared_bandwidth": 32.0,
    "read_lease": 10,
    "write_lease": 5,
    "timestamp_bits": 16,
}


def choice(what: str, known: list[str]) -> dict[str, Any]:
    """What makes an option refuse all but some names, and complete them."""
    return {"callback": among(what, known), "metavar": "NAME", "autocompletion": lambda: known}


Gpus = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        max=32,
        help="How many GPUs; 4, or all of the machine's, if absent.",
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|FILE",
        help="The inside of the GPUs: a model's name, or its file, with a [hierarchy]; r9-nano, or "
        "the machine's own, if absent.",
    ),
]
Machine = Annotated[
    str | None,
    typer.Option(
        "--machine",
        "-m",
        metavar="NAME|FILE|-",
        help="Join the GPUs by the links of a machine: a preset's name or a file; PCIe as the "
        "GPU's file says if absent.",
    ),
]
On = Annotated[
    str | None,
    typer.Option(metavar="IDS", help="Which GPUs of the machine, such as 0,3 or 0-3."),
]
Without = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PART",
        help="A part of the machine that is absent: a device, such as mlx5_3, or all links of a "
        "pair, such as GPU0-GPU3; repeatable.",
    ),
]
Distribution = Annotated[
    str,
    typer.Option(
        help="Which GPU's memory holds what: pages in turn, buffers in blocks, or all in the "
        "first GPU's, which then runs all.",
        **choice("distribution", choice_names()["distribution"]),
    ),
]
Remote = Annotated[
    str | None,
    typer.Option(
        metavar="BUFFERS",
        help="Buffers that lie in the second GPU's memory, by commas; takes --distribution first.",
    ),
]
Bandwidth = Annotated[
    float,
    typer.Option(metavar="GB/S", help="Of each GPU to truly shared memory, each way."),
]
Dram = Annotated[
    str,
    typer.Option(
        help="How memory is timed: at one latency, or by banks and rows.",
        **choice("timing of memory", choice_names()["dram"]),
    ),
]
ReadLease = Annotated[
    int,
    typer.Option(
        metavar="TIME",
        help="How long a copy that was read is valid, in logical time, where lines are leased.",
    ),
]
WriteLease = Annotated[
    int, typer.Option(metavar="TIME", help="How long one that was written is, likewise.")
]
TimestampBits = Annotated[int, typer.Option(metavar="N", help="Of a timestamp, 2 to 16.")]
Limit = Annotated[
    float, typer.Option(metavar="SECONDS", help="Simulated time after which to give up.")
]
NoCode = Annotated[
    bool,
    typer.Option("--no-code", help="Kernels' code is known, and not read through caches."),
]
Memories = Annotated[
    list[str] | None,
    typer.Option(
        help="How the GPUs share memory; repeatable; all if absent.",
        **choice("memory system", MEMORY),
    ),
]


def leases_of(read: int, write: int, bits: int) -> dict[str, int]:
    """The leases, as `system_of` takes them."""
    return {"read_lease": read, "write_lease": write, "timestamp_bits": bits}


def check_heeded(
    systems: Sequence[GpuSystem], shared_bandwidth: float, leases: dict[str, int]
) -> None:
    """Refuses a setting that none of the memory systems heeds.

    Raises:
        typer.BadParameter: If one differs from its default, and changes nothing.
    """
    heeded = {setting for system in systems for setting in system.heeds}
    given = {"shared_bandwidth": shared_bandwidth, **leases}
    for setting, default in DEFAULTS.items():
        if given[setting] != default and setting not in heeded:
            machine = systems[0].machine
            if setting == "shared_bandwidth" and machine is not None:
                raise typer.BadParameter(
                    f"--shared-bandwidth changes nothing: the links of {machine.name} say how fast "
                    "their way to shared memory is; leave it out, or change these links."
                )
            heeding = [name for name in MEMORY if setting in GpuSystem(memory=name).heeds]  # type: ignore[arg-type]
            kinds = ", ".join(dict.fromkeys(system.memory for system in systems))
            option = f"--{setting.replace('_', '-')}"
            raise typer.BadParameter(
                f"{option} changes nothing under {kinds}; leave it out, or take "
                f"{', '.join(heeding)}."
            )


def between_of(
    machine: str | None, on: str | None, without: list[str] | None, gpus: int | None
) -> dict[str, Any]:
    """Reads how many GPUs there are and which machine joins them, as `system_of` takes it.

    Raises:
        typer.BadParameter: If `on` or `without` names parts of no machine, or both `on` and `gpus`
            are given.
    """
    if machine is None:
        if on is not None or without:
            option = "--without" if on is None else "--on"
            raise typer.BadParameter(f"{option} is of a machine; give --machine, too.")
        return {"gpus": gpus or GPUS}
    if on is not None and gpus is not None:
        raise typer.BadParameter("--on names the GPUs, and --gpus counts them; give one.")
    return {
        "machine": given_machine(machine),
        "on": gpu_ids(on) or None,
        "without": without or (),
        "gpus": gpus,
    }


def memories_of(wanted: list[str] | None, between: dict[str, Any]) -> list[str]:
    """The memory systems to compare; of a machine only those for which it has the memory."""
    return list(dict.fromkeys(wanted or [name for name in MEMORY if has_memory(name, between)]))


def has_memory(memory: str, between: dict[str, Any]) -> bool:
    """Whether there is the memory that a memory system needs: a machine may have none to share."""
    machine = between.get("machine")
    if machine is None or not needs_shared(memory):
        return True
    return any(row["kind"] == "memory-switch" for row in machine.devices())


def needs_shared(memory: str) -> bool:
    """Whether a memory system has memory that all GPUs share."""
    return "shared_bandwidth" in GpuSystem(memory=cast("names.MemorySystemName", memory)).heeds


def system_of(
    preset: str | None,
    between: dict[str, Any],
    memory: str,
    distribution: str,
    dram: str,
    shared_bandwidth: float,
    leases: dict[str, Any],
    *,
    code: bool = True,
    remote: str | None = None,
) -> GpuSystem:
    """The GPUs that were asked for."""
    return GpuSystem(
        None if preset is None else _model(preset),
        memory=cast("names.MemorySystemName", memory),
        **between,
        distribution=cast("names.DistributionName", distribution),
        remote=remote.split(",") if remote else (),
        dram=cast("names.DramName", dram),
        shared_bandwidth=shared_bandwidth,
        **leases,
        code=code,
    )


def _model(preset: str) -> GpuModel | str:
    """The name of a model, or the model of a file.

    Raises:
        FileError: If the file cannot be read.
    """
    path = Path(preset)
    if path.suffix != ".toml":
        return preset
    return GpuModel.from_text(read_text(path), printable(preset))


@contextmanager
def shown(what: str, cycle: float) -> Iterator[Callable[[int, float], object] | None]:
    """What shows wavefronts done, simulated time, and how fast that goes; None off a terminal.

    Args:
        what: What runs.
        cycle: Seconds of a cycle.
    """
    begun = time.monotonic()
    with output.progress_bar() as bar:
        if bar is None:
            yield None
            return

        def show(done: int, seconds: float) -> None:
            pace = seconds / cycle / max(time.monotonic() - begun, 1e-9)
            bar(f"{what}, {duration(seconds)} simulated, {pace:,.0f} cycles/s", done, 0)

        yield show
