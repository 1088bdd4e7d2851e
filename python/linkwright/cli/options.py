"""Options and arguments that several commands share, and checks of what people type."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from linkwright import names
from linkwright.allocation import BandwidthFit, policy_names
from linkwright.network import Fabric, fabric_names, preset_names
from linkwright.scenario import choice_names
from linkwright.cli.durations import parse_duration
from linkwright.cli.settings import among, of_setting
from linkwright.cli.streams import is_quiet
from linkwright.errors import printable
from linkwright.files import read_text
from linkwright.systems import SPEED

__all__ = [
    "MOST_GPUS",
    "BandwidthModel",
    "BandwidthProfile",
    "DaskAddress",
    "Json",
    "LockWait",
    "MachineName",
    "NetworkName",
    "PolicyName",
    "PolicyNames",
    "Prices",
    "RunDirectory",
    "ServerChoice",
    "Servers",
    "StateFile",
    "Ties",
    "WorkerCount",
    "among",
    "bandwidth_choices",
    "gpu_count",
    "gpu_ids",
    "named",
    "picked",
]


Name = TypeVar("Name", bound=str)
# These predict effective bandwidth, by name.
MODELS = choice_names()["bandwidth_model"]
# Far more than any server has; what a machine lacks, it refuses by its own count.
MOST_GPUS = 65_535


def picked(given: Sequence[str] | None, known: Sequence[Name]) -> list[Name] | None:
    """The names that an option was given, by their type; None where it was not."""
    if not given:
        return None
    of = {str(name): name for name in known}
    return [of[name] for name in given]


def bandwidth_choices(model: str) -> dict[str, object]:
    """Gives `Allocator` a bandwidth model by its name, or by the file of a fit.

    Raises:
        typer.BadParameter: If there is neither such a model nor such a file.
        InputError: If the file is no fit, with its place.
    """
    if model in MODELS or not Path(model).exists():
        among("bandwidth model", MODELS)(model)
        return {"bandwidth_model": model}
    fit = BandwidthFit.from_text(read_text(model), printable(model))
    return {"bandwidth_model": "published", "bandwidth_fit": fit}


def named(name: str | None) -> str | None:
    """A check that what people name a thing can be read, and typed again.

    Raises:
        typer.BadParameter: If the name is empty or holds a character that does not print.
    """
    if name is None or (name.strip() and name.isprintable()):
        return name
    what = "has a character that does not print" if name.strip() else "is no name"
    raise typer.BadParameter(f"`{name}` {what}; write letters, digits and the like.")


def gpu_ids(text: str | None) -> list[int]:
    """The ids in a list such as `0,3` or `0-3,6`; none where the text is absent or empty.

    Raises:
        typer.BadParameter: If a part is neither an id nor a range of them.
    """
    ids: list[int] = []
    for part in (text or "").split(","):
        first, dash, last = (end.strip() for end in part.partition("-"))
        ends = [first, last if dash else first]
        if all(end.isdecimal() and len(end) < 6 and int(end) <= MOST_GPUS for end in ends):
            low, high = map(int, ends)
            if low > high:
                raise typer.BadParameter(f"`{part}` runs backwards; write {high}-{low}.")
            ids += range(low, high + 1)
            if len(ids) > MOST_GPUS + 1:
                raise typer.BadParameter(f"more than {MOST_GPUS + 1:,} ids; write each once.")
        elif text:
            raise typer.BadParameter(f"`{part}` is no GPU id; write ids like 0,3 or 0-3.")
    return ids


def gpu_count(text: str) -> int:
    """How many GPUs a job asks for.

    Raises:
        typer.BadParameter: If the text is no such number; ids are named as what they are.
    """
    if re.fullmatch(r"[+-]?\d{1,9}", text.strip()):
        count = int(text)
        if 1 <= count <= MOST_GPUS:
            return count
        raise typer.BadParameter(f"{count} is not from 1 to {MOST_GPUS:,}.")
    if re.fullmatch(r"[\d\s,]*\d\s*[,-]\s*[\d\s,-]*", text):
        raise typer.BadParameter(
            f"`{text}` are ids, and --gpus is how many GPUs, such as 4; --on names the ids to "
            "choose from, and --busy those that are taken."
        )
    raise typer.BadParameter(f"`{text}` is no whole number.")


def _machines() -> list[str]:
    return [name for name, _ in preset_names()]


def telling_bits_from_bytes(context: typer.Context, network: str | None) -> str | None:
    """The network as it was given; of a speed, standard error says it in bits and in bytes."""
    if network is None or not SPEED.match(network) or Path(network).exists():
        return network
    in_bytes = str(Fabric("single-switch", ports=2, bandwidth=network).parameters["bandwidth"])
    number, unit = in_bytes.split(" ")
    in_bits = f"{8 * float(number):g} {unit.replace('B', 'b')}"

    def tell() -> None:
        # A command that fails says its error alone.
        if sys.exc_info()[0] is None and not is_quiet():
            typer.echo(f"network: links of {in_bits}, which is {in_bytes} each way", err=True)

    context.call_on_close(tell)
    return network


# Where a run is written.
RunDirectory = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="DIRECTORY",
        help="Write tables, summary.json, manifest.json, timeline.json and report.html here.",
    ),
]
Prices = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        metavar="FILE",
        help="Tell costs and energy by prices and watts of parts, from this file (TOML).",
    ),
]
MachineName = Annotated[
    str,
    typer.Option(
        "--machine",
        "-m",
        metavar="NAME|FILE|-",
        help="A preset's name or a machine's file; - is the input.",
        autocompletion=_machines,
    ),
]
NetworkName = Annotated[
    str | None,
    typer.Option(
        "--network",
        metavar="NAME|FILE|SPEED",
        help=f"What joins the servers: {', '.join(fabric_names())}, a file (TOML, Graphviz), or "
        "the speed of one switch's links, such as 400Gb/s or 400G; a fat-tree if absent. Without a "
        "speed links run as fast as the servers' interfaces.",
        callback=telling_bits_from_bytes,
        autocompletion=fabric_names,
    ),
]
PolicyName = Annotated[
    names.PolicyName,
    typer.Option(
        metavar="NAME",
        help=f"The allocation policy: {', '.join(policy_names())}.",
        callback=among("policy", policy_names()),
        autocompletion=policy_names,
    ),
]
PolicyNames = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="NAME",
        help=f"Play this policy, not the scenario's; repeatable: {', '.join(policy_names())}.",
        callback=among("policy", policy_names()),
        autocompletion=policy_names,
    ),
]
BandwidthModel = Annotated[
    str,
    typer.Option(
        metavar="NAME|FILE",
        help="Predicts effective bandwidth: the sound model, MAPA's Eq. 2 as published, or a file "
        "that fit wrote (sound, published).",
        autocompletion=lambda: list(MODELS),
    ),
]
BandwidthProfile = Annotated[
    names.BandwidthProfileName | None, of_setting("allocation.bandwidth_profile")
]
ServerChoice = Annotated[
    names.ServerChoiceName,
    typer.Option(
        metavar="NAME",
        help="Which of several servers a job gets: first-fit, pack (the fullest), spread, or whole "
        "(its own where it fills them, else the fullest).",
        callback=among("choice of servers", choice_names()["server_choice"]),
        autocompletion=lambda: choice_names()["server_choice"],
    ),
]
Ties = Annotated[names.TieName, of_setting("allocation.ties", defaults=True)]
WorkerCount = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Processes here; one for each processor if not given."),
]
DaskAddress = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Run on a Dask cluster; its scheduler's address, as tcp://node1:8786.",
    ),
]
StateFile = Annotated[
    Path,
    typer.Option("--state", metavar="FILE", help="The file that keeps who holds which GPU."),
]
Servers = Annotated[
    int, typer.Option(min=1, max=16_384, help="Join so many of the machine by a network.")
]
LockWait = Annotated[
    float | None,
    typer.Option(
        "--wait",
        metavar="TIME",
        parser=parse_duration,
        help="How long another program may keep the state locked, such as 10s; 1min if absent.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
