"""`linkwright run` and `linkwright compare`: a scenario's jobs, played under its policies."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from linkwright import (
    Run,
    is_cluster_scenario,
    policy_names,
    read_scenario,
    read_text,
    replay_scenario,
    run_scenario,
)
from linkwright.cli import runs
from linkwright.cli.options import Json, PolicyNames, among
from linkwright.errors import printable

ScenarioFile = Annotated[
    Path, typer.Argument(metavar="SCENARIO", help="The scenario's file (TOML).")
]
Directory = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="DIRECTORY",
        help="Write tables, summary.json, manifest.json, timeline.json and report.html here.",
    ),
]


def run(
    scenario: ScenarioFile, policy: PolicyNames = None, to: Directory = None, json: Json = False
) -> None:
    """Play a scenario's jobs and sum up what they felt.

    A scenario with a [machine] plays jobs of GPUs on one server, under each policy; one with a
    [network] plays ranks and their messages on a cluster, as replay does.
    """
    is_cluster = is_cluster_scenario(read_text(scenario))
    if is_cluster and policy:
        raise typer.BadParameter(f"`{scenario}` has a network and no policies; leave out --policy.")
    wanted = runs.Wanted(to=to, json=json)
    wanted.check()
    with runs.watched() as watch:
        played: Run = (
            replay_scenario(scenario, timeline=wanted.spans, progress=watch.progress)
            if is_cluster
            else run_scenario(
                scenario,
                policies=policy or None,
                timeline=wanted.spans,
                progress=watch.progress,
            )
        )
    runs.show(played, wanted, watch)


def compare(
    scenario: ScenarioFile,
    policy: PolicyNames = None,
    baseline: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The policy to compare with; played even if not asked for.",
            callback=among("policy", policy_names()),
            autocompletion=policy_names,
        ),
    ] = "baseline",
    to: Directory = None,
    json: Json = False,
) -> None:
    """Compare policies with a baseline, as MAPA's Table 3 does.

    Speed-ups are ratios of the run times of the sensitive jobs of two or more GPUs: of the
    fastest, of each quartile, and of the slowest; above 1 is faster than the baseline.
    """
    wanted = runs.Wanted(to=to, json=json)
    wanted.check()
    chosen = policy or read_scenario(read_text(scenario), printable(str(scenario))).policies
    if baseline not in chosen:
        chosen = [baseline, *chosen]
    with runs.watched() as watch:
        played = run_scenario(
            scenario, policies=chosen, timeline=wanted.spans, progress=watch.progress
        )
    played = replace(played, compared_with=baseline)
    document: dict[str, object] = {
        "scenario": played.path.name,
        "headline": played.headline,
        "machine": played.system.name,
        "warnings": played.warnings,
        "baseline": baseline,
        "speedups": [asdict(speedup) for speedup in played.speedups],
    }
    runs.show(played, wanted, watch, document)
