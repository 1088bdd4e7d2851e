"""Holds the options that say which raw events of a run are kept, and in which file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from linkwright.cli import output
from linkwright.cli.keys import Keys, number, text, time
from linkwright.cli.panels import OUTPUT, Rare
from linkwright.cli.parquet import write_parquet
from linkwright.network import ClusterRun
from linkwright.scenario import Table

__all__ = [
    "Events",
    "Only",
    "Span",
    "Traced",
    "What",
    "check_events",
    "read_only",
    "trace_option",
    "write_events",
]

Kind = Literal["packets", "messages", "queues"]
LIMIT = 1_000_000


def trace_option(what: str, too: str = "") -> Any:
    """The option `--trace` of a command, by the events that it keeps, and where else they go."""
    return typer.Option(
        "--trace", rich_help_panel=Rare(OUTPUT), help=f"Keep {what} for --events{too}."
    )


What = Annotated[
    Kind | None,
    trace_option("every step of packets, every message, or the packets that wait", " or --output"),
]
Events = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", rich_help_panel=Rare(OUTPUT), help="Write what --trace keeps as Parquet."
    ),
]
ONLY = Keys(
    time("from", "Keep no event before this simulated time", "0s"),
    time("until", "Keep no event after it"),
    number("limit", "N", "The most events that are kept", f"{LIMIT:,}", least=1),
    text("link", "LINK", "Keep the events of one link, such as 'leaf0 to node3'"),
    time("window", "The length of a window of --trace queues", "1us"),
)
Only = Annotated[
    str | None,
    typer.Option(
        "--trace-only",
        metavar="KEY=VALUE,...",
        rich_help_panel=Rare(OUTPUT),
        help="Keep some events: from=1ms, until=2ms, limit=N, link='leaf0 to node3', and of "
        "queues window=1us.",
    ),
]


@dataclass(frozen=True)
class Span:
    """Says which events are kept.

    They lie between the seconds `since` and `until`. Up to `limit` are kept, of one `link` if it
    is given. A window of queues lasts `window` seconds, or a microsecond.
    """

    limit: int = LIMIT
    link: str | None = None
    since: float = 0.0
    until: float | None = None
    window: float | None = None


def read_only(trace: str | None, given: str | None, keys: Sequence[str] | None = None) -> Span:
    """Reads `--trace-only`.

    Raises:
        typer.BadParameter: If a key is unknown, or nothing is traced.
    """
    if given is None:
        return Span()
    if trace is None:
        raise typer.BadParameter("--trace-only says which events --trace keeps; give --trace.")
    known = ONLY if keys is None else Keys(*(key for key in ONLY if key.name in keys))
    found = known.read(given.split(","))
    if "from" in found:
        found["since"] = found.pop("from")
    if found.get("window") == 0:
        raise typer.BadParameter("window: a window lasts longer than 0 s.")
    return Span(**found)


@dataclass(frozen=True)
class Traced:
    """Says which raw events are kept: of the kind `what`, within a `span`; they go to `file`."""

    what: Kind | None
    file: Path | None
    span: Span

    def check(self, to: Path | None) -> None:
        """Refuses what does not go together, or could not be written.

        The folder of the run's results, if there is one, gets the events, too.

        Raises:
            typer.BadParameter: If it is so.
            FileError: If the folder cannot be written.
        """
        if to is None or self.what is None or self.file is not None:
            check_events(self.what, self.file)
        if self.what == "messages" and self.span.link:
            raise typer.BadParameter(
                "a message goes by several links; link is of --trace packets or queues."
            )
        if self.span.window is not None and self.what != "queues":
            raise typer.BadParameter("window is of --trace queues.")

    @property
    def spans(self) -> int:
        """How many messages the run must keep."""
        return self.span.limit if self.what == "messages" else 0

    def keywords(self) -> dict[str, Any]:
        """Returns keywords of `System.play`."""
        kept = self.span
        if self.what == "messages":
            return {"messages_from": kept.since, "messages_until": kept.until}
        if self.what is None:
            return {}
        span = {"packets_from": kept.since, "packets_until": kept.until}
        window = {} if kept.window is None else {"queue_window": kept.window}
        return {self.what: kept.limit, "packets_link": kept.link, **window, **span}

    def write(self, run: ClusterRun, to: Path | None) -> None:
        """Writes what a run kept to the file, and says of how much that and the folder have.

        Raises:
            FileError: If the file cannot be written.
        """
        if self.what is None:
            return
        if self.what == "packets":
            table, what, count = run.packets(), "steps of packets", run.packet_steps
        elif self.what == "queues":
            table, what, count = run.queues(), "windows with a queue", run.queue_windows
        else:
            table, what, count = run.messages(), "messages", run.timeline_counts[1]
        if self.file is not None:
            write_events(table, what, count, self.file)
        elif to is not None:
            _say(to / f"{self.what}.parquet", what, len(table), count)


def check_events(what: str | None, file: Path | None) -> None:
    """Refuses events without a file, a file without events, and one that could not be written.

    Raises:
        typer.BadParameter: If only one of both is there.
        FileError: If the folder cannot be written.
    """
    if (what is None) != (file is None):
        raise typer.BadParameter("--trace says what to keep and --events where; give both.")
    if file is not None:
        output.check_writable(file.parent)


def write_events(table: Table, what: str, count: int, file: Path) -> None:
    """Writes the events that a run kept, and says how many it left out.

    The table has some of `count` events, and `what` names them.

    Raises:
        FileError: If the file cannot be written.
    """
    write_parquet(table, file)
    _say(file, what, len(table), count)


def _say(file: Path, what: str, kept: int, count: int) -> None:
    cut = f"the first {kept:,} of {count:,} {what}; {count - kept:,} are left out"
    output.say(f"{file} holds {cut if kept < count else f'all {count:,} {what}'}", stderr=True)
