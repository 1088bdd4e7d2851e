"""`linkwright run` and `linkwright compare`: a scenario's jobs, played under its policies."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from linkwright.allocation import policy_names
from linkwright.network import preset_names
from linkwright.scenario import Run
from linkwright.cli import runs, traces
from linkwright.cli.options import (
    DaskAddress,
    Json,
    PolicyNames,
    Prices,
    RunDirectory,
    WorkerCount,
    among,
    picked,
)
from linkwright.cli.settings import of_options, pairs
from linkwright.runs.cluster.play import replay_loaded
from linkwright.runs.cluster.run import Replay
from linkwright.runs.heat import heat_summary
from linkwright.runs.scenarios import read_scenario_file
from linkwright.runs.server.attribution import attribution_summary
from linkwright.runs.server.failures import failure_summary
from linkwright.runs.server.play import run_loaded
from linkwright.runs.server.run import ScenarioRun

if TYPE_CHECKING:
    from linkwright.runs.comparison import EqualName
    from linkwright.sweeps import Workers

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
        help="Put this over the scenario, as system.network.nic=rr-4 or "
        "job.NAME.iterations=3; repeatable.",
    ),
]

Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        metavar="PART",
        help="Play it without a part all day, as node3, node3/mlx5_1, GPU0-GPU3 or leaf2; "
        "repeatable. It takes the place of system.without.",
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
        help="Say what slowed each job: waiting, placement, neighbours or failures. Each is "
        "played alone, too.",
    ),
]


def run(
    scenario: ScenarioFile,
    policy: PolicyNames = None,
    setting: Settings = None,
    without: Without = None,
    trace_of: traces.What = None,
    events: traces.Events = None,
    trace_limit: traces.Limit = traces.LIMIT,
    trace_link: traces.Link = None,
    trace_from: traces.Since = 0.0,
    trace_until: traces.Until = None,
    trace_window: traces.Window = None,
    attribute: Attribute = False,
    to: RunDirectory = None,
    json: Json = False,
) -> None:
    """Play a scenario's jobs and sum up what they felt.

    A scenario with [jobs] plays jobs of GPUs, which arrive, wait and get their GPUs from a policy,
    under each policy; one with [[job]] plays ranks and their messages, as replay does.
    """
    wanted = runs.Wanted(to=to, json=json)
    wanted.check()
    traced = traces.Traced(
        trace_of, events, trace_limit, trace_link, trace_from, trace_until, trace_window
    )
    traced.check()
    with runs.watched() as watch, of_options():
        loaded = read_scenario_file(scenario, lacking(setting, without))
        if loaded.scenario.kind == "programs" and policy:
            raise typer.BadParameter(
                f"`{scenario}` runs programs, and no policy places them; leave out --policy."
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
    if isinstance(played, Replay):
        traced.write(played.run)
    runs.show(played, wanted, watch)


def compare(
    scenario: ScenarioFile,
    policy: PolicyNames = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The variant to compare with: a policy, played even if not asked for, or a name "
            "of the scenario's [compare]; that of the scenario if not given.",
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
            help="Of jobs of GPUs: play every variant, and each choice alone, on so many seeds, "
            "and say what each choice is worth, with its interval; compare.seeds if not given.",
        ),
    ] = None,
    machine: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MACHINE[=SERVERS]",
            help="Of jobs of GPUs: play them on this server (a preset or a file) in place of the "
            "scenario's variants, on this number of them or as many as the scenario has; "
            "repeatable, the first is the reference.",
            autocompletion=preset_names,
        ),
    ] = None,
    equal: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            help="Give each other --machine as many servers as make it equal to the first by "
            f"this, rounded down: {', '.join(EQUAL)} (with --prices). One machine alone is "
            "compared with the scenario's own servers.",
            callback=among("equality", EQUAL),
            autocompletion=lambda: list(EQUAL),
        ),
    ] = None,
    workers: WorkerCount = None,
    dask: DaskAddress = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep every finished run here, and go on from there."),
    ] = None,
    prices: Prices = None,
    attribute: Attribute = False,
    to: RunDirectory = None,
    json: Json = False,
) -> None:
    """Compare a scenario's variants: its policies, and what its [compare.NAME] say.

    All are played on the same seeds. Of jobs of GPUs, waiting, running and job time are told in
    the mean, throughput, GPU-seconds and the load. Speed-ups are ratios of the run times of the
    sensitive jobs of two or more GPUs, as in MAPA's Table 3: of the fastest, of each quartile, and
    of the slowest; of programs, of each job's time. Above 1 is faster than the baseline.

    With --attribute, each variant's gain is told in parts: waiting, placement, neighbours and
    failures.

    With --seeds, jobs of GPUs tell what each choice is worth: each key in which the baseline
    differs alone, all together, and what is left over, with 95 % intervals.
    """
    from linkwright.runs.comparison import compare

    if machine and (policy or baseline):
        raise typer.BadParameter(
            "--machine compares machines, and --policy and --baseline variants; leave one out."
        )
    if equal and not machine:
        raise typer.BadParameter("--equal is of machines; name some with --machine.")
    if dask is not None and workers is not None:
        raise typer.BadParameter("--dask and --workers exclude each other; give one of them.")
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
            workers=_workers(workers, dask),
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


def _workers(count: int | None, dask: str | None) -> Workers | None:
    from linkwright.sweeps import dask_cluster, local_processes

    if dask is not None:
        return dask_cluster(dask)
    return None if count is None else local_processes(count)
