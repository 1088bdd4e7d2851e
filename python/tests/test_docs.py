"""Every example and every command that the documentation shows does what it shows.

- `examples/x.py` prints exactly `examples/x.out`.
- In a console block, `$ linkwright ...` succeeds, and the lines below it are its output. A line
  `...` stands for any number of lines. A block that shows a failing command ends it with `# fails`.
  All blocks of a page run in order beside one copy of `examples/`, or within the folder that a
  `$ cd FOLDER` of the page names.
- In a ```python block that has `>>>`, the session is a doctest.
- A ```toml block is a machine, a GPU model, a package or a scenario, a ```csv block a job file;
  on the page of file formats a ```text block is an edge list and a ```json block a server's
  state. Its tables of columns are those of the tables.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import math
import re
import runpy
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow
import pytest
from typer.testing import CliRunner

from linkwright import Allocator, Pattern, System, train
from linkwright.cli import runs
from linkwright.cli.commands import app
from linkwright.gpu import Floorplan, GpuModel
from linkwright.network import ClusterJob, ClusterRun, Fabric, Program, system_files
from linkwright.scenario import (
    Scenario,
    SimulationResult,
    Table,
    generate_jobs,
    jobs_from_text,
    play_jobs,
    workloads,
)
from linkwright.systems import is_network
from linkwright.training import NeuralNetwork

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
FAILS = "# fails"
FORMATS = ROOT / "docs" / "reference" / "formats.md"
FABRICS = ROOT / "docs" / "reference" / "fabrics.md"
COLUMN = re.compile(r"^\| `(\w+)` \| ([\w/]*) ?\|", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """Holds one fenced block of a page."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """One shown command and what the page says that it prints."""

    words: list[str]
    fails: bool
    output: list[str]
    line: int


def blocks(page: Path) -> Iterator[Block]:
    """Yields the fenced blocks of a page, with the line of their first content line."""
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        yield Block(match[1], match[2], line)


def folder_of(page: Path) -> str:
    """Gives the folder that a page's `$ cd` goes to before all else; `.` where it has none."""
    consoles = [block.text for block in blocks(page) if block.language == "console"]
    folders = re.findall(r"^\$ cd (\S+)$", "\n".join(consoles), re.MULTILINE)
    assert len(folders) < 2, f"{named(page)} goes to several folders: {folders}"
    return folders[0] if folders else "."


@contextlib.contextmanager
def within(folder: Path) -> Iterator[None]:
    """Runs in a folder, whose modules can be imported, and forgets those modules afterwards."""
    paths, modules = list(sys.path), set(sys.modules)
    with contextlib.chdir(folder):
        sys.path.insert(0, str(folder))
        try:
            yield
        finally:
            sys.path[:] = paths
            for name in set(sys.modules) - modules:
                file = getattr(sys.modules[name], "__file__", None)
                if file is not None and Path(file).is_relative_to(folder):
                    del sys.modules[name]


def commands(block: Block) -> list[Command]:
    """Returns the `$ linkwright` commands of a console block, each with the lines below it."""
    found: list[Command] = []
    ours = False
    for number, line in enumerate(block.text.splitlines(), block.line):
        if line.startswith("$ "):
            fails = line.endswith(FAILS)
            words = shlex.split(line.removesuffix(FAILS)[2:])
            ours = words[0] == "linkwright"
            if ours:
                found.append(Command(words[1:], fails, [], number))
        elif ours:
            found[-1].output.append(line)
    return found


def matches(shown: list[str], printed: list[str]) -> bool:
    """Whether the shown lines are the printed ones, `...` standing for any lines."""
    pattern = "".join(
        r"(?:.*\n)*" if line.strip() == "..." else re.escape(line.rstrip()) + r"\n"
        for line in shown
    )
    text = "".join(line.rstrip() + "\n" for line in printed)
    return re.fullmatch(pattern, text) is not None


def named(path: Path) -> str:
    """Names a file for the test report."""
    return path.relative_to(ROOT).as_posix()


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes a copy of the examples beside which commands run, wide enough for every table."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    # No page shows how long a slow machine takes.
    monkeypatch.setattr(runs, "LONG", math.inf)
    return tmp_path


@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_an_example_prints_what_lies_beside_it(
    example: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = workplace / "examples" / example.name
    # Run without arguments, not with those of the tests.
    monkeypatch.setattr(sys, "argv", [str(script)])
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(script), run_name="__main__")
    assert printed.getvalue() == example.with_suffix(".out").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_page_s_commands_print_what_it_shows(page: Path, workplace: Path) -> None:
    shown = [c for block in blocks(page) if block.language == "console" for c in commands(block)]
    folder = workplace / folder_of(page)
    for command in shown:
        place = f"{named(page)}:{command.line}: linkwright {shlex.join(command.words)}"
        with within(folder):
            result = CliRunner().invoke(app, command.words, prog_name="linkwright")
        failed = result.exit_code != 0
        assert failed == command.fails, f"{place}: exit {result.exit_code}\n{result.output}"
        if command.output:
            printed = result.output.splitlines()
            difference = "\n".join(["shown:", *command.output, "printed:", *printed])
            assert matches(command.output, printed), f"{place}\n{difference}"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_page_s_sessions_are_true(page: Path, workplace: Path) -> None:
    folder = workplace / folder_of(page)
    names: dict[str, object] = {}
    for block in blocks(page):
        if block.language != "python" or ">>>" not in block.text:
            continue
        parser = doctest.DocTestParser()
        session = parser.get_doctest(block.text, names, named(page), str(page), block.line - 1)
        report = io.StringIO()
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        with within(folder):
            runner.run(session, out=report.write, clear_globs=False)
        names.update(session.globs)
        assert runner.summarize(verbose=False).failed == 0, report.getvalue()


def read_toml(text: str) -> object:
    """Reads a machine, or what else there is: GPUs, packages, networks, routes, scenarios."""
    if "pci_ids" in text:
        return GpuModel.from_text(text)
    if text.startswith("[caches]"):
        return System("hgx-h100").with_gpus(sections=text)
    if text.startswith("# Between opposite switches"):
        ring = (ROOT / "examples" / "fabrics" / "ring.dot").read_text("utf-8")
        files = {"ring.dot": ring.encode(), "routes": text.encode()}
        return System(network={"file": "ring.dot", "routing_table": "routes"}, files=files)
    if "[[layer]]" in text:
        return Floorplan.from_text(text)
    if "\nlayers = [" in text:
        return NeuralNetwork.from_text(text)
    if is_network(text):
        return Fabric.from_text(text)
    if "[[system.server]]" in text and "[job" not in text:
        beside = {name: System("dgx1-v100").to_toml().encode() for name in system_files(text)}
        return System.from_text(text, files=beside)
    return System.from_text(text) if "[[device]]" in text else Scenario.from_text(text)


def restore(text: str) -> object:
    """Reads the state of a preset, or of several servers of one."""
    saved = json.loads(text)
    servers = saved.get("servers", {"0": saved})
    machine = System(servers["0"]["machine"])
    if "servers" in saved:
        machine = System(machine, len(servers), network="fat-tree")
    return Allocator(machine, state=text)


READERS: dict[str, Callable[[str], object]] = {
    "toml": read_toml,
    "csv": jobs_from_text,
    "goal": Program.from_goal,
    "dot": Fabric.from_text,
}


def read_plain(text: str) -> object:
    """Reads an edge list, a network, or measured layers."""
    if "\nlayers = [" in text:
        return NeuralNetwork.from_text(text)
    if "layer,samples,forward" in text:
        return train("alexnet", "dgx1-v100", gpus=1, batch=32, measured=text)
    return Pattern.from_edge_list(text)


FORMAT_READERS = READERS | {"text": read_plain, "json": restore}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_page_s_files_are_read(page: Path) -> None:
    readers = FORMAT_READERS if page == FORMATS else READERS
    for block in blocks(page):
        if block.language in readers:
            with within(ROOT / folder_of(page)):
                readers[block.language](block.text)


def test_each_format_has_an_example() -> None:
    shown = {block.language for page in (FORMATS, FABRICS) for block in blocks(page)}
    assert shown - {"console", "python"} == set(FORMAT_READERS)


def a_result() -> Table:
    """Returns the table of a run."""
    return play_jobs(System("dgx1-v100"), generate_jobs(count=3)).jobs()


def a_split_result() -> SimulationResult:
    """A run whose jobs were played alone, too."""
    return play_jobs(System("dgx1-v100"), generate_jobs(count=3), attribute=True)


def known(table: Table | None) -> Table:
    """A table that was asked for."""
    assert table is not None
    return table


def a_cluster_run() -> ClusterRun:
    system = System(network={"kind": "fat-tree", "radix": 4, "pods": 2})
    return system.play([ClusterJob(Program.skeleton("laghos", 8))])


@pytest.mark.parametrize(
    ("heading", "make"),
    [
        ("One row per job", a_result),
        ("One row per job of a cluster", lambda: a_cluster_run().jobs()),
        ("One row per rank of a cluster", lambda: a_cluster_run().ranks()),
        ("One row per channel of a cluster", lambda: a_cluster_run().links()),
        ("One row per device that passes on data", lambda: a_cluster_run().device_loads()),
        ("One row per channel and span of time", lambda: a_cluster_run().link_times()),
        ("One row per job that was slowed", lambda: known(a_split_result().attribution())),
        ("One row per job and neighbour", lambda: known(a_split_result().neighbours())),
        ("One row per class of messages", lambda: a_cluster_run().latencies()),
        ("One row per device", System("dgx1-v100").devices),
        ("One row per bundle of links", System("dgx1-v100").links),
        ("One row per workload", workloads),
        ("Operations of a rank", lambda: Program.skeleton("stencil4d", 16).operations_of(0)),
    ],
)
def test_the_columns_are_those_of_the_page(heading: str, make: Callable[[], Table]) -> None:
    section = FORMATS.read_text(encoding="utf-8").split(f"### {heading}\n")[1].split("\n#")[0]
    shown = [(name, unit.strip()) for name, unit in COLUMN.findall(section)]
    fields = pyarrow.table(make()).schema
    assert shown == [(field.name, (field.metadata or {})[b"unit"].decode()) for field in fields]


def test_dots_stand_for_any_lines() -> None:
    assert matches(["a", "...", "d"], ["a", "b", "c", "d"])
    assert matches(["a", "..."], ["a"])
    assert not matches(["a", "d"], ["a", "b", "d"])


def test_every_example_output_has_its_script() -> None:
    outputs = (ROOT / "examples").glob("*.out")
    orphans = [path.name for path in outputs if not path.with_suffix(".py").exists()]
    assert orphans == []


def test_cuda_s_order_is_named_wherever_its_ids_are() -> None:
    for page in (ROOT / "README.md", ROOT / "docs" / "guide" / "allocation.md"):
        assert "CUDA_DEVICE_ORDER=PCI_BUS_ID" in page.read_text(encoding="utf-8")
