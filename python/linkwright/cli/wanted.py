"""Says what a job wants by what it runs: its pattern, its traffic, and its sensitivity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from linkwright import Allocator, Pattern, System
from linkwright.allocation import MOST_PROFILED_GPUS, SENSITIVE_ABOVE
from linkwright.network import Program, applications
from linkwright.sensitivity import ends_of
from linkwright.sources import is_source
from linkwright.texts import counted

if TYPE_CHECKING:
    from linkwright.names import AlgorithmName
    from linkwright.traffic import EdgeTraffic

__all__ = ["Wanted", "is_sensitive", "wanted_of"]

# Ways of training whose collectives are all-reduces alone.
REDUCED = ("all-reduce", "tensor")
# The most pairs of one call that are told.
MOST_TOLD = 12


@dataclass
class Wanted:
    """Says what a job wants.

    The answer as JSON has `fields`, and a person is told `remarks`. `time` gives the seconds of its
    run on GPUs, in the order of its ranks. It is None where nothing says them.
    """

    pattern: Pattern
    fields: dict[str, object] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    time: Callable[[Sequence[int]], float] | None = None


def wanted_of(
    name: str, gpus: int | None, communication: str, batch: int | None, machine: System
) -> Wanted:
    """Says what a job wants that runs a source, a trace, an application, or a network."""
    names = [name for name, _, _ in applications()]
    if name not in names and Path(name).exists() and is_source(Path(name)):
        return _of_source(name, gpus)
    if gpus is not None and name not in names and not Path(name).exists():
        return _of_training(name, gpus, communication, batch, machine)
    if batch is not None:
        raise typer.BadParameter("--batch is of a network that is trained; leave it out.")
    # Says what a decision by a pattern's name does not need.
    from linkwright.programs import read_program

    ranks = gpus if name in names else None
    wanted = _of_program(read_program(name, ranks=ranks))

    def time(on: Sequence[int]) -> float:
        return _replayed(name, ranks, machine, on)

    wanted.time = time
    return wanted


def _of_program(program: Program) -> Wanted:
    return _of_traffic(Pattern.from_program(program), Pattern.traffic_of_program(program))


def _of_traffic(pattern: Pattern, traffic: Sequence[EdgeTraffic]) -> Wanted:
    whole = sum(there + back for _, _, there, back in traffic)
    told = [
        {
            "a": a,
            "b": b,
            "bytes_a_to_b": there,
            "bytes_b_to_a": back,
            "share": (there + back) / whole if whole else 0.0,
        }
        for a, b, there, back in traffic
    ]
    shares = [f"{a}-{b} {(there + back) / whole:.1%}" for a, b, there, back in traffic if whole]
    remark = f"Shares of the traffic: {_some(shares)}." if shares else "No GPU sends to another."
    return Wanted(pattern, {"traffic": told}, [remark])


def _some(texts: Sequence[str]) -> str:
    more = len(texts) - MOST_TOLD
    return ", ".join(texts[:MOST_TOLD]) + (f" and {more} more" if more > 0 else "")


def _of_source(name: str, gpus: int | None) -> Wanted:
    # The parsers of sources are an extra.
    from linkwright.sources.graph import load_source

    graph = load_source(name, gpus=gpus)
    fields: dict[str, object] = {
        "edges": [
            {"a": edge.a, "b": edge.b, "file": edge.file, "line": edge.line, "call": edge.call}
            for edge in graph.edges
        ],
        "notes": [str(note) for note in graph.notes],
    }
    remarks = []
    for line, call, joined in graph.calls:
        pairs = [f"{edge.a}-{edge.b}" for edge in graph.edges if edge.line == line]
        first = f", {_some(pairs)} first" if pairs else ""
        remarks.append(f"{name}:{line}: {call} joins {counted(joined, 'pair')}{first}")
    return Wanted(graph.pattern, fields, remarks + [str(note) for note in graph.notes])


def _of_training(
    name: str, gpus: int, communication: str, batch: int | None, machine: System
) -> Wanted:
    # A decision by a pattern's name needs none of it.
    from linkwright.recipes import Recipe, read_network

    network, _ = read_network(name)
    # The fewest samples that every way takes: a pipeline's parts are four times its GPUs.
    samples = batch or gpus * (4 if communication == "pipeline" else 1)
    recipe = Recipe(network, batch=samples)
    # The first GPUs stand for any: others change no pattern of ranks.
    step, planner = recipe.step(machine, range(gpus), communication, samples)
    wanted = _of_program(step.program)
    if planner is not None and gpus > 1:
        wanted = _planned(wanted, communication, planner, machine)

    def time(on: Sequence[int]) -> float:
        from linkwright.runs.training.play import play_step

        return play_step(recipe, machine, on, communication).time

    wanted.time = time
    return wanted


def _planned(wanted: Wanted, communication: str, planner: str, machine: System) -> Wanted:
    """Says what a planner's schedule sends, on the first GPUs, in place of rings of NCCL."""
    # Rings need none of it.
    from linkwright import plan
    from linkwright.traffic import traffic_of_schedule

    way, count = communication.partition(":")[0], wanted.pattern.size
    if way not in (planner, *REDUCED):
        return _noted(
            wanted,
            f"The collectives of `{communication}` are told as rings; `{planner}` plans others.",
        )
    told = cast("list[dict[str, int]]", wanted.fields["traffic"])
    # A ring sends the size of an all-reduce 2 (n - 1) times.
    size = sum(edge["bytes_a_to_b"] + edge["bytes_b_to_a"] for edge in told) // (2 * (count - 1))
    schedule = plan(
        machine, range(count), "all-reduce", algorithm=cast("AlgorithmName", planner), size=size
    )
    traffic = traffic_of_schedule(schedule, size)
    shares = [(a, b, float(there), float(back)) for a, b, there, back in traffic]
    return _noted(
        _of_traffic(Pattern.with_shares(count, shares), traffic),
        f"So `{planner}` plans it on GPUs 0 to {count - 1}; on other links it may plan otherwise.",
    )


def _noted(wanted: Wanted, text: str) -> Wanted:
    wanted.fields["notes"] = [text]
    wanted.remarks.append(text)
    return wanted


def _replayed(name: str, ranks: int | None, machine: System, on: Sequence[int]) -> float:
    import tempfile

    from linkwright.network import play_trace

    with tempfile.TemporaryDirectory(prefix="linkwright-") as folder:
        mapping = Path(folder) / "mapping"
        mapping.write_text("\n".join(map(str, on)) + "\n", encoding="utf-8")
        replay = play_trace(name, machine, ranks=ranks, mapping=mapping, fidelity="flow")
    return replay.run.makespan


def _ends(allocator: Allocator, machine: System, pattern: Pattern) -> list[list[int]]:
    """Places a pattern on the GPUs that suit it most and least."""
    by_edges = allocator.pattern_ends(pattern)
    if by_edges is not None and pattern.shape not in ("ring", "tree", "ring+tree"):
        return list(reversed(by_edges))
    ends = ends_of(machine, pattern.size)
    return [allocator.best_placement(pattern, of).gpus for of in ends]


def is_sensitive(wanted: Wanted, machine: System) -> tuple[bool, str]:
    """Whether bandwidth matters to a job, measured, and a sentence that says how it was.

    The job is played on the sets of its size with the most and the least bandwidth by the sound
    model. It is that of an all-reduce, or of the edges of its pattern. It is sensitive where its
    time on the worst exceeds the other by `SENSITIVE_ABOVE`.

    Raises:
        typer.BadParameter: If nothing says what the job runs, or the server has over
            `MOST_PROFILED_GPUS` GPUs.
    """
    if wanted.time is None:
        raise typer.BadParameter(
            "--sensitivity measured plays the job, and nothing says how long it computes; give "
            "--program a network, an application or a trace."
        )
    if machine.gpu_count > MOST_PROFILED_GPUS:
        raise typer.BadParameter(
            f"--sensitivity is measured on servers of at most {MOST_PROFILED_GPUS} GPUs, and this "
            f"has {machine.gpu_count}; say --sensitive or --insensitive."
        )
    allocator = Allocator(machine)
    if wanted.pattern.size > machine.gpu_count or wanted.pattern.size < 2:
        return wanted.pattern.size > machine.gpu_count, "there is one set of GPUs of its size"
    placed = _ends(allocator, machine, wanted.pattern)
    best, worst = (wanted.time(gpus) for gpus in placed)
    ends = [sorted(gpus) for gpus in placed]
    excess = worst / best - 1 if best else 0.0
    listed = ["{" + ",".join(map(str, gpus)) + "}" for gpus in ends]
    told = (
        f"Measured: {best * 1e3:.2f} ms on {listed[0]} and {worst * 1e3:.2f} ms on {listed[1]}, "
        f"{excess:+.1%}"
    )
    return excess > SENSITIVE_ABOVE, told
