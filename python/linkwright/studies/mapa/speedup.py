"""Computes Table 3: speed-up of run times and throughput over the baseline, on a DGX-1V."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from linkwright.plots.jobs import run_time_by_workload
from linkwright.quartiles import Quartiles
from linkwright.studies.mapa.mix import MODELS, POLICIES, Model, Run, under_model
from linkwright.studies.mapa.published import published
from linkwright.studies.mapa.readings import Reading
from linkwright.studies.tables import Cell, Section, StudyTable
from linkwright.summaries.policies import Speedup, speedups

__all__ = ["headline_table", "speedup", "speedup_table"]

# Each field of a speed-up by the head of its column.
OF_SPEEDUP = {
    "minimum": "minimum",
    "25 %": "lower",
    "median": "median",
    "75 %": "upper",
    "maximum": "maximum",
    "throughput": "throughput",
}
HEADS = tuple(OF_SPEEDUP)


def speedup(runs: Sequence[Run], chosen: Reading) -> Section:
    """The section on Table 3; the first seed's runs stand for the paper's."""
    first = [run for run in runs if run.seed == runs[0].seed]
    drawn = [run.result for run in under_model(first, "sound")]
    seeds = len({run.seed for run in runs})
    return Section(
        title="Table 3: speed-up over the baseline",
        text=[
            f"300 jobs, uniform over {_drawn_from(chosen)} and one to five GPUs, all waiting from "
            f"the start ({chosen.discipline}), on `dgx1-v100`. The table has ratios of the "
            "quartiles of run times, baseline by policy, over the bandwidth-sensitive jobs of two "
            "or more GPUs. Throughput is over all jobs. The paper's list of jobs is unpublished. "
            f"Seed {runs[0].seed} stands for it, and {seeds} seeds show how much is chance.",
            "Preserve is played twice: ranked by the published regression, as in the paper, and "
            "by the sound model. The other policies do not look at effective bandwidth. Run times "
            "follow the same model under every ranking, so all are compared in one world.",
        ],
        tables=[
            headline_table(runs),
            speedup_table(runs, chosen),
            _spread_table(runs, chosen),
            _seconds_table(first, chosen),
        ],
        figures={"run-time-dgx1-v100": run_time_by_workload(drawn)},
    )


def _drawn_from(chosen: Reading) -> str:
    return chosen.words()[0]


def _outcome(chosen: Reading) -> str:
    if chosen.by_slope:
        return (
            "Throughput gains in the paper's order, with this seed about as much as published and "
            "with most others more. The 75th percentile gains more than published, the slowest job "
            "as much as a class of links or nothing"
        )
    return (
        "The slowest job's gain comes out, and throughput in the paper's order. The 75th "
        "percentile gains more than published with this seed and less with most others"
    )


def speedup_table(runs: Sequence[Run], chosen: Reading) -> StudyTable:
    """Writes Table 3, published beside reproduced by the first seed."""
    entry = published()["speedup"]
    reproduced = _by_choice([run for run in runs if run.seed == runs[0].seed])
    rows: list[tuple[Cell, ...]] = []
    for policy in POLICIES:
        rows.append((policy, "published", *entry[policy]))
        for model in MODELS if policy == "preserve" else MODELS[:1]:
            how = f"reproduced, {model} model" if policy == "preserve" else "reproduced"
            rows.append((policy, how, *_by_head(reproduced[policy, model]).values()))
    return StudyTable(
        title="Table 3: speed-up over the baseline",
        columns=("policy", "", *HEADS),
        rows=tuple(rows),
        formats=("", "", *(".3f",) * 5, ".2f"),
        note=(
            f"{_outcome(chosen)}. The medians do not come out. The paper does not say which jobs "
            "its quartiles are over, and its own numbers part. By Section 4.1 the 75th percentile "
            "falls from 540 s to 498 s (1.084) and 505 s (1.069). The table has 1.124 and 1.014. "
            "The fastest jobs of the model have the best links under every policy, hence 1.000."
        ),
    )


def _by_head(gained: Speedup) -> dict[str, float]:
    """Finds each number of a speed-up by its head."""
    return {head: getattr(gained, name) for head, name in OF_SPEEDUP.items()}


def _by_choice(runs: Sequence[Run]) -> dict[tuple[str, Model], Speedup]:
    """Speed-ups of one seed's runs by policy and by the model that preserve ranks by."""
    found: dict[tuple[str, Model], Speedup] = {}
    for model in MODELS:
        for gained in speedups([run.result for run in under_model(runs, model)]):
            found[gained.policy, model] = gained
    return found


def _over_seeds(
    runs: Sequence[Run],
) -> dict[tuple[str, Model], list[dict[str, float]]]:
    """Returns the speed-ups by choice of policy and model, for each seed by their heads."""
    seeds = list(dict.fromkeys(run.seed for run in runs))
    by_seed = [_by_choice([run for run in runs if run.seed == seed]) for seed in seeds]
    choices: list[tuple[str, Model]] = [(policy, "published") for policy in POLICIES[1:]]
    choices.append(("preserve", "sound"))
    return {choice: [_by_head(each[choice]) for each in by_seed] for choice in choices}


def _named(policy: str, model: Model) -> str:
    return f"{policy}, {model} model" if policy == "preserve" else policy


def headline_table(runs: Sequence[Run]) -> StudyTable:
    """Writes Table 3's quoted figures, the slowest jobs and throughput, over all seeds."""
    rows: list[tuple[Cell, ...]] = []
    for (policy, model), speedups_of in _over_seeds(runs).items():
        cells: list[Cell] = [_named(policy, model)]
        said = dict(zip(HEADS, published()["speedup"][policy], strict=True))
        for head in ("75 %", "maximum", "throughput"):
            values = [each[head] for each in speedups_of]
            cells += [said[head], f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"]
        rows.append(tuple(cells))
    return StudyTable(
        title="In short: speed-up over the baseline, published beside the median (range) of "
        f"{len({run.seed for run in runs})} job lists",
        columns=(
            "policy",
            "75 %, published",
            "reproduced",
            "slowest job, published",
            "reproduced ",
            "throughput, published",
            "reproduced  ",
        ),
        rows=tuple(rows),
        formats=("", ".3f", "", ".3f", "", ".2f", ""),
    )


def _spread_table(runs: Sequence[Run], chosen: Reading) -> StudyTable:
    found = _over_seeds(runs)
    rows: list[tuple[Cell, ...]] = []
    for (policy, model), speedups_of in found.items():
        spreads = [
            f"{median(values):.3f} ({min(values):.3f} to {max(values):.3f})"
            for values in ([each[head] for each in speedups_of] for head in HEADS)
        ]
        rows.append((_named(policy, model), *spreads))
    return StudyTable(
        title=f"The same over {len({run.seed for run in runs})} seeds: median (range)",
        columns=("policy", *HEADS),
        rows=tuple(rows),
        note=(
            "One list of 300 jobs says little. Run times are steps, one per network, size and "
            "class of links. So a quartile of some hundred jobs moves by a whole step or not at "
            f"all. Throughput, a sum over all jobs, is steadier, and {_throughput(chosen)}."
        ),
    )


def _throughput(chosen: Reading) -> str:
    if chosen.by_slope:
        return (
            "gains more than published in the median. The published gains of topology-aware and "
            "preserve lie within the range of the seeds, and greedy's just below it"
        )
    return "gains about half of what is published"


def _seconds_table(runs: Sequence[Run], chosen: Reading) -> StudyTable:
    entry = published()["execution_time"]
    upper: dict[tuple[str, str], float] = {}
    for run in under_model(runs, "published"):
        for name in ("vgg-16", "alexnet"):
            times = [row["run_time"] for row in run.sensitive() if row["workload"] == name]
            upper[name, run.policy] = Quartiles.of(times).upper
        everything = [row["run_time"] for row in run.sensitive()]
        upper["all sensitive", run.policy] = Quartiles.of(everything).upper
    names = {"vgg-16": "vgg_16", "alexnet": "alexnet", "all sensitive": "sensitive"}
    rows: list[tuple[Cell, ...]] = []
    by_name = sorted(upper.items(), key=lambda it: list(names).index(it[0][0]))
    for (name, policy), value in by_name:
        said = entry.get(f"{names[name]}_upper_quartile_{policy.replace('-', '_')}")
        if said is not None:
            rows.append((name, policy, said, value))
    return StudyTable(
        title="Section 4.1: upper quartile of run time",
        columns=("jobs", "policy", "published (s)", "reproduced (s)"),
        rows=tuple(rows),
        formats=("", "", ".0f", ".0f"),
        note=(
            "The speed of computing follows Fig. 2b's slope, so all times are shorter than the "
            "paper's. Only differences between policies can be compared."
            if chosen.by_slope
            else "Seconds are no independent check: the workloads' batch sizes are calibrated to "
            "the paper's times on good links. The model predicts only the cost of worse links."
        ),
    )
