"""How a command starts: with what it needs and no more, told plainly when it was typed wrongly."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from commands import fails, linkwright, parsed, program, write_scenario
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from typer.core import TyperGroup

import linkwright as package
from linkwright.cli.commands import app
from linkwright.cli.tables import Table, fitted, plain_lines, rich_table
from linkwright.cli.values import SLOT

DECIDE = ["allocate", "--machine", "dgx1-v100", "--gpus", "2"]

# Each takes longer to import than the decision and its answer take.
HEAVY = {"altair", "asyncio", "jinja2", "numpy", "pandas", "pyarrow", "pydantic", "rich"}
UNUSED = {"clusters", "replays", "runs", "studies", "sweeps", "cli.collective", "cli.replay"}


def commands() -> Iterator[tuple[list[str], Any]]:
    """Yields every command and group with the words that name it."""
    waiting: list[tuple[list[str], Any]] = [([], typer.main.get_command(app))]
    while waiting:
        words, command = waiting.pop(0)
        if words:
            yield words, command
        if isinstance(command, TyperGroup):
            waiting += [([*words, name], inner) for name, inner in command.commands.items()]


def printed(code: str) -> str:
    """Returns the output of Python that runs this in a process of its own, into a pipe."""
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    ).stdout


COMMANDS = list(commands())
NAMES = ["-".join(words) for words, _ in COMMANDS]


@pytest.mark.parametrize("more", [[], ["--json"], ["--explain"], ["--quiet"]])
def test_a_decision_imports_only_what_it_needs(more: list[str]) -> None:
    code = (
        "import sys\nfrom linkwright.cli import main\n"
        f"sys.argv[1:] = {[*DECIDE, *more]!r}\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "print('modules', *sys.modules)"
    )
    loaded = set(printed(code).splitlines()[-1].split())
    assert "linkwright.cli.allocate" in loaded
    assert loaded & HEAVY == set()
    assert loaded & {f"linkwright.{name}" for name in UNUSED} == set()


def test_every_name_of_the_package_is_there_and_no_other() -> None:
    code = "from linkwright import *\nprint(*sorted(set(dir())))"
    assert set(package.__all__) <= set(printed(code).split())
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = package.nothing


@pytest.mark.parametrize(("words", "command"), COMMANDS, ids=NAMES)
def test_every_value_is_read_without_pydantic(words: list[str], command: Any) -> None:
    del words
    assert [each.name for each in command.params if getattr(each, SLOT) is None] == []


@pytest.mark.parametrize(("words", "command"), COMMANDS, ids=NAMES)
def test_what_is_typed_wrongly_ends_with_code_two(words: list[str], command: Any) -> None:
    assert "there is no option `--nope`" in fails(2, *words, "--nope")
    for parameter in command.params:
        option = parameter.opts[-1]
        if not option.startswith("-"):
            continue
        if getattr(parameter, "is_flag", False):
            assert "does not take a value" in fails(2, *words, f"{parameter.opts[0]}=1")
        else:
            assert "requires" in fails(2, *words, option)
            kind = parameter.type_descriptor.annotation
            if kind in (int, float):
                assert "`x` is no" in fails(2, *words, option, "x")
                assert "is no" in fails(2, *words, option, "9" * 5000)
    if isinstance(command, TyperGroup):
        assert "there is no command `nope`" in fails(2, *words, "nope")
    elif any(parameter.required for parameter in command.params):
        assert "Missing" in fails(2, *words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--gpus", "abc"], "`abc` is no whole number"),
        (["--gpus", "2.0"], "`2.0` is no whole number"),
        (["--gpus", "0"], "0 is not from 1 to 65,535"),
        (["--gpus", "-1"], "-1 is not from 1 to 65,535"),
        (["--gpus", "0-3"], "`0-3` are ids, and --gpus is how many GPUs"),
        (["--gpus", "0,3"], "--on names the ids to choose from, and --busy those that are taken"),
        (["--gpus", "2", "--busy", "3-0"], "`3-0` runs backwards; write 0-3"),
        (["--gpus", "2", "--busy", "a-3"], "`a-3` is no GPU id; write ids like 0,3 or 0-3"),
        (["--gpus", "2", "--busy", "0-99999999999"], "is no GPU id"),
        (
            ["--bandwidth-model", "foo"],
            "there is no bandwidth model `foo`; use one of sound, published",
        ),
    ],
)
def test_a_wrong_value_is_named_with_what_would_work(words: list[str], said: str) -> None:
    assert said in fails(2, "allocate", "-m", "dgx1-v100", *words)


def test_a_number_that_is_none_is_out_of_every_range() -> None:
    line = fails(2, "replay", "laghos", "--ranks", 8, "--set", "computation_scale=nan")
    assert "`nan` is no number from 0 on" in line


def test_ranges_of_ids_are_taken() -> None:
    plan = ["collective", "plan", "all-reduce", "-m", "dgx1-v100", "--on"]
    assert parsed(*plan, "0-2,5")["gpus"] == [0, 1, 2, 5]
    assert parsed(*DECIDE, "--busy", "0-3,4")["gpus"] == [6, 7]
    said = fails(2, *plan, "4")
    assert "`4` is the id of one GPU" in said
    assert "for 4 GPUs write --gpus 4" in said


def test_gpus_counts_and_on_names_ids_in_every_command() -> None:
    plan = ["collective", "plan", "all-reduce", "-m", "dgx1-v100"]
    assert parsed(*plan, "--gpus", 4)["gpus"] == [0, 1, 2, 3]
    assert parsed(*plan)["gpus"] == list(range(8))
    for words in (["plan"], ["run", "--size", "1KiB"], ["time"], ["compare"], ["expect"]):
        line = ["collective", words[0], "all-reduce", "-m", "dgx1-v100", *words[1:]]
        assert parsed(*line, "--gpus", 2)["gpus"] == [0, 1] == parsed(*line, "--on", "0,1")["gpus"]
        assert "--on names the ids" in fails(2, *line, "--gpus", "0,1")
    assert "give one" in fails(2, *plan, "--gpus", 2, "--on", "0,3")
    assert "needs two GPUs or more" in fails(2, *plan, "--gpus", 1)
    assert "it is empty" in fails(2, *plan, "--gpus", "")
    assert parsed(*DECIDE, "--on", "1,4,6")["gpus"] == [4, 6]
    assert "2 are free" in fails(3, *DECIDE[:3], "--gpus", 3, "--on", "1,4")


@pytest.mark.parametrize("name", ["all_reduce", "allreduce", "AllReduce", "All-Reduce"])
def test_the_words_of_a_collective_may_be_joined_in_any_way(name: str) -> None:
    planned = parsed("collective", "plan", name, "-m", "dgx1-v100", "--on", "0,3")
    assert planned["collective"] == "all-reduce"
    assert package.plan(package.System("dgx1-v100"), [0, 3], name).collective == "all-reduce"  # type: ignore[arg-type]


def test_a_machine_may_come_from_standard_input(tmp_path: Path) -> None:
    text = linkwright("machine", "show", "dgx1-v100", "--as", "toml").stdout
    at = ["-m", "-", "--state", tmp_path / "state.json"]
    assert parsed("machine", "show", "-", stdin=text)["name"] == "dgx1-v100"
    assert parsed("allocate", *at, "-k", 2, "--job", "a", stdin=text)["gpus"] == [2, 3]
    assert parsed("state", "show", *at, stdin=text)["held"] == {"a": [2, 3]}
    assert parsed("state", "mark-unhealthy", 7, *at, stdin=text)["unhealthy"] == [7]
    assert parsed("state", "mark-healthy", 7, *at, stdin=text)["unhealthy"] == []
    assert parsed("state", "release", "a", *at, stdin=text)["released"] == [2, 3]
    pair = ["all-reduce", "-m", "-", "--on", "0,3"]
    for words in (["plan"], ["run", "--size", "1KiB"], ["time", "-e", "1KiB"], ["expect"]):
        assert parsed("collective", words[0], *pair, *words[1:], stdin=text)["gpus"] == [0, 3]
    assert "<stdin>:1:1" in fails(2, *DECIDE[:2], "-", "--gpus", 2, stdin="nothing")


def test_the_version_has_a_short_option() -> None:
    assert linkwright("-V").stdout == linkwright("--version").stdout


@pytest.mark.parametrize("words", [["--quiet", *DECIDE], [*DECIDE, "-q"]])
def test_quiet_leaves_the_answer_alone(words: list[str]) -> None:
    result = linkwright(*words)
    answer = "CUDA_VISIBLE_DEVICES=2,3\nCUDA_DEVICE_ORDER=PCI_BUS_ID\n"
    assert (result.stdout, result.stderr) == (answer, "")
    assert linkwright(*DECIDE).stderr != ""


def test_quiet_still_says_what_went_wrong() -> None:
    assert "there are 4 GPUs" not in fails(3, "-q", *DECIDE, "--busy", "0,1,2,3,4,5,6")


def test_texts_stay_where_python_drops_docstrings(tmp_path: Path) -> None:
    scenario = write_scenario(tmp_path)
    code = (
        "import sys\nfrom linkwright.cli.commands import app\n"
        "assert False, 'is dropped, too'\n"
        "for words in (['run', '--help'], ['run', sys.argv[1], '-o', sys.argv[2]]):\n"
        "    try:\n        app(words)\n    except SystemExit as end:\n"
        "        if end.code:\n            raise\n"
    )
    done = subprocess.run(
        [sys.executable, "-OO", "-c", code, scenario, tmp_path / "out"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "Play a scenario's jobs and sum up how they went." in done.stdout
    assert (tmp_path / "out" / "report.html").stat().st_size > 100_000


def test_the_package_is_a_program() -> None:
    out, said = program("--version").communicate(timeout=60)
    assert (out.decode(), said) == (f"linkwright {package.__version__}\n", b"")


# Letters of one place, of two, and one with a mark that takes none.
LETTERS = ["a", "Z", " ", "9", "-", ".", "µ", "Ж", "e\u0301", "\u3042", "\u6f22", "\uff21"]
TEXT = st.lists(st.sampled_from(LETTERS), max_size=8).map(lambda parts: "".join(parts).strip())


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Draws tables of words and numbers, their heads on one line or two."""
    heads = draw(
        st.lists(
            st.from_regex(r"[a-z]{1,5}([\n ][a-z]{1,7})?", fullmatch=True),
            min_size=1,
            max_size=4,
            unique=True,
        )
    )
    left = [head for head in heads if draw(st.booleans())]
    table = Table(heads, left, show_header=draw(st.booleans()))
    for _ in range(draw(st.integers(1, 4))):
        table.add_row(*(draw(TEXT) for _ in heads))
    return table


def on_terminal(table: Table, width: int | None, terminal: int) -> list[str]:
    """The lines that a terminal of this width shows."""
    console = Console(width=terminal, color_system=None, highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        console.print(rich_table(table, width)[0])
    return [line.rstrip() for line in captured.get().splitlines()]


@settings(max_examples=60)
@given(tables())
def test_a_table_in_a_pipe_is_that_on_a_wide_terminal(table: Table) -> None:
    assert plain_lines(table) == on_terminal(table, None, 200)


@settings(max_examples=60)
@given(tables(), st.integers(1, 40))
def test_a_table_fits_the_terminal_and_cuts_no_number(table: Table, width: int) -> None:
    shown, left_out = fitted(table, width)
    heads = [" ".join(head.split()) for head in table.columns]
    kept = [at for at, head in enumerate(heads) if head not in left_out]
    assert [" ".join(head.split()) for head in shown.columns] == [heads[at] for at in kept]
    assert kept[0] == 0
    # Words are left out where no number is left to leave out.
    words = {heads[at] for at, head in enumerate(table.columns) if head in table.left}
    assert not words & set(left_out) or all(heads[at] in words for at in kept[1:])
    needed = rich_table(shown, width)[1]
    assert needed <= width or len(kept) == 1
    # No column is left out that has room.
    assert not left_out or rich_table(fitted(table, 1000)[0], None)[1] > width
    lines = on_terminal(shown, width, max(width, needed))
    assert max(cell_len(line) for line in lines) <= needed
    text = "\n".join(lines)
    for row in table.rows:
        for at in kept:
            for whole in row[at].split() if table.folds(table.columns[at]) else [row[at]]:
                assert whole in text
