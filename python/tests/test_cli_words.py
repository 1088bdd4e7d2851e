"""The command line has few words, one for each thing, and says the nearest of a wrong one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from commands import fails, linkwright
from test_cli_help import COMMANDS, help_text

from linkwright.cli.commands import app
from linkwright.cli.groups import grouped
from linkwright.cli.model_options import LISTS, OF_MODELS, OF_NETWORKS, TRAIN_KEYS
from linkwright.cli.nccl_options import VARIABLES
from linkwright.cli.renamed import RENAMED
from linkwright.collectives import algorithm_names
from linkwright.recipes import communications

MOST_NAMES = 140
LINES, COLUMNS = 48, 80
PROGRAM = Path(sys.executable).with_name("linkwright")


def options_of(words: list[str]) -> set[str]:
    """The long names of a command's options, with those of their opposites."""
    command = typer.main.get_command(app)
    for word in words:
        command = command.commands[word]  # type: ignore[attr-defined]
    names = [name for it in command.params for name in (*it.opts, *it.secondary_opts)]
    return {name for name in names if name.startswith("--")}


def test_there_are_few_names() -> None:
    names = set().union(*(options_of(words) for words in COMMANDS))
    assert len(names) <= MOST_NAMES, sorted(names)


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: "-".join(words) or "root")
def test_a_help_fits_on_a_screen(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    lines = help_text(words, "--help").splitlines()
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS
    assert "..." not in [word.strip(".:") for word in " ".join(lines).split() if word == "..."]


RENAMINGS = [
    (command, old, new) for command, names in RENAMED.items() for old, new in names.items()
]


@pytest.mark.parametrize(("command", "old", "new"), RENAMINGS)
def test_an_old_name_is_gone_and_the_error_says_the_new_one(
    command: str, old: str, new: str
) -> None:
    words = command.split()
    known = options_of(words)
    assert old not in known
    assert f"`{old}` is {new} now" in fails(2, *words, old)
    option = new.split()[0].rstrip(",")
    assert not option.startswith("--") or option in known
    # Behind `--set` stands a key that the command describes.
    if option == "--set" and words[0] not in ("replay",):
        key = new.split()[1].partition("=")[0]
        assert f"  {key}=" in linkwright(*words, "--help-all").stdout


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["trian"], "did you mean `train`?"),
        (["collective", "expct"], "did you mean `expect`?"),
        (["train", "lenet", "--layuot", "dp=2"], "did you mean `--layout`?"),
        (["train", "lenet", "--set", "gpu_clok=1GHz"], "did you mean `gpu_clock`?"),
        (["train", "llama-3.1-8b", "--set", "kernels=eagre"], "did you mean `eager`?"),
        (["gpu", "run", "relu", "--set", "read_leese=3"], "did you mean `read_lease`?"),
        (["gpu", "run", "relu", "--memory", "rmda"], "did you mean `rdma`?"),
        (["replay", "stencil4d", "--ranks", "16", "--routing", "adaptve"], "`adaptive`?"),
        (["allocate", "-m", "dgx1-v100", "-k", "2", "--pattern", "rng"], "did you mean `ring`?"),
        (
            ["collective", "expect", "all-reduce", "-m", "dgx2", "--env", "NCCL_P2P_DISABL=1"],
            "did you mean `NCCL_P2P_DISABLE`?",
        ),
        (["machine", "show", "dgx1-v10"], "did you mean `dgx1-v100`"),
    ],
)
def test_a_wrong_word_names_the_nearest(words: list[str], near: str) -> None:
    assert near in fails(2, *words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "gpu_clock"], "write key=value"),
        (["--set", "lora=1", "--set", "lora=2"], "set twice"),
        (["--set", "lora=0"], "lora: 0 is out of range; give 1 or more"),
        (["--set", "lora=x"], "lora: `x` is no whole number"),
        (["--set", "fp8_weights=maybe"], "neither true nor false"),
        (["--set", "restart_time=soon"], "no span of time"),
    ],
)
def test_a_wrong_setting_is_told_with_its_key(words: list[str], said: str) -> None:
    assert said in fails(2, "train", "llama-3.1-8b", *words)


@pytest.mark.parametrize(
    "set_to", ["NCCL_P2P_DISABLE=2", "NCCL_ALGO=circle", "NCCL_ALGO", "HOME=/root"]
)
def test_a_variable_that_nccl_heeds_not_is_refused(set_to: str) -> None:
    told = fails(2, "collective", "expect", "all-reduce", "-m", "dgx2", "--env", set_to)
    assert "NCCL_P2P_DISABLE" in told or "NCCL_ALGO" in told


def test_each_variable_takes_its_values() -> None:
    words = ("collective", "expect", "all-reduce", "-m", "dgx2", "-b", "1G", "-e", "1G", "--env")
    for name, variable in VARIABLES.items():
        for value in variable.values:
            if name != "NCCL_ALGO" or value in ("ring", "tree"):
                assert linkwright(*words, f"{name}={value}").exit_code == 0, (name, value)
    assert linkwright(*words, "NCCL_ALGO=Ring").exit_code == 0


def test_settings_of_models_and_of_networks_are_refused_of_the_other() -> None:
    for kind, keys in (("lenet", OF_MODELS), ("llama-3.1-8b", OF_NETWORKS)):
        for key in keys:
            value = {"true|false": "false", "FILE": "x", "NAME": (key.names or [""])[0]}
            given = value.get(key.value, "1")
            told = fails(1, "train", kind, "--set", f"{key.name}={given}")
            assert f"--set {key.name} changes nothing here" in told


def test_long_lists_are_grouped_whole() -> None:
    for names in (communications(), algorithm_names()):
        groups = grouped("x", names)
        assert sorted(name for group in groups.values() for name in group) == sorted(names)
        assert "x (others)" not in groups
    shown = " ".join(linkwright("train", "--help-all").stdout.split())
    for names in LISTS.values():
        assert ", ".join(names[:1]) in shown
    for key in TRAIN_KEYS:
        assert f"{key.name}=" in shown


COMPLETIONS = [
    ("linkwright tr", "train"),
    ("linkwright collective exp", "expect"),
    ("linkwright train --lay", "--layout"),
    ("linkwright train --machine dgx1", "dgx1-v100"),
    ("linkwright allocate --policy pre", "preserve"),
    ("linkwright gpu run relu --memory rd", "rdma"),
    ("linkwright train --set gpu_cl", "gpu_clock="),
    ("linkwright machine import --as ncc", "nccl-xml"),
]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_installed_program_completes(shell: str) -> None:
    for words, wanted in COMPLETIONS:
        asked = {
            "_LINKWRIGHT_COMPLETE": f"complete_{shell}",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
            "_TYPER_COMPLETE_ARGS": words,
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
            "_TYPER_COMPLETE_WORD_TO_COMPLETE": words.split()[-1],
        }
        ran = subprocess.run(
            [PROGRAM], env={**os.environ, **asked}, capture_output=True, text=True, check=False
        )
        assert wanted in ran.stdout, (words, ran.stdout, ran.stderr)
        assert "..." not in ran.stdout, "summaries are whole sentences"
