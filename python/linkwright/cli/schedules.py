"""What the commands on collectives share: their options, their plans, and how these print."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwright import System, names, plan
from linkwright.collectives import (
    Schedule,
    Timing,
    Tree,
    Tried,
    algorithm_names,
    collective_names,
    planning_seconds,
)
from linkwright.errors import CollectiveError, FileError
from linkwright.cli import output
from linkwright.cli.error_bars import error_bars, told
from linkwright.cli.options import MOST_GPUS, among, gpu_count, gpu_ids
from linkwright.cli.sizes import parse_size, size_text

if TYPE_CHECKING:
    import altair as alt

__all__ = [
    "COLLECTIVE",
    "ELEMENT",
    "AlgorithmName",
    "Chunk",
    "CollectiveName",
    "Factor",
    "Gpus",
    "Helpers",
    "LeastSize",
    "Links",
    "MostSize",
    "NoStreamReuse",
    "On",
    "Plot",
    "Processes",
    "Protocol",
    "Root",
    "Size",
    "chunk_of",
    "divided",
    "gpus_of",
    "job_text",
    "named_gpus",
    "network_notes",
    "plan_fields",
    "plan_on",
    "planner_names",
    "print_timing",
    "print_trees",
    "save_plot",
    "some_ids",
    "timing_fields",
    "tried_fields",
    "tried_lines",
]

# The choice of the fastest algorithm.
AUTO = "auto"

# The most trees that a person reads; others are counted.
MOST_TREES = 32

# From how many seconds on a person is told before planning starts.
LONG_PLANNING = 10.0

# What nccl-tests moves by default is float32.
ELEMENT = 4

# As many GPUs as people still read by their ids.
MOST_NAMED = 16


def _collective(name: str | None) -> object:
    """The collective, however its words are joined: `all_reduce` and `allreduce`, too."""
    if name is None:
        return None
    known = {_joined(each): each for each in collective_names()}
    return among("collective", collective_names())(known.get(_joined(name), name))


def _joined(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


COLLECTIVE = typer.Argument(
    metavar="COLLECTIVE",
    help=f"One of {', '.join(collective_names())}.",
    callback=_collective,
    autocompletion=collective_names,
)
# Typer would print the ten names in place of the argument's own.
if TYPE_CHECKING:
    CollectiveName = names.CollectiveName
else:
    CollectiveName = Annotated[str, COLLECTIVE]


def some_gpus(text: str | None) -> str | None:
    """The ids of so many GPUs, the first ones; ids themselves are read for one release.

    An empty text, which a script's unset variable gives, is not all GPUs, and is refused.

    Raises:
        typer.BadParameter: If the text is there and is no number of GPUs from 2 on.
    """
    if text is None:
        return None
    if not text.strip():
        raise typer.BadParameter("it is empty; write how many, or leave the option out.")
    if re.search(r"\d\s*[,-]", text) and gpu_ids(text):
        typer.echo(
            f"warning: --gpus says how many GPUs; write --on {text.strip()} for these ids, which "
            "--gpus takes in this release only",
            err=True,
        )
        return text
    count = gpu_count(text)
    if count < 2:
        raise typer.BadParameter("a collective needs two GPUs or more.")
    return f"0-{count - 1}"


def some_ids(text: str | None) -> str | None:
    """Refuses an empty list of ids, and one that names a single GPU.

    Raises:
        typer.BadParameter: If the text is such a list or none.
    """
    if text is not None and not text.strip():
        raise typer.BadParameter("it is empty; write ids like 0,3, or leave the option out.")
    if text is not None and len(ids := gpu_ids(text)) == 1:
        many = f"; for {ids[0]} GPUs write --gpus {ids[0]}" if ids[0] > 1 else ""
        raise typer.BadParameter(
            f"`{text.strip()}` is the id of one GPU, and a collective needs two or more{many}."
        )
    return text


def _some_helpers(text: str | None) -> str | None:
    """Refuses an empty list of ids."""
    if text is not None and not text.strip():
        raise typer.BadParameter("it is empty; write ids like 1,4 or all, or leave the option out.")
    if text is not None and text.strip() != "all":
        gpu_ids(text)
    return text


def _helpers_of(machine: System, ids: Sequence[int], text: str | None) -> list[int] | None:
    """The helpers that the text names; all other GPUs of the job's servers for `all`."""
    if text is None or text.strip() != "all":
        return None if text is None else gpu_ids(text)
    count = machine.gpu_count
    own = {machine.server_of(gpu) for gpu in ids if gpu < count}
    others = [gpu for gpu in range(count) if gpu not in ids and machine.server_of(gpu) in own]
    if not others:
        raise typer.BadParameter("no GPU is left to help: the job has all of them.")
    return others


def named_gpus(on: str | None, gpus: str | None) -> str | None:
    """The ids that `--on` or `--gpus` says; None, which is all, where neither is there.

    Raises:
        typer.BadParameter: If both are.
    """
    if on is not None and gpus is not None:
        raise typer.BadParameter("--on names the GPUs, and --gpus counts them; give one.")
    return gpus if on is None else on


On = Annotated[
    str | None,
    typer.Option(
        metavar="IDS",
        help="The job's GPUs, such as 0-3 or 1,4,5,6; all of them if absent.",
        callback=some_ids,
    ),
]
Gpus = Annotated[
    str | None,
    typer.Option(metavar="N", help="Instead, the first so many.", callback=some_gpus),
]
Helpers = Annotated[
    str | None,
    typer.Option(
        metavar="IDS|all",
        help="GPUs outside the job that may pass its data on over NVLink, such as 1,4.",
        callback=_some_helpers,
    ),
]
AlgorithmName = Annotated[
    names.AlgorithmName,
    typer.Option(
        metavar="NAME",
        help=f"Who plans: {', '.join(algorithm_names())}.",
        callback=among("algorithm", algorithm_names()),
        autocompletion=algorithm_names,
    ),
]
Links = Annotated[
    names.LinksName,
    typer.Option(
        help="Which links to use; auto is NVLink where it joins all GPUs, hybrid PCIe beside it."
    ),
]
Root = Annotated[
    int | None,
    typer.Option(
        metavar="GPU",
        min=0,
        max=MOST_GPUS,
        help="The GPU that has, or gets, the data of a collective with a root; else the first.",
    ),
]
Size = Annotated[
    str,
    typer.Option(metavar="SIZE", help="The data, as nccl-tests counts it: 8, 64MiB, 64M, 1G."),
]
LeastSize = Annotated[
    str, typer.Option("--min-bytes", "-b", metavar="SIZE", help="The first size.")
]
MostSize = Annotated[
    str, typer.Option("--max-bytes", "-e", metavar="SIZE", help="The last size at most.")
]
Factor = Annotated[
    int, typer.Option("--factor", "-f", min=2, max=1024, help="From one size to the next.")
]
Chunk = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="The most that a step moves at once; found if absent."),
]
Protocol = Annotated[
    names.ProtocolName | None,
    typer.Option(help="Whose latencies and losses to count; the schedule's own if absent."),
]
Processes = Annotated[
    names.ProcessesName | None,
    typer.Option(
        help="How ranks are launched: each a process, by one on GPU after GPU, or by one as a "
        "group (NCCL up to 2.8). On a lone server it is one if absent."
    ),
]
NoStreamReuse = Annotated[
    bool,
    typer.Option(
        "--no-stream-reuse",
        help="Trees that share a link get equal parts of it, instead of turns by their data as "
        "Blink's streams take them.",
    ),
]


def _checked_plot(path: Path | None) -> Path | None:
    """Refuses, before anything is timed, a chart that could not be written after it."""
    if path is not None and path.suffix.lower() not in (".html", ".svg", ".png", ".json"):
        raise typer.BadParameter(
            f"no chart format `{path.suffix}`; choose .html, .svg, .png or .json."
        )
    if path is not None and not path.absolute().parent.is_dir():
        raise typer.BadParameter(f"there is no directory `{path.parent}`; make it first.")
    return path


Plot = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Draw a chart: .html, .svg, .png or .json.", callback=_checked_plot
    ),
]


def gpus_of(machine: System, gpus: str | None) -> list[int]:
    """The ids in the text, or all GPUs of the machine."""
    return gpu_ids(gpus) or list(range(machine.gpu_count))


def plan_on(
    machine: System,
    collective: names.CollectiveName,
    gpus: str | None,
    algorithm: names.AlgorithmName,
    links: names.LinksName,
    root: int | None,
    *,
    size: int | None = None,
    protocol: names.ProtocolName | None = None,
    stream_reuse: bool = True,
    helpers: str | None = None,
    show_progress: bool = True,
) -> Schedule:
    """Plans what the options of a command say, to be fast at a size if one is given."""
    ids = gpus_of(machine, gpus)
    # Fewer GPUs are planned faster than a bar can be drawn.
    bar = output.progress_bar() if show_progress and len(ids) > 8 else nullcontext()
    seconds = planning_seconds(machine, ids, collective, algorithm=algorithm)
    if seconds > LONG_PLANNING:
        typer.echo(
            f"packing trees through {len(ids)} GPUs takes about {seconds:.0f} s; Ctrl-C stops it. "
            "--algorithm nccl-ring plans in seconds.",
            err=True,
        )
    with bar as progress:
        if progress is not None:
            progress("planning", 0, 0)
        return plan(
            machine,
            ids,
            collective,
            algorithm=algorithm,
            links=links,
            root=root,
            size=size,
            # It is part of what `auto` chooses; a named algorithm's plan is any protocol's.
            protocol=protocol if algorithm == AUTO and helpers is None else None,
            stream_reuse=stream_reuse,
            helpers=_helpers_of(machine, ids, helpers),
        )


def divided(schedule: Schedule, size: int, element: int = ELEMENT) -> tuple[int, list[str]]:
    """The size, or what of it divides among the shards, and then a note that says so.

    As nccl-tests does, it is rounded down to a multiple of the shards and an element.

    Raises:
        CollectiveError: If not even one element for each shard is left.
    """
    shards = schedule.shards
    if shards == 1 or size % (shards * element) == 0:
        return size, []
    whole = size // (shards * element) * shards * element
    if whole == 0:
        raise CollectiveError(
            f"{size_text(size)} do not divide into the {shards} shards of {schedule.collective}",
            f"give {shards * element} B or more",
        )
    return whole, [
        f"{size_text(size)} do not divide into {shards} shards of {element} B elements; rounded "
        f"down to {whole} B, as nccl-tests does"
    ]


def plan_fields(schedule: Schedule, machine: System) -> dict[str, object]:
    """A plan as data."""
    trees = [
        {"root": tree.root, "share": tree.share, "depth": tree.depth, "edges": tree.edges}
        for tree in schedule.trees
    ]
    return {
        "machine": machine.name,
        "collective": schedule.collective,
        "root": schedule.root,
        "gpus": schedule.gpus,
        "algorithm": schedule.algorithm,
        "links": schedule.links,
        "rate": schedule.rate,
        "optimum": schedule.optimum,
        "optimum_of": schedule.optimum_of,
        "optimum_in_switch": schedule.optimum_in_switch,
        "channels": schedule.channels,
        "chunks": schedule.chunks,
        "steps": schedule.step_count,
        "trees": trees,
        "notes": schedule.notes,
    }


def timing_fields(timing: Timing, schedule: Schedule, machine: System) -> dict[str, object]:
    """A timing as data, with its error bar."""
    trials = [
        {"chunk": chunk, "algorithm_bandwidth": bandwidth}
        for chunk, bandwidth in timing.chunk_trials
    ]
    return {
        "size": timing.size,
        "protocol": timing.protocol,
        "chunk": timing.chunk,
        "time": timing.time,
        "algorithm_bandwidth": timing.algorithm_bandwidth,
        "bus_bandwidth": timing.bus_bandwidth,
        "chunk_trials": trials,
        "error": _error_bar(timing, schedule, machine),
    }


def tried_fields(tried: Tried) -> dict[str, object]:
    """What became of an algorithm as data; times in seconds."""
    return {
        "algorithm": tried.algorithm,
        "protocol": tried.protocol,
        "chunk": tried.chunk,
        "time": tried.time,
        "least_time": tried.least_time,
        "reason": tried.reason,
    }


def tried_lines(all_tried: Sequence[Tried]) -> list[str]:
    """A line for each algorithm that was timed or ruled out, and one for all that cannot do it."""
    lines = []
    for tried in all_tried:
        if tried.time is not None:
            lines.append(f"{tried.algorithm}: {tried.time * 1e6:,.1f} us ({tried.protocol})")
        elif tried.least_time is not None:
            lines.append(
                f"{tried.algorithm}: not played, since it takes {tried.least_time * 1e6:,.1f} us "
                "at least"
            )
    refused = [tried.algorithm for tried in all_tried if tried.reason is not None]
    return lines + ([f"not for this: {', '.join(refused)}"] if refused else [])


def job_text(gpus: Sequence[int], machine: System) -> str:
    """The GPUs of a job and their machine: `GPUs 1,4,5,6 of dgx1-v100`; many as a number.

    Of servers on a network it says how fast that is, as `system_words` does.
    """
    from linkwright.systems import system_words

    ids = f"GPUs {','.join(map(str, gpus))}" if len(gpus) <= MOST_NAMED else f"{len(gpus)} GPUs"
    return f"{ids} of {system_words(machine)}"


def network_notes(machine: System, gpus: Sequence[int], named: str | None) -> list[str]:
    """Says of the network, which `--network` may have named, why it or its speed decides nothing.

    A job may need none, its speed may be assumed, or a faster one may change nothing.
    """
    from linkwright.runs.scenarios import unused_network

    if unused := unused_network(machine, [gpus]):
        return unused
    if machine.assumed_speed is not None:
        return [machine.assumed_speed]
    sides = None if named is None else machine.narrow_interfaces(gpus)
    if sides is None:
        return []
    host, network = sides
    return [
        f"a faster network counts for nothing here: each interface reaches {host:.1f} GB/s over "
        f"its PCIe, and {network:.1f} GB/s over its link to the network"
    ]


def print_timing(timing: Timing, schedule: Schedule, machine: System, where: str = "") -> None:
    """Prints how long it takes, and the error bar; `where`, if given, ends in a space."""
    output.console().print(
        f"{size_text(timing.size)} {where}take {timing.time * 1e6:,.1f} us in chunks of "
        f"{size_text(timing.chunk)} ({timing.protocol}): "
        f"algbw {timing.algorithm_bandwidth:.2f} GB/s, busbw {timing.bus_bandwidth:.2f} GB/s."
    )
    output.say(told(_error_bar(timing, schedule, machine)))


def _error_bar(timing: Timing, schedule: Schedule, machine: System) -> dict[str, Any]:
    asked = [timing.size], schedule.collective, [schedule.algorithm]
    return error_bars(machine, schedule.gpus, *asked)[0]


def print_trees(trees: list[Tree]) -> None:
    """Prints each tree with its share; nothing if there are none."""
    if not trees:
        return
    last = "GPU (those below it)"
    made = output.table(["tree", "share", "depth", last], left=["tree", last])
    for number, tree in enumerate(trees[:MOST_TREES], 1):
        made.add_row(str(number), f"{tree.share:.2%}", str(tree.depth), _outline(tree))
    output.print_table(made)
    if len(trees) > MOST_TREES:
        output.console().print(f"and {len(trees) - MOST_TREES} more trees; --json has them all")


def _outline(tree: Tree) -> str:
    """The tree in one line, such as `5 (1, 6 (4))`."""
    below: dict[int, list[int]] = {}
    for parent, child in tree.edges:
        below.setdefault(parent, []).append(child)

    def written(gpu: int) -> str:
        inner = ", ".join(written(child) for child in below.get(gpu, []))
        return f"{gpu} ({inner})" if inner else str(gpu)

    return written(tree.root)


def planner_names() -> list[names.AlgorithmName]:
    """The algorithms that look at the links, and NCCL's: not MPI's rules, nor `auto`."""
    return [name for name in algorithm_names() if name != AUTO and not name.startswith("mpi-")]


def chunk_of(chunk: str | None) -> int | None:
    """The chunk in bytes, where one is given."""
    return None if chunk is None else parse_size(chunk)


def save_plot(chart: alt.TopLevelMixin, path: Path) -> None:
    """Writes a chart and says so.

    Raises:
        FileError: If the file cannot be written.
    """
    from linkwright.plot import save_chart

    try:
        save_chart(chart, path)
    except OSError as error:
        raise FileError(f"cannot write `{path}`: {error.strerror or error}") from error
    output.say(f"wrote {path}", stderr=True)
