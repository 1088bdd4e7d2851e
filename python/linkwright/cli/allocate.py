"""`linkwright allocate`: which GPUs a job should get."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from linkwright import (
    Allocator,
    CollectiveError,
    Explanation,
    Match,
    Owner,
    Pattern,
    System,
    bus_factor,
    packing_rate,
    pattern_names,
    read_text,
)
from linkwright.cli import output, server
from linkwright.cli.options import (
    BandwidthModel,
    BandwidthProfile,
    Json,
    LockWait,
    MachineName,
    PolicyName,
    Ties,
    among,
    bandwidth_choices,
    gpu_count,
    gpu_ids,
    named,
)
from linkwright.cli.program import NotNowError
from linkwright.cli.standard_input import given_machine
from linkwright.cli.streams import is_quiet
from linkwright.cli.tables import Table
from linkwright.cli.wanted import Wanted, is_sensitive, wanted_of
from linkwright.errors import printable
from linkwright.names import PatternName
from linkwright.texts import counted


def allocate(
    machine: MachineName,
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

    Standard output is the job's environment, for export $(linkwright allocate ...):
    CUDA_VISIBLE_DEVICES=..., in the order of the pattern's vertices, and
    CUDA_DEVICE_ORDER=PCI_BUS_ID, since the ids are those of nvidia-smi, which counts along
    the PCIe bus, and CUDA by itself counts the fastest GPU first. What the GPUs are worth and
    which cores and NICs are near them is said on standard error. Without --state nothing is
    kept.
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
        **bandwidth_choices(bandwidth_model),
        "bandwidth_profile": bandwidth_profile,
        "ties": ties,
    }
    server_machine = given_machine(machine)
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
        if gpus not in (None, wanted.pattern.size):
            joined = counted(wanted.pattern.size, "GPU")
            raise typer.BadParameter(f"`{program}` runs on {joined} and --gpus asks for {gpus}.")
    if sensitivity is not None:
        sensitive, told = is_sensitive(wanted, server_machine)
        wanted.fields["sensitive"] = sensitive
        wanted.remarks.append(f"{told}: {'sensitive' if sensitive else 'insensitive'}.")
    best = limit if explain else None
    by_edges = bandwidth_model == "sound" and not wanted.pattern.is_collective
    worth: list[Table] = []

    def prepare() -> Callable[[], None]:
        # Remarks are worked out before the answer, too: who has printed one must not fail.
        if not json and not is_quiet():
            worth.append(_ranking_table(_ranking(match, why), server_machine, by_edges))
        return _answer(server_machine, policy, job, match, why, wanted.fields, json)

    if state is None:
        allocator = Allocator(server_machine, **choices)
        # Nothing is kept, so that it matters only that these GPUs cannot be had.
        wanted_ids = range(server_machine.gpu_count) if on is None else gpu_ids(on)
        others = set(range(server_machine.gpu_count)) - set(wanted_ids)
        for gpu in [*gpu_ids(busy), *sorted(others)]:
            allocator.mark_unhealthy(gpu)
        match, why = _decide(allocator, "job", wanted.pattern, sensitive, best)
        prepare()()
    else:
        assert job is not None, "checked above"
        # What a decision alone does not need.
        from linkwright.cli.durations import parse_duration
        from linkwright.cli.owners import asking

        owner = asking(parse_duration(lease))
        with server.stored(state, server_machine, wait=wait, **choices) as stored:
            pattern_of_job = wanted.pattern
            match, why = _decide(stored.allocator, job, pattern_of_job, sensitive, best, owner)
            stored.commit()
        # Others need not wait for the packing rate, nor for whoever reads the answer.
        server.tell(prepare, lambda: stored.withdraw(job, server_machine))
    for made in worth:
        for remark in wanted.remarks:
            output.say(remark, stderr=True)
        _print_remarks(made, match, why, server_machine, by_edges)


def _answer(
    machine: System,
    policy: str,
    job: str | None,
    match: Match,
    why: Explanation | None,
    program: dict[str, object],
    json: bool,
) -> Callable[[], None]:
    """What prints the answer."""
    if json:
        document = {"machine": machine.name, "policy": policy, "job": job}
        fields = _fields(match, machine) | _places(match, machine) | _explained(why, machine)
        fields |= {"program": program} if program else {}
        return lambda: output.print_json(document | fields)
    lines = [f"{name}={value}\n" for name, value in _environment(match).items()]
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
        pattern, _, _ = Pattern.from_counters(before, after, machine)
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
    owner: Owner | None = None,
) -> tuple[Match, Explanation | None]:
    why = None
    # The explanation is of the decision that follows, so that it comes before it.
    if limit is not None and job not in allocator.held:
        why = allocator.explain(job, pattern, sensitive=sensitive, limit=limit)
    match = allocator.allocate(job, pattern, sensitive=sensitive, owner=owner)
    if match is None:
        free = allocator.free
        listed = f"({','.join(map(str, free))})"
        are = "is" if len(free) == 1 else "are"
        which = f"{len(free)} {are} free {listed}" if free else "none is free"
        verb = "is" if pattern.size == 1 else "are"
        asked = f"{counted(pattern.size, 'GPU')} {verb} asked for"
        raise NotNowError(f"{asked} and {which}; try later")
    return match, why


def _environment(match: Match) -> dict[str, str]:
    return {"CUDA_VISIBLE_DEVICES": _ids(match), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def _places(match: Match, machine: System) -> dict[str, object]:
    """Where the GPUs sit: what a launcher pins the job's processes to."""
    places = machine.gpu_places()
    return {
        "environment": _environment(match),
        "cpuset": machine.cpuset(match.gpus),
        "numa_nodes": machine.numa_nodes(match.gpus),
        "nics": _nics(match, machine),
        "places": [
            {
                "gpu": gpu,
                "name": places[gpu].name,
                "pci_address": places[gpu].pci_address,
                "cpus": places[gpu].cpu_affinity,
                "numa_nodes": places[gpu].numa_affinity,
                "nics": places[gpu].nics,
                "nic_proximity": places[gpu].nic_proximity,
            }
            for gpu in match.gpus
        ],
    }


def _nics(match: Match, machine: System) -> list[str]:
    """The NICs nearest to any of the GPUs, each once."""
    places = machine.gpu_places()
    return list(dict.fromkeys(nic for gpu in match.gpus for nic in places[gpu].nics))


def _packing_rate(match: Match, machine: System) -> float | None:
    """What the best all-reduce reaches on these GPUs, in GB/s; None where there is none."""
    try:
        return packing_rate(machine, match.gpus)[0]
    except CollectiveError:
        return None


def _fields(match: Match, machine: System) -> dict[str, object]:
    packing = _packing_rate(match, machine)
    return {
        "gpus": match.gpus,
        "links": match.joined_by,
        "aggregated_bandwidth": match.aggregated_bandwidth,
        "effective_bandwidth": match.effective_bandwidth,
        "preserved_bandwidth": match.preserved_bandwidth,
        "packing_rate": packing,
        "packing_bus_bandwidth": _bus_bandwidth(packing, match),
        "candidates": match.candidates,
        "optimal": match.optimal,
        "gap": match.gap,
    }


def _bus_bandwidth(algorithm_bandwidth: float | None, match: Match) -> float | None:
    """The bus bandwidth of an all-reduce of this algorithm bandwidth."""
    factor = bus_factor("all-reduce", len(match.gpus))
    return None if algorithm_bandwidth is None else algorithm_bandwidth * factor


def _explained(why: Explanation | None, machine: System) -> dict[str, object]:
    if why is None:
        return {}
    ranking = [_fields(match, machine) for match in why.ranking]
    explained = {
        "rule": why.rule,
        "decided_by": why.decided_by,
        "verdict": why.verdict,
        "ranking": ranking,
    }
    return {"explanation": explained}


def _ranking(match: Match, why: Explanation | None) -> list[Match]:
    return [match] if why is None else why.ranking


def _ranking_table(ranking: list[Match], machine: System, by_edges: bool) -> Table:
    """Makes the table that says how much the GPUs are worth, and the other candidates."""
    bandwidth = "pattern\nbandwidth" if by_edges else "effective\nbusbw"
    heads = ["GPUs", "links", bandwidth, "packing\nbusbw", "aggregated", "preserved"]
    made = output.table(heads, left=["GPUs", "links"])
    for match in ranking:
        effective = match.effective_bandwidth
        packing = _bus_bandwidth(_packing_rate(match, machine), match)
        made.add_row(
            _ids(match),
            ", ".join(f"{count} {name}" for name, count in match.joined_by.items()) or "none",
            "none" if effective is None else f"{effective:.1f}",
            "none" if packing is None else f"{packing:.1f}",
            f"{match.aggregated_bandwidth:g}",
            f"{match.preserved_bandwidth:g}",
        )
    return made


def _print_remarks(
    made: Table, match: Match, why: Explanation | None, machine: System, by_edges: bool
) -> None:
    console = output.console(stderr=True)
    ranking = _ranking(match, why)
    if why is not None:
        console.print(why.rule)
        console.print(f"Decided by {why.decided_by}: {why.verdict}")
        console.print()
    output.print_table(made, stderr=True)
    console.print(f"{_competition(ranking)}; bandwidths in GB/s.")
    if by_edges:
        console.print(
            "The pattern's bandwidth is that of each edge while all carry their shares, both ways. "
            "Packing busbw is the most that an all-reduce on these links can come to."
        )
    elif len(ranking[0].gpus) > 1:
        console.print(
            "busbw is the bus bandwidth of an all-reduce: effective as predicted of what is "
            "reached, packing the most that plans on these links can come to."
        )
    near = _near(ranking[0], machine)
    if near:
        console.print(f"Near GPUs {_ids(ranking[0])}: {near}.")


def _near(match: Match, machine: System) -> str:
    """The cores, NUMA nodes and NICs near the GPUs, as far as the machine says."""
    cores, nodes = machine.cpuset(match.gpus), machine.numa_nodes(match.gpus)
    nics = _nics(match, machine)
    known = {"cores": cores, "NUMA nodes": nodes, "NICs": ", ".join(nics)}
    return "; ".join(f"{what} {which}" for what, which in known.items() if which)


def _competition(ranking: list[Match]) -> str:
    """How the first was found among how many."""
    chosen = ranking[0]
    if chosen.candidates == 1:
        # A rule that looks at no link leaves one set, and there may be no other.
        others = "; the others are shown beside it" if len(ranking) > 1 else ""
        one = f"The one set of GPUs that the policy's rule leaves{others}"
        if chosen.optimal or chosen.gap is None:
            return one
        return f"{one}; no other order of them is more than {_percent(chosen.gap)} better"
    if chosen.optimal:
        return f"The best of {chosen.candidates:,} candidates by the policy's rule"
    found = f"The best found of {chosen.candidates:,} candidates"
    if chosen.gap is None:
        return f"{found}, perhaps not the best there is"
    return f"{found}; none there is can be more than {_percent(chosen.gap)} better by the rule"


def _percent(gap: float) -> str:
    """A fraction in percent, rounded up so that it stays a bound."""
    return f"{math.ceil(gap * 1000) / 10:g} %"


def _ids(match: Match) -> str:
    return ",".join(str(gpu) for gpu in match.gpus)
