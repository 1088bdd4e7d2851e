"""`linkwright run` and `linkwright compare`: a scenario's jobs, played under its policies."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from linkwright import (
    ScenarioRun,
    is_cluster_scenario,
    policy_names,
    read_scenario,
    read_text,
    run_scenario,
    write_run,
)
from linkwright.cli import output, replay_output
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
        help="Write tables, summary.json, manifest.json and report.html here.",
    ),
]


def run(
    scenario: ScenarioFile, policy: PolicyNames = None, to: Directory = None, json: Json = False
) -> None:
    """Play a scenario's jobs and sum up what they felt.

    A scenario with a [machine] plays jobs of GPUs on one server, under each policy; one with a
    [network] plays ranks and their messages on a cluster, as replay does.
    """
    if is_cluster_scenario(read_text(scenario)):
        if policy:
            raise typer.BadParameter(
                f"`{scenario}` has a network and no policies; leave out --policy."
            )
        replay_output.play_scenario(scenario, replay_output.Wanted(to=to, json=json))
        return
    _check(to)
    played = _play(scenario, policy or None)
    _write(played, to)
    from linkwright.runs import run_summary

    if json:
        output.print_json(run_summary(played))
        return
    _print_summary(played)
    _say_where(to)


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
    _check(to)
    chosen = policy or read_scenario(read_text(scenario), printable(str(scenario))).policies
    if baseline not in chosen:
        chosen = [baseline, *chosen]
    played = _play(scenario, chosen)
    _write(played, to, compared_with=baseline)
    from linkwright.summary import speedups, summarise

    found = speedups([summarise(result) for result in played.results], baseline)
    if json:
        document: dict[str, object] = {
            "scenario": played.path.name,
            "machine": played.system.name,
            "warnings": played.warnings,
        }
        rows = [asdict(speedup) for speedup in found]
        output.print_json(document | {"baseline": baseline, "speedups": rows})
        return
    heads = ["policy", "minimum", "25 %", "median", "75 %", "maximum", "throughput"]
    title = f"Speed-up over {baseline}: {played.path.name} on {played.system.name}"
    made = output.table(heads, left=["policy"])
    for speedup in found:
        numbers = list(asdict(speedup).values())[1:]
        made.add_row(speedup.policy, *(f"{number:.3f}" for number in numbers))
    console = output.console()
    console.print(title, style="bold")
    output.print_table(made)
    console.print(
        "Ratios of run times, of the sensitive jobs of two or more GPUs: above 1 is faster. "
        "Throughput is over all jobs.",
        style="dim",
    )
    _warn(played)
    if not found:
        console.print("No job is sensitive and has two or more GPUs: nothing differs.")
    _say_where(to)


def _warn(played: ScenarioRun) -> None:
    for warning in played.warnings:
        output.console().print(f"Warning: {warning}", style="bold")


def _check(to: Path | None) -> None:
    if to is not None:
        output.check_writable(to)


def _play(scenario: Path, policies: list[str] | None) -> ScenarioRun:
    with output.progress_bar() as progress:
        return run_scenario(scenario, policies=policies, progress=progress)


def _write(played: ScenarioRun, to: Path | None, *, compared_with: str | None = None) -> None:
    if to is not None:
        # Drawing takes longer than playing did.
        with output.working("drawing the report"):
            write_run(played, to, compared_with=compared_with)


def _print_summary(played: ScenarioRun) -> None:
    from linkwright.summary import summarise

    summaries = [summarise(result) for result in played.results]
    heads = [
        "policy",
        "makespan\nh",
        "jobs\nper h",
        "median\nwait h",
        "median\nrun s",
        "75 %\nrun s",
    ]
    # Where the policies ranked by the sound model, both columns would be one and the same.
    model = played.scenario.bandwidth_model
    heads += ["sound\nGB/s"] if model == "sound" else [f"{model}\nGB/s", "sound\nGB/s"]
    title = (
        f"{output.counted(len(played.jobs), 'job')} of {played.path.name} on {played.system.name}"
    )
    made = output.table(heads, left=["policy"])
    for summary in summaries:
        bandwidths = [summary.effective_bandwidth, summary.sound_bandwidth]
        run_time = summary.run_time
        made.add_row(
            summary.policy,
            f"{summary.makespan / 3600:.2f}",
            f"{summary.throughput:.1f}",
            f"{summary.wait.median / 3600:.2f}",
            "none" if run_time is None else f"{run_time.median:.0f}",
            "none" if run_time is None else f"{run_time.upper:.0f}",
            *(
                "none" if five is None else f"{five.median:.1f}"
                for five in bandwidths[1 if model == "sound" else 0 :]
            ),
        )
    console = output.console()
    console.print(title, style="bold")
    output.print_table(made)
    _warn(played)
    alone = summaries[0].one_gpu_jobs
    console.print(
        "Run times and bandwidths are of the sensitive jobs of two or more GPUs; "
        f"{output.counted(alone, 'job')} {'has' if alone == 1 else 'have'} one GPU.",
        style="dim",
    )


def _say_where(to: Path | None) -> None:
    if to is not None:
        output.say(f"wrote {to}", stderr=True)
