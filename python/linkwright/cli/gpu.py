"""Has `linkwright gpu`: kernels inside GPUs, through caches and shared memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from linkwright import GpuSystem, names
from linkwright.cli import output
from linkwright.cli.gpu_litmus import litmus
from linkwright.cli.gpu_options import (
    CODE,
    LEASE_KEYS,
    MEMORY,
    MEMORY_KEYS,
    Gpu,
    Gpus,
    Machine,
    Memories,
    On,
    between_of,
    check_heeded,
    choice,
    has_memory,
    limit_key,
    memories_of,
    shown,
    system_of,
)
from linkwright.cli.keys import Keys, below, flag, text
from linkwright.cli.options import Json, RunDirectory, Timeline, Without, among
from linkwright.cli.panels import described_by
from linkwright.cli.runs import Wanted, save_timeline, write_played
from linkwright.cli.standard_input import DASH, standard_input
from linkwright.cli.traces import Events, Only, check_events, read_only, trace_option, write_events
from linkwright.errors import SimulationError, TimeLimitError, printable
from linkwright.files import LARGEST_INPUT, read_text
from linkwright.gpu import GpuKernel, GpuRun, gpu_benchmarks, gpu_models
from linkwright.runs.gpu.run import between_words, fields_of
from linkwright.scenario import choice_names
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


RUN_KEYS = Keys(
    *MEMORY_KEYS,
    *below(
        "Settings of memory",
        text("remote", "BUFFERS", "Buffers in the second GPU's memory, with distribution=first"),
    ),
    *LEASE_KEYS,
    *CODE,
    *below(
        "Settings of kernels",
        flag("data", "Move data and check the answer; false takes the same times sooner", "true"),
    ),
    *limit_key("1"),
)
COMPARE_KEYS = Keys(*MEMORY_KEYS, *LEASE_KEYS, *CODE, *limit_key("0.1"))


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
@described_by(RUN_KEYS)
def run(
    benchmark: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE",
            help="A benchmark (see gpu list), the file of your own kernel, or - for its text on "
            "standard input.",
            autocompletion=lambda: BENCHMARKS,
        ),
    ],
    size: Annotated[
        int | None,
        typer.Option(metavar="N", help="How large the benchmark is.  [default: a run of seconds]"),
    ] = None,
    memory: Annotated[
        str,
        typer.Option(
            help="How the GPUs share memory; gpu list has the names.",
            **choice("memory system", MEMORY),
        ),
    ] = "rdma",
    setting: Annotated[list[str] | None, RUN_KEYS.option()] = None,
    machine: Machine = None,
    gpu: Gpu = None,
    without: Without = None,
    gpus: Gpus = None,
    on: On = None,
    timeline: Timeline = None,
    trace: Annotated[Literal["accesses"] | None, trace_option("every access to a line")] = None,
    events: Events = None,
    only: Only = None,
    to: RunDirectory = None,
    json: Json = False,
) -> None:
    """Run a kernel inside GPUs, and tell its time and the work of its caches.

    Kernels work on real data, and a wrong answer is an error. The time is that of copies and
    kernels; truly shared memory needs no copies.
    """
    what = _what(benchmark)
    if size is not None and isinstance(what, GpuKernel):
        raise typer.BadParameter("--size is for benchmarks; a kernel of one's own has none.")
    wanted = Wanted(to=to, timeline=timeline)
    wanted.check()
    check_events(trace, events)
    span = read_only(trace, only, ("from", "until", "limit"))
    settings = RUN_KEYS.read(setting)
    between = between_of(machine, on, without, gpus)
    system = system_of(gpu, between, memory, settings)
    check_heeded([system], settings)
    with shown(benchmark, system.cycle) as progress:
        found = system.play(
            what,
            size,
            data=settings.get("data", True),
            limit=settings.get("limit", 1.0),
            timeline=wanted.spans,
            accesses=span.limit if trace else 0,
            accesses_from=span.since,
            accesses_until=span.until,
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
    """Gives the benchmark of a name, or the kernel of a file.

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
@described_by(COMPARE_KEYS)
def compare(
    benchmarks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME|FILE]...",
            help="Benchmarks (see gpu list) and files of your own kernels.  "
            "[default: the nine of MGPU-TSM's Table 3.2]",
            autocompletion=lambda: BENCHMARKS,
        ),
    ] = None,
    size: Annotated[
        Literal["small", "full"],
        typer.Option(metavar="small|full", help="full takes the dissertation's sizes, and hours."),
    ] = "small",
    memory: Memories = None,
    setting: Annotated[list[str] | None, COMPARE_KEYS.option()] = None,
    machine: Machine = None,
    gpu: Gpu = None,
    without: Without = None,
    gpus: Gpus = None,
    on: On = None,
    to: RunDirectory = None,
    json: Json = False,
) -> None:
    """Compare memory systems on benchmarks: times, hits, traffic and answers.

    Speed-ups are over the first memory system. A wrong answer, or a kernel that never ends, is a
    column and not an error. With --machine, systems without its shared memory are left out.
    """
    kernels = {name: _what(name) for name in benchmarks or STANDARD}
    Wanted(to=to).check()
    sizes = {row["name"]: row[f"{size}_size"] for row in gpu_benchmarks()}
    settings = COMPARE_KEYS.read(setting)
    between = between_of(machine, on, without, gpus)
    systems = [system_of(gpu, between, kind, settings) for kind in memories_of(memory, between)]
    check_heeded(systems, settings)
    limit = settings.get("limit", 0.1)
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
            run = system.play(what, size, limit=limit, progress=progress)
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
    """Prints the words and the times of the loads that a kernel records, a line for each name.

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
