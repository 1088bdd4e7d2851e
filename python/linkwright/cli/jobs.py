"""`linkwright jobs`: mixes of jobs, and the workloads that they are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from linkwright.allocation import pattern_names
from linkwright.scenario import Job, generate_jobs, workload_names, workloads, write_jobs
from linkwright.cli import output
from linkwright.cli.options import Json, among, picked
from linkwright.cli.settings import default_of, of_setting
from linkwright.documents import json_text

app = typer.Typer(help="Generate job mixes; list workloads.", no_args_is_help=True)

LONGEST_INTERARRIVAL = 10_000_000

# Few enough to be written before anybody waits for Ctrl-C.
PIECE = 10_000


def _drawn_from(what: str, known: Callable[[], list[str]], said: str) -> Any:
    """Makes the repeatable option that draws jobs from some of these names."""
    return typer.Option(
        metavar="NAME", help=said, callback=among(what, known()), autocompletion=known
    )


def _seconds(value: float | None) -> float | None:
    # Not a number is in no range, so that a range alone would let it through.
    if value is not None and not 0 <= value <= LONGEST_INTERARRIVAL:
        raise typer.BadParameter(f"{value:g} is not from 0 to {LONGEST_INTERARRIVAL:,} seconds.")
    return value


@app.command()
def generate(
    seed: Annotated[
        int, of_setting("jobs.generate.seed", defaults=True, most=2**64 - 1)
    ] = default_of("seed"),
    count: Annotated[int, of_setting("jobs.generate.count", defaults=True)] = default_of(
        "jobs.generate.count"
    ),
    max_gpus: Annotated[
        int, of_setting("jobs.generate.max_gpus", defaults=True, most=128)
    ] = default_of("jobs.generate.max_gpus"),
    workload: Annotated[
        list[str] | None,
        _drawn_from(
            "workload", workload_names, "Draw from this workload; repeatable; all where absent."
        ),
    ] = None,
    pattern: Annotated[
        list[str] | None,
        _drawn_from(
            "pattern",
            pattern_names,
            "Draw from this pattern of communication; repeatable; a ring where absent.",
        ),
    ] = None,
    mean_interarrival: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            callback=_seconds,
            help="Mean time between arrivals; all at zero where absent.",
        ),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to this file."),
    ] = None,
    json: Json = False,
) -> None:
    """Generate MAPA's uniform mix of jobs, or one like it, as a job file (CSV)."""
    with output.progress_bar() as progress:
        drawn = picked(workload, workload_names())
        made = generate_jobs(
            seed,
            count,
            max_gpus,
            workloads=drawn,
            mean_interarrival=mean_interarrival,
            patterns=picked(pattern, pattern_names()),
        )
        if to is not None:
            output.save(to, _in_pieces(made, _csv, progress))
        if json:
            text = f"[\n{_in_pieces(made, _json, progress)}\n]\n"
        elif to is None:
            text = _in_pieces(made, _csv, progress)
        else:
            text = ""
    output.document(text)


def _in_pieces(
    jobs: Sequence[Job],
    write: Callable[[Sequence[Job], int], str],
    progress: Callable[[str, int, int], None] | None,
) -> str:
    """The jobs' text, made piece by piece."""
    pieces = []
    for start in range(0, len(jobs), PIECE):
        pieces.append(write(jobs[start : start + PIECE], start))
        if progress is not None:
            progress("jobs written", min(start + PIECE, len(jobs)), len(jobs))
    return "".join(pieces)


def _csv(jobs: Sequence[Job], start: int) -> str:
    text = write_jobs(jobs)
    # Only the first piece keeps its header.
    return text if start == 0 else text.partition("\n")[2]


def _json(jobs: Sequence[Job], start: int) -> str:
    items = json_text([_fields(job) for job in jobs]).removeprefix("[\n").removesuffix("\n]\n")
    return items if start == 0 else f",\n{items}"


def _fields(job: Job) -> dict[str, object]:
    return {
        "job": job.name,
        "arrival": job.arrival,
        "workload": job.workload,
        "gpus": job.gpus,
        "pattern": job.pattern,
        "sensitive": job.sensitive,
        "iterations": job.iterations,
    }


@app.command("workloads")
def list_workloads(json: Json = False) -> None:
    """List the workloads: whether bandwidth matters to them, and what an iteration costs."""
    import pyarrow as pa

    columns = pa.table(workloads())
    rows = columns.to_pylist()
    if json:
        output.print_json(rows)
        return
    heads = []
    for field in columns.schema:
        unit = (field.metadata or {}).get(b"unit", b"").decode()
        head = field.name.replace("_", " ")
        heads.append(f"{head} ({unit})" if unit else head)
    made = output.table(heads, left=["workload"])
    for row in rows:
        made.add_row(*(_cell(value) for value in row.values()))
    output.print_table(made)


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value}"
