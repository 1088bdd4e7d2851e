"""Holds options and settings of `linkwright gpu`: the GPUs, and how they share memory."""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from linkwright import GpuSystem, names
from linkwright.cli import output
from linkwright.cli.keys import Key, below, flag, named, number
from linkwright.cli.options import among, gpu_ids, machine_option
from linkwright.cli.panels import JOB, SYSTEM
from linkwright.cli.standard_input import given_machine
from linkwright.errors import printable
from linkwright.files import read_text
from linkwright.gpu import GpuModel, gpu_models
from linkwright.scenario import choice_names
from linkwright.texts import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

MEMORY = choice_names()["memory_system"]
# How many GPUs there are without a machine.
GPUS = 4


def choice(what: str, known: list[str]) -> dict[str, Any]:
    """Makes an option refuse all but some names, and complete them."""
    return {"callback": among(what, known), "metavar": "NAME", "autocompletion": lambda: known}


# The settings of GPUs that share memory, by the keywords of `GpuSystem`.
MEMORY_KEYS = below(
    "Settings of memory",
    named(
        "distribution",
        "Where pages lie: in turn, buffers in blocks, or all in the first GPU",
        choice_names()["distribution"],
        "unified",
    ),
    named("dram", "How memory is timed", choice_names()["dram"], "ideal"),
    number(
        "shared_bandwidth",
        "GB/S",
        "The bandwidth of each GPU to truly shared memory, each way",
        "32",
        kind=float,
    ),
)
LEASE_KEYS = below(
    "Settings of leases",
    number("read_lease", "N", "How long a copy that was read is valid, in logical time", "10"),
    number("write_lease", "N", "How long a copy that was written is valid", "5"),
    number("timestamp_bits", "N", "Bits of a timestamp, 2 to 16", "16"),
)
CODE = below("Settings of kernels", flag("code", "Read kernels' code through caches", "true"))


def limit_key(seconds: str) -> list[Key]:
    """The key for the simulated time after which a run gives up."""
    said = "The simulated time after which to give up"
    return below("Settings of kernels", number("limit", "SECONDS", said, seconds, kind=float))


Gpus = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        max=32,
        rich_help_panel=JOB,
        help="Use N GPUs.  [default: 4, or all of the machine]",
    ),
]
Gpu = Annotated[
    str | None,
    typer.Option(
        "--gpu",
        metavar="NAME|FILE",
        rich_help_panel=SYSTEM,
        help="The inside of each GPU: a model, or a file with a [hierarchy].  "
        "[default: r9-nano, or the machine's]",
        autocompletion=lambda: [model.name for model in gpu_models() if model.has_hierarchy],
    ),
]
Machine = Annotated[
    str | None, machine_option("Join the GPUs by this machine's links.  [default: PCIe]")
]
On = Annotated[
    str | None,
    typer.Option(
        metavar="IDS",
        rich_help_panel=JOB,
        help="Use these GPUs of the machine, such as 0,3 or 0-3.",
    ),
]
Memories = Annotated[
    list[str] | None,
    typer.Option(
        help="How the GPUs share memory; gpu list has the names. Repeatable.  [default: all]",
        **choice("memory system", MEMORY),
    ),
]


def check_heeded(systems: Sequence[GpuSystem], given: Mapping[str, Any]) -> None:
    """Refuses a setting that none of the memory systems heeds.

    Raises:
        typer.BadParameter: If one is given, and changes nothing.
    """
    heeded = {setting for system in systems for setting in system.heeds}
    for setting in ("shared_bandwidth", *(key.name for key in LEASE_KEYS)):
        if setting in given and setting not in heeded:
            machine = systems[0].machine
            if setting == "shared_bandwidth" and machine is not None:
                raise typer.BadParameter(
                    f"shared_bandwidth changes nothing: the links of {machine.name} say how fast "
                    "their way to shared memory is; leave it out, or change these links."
                )
            heeding = [name for name in MEMORY if setting in GpuSystem(memory=name).heeds]  # type: ignore[arg-type]
            kinds = ", ".join(dict.fromkeys(system.memory for system in systems))
            raise typer.BadParameter(
                f"{setting} changes nothing under {kinds}; leave it out, or take "
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
    gpu: str | None, between: dict[str, Any], memory: str, settings: Mapping[str, Any]
) -> GpuSystem:
    """The GPUs that were asked for, with the settings that are of them."""
    own = {key.name for key in (*MEMORY_KEYS, *LEASE_KEYS, *CODE)} | {"remote"}
    given = {name: value for name, value in settings.items() if name in own}
    remote = given.pop("remote", "")
    return GpuSystem(
        None if gpu is None else _model(gpu),
        memory=cast("names.MemorySystemName", memory),
        **between,
        remote=remote.split(",") if remote else (),
        **given,
    )


def _model(gpu: str) -> GpuModel | str:
    """Gives the name of a model, or the model of a file.

    Raises:
        FileError: If the file cannot be read.
    """
    path = Path(gpu)
    if path.suffix != ".toml":
        return gpu
    return GpuModel.from_text(read_text(path), printable(gpu))


@contextmanager
def shown(what: str, cycle: float) -> Iterator[Callable[[int, float], object] | None]:
    """Shows wavefronts done, simulated time and its pace; gives None off a terminal.

    Args:
        what: The name of the work.

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
