"""Checks what changed since the last quick run: `make quick`, in under a minute on a warm tree.

It formats nothing and installs nothing. Of Rust it asks rustfmt, clippy and the unit tests of each
crate with a changed file. Of Python it asks ruff and mypy, whose caches are
warm. Each line tells the step's wall time and its processor time. `make test` checks the rest.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Its time is when the last run that passed began. `make clean` removes it.
STAMP = ROOT / "target" / "quick"
BIN = Path(sys.executable).parent
PYTHON = ("python", "examples", "scripts")
# The unit tests of these crates play whole collectives, systems or GPUs: together they take minutes
# without optimisation. Of these only the tests of the changed modules run, to a limit of time.
LONG = frozenset(
    {
        "linkwright",
        "linkwright-collectives",
        "linkwright-memory",
        "linkwright-system",
        "linkwright-training",
    }
)
# In seconds of wall time.
LIMIT = 20.0


@dataclass(frozen=True)
class Step:
    """One command of the run, under the name that is printed."""

    name: str
    command: Sequence[str]
    # It is stopped then, and has passed if nothing failed so far.
    limit: float | None = None


def changed(stamp: Path = STAMP, root: Path = ROOT) -> list[str]:
    """Finds the files that changed since the last run that passed, relative to the root.

    Without such a run they are the files that differ from the last commit.
    """
    if not stamp.exists():
        status = _git(root, "status", "--porcelain", "--no-renames", "--untracked-files=all", "-z")
        return sorted(entry[3:] for entry in status if entry)
    listed = _git(root, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    since = stamp.stat().st_mtime
    return sorted(name for name in set(listed) if name and _modified(root / name) > since)


def _git(root: Path, *arguments: str) -> list[str]:
    found = subprocess.run(
        ["git", *arguments], cwd=root, check=True, capture_output=True, text=True
    )
    return found.stdout.split("\0")


def _modified(path: Path) -> float:
    """When a file was last written; a file that is gone counts as written now."""
    return path.stat().st_mtime if path.exists() else time.time()


def crates_of(files: Sequence[str]) -> dict[str, list[str]]:
    """Groups files by package, and gives the modules of each package that they belong to."""
    found: dict[str, set[str]] = {}
    for file in files:
        parts = Path(file).parts
        if len(parts) > 2 and parts[0] == "crates":
            modules = found.setdefault(parts[1], set())
            if parts[2] == "src":
                modules.add(module_of(parts[3:]))
    return {crate: sorted(modules) for crate, modules in sorted(found.items())}


def module_of(parts: Sequence[str]) -> str:
    """Gives the path of the module that holds a file's tests, as the names of tests begin.

    A table belongs to the module of its folder.
    """
    file = Path(parts[-1])
    names = [*parts[:-1], *([file.stem] if file.suffix == ".rs" else [])]
    while names and names[-1] in {"lib", "mod", "tests"}:
        names.pop()
    return "::".join(names)


def filters(modules: Sequence[str]) -> list[str]:
    """Gives the first parts of names of tests: those of modules, and of the tests beside them."""
    beside = {f"{module.rpartition('::')[0]}::tests" for module in modules if "::" in module}
    return sorted({*modules, *beside} - {""})


def rust_steps(crates: dict[str, list[str]]) -> list[Step]:
    """Lists the steps of Rust in the order in which they run."""
    steps = []
    for crate, modules in crates.items():
        package = ["--package", crate, "--locked"]
        form = ["cargo", "fmt", "--package", crate, "--check"]
        steps.append(Step(f"rustfmt {crate}", form))
        lint = ["cargo", "clippy", *package, "--all-targets", "--", "-D", "warnings"]
        steps.append(Step(f"clippy {crate}", lint))
        tests = ["cargo", "test", *package, "--lib", "--quiet"]
        if crate not in LONG:
            steps.append(Step(f"tests {crate}", tests))
        elif only := filters(modules):
            steps.append(Step(f"build {crate}", [*tests, "--no-run"]))
            steps.append(Step(f"tests {crate}", [*tests, "--", *only], LIMIT))
    return steps


def python_steps() -> list[Step]:
    """Lists the steps of Python in the order in which they run."""
    return [
        Step("ruff format", [str(BIN / "ruff"), "format", "--check", *PYTHON]),
        Step("ruff check", [str(BIN / "ruff"), "check", *PYTHON]),
        Step("mypy", [str(BIN / "mypy")]),
    ]


def run(steps: Sequence[Step]) -> bool:
    """Runs steps one after another to the first that fails; tells whether all passed."""
    return all(passes(step) for step in steps)


def passes(step: Step) -> bool:
    """Runs a step and prints its times; prints what it said where it failed."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        # A step with a limit has a group of its own, so that the tests end with cargo.
        process = subprocess.Popen(
            step.command,
            cwd=ROOT,
            stdout=said,
            stderr=subprocess.STDOUT,
            process_group=None if step.limit is None else 0,
        )
        stopped = threading.Event()
        stop = threading.Timer(step.limit or math.inf, _stop, (process.pid, stopped))
        if step.limit is not None:
            stop.start()
        _, status, used = os.wait4(process.pid, 0)
        stop.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        wall, processor = time.monotonic() - began, used.ru_utime + used.ru_stime
        said.seek(0)
        text = said.read()
        cut = stopped.is_set() and "FAILED" not in text and "panicked" not in text
        passed = cut or process.returncode == 0
        word = "stopped: the rest is for make test" if cut else "ok" if passed else "FAILED"
        line = f"{step.name:<32} {wall:6.1f} s {processor:6.1f} s CPU  {word}"
        print(line if passed else f"{line}\n{text}", flush=True)
    return passed


def _stop(process: int, stopped: threading.Event) -> None:
    stopped.set()
    os.killpg(process, signal.SIGTERM)


def main() -> int:
    """Checks what changed; 0 where everything passes."""
    began = time.time()
    crates = crates_of(changed())
    print(f"Changed crates: {', '.join(crates) or 'none'}.")
    with ThreadPoolExecutor() as both:
        results = list(both.map(run, [rust_steps(crates), python_steps()]))
    if not all(results):
        return 1
    STAMP.parent.mkdir(exist_ok=True)
    STAMP.touch()
    os.utime(STAMP, (began, began))
    return 0


if __name__ == "__main__":
    sys.exit(main())
