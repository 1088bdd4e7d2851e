"""`linkwright gpu`: kernels inside GPUs, through caches and shared memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from linkwright import GpuSystem, names
from linkwright.errors import SimulationError, TimeLimitError
from linkwright.gpu import GpuKernel, GpuRun, gpu_benchmarks, gpu_models
from linkwright.scenario import choice_names
from linkwright.cli import output
from linkwright.cli.gpu_litmus import litmus
from linkwright.cli.gpu_options import (
    MEMORY,
    Bandwidth,
    Distribution,
    Dram,
    Gpus,
    Limit,
    Machine,
    Memories,
    NoCode,
    On,
    Preset,
    ReadLease,
    Remote,
    TimestampBits,
    Without,
    WriteLease,
    between_of,
    check_heeded,
    choice,
    has_memory,
    leases_of,
    memories_of,
    shown,
    system_of,
)
from linkwright.cli.options import Json, RunDirectory, among
from linkwright.cli.runs import Wanted, save_timeline, write_played
from linkwright.cli.standard_input import DASH, standard_input
from linkwright.cli.traces import LIMIT, Events, Since, Until, check_events, write_events
from linkwright.cli.traces import Limit as Rows
from linkwright.errors import printable
from linkwright.files import LARGEST_INPUT, read_text
from linkwright.runs.gpu.run import between_words, fields_of
from linkwright.texts import counted, duration, percent

if TYPE_CHECKING:
    from linkwright.runs.gpu.compared import ComparedKernel

app = typer.Typer(
    help="Run kernels inside GPUs, cycle by cycle: caches, shared memory, coherence.",
    no_args_is_help=True,
)

BENCHMARKS = choice_names()["benchmark"]
# Words of a load that are printed.
SHOWN = 8
# Loads whose words are printed.
MOST_LOADS = 64
# Those that the dissertation's Table 3.2 lists.
STANDARD = ("aes", "atax", "bfs", "bicg", "conv", "fir", "mm", "mt", "relu")


@app.command("list")
def list_benchmarks(json: Json = False) -> None:
    """List the benchmarks, the memory systems, and the GPUs that can run them."""
    rows = list(gpu_benchmarks())
    models = [model.name for model in gpu_models() if model.has_hierarchy]
    if json:
        output.print_json({"benchmarks": rows, "memory_systems": MEMORY, "models": models})
        return
    made = output.table(
        ["benchmark", "what it does", "size counts", "multiple of", "small", "full"],
        left=["benchmark", "what it does", "size counts"],
        whole=["benchmark"],
    )
    for row in rows:
        numbers = (f"{row[key]:,}" for key in ("multiple", "small_size", "full_size"))
        made.add_row(row["name"], row["what"], row["size"], *numbers)
    output.print_table(made)
    output.say(f"memory systems: {', '.join(MEMORY)}")
    output.say(f"GPUs: {', '.join(models)}")


@app.command()
def run(
    benchmark: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE",
            help="What to run: a benchmark (see gpu list), the file of a kernel of one's own, or - "
            "for its text on standard input.",
            autocompletion=lambda: BENCHMARKS,
        ),
    ],
    size: Annotated[
        int | None,
        typer.Option(metavar="N", help="How large; what runs within seconds if absent."),
    ] = None,
    gpus: Gpus = None,
    memory: Annotated[
        str, typer.Option(help="How the GPUs share memory.", **choice("memory system", MEMORY))
    ] = "rdma",
    preset: Preset = None,
    machine: Machine = None,
    on: On = None,
    without: Without = None,
    distribution: Distribution = "unified",
    remote: Remote = None,
    dram: Dram = "ideal",
    shared_bandwidth: Bandwidth = 32.0,
    read_lease: ReadLease = 10,
    write_lease: WriteLease = 5,
    timestamp_bits: TimestampBits = 16,
    no_code: NoCode = False,
    limit: Limit = 1.0,
    timing_only: Annotated[
        bool,
        typer.Option(
            "--timing-only", help="Move no data: the same times, sooner; no answer is checked."
        ),
    ] = False,
    timeline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write what happened when, for ui.perfetto.dev."),
    ] = None,
    trace_of: Annotated[
        Literal["accesses"] | None,
        typer.Option("--trace", help="Keep for --events every access of a wavefront to a line."),
    ] = None,
    events: Events = None,
    trace_limit: Rows = LIMIT,
    trace_from: Since = 0.0,
    trace_until: Until = None,
    to: RunDirectory = None,
    json: Json = False,
) -> None:
    """Run a benchmark or a kernel of one's own, and say what it took and what its caches did.

    Kernels work on real data, and their answer is compared with a CPU's, or with what one's own
    kernel expects: a wrong answer is an error. The time is that of copies and kernels; truly
    shared memory needs no copies. With --machine the GPUs are joined by that machine's links, and
    --preset says what lies inside them.
    """
    what = _what(benchmark)
    if size is not None and isinstance(what, GpuKernel):
        raise typer.BadParameter("--size is for benchmarks; a kernel of one's own has none.")
    wanted = Wanted(to=to, timeline=timeline)
    wanted.check()
    check_events(trace_of, events)
    if trace_of is None and (trace_from or trace_until is not None):
        raise typer.BadParameter("--trace-from and --trace-until are of --trace.")
    leases = leases_of(read_lease, write_lease, timestamp_bits)
    between = between_of(machine, on, without, gpus)
    system = system_of(
        preset,
        between,
        memory,
        distribution,
        dram,
        shared_bandwidth,
        leases,
        code=not no_code,
        remote=remote,
    )
    check_heeded([system], shared_bandwidth, leases)
    with shown(benchmark, system.cycle) as progress:
        found = system.run(
            what,
            size,
            data=not timing_only,
            limit=limit,
            timeline=wanted.spans,
            accesses=trace_limit if trace_of else 0,
            accesses_from=trace_from,
            accesses_until=trace_until,
            progress=progress,
        )
    if events is not None:
        write_events(found.accesses(), "accesses", found.access_count, events)
    if timeline is not None:
        from linkwright.runs.gpu_timeline import gpu_timeline

        save_timeline(gpu_timeline(found), timeline)
        output.say(f"wrote {timeline}", stderr=True)
    if to is not None:
        from linkwright.runs.gpu.run import KernelRun

        write_played(KernelRun(found), to)
    if json:
        output.print_json(fields_of(found))
    else:
        _print(found)
    if found.correct is False:
        remedy = "take a coherent memory, such as tsm-wt-c-rc"
        if system.is_coherent:
            remedy = "its memory is coherent: look for accesses that no fence or barrier orders"
        raise SimulationError(f"the answer is wrong: {found.mismatch}", remedy)


def _what(given: str) -> names.BenchmarkName | GpuKernel:
    """The benchmark of a name, or the kernel of a file.

    Raises:
        FileError: If the file cannot be read.
        InputError: If it holds no kernel, with line and column.
        typer.BadParameter: If there is neither.
    """
    if given in BENCHMARKS:
        return cast("names.BenchmarkName", given)
    if given == DASH:
        return GpuKernel.from_text(standard_input(LARGEST_INPUT), "<stdin>")
    path = Path(given)
    if path.exists() or path.name != given or path.suffix:
        return GpuKernel.from_text(read_text(path, LARGEST_INPUT), printable(given))
    among("benchmark or file", BENCHMARKS)(given)
    raise AssertionError(given)


@app.command()
def compare(
    benchmarks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME|FILE]...",
            help="What to run: benchmarks (see gpu list) and files of kernels of one's own; the "
            "nine of the dissertation's Table 3.2 if absent.",
            autocompletion=lambda: BENCHMARKS,
        ),
    ] = None,
    memory: Memories = None,
    full: Annotated[
        bool, typer.Option("--full", help="At the dissertation's footprints, which take long.")
    ] = False,
    gpus: Gpus = None,
    preset: Preset = None,
    machine: Machine = None,
    on: On = None,
    without: Without = None,
    distribution: Distribution = "unified",
    dram: Dram = "ideal",
    shared_bandwidth: Bandwidth = 32.0,
    read_lease: ReadLease = 10,
    write_lease: WriteLease = 5,
    timestamp_bits: TimestampBits = 16,
    no_code: NoCode = False,
    limit: Limit = 0.1,
    to: RunDirectory = None,
    json: Json = False,
) -> None:
    """Compare memory systems on benchmarks: times, hits, traffic, and whether answers are right.

    Speed-ups are over the first memory system. Where a kernel needs coherence that a memory
    lacks, its answer is wrong, or it never ends: that is a column, not an error. A machine has no
    memory that all GPUs share: with --machine the systems that need it are left out.
    """
    kernels = {name: _what(name) for name in benchmarks or STANDARD}
    Wanted(to=to).check()
    sizes = {row["name"]: row["full_size" if full else "small_size"] for row in gpu_benchmarks()}
    leases = leases_of(read_lease, write_lease, timestamp_bits)
    between = between_of(machine, on, without, gpus)
    systems = [
        system_of(
            preset, between, kind, distribution, dram, shared_bandwidth, leases, code=not no_code
        )
        for kind in memories_of(memory, between)
    ]
    check_heeded(systems, shared_bandwidth, leases)
    from linkwright.runs.gpu.compared import KernelComparison

    made = KernelComparison(
        [
            _compared(system, name, what, sizes.get(name), limit)
            for name, what in kernels.items()
            for system in systems
        ]
    )
    if to is not None:
        write_played(made, to)
    if json:
        output.print_json(made.rows())
        return
    [sheet] = made.sheets()
    table = output.table(sheet.heads, left=sheet.words, whole=["memory"])
    for row in sheet.rows:
        table.add_row(*row)
    output.print_table(table)
    if systems[0].machine is not None:
        output.say(between_words(systems[0]))
        if absent := [name for name in MEMORY if not memory and not has_memory(name, between)]:
            output.say(f"left out, since no memory there is shared by all: {', '.join(absent)}")


app.command()(litmus)


def _compared(
    system: GpuSystem,
    name: str,
    what: names.BenchmarkName | GpuKernel,
    size: int | None,
    limit: float,
) -> ComparedKernel:
    """One run of a comparison; a kernel that never ends has none."""
    from linkwright.runs.gpu.compared import ComparedKernel

    with shown(f"{name} {system.memory}", system.cycle) as progress:
        try:
            run = system.run(what, size, limit=limit, progress=progress)
        except TimeLimitError as error:
            return ComparedKernel(name, size, system, None, error.problem)
    return ComparedKernel(name, size, system, run)


def _print(run: GpuRun) -> None:
    fields = fields_of(run)
    unknown = "no answer is expected" if run.size is None else "no data"
    # Loads may have brought stale words where memory is right.
    right = "memory at the end is right" if run.checked == "memory" else "the answer is right"
    answer = {True: right, False: "the answer is WRONG", None: unknown}
    on = f"{counted(run.system.gpus, 'GPU')} ({run.system.model.name}), {run.system.memory}"
    name = run.benchmark if run.size is None else f"{run.benchmark} {run.size:,}"
    output.say(f"{name} on {on}: {duration(run.time)}; {answer[run.correct]}")
    if run.system.machine is not None:
        output.say(between_words(run.system))
    output.say(
        f"{run.cycles:,} cycles, {run.instructions:,} instructions, "
        f"{run.remote_accesses:,} remote accesses"
    )
    steps = output.table(["step", "of", "time"], left=["step", "of"])
    for row in fields["steps"]:
        steps.add_row(row["step"], row["of"], duration(row["time"]))
    output.print_table(steps)
    heads = [
        "cache",
        "hits",
        "merged",
        "misses",
        "hit rate",
        "evictions",
        "written back",
        "latency",
    ]
    made = output.table(heads, left=["cache"])
    for row in fields["caches"]:
        numbers = [row[key] for key in ("hits", "merged", "misses")]
        rate, latency = row["hit_rate"], row["latency"]
        made.add_row(
            f"{row['cache']} x {row['count']}",
            *(f"{number:,}" for number in numbers),
            "" if rate is None else percent(rate),
            f"{row['evictions']:,}",
            f"{row['write_backs']:,}",
            "" if latency is None else duration(latency),
        )
    output.print_table(made)
    dram = fields["dram"]
    output.say(
        f"DRAM lines: {dram['reads']:,} read, {dram['writes']:,} written; "
        f"{dram['copied_in']:,} copied in, {dram['copied_out']:,} out"
    )
    if "read_lease" in run.system.heeds:
        output.say(f"timestamps forgotten for lack of room: {dram['timestamp_evictions']:,}")
    busiest = sorted(fields["links"], key=lambda link: -link["utilisation"])[:4]
    if busiest:
        told = ", ".join(f"{link['link']} {percent(link['utilisation'])}" for link in busiest)
        output.say(f"busiest links: {told}")
    _print_loads(fields["loads"], fields["timed_loads"])


def _print_loads(words: list[dict[str, Any]], timed: list[dict[str, Any]]) -> None:
    """What the loads have read that a kernel records, and how long they took, a line for each name.

    A wavefront may have several loads of a name.
    """
    loads: dict[tuple[Any, ...], tuple[list[int], list[int]]] = {}
    for rows, column in ((timed, "cycles"), (words, "value")):
        for row in rows:
            key = tuple(row[name] for name in ("load", "launch", "group", "wavefront", "gpu"))
            loads.setdefault(key, ([], []))[column == "value"].append(row[column])
    if not loads:
        return
    heads = ["load", "launch", "wavefront", "GPU", "cycles", "words"]
    made = output.table(heads, left=["load", "cycles", "words"])
    for (load, launch, group, wavefront, gpu), both in list(loads.items())[:MOST_LOADS]:
        cells = [
            " ".join(str(value) for value in values[:SHOWN])
            + (f" and {len(values) - SHOWN} more" if len(values) > SHOWN else "")
            for values in both
        ]
        made.add_row(load, f"{launch}", f"{group}.{wavefront}", f"{gpu}", *cells)
    output.print_table(made)
    if len(loads) > MOST_LOADS:
        output.say(f"and {len(loads) - MOST_LOADS:,} more loads, which --json has")
