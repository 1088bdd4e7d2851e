"""Options of commands that play a network: which raw events are kept, and in which file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from linkwright.network import ClusterRun
from linkwright.scenario import Table
from linkwright.cli import output
from linkwright.cli.parquet import write_parquet

__all__ = [
    "LIMIT",
    "Events",
    "Limit",
    "Link",
    "Since",
    "Traced",
    "Until",
    "What",
    "Window",
    "check_events",
    "write_events",
]

Kind = Literal["packets", "messages", "queues"]
LIMIT = 1_000_000
What = Annotated[
    Kind | None,
    typer.Option(
        "--trace",
        help="Keep for --events every step of packets, every message, or how many packets wait "
        "for each link over time.",
    ),
]
Events = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write what --trace keeps as Parquet.")
]
Limit = Annotated[
    int, typer.Option(metavar="N", min=1, help="Of --trace: keep the first N rows at most.")
]
Link = Annotated[
    str | None,
    typer.Option(metavar="LINK", help="Of --trace: of one link, such as 'leaf0 to node3'."),
]
Since = Annotated[float, typer.Option(metavar="SECONDS", min=0, help="Of --trace: from then on.")]
Until = Annotated[
    float | None, typer.Option(metavar="SECONDS", min=0, help="Of --trace: until then.")
]
Window = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        min=1e-12,
        help="Of --trace queues: how long a window is; a microsecond if absent.",
    ),
]


@dataclass(frozen=True)
class Traced:
    """Says which raw events are kept.

    They are of the kind `what`, and go to `file`. Up to `limit` are kept, of one `link` if it is
    given. They lie between the seconds `since` and `until`. A window of queues lasts `window`
    seconds, or a microsecond.
    """

    what: Kind | None
    file: Path | None
    limit: int
    link: str | None
    since: float
    until: float | None
    window: float | None

    def check(self) -> None:
        """Refuses what does not go together, or could not be written.

        Raises:
            typer.BadParameter: If it is so.
            FileError: If the folder cannot be written.
        """
        check_events(self.what, self.file)
        if self.what is None and (self.link or self.since or self.until is not None):
            raise typer.BadParameter(
                "--trace-link, --trace-from and --trace-until say which events --trace keeps."
            )
        if self.what == "messages" and self.link:
            raise typer.BadParameter(
                "a message goes by several links; --trace-link is of --trace packets or queues."
            )
        if self.window is not None and self.what != "queues":
            raise typer.BadParameter("--trace-window is of --trace queues.")

    @property
    def spans(self) -> int:
        """How many messages the run must keep."""
        return self.limit if self.what == "messages" else 0

    def keywords(self) -> dict[str, Any]:
        """Returns keywords of `System.play`."""
        if self.what == "messages":
            return {"messages_from": self.since, "messages_until": self.until}
        if self.what is None:
            return {}
        span = {"packets_from": self.since, "packets_until": self.until}
        window = {} if self.window is None else {"queue_window": self.window}
        return {self.what: self.limit, "packets_link": self.link, **window, **span}

    def write(self, run: ClusterRun) -> None:
        """Writes what a run kept, and says of how much.

        Raises:
            FileError: If the file cannot be written.
        """
        if self.file is None:
            return
        if self.what == "packets":
            table, what, count = run.packets(), "steps of packets", run.packet_steps
        elif self.what == "queues":
            table, what, count = run.queues(), "windows with a queue", run.queue_windows
        else:
            table, what, count = run.messages(), "messages", run.timeline_counts[1]
        write_events(table, what, count, self.file)


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
    kept = len(table)
    cut = f"the first {kept:,} of {count:,} {what}; {count - kept:,} are left out"
    output.say(f"{file} holds {cut if kept < count else f'all {count:,} {what}'}", stderr=True)
