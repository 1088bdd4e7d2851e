"""Every command and loader reads the text of several servers, or says why it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from commands import fails, linkwright, parsed, write_scenario
from typer.core import TyperGroup

import linkwright as lw
from linkwright.cli.commands import app

SMALL = ["all-reduce", "--size", "64KiB"]
STATE = ["--state", "state.json"]
# A command line of each command that takes a machine; a new one needs one here.
READ: dict[str, list[str]] = {
    "machine show": [],
    "machine import": ["--json"],
    "allocate": ["-k", "5"],
    "state show": STATE,
    "state release": ["a", *STATE],
    "state reconcile": ["--none", *STATE],
    "state mark-unhealthy": ["1", *STATE],
    "state mark-healthy": ["1", *STATE],
    "state mark-lost": ["1", *STATE],
    "collective plan": [*SMALL, "--algorithm", "nccl-ring"],
    "collective run": [*SMALL, "--algorithm", "nccl-ring"],
    "collective check": ["schedule.xml"],
    "collective time": ["all-reduce", "--algorithm", "nccl-ring", "-e", "1KiB"],
    "collective compare": [*SMALL, "--algorithm", "nccl-ring"],
    "collective expect": ["all-reduce", "-e", "1KiB"],
    "collective doctor": ["run.log"],
    "collective tune": ["--on", "0,8"],
    "collective all-to-allv": ["bytes.csv", "--on", "0,8"],
    "replay": ["laghos", "--ranks", "8"],
    "train": ["lenet", "--no-scaling"],
    "fit": ["--size", "1MiB"],
    "compare": ["scenario.toml"],
    "gpu run": ["relu", "--size", "64", "--preset", "r9-nano"],
    "gpu compare": ["relu", "--memory", "rdma", "--preset", "r9-nano"],
    "gpu litmus": ["--test", "spinning", "--preset", "r9-nano"],
}
# A command that looks at one server or one GPU in principle refuses several, with a remedy.
REFUSED = {
    "compare": "the file describes servers and what joins them",
    "gpu run": "they are in two servers",
    "gpu compare": "they are in two servers",
    "gpu litmus": "they are in two servers",
    "state mark-lost": "cannot be lost: the machine has all its GPUs",
    "fit of unlike": "fit looks at one server, and `2xdgx1-v100+2xown on",
}


def commands(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Gives every command by its path."""
    if isinstance(group, TyperGroup):
        for name, command in group.commands.items():
            yield from commands(command, f"{path} {name}".strip())
    else:
        yield path, group


def takes_machine(command: Any) -> bool:
    """Whether a command has a machine among its parameters."""
    return any(it.name == "machine" for it in command.params)


def written(kind: str, folder: Path) -> str:
    """Writes four servers as the program does: of a preset, of a file, of two kinds."""
    own = folder / "own.toml"
    own.write_text(lw.System("dgx1-v100").to_toml().replace('"dgx1-v100"', '"own"', 1))
    if kind == "unlike":
        return lw.System([("dgx1-v100", 2), (lw.network.read_system(own), 2)], network="fat-tree").to_toml()
    network = ["--network", "fat-tree"] if kind != "no fabric said" else []
    machine = own if kind == "own" else "dgx1-v100"
    shown = linkwright("machine", "show", machine, "--servers", 4, *network, "--as", "toml")
    assert shown.exit_code == 0, shown.output
    return shown.stdout


def test_every_command_that_takes_a_machine_is_asked() -> None:
    found = dict(commands(typer.main.get_command(app)))
    taking = {path for path, command in found.items() if takes_machine(command)}
    assert taking | {"machine import"} == set(READ)


@pytest.mark.parametrize("kind", ["no fabric said", "unlike"])
@pytest.mark.parametrize("words", READ)
def test_every_command_reads_a_system(
    words: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In a folder of its own, so that nothing beside it helps.
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    text = written(kind, tmp_path)
    monkeypatch.chdir(folder)
    Path("four.toml").write_text(text, encoding="utf-8")
    system = lw.network.read_system("four.toml")
    write_scenario(folder)
    schedule = lw.plan(system, range(16), "all-reduce", algorithm="nccl-ring")
    Path("schedule.xml").write_text(schedule.to_msccl_xml().text, encoding="utf-8")
    Path("run.log").write_text("a:1:2 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n")
    Path("bytes.csv").write_text("0,4096\n1024,0\n")
    if words.startswith("state"):
        parsed("allocate", "-m", "four.toml", "-k", 6, "--job", "a", *STATE)
    where = ["four.toml"] if words.startswith("machine") else ["--machine", "four.toml"]
    result = linkwright(*words.split(), *where, *READ[words])
    why = REFUSED.get(words) or REFUSED.get(f"{words} of {kind}")
    if why is None:
        assert result.exit_code == 0, result.output
        return
    assert result.exit_code in (1, 2), result.output
    problem, remedy = result.stderr.split("; ", 1)
    assert why in problem, result.stderr
    assert remedy
    if words in ("gpu run", "gpu compare"):
        # GPUs of one of its servers will do.
        result = linkwright(*words.split(), *where, *READ[words], "--on", "8,9")
        assert result.exit_code == 0, result.output


@pytest.mark.parametrize("kind", ["preset", "own", "unlike", "no fabric said"])
def test_every_loader_reads_a_system(kind: str, tmp_path: Path) -> None:
    text = written(kind, tmp_path)
    file = tmp_path / "elsewhere.toml"
    file.write_text(text, encoding="utf-8")
    system = lw.network.read_system(file)
    assert (system.server_count, system.gpu_count) == (4, 32)
    assert system == lw.System.from_text(text)
    again = lw.System.from_text(system.to_toml())
    assert again == system
    assert again.to_toml() == system.to_toml()
    job = '\n[[job]]\nprogram = "laghos"\nranks = 8\n'
    built, _, _ = lw.scenario.Scenario.from_text(text + job).build()
    assert built == system
    assert lw.network.read_system(file, gpus=32) == system
    assert lw.Allocator(system).free == list(range(32))


def test_a_text_may_name_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(lw.System("dgx1-v100").to_toml())
    (tmp_path / "two.toml").write_text(
        '[[system.server]]\nkind = "pcie-tree-4"\n[[system.server]]\nkind = "own.toml"\ncount = 2\n'
    )
    system = lw.network.read_system(tmp_path / "two.toml")
    assert system.gpus_per_server == [4, 8, 8]
    # Its own text needs no file beside it.
    assert lw.System.from_text(system.to_toml()).gpus_per_server == [4, 8, 8]
    (tmp_path / "own.toml").unlink()
    with pytest.raises(lw.errors.FileError, match=r"own\.toml"):
        lw.network.read_system(tmp_path / "two.toml")


@pytest.mark.parametrize(
    ("tail", "said"),
    [
        ("[jobs]\ngenerate = { count = 3 }\n", "this is no part of a machine"),
        ("[network2]\n", "unknown key"),
        ("[files]\na = 3\n", "no text of a file"),
        ("[system]\nunhealthy = [3]\n", "this is no part of a machine"),
    ],
)
def test_what_is_no_part_of_a_machine_is_refused(tail: str, said: str, tmp_path: Path) -> None:
    text = '[network]\nmachine = "dgx1-v100"\nservers = 4\n'
    file = tmp_path / "system.toml"
    file.write_text(text + tail)
    told = fails(2, "allocate", "-m", file, "-k", 2)
    assert said in told
    assert f"{file}:" in told
    assert "; " in told


def test_options_of_one_server_are_refused_beside_a_system() -> None:
    text = lw.System("dgx1-v100", 4).to_toml()
    with pytest.raises(lw.errors.MachineError, match="`nvlink` is of one server"):
        lw.System.from_text(text, "four.toml", nvlink="nvlink2")


def test_a_machine_of_several_servers_takes_no_servers(tmp_path: Path) -> None:
    file = tmp_path / "four.toml"
    file.write_text(lw.System("dgx1-v100", 4).to_toml())
    told = fails(1, "allocate", "-m", file, "--servers", 2, "-k", 2)
    assert "is 4 servers on a network of their own; leave out `servers`" in told
