"""Writes `docs/guide/data/`: what the days of `examples/` come to on every seed.

`docs/studies/index.md` and the guide say what choices are worth on them. All seeds take minutes, so
that tests play one and compare it with what is stored here. The texts must be its means.

    scripts/store_days.py FOLDER

FOLDER keeps every finished run, so that a script that was stopped goes on. Where the model has
moved, name another.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from linkwright import compare
from linkwright.scenario import Worth
from linkwright.files import sha256
from linkwright.runs.worth.play import play_seed

ROOT = Path(__file__).resolve().parents[1]
DAYS = ("shared-server", "shared-cluster")
STORED = ROOT / "docs" / "guide" / "data"
# What the texts speak of, in seconds.
MEASURES = ("job_time", "wait", "makespan")
# So many jobs of the first seed, which a test plays under all choices together: on several servers
# a whole day of plans takes it too long.
FEW_JOBS = 16


def first_jobs(path: Path, variant: str, seed: int) -> dict[str, float]:
    """What the first jobs of a seed come to under a variant."""
    found = play_seed(str(path), variant, {"jobs.generate.count": FEW_JOBS}, seed, 0)
    return {measure: found[measure] for measure in MEASURES}


def stored(name: str, checkpoints: Path) -> dict[str, object]:
    """What a day comes to, under every variant, on every seed."""
    path = ROOT / "examples" / f"{name}.toml"
    found = compare(path, checkpoint=checkpoints / f"{name}.jsonl")
    assert isinstance(found, Worth)
    return {
        "scenario": path.name,
        "sha256": sha256(path.read_bytes()),
        "reference": found.reference,
        "together": found.together,
        "choices": dict(found.choices),
        "seeds": list(found.seeds),
        "runs": {
            variant: [{measure: each[measure] for measure in MEASURES} for each in of_seeds]
            for variant, of_seeds in found.found.items()
        },
        "first_jobs": {
            variant: first_jobs(path, variant, found.seeds[0])
            for variant in (found.together, found.reference)
        },
        "first_jobs_count": FEW_JOBS,
    }


def main() -> None:
    """Writes a file for each day."""
    checkpoints = Path(sys.argv[1])
    checkpoints.mkdir(parents=True, exist_ok=True)
    STORED.mkdir(exist_ok=True)
    for name in DAYS:
        text = json.dumps(stored(name, checkpoints), indent=1, ensure_ascii=False)
        (STORED / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
