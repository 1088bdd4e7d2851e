"""The help of every command, as it was agreed on, and its page of the documentation.

`UPDATE_GOLDEN=1 pytest python/tests/test_cli_help.py` rewrites both after a change that is meant.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from commands import fails, linkwright, program
from typer.core import TyperGroup

import linkwright as package
from linkwright.cli import interruption, main, output
from linkwright.cli import program as ending
from linkwright.cli.commands import app
from linkwright.cli.program import EXIT_CODES, GIVEN_BY

GOLDEN = Path(__file__).parent / "golden"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "cli.md"


def command_lines() -> Iterator[list[str]]:
    """Yields the words of every command and group, parents first."""
    waiting: list[tuple[list[str], object]] = [([], typer.main.get_command(app))]
    while waiting:
        words, command = waiting.pop(0)
        yield words
        if isinstance(command, TyperGroup):
            inner = [([*words, name], child) for name, child in command.commands.items()]
            waiting = inner + waiting


COMMANDS = list(command_lines())


def help_text(words: list[str], asked: str = "--help") -> str:
    """A command's help; that of `--help` where it has no more."""
    result = linkwright(*words, asked)
    if result.exit_code:
        result = linkwright(*words, "--help")
    assert result.exit_code == 0, result.output
    return result.stdout.replace("Usage: root", "Usage: linkwright")


def check_golden(file: Path, text: str) -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
    assert file.read_text(encoding="utf-8") == text, "UPDATE_GOLDEN=1 rewrites it"


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: "-".join(words) or "root")
def test_the_help_is_as_agreed_on_and_fits(words: list[str]) -> None:
    text = help_text(words)
    assert max(map(len, text.splitlines())) <= 80
    check_golden(GOLDEN / f"{'-'.join(['linkwright', *words])}.txt", text)


def test_the_page_of_the_documentation_shows_every_help_and_code() -> None:
    given = {code: ", ".join(f"`{name}`" for name in names) for code, names in GIVEN_BY.items()}
    rows = "".join(
        f"| {code} | {what} | {given.get(code, 'all')} |\n" for code, what in EXIT_CODES.items()
    )
    parts = [
        "# Command line\n\n"
        "Every command prints for people. With [`--json`](json.md) it prints for programs:\n"
        "standard output then holds nothing but JSON. An error is one line on standard error.\n"
        "If a text cannot be read, the line begins with `file:line:column`. If the line says\n"
        "that it is a fault of Linkwright, set `LINKWRIGHT_TRACEBACK=1` in the environment to\n"
        "see where it arose.\n\n"
        "Every command takes `--quiet` and `--wide`. `--quiet` leaves only errors on standard\n"
        "error. A progress bar shows only on a terminal, and no table is wider than it.\n"
        "Linkwright folds words and leaves out columns without room; a line below the table\n"
        "says so. `--wide` prints tables whole. In a pipe or a file they are whole anyway, each\n"
        "row on one line.\n\n"
        "`--output` writes files, and `--json` changes only the printed text. With both, the\n"
        "files are the same as without `--json`. If the output cannot be printed, the command\n"
        "fails, and it takes an allocation or a release back. A trace, a list of jobs or an\n"
        "algorithm may have 64 MiB in one file. Any other input may have 16 MiB.\n\n"
        "This page shows the output of `--help-all`. `--help` leaves out rare options, settings\n"
        "and long lists of names.\n\n"
        f"## Exit codes\n\n| Code | Meaning | Commands |\n|---|---|---|\n{rows}"
    ]
    for words in COMMANDS:
        title = " ".join(["linkwright", *words])
        parts.append(f"## {title}\n\n```text\n{help_text(words, '--help-all').rstrip()}\n```\n")
    check_golden(PAGE, "\n".join(parts))


def test_the_table_of_codes_has_every_code_of_the_program_and_no_other() -> None:
    constants = {
        value
        for module in (ending, interruption)
        for name, value in vars(module).items()
        if isinstance(value, int) and name.isupper() and name != "MOST_TOLD"
    }
    assert set(EXIT_CODES) == constants | {0}
    assert set(GIVEN_BY) < constants
    # Whoever waits for a lock may find that it waited in vain, and nobody else.
    waiting = [
        name
        for name in map(" ".join, COMMANDS)
        if "--wait " in help_text(name.split(), "--help-all")
    ]
    assert sorted(waiting) == sorted(GIVEN_BY[ending.BUSY])
    # A code is given in one place: the others raise what it maps.
    source = Path(output.__file__).parent
    numbered = re.compile(r"(typer\.Exit|sys\.exit)\((code=)?\d")
    assert [file for file in source.glob("*.py") if numbered.search(file.read_text())] == []


def test_the_version_is_the_package_s() -> None:
    assert linkwright("--version").stdout == f"linkwright {package.__version__}\n"


@pytest.mark.parametrize("words", [["nope"], ["--nope"], ["machine", "shw"], ["run"]])
def test_bad_usage_is_one_line_and_code_two(words: list[str]) -> None:
    fails(2, *words)


def test_a_group_alone_shows_its_help() -> None:
    for words in [[], ["machine"], ["jobs"], ["state"], ["study"]]:
        result = linkwright(*words)
        assert result.exit_code == 2
        assert "Usage:" in result.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_offered(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Where the tests are run by no shell there would be none to find.
    monkeypatch.setattr("shellingham.detect_shell", lambda: (shell, f"/bin/{shell}"))
    result = linkwright("--show-completion")
    assert result.exit_code == 0, result.output
    assert f"complete_{shell}" in result.output


def test_a_reader_that_leaves_early_gets_no_traceback() -> None:
    process = program("machine", "show", "torus2d-16", "--as", "toml")
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, said = process.communicate(timeout=20)
    assert (process.returncode, said) == (141, b"")


def test_ctrl_c_while_the_commands_are_loaded_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupting:
        def find_spec(self, name: str, *_: object) -> None:
            """Stands for Ctrl-C at the moment of this import."""
            if name == "linkwright.cli.commands":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "linkwright.cli.commands")
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "error: interrupted\n"


def test_what_ends_soon_shows_no_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for patience, shown in ((60.0, False), (0.0, True)):
        monkeypatch.setattr(output, "PATIENCE", patience)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        with output.progress_bar() as progress:
            assert progress is not None
            progress("counting", 1, 2)
        assert ("counting" in capsys.readouterr().err) == shown
