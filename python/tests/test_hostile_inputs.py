"""Inputs that would take the computer: refused in one line, at once and in little memory.

Each command runs in a process of its own, whose processor time and memory the system bounds; that
of a plain `--version` is what the package itself takes.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from linkwright import LinkwrightError, System
from linkwright.errors import InputError, MachineError
from linkwright.scenario import MOST_JOBS, generate_jobs, Scenario
from linkwright.training import NeuralNetwork

if sys.platform == "win32":
    pytest.skip("needs the limits of POSIX", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
MANY = 1_000_000
# In seconds of processor time: the import of the package, and a second.
MOST_SECONDS = 3
# In bytes, above what the package takes by itself.
MOST_MEMORY = 100 * 2**20

WRITE_PEAK = """
import sys
from linkwright.cli import main
try:
    main()
finally:
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    open("peak", "w").write(peak.split()[1])
"""


def run(folder: Path, *words: object) -> tuple[int, str, int]:
    """The exit code, what was said, and the most memory that was used at once, in bytes."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 1))

    done = subprocess.run(
        [sys.executable, "-c", WRITE_PEAK, *map(str, words)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
    )
    peak = folder / "peak"
    memory = int(peak.read_text(encoding="utf-8")) * 1024 if peak.exists() else 2**62
    return done.returncode, done.stdout + done.stderr, memory


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """The memory of each command where nothing is wrong with its words but that there is none."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "none").write_text("none", encoding="utf-8")
    return {kind: run(folder, *COMMANDS[kind]("none"))[2] for kind in COMMANDS}


def ring(switches: int) -> str:
    names = ", ".join(f'"s{at}"' for at in range(switches))
    links = ", ".join(f'["s{at}", "s{(at + 1) % switches}"]' for at in range(switches))
    return (
        '[defaults]\nbandwidth = "12 GB/s"\nlatency = "100 ns"\n'
        f"[[switch]]\nnames = [{names}]\nnodes = 1\n[[link]]\nbetween = [{links}]\n"
    )


COMMANDS: dict[str, Callable[[str], list[str]]] = {
    "run": lambda file: ["run", file],
    "compare": lambda file: ["compare", file],
    "machine": lambda file: ["machine", "show", file],
    "network": lambda file: ["replay", "kripke", "--ranks", "8", "-m", file],
    "trace": lambda file: ["replay", file],
    "schedule": lambda file: ["collective", "check", file],
    "state": lambda file: ["state", "show", "-m", "dgx1-v100", "--state", file],
    "edges": lambda file: ["allocate", "-m", "dgx1-v100", "--edges", file],
    "mapping": lambda file: ["replay", "kripke", "--ranks", "8", "--mapping", file],
    "train": lambda file: ["train", file],
    "measured": lambda file: ["train", "alexnet", "--measured", file],
    "kernel": lambda file: ["gpu", "run", file],
}


def star(gpus: int) -> str:
    """Describes a machine whose GPUs are all at one CPU."""
    names = ", ".join(f'"GPU{at}"' for at in range(gpus))
    pairs = ", ".join(f'["GPU{at}", "CPU0"]' for at in range(gpus))
    return (
        'name = "star"\n[[device]]\nkind = "cpu"\nnames = ["CPU0"]\n'
        f'[[device]]\nkind = "gpu"\nnames = [{names}]\n'
        f'[[link]]\nkind = "pcie4"\nbetween = [{pairs}]\n'
    )


def layers(count: int) -> str:
    listed = '{ kind = "relu" }, ' * count
    return (
        'name = "deep"\ninput = { channels = 1, height = 2, width = 2 }\n'
        f'[[variant]]\nname = "only"\nlayers = [{listed}]\n'
    )


TOML = ("run", "compare", "machine", "network")
TEXTS: dict[str, tuple[Callable[[], str], tuple[str, ...]]] = {
    # A trace, an algorithm and a kernel may have 64 MiB, which are read before they are refused.
    "60 MB of brackets": (
        lambda: "[" * 60_000_000,
        tuple(kind for kind in COMMANDS if kind not in ("trace", "schedule", "kernel")),
    ),
    "brackets": (lambda: 'name = "a"\na = ' + "[" * 15 * MANY, tuple(COMMANDS)),
    "2,000 brackets": (lambda: 'name = "a"\na = ' + "[" * 2_000 + "]" * 2_000, TOML),
    "a dotted key": (lambda: 'name = "a"\n' + ".".join("a" * 40_000) + " = 1", TOML),
    "a dotted table": (lambda: 'name = "a"\n[' + ".".join("a" * 40_000) + "]", TOML),
    "braces": (lambda: 'name = "a"\na = ' + "{a=" * MANY, TOML),
    "a long integer": (lambda: 'name = "a"\nseed = ' + "9" * 5_000, TOML),
    "a million jobs": (
        lambda: '[machine]\npreset = "dgx1-v100"\n[jobs]\ngenerate = { count = 1000000000 }',
        ("run", "compare"),
    ),
    "ranks of a scenario": (
        lambda: '[network]\nkind = "fat-tree"\n[[job]]\nprogram = "kripke"\nranks = 65536',
        ("run",),
    ),
    "deep XML": (lambda: '<system version="1">' * MANY, ("machine", "schedule")),
    "wide XML": (
        lambda: "<system " + " ".join(f'a{at}="1"' for at in range(MANY // 4)) + "/>",
        ("machine", "schedule"),
    ),
    "DOT on one line": (lambda: "graph {" * MANY, ("network",)),
    "DOT of subgraphs": (lambda: "graph a {" + "subgraph b {" * MANY, ("network",)),
    "a long ring": (lambda: ring(20_000), ("network",)),
    "15 MiB of newlines": (lambda: "\n" * 15 * 2**20, ("machine", "run", "train")),
    "10 MB of tabs": (lambda: "\t" * 10_000_000, ("machine",)),
    "15 MB of words": (lambda: "a " * 7_500_000, ("machine", "run")),
    "a paste of words": (lambda: "GPU0\tGPU1\n" + "a " * 2_000_000, ("machine",)),
    "columns of a paste": (
        lambda: (
            "ROCm\n== Link Type between two GPUs ==\n"
            + " ".join(map("GPU{}".format, range(MANY // 4)))
        ),
        ("machine",),
    ),
    "cells that run together": (
        lambda: "\tGPU0\tGPU1\nGPU0\t X " + "PIX" * MANY + "\n",
        ("machine",),
    ),
    "60,000 GPUs": (lambda: star(60_000), ("machine",)),
    "100,000 servers": (
        lambda: '[system]\nserver = "dgx1-v100"\nservers = 100000\n',
        ("run",),
    ),
    "a list of servers": (
        lambda: '[[system.server]]\nkind = "dgx1-v100"\n' * 20_000,
        ("run",),
    ),
    "a million switches": (
        lambda: 'kind = "torus"\ndimensions = [100, 100, 100]\n',
        ("machine", "network"),
    ),
    "20,000 layers": (lambda: layers(20_000), ("train",)),
    "columns of a table": (lambda: "layer," + "," * 3 * MANY, ("measured",)),
    "names of columns": (
        lambda: "layer,forward,backward," + ",".join(map("c{}".format, range(MANY))),
        ("measured",),
    ),
    "a buffer of 4 GB": (lambda: "buffer a 4000000000 in = 1:1\n0 load a 256\n", ("kernel",)),
    "loads that are kept": (
        lambda: "buffer a 256 in\n" + "0 load a 256 as x\n" * 200_000,
        ("kernel",),
    ),
    "buffers": (
        lambda: "".join(f"buffer a{at} 64 in\n" for at in range(100_000)),
        ("kernel",),
    ),
    "a wait for nobody": (lambda: "buffer a 64 in\n0 spin a 4 = 7\n", ("kernel",)),
    "no ranks": (lambda: "num_ranks 4000000000\n", ("trace",)),
    "an exabyte": (
        lambda: (
            "num_ranks 2\nrank 0 {\nsend 4611686018427387904b to 1\n}\n"
            "rank 1 {\nrecv 4611686018427387904b from 0\n}\n"
        ),
        ("trace",),
    ),
}
CASES = [(name, kind) for name, (_, kinds) in TEXTS.items() for kind in kinds]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_an_absurd_text_is_refused_at_once(
    name: str, kind: str, tmp_path: Path, plain: dict[str, int]
) -> None:
    (tmp_path / "absurd").write_text(TEXTS[name][0](), encoding="utf-8")
    code, said, memory = run(tmp_path, *COMMANDS[kind]("absurd"))
    assert code in (1, 2), said[-500:]
    assert len(said.splitlines()) == 1
    assert said.startswith("error: ")
    assert "a fault of Linkwright" not in said
    assert len(said) < 1_500
    assert memory < plain[kind] + MOST_MEMORY


def test_ranks_are_compared_with_gpus_before_programs_are_made(
    tmp_path: Path, plain: dict[str, int]
) -> None:
    code, said, memory = run(tmp_path, "replay", "kripke", "--ranks", "65536", "-m", "fat-tree")
    assert code == 1
    assert "65536 ranks" in said
    assert "GPUs" in said
    assert memory < plain["network"] + MOST_MEMORY


@pytest.mark.parametrize("command", ["replay", "run"])
def test_a_member_of_an_archive_is_looked_at_before_it_is_read(
    command: str, tmp_path: Path, plain: dict[str, int]
) -> None:
    shutil.copytree(ROOT / "examples" / "traces" / "stencil4d-32", tmp_path / "archive")
    (tmp_path / "day.toml").write_text('[[job]]\ntrace = "archive/traces.otf2"\n')
    with (tmp_path / "archive" / "traces" / "7.evt").open("r+b") as member:
        # It takes no room on the disk.
        member.truncate(4 * 10**9)
    code, said, memory = run(tmp_path, command, "archive" if command == "replay" else "day.toml")
    assert code == 2
    assert len(said.splitlines()) == 1
    assert "7.evt" in said
    assert "more than 64 MiB" in said
    assert "record fewer iterations or fewer calls" in said
    assert memory < plain["trace"] + MOST_MEMORY


def test_jobs_beyond_counting_are_refused() -> None:
    for count in (MOST_JOBS + 1, 2**31, 2**32, 10**30):
        with pytest.raises(LinkwrightError, match=r"1000000|give 0 to"):
            generate_jobs(count=count)
    with pytest.raises(InputError, match="write a whole number from 1 to 1000000"):
        Scenario.from_text(TEXTS["a million jobs"][0]())


@pytest.mark.parametrize(
    "value",
    ["[" * 2_000, "{a=" * 300, ".".join("1" * 400), "9" * 5_000, "{" + "a." * 60_000 + "a=1}"],
)
def test_a_parameter_brings_no_traceback(value: str, tmp_path: Path) -> None:
    words = ("replay", "kripke", "--ranks", "8", "--parameter", f"message={value}")
    code, said, _ = run(tmp_path, *words)
    assert code in (1, 2)
    assert len(said.splitlines()) == 1
    assert "a fault of Linkwright" not in said


@pytest.mark.parametrize("separator", [",", "|"])
def test_columns_of_recorded_jobs_are_read_at_once(separator: str, tmp_path: Path) -> None:
    columns = ["JobID", "ElapsedRaw", "AllocTRES", *(f"c{at}" for at in range(MANY // 2))]
    (tmp_path / "jobs").write_text(separator.join(columns), encoding="utf-8")
    scenario = '[machine]\npreset = "dgx1-v100"\n[jobs]\nfile = "jobs"\n'
    (tmp_path / "day.toml").write_text(scenario, encoding="utf-8")
    code, said, memory = run(tmp_path, "run", "day.toml")
    assert code == 2
    many = "error: jobs:1:103585: the line has more than 16,384 fields"
    none = "error: jobs:1:1: no column says when jobs were submitted"
    assert said.startswith(many if separator == "," else none)
    assert memory < 2 * MOST_MEMORY + 100 * 2**20


def test_servers_beyond_counting_are_refused_before_they_are_built(
    tmp_path: Path, plain: dict[str, int]
) -> None:
    code, said, memory = run(tmp_path, "train", "alexnet", "--servers", "100000")
    assert code == 1
    assert "100000" in said
    assert "16384" in said
    assert memory < plain["train"] + MOST_MEMORY


def test_a_machine_of_16384_gpus_is_shown_without_its_pairs(tmp_path: Path) -> None:
    (tmp_path / "star.toml").write_text(star(16_384), encoding="utf-8")
    code, said, memory = run(tmp_path, "machine", "show", "star.toml")
    assert code == 0
    assert "The matrix of 16,384 GPUs is left out" in said
    assert "GPU0 to GPU16383 (16384)" in said
    assert memory < 2 * MOST_MEMORY
    machine = System.from_text(star(1_025))
    with pytest.raises(MachineError, match=r"each pair of 1025 GPUs .* 1024 GPUs are the most"):
        machine.gpu_matrix()
    with pytest.raises(MachineError, match=r"1024 GPUs are the most"):
        System("dgx1-v100", servers=1_024).proximity()


def test_layers_are_read_in_a_time_that_grows_with_their_number() -> None:
    before = time.process_time()
    network = NeuralNetwork.from_text(layers(10_000))
    assert time.process_time() - before < 2
    names = [row["name"] for row in network.layers()]
    assert (names[0], names[1], names[-1]) == ("relu", "relu-2", "relu-10000")


def test_ids_that_are_named_again_and_again_are_refused(tmp_path: Path) -> None:
    ids = ",".join(["0-65534"] * 10_000)
    code, said, memory = run(tmp_path, "allocate", "-m", "dgx1-v100", "-k", "1", "--on", ids)
    assert code == 2
    assert "write each once" in said
    assert memory < 2 * MOST_MEMORY
