"""`linkwright collective compare`: algorithms side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from linkwright import System, names
from linkwright.collectives import Schedule, algorithm_descriptions, algorithm_names
from linkwright.errors import CollectiveError
from linkwright.cli import output
from linkwright.cli.degraded import Without, degraded
from linkwright.cli.error_bars import error_bars, told
from linkwright.cli.options import Json, MachineName, NetworkName, Servers, among, picked
from linkwright.cli.schedules import (
    CollectiveName,
    Gpus,
    Links,
    NoStreamReuse,
    On,
    Plot,
    Processes,
    Root,
    Size,
    divided,
    gpus_of,
    job_text,
    named_gpus,
    network_notes,
    plan_on,
    planner_names,
    save_plot,
)
from linkwright.cli.sizes import parse_size, size_text
from linkwright.cli.standard_input import machine_of

__all__ = ["compare"]


def compare(
    collective: CollectiveName,
    machine: MachineName,
    on: On = None,
    gpus: Gpus = None,
    size: Size = "64MiB",
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"Only this one; repeatable: {', '.join(algorithm_names())}.",
            callback=among("algorithm", algorithm_names()),
            autocompletion=algorithm_names,
        ),
    ] = None,
    links: Links = "auto",
    root: Root = None,
    processes: Processes = None,
    no_stream_reuse: NoStreamReuse = False,
    servers: Servers = 1,
    network: NetworkName = None,
    without: Without = None,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Compare algorithms on the same GPUs at one size.

    A column for each NCCL that is among them says how many times as fast a row is as that
    NCCL, each with the protocol that is its fastest at that size. An algorithm that cannot
    do it is listed below with the reason. MPI's algorithms, which do not look at the links, are
    compared where they are named. With --without, parts are down, and a column says how many
    times as long each algorithm takes as on the whole system.
    """
    gpus = named_gpus(on, gpus)
    down = degraded(machine_of(machine, servers, network), without, gpus, root)
    left = down.system
    data = wanted = parse_size(size)
    rounded: list[str] = []
    words = dict(algorithm_descriptions())
    rows: list[dict[str, Any]] = []
    refusals: dict[str, CollectiveError] = {}
    tried = list(dict.fromkeys(picked(algorithm, algorithm_names()) or planner_names()))

    def planned(on: System, ids: str | None, name: names.AlgorithmName) -> Schedule:
        return plan_on(
            on,
            collective,
            ids,
            name,
            links,
            root,
            size=wanted,
            stream_reuse=not no_stream_reuse,
            show_progress=False,
        )

    def time_whole(name: names.AlgorithmName) -> float | None:
        try:
            schedule = planned(down.whole, gpus, name)
            return schedule.time(divided(schedule, wanted)[0], processes=processes).time
        except CollectiveError:
            return None

    with output.progress_bar() as progress:
        for done, name in enumerate(tried):
            if progress is not None:
                progress(name, done, len(tried))
            try:
                schedule = planned(left, down.gpus, name)
                data, rounded = divided(schedule, wanted)
                timing = schedule.time(data, processes=processes)
            except CollectiveError as error:
                refusals[name] = error
                continue
            rows.append(
                {
                    "algorithm": name,
                    "description": words[name],
                    "links": schedule.links,
                    "rate": schedule.rate,
                    "protocol": timing.protocol,
                    "time": timing.time,
                    "algorithm_bandwidth": timing.algorithm_bandwidth,
                    "bus_bandwidth": timing.bus_bandwidth,
                    "whole_time": time_whole(name) if down.parts else None,
                    "notes": schedule.notes,
                }
            )
    if not rows:
        raise _none_of(refusals)
    refused = {name: str(error) for name, error in refusals.items()}
    rows.sort(key=lambda row: row["time"])
    baselines = {row["algorithm"]: row["time"] for row in rows if _is_nccl(row["algorithm"])}
    for row in rows:
        row["speedup_over"] = {name: taken / row["time"] for name, taken in baselines.items()}
    ids = gpus_of(left, down.gpus)
    rounded += down.notes + network_notes(left, ids, network)
    [bar] = error_bars(left, ids, [data], collective)
    title = f"{collective} of {size_text(data)} on {job_text(ids, left)}{down.title()}"
    if plot is not None:
        from linkwright.collective_plot import bandwidth_by_algorithm

        save_plot(bandwidth_by_algorithm(rows, title), plot)
    if json:
        document = {"machine": left.name, "gpus": ids, "collective": collective, "size": data}
        document |= {"without": down.parts, "error": bar}
        output.print_json(document | {"algorithms": rows, "refused": refused, "notes": rounded})
    else:
        _print_comparison(title, rows, refused, rounded, bar)


def _none_of(refusals: Mapping[str, CollectiveError]) -> CollectiveError:
    """Why none of some algorithms does it; what would work where there is one alone."""
    (name, error), *others = refusals.items()
    if not others:
        return CollectiveError(f"{name}: {error.problem}", error.remedy)
    return CollectiveError("; ".join(f"{name}: {why}" for name, why in refusals.items()))


def _is_nccl(algorithm: str) -> bool:
    return algorithm.startswith("nccl")


def _print_comparison(
    title: str,
    rows: list[dict[str, Any]],
    refused: dict[str, str],
    rounded: list[str],
    bar: dict[str, Any],
) -> None:
    over = list(rows[0]["speedup_over"])
    heads = [
        "algorithm",
        "links",
        "protocol",
        "rate\nGB/s",
        "time\nus",
        "busbw\nGB/s",
    ]
    heads += [f"over\n{name}" for name in over]
    is_degraded = any(row["whole_time"] is not None for row in rows)
    if is_degraded:
        heads += ["whole\nus", "times\nas long"]
    made = output.table(heads, left=["algorithm", "links", "protocol"])
    for row in rows:
        whole = row["whole_time"]
        beside = ("-", "-")
        if whole is not None:
            beside = (f"{whole * 1e6:.1f}", f"{row['time'] / whole:.2f}x")
        made.add_row(
            row["algorithm"],
            row["links"],
            row["protocol"],
            f"{row['rate']:.2f}",
            f"{row['time'] * 1e6:.1f}",
            f"{row['bus_bandwidth']:.2f}",
            *(f"{row['speedup_over'][name]:.2f}x" for name in over),
            *(beside if is_degraded else ()),
        )
    console = output.console()
    console.print(title, style="bold")
    output.print_table(made)
    output.say(told(bar))
    console.print()
    output.notes("Algorithms", [f"{row['algorithm']}: {row['description']}" for row in rows])
    output.notes("Not planned", [f"{name}: {why}" for name, why in refused.items()])
    output.notes("Notes", rounded + _notes(rows))


def _notes(rows: list[dict[str, Any]]) -> list[str]:
    """What the planners say, each note once, after the algorithms that it is about."""
    by_note: dict[str, list[str]] = {}
    for row in rows:
        for note in row["notes"]:
            by_note.setdefault(note, []).append(row["algorithm"])
    return [
        note if any(note.startswith(name) for name in names) else f"{', '.join(names)}: {note}"
        for note, names in by_note.items()
    ]
