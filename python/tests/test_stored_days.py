"""What choices are worth on the examples' days: texts say what is stored, and the model plays it.

All seeds take minutes. One of them is played here, and must come to what is stored to twelve
digits; the texts must be the means of what is stored.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from linkwright.files import sha256
from linkwright.runs.scenarios import read_scenario_file
from linkwright.runs.server.play import simulated
from linkwright.summaries.intervals import Estimate, estimate
from linkwright.summaries.over_seeds import OverSeeds
from linkwright.summaries.policies import job_rows

ROOT = Path(__file__).resolve().parents[2]
SERVER, CLUSTER = "shared-server", "shared-cluster"
SECONDS_PER_HOUR = 3600


@cache
def stored(name: str) -> dict[str, Any]:
    path = ROOT / "docs" / "guide" / "data" / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def over_seeds(name: str) -> OverSeeds:
    day = stored(name)
    return OverSeeds(
        found=day["runs"],
        seeds=day["seeds"],
        reference=day["reference"],
        together=day["together"],
        choices=day["choices"],
    )


@pytest.mark.parametrize("name", [SERVER, CLUSTER])
def test_what_is_stored_is_of_the_example_as_it_is(name: str) -> None:
    path = ROOT / "examples" / f"{name}.toml"
    day = stored(name)
    assert day["sha256"] == sha256(path.read_bytes())
    loaded = read_scenario_file(path)
    assert day["seeds"] == [*range(1, 21)]
    listed = loaded.scenario.comparison(reference="default", seeds=20)["variants"]
    choices = {each["name"]: each["choice"] for each in listed if each["choice"]}
    assert day["choices"] == choices
    assert list(day["runs"]) == ["as-written", *choices, "default"]
    assert all(len(runs) == 20 for runs in day["runs"].values())


def came_to(name: str, variant: str, seed: int, jobs: int | None = None) -> dict[str, float]:
    """What is stored of a run, played anew."""
    settings: dict[str, object] = {"seed": seed, "jobs.generate.seed": seed}
    if jobs is not None:
        settings["jobs.generate.count"] = jobs
    path = ROOT / "examples" / f"{name}.toml"
    loaded = read_scenario_file(path, settings).variant(variant)
    system, listed, _ = loaded.build()
    result = simulated(loaded.scenario, system, listed, loaded.scenario.policies[0])
    rows = job_rows(result)
    return {
        "job_time": sum(row["finish"] - row["arrival"] for row in rows) / len(rows),
        "wait": sum(row["wait"] for row in rows) / len(rows),
        "makespan": result.makespan,
    }


# On eight servers a whole day of plans takes long: only that without is played in full.
@pytest.mark.parametrize(
    ("name", "variant", "seed"),
    [(SERVER, "as-written", 2), (SERVER, "default", 2), (CLUSTER, "default", 7)],
)
def test_the_model_plays_a_seed_that_is_stored(name: str, variant: str, seed: int) -> None:
    day = stored(name)
    kept = day["runs"][variant][day["seeds"].index(seed)]
    assert came_to(name, variant, seed) == pytest.approx(kept, rel=1e-12)


@pytest.mark.parametrize("name", [SERVER, CLUSTER])
@pytest.mark.parametrize("variant", ["as-written", "default"])
def test_the_model_plays_the_first_jobs_that_are_stored(name: str, variant: str) -> None:
    day = stored(name)
    played = came_to(name, variant, day["seeds"][0], day["first_jobs_count"])
    assert played == pytest.approx(day["first_jobs"][variant], rel=1e-12)


def told(known: Estimate | None) -> str:
    """A gain as the table of `docs/studies/index.md` has it."""
    assert known is not None
    return f"{100 * known.mean:.1f} % ({known.interval} %)"


def test_the_studies_in_brief_say_what_is_stored() -> None:
    text = (ROOT / "docs" / "studies" / "index.md").read_text("utf-8")
    brief = " ".join(text.split())
    for name, row in ((SERVER, "| one DGX-1V"), (CLUSTER, "| 8 DGX-1Vs in a fat-tree")):
        worth = over_seeds(name)
        gains = [told(worth.gain(worth.together, of)) for of in ("job_time", "makespan")]
        [line] = [line for line in text.splitlines() if line.startswith(row)]
        assert [cell.strip() for cell in line.strip("|").split("|")][1:] == gains
    server, cluster = over_seeds(SERVER), over_seeds(CLUSTER)

    def alone_gains(choice: str) -> float:
        [name] = [name for name, key in server.choices.items() if key == choice]
        known = server.gain(name, "job_time")
        assert known is not None
        return 100 * known.mean

    def hours(choice: str) -> float:
        names = [name for name, key in cluster.choices.items() if key == choice]
        known = estimate(cluster.values(names[0] if names else cluster.reference, "job_time"))
        assert known is not None
        return known.mean / SECONDS_PER_HOUR

    trees, gpus = alone_gains("collectives.planner"), alone_gains("allocation.policies")
    assert f"trees alone save {trees:.1f} %, and GPUs alone {gpus:.1f} %" in brief
    trees_alone, default = hours("collectives.planner"), hours("")
    found = f"trees alone bring the mean time of jobs from {default:.2f} to {trees_alone:.2f} h"
    assert found in brief
