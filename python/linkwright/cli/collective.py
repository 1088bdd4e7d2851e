"""`linkwright collective`: how a job's data should travel between its GPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from linkwright import System
from linkwright.collectives import Export, Schedule, Timing
from linkwright.scenario import read_text
from linkwright.cli import (
    collective_runs,
    comparison,
    doctor,
    expectation,
    output,
    sweep,
    tuning,
    uneven,
)
from linkwright.cli.certificates import (
    certificate_fields,
    certificate_lines,
    helper_fields,
    helper_lines,
)
from linkwright.cli.degraded import Degraded, Without, degraded
from linkwright.cli.faster import faster_than
from linkwright.cli.options import Json, MachineName, NetworkName, Servers, gpu_ids
from linkwright.cli.schedules import (
    AlgorithmName,
    Chunk,
    CollectiveName,
    Gpus,
    Helpers,
    Links,
    NoStreamReuse,
    On,
    Processes,
    Protocol,
    Root,
    Size,
    chunk_of,
    divided,
    job_text,
    named_gpus,
    network_notes,
    plan_fields,
    plan_on,
    print_timing,
    print_trees,
    some_ids,
    timing_fields,
    tried_fields,
    tried_lines,
)
from linkwright.cli.sizes import parse_size
from linkwright.cli.standard_input import machine_of, standard_input
from linkwright.errors import printable
from linkwright.files import LARGEST_INPUT

app = typer.Typer(
    help="Plan, check, run and time collectives on a job's links.", no_args_is_help=True
)

LINK_WORDS = {
    "nvlink": "NVLink",
    "xgmi": "xGMI",
    "pcie": "PCIe",
    "hybrid": "NVLink and PCIe",
    "network": "the network",
}

Format = Literal["msccl-xml", "msccl++-json", "dot"]


@app.command()
def plan(
    collective: CollectiveName,
    machine: MachineName,
    on: On = None,
    gpus: Gpus = None,
    size: Size = "64MiB",
    algorithm: AlgorithmName = "auto",
    links: Links = "auto",
    root: Root = None,
    chunk: Chunk = None,
    protocol: Protocol = None,
    processes: Processes = None,
    no_stream_reuse: NoStreamReuse = False,
    helpers: Helpers = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Prove the optimum by the links that bound it.")
    ] = False,
    servers: Servers = 1,
    network: NetworkName = None,
    without: Without = None,
    export: Annotated[
        Format | None,
        typer.Option(help="Print the schedule in this format instead; dot draws its trees."),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the export to this file."),
    ] = None,
    json: Json = False,
) -> None:
    """Plan a collective on the links that a job's GPUs really have.

    Of all algorithms the one is taken that is the fastest at the size, unless one is
    named; what was tried is listed. The rate is what the plan reaches of the links' peak with
    long data, in GB/s of the data's size; the time counts latencies and what protocols lose.
    With --without, parts are down. The plan is the best for the rest, and its time stands
    beside the time of the whole system's best plan.
    """
    gpus = named_gpus(on, gpus)
    if to is not None and export is None:
        raise typer.BadParameter("--output is for an export; say which by --export.")
    if json and export is not None and to is None:
        raise typer.BadParameter("--json and --export both print; give --output FILE, too.")
    wanted = parse_size(size)
    down = degraded(machine_of(machine, servers, network), without, gpus, root)

    def planned(on: System, gpus: str | None) -> Schedule:
        return plan_on(
            on,
            collective,
            gpus,
            algorithm,
            links,
            root,
            size=wanted,
            protocol=protocol,
            stream_reuse=not no_stream_reuse,
            helpers=helpers,
        )

    def timed(schedule: Schedule, size: int) -> Timing:
        return schedule.time(size, chunk=chunk_of(chunk), protocol=protocol, processes=processes)

    left = down.system
    schedule = planned(left, down.gpus)
    alone = None
    if helpers is not None:
        alone = plan_on(left, collective, down.gpus, "packing", "auto", root)
    certificate = schedule.certificate() if explain else None
    data, rounded = divided(schedule, wanted)
    rounded += down.notes + network_notes(left, schedule.gpus, network)
    remarks: list[str] = []
    if export is not None:
        exported, remarks = _exported(schedule, export, data)
        if to is None:
            output.document(exported if exported.endswith("\n") else f"{exported}\n")
        else:
            output.save(to, exported)
            output.say(f"wrote {to}", stderr=True)
        output.notes("Notes", schedule.notes + remarks, stderr=True)
        if to is None:
            return
    timing = timed(schedule, data)
    before = None
    if down.parts:
        best = planned(down.whole, gpus)
        before = down.fields(best, timed(best, divided(best, wanted)[0]), timing.time)
    is_named = not schedule.tried and chunk is None and helpers is None
    faster = None
    if is_named:
        reuse = not no_stream_reuse
        faster = faster_than(timing, schedule, left, links, processes, stream_reuse=reuse)
    if json:
        fields = {
            "timing": timing_fields(timing, schedule, left),
            "tried": [tried_fields(tried) for tried in schedule.tried],
            "faster": faster.fields() if faster else None,
            "without": down.parts,
            "whole": before,
            "certificate": certificate_fields(certificate),
            "helpers": helper_fields(schedule),
            "rate_without_helpers": alone.rate if alone else None,
        }
        document = plan_fields(schedule, left) | fields
        output.print_json(document | {"notes": schedule.notes + rounded + remarks})
        return
    if faster is not None:
        output.console().print(faster.text(timing))
    _print_plan(schedule, down)
    print_trees(schedule.trees)
    print_timing(timing, schedule, left)
    if before is not None:
        output.say(
            f"The whole system takes {before['time'] * 1e6:,.1f} us, by {before['algorithm']} "
            f"({before['protocol']}):{down.title()} it is {before['times_as_long']:.2f} times as "
            "long."
        )
    output.notes("Helpers", helper_lines(schedule, alone))
    if explain:
        output.notes("Certificate", certificate_lines(certificate, schedule))
    output.notes("Tried", tried_lines(schedule.tried))
    if export is None:
        output.notes("Notes", schedule.notes + rounded)


def _exported(schedule: Schedule, form: Format, size: int) -> tuple[str, list[str]]:
    if form == "dot":
        return schedule.to_dot(), []
    made: Export = (
        schedule.to_msccl_xml(size=size)
        if form == "msccl-xml"
        else schedule.to_mscclpp_json(size=size)
    )
    return made.text, made.notes


def _print_plan(schedule: Schedule, down: Degraded) -> None:
    console = output.console()
    root = "" if schedule.root is None else f" with root {schedule.root}"
    over = LINK_WORDS.get(schedule.links or "", schedule.links)
    console.print(
        f"{schedule.collective}{root} on {job_text(schedule.gpus, down.system)}{down.title()}: "
        f"{schedule.algorithm} over {over}",
        style="bold",
    )
    console.print(f"rate      {_rate(schedule)}")
    console.print(f"schedule  {_shape(schedule)}")
    console.print()


def _rate(schedule: Schedule) -> str:
    rate, optimum = schedule.rate or 0.0, schedule.optimum
    if optimum is None:
        return f"{rate:.2f} GB/s"
    with_switch = ""
    if "without in-switch reduction" in (schedule.optimum_of or ""):
        most = schedule.optimum_in_switch
        if most is not None and most > optimum * (1 + 1e-4):
            with_switch = f"; {most:.2f} GB/s with it"
        elif most is not None:
            with_switch = ", which does not raise it"
    if abs(rate - optimum) <= 1e-4 * optimum:
        return f"{rate:.2f} GB/s, the optimum of {schedule.optimum_of}{with_switch}"
    share = f"{rate / optimum:.2%} of the optimum of {schedule.optimum_of}"
    return f"{rate:.2f} GB/s, {share}, {optimum:.2f} GB/s{with_switch}"


def _shape(schedule: Schedule) -> str:
    channels, chunks = schedule.channels, schedule.chunks
    return (
        f"{channels} channel{'' if channels == 1 else 's'}, "
        f"{chunks} chunk{'' if chunks == 1 else 's'}, {schedule.step_count} steps"
    )


@app.command()
def check(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE|-",
            help="An algorithm in MSCCL XML, or a plan of MSCCL++ in JSON; - is the input.",
        ),
    ],
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine", "-m", metavar="NAME|FILE", help="Time it on this machine as well."
        ),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(
            metavar="IDS",
            help="The GPU of each rank; rank 0 is GPU 0 if absent.",
            callback=some_ids,
        ),
    ] = None,
    gpus: Gpus = None,
    size: Size = "64MiB",
    chunk: Chunk = None,
    protocol: Protocol = None,
    servers: Servers = 1,
    network: NetworkName = None,
    json: Json = False,
) -> None:
    """Verify anyone's algorithm, and time it on a machine.

    A sound algorithm gives every rank every contribution exactly once, with no deadlock, no
    race and no read of what was never written, whatever the timing. Of one that is not, the
    first step at fault is named, and the exit code is 1.
    """
    gpus = named_gpus(on, gpus)
    if machine is None and (servers > 1 or network is not None):
        raise typer.BadParameter("--servers and --network say where to time it; give --machine.")
    text, name = (
        (standard_input(LARGEST_INPUT), "<stdin>")
        if file == "-"
        else (read_text(file, LARGEST_INPUT), printable(file))
    )
    is_json = text.lstrip("\ufeff \t\r\n").startswith("{")
    read = Schedule.from_mscclpp_json if is_json else Schedule.from_msccl_xml
    schedule = read(text, name, gpus=gpu_ids(gpus) or None)
    report = schedule.check()
    timing = whole = None
    if machine is not None:
        whole = machine_of(machine, servers, network)
        data, given = parse_size(size), chunk_of(chunk)
        timing = schedule.time(data, system=whole, chunk=given, protocol=protocol)
    if json:
        document = {
            "file": name,
            "name": schedule.name,
            "collective": schedule.collective,
            "root": schedule.root,
            "gpus": schedule.gpus,
            "sound": True,
            "placements": report.placements,
            "steps": report.steps,
            "sent_chunks": report.sent_chunks,
            "longest_chain": report.longest_chain,
            "message_sizes": _message_sizes(schedule),
        }
        times: dict[str, object] = {}
        if timing is not None and whole is not None:
            told = timing_fields(timing, schedule, whole)
            notes = network_notes(whole, schedule.gpus, network)
            times = {"machine": machine, "timing": told, "notes": notes}
        output.print_json(document | times)
        return
    ranks = len(schedule.gpus)
    console = output.console()
    console.print(f"{name}: `{schedule.name}` is a sound {schedule.collective} of {ranks} ranks")
    console.print(
        f"{' and '.join(report.placements)}: {_shape(schedule)}, "
        f"at most {report.longest_chain} messages in a row"
    )
    if schedule.message_sizes is not None:
        multiple, least, most = schedule.message_sizes
        console.print(f"MSCCL++ takes multiples of {multiple} B, from {least} B to {most} B")
        wanted = parse_size(size)
        if not (wanted % multiple == 0 and least <= wanted <= most):
            console.print(f"and refuses {wanted} B")
    if timing is not None and whole is not None:
        print_timing(timing, schedule, whole, f"on {job_text(schedule.gpus, whole)} ")
        output.notes("Notes", network_notes(whole, schedule.gpus, network))


def _message_sizes(schedule: Schedule) -> dict[str, int] | None:
    sizes = schedule.message_sizes
    return (
        None if sizes is None else dict(zip(("multiple_of", "least", "most"), sizes, strict=True))
    )


app.command("run")(collective_runs.run)
app.command("time")(sweep.time)
app.command("compare")(comparison.compare)
app.command("expect")(expectation.expected)
app.command("doctor")(doctor.diagnosed)
app.command("tune")(tuning.tune)
app.command("all-to-allv")(uneven.all_to_allv)
