"""`scripts/quick.py` finds the crates and modules of files that changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import quick

ROOT = Path(__file__).resolve().parents[2]


def repository(folder: Path) -> Path:
    """A repository with one file that is committed."""
    for command in (
        ["init", "--quiet"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "One"],
    ):
        if command[0] == "add":
            (folder / "kept.rs").write_text("// kept\n", encoding="utf-8")
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def test_without_a_run_before_what_differs_from_the_commit_has_changed(tmp_path: Path) -> None:
    root = repository(tmp_path)
    (root / "new.rs").write_text("// new\n", encoding="utf-8")
    assert quick.changed(root / "none", root) == ["new.rs"]


def test_after_a_run_what_was_written_since_has_changed(tmp_path: Path) -> None:
    root = repository(tmp_path)
    stamp = root / ".git" / "quick"
    stamp.touch()
    os.utime(root / "kept.rs", (0, 0))
    assert quick.changed(stamp, root) == []
    os.utime(stamp, (0, 0))
    os.utime(root / "kept.rs", (1, 1))
    assert quick.changed(stamp, root) == ["kept.rs"]


def test_a_file_gives_its_crate_and_its_module() -> None:
    files = [
        "crates/linkwright-ground/src/engine/queue/buckets.rs",
        "crates/linkwright-ground/src/engine/run/tests.rs",
        "crates/linkwright-system/src/system/presets/hgx-h100.toml",
        "crates/linkwright/tests/it/layers.rs",
        "docs/index.md",
    ]
    assert quick.crates_of(files) == {
        "linkwright": [],
        "linkwright-ground": ["engine::queue::buckets", "engine::run"],
        "linkwright-system": ["system::presets"],
    }


def test_a_long_crate_runs_the_tests_of_changed_modules_and_beside_them() -> None:
    crates = {"linkwright-collectives": ["collectives::schedule::time"], "linkwright-graph": ["x"]}
    commands = {step.name: list(step.command) for step in quick.rust_steps(crates)}
    assert commands["tests linkwright-graph"][-1] == "--quiet"
    long = commands["tests linkwright-collectives"]
    assert long[long.index("--") + 1 :] == [
        "collectives::schedule::tests",
        "collectives::schedule::time",
    ]


def test_a_step_is_stopped_at_its_limit_and_fails_only_by_what_failed() -> None:
    slow = "import time; print('test a ... {}', flush=True); time.sleep(60)"
    for word, passed in (("ok", True), ("FAILED", False)):
        step = quick.Step("slow", [sys.executable, "-c", slow.format(word)], limit=1.0)
        assert quick.passes(step) is passed


def test_a_long_crate_of_which_only_other_files_changed_is_linted_alone() -> None:
    steps = quick.rust_steps({"linkwright": []})
    assert [step.name for step in steps] == ["rustfmt linkwright", "clippy linkwright"]


def test_every_long_crate_is_there() -> None:
    assert all((ROOT / "crates" / crate).is_dir() for crate in quick.LONG)
