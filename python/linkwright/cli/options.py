"""Holds options and arguments that several commands share, and checks typed words."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import typer

from linkwright import names
from linkwright.allocation import BandwidthFit, policy_names
from linkwright.cli.durations import parse_duration
from linkwright.cli.panels import OUTPUT, SYSTEM, Rare
from linkwright.cli.settings import among, of_setting
from linkwright.cli.streams import is_quiet
from linkwright.errors import printable
from linkwright.files import read_text
from linkwright.network import Fabric, fabric_names, preset_names
from linkwright.scenario import choice_names
from linkwright.systems import SPEED

if TYPE_CHECKING:
    from linkwright.sweeps import Workers

__all__ = [
    "MOST_GPUS",
    "POLICY",
    "STATE",
    "BandwidthModel",
    "BandwidthProfile",
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
    "Timeline",
    "Without",
    "WorkerCount",
    "among",
    "bandwidth_choices",
    "gpu_count",
    "gpu_ids",
    "machine_option",
    "named",
    "picked",
    "workers_of",
    "written",
]


Name = TypeVar("Name", bound=str)
# These predict effective bandwidth, by name.
MODELS = choice_names()["bandwidth_model"]
# The heading of a policy's choices.
POLICY = "Policy"
# The heading of options on what is kept.
STATE = "State"
# Far more than any server has; a machine refuses others by its own count.
MOST_GPUS = 65_535


def picked(given: Sequence[str] | None, known: Sequence[Name]) -> list[Name] | None:
    """The names that an option was given, by their type; None where it was not."""
    if not given:
        return None
    of = {str(name): name for name in known}
    # A class of one's own goes by its name, which the scenario reads.
    return [of.get(name, cast("Name", name)) for name in given]


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


def written(what: str, metavar: str = "FILE") -> Any:
    """The option `--output` of a command, by what it writes."""
    return typer.Option(
        "--output", "-o", metavar=metavar, rich_help_panel=OUTPUT, help=f"Write {what} here."
    )


# Where a run is written.
RunDirectory = Annotated[
    Path | None, written("tables, summary.json, manifest.json and report.html", "DIRECTORY")
]
Timeline = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", rich_help_panel=OUTPUT, help="Write a timeline for ui.perfetto.dev here."
    ),
]
Prices = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        metavar="FILE",
        rich_help_panel=Rare(SYSTEM),
        help="Tell costs and energy by this file's prices and watts (TOML).",
    ),
]


def machine_option(said: str = "A preset or a machine's file; - is the input.") -> Any:
    """Gives the option `--machine` of a command."""
    return typer.Option(
        "--machine",
        "-m",
        metavar="NAME|FILE|-",
        rich_help_panel=SYSTEM,
        help=said,
        autocompletion=_machines,
    )


MachineName = Annotated[str, machine_option()]
NetworkName = Annotated[
    str | None,
    typer.Option(
        "--network",
        metavar="NAME|FILE|SPEED",
        rich_help_panel=SYSTEM,
        help=f"What joins the servers: {', '.join(fabric_names())}, a file, or a speed such as "
        "400Gb/s.  [default: fat-tree]",
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
        help=f"Play this policy: {', '.join(policy_names())}. Repeatable.",
        callback=among("policy", policy_names()),
        autocompletion=policy_names,
    ),
]
BandwidthModel = Annotated[
    str,
    typer.Option(
        metavar="NAME|FILE",
        rich_help_panel=Rare(POLICY),
        help=f"Predict bandwidth by this: {', '.join(MODELS)}, or a file that fit wrote.",
        autocompletion=lambda: list(MODELS),
    ),
]
BandwidthProfile = Annotated[
    names.BandwidthProfileName | None,
    of_setting("allocation.bandwidth_profile", heading=Rare(POLICY)),
]
ServerChoice = Annotated[
    names.ServerChoiceName,
    typer.Option(
        metavar="NAME",
        rich_help_panel=Rare(POLICY),
        help=f"Which of several servers a job gets: {', '.join(choice_names()['server_choice'])}.",
        callback=among("choice of servers", choice_names()["server_choice"]),
        autocompletion=lambda: choice_names()["server_choice"],
    ),
]
Ties = Annotated[names.TieName, of_setting("allocation.ties", defaults=True, heading=Rare(POLICY))]
WorkerCount = Annotated[
    str | None,
    typer.Option(
        "--workers",
        metavar="N|ADDRESS",
        rich_help_panel=Rare(OUTPUT),
        help="Play in N processes, or on the Dask scheduler at tcp://node1:8786.  "
        "[default: one for each processor]",
    ),
]
StateFile = Annotated[
    Path,
    typer.Option(
        "--state",
        metavar="FILE",
        rich_help_panel=STATE,
        help="The file that keeps who holds which GPU.",
    ),
]
Servers = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=1,
        max=16_384,
        rich_help_panel=SYSTEM,
        help="Join N of the machine by a network.",
    ),
]
Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        metavar="PART",
        rich_help_panel=SYSTEM,
        help="Leave out a part, such as mlx5_3, node1/mlx5_3, leaf2 or GPU0-GPU3. Repeatable.",
    ),
]
LockWait = Annotated[
    float | None,
    typer.Option(
        "--wait",
        metavar="TIME",
        rich_help_panel=STATE,
        parser=parse_duration,
        help="Wait this long where another program locks the state.  [default: 1min]",
    ),
]
Json = Annotated[
    bool, typer.Option("--json", rich_help_panel=OUTPUT, help="Print JSON on standard output.")
]


def workers_of(text: str | None) -> Workers | None:
    """The processes or the Dask cluster that `--workers` names; None where it is absent.

    Raises:
        typer.BadParameter: If it is neither a number nor an address.
    """
    from linkwright.sweeps import dask_cluster, local_processes

    if text is None:
        return None
    if "://" in text:
        return dask_cluster(text)
    if not (text.isdecimal() and len(text) < 6 and int(text)):
        raise typer.BadParameter(
            f"`{text}` is neither a number of processes nor an address such as tcp://node1:8786."
        )
    return local_processes(int(text))
