"""The stub of the extension says what the extension says: `make stub` writes it again.

That names, arguments and defaults are the extension's is what stubtest checks; `make stub-check`
checks that every type is what the source says. Names of choices are `Literal`s.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from mypy import api as mypy

import linkwright
from linkwright import names
from linkwright.scenario import choice_names

STUB = Path(linkwright.__file__).with_name("_core.pyi")
MODULE = ast.parse(STUB.read_text(encoding="utf-8"))
Documented = ast.ClassDef | ast.FunctionDef


def documented(node: ast.Module | ast.ClassDef, owner: Any) -> Iterator[tuple[Documented, Any]]:
    """Each class and function of the stub with what it is of, and that itself."""
    for each in node.body:
        if isinstance(each, Documented) and each.name != "__new__":
            live = getattr(owner, each.name)
            yield each, live
            if isinstance(each, ast.ClassDef):
                yield from documented(each, live)


def test_the_stub_s_documentation_is_the_extension_s() -> None:
    core = sys.modules["linkwright._core"]
    found = list(documented(MODULE, core))
    assert len(found) > 200
    for node, live in found:
        told = ast.get_docstring(node)
        if told is not None and not node.name.startswith("__"):
            assert inspect.getdoc(live) == told, f"{node.name}: run `make stub`"


@pytest.mark.parametrize("kind", choice_names())
def test_the_type_of_a_choice_has_its_names(kind: str) -> None:
    name = "".join(word.title() for word in kind.split("_")) + "Name"
    assert name in names.__all__
    assert list(get_args(getattr(names, name))) == choice_names()[kind]


CALLS = """
from linkwright import Allocator, Pattern, System, plan
from linkwright.collectives import Schedule
from linkwright.network import Fabric, Program
from linkwright.scenario import Job, play_jobs
from linkwright.allocation import policy_names
from linkwright.network import read_fabric

machine = System("dgx1-v100")
{call}
"""
GOOD = """
for policy in policy_names():
    Allocator(machine, policy, ties="nearest", bandwidth_profile="mapa")
jobs = [Job("a", "vgg-16", 2, pattern="ring")]
play_jobs(machine, jobs, "greedy", planner="mpi", run_time="played")
plan(machine, [0, 1], "all-reduce", algorithm="packing", links="nvlink").time(8, protocol="LL")
read_fabric("my-network.toml")
"""
TYPOS = [
    'play_jobs(machine, [], "gredy")',
    'play_jobs(machine, [], discipline="lifo")',
    'play_jobs(machine, [], run_time="plaid")',
    'play_jobs(machine, [], fidelity="flows")',
    'play_jobs(machine, [], planner="packin")',
    'Allocator(machine, "preserved")',
    'Allocator(machine, ties="lowest")',
    'machine.gpu_matrix("data_sheet")',
    'Job("a", "vgg16", 2)',
    'Pattern("rings", 4)',
    'Fabric("fattree")',
    'Program.skeleton("lagos", 8)',
    'System.from_text("", format="nvidia")',
    'plan(machine, [0, 1], "allreduce")',
    'plan(machine, [0, 1], "all-reduce", algorithm="nccl")',
    'plan(machine, [0, 1], "all-reduce", links="nvlinks")',
    'plan(machine, [0, 1], "all-reduce").time(8, protocol="ll")',
]


def test_a_type_checker_refuses_a_typo_and_takes_every_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other packages' types say nothing of the names, and take a quarter of a minute to read.
    monkeypatch.setenv("MYPYPATH", str(STUB.parent.parent))
    alone = ["--config-file=", "--no-site-packages", "--ignore-missing-imports"]
    file = tmp_path / "calls.py"
    file.write_text(CALLS.format(call=GOOD + "\n".join(TYPOS)), encoding="utf-8")
    found, _, _ = mypy.run([*alone, f"--cache-dir={tmp_path / 'cache'}", str(file)])
    lines = file.read_text(encoding="utf-8").splitlines()
    errors = [line for line in found.splitlines() if ": error:" in line]
    wrong = [lines[int(line.split(":")[1]) - 1] for line in errors]
    assert wrong == TYPOS, found
