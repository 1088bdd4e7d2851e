"""Prints and writes a run of any kind for the commands that play jobs; shows their progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from linkwright.cli import output
from linkwright.errors import FileError
from linkwright.runs.run import Progress, Run, Sheet
from linkwright.texts import duration, large

if TYPE_CHECKING:
    from linkwright.runs.timeline import Timeline

__all__ = ["Wanted", "Watch", "print_sheets", "save_timeline", "show", "watched", "write_played"]

# Of each kind: some 100 MB of JSON, which viewers still open.
SPANS = 200_000

# In seconds. A forecast is told where it is longer.
LONG = 10.0


@dataclass(frozen=True)
class Wanted:
    """Says which files a run writes beside its printed answer.

    Attributes:
        to: The folder of its results.
        timeline: The file of its timeline.
        plot: The file of a chart, which the command draws.
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
        """Refuses outputs that cannot be written, before a long run begins.

        Raises:
            FileError: If a folder is not there or cannot be written to.
        """
        if self.to is not None:
            output.check_writable(self.to)
        for file in (self.timeline, self.plot):
            if file is None:
                continue
            if file.is_dir():
                raise FileError(f"`{file}` is a directory", "name a file in it")
            if not file.parent.is_dir():
                raise FileError(f"there is no directory `{file.parent}`", "make it first")
            output.check_writable(file.parent)


@dataclass
class Watch:
    """The time that a run takes, and where its progress goes.

    Attributes:
        progress: Where the progress goes.
        say: Says a line on standard error, above the progress.
        seconds: How long the run took.
    """

    progress: Progress
    say: Callable[[str], object]
    seconds: float = 0.0

    def forecast(self, seconds: float, done: int, total: int) -> None:
        """Says how long several runs will take in all, where that is long."""
        if seconds > LONG:
            # A sweep's imports take longer than most commands.
            from linkwright.sweeps.pace import spoken

            so_far = "the first" if done == 1 else f"the first {done}"
            self.say(f"All {total} runs take about {spoken(seconds)}, going by {so_far}.")


@contextmanager
def watched() -> Iterator[Watch]:
    """While it lasts, the run that is given the watch's progress shows it on a terminal.

    The bar appears when half a second is over.
    """
    begun = time.monotonic()
    if not sys.stderr.isatty():
        watch = Watch(lambda *_: None, lambda line: output.say(line, stderr=True))
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

    def show(what: str, done: int, total: int, simulated: float, events: int) -> None:
        nonlocal first
        now = time.monotonic()
        first = first or (now, events)
        # A model without packets and flows counts what it is done with.
        pace = f"{large(events)} events" if events else f"{done:,} of {total:,}"
        if now > first[0] and events > first[1]:
            pace += f", {large((events - first[1]) / (now - first[0]))}/s"
        bar.update(
            task,
            description=f"{what}: {duration(simulated)} simulated",
            completed=done,
            total=total or None,
            pace=pace,
        )
        if now - begun > output.PATIENCE:
            bar.start()

    watch = Watch(show, bar.console.print)
    try:
        yield watch
    finally:
        bar.stop()
    watch.seconds = time.monotonic() - begun


def show(
    played: Run, wanted: Wanted, watch: Watch, document: dict[str, object] | None = None
) -> None:
    """Writes what is wanted of a run and prints the rest.

    Args:
        played: The run, of any kind.
        wanted: The files and the outputs that the user asked for.
        watch: How long it took.
        document: The document that `--json` prints instead of the run's summary.

    Raises:
        FileError: If something cannot be written.
    """
    _write(played, wanted)
    if wanted.json:
        found = played.summary() if document is None else document
        output.print_json(found | ({"wall_clock": _pace(played, watch)} if played.work else {}))
        return
    _print(played, watch)
    for file in (wanted.timeline, wanted.plot, wanted.to):
        if file is not None:
            output.say(f"wrote {file}", stderr=True)


def _pace(played: Run, watch: Watch) -> dict[str, float]:
    seconds = max(watch.seconds, 1e-9)
    rates = {f"{name}_per_second": count / seconds for name, count in played.work.items()}
    return {"seconds": watch.seconds, **rates}


def write_played(played: Run, to: Path) -> None:
    """Writes a run's tables and its report to a folder.

    Raises:
        FileError: If it cannot be written to.
    """
    from linkwright.runs.run import write_run

    # Drawing may take longer than playing did.
    with output.working("drawing the report"):
        write_run(played, to)


def _write(played: Run, wanted: Wanted) -> None:
    if wanted.to is not None:
        write_played(played, wanted.to)
    if not (wanted.to or wanted.timeline):
        return
    timeline = played.timeline()
    if timeline is not None:
        save_timeline(timeline, wanted.timeline)


def save_timeline(timeline: Timeline, file: Path | None) -> None:
    """Writes a timeline, where a file is wanted, and says what it does not hold.

    Raises:
        FileError: If it cannot be written.
    """
    if file is not None:
        from linkwright.runs.timeline import timeline_text

        output.save(file, timeline_text(timeline))
    # A timeline that ends early looks like one of a shorter run.
    for cut in timeline.cut:
        output.say(cut, stderr=True)


def _print(played: Run, watch: Watch) -> None:
    console = output.console()
    console.print(played.title, style="bold")
    for line in played.context:
        console.print(line, style="dim")
    follows = not played.context
    for sheet in played.sheets():
        if not follows:
            console.print()
        follows = False
        _print_sheet(sheet)
    for warning in played.warnings:
        console.print(f"Warning: {warning}", style="bold")
    for sheet in played.sheets():
        if sheet.note:
            console.print(sheet.note, style="dim")
    work = [(name.replace("_", " "), count) for name, count in played.work.items() if count]
    if work:
        seconds = max(watch.seconds, 1e-9)
        (first, count), *others = work
        speed = f"{count:,} {first} in {watch.seconds:.2f} s: {count / seconds:,.0f} a second"
        speed += "".join(f", {count / seconds:,.0f} {name} a second" for name, count in others)
        console.print()
        console.print(speed, style="dim")
    output.notes("Notes", played.notes)


def print_sheets(sheets: Sequence[Sheet]) -> None:
    """Prints tables, one below another, and their notes behind."""
    console = output.console()
    for at, sheet in enumerate(sheets):
        if at > 0:
            console.print()
        _print_sheet(sheet)
    for sheet in sheets:
        if sheet.note:
            console.print(sheet.note, style="dim")


def _print_sheet(sheet: Sheet) -> None:
    if sheet.title:
        output.console().print(sheet.title, style="bold")
    made = output.table(sheet.heads, left=sheet.words)
    for row in sheet.rows:
        made.add_row(*row)
    output.print_table(made)
    output.notes(*sheet.remarks)
