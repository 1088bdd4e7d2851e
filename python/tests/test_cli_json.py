"""Tests every command's output with `--json`: an object or a list of objects, no more."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from commands import bridged, linkwright, write_scenario
from typer.core import TyperGroup

from linkwright.cli import study as studies
from linkwright.cli.commands import app
from linkwright.studies.study import Study
from linkwright.studies.tables import Section, StudyTable

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "json.md"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PAIR = ["all-reduce", "-m", "dgx1-v100", "--on", "0,3"]
SMALL = [*PAIR, "--size", "64KiB"]
STATE = ["-m", "dgx1-v100", "--state", "state.json"]
# A state of four GPUs, and the machine when one of them was gone.
LEFT = ["-m", "left.toml", "--state", "left.json"]
EXPERTS = EXAMPLES / "collectives" / "experts-8.csv"
TREE = EXAMPLES / "collectives" / "tree-all-reduce-4.xml"

# A command line of each command that prints JSON; a new command needs one here.
CASES: dict[str, list[str]] = {
    "machine list": [],
    "examples": [],
    "machine show": ["dgx2"],
    "machine import": [str(EXAMPLES / "pair.toml")],
    "traffic": ["uniform", "--network", "torus", "--set", "dimensions=[4]", "--load", "0.5"],
    "jobs generate": ["--count", "3"],
    "jobs workloads": [],
    "allocate": ["-m", "dgx1-v100", "-k", "2", "--explain"],
    "fit": ["-m", "dgx1-v100", "--size", "1MiB"],
    "state show": STATE,
    "state release": ["a", *STATE],
    "state reconcile": ["--none", *STATE],
    "state mark-lost": ["2", *LEFT],
    "state mark-unhealthy": ["7", *STATE],
    "state mark-healthy": ["7", *STATE],
    "collective plan": SMALL,
    "collective run": SMALL,
    "collective check": [str(TREE)],
    "collective time": [*PAIR, "-e", "1KiB"],
    "collective compare": [*SMALL, "--algorithm", "packing"],
    "collective expect": [*PAIR, "-e", "1KiB"],
    "collective doctor": [str(EXAMPLES / "logs" / "healthy.log")],
    "collective tune": ["-m", "dgx1-v100", "--on", "0,3"],
    "collective all-to-allv": [str(EXPERTS), "-m", "dgx1-v100", "--without", "mlx5_3"],
    "replay": ["laghos", "--ranks", "4"],
    "run": ["scenario.toml"],
    "compare": ["scenario.toml"],
    "size": [
        str(EXAMPLES / "nodes-to-size.toml"),
        "--vary",
        "system.network.bandwidth_scale=1..2",
        "--prices",
        str(EXAMPLES / "prices.toml"),
    ],
    "train": ["lenet", "--gpus", "2", "--batch", "64", "--communication", "nccl,p2p"],
    "gpu list": [],
    "gpu run": [
        *("relu", "--size", "1024", "--machine", "dgx1-v100", "--gpu", "r9-nano"),
        *("--on", "0,3", "--without", "mlx5_3"),
    ],
    "gpu compare": ["relu", "--memory", "rdma", "--memory", "tsm-wt-c-rc", "--gpus", "1"],
    "gpu litmus": ["spinning", "--memory", "tsm-wt-nc-rc", "--seeds", "3"],
    "thermal": [str(EXAMPLES / "mgpu-tsm-package.toml"), "--set", "cells=8"],
    "study list": [],
    "study mapa": ["--quick"],
    "study blink": ["--quick"],
    "study network": ["--quick"],
    "study pcie": ["--quick"],
    "study memory": ["--quick"],
    "study thermal": ["--quick"],
    "study training": ["--quick"],
}


def leaves() -> Iterator[str]:
    """The words of every command that is no group."""
    waiting: list[tuple[list[str], Any]] = [([], typer.main.get_command(app))]
    while waiting:
        words, command = waiting.pop(0)
        if isinstance(command, TyperGroup):
            waiting += [([*words, name], inner) for name, inner in command.commands.items()]
        else:
            yield " ".join(words)


def a_study(**_: object) -> Study:
    """Makes a small study: the content of the large ones is tested beside them."""
    table = StudyTable("Speed", ("what", "times"), (("a", 1.5), ("b", None)))
    return Study("small", "A small study", ["It is short."], [Section("One", ["Text."], [table])])


@pytest.fixture
def _workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a folder with a scenario and a server's state."""
    monkeypatch.chdir(tmp_path)
    write_scenario(tmp_path)
    assert linkwright("allocate", *STATE, "-k", 2, "--job", "a").exit_code == 0
    left = tmp_path / "left.toml"
    left.write_text(bridged(4), encoding="utf-8")
    assert linkwright("allocate", *LEFT, "-k", 1, "--job", "a").exit_code == 0
    left.write_text(bridged(3), encoding="utf-8")
    show: Callable[..., None] = studies._show
    monkeypatch.setattr(studies, "_show", lambda _run, *rest: show(a_study, *rest))


def test_every_command_has_a_case() -> None:
    assert sorted(CASES) == sorted(leaves())


def test_the_page_knows_what_an_explanation_adds() -> None:
    words = ["-m", "hgx-h100", "-b", "1KiB", "-e", "1KiB", "--explain", "--json"]
    for servers in ([], ["--servers", "2"]):
        ran = linkwright("collective", "expect", "all-reduce", *words, *servers)
        found = json.loads(ran.stdout)
        assert (found["explanation"]["interfaces"] == []) == (servers == [])
        check(found, "", schema("collective expect"))


@pytest.mark.usefixtures("_workplace")
@pytest.mark.parametrize("command", CASES)
def test_json_is_an_object_or_a_list_of_objects(command: str) -> None:
    result = linkwright(*command.split(), *CASES[command], "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    objects = found if isinstance(found, list) else [found]
    assert objects
    assert all(isinstance(each, dict) and each for each in objects)
    check(found, "", schema(command))


def test_the_page_knows_what_a_language_model_gives() -> None:
    words = ["llama-3.2-1b", "-m", "hgx-h100", "--layout", "fsdp=2,tp=2", "--json"]
    found = json.loads(linkwright("train", *words).stdout)
    assert {row["group"] for row in found["groups"]} == {"fsdp", "tp"}
    check(found, "", schema("train of a language model"))


# Four jobs on two servers, and the second server is down for a minute.
FAILING = """
fidelity = "fluid"
[system]
server = "dgx1-v100"
servers = 2
network = "fat-tree"
[jobs.generate]
count = 4
max_gpus = 8
[allocation]
policies = ["baseline", "preserve"]
[[failure]]
part = "node1"
from = "1 s"
to = "1 min"
"""
PRICES = ["--prices", str(EXAMPLES / "prices.toml")]
VARIANTS = """
[system]
network = "fat-tree"
[[job]]
program = "laghos"
ranks = 2
iterations = 1
[compare.slow]
system.network.bandwidth_scale = 0.5
"""

# A section of the page, a command line that prints it, and keys that it adds.
MORE: list[tuple[str, str, list[str], set[str]]] = [
    ("run", "run", ["failing.toml", "--attribute"], {"links", "failures", "attribution"}),
    (
        "compare",
        "compare",
        ["failing.toml", "--attribute", *PRICES],
        {"failures", "attribution", "gains", "hardware"},
    ),
    ("run of programs", "run", ["variants.toml", "--attribute"], {"attribution"}),
    ("compare of programs", "compare", ["variants.toml", *PRICES], {"hardware"}),
    ("train", "train", ["lenet", "--gpus", "2", "--batch", "64", *PRICES], {"hardware"}),
    ("machine show of a network", "machine show", ["fat-tree"], {"levels", "parameters"}),
    (
        "machine show of several servers",
        "machine show",
        ["dgx1-v100", "--servers", "2"],
        {"servers", "fabric", "ports"},
    ),
]


@pytest.mark.usefixtures("_workplace")
@pytest.mark.parametrize(("section", "command", "words", "keys"), MORE, ids=[it[0] for it in MORE])
def test_the_page_knows_what_options_and_files_add(
    section: str, command: str, words: list[str], keys: set[str]
) -> None:
    Path("failing.toml").write_text(FAILING, encoding="utf-8")
    Path("variants.toml").write_text(VARIANTS, encoding="utf-8")
    ran = linkwright(*command.split(), *words, "--json")
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.stdout)
    assert keys <= found.keys()
    same = schema("replay") if section == "run of programs" else {}
    check(found, "", same | schema(section))


TYPES: dict[str, Any] = {
    "boolean": bool,
    "integer": int,
    "list": list,
    "null": type(None),
    "object": dict,
}
TYPES |= {"number": (int, float), "text": str}
# Kinds of objects whose keys are names: of jobs, of algorithms, of labels.
ANY_KEY = "*"


def schema(command: str) -> dict[str, set[str]]:
    """The types of each field, as the page of the documentation says them."""
    part = PAGE.read_text(encoding="utf-8").split(f"## linkwright {command}\n")[1]
    rows = re.findall(r"^\| \(?`([^`]+)`\)? \| ([a-z ]+) \|", part.split("\n## ")[0], re.MULTILINE)
    assert rows
    return {name: set(types.split(" or ")) for name, types in rows}


def optional(command: str) -> set[str]:
    """The fields that may be left out."""
    part = PAGE.read_text(encoding="utf-8").split(f"## linkwright {command}\n")[1]
    return set(re.findall(r"^\| \(`([^`]+)`\)", part.split("\n## ")[0], re.MULTILINE))


def check(value: object, at: str, fields: dict[str, set[str]]) -> None:
    """That a value has the types that the page says, and every object its fields, and no more."""
    if at in fields:
        kinds = [kind for kind in fields[at] if isinstance(value, TYPES[kind])]
        assert kinds, f"{at} is {value!r}, and not {fields[at]}"
        assert not isinstance(value, bool) or "boolean" in kinds, at
    if isinstance(value, list):
        for each in value:
            check(each, f"{at}[]", fields)
    if not isinstance(value, dict):
        is_root = isinstance(value, list) and not at
        assert is_root or at in fields, f"docs/reference/json.md does not know `{at}`"
        return
    below = f"{at}." if at else ""
    for name, inner in value.items():
        path = f"{below}{ANY_KEY if f'{below}{ANY_KEY}' in fields else name}"
        assert path in fields, f"docs/reference/json.md does not know `{path}`"
        check(inner, path, fields)


@pytest.mark.usefixtures("_workplace")
def test_the_page_knows_what_several_servers_add() -> None:
    where = ["-m", "dgx1-v100", "--servers", "3", "--state", "three.json"]
    for command, words in {
        "allocate": ["-k", "10", "--job", "a", "--explain", "--exclusive", *where],
        "state show": where,
        "state mark-unhealthy": ["--server", "2", *where],
        "state mark-healthy": ["--server", "2", *where],
        "state release": ["a", *where],
        "state reconcile": ["--none", *where],
    }.items():
        ran = linkwright(*command.split(), *words, "--json")
        assert ran.exit_code == 0, ran.output
        check(json.loads(ran.stdout), "", schema(command))


@pytest.mark.parametrize("option", ["--measured", "--calibrate"])
def test_the_page_knows_what_a_log_adds(option: str, tmp_path: Path) -> None:
    log = EXAMPLES / "measurements" / "dgx1-v100-gpus-0-3.nccl-tests.txt"
    words = ["-m", "dgx1-v100", "--on", "0,3", option, str(log), "--json"]
    if option == "--calibrate":
        words += ["--output", str(tmp_path / "calibrated.toml")]
    found = json.loads(linkwright("collective", "expect", "all-reduce", *words).stdout)
    assert "log" in found
    check(found, "", schema("collective expect"))


@pytest.mark.usefixtures("_workplace")
@pytest.mark.parametrize("command", CASES)
def test_every_field_that_the_page_promises_is_there(command: str) -> None:
    found = json.loads(linkwright(*command.split(), *CASES[command], "--json").stdout)
    first = found[0] if isinstance(found, list) else found
    start = "[]." if isinstance(found, list) else ""
    promised = {
        name.removeprefix(start)
        for name in schema(command).keys() - optional(command)
        if re.fullmatch(rf"{re.escape(start)}[a-z_]+", name)
    }
    assert promised <= first.keys()
