"""`linkwright allocate`: which GPUs a job should get."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from linkwright import Allocator, Pattern, System
from linkwright.allocation import Explanation, Match, Owner, pattern_names
from linkwright.cli import cluster, output, server
from linkwright.cli.options import (
    POLICY,
    STATE,
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
    picked,
)
from linkwright.cli.panels import JOB, OUTPUT, Rare
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
from linkwright.scenario import choice_names, read_text
from linkwright.texts import counted

# The names of patterns, by their type.
PATTERNS: list[PatternName] = picked(pattern_names(), pattern_names()) or []
MEASURED = "measured"
SENSITIVITIES = ("yes", "no", MEASURED)


def allocate(
    machine: MachineName,
    servers: Servers = 1,
    network: NetworkName = None,
    gpus: Annotated[
        int | None,
        typer.Option(
            "--gpus",
            "-k",
            metavar="N",
            parser=gpu_count,
            rich_help_panel=JOB,
            help="The job asks for N GPUs.",
        ),
    ] = None,
    pattern: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE",
            rich_help_panel=JOB,
            help=f"Who talks to whom: {', '.join(pattern_names())}, or a file with a line such as "
            "0 1 2.5 for each pair and its share.",
            autocompletion=pattern_names,
        ),
    ] = "ring",
    counters: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            metavar="BEFORE AFTER",
            rich_help_panel=Rare(JOB),
            help="Read who talks to whom from two outputs of nvidia-smi nvlink -gt d.",
        ),
    ] = None,
    program: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            rich_help_panel=JOB,
            help="Read it from what runs: a source (C, CUDA, Python), a trace, an application, or "
            "a network that is trained.",
        ),
    ] = None,
    communication: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            rich_help_panel=Rare(JOB),
            help="How a network's training moves data, as for train.",
            autocompletion=lambda: choice_names()["training_way"],
        ),
    ] = "nccl",
    batch: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            rich_help_panel=Rare(JOB),
            help="Samples of a step of a network, over all GPUs.",
        ),
    ] = None,
    sensitivity: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            rich_help_panel=JOB,
            help="Whether bandwidth matters: yes, no, or measured by playing --program.",
            callback=among("sensitivity", SENSITIVITIES),
            autocompletion=lambda: list(SENSITIVITIES),
        ),
    ] = "yes",
    policy: PolicyName = "preserve",
    server_choice: ServerChoice = "first-fit",
    servers_wanted: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            rich_help_panel=Rare(POLICY),
            help="Share the job out evenly to N servers.",
        ),
    ] = None,
    exclusive: Annotated[
        bool,
        typer.Option(
            "--exclusive",
            rich_help_panel=Rare(POLICY),
            help="Let no other job on the job's servers.",
        ),
    ] = False,
    bandwidth_model: BandwidthModel = "sound",
    bandwidth_profile: BandwidthProfile = None,
    ties: Ties = "nearest",
    on: Annotated[
        str | None,
        typer.Option(
            metavar="IDS",
            rich_help_panel=JOB,
            help="Choose among these GPUs, such as 0,3 or 0-3.",
        ),
    ] = None,
    busy: Annotated[
        str | None,
        typer.Option(metavar="IDS", rich_help_panel=JOB, help="These GPUs are taken, such as 0,3."),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", rich_help_panel=STATE, help="Keep who holds which GPU in this file."
        ),
    ] = None,
    job: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=STATE,
            help="The job's name in the state.",
            callback=named,
        ),
    ] = None,
    lease: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            rich_help_panel=Rare(STATE),
            help="The job may hold its GPUs this long, such as 90min or 2h.",
        ),
    ] = None,
    wait: LockWait = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", rich_help_panel=OUTPUT, help="Say why, with the best candidates."
        ),
    ] = False,
    limit: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            max=1000,
            rich_help_panel=Rare(OUTPUT),
            help="Explain N candidates.",
        ),
    ] = 5,
    json: Json = False,
) -> None:
    """Give a job its GPUs by a policy.

    Standard output is the job's environment, for export $(linkwright allocate ...). It has
    CUDA_VISIBLE_DEVICES in the order of the pattern. CUDA_DEVICE_ORDER=PCI_BUS_ID counts as
    nvidia-smi does. On several servers it has a line for each, such as node3 and that
    environment; --on and --busy count through all servers. Standard error says what the GPUs are
    worth, and which cores and NICs are near. Without --state nothing is kept.
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
        wanted = Wanted(_pattern(pattern, gpus, counters, server_machine))
    elif pattern not in pattern_names() or counters is not None:
        raise typer.BadParameter(
            "--program, a file of --pattern and --counters each say who talks to whom; give one."
        )
    else:
        wanted = wanted_of(program, gpus, communication, batch, server_machine)
        if sensitivity == MEASURED and server_machine.fabric is not None:
            # A job that is played for its sensitivity is played on one of the servers.
            one = cluster.one_for(server_machine, wanted.pattern.size, "--sensitivity")
            wanted = wanted_of(program, gpus, communication, batch, one)
        if gpus not in (None, wanted.pattern.size):
            joined = counted(wanted.pattern.size, "GPU")
            raise typer.BadParameter(f"`{program}` runs on {joined} and --gpus asks for {gpus}.")
    sensitive = sensitivity != "no"
    if sensitivity == MEASURED:
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
        # A decision alone does not need these.
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
    """Gives the function that prints the answer."""
    if json:
        fields = fields_of(match, machine) | places_of(match, machine) | explained(why, machine)
        fields |= {"program": program} if program else {}
        return lambda: output.print_json(given | fields)
    lines = [f"{name}={value}\n" for name, value in environment(match).items()]
    return lambda: output.document("".join(lines))


def _pattern(
    name: str,
    size: int | None,
    counters: tuple[Path, Path] | None,
    machine: System,
) -> Pattern:
    """Gives the pattern of a name or a file, or of counters.

    Raises:
        typer.BadParameter: If there is none, or two things say it.
        InputError: If a file holds no pattern, with its place.
    """
    shape = next((known for known in PATTERNS if known == name), None)
    if shape is None and not Path(name).exists():
        among("pattern or file", PATTERNS)(name)
    if shape is None and counters is not None:
        raise typer.BadParameter(
            "a file of --pattern and --counters both say who talks to whom; give one."
        )
    if shape is None:
        pattern = Pattern.from_edge_list(read_text(name), printable(name))
        source = f"`{printable(name)}` joins"
    elif counters is not None:
        before, after = ((printable(str(path)), read_text(path)) for path in counters)
        of = cluster.one_for(machine, 1, "--counters")
        pattern, _, _ = Pattern.from_counters(before, after, of)
        source = f"the traffic from `{before[0]}` to `{after[0]}` is of"
    elif size is not None and shape is not None:
        return Pattern(shape, size)
    else:
        raise typer.BadParameter(
            "Say how many GPUs: --gpus, a file of --pattern, --counters or --program."
        )
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
