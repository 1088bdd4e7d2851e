"""Writes `docs/guide/data/load-curve.json`, and its tables into `docs/guide/shared-day.md`.

The worth of choices on a shared server depends on how full it is. The day of
`examples/shared-server.toml` is played at loads from nearly idle to more than the server can do.
It is played under the choices of three papers and under three other stacks. So are days of training
jobs, and the day of `examples/shared-cluster.toml` with jobs in the first server that has room.

    scripts/load_curve.py FOLDER [PART ...]

PART is of `curve`, `training` and `cluster`, all three where none is named; the others stay as they
are stored. FOLDER keeps every finished run. Where the model has moved, name another.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from linkwright.scenario import share_saved
from linkwright.files import sha256
from linkwright.runs.scenarios import read_scenario_file
from linkwright.runs.server.play import simulated
from linkwright.summaries.intervals import Estimate, estimate
from linkwright.summaries.measures import gpus_in_order
from linkwright.summaries.time_parts import time_parts
from linkwright.sweeps import Sweep, local_processes, play_sweep

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
STORED = ROOT / "docs" / "guide" / "data" / "load-curve.json"
GUIDE = ROOT / "docs" / "guide" / "shared-day.md"
SERVER, CLUSTER = "shared-server.toml", "shared-cluster.toml"

Settings = dict[str, object]
Parts = dict[str, float]


def stack(policy: str, planner: str, arbitration: str) -> Settings:
    """Gives the choices of a stack, as settings to put over the scenario."""
    return {
        "allocation.policies": [policy],
        "collectives.planner": planner,
        "pcie.arbitration": arbitration,
    }


PAPERS = "papers"
STACKS = {
    PAPERS: stack("preserve", "packing", "throughput"),
    "2018": stack("baseline", "nccl-classic", "round-robin"),
    "nccl-2.18": stack("baseline", "nccl-ring", "round-robin"),
    "preserve-nccl-2.18": stack("preserve", "nccl-ring", "round-robin"),
}
# Seconds between arrivals. The load follows from them.
INTERARRIVALS = (1800, 1000, 600, 400, 300, 240, 200, 180, 150, 120)
SEEDS = tuple(range(1, 21))
# Networks that are trained layer by layer, each a day of its own, at about these loads.
NETWORKS = ("alexnet", "vgg-16", "googlenet", "inception-v3", "resnet-50")
TRAINING_LOADS = (0.35, 0.7)
TRAINING_SEEDS = tuple(range(1, 6))
CLUSTER_SEEDS = tuple(range(1, 13))


def play(scenario: str, settings: Mapping[str, object], seed: int) -> Parts:
    """Plays a scenario on a seed and gives the parts of its jobs' time."""
    seeded = {**settings, "seed": seed, "jobs.generate.seed": seed}
    scenario_file = read_scenario_file(EXAMPLES / scenario, seeded)
    system, jobs, _ = scenario_file.build()
    of = scenario_file.scenario
    result = simulated(of, system, jobs, of.policies[0])
    return asdict(time_parts(result, gpus_in_order(system, of)))


def played(
    runs: Sequence[tuple[str, Settings]], seeds: Sequence[int], kept: Path
) -> list[list[Parts]]:
    """Plays each run on each seed; `kept` holds the parts of those that are finished."""
    each = [
        {"scenario": scenario, "settings": settings, "seed": seed}
        for scenario, settings in runs
        for seed in seeds
    ]
    files = [EXAMPLES / name for name in dict.fromkeys(scenario for scenario, _ in runs)]
    found = play_sweep(Sweep(play, each, inputs=files), local_processes(), checkpoint=kept).results
    return [found[at : at + len(seeds)] for at in range(0, len(found), len(seeds))]


def every(interarrival: float) -> Settings:
    """Sets the mean seconds between two arrivals of jobs."""
    return {"jobs.generate.mean_interarrival": f"{interarrival:g} s"}


def curve(folder: Path) -> list[dict[str, object]]:
    """Plays the server's day at each load under each stack."""
    runs = [
        (SERVER, {**chosen, **every(interarrival)})
        for interarrival in INTERARRIVALS
        for chosen in STACKS.values()
    ]
    found = iter(played(runs, SEEDS, folder / "curve.jsonl"))
    return [
        {"mean_interarrival": interarrival, "runs": {name: next(found) for name in STACKS}}
        for interarrival in INTERARRIVALS
    ]


def training(folder: Path) -> list[dict[str, object]]:
    """Plays days of one network each, trained as `linkwright train` says, at each load."""
    days: list[Settings] = [{"jobs.generate.train": [network]} for network in NETWORKS]
    probes = [(SERVER, {**STACKS["2018"], **day, **every(180)}) for day in days]
    first = played(probes, TRAINING_SEEDS[:1], folder / "training-probes.jsonl")
    listed = []
    for network, day, [probe] in zip(NETWORKS, days, first, strict=True):
        for load in TRAINING_LOADS:
            interarrival = round(180 * probe["load"] / load, 1)
            runs = [(SERVER, {**STACKS[name], **day, **every(interarrival)}) for name in STACKS]
            found = played(runs, TRAINING_SEEDS, folder / f"training-{network}-{load}.jsonl")
            listed.append(
                {
                    "network": network,
                    "about_load": load,
                    "mean_interarrival": interarrival,
                    "runs": dict(zip(STACKS, found, strict=True)),
                }
            )
    return listed


def cluster(folder: Path) -> dict[str, list[Parts]]:
    """Plays the cluster's day as clusters are run and otherwise, and under its default stack."""
    choices: dict[str, Settings] = {
        PAPERS: {},
        "first-fit": {"allocation.servers": "first-fit"},
        "pack": {"allocation.servers": "pack"},
        "default": {**STACKS["2018"], "system.network.nic": "fcfs"},
    }
    runs = [(CLUSTER, chosen) for chosen in choices.values()]
    found = played(runs, CLUSTER_SEEDS, folder / "cluster.jsonl")
    return dict(zip(choices, found, strict=True))


def saving(runs: Mapping[str, Sequence[Parts]], over: str, part: str) -> Estimate:
    """Gives the share of a part under another stack that the papers' choices save."""
    less = part != "throughput"
    both = zip(runs[over], runs[PAPERS], strict=True)
    known = estimate([share_saved(before[part], after[part], less) for before, after in both])
    assert known is not None
    return known


def mean(runs: Sequence[Parts], part: str) -> float:
    """Gives the mean of a part over seeds."""
    return sum(each[part] for each in runs) / len(runs)


# The mean seconds between two arrivals in the example as written.
AS_WRITTEN = 180


def answer(stored: Mapping[str, Any]) -> str:
    """Writes the first paragraph of the guide: how much of the saved time is waiting."""
    [runs] = [it["runs"] for it in stored["curve"] if it["mean_interarrival"] == AS_WRITTEN]
    less = {
        part: mean(runs["2018"], part) - mean(runs[PAPERS], part) for part in ("wait", "job_time")
    }

    def gain(over: str, part: str) -> str:
        return f"{100 * saving(runs, over, part).mean:.1f} %"

    return (
        f"On a server at load {mean(runs['2018'], 'load'):.2f} jobs end "
        f"{gain('2018', 'job_time')} sooner under three papers' choices than under the stack of "
        f"2018. Of that, {100 * less['wait'] / less['job_time']:.0f} % is less waiting: the "
        "queue of an almost full server magnifies small gains. The jobs themselves run "
        f"{gain('2018', 'run_time')} shorter, and the server ends {gain('2018', 'throughput')} "
        f"more jobs per hour. Against NCCL 2.18 jobs end {gain('nccl-2.18', 'job_time')} sooner "
        f"and run {gain('nccl-2.18', 'run_time')} shorter. Against MAPA's `preserve` with "
        f"NCCL 2.18 the figures are {gain('preserve-nccl-2.18', 'job_time')} and "
        f"{gain('preserve-nccl-2.18', 'run_time')}."
    )


def curve_table(stored: Mapping[str, Any]) -> str:
    """Writes a row for each load, with the parts and their savings."""
    heads = [
        *("load", "wait, h", "run, h", "job time, h", "job time, %", "run, %", "jobs per h, %"),
        *("2.18: job time, %", "2.18: run, %"),
    ]
    rows = []
    for point in stored["curve"]:
        runs = point["runs"]
        cells = [f"{mean(runs['2018'], 'load'):.2f}"]
        for part in ("wait", "run_time", "job_time"):
            before, after = (mean(runs[name], part) / 3600 for name in ("2018", PAPERS))
            cells.append(f"{before:.3f}, {after:.3f}")
        cells += [told(saving(runs, "2018", it)) for it in ("job_time", "run_time", "throughput")]
        cells += [told(saving(runs, "nccl-2.18", it)) for it in ("job_time", "run_time")]
        rows.append(cells)
    return table(heads, rows)


def training_table(stored: Mapping[str, Any]) -> str:
    """Writes a row for each network and load, with the savings over two stacks."""
    heads = [
        *("network", "load", "2018: job time, %", "2018: run, %"),
        *("2.18: job time, %", "2.18: run, %"),
    ]
    rows = []
    for day in sorted(stored["training"], key=lambda it: -it["about_load"]):
        runs = day["runs"]
        cells = [day["network"], f"{mean(runs['2018'], 'load'):.2f}"]
        cells += [
            told(saving(runs, over, part))
            for over in ("2018", "nccl-2.18")
            for part in ("job_time", "run_time")
        ]
        rows.append(cells)
    return table(heads, rows)


def cluster_table(stored: Mapping[str, Any]) -> str:
    """Writes a row for each choice on the cluster, with the parts."""
    names = {
        PAPERS: "papers, as clusters are run",
        "first-fit": "papers, first server with room",
        "pack": "papers, packed into servers",
    }
    rows = []
    for name, runs in stored["cluster"].items():
        cells = [names.get(name, "default stack")]
        cells += [f"{mean(runs, part):.0f}" for part in ("wait", "run_time", "job_time")]
        cells += [f"{mean(runs, 'gpu_seconds'):,.0f}", f"{mean(runs, 'load'):.2f}"]
        rows.append(cells)
    return table(["choices", "wait, s", "run, s", "job time, s", "GPU-s", "load"], rows)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Makes a table in Markdown, numbers to the right."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def told(known: Estimate) -> str:
    """Tells a share in percent with its interval."""
    return f"{100 * known.mean:.1f} ({known.interval})"


END = "<!-- end -->"
BLOCKS = {
    "answer": answer,
    "curve": curve_table,
    "training": training_table,
    "cluster": cluster_table,
}


def with_blocks(text: str, stored: Mapping[str, Any]) -> str:
    """Writes anew the text between each pair of marks in a page."""
    for name, block in BLOCKS.items():
        before, begin, rest = text.partition(f"<!-- load curve: {name} -->\n")
        _, end, after = rest.partition(END)
        assert begin, f"the guide has no place for {name}"
        assert end, f"the block {name} of the guide has no end"
        # Markdown takes what follows a mark at once for a part of it.
        text = f"{before}{begin}\n{block(stored)}\n\n{end}{after}"
    return text


PLAYED = {"curve": curve, "training": training, "cluster": cluster}


def main() -> None:
    """Plays, stores and writes."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    known = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    stored = {
        "scenarios": {name: sha256((EXAMPLES / name).read_bytes()) for name in (SERVER, CLUSTER)},
        "seeds": {"curve": SEEDS, "training": TRAINING_SEEDS, "cluster": CLUSTER_SEEDS},
        "stacks": STACKS,
    }
    for part, play_part in PLAYED.items():
        is_asked = part in sys.argv[2:] or len(sys.argv) == 2
        stored[part] = play_part(folder) if is_asked else known[part]
    STORED.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    page = with_blocks(GUIDE.read_text(encoding="utf-8"), json.loads(STORED.read_text("utf-8")))
    GUIDE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
