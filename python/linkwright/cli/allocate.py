"""`linkwright allocate`: which GPUs a job should get."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from linkwright import Allocator, Pattern, System
from linkwright.allocation import Explanation, Match, Owner, pattern_names
from linkwright.scenario import read_text
from linkwright.cli import cluster, output, server
from linkwright.cli.options import (
    BandwidthModel,
    BandwidthProfile,
    Json,
    LockWait,
    MachineName,
    NetworkName,
    PolicyName,
    ServerChoice,
    Servers,
    Ties,
    among,
    bandwidth_choices,
    gpu_count,
    gpu_ids,
    named,
)
from linkwright.cli.program import NotNowError
from linkwright.cli.standard_input import machine_of
from linkwright.cli.streams import is_quiet
from linkwright.cli.wanted import Wanted, is_sensitive, wanted_of
from linkwright.cli.worth import (
    environment,
    explained,
    fields_of,
    places_of,
    print_remarks,
    ranking_of,
    ranking_table,
)
from linkwright.errors import printable
from linkwright.names import PatternName
from linkwright.texts import counted


def allocate(
    machine: MachineName,
    servers: Servers = 1,
    network: NetworkName = None,
    gpus: Annotated[
        int | None,
        typer.Option(
            "--gpus",
            "-k",
            metavar="COUNT",
            parser=gpu_count,
            help="How many GPUs the job asks for; --edges and --counters say it too.",
        ),
    ] = None,
    pattern: Annotated[
        PatternName,
        typer.Option(
            metavar="NAME",
            help=f"Which of them talk to which: {', '.join(pattern_names())}.",
            callback=among("pattern", pattern_names()),
            autocompletion=pattern_names,
        ),
    ] = "ring",
    edges: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Instead, a file with a line per pair, like 0 1, or 0 1 2.5 with its share.",
        ),
    ] = None,
    counters: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            metavar="BEFORE AFTER",
            help="Instead, two snapshots of nvidia-smi nvlink -gt d around a run of the job.",
        ),
    ] = None,
    program: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="Instead, what the job runs: a source (C, C++, CUDA, Python) or a trace (OTF2, "
            "GOAL). On --gpus, an application, or a network that is trained.",
        ),
    ] = None,
    communication: Annotated[
        str,
        typer.Option(metavar="NAME", help="How a network's training moves data, as for train."),
    ] = "nccl",
    batch: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Samples of a network's step, over all GPUs."),
    ] = None,
    sensitive: Annotated[
        bool,
        typer.Option("--sensitive/--insensitive", help="Whether bandwidth matters to the job."),
    ] = True,
    sensitivity: Annotated[
        str | None,
        typer.Option(
            metavar="measured",
            help="Play what --program runs on the best and the worst GPUs, to see whether "
            "bandwidth matters.",
            callback=among("sensitivity", ["measured"]),
        ),
    ] = None,
    policy: PolicyName = "preserve",
    server_choice: ServerChoice = "first-fit",
    servers_wanted: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Share the job out evenly to this number of servers."
        ),
    ] = None,
    exclusive: Annotated[
        bool, typer.Option("--exclusive", help="Let no other job on its servers.")
    ] = False,
    bandwidth_model: BandwidthModel = "sound",
    bandwidth_profile: BandwidthProfile = None,
    ties: Ties = "nearest",
    explain: Annotated[
        bool, typer.Option("--explain", help="Say why, with the best candidates.")
    ] = False,
    limit: Annotated[
        int, typer.Option(min=1, max=1000, help="How many candidates to explain.")
    ] = 5,
    on: Annotated[
        str | None,
        typer.Option(metavar="IDS", help="Only among these GPUs, such as 0,3 or 0-3."),
    ] = None,
    busy: Annotated[
        str | None, typer.Option(metavar="IDS", help="GPUs that are taken, such as 0,3 or 0-3.")
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep who holds which GPU in this file; needs --job."),
    ] = None,
    job: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The job's name in the state.", callback=named),
    ] = None,
    lease: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="How long the job may hold them, such as 90min or 2h; needs --state.",
        ),
    ] = None,
    wait: LockWait = None,
    json: Json = False,
) -> None:
    """Give a job its GPUs by a policy.

    On a server standard output is the job's environment, for export $(linkwright allocate ...):
    CUDA_VISIBLE_DEVICES=..., in the order of the pattern's vertices, and
    CUDA_DEVICE_ORDER=PCI_BUS_ID, since the ids are those of nvidia-smi, which counts along
    the PCIe bus, and CUDA by itself counts the fastest GPU first. On several servers it has a
    line for each that the job is on: node3, then that environment, in the ids that node3
    counts. Other ids, as of --on and --busy, count through the first server, then the next.
    What the GPUs are worth and which cores and NICs are near them is said on standard error.
    Without --state nothing is kept.
    """
    if state is not None and job is None:
        raise typer.BadParameter("--state needs --job, the name to release later.")
    if state is None and job is not None:
        raise typer.BadParameter("--job needs --state, the file that remembers it.")
    if state is None and lease is not None:
        raise typer.BadParameter("--lease needs --state, the file that remembers it.")
    if state is None and wait is not None:
        raise typer.BadParameter("--wait needs --state, the file that is waited for.")
    if state is not None and on is not None:
        raise typer.BadParameter("--on is for one decision; leave it out, or --state.")
    if state is not None and busy:
        raise typer.BadParameter("--busy and --state both say which GPUs are taken; give one.")
    choices: dict[str, Any] = {
        "policy": policy,
        "servers": server_choice,
        **bandwidth_choices(bandwidth_model),
        "bandwidth_profile": bandwidth_profile,
        "ties": ties,
    }
    server_machine = machine_of(machine, servers, network)
    asked: dict[str, Any] = {"servers_wanted": servers_wanted, "exclusive": exclusive}
    if program is None:
        if batch is not None:
            raise typer.BadParameter("--batch is of a network that --program trains.")
        wanted = Wanted(_pattern(pattern, gpus, edges, counters, server_machine))
    elif edges is not None or counters is not None:
        raise typer.BadParameter(
            "--program, --edges and --counters each say who talks to whom; give one."
        )
    else:
        wanted = wanted_of(program, gpus, communication, batch, server_machine)
        if sensitivity is not None and server_machine.fabric is not None:
            # A job that is played for its sensitivity is played on one of the servers.
            one = cluster.one_for(server_machine, wanted.pattern.size, "--sensitivity")
            wanted = wanted_of(program, gpus, communication, batch, one)
        if gpus not in (None, wanted.pattern.size):
            joined = counted(wanted.pattern.size, "GPU")
            raise typer.BadParameter(f"`{program}` runs on {joined} and --gpus asks for {gpus}.")
    if sensitivity is not None:
        one = cluster.one_for(server_machine, wanted.pattern.size, "--sensitivity")
        sensitive, told = is_sensitive(wanted, one)
        wanted.fields["sensitive"] = sensitive
        wanted.remarks.append(f"{told}: {'sensitive' if sensitive else 'insensitive'}.")
    best = limit if explain else None
    is_cluster = server_machine.fabric is not None
    by_edges = bandwidth_model == "sound" and not wanted.pattern.is_collective
    worth: list[Callable[[], None]] = []

    def prepare() -> Callable[[], None]:
        # Remarks are worked out before the answer, too: who has printed one must not fail.
        given: dict[str, object] = {"machine": server_machine.name, "policy": policy, "job": job}
        if is_cluster:
            given |= {"server_choice": server_choice, **asked}
            if not json and not is_quiet():
                worth.append(cluster.remarks(match, why, server_machine, by_edges))
            return cluster.answer(given, server_machine, match, why, wanted.fields, json)
        if not json and not is_quiet():
            made = ranking_table(ranking_of(match, why), server_machine, by_edges)
            worth.append(lambda: print_remarks(made, match, why, server_machine, by_edges))
        return _answer(given, server_machine, match, why, wanted.fields, json)

    if state is None:
        allocator = Allocator(server_machine, **choices)
        # Nothing is kept, so that it matters only that these GPUs cannot be had.
        wanted_ids = range(server_machine.gpu_count) if on is None else gpu_ids(on)
        others = set(range(server_machine.gpu_count)) - set(wanted_ids)
        if taken := list(dict.fromkeys(gpu_ids(busy))):
            allocator.hold("busy", taken)
        for gpu in sorted(others):
            allocator.mark_unhealthy(gpu)
        match, why = _decide(allocator, "job", wanted.pattern, sensitive, best, **asked)
        prepare()()
    else:
        assert job is not None, "checked above"
        # What a decision alone does not need.
        from linkwright.cli.durations import parse_duration
        from linkwright.cli.owners import asking

        owner = asking(parse_duration(lease))
        with server.stored(state, server_machine, wait=wait, **choices) as stored:
            pattern_of_job = wanted.pattern
            match, why = _decide(
                stored.allocator, job, pattern_of_job, sensitive, best, owner=owner, **asked
            )
            stored.commit()
        # Others need not wait for the packing rate, nor for whoever reads the answer.
        server.tell(prepare, lambda: stored.withdraw(job, server_machine))
    for tell in worth:
        for remark in wanted.remarks:
            output.say(remark, stderr=True)
        tell()


def _answer(
    given: dict[str, object],
    machine: System,
    match: Match,
    why: Explanation | None,
    program: dict[str, object],
    json: bool,
) -> Callable[[], None]:
    """What prints the answer."""
    if json:
        fields = fields_of(match, machine) | places_of(match, machine) | explained(why, machine)
        fields |= {"program": program} if program else {}
        return lambda: output.print_json(given | fields)
    lines = [f"{name}={value}\n" for name, value in environment(match).items()]
    return lambda: output.document("".join(lines))


def _pattern(
    shape: PatternName,
    size: int | None,
    edges: Path | None,
    counters: tuple[Path, Path] | None,
    machine: System,
) -> Pattern:
    if edges is not None and counters is not None:
        raise typer.BadParameter("--edges and --counters both say who talks to whom; give one.")
    if edges is not None:
        pattern = Pattern.from_edge_list(read_text(edges), printable(str(edges)))
        source = f"`{edges}` joins"
    elif counters is not None:
        before, after = ((printable(str(path)), read_text(path)) for path in counters)
        of = cluster.one_for(machine, 1, "--counters")
        pattern, _, _ = Pattern.from_counters(before, after, of)
        source = f"the traffic from `{before[0]}` to `{after[0]}` is of"
    elif size is not None:
        return Pattern(shape, size)
    else:
        raise typer.BadParameter("Say how many GPUs: --gpus, or --edges, --counters or --program.")
    if size not in (None, pattern.size):
        joined = counted(pattern.size, "GPU")
        raise typer.BadParameter(f"{source} {joined} and --gpus asks for {size}.")
    return pattern


def _decide(
    allocator: Allocator,
    job: str,
    pattern: Pattern,
    sensitive: bool,
    limit: int | None,
    *,
    owner: Owner | None = None,
    **asked: Any,
) -> tuple[Match, Explanation | None]:
    why = None
    # The explanation is of the decision that follows, so that it comes before it.
    if limit is not None and job not in allocator.held:
        why = allocator.explain(job, pattern, sensitive=sensitive, limit=limit, **asked)
    match = allocator.allocate(job, pattern, sensitive=sensitive, owner=owner, **asked)
    if match is None:
        verb = "is" if pattern.size == 1 else "are"
        wanted = f"{counted(pattern.size, 'GPU')} {verb} asked for"
        raise NotNowError(f"{wanted} and {cluster.free_text(allocator)}; try later")
    return match, why
