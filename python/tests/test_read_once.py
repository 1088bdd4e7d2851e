"""Every command that takes a file takes what can be read only once, such as `<(...)`.

Whoever opens a pipe anew waits for ever, since nobody writes into it again: an alarm ends the test.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest
from commands import SCENARIO, linkwright, program

from linkwright import System, compare
from linkwright.errors import FileError, InputError
from linkwright.gpu import read_floorplan
from linkwright.network import Program, play_trace, read_fabric, read_program, read_system
from linkwright.scenario import ScenarioRun, play_mix

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no such pipes")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MACHINE = System("dgx1-v100").to_toml()
GOAL = Program.skeleton("kripke", 8).to_goal()
NETWORK = (EXAMPLES / "fabrics" / "ring.dot").read_text(encoding="utf-8")
TRAINED = """name = "small"
source = "a test"
input = { channels = 1, height = 28, width = 28 }
layers = [{ name = "last", kind = "fully-connected", width = 10 }]
"""
PROGRAMS = """[network]
kind = "fat-tree"
[[job]]
program = "kripke"
ranks = 8
"""

LONGEST = 60
"""Seconds after which whoever still waits for a pipe waits for ever."""


@contextmanager
def piped(folder: Path, text: str, name: str = "pipe") -> Iterator[Path]:
    """A pipe from which the text can be read once."""
    pipe = folder / name
    os.mkfifo(pipe)
    writer = Thread(target=lambda: pipe.write_text(text, encoding="utf-8"), daemon=True)
    writer.start()
    try:
        yield pipe
    finally:
        # Where nobody has read it, the writer still waits for somebody.
        os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))
        writer.join()
        pipe.unlink()


@pytest.fixture(autouse=True)
def _alarm() -> Iterator[None]:
    def end(*_: object) -> None:
        raise AssertionError("a pipe was opened a second time")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(LONGEST)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def example(name: str) -> str:
    return (EXAMPLES / name).read_text(encoding="utf-8")


RUN = ["--gpus", "2"]
PAIR = ["all-reduce", "--on", "0,3"]
SMALL = ["-b", "1KiB", "-e", "1KiB"]
# The arguments of a command, with `{}` for the pipe, and the text that it holds.
COMMANDS: list[tuple[list[str], str]] = [
    (["machine", "show", "{}"], MACHINE),
    (["machine", "show", "{}"], NETWORK),
    (["machine", "show", "dgx1-v100", "--servers", "4", "--network", "{}"], NETWORK),
    (["machine", "import", "{}"], MACHINE),
    (["allocate", "-m", "{}", *RUN], MACHINE),
    (["allocate", "-m", "dgx1-v100", "--pattern", "{}"], "0 1\n"),
    (["allocate", "-m", "dgx1-v100", "--program", "{}"], GOAL),
    (["collective", "plan", "-m", "{}", *PAIR], MACHINE),
    (["collective", "run", "-m", "{}", *PAIR, "--size", "1KiB"], MACHINE),
    (["collective", "time", "-m", "{}", *PAIR, *SMALL], MACHINE),
    (["collective", "compare", "-m", "{}", *PAIR, "--size", "1KiB"], MACHINE),
    (["collective", "expect", "-m", "{}", *PAIR, *SMALL], MACHINE),
    (["collective", "check", "{}"], example("collectives/tree-all-reduce-4.xml")),
    (["collective", "doctor", "{}"], example("logs/healthy.log")),
    (
        ["collective", "expect", "-m", "dgx1-v100", "--measured", "{}", *PAIR],
        example("measurements/dgx1-v100-gpus-0-3.nccl-tests.txt"),
    ),
    (["replay", "{}"], GOAL),
    (["replay", "kripke", "--ranks", "8", "-m", "{}"], MACHINE),
    (["replay", "kripke", "--ranks", "4", "-m", "{}"], NETWORK),
    (["replay", "kripke", "--ranks", "4", "--network", "{}"], NETWORK),
    (
        ["replay", "kripke", "--ranks", "8", "--mapping", "{}"],
        "".join(f"{gpu}\n" for gpu in range(8)),
    ),
    (["run", "{}"], SCENARIO),
    (["run", "{}"], PROGRAMS),
    (["compare", "{}"], SCENARIO),
    (["train", "{}", "-m", "dgx1-v100", *RUN], TRAINED),
    (["train", "lenet", "-m", "{}", *RUN], MACHINE),
    (["train", "lenet", "--measured", "{}", *RUN], "layer,forward,backward\nconv1,1ms,2ms\n"),
    (["gpu", "run", "{}", "--memory", "tsm-wt-c-rc"], example("kernels/message.kernel")),
    (["thermal", "{}", "--set", "cells=4"], example("mgpu-tsm-package.toml")),
]


@pytest.mark.parametrize(
    ("words", "text"), COMMANDS, ids=[" ".join(words) for words, _ in COMMANDS]
)
def test_a_command_reads_a_pipe_as_it_reads_a_file(
    words: list[str], text: str, tmp_path: Path
) -> None:
    file = tmp_path / "pipe"
    file.write_text(text, encoding="utf-8")
    line = [word.format(file) for word in words]
    of_file = linkwright(*line)
    assert of_file.exit_code == 0, of_file.output
    file.unlink()
    with piped(tmp_path, text):
        of_pipe = linkwright(*line)
    assert of_pipe.exit_code == 0, of_pipe.output
    assert timeless(of_pipe.stdout) == timeless(of_file.stdout)
    assert of_pipe.stderr == of_file.stderr


def timeless(text: str) -> list[str]:
    """The lines but those that say how fast this computer is."""
    return [line for line in text.splitlines() if not re.search(r"second|GB/s of its size", line)]


def test_standard_input_may_be_named_as_a_file() -> None:
    process = program("machine", "show", "/dev/stdin", "--json", stdin=subprocess.PIPE)
    out, said = process.communicate(MACHINE.encode(), timeout=LONGEST)
    assert (process.returncode, said) == (0, b"")
    assert json.loads(out)["name"] == "dgx1-v100"


READERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "read_system": (read_system, MACHINE),
    "read_fabric": (read_fabric, NETWORK),
    "read_program": (read_program, GOAL),
    "read_floorplan": (read_floorplan, example("mgpu-tsm-package.toml")),
    "play_trace": (play_trace, GOAL),
    "play_mix": (play_mix, SCENARIO),
    "compare": (compare, SCENARIO),
}


@pytest.mark.parametrize("name", READERS)
def test_a_function_reads_a_pipe_once_and_another_of_that_name_anew(
    name: str, tmp_path: Path
) -> None:
    read, text = READERS[name]
    for _ in range(2):
        with piped(tmp_path, text) as pipe:
            read(pipe)
    with piped(tmp_path, "nothing") as pipe, pytest.raises(InputError):
        read(pipe)


def test_the_workers_of_a_comparison_get_what_was_read(tmp_path: Path) -> None:
    text = f'{SCENARIO}[compare.other]\nallocation = {{ ties = "published" }}\n'
    # Of a thread nobody says what was read in another.
    with ThreadPoolExecutor(1) as workers, piped(tmp_path, text) as pipe:
        compared = compare(pipe, workers=workers)
    assert isinstance(compared, ScenarioRun)
    assert len(compared.results) == 3
    with piped(tmp_path, MACHINE) as pipe:
        (tmp_path / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
        with pytest.raises(FileError, match=r"can be read only once.*save it to a file"):
            compare(tmp_path / "scenario.toml", machines=["dgx2", str(pipe)])
