"""What `linkwright replay` and `linkwright run` print of jobs on a cluster, and their progress."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from linkwright.cli import output
from linkwright.errors import FileError
from linkwright.replay_summary import Replay

__all__ = ["Wanted", "Watch", "play_scenario", "show", "watched"]

# Of each kind: some 100 MB of JSON, which viewers still open.
SPANS = 200_000
BUSIEST = 5


@dataclass(frozen=True)
class Wanted:
    """What is to come of a replay beside what is printed.

    Attributes:
        to: The folder of its results.
        timeline: The file of its timeline.
        plot: The file of its heat map of links.
        json: Whether JSON is printed.
    """

    to: Path | None = None
    timeline: Path | None = None
    plot: Path | None = None
    json: bool = False

    @property
    def spans(self) -> int:
        """How many spans of each kind the run must keep."""
        return SPANS if self.to or self.timeline else 0

    def check(self) -> None:
        """Refuses, before a long run, what could not be written after it.

        Raises:
            FileError: If a folder is not there or cannot be written to.
        """
        if self.to is not None:
            output.check_writable(self.to)
        for file in (self.timeline, self.plot):
            if file is None:
                continue
            if file.is_dir():
                raise FileError(f"`{file}` is a directory; name a file in it")
            if not file.parent.is_dir():
                raise FileError(f"there is no directory `{file.parent}`; make it first")
            output.check_writable(file.parent)


@dataclass
class Watch:
    """The time that a replay takes, and where its progress goes."""

    progress: Callable[[int, int, float, int], object]
    seconds: float = 0.0


@contextmanager
def watched() -> Iterator[Watch]:
    """While it lasts, the run that is given the watch's progress shows it on a terminal.

    The bar appears when half a second is over.
    """
    begun = time.monotonic()
    if not sys.stderr.isatty():
        watch = Watch(lambda *_: None)
        yield watch
        watch.seconds = time.monotonic() - begun
        return
    # Its import takes longer than most commands, which show none.
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[pace]}"),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
    )
    bar = Progress(*columns, console=output.rich_console(stderr=True), transient=True)
    task = bar.add_task("", total=None, pace="")

    # Inputs are read before the first report, which therefore is where the rate counts from.
    first: tuple[float, int] | None = None

    def show(done: int, total: int, simulated: float, events: int) -> None:
        nonlocal first
        now = time.monotonic()
        first = first or (now, events)
        pace = f"{count(events)} events"
        if now > first[0] and events > first[1]:
            pace += f", {count((events - first[1]) / (now - first[0]))}/s"
        bar.update(
            task,
            description=f"{duration(simulated)} simulated",
            completed=done,
            total=total or None,
            pace=pace,
        )
        if now - begun > output.PATIENCE:
            bar.start()

    watch = Watch(show)
    try:
        yield watch
    finally:
        bar.stop()
    watch.seconds = time.monotonic() - begun


def play_scenario(scenario: Path, wanted: Wanted) -> None:
    """Plays a scenario of a cluster, writes what is wanted and prints the rest."""
    from linkwright.replays import replay_scenario

    wanted.check()
    with watched() as watch:
        played = replay_scenario(scenario, timeline=wanted.spans, progress=watch.progress)
    show(played, wanted, watch)


def duration(seconds: float) -> str:
    """The time with the unit that keeps it short."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= factor:
            return f"{seconds / factor:.3f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def count(number: float) -> str:
    """A large number by its millions or billions; a smaller one in full."""
    for factor, word in ((1e9, " billion"), (1e6, " million")):
        if number >= factor:
            return f"{number / factor:.1f}{word}"
    return f"{number:,.0f}"


def size(number: float) -> str:
    """Bytes with the binary unit that keeps them short."""
    units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while number >= 1024 and len(units) > 1:
        number /= 1024
        units.pop(0)
    return f"{number:.4g} {units[0]}"


def show(played: Replay, wanted: Wanted, watch: Watch) -> None:
    """Writes what is wanted and prints the rest.

    Raises:
        FileError: If something cannot be written.
    """
    from linkwright.replay_summary import replay_summary

    _write(played, wanted)
    if wanted.json:
        summary = replay_summary(played)
        run = played.run
        pace = {
            "seconds": watch.seconds,
            "events_per_second": run.events / max(watch.seconds, 1e-9),
            "packet_hops_per_second": run.packet_hops / max(watch.seconds, 1e-9),
        }
        output.print_json(summary | {"wall_clock": pace})
        return
    _print(played, watch)
    for file in (wanted.timeline, wanted.plot, wanted.to):
        if file is not None:
            output.say(f"wrote {file}", stderr=True)


def _write(played: Replay, wanted: Wanted) -> None:
    if wanted.to is not None:
        from linkwright.replays import write_replay

        with output.working("drawing the report"):
            write_replay(played, wanted.to)
    if wanted.timeline is not None:
        from linkwright.timeline import timeline_text

        output.save(wanted.timeline, timeline_text(played))
    if wanted.plot is not None:
        from linkwright.cluster_plot import link_heat_map
        from linkwright.plot import save_chart

        save_chart(link_heat_map(played), wanted.plot)
    _say_what_is_cut(played, wanted)


def _say_what_is_cut(played: Replay, wanted: Wanted) -> None:
    """A timeline that ends early looks like one of a shorter run."""
    most = max(played.run.timeline_counts)
    if wanted.spans and most > wanted.spans:
        output.say(
            f"the timeline holds the first {wanted.spans:,} of each kind: of up to {most:,} spans, "
            "messages and stays in regions",
            stderr=True,
        )


def _print(played: Replay, watch: Watch) -> None:
    from linkwright.replay_summary import busiest_links, job_summaries, link_rows

    system, run = played.system, played.run
    console = output.console()
    where = f"{played.name} on {played.machine}"
    console.print(where, style="bold")
    network = (
        f"{output.counted(played.switches, 'switch', 'switches')}; "
        f"routing {system.routing}, NIC {system.nic}"
        if played.switches
        else "no network"
    )
    console.print(
        f"{output.counted(system.gpu_count, 'GPU')} in "
        f"{output.counted(system.server_count, 'node')}, "
        f"{played.gpus_per_server} each; {network}, {run.fidelity} model",
        style="dim",
    )
    if played.known_error is not None:
        console.print(str(played.known_error), style="dim")
    console.print()
    made = output.table(
        ["job", "program", "ranks", "time", "computing", "communicating", "messages", "data"],
        left=["job", "program"],
    )
    for job in job_summaries(played):
        made.add_row(
            job.name,
            job.program,
            str(job.ranks),
            duration(job.time),
            f"{job.computing:.1%}",
            f"{job.communicating:.1%}",
            f"{job.messages:,}",
            size(job.data),
        )
    output.print_table(made)
    _print_planned(played)
    console.print()
    made = output.table(["messages up to", "path", "count", "p50", "p99", "longest"], left=["path"])
    for row in run.latencies():
        made.add_row(
            size(row["largest"]),
            "within a node" if row["within_node"] else "network",
            f"{row['messages']:,}",
            duration(row["p50"]),
            duration(row["p99"]),
            duration(row["maximum"]),
        )
    output.print_table(made)
    console.print()
    made = output.table(["busiest links", "level", "load", "data"], left=["busiest links", "level"])
    for link in busiest_links(link_rows(played), BUSIEST):
        made.add_row(
            f"{link.source} to {link.destination}",
            link.level,
            f"{link.utilisation:.1%}",
            size(link.data),
        )
    output.print_table(made)
    console.print()
    seconds = max(watch.seconds, 1e-9)
    speed = f"{run.events:,} events in {watch.seconds:.2f} s: {run.events / seconds:,.0f} a second"
    if run.packet_hops:
        speed += f", {run.packet_hops / seconds:,.0f} packet hops a second"
    console.print(speed, style="dim")
    output.notes("Notes", played.notes)


def _print_planned(played: Replay) -> None:
    """Which algorithms the planner chose, a line for communicators alike."""
    rows = list(played.run.planned())
    if not rows:
        return
    console = output.console()
    console.print()
    made = output.table(
        ["planned", "ranks", "nodes", "communicators", "algorithm", "rate"],
        left=["planned", "algorithm"],
    )
    keys = ("collective", "ranks", "nodes", "algorithm", "rate")
    alike = Counter(tuple(row[key] for key in keys) for row in rows)
    for (collective, ranks, nodes, algorithm, rate), count in alike.items():
        made.add_row(
            collective, str(ranks), str(nodes), f"{count:,}", algorithm, f"{rate:.2f} GB/s"
        )
    output.print_table(made)
    notes = dict.fromkeys(note for row in rows if (note := row["notes"]))
    output.notes("Plans", list(notes))
