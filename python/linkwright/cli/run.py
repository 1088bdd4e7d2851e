"""Has `linkwright run` and `linkwright compare`: a scenario's jobs, played under its policies."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from linkwright.allocation import policy_names
from linkwright.cli import runs, traces
from linkwright.cli.options import (
    Json,
    PolicyNames,
    Prices,
    RunDirectory,
    Without,
    WorkerCount,
    among,
    picked,
    workers_of,
)
from linkwright.cli.panels import OUTPUT, SYSTEM, Rare
from linkwright.cli.settings import of_options, pairs
from linkwright.network import preset_names
from linkwright.runs.cluster.play import replay_loaded
from linkwright.runs.cluster.run import Replay
from linkwright.runs.heat import heat_summary
from linkwright.runs.scenarios import read_scenario_file
from linkwright.runs.server.attribution import attribution_summary
from linkwright.runs.server.failures import failure_summary
from linkwright.runs.server.play import run_loaded
from linkwright.runs.server.run import ScenarioRun
from linkwright.scenario import Run, settings

if TYPE_CHECKING:
    from linkwright.runs.comparison import EqualName

# By what machines are made alike.
EQUAL = ("gpus", "servers", "price")

ScenarioFile = Annotated[
    Path, typer.Argument(metavar="SCENARIO", help="The scenario's file (TOML).")
]


Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Put a key over the scenario's, such as system.network.nic=rr-4 or "
        "job.NAME.iterations=3. Repeatable.",
        autocompletion=lambda incomplete: [
            f"{it.path}=" for it in settings() if it.path.startswith(incomplete)
        ],
    ),
]


def lacking(setting: list[str] | None, without: list[str] | None) -> dict[str, object]:
    """The settings that were typed, with the parts that are absent.

    Raises:
        typer.BadParameter: If a setting is none, or says which parts are absent, too.
    """
    found = pairs(setting)
    if without and "system.without" in found:
        raise typer.BadParameter("`system.without` is set beside --without; leave out one of them.")
    return {**found, "system.without": list(without)} if without else found


Attribute = Annotated[
    bool,
    typer.Option(
        "--attribute",
        rich_help_panel=OUTPUT,
        help="Say how much waiting, placement, neighbours and failures slowed each job.",
    ),
]


def run(
    scenario: ScenarioFile,
    policy: PolicyNames = None,
    setting: Settings = None,
    without: Without = None,
    trace_of: traces.What = None,
    events: traces.Events = None,
    only: traces.Only = None,
    attribute: Attribute = False,
    to: RunDirectory = None,
    json: Json = False,
) -> None:
    """Play a scenario's jobs and sum up how they went.

    A scenario with [jobs] has jobs that arrive, wait and get GPUs from each policy. One with
    [[job]] has ranks that send messages, as replay plays them.
    """
    wanted = runs.Wanted(to=to, json=json)
    wanted.check()
    traced = traces.Traced(trace_of, events, traces.read_only(trace_of, only))
    traced.check(to)
    with runs.watched() as watch, of_options():
        loaded = read_scenario_file(scenario, lacking(setting, without))
        if loaded.scenario.kind == "programs" and policy:
            raise typer.BadParameter(
                f"`{scenario}` runs programs, which no policy places; leave out --policy."
            )
        if loaded.scenario.kind != "programs" and traced.what:
            raise typer.BadParameter(
                f"`{scenario}` has jobs of GPUs, and --trace is of programs with [[job]]."
            )
        played: Run = (
            replay_loaded(
                loaded,
                timeline=max(wanted.spans, traced.spans),
                events=traced.keywords(),
                progress=watch.progress,
                attribute=attribute,
            )
            if loaded.scenario.kind == "programs"
            else run_loaded(
                loaded,
                policies=picked(policy, policy_names()),
                timeline=wanted.spans,
                progress=watch.progress,
                attribute=attribute,
            )
        )
    runs.show(played, wanted, watch)
    if isinstance(played, Replay):
        traced.write(played.run, to)


def compare(
    scenario: ScenarioFile,
    policy: PolicyNames = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Compare with this policy, or variant of [compare].  [default: the scenario's]",
            autocompletion=policy_names,
        ),
    ] = None,
    setting: Settings = None,
    without: Without = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=1000,
            help="Play N seeds, and say what each choice is worth.  [default: compare.seeds]",
        ),
    ] = None,
    machine: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MACHINE[=SERVERS]",
            rich_help_panel=SYSTEM,
            help="Play jobs of GPUs on this machine instead; the first is the reference. "
            "Repeatable.",
            autocompletion=lambda: [name for name, _ in preset_names()],
        ),
    ] = None,
    equal: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=SYSTEM,
            help=f"Give each other --machine as many servers as make {', '.join(EQUAL)} equal.",
            callback=among("equality", EQUAL),
            autocompletion=lambda: list(EQUAL),
        ),
    ] = None,
    workers: WorkerCount = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=Rare(OUTPUT),
            help="Keep every finished run here, and go on from there.",
        ),
    ] = None,
    prices: Prices = None,
    attribute: Attribute = False,
    to: RunDirectory = None,
    json: Json = False,
) -> None:
    """Compare a scenario's variants: its policies, its [compare.NAME], or machines.

    All variants play the same seeds. Jobs of GPUs are told by waiting, running and job time,
    throughput and load. Speed-ups are ratios of run times, as in MAPA's Table 3; above 1 is faster
    than the baseline. --attribute tells each gain in parts. --seeds tells the gain of each
    choice, alone and together, with 95 % intervals.
    """
    from linkwright.runs.comparison import compare

    if machine and (policy or baseline):
        raise typer.BadParameter(
            "--machine compares machines, and --policy and --baseline variants; leave one out."
        )
    if equal and not machine:
        raise typer.BadParameter("--equal is of machines; name some with --machine.")
    where = workers_of(workers)
    wanted = runs.Wanted(to=to, json=json)
    wanted.check()
    if baseline is not None:
        _check_baseline(scenario, baseline)
    with runs.watched() as watch, of_options():
        played = compare(
            scenario,
            policies=picked(policy, policy_names()),
            settings=lacking(setting, without),
            reference=baseline,
            workers=where,
            checkpoint=checkpoint,
            timeline=wanted.spans,
            progress=watch.progress,
            forecast=watch.forecast,
            seeds=seeds,
            machines=machine or (),
            prices=prices,
            attribute=attribute,
            equal=cast("EqualName | None", equal),
        )
    if not isinstance(played, ScenarioRun):
        runs.show(played, wanted, watch)
        return
    document: dict[str, object] = {
        "scenario": played.path.name,
        "headline": played.headline,
        "machine": played.system.name,
        "warnings": played.warnings,
        "notes": list(played.notes),
        "known_errors": [asdict(error) for error in played.known_errors],
        "parts": played.named_parts,
        "baseline": played.reference,
        "speedups": [asdict(speedup) for speedup in played.speedups],
        **failure_summary(played.results),
        **attribution_summary(played.results, played.compared_with),
        **heat_summary(played.heats),
        **({} if played.bills is None else {"hardware": played.bills.summary()}),
    }
    runs.show(played, wanted, watch, document)


def _check_baseline(scenario: Path, baseline: str) -> None:
    """Refuses what is neither a policy nor a variant of the scenario, with what comes near.

    Raises:
        typer.BadParameter: If it is so.
    """
    known = read_scenario_file(scenario).scenario
    policies = policy_names() if known.kind == "mix" else []
    names = list(dict.fromkeys([*policies, *known.variants]))
    among("policy" if known.variants == known.policies else "variant", names)(baseline)
