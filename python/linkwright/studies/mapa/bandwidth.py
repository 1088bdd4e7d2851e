"""Computes Figs. 13 and 18, effective bandwidth by network and policy, and checks sentences."""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.plots.jobs import bandwidth_by_workload
from linkwright.quartiles import Quartiles
from linkwright.studies.mapa.mix import MODELS, POLICIES, Model, Run, bandwidths, under_model
from linkwright.studies.mapa.statements import STATEMENTS, Felt, Statement
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["FIGURES", "effective_bandwidth", "felt"]

FIGURES = {
    "dgx1-v100": "Fig. 13: effective bandwidth on a DGX-1V",
    "torus2d-16": "Fig. 18a: effective bandwidth on a torus of 16 GPUs",
    "cubemesh-16": "Fig. 18b: effective bandwidth on a cube mesh of 16 GPUs",
}

NOTES = {
    "dgx1-v100": (
        "57.85 is the value of the best ring of three GPUs, (2, 1, 0). The medians here lie a "
        "step below it, at (4, 0, 1), the best ring of five, with 53.51. No ring that greedy "
        "chooses has a value near 12.33 (10.44 and 17.86 are next to it). The published quartile "
        "is the regression's value of no link at all, so one-GPU jobs were very likely counted "
        "in. With them it comes out to the digit with those seeds where enough other jobs lie "
        "below it."
    ),
    "torus2d-16": (
        "Preserve has the highest quartiles or shares them, by less than the paper says. With a "
        "queue that never empties, even preserve must take what is left for some jobs, which "
        "sets its minimum."
    ),
    "cubemesh-16": (
        "Preserve has the highest quartiles or shares them, by less than the paper says, and for "
        "the reason given for the torus."
    ),
}

SPACED_NOTES = {
    "torus2d-16": (
        "On a machine with room to choose, greedy improves the 75th percentile as the paper "
        "says. Its sentence on preserve's tail still does not come out."
    ),
    "cubemesh-16": (
        "On a machine with room to choose, the sound model confirms the paper's main claim with "
        "every second seed or more. Half of preserve's jobs are about as fast as the fastest of "
        "baseline and topology-aware, or faster. Its sentence on the minimum does not."
    ),
}


def effective_bandwidth(
    runs: Sequence[Run], spaced: Sequence[Run] = (), gap: float = 0.0
) -> Section:
    """Writes the section on one machine's figure.

    Args:
        runs: The paper's mixes, all jobs waiting from the start.
        spaced: The same mixes with jobs that arrive one after the other, if wanted.
        gap: The mean seconds between those arrivals.
    """
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
            "The tables have the sensitive jobs of two or more GPUs in the mix of Table 3, with "
            "preserve ranked by the model that measures. The charts show the other workloads as "
            "well. The paper's figures show the published model: they plot predictions, not "
            "measurements.",
        ],
        tables=[
            _statement_table(runs, NOTES[machine]),
            *_spaced_tables(spaced, gap),
            *(_quartile_table(first, model) for model in MODELS),
        ],
        figures=figures,
    )


def felt(runs: Sequence[Run], model: Model) -> Felt:
    """Returns the bandwidths and times of one seed's sensitive jobs under each policy."""
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


def _spaced_tables(spaced: Sequence[Run], gap: float) -> list[StudyTable]:
    if not spaced:
        return []
    machine = spaced[0].machine
    note = f"The arrivals are an assumption of ours, not the paper's. {SPACED_NOTES[machine]}"
    title = f"The same where jobs arrive {gap:.0f} s apart on average"
    return [_statement_table(spaced, note, title)]


def _statement_table(
    runs: Sequence[Run], note: str, title: str = "The paper's sentences, checked"
) -> StudyTable:
    machine = runs[0].machine
    seeds = list(dict.fromkeys(run.seed for run in runs))
    found = {
        model: [felt([run for run in runs if run.seed == seed], model) for seed in seeds]
        for model in MODELS
    }
    statements = [each for each in STATEMENTS if each.machine == machine]
    return StudyTable(
        title=title,
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
            f"The numbers are of seed {seeds[0]}, in GB/s where no other unit stands. The counts "
            f"are over {len(seeds)} seeds. We read 'near' and 'equivalent' as at most 10 % below. "
            f"{note}"
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
        columns=("workload", "policy", "jobs", "minimum", "25 %", "median", "75 %", "maximum"),
        rows=tuple(rows),
        formats=("", "", "", *(".2f",) * 5),
    )
