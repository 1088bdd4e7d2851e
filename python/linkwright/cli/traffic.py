"""Loads a network by synthetic traffic: `linkwright traffic`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwright import names
from linkwright.cli import output, runs
from linkwright.cli.keys import Keys, below, number
from linkwright.cli.options import Json, NetworkName, among, written
from linkwright.cli.panels import SYSTEM, described_by
from linkwright.cli.parquet import write_parquet
from linkwright.cli.replay import pairs_of
from linkwright.cli.replay_systems import Settings
from linkwright.cli.schedules import Plot, save_plot
from linkwright.cli.settings import keys_of, of_options, of_setting
from linkwright.cli.sizes import parse_size
from linkwright.cli.tables import Table as PrintedTable
from linkwright.scenario import choice_names

if TYPE_CHECKING:
    from linkwright import System
    from linkwright.scenario import Table

__all__ = ["traffic"]

PATTERNS = choice_names()["traffic"]
# `0.1..0.9` in steps of a tenth, or of what stands behind a slash.
RANGE = re.compile(r"(\d*\.?\d+)\.\.(\d*\.?\d+)(?:/(\d*\.?\d+))?")
STEP = 0.1
MOST_LOADS = 1_000
# The settings of what is measured; the others are keys of a scenario.
OF_MEASUREMENT = below(
    "Settings of the measurement",
    number(
        "warm_up",
        "N",
        "Messages' times on a link before any counts",
        "500",
        least=0,
        most=10_000_000,
    ),
    number("window", "N", "Messages' times on a link that count", "1000", least=1, most=10_000_000),
    number(
        "hot",
        "SHARE",
        "The part of all messages to the hot spot",
        "0.1",
        kind=float,
        least=0,
        most=1,
    ),
)
KEYS = Keys(*OF_MEASUREMENT, *keys_of("system.network"))


@described_by(KEYS)
def traffic(
    pattern: Annotated[
        names.TrafficName,
        typer.Argument(
            metavar="PATTERN",
            help=f"Who sends to whom: {', '.join(PATTERNS)}.",
            callback=among("pattern", PATTERNS),
            autocompletion=lambda: list(PATTERNS),
        ),
    ],
    load: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SHARE|LOW..HIGH",
            help="Load each node's link by this share, such as 0.3, or 0.1..0.9/0.2 in steps. "
            "Repeatable.  [default: 0.1..1]",
        ),
    ] = None,
    in_flight: Annotated[
        list[int] | None,
        typer.Option(
            metavar="N",
            min=1,
            max=65_536,
            help="Keep N messages of each node under way instead. Repeatable.",
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="The size of a message.  [default: one packet]"),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Draw every choice by N.")] = 0,
    network: NetworkName = None,
    routing: Annotated[str | None, of_setting("system.network.routing", heading=SYSTEM)] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            rich_help_panel=SYSTEM,
            help="Change a setting, such as pods=4, nic=rr-4 or window=1000. Repeatable.",
            autocompletion=KEYS.completed,
        ),
    ] = None,
    plot: Plot = None,
    to: Annotated[Path | None, written("the table, unrounded, as Parquet")] = None,
    json: Json = False,
) -> None:
    """Load a network by a pattern, and measure latency and arrivals.

    Every port has one node. In each slot, which is the time of a message on a link, each node
    sends with this chance. Arrivals in the window after the warm-up count.
    """
    given: dict[str, object] = {} if routing is None else {"routing": routing}
    own: list[str] = []
    for text in setting or []:
        if text.partition("=")[0].strip() in (key.name for key in OF_MEASUREMENT):
            own.append(text)
        else:
            given |= pairs_of([text])
    measured = Keys(*OF_MEASUREMENT).read(own)
    settings = Settings.of(given)
    of_others = [*settings.node, *settings.play]
    if of_others:
        raise typer.BadParameter(
            f"`{of_others[0]}` is of jobs; synthetic traffic goes between ports as packets."
        )
    loads = shares(load) if load or not in_flight else []
    message = None if size is None else parse_size(size)
    if to is not None:
        output.check_writable(to.parent)
    with runs.watched() as watch, of_options():
        from linkwright.systems import network_keys, read_system

        joined = network_keys(network or "fat-tree")
        system = read_system({"gpus": 1}, network={**joined, **settings.network})
        found = system.traffic(
            pattern,
            loads=loads,
            in_flight=in_flight or [],
            message=message,
            warm_up=measured.get("warm_up", 500),
            window=measured.get("window", 1000),
            hot=measured.get("hot", 0.1),
            seed=seed,
            progress=lambda *at: watch.progress("", *at),
        )
    if to is not None:
        write_parquet(found, to)
        output.say(f"wrote {to}", stderr=True)
    if plot is not None:
        from linkwright.plots.traffic import latency_by_load

        save_plot(latency_by_load(found, f"{pattern.capitalize()} on {system.name}"), plot)
    if json:
        fields = {"network": system.name, "nodes": system.gpu_count, "pattern": pattern}
        output.print_json(fields | {"seed": seed, "loads": [dict(row) for row in found]})
        return
    _print(system, pattern, found)


def shares(texts: Sequence[str] | None) -> list[float]:
    """Returns the loads that texts such as `0.3` and `0.1..0.9/0.2` name, in their order.

    Raises:
        typer.BadParameter: If one is no share, or above 1.
    """
    found: list[float] = []
    for text in texts or ["0.1..1"]:
        ends = RANGE.fullmatch(text.strip())
        try:
            low = float(ends[1]) if ends else float(text)
            high = float(ends[2]) if ends else low
        except ValueError:
            raise typer.BadParameter(f"`{text}` is no load; write 0.3, or 0.1..0.9/0.2.") from None
        step = float(ends[3]) if ends and ends[3] else STEP
        if not 0 < low <= high <= 1 or step <= 0:
            raise typer.BadParameter(f"`{text}` is no load; shares are above 0, up to 1.")
        count = int((high - low) / step + 1e-6) + 1
        if len(found) + count > MOST_LOADS:
            raise typer.BadParameter(f"more than {MOST_LOADS:,} loads; take larger steps.")
        found += [round(low + at * step, 9) for at in range(count)]
    return found


def _print(system: System, pattern: str, found: Table) -> None:
    rows: list[dict[str, Any]] = [dict(row) for row in found]
    output.say(f"{pattern} on {system.name}: {system.gpu_count:,} nodes")
    output.say(f"latency without load: {_microseconds(rows[0]['latency_alone'])} us")
    output.say("")
    heads = ["load", "in flight", "accepted", "latency\nus", "p99\nus", "longest\nus", "unfinished"]
    columns = ["load", "in_flight", "accepted", "latency", "p99", "longest", "unfinished"]
    shown = [at for at, name in enumerate(columns) if any(row[name] is not None for row in rows)]
    made: PrintedTable = output.table([heads[at] for at in shown])
    for row in rows:
        load, in_flight = row["load"], row["in_flight"]
        cells = [
            "" if load is None else f"{load:.3g}",
            "" if in_flight is None else f"{in_flight:,}",
            f"{row['accepted']:.3f}",
            *(_microseconds(row[name]) for name in ("latency", "p99", "longest")),
            f"{row['unfinished']:,}",
        ]
        made.add_row(*(cells[at] for at in shown))
    output.print_table(made)


def _microseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e6:.3f}"
