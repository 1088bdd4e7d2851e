"""Figs. 13 and 18: effective bandwidth by network and policy, and what the paper says of it."""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.plot import bandwidth_by_workload
from linkwright.studies.mapa.mix import MODELS, POLICIES, Model, Run, bandwidths, under_model
from linkwright.studies.mapa.statements import STATEMENTS, Felt, Statement
from linkwright.studies.tables import Cell, Section, StudyTable
from linkwright.summary import Quartiles

__all__ = ["FIGURES", "effective_bandwidth", "felt"]

FIGURES = {
    "dgx1-v100": "Fig. 13: effective bandwidth on a DGX-1V",
    "torus2d-16": "Fig. 18a: effective bandwidth on a torus of 16 GPUs",
    "cubemesh-16": "Fig. 18b: effective bandwidth on a cube mesh of 16 GPUs",
}


def effective_bandwidth(runs: Sequence[Run]) -> Section:
    """The section on one machine's figure."""
    machine = runs[0].machine
    first = [run for run in runs if run.seed == runs[0].seed]
    figures = {}
    for model in MODELS:
        # Preserve's run ranked by the sound model has no published values, nor needs any.
        chart = bandwidth_by_workload(
            [run.result for run in under_model(first, model)],
            model="effective" if model == "published" else "sound",
            title=f"Effective bandwidth on {machine} by workload and policy, {model} model",
        )
        figures[f"bandwidth-{machine}-{model}"] = chart
    return Section(
        title=FIGURES[machine],
        text=[
            "Sensitive jobs of two or more GPUs out of the mix of Table 3, preserve ranked by "
            "the model that measures. The published model is what the paper's figures show: "
            "they plot predictions, not measurements.",
        ],
        tables=[
            _statement_table(runs),
            *(_quartile_table(first, model) for model in MODELS),
        ],
        figures=figures,
    )


def felt(runs: Sequence[Run], model: Model) -> Felt:
    """What one seed's sensitive jobs felt under each policy."""
    chosen = {run.policy: run for run in under_model(runs, model)}
    return Felt(
        model=model,
        bandwidth={
            policy: [value for value in bandwidths(run, model) if value is not None]
            for policy, run in chosen.items()
        },
        one_gpu_jobs=sum(row["gpu_count"] == 1 for row in chosen["greedy"].sensitive(one_gpu=True)),
        run_time={
            policy: [row["run_time"] for row in run.sensitive()] for policy, run in chosen.items()
        },
        makespan={policy: run.result.makespan for policy, run in chosen.items()},
    )


def _statement_table(runs: Sequence[Run]) -> StudyTable:
    machine = runs[0].machine
    seeds = list(dict.fromkeys(run.seed for run in runs))
    found = {
        model: [felt([run for run in runs if run.seed == seed], model) for seed in seeds]
        for model in MODELS
    }
    statements = [each for each in STATEMENTS if each.machine == machine]
    return StudyTable(
        title="What the paper says, checked",
        columns=(
            "source",
            "statement",
            "published model",
            "holds in",
            "sound model",
            "holds in ",
        ),
        rows=tuple(_statement_row(statement, found) for statement in statements),
        note=(
            f"Numbers of seed {seeds[0]}, in GB/s where no other unit stands; the counts are over "
            f"{len(seeds)} seeds. 'Near' and 'equivalent' are read as at most 10 % below."
        ),
    )


def _statement_row(statement: Statement, found: dict[Model, list[Felt]]) -> tuple[Cell, ...]:
    cells: list[Cell] = [statement.source, statement.says]
    for model in MODELS:
        if model == "sound" and statement.of_the_regression:
            cells += ["not defined", ""]
            continue
        outcomes = [statement.check(each) for each in found[model]]
        holds = sum(outcome.holds for outcome in outcomes)
        cells += [outcomes[0].measured, f"{holds} of {len(outcomes)}"]
    return tuple(cells)


def _quartile_table(runs: Sequence[Run], model: Model) -> StudyTable:
    rows: list[tuple[Cell, ...]] = []
    chosen = {run.policy: run for run in under_model(runs, model)}
    column = "effective_bandwidth" if model == "published" else "sound_bandwidth"
    workloads = list(dict.fromkeys(row["workload"] for row in chosen["baseline"].sensitive()))
    for workload in [*sorted(workloads), "all four"]:
        for policy in POLICIES:
            values = [
                row[column]
                for row in chosen[policy].sensitive()
                if workload in (row["workload"], "all four")
            ]
            five = Quartiles.of(values)
            rows.append(
                (
                    workload,
                    policy,
                    len(values),
                    five.minimum,
                    five.lower,
                    five.median,
                    five.upper,
                    five.maximum,
                )
            )
    return StudyTable(
        title=f"Effective bandwidth of sensitive jobs, {model} model (GB/s), reproduced",
        columns=("workload", "policy", "jobs", "least", "25 %", "50 %", "75 %", "most"),
        rows=tuple(rows),
        formats=("", "", "", *(".2f",) * 5),
    )
