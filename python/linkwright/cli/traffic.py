"""Loads a network by synthetic traffic: `linkwright traffic`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwright import names
from linkwright.scenario import choice_names
from linkwright.cli import output, runs
from linkwright.cli.options import Json, NetworkName, among
from linkwright.cli.parquet import write_parquet
from linkwright.cli.replay import NOTHING, pairs_of
from linkwright.cli.replay_systems import Settings
from linkwright.cli.schedules import Plot, save_plot
from linkwright.cli.settings import of_options, taking
from linkwright.cli.sizes import parse_size
from linkwright.cli.tables import Table as PrintedTable

if TYPE_CHECKING:
    from linkwright import System
    from linkwright.scenario import Table

__all__ = ["traffic"]

PATTERNS = choice_names()["traffic"]
# `0.1..0.9` in steps of a tenth, or of what stands behind a slash.
RANGE = re.compile(r"(\d*\.?\d+)\.\.(\d*\.?\d+)(?:/(\d*\.?\d+))?")
STEP = 0.1
MOST_LOADS = 1_000


@taking(
    "system.network.nic",
    "system.network.routing",
    "system.network.routing_table",
    "system.network.packet_size",
    "system.network.buffer_packets",
    "system.network.arbitration",
)
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
    network: NetworkName = None,
    typed: Mapping[str, object] = NOTHING,
    load: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SHARE|LOW..HIGH",
            help="Of what a node's link carries, such as 0.3, or 0.1..0.9/0.2 in steps; "
            "repeatable; 0.1..1 if absent.",
        ),
    ] = None,
    in_flight: Annotated[
        list[int] | None,
        typer.Option(
            metavar="N",
            min=1,
            max=65_536,
            help="Keep N messages of each node under way instead; repeatable.",
        ),
    ] = None,
    message: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Of each message; one packet if absent."),
    ] = None,
    warm_up: Annotated[
        int, typer.Option(min=0, max=10_000_000, help="Messages' times on a link before any count.")
    ] = 500,
    window: Annotated[
        int, typer.Option(min=1, max=10_000_000, help="Messages' times on a link that count.")
    ] = 1000,
    hot: Annotated[
        float, typer.Option(min=0, max=1, help="Part of all messages that go to the hot spot.")
    ] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Fixes every choice by chance.")] = 0,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Any other key of a scenario's [network], as pods=4; repeatable.",
        ),
    ] = None,
    parquet: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the table, unrounded, as Parquet.")
    ] = None,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Load a network by a pattern, and measure latency and what arrives.

    Every port has one node. Under a load each sends a message with that chance in each slot, which
    is the time that its link takes for one. Arrivals in the window behind the warm-up count.
    """
    given = {**typed, **pairs_of(setting)}
    settings = Settings.of(given)
    of_others = [*settings.node, *settings.play]
    if of_others:
        raise typer.BadParameter(
            f"`{of_others[0]}` is of jobs; synthetic traffic goes between ports as packets."
        )
    loads = shares(load) if load or not in_flight else []
    size = None if message is None else parse_size(message)
    if parquet is not None:
        output.check_writable(parquet.parent)
    with runs.watched() as watch, of_options():
        from linkwright.systems import read_system, network_keys

        joined = network_keys(network or "fat-tree")
        system = read_system({"gpus": 1}, network={**joined, **settings.network})
        found = system.traffic(
            pattern,
            loads=loads,
            in_flight=in_flight or [],
            message=size,
            warm_up=warm_up,
            window=window,
            hot=hot,
            seed=seed,
            progress=lambda *at: watch.progress("", *at),
        )
    if parquet is not None:
        write_parquet(found, parquet)
        output.say(f"wrote {parquet}", stderr=True)
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
