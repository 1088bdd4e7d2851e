"""Reads `--env NAME=VALUE`: the variables of NCCL that change its choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from linkwright import names
from linkwright.cli.keys import Keys, below, number
from linkwright.cli.panels import JOB, Rare
from linkwright.errors import did_you_mean
from linkwright.scenario import choice_names

__all__ = [
    "BANDWIDTH_KEYS",
    "LISTED",
    "VARIABLES",
    "Environment",
    "Nccl",
    "Processes",
    "read_environment",
]


@dataclass(frozen=True)
class Variable:
    """Describes a variable of NCCL.

    Attributes:
        values: Its values, each with what it means to the model.
        option: The keyword of `expect` that it sets.
        help: The change that it makes.
    """

    values: Mapping[str, object]
    option: str
    help: str


def _by_name(known: Sequence[str]) -> dict[str, object]:
    """NCCL writes NVLSTree for nvls-tree, and reads small letters, too."""
    return {name.replace("-", "").lower(): name for name in known}


VARIABLES = {
    "NCCL_ALGO": Variable(
        _by_name(choice_names()["nccl_algorithm"]), "algorithm", "the only algorithm"
    ),
    "NCCL_PROTO": Variable(_by_name(choice_names()["protocol"]), "protocol", "the only protocol"),
    "NCCL_P2P_DISABLE": Variable(
        {"0": True, "1": False}, "p2p", "1: GPUs do not reach each other directly"
    ),
    "NCCL_NVLS_ENABLE": Variable(
        {"0": False, "1": True, "2": True}, "nvls", "0: NVSwitches do not reduce"
    ),
    "NCCL_CROSS_NIC": Variable(
        {"0": 0, "1": 1, "2": 2}, "cross_nic", "whether rings may change interfaces in a server"
    ),
    "NCCL_PXN_DISABLE": Variable(
        {"0": True, "1": False}, "pxn", "1: no GPU sends by another that is near an interface"
    ),
    "NCCL_NET_GDR_LEVEL": Variable(
        {"LOC": False, "0": False, "SYS": True, "5": True},
        "gpudirect",
        "LOC: data goes to interfaces by the host's memory",
    ),
}
LISTED = {
    "Variables (--env)": [
        f"{name}={'|'.join(variable.values)} ({variable.help})"
        for name, variable in VARIABLES.items()
    ]
}


def _completed(incomplete: str) -> list[str]:
    every = [f"{name}={value}" for name, it in VARIABLES.items() for value in it.values]
    return [each for each in every if each.startswith(incomplete)]


Environment = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        metavar="NAME=VALUE",
        rich_help_panel=JOB,
        help="Set a variable of NCCL, such as NCCL_P2P_DISABLE=1. Repeatable.",
        autocompletion=_completed,
    ),
]
Nccl = Annotated[
    str | None,
    typer.Option(
        "--nccl",
        metavar="VERSION",
        rich_help_panel=JOB,
        help="The version of NCCL, or of RCCL, such as 2.21.5.  [default: the log's or the newest]",
    ),
]
Processes = Annotated[
    names.ProcessesName | None,
    typer.Option(
        metavar="each|one|group",
        rich_help_panel=Rare(JOB),
        help="Launch a process for each rank, one for all, or one as a group.  "
        "[default: one on a lone server]",
    ),
]
BANDWIDTH_KEYS = Keys(
    *below(
        "Settings of what was measured",
        number(
            "link_bandwidth",
            "GB/S",
            "The bandwidth of one link between GPUs, in a direction",
            "the model's",
            kind=float,
        ),
        number(
            "network_bandwidth",
            "GB/S",
            "The bandwidth of a server's network interfaces together",
            "the model's",
            kind=float,
        ),
    )
)


def read_environment(texts: Sequence[str] | None, known: Sequence[str]) -> dict[str, Any]:
    """The options of `expect` that variables set, among those that a command knows.

    Raises:
        typer.BadParameter: If a text sets no variable, the variable is not known, or its value.
    """
    names = [name for name, variable in VARIABLES.items() if variable.option in known]
    found: dict[str, Any] = {}
    for text in texts or []:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise typer.BadParameter(f"`{text}` sets no variable; write NCCL_P2P_DISABLE=1.")
        if name not in names:
            near = did_you_mean(name, names)
            raise typer.BadParameter(
                f"`{name}` changes nothing here; {near}--env takes {', '.join(names)}."
            )
        variable = VARIABLES[name]
        given = next((it for it in _spellings(value) if it in variable.values), None)
        if given is None:
            listed = ", ".join(variable.values)
            raise typer.BadParameter(f"{name} takes no `{value}`; write {listed}.")
        if variable.option in found:
            raise typer.BadParameter(f"`{name}` is set twice; leave out `--env {text}`.")
        found[variable.option] = variable.values[given]
    return found


def _spellings(value: str) -> list[str]:
    return [value, value.upper(), value.replace("-", "").lower()]
