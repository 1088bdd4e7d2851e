"""Names from strangers: no command lets one act on a terminal, and no page lets one run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
import typer
from commands import linkwright
from typer.core import TyperGroup

from linkwright import System
from linkwright.scenario import (
    Job,
    SimulationResult,
    play_programs,
    play_mix,
    play_jobs,
    write_jobs,
    write_run,
)
from linkwright.cli.commands import app
from linkwright.plot import save_chart
from linkwright.plots.jobs import occupancy

HOSTILE = "a\x1b[2J\x9b5m\x07\u202e</script><img src=x onerror=alert(1)>&\"'\\\nSPOOFED"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def quoted(name: str) -> str:
    """As TOML writes it: JSON's escapes are TOML's."""
    return json.dumps(name)


def write_inputs(folder: Path, hostile: str) -> None:
    """A machine, a scenario of a server, one of a cluster and a schedule, all of such names."""
    a, b, name = quoted(f"{hostile}0"), quoted(f"{hostile}1"), quoted(hostile)
    (folder / "machine.toml").write_text(
        f"""name = {name}
source = {name}
assumptions = [{name}]
[[device]]
kind = "gpu"
model = {name}
names = [{a}, {b}]
[[device]]
kind = "cpu"
names = [{quoted(hostile + "cpu")}, {quoted(hostile + "cpu2")}]
[[link]]
kind = "nvlink3"
count = 4
between = [[{a}, {b}]]
[[link]]
kind = "pcie4"
between = [[{a}, {quoted(hostile + "cpu")}], [{b}, {quoted(hostile + "cpu2")}]]
[[link]]
kind = "upi"
between = [[{quoted(hostile + "cpu")}, {quoted(hostile + "cpu2")}]]
""",
        encoding="utf-8",
    )
    # Lists of jobs refuse control characters.
    one_line = "".join(it for it in hostile if it.isprintable())
    jobs = [Job(f"{one_line}{at}", "gmm", 1 + at % 2, iterations=3) for at in range(4)]
    (folder / "jobs.csv").write_text(write_jobs(jobs), encoding="utf-8")
    (folder / "server.toml").write_text(
        '[machine]\nfile = "machine.toml"\n[jobs]\nfile = "jobs.csv"\n'
        '[allocation]\npolicies = ["baseline", "preserve"]\n',
        encoding="utf-8",
    )
    (folder / "cluster.toml").write_text(
        f"""name = {name}
[network]
kind = "fat-tree"
levels = 2
leaves = 2
radix = 4
gpus_per_node = 2
[[job]]
name = {name}
program = "kripke"
ranks = 8
""",
        encoding="utf-8",
    )
    (folder / "package.toml").write_text(
        f"""name = {name}
assumptions = [{name}]
width = 10
height = 10
sink = {{ resistance = 0.1 }}
[[layer]]
name = {name}
thickness = 1
conductivity = 100
[[block]]
name = {name}
layer = {name}
x = 1
y = 1
width = 3
height = 3
power = 5
""",
        encoding="utf-8",
    )
    schedule = (EXAMPLES / "collectives" / "tree-all-reduce-4.xml").read_text(encoding="utf-8")
    (folder / "matrix.csv").write_text(f"0,1\n{hostile},0\n", encoding="utf-8")
    # XML has no escape for most control characters, and readers take none of them raw.
    told = "".join(f"&#{ord(it)};" for it in hostile if it.isprintable() or it in "\n\x9b\u202e")
    (folder / "schedule.xml").write_text(
        schedule.replace('"tree-all-reduce-4"', f'"{told}"'), encoding="utf-8"
    )


MACHINE = ("--machine", "machine.toml")
SMALL = ("--min-bytes", "1MiB", "--max-bytes", "1MiB")
# Every command, by its words, with the arguments that bring it to print names.
RUNS: dict[str, list[tuple[str, ...]]] = {
    "allocate": [(*MACHINE, "--gpus", "2", "--explain"), (*MACHINE, "--gpus", "9")],
    "examples": [("folder",)],
    "replay": [("kripke", "--ranks", "8", "--mapping", HOSTILE)],
    "run": [("server.toml",), ("cluster.toml",)],
    "compare": [("server.toml",)],
    "machine list": [()],
    "machine show": [("machine.toml",), (HOSTILE,)],
    "machine import": [("machine.toml", "--as", "json"), (HOSTILE,)],
    "fit": [MACHINE],
    "jobs generate": [("--count", "2"), ("--count", "2", "--workload", HOSTILE)],
    "jobs workloads": [()],
    "state show": [("--state", "state.json", *MACHINE)],
    "state release": [("--state", "state.json", *MACHINE, "--job", HOSTILE)],
    "state reconcile": [("--state", "state.json", *MACHINE, "--none")],
    "state mark-lost": [("--state", "state.json", *MACHINE, "0")],
    "state mark-unhealthy": [("--state", "state.json", *MACHINE, "--gpus", "0")],
    "state mark-healthy": [("--state", "state.json", *MACHINE, "--gpus", "0")],
    "collective plan": [("all-reduce", *MACHINE)],
    "collective check": [("schedule.xml",), ("schedule.xml", "--machine", "machine.toml")],
    "collective run": [("all-reduce", *MACHINE, "--size", "1MiB")],
    "collective time": [("all-reduce", *MACHINE, *SMALL)],
    "collective compare": [("all-reduce", *MACHINE)],
    "collective expect": [("all-reduce", *MACHINE, *SMALL)],
    "collective tune": [(*MACHINE, "--graph", "machine.xml")],
    "collective doctor": [("log.txt", *MACHINE), (HOSTILE, *MACHINE)],
    "collective all-to-allv": [(HOSTILE, *MACHINE), ("matrix.csv", *MACHINE)],
    "size": [(HOSTILE, "--vary", "seed=1..2"), ("cluster.toml", "--vary", f"{HOSTILE}=1..2")],
    "traffic": [(HOSTILE, "--network", "torus"), ("uniform", "--network", HOSTILE)],
    "train": [(HOSTILE,), ("lenet", *MACHINE), ("lenet", "--communication", HOSTILE)],
    "gpu list": [()],
    "gpu run": [("relu", "--size", "64", "--preset", HOSTILE), (HOSTILE,), (HOSTILE + ".kernel",)],
    "gpu compare": [(HOSTILE,), ("relu", "--memory", "rdma", "--preset", HOSTILE)],
    "gpu litmus": [("--test", HOSTILE), ("--test", "spinning", "--preset", HOSTILE)],
    "thermal": [("package.toml", "--cells", "4"), ("package.toml", "--layer", HOSTILE), (HOSTILE,)],
    "study list": [()],
    "study mapa": [("--output", "machine.toml")],
    "study blink": [("--output", "machine.toml")],
    "study network": [("--output", "machine.toml")],
    "study pcie": [("--output", "machine.toml")],
    "study memory": [("--output", "machine.toml")],
    "study thermal": [("--output", "machine.toml")],
    "study training": [("--output", "machine.toml")],
}


def commands() -> Iterator[str]:
    waiting: list[tuple[str, object]] = [("", typer.main.get_command(app))]
    while waiting:
        words, command = waiting.pop()
        if isinstance(command, TyperGroup):
            waiting += [(f"{words} {name}", it) for name, it in command.commands.items()]
        else:
            yield words.strip()


def test_no_command_is_left_out() -> None:
    assert set(commands()) == set(RUNS)


def check_obeyed_by_no_terminal(text: str) -> None:
    for line in text.split("\n"):
        assert line.isprintable(), repr(line)
        assert not line.startswith("SPOOFED"), "a name began a line of its own"


@pytest.mark.parametrize("words", RUNS)
def test_names_never_reach_the_terminal_raw(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_inputs(tmp_path, HOSTILE)
    if words.startswith("state"):
        linkwright("allocate", *MACHINE, "--gpus", 1, "--state", "state.json", "--job", "a")
    for arguments in RUNS[words]:
        for more in ([], ["--json"]):
            result = linkwright(*words.split(), *arguments, *more)
            assert result.exception is None or isinstance(result.exception, SystemExit)
            check_obeyed_by_no_terminal(result.stdout)
            check_obeyed_by_no_terminal(result.stderr)
            if more and result.exit_code == 0:
                json.loads(result.stdout)


NO_UTF8 = os.fsdecode(b"\xff\xfe")
# Commands with a file of such a name: the input that it is, and the words; `{}` is the file.
UNDECODED: list[tuple[str, str]] = [
    ("machine.toml", "machine show {}"),
    ("machine.toml", "machine import {} --output {}.o"),
    ("machine.toml", "allocate -m {} -k 2 --state {}.state --job a"),
    ("machine.toml", "collective plan all-reduce -m {}"),
    ("schedule.xml", "collective check {}"),
    ("server.toml", "run {} -o {}.d"),
    ("server.toml", "compare {}"),
    ("cluster.toml", "run {} -o {}.d"),
    ("package.toml", "thermal {} --cells 4"),
    ("machine.toml", "train {}"),
    ("machine.toml", "train lenet --measured {} --terms {}"),
    ("machine.toml", "replay {}"),
    ("machine.toml", "replay kripke --ranks 8 --mapping {}"),
    ("machine.toml", "replay kripke --ranks 8 --network {}"),
    ("machine.toml", "replay kripke --ranks 8 --set {}=3"),
    ("machine.toml", "replay kripke --ranks 8 --parameter message={}"),
    ("machine.toml", "gpu run {}"),
    ("machine.toml", "gpu run relu --size 64 --preset {}"),
    ("machine.toml", "allocate -m dgx2 --edges {}"),
    ("machine.toml", "allocate -m dgx2 --counters {} {}"),
    ("machine.toml", "allocate -m dgx2 -k 2 --program {}"),
    ("machine.toml", "collective expect all-reduce -m dgx2 --log {}"),
    ("machine.toml", "train {}.none"),
    ("machine.toml", "{}"),
]


@pytest.mark.skipif(os.name != "posix", reason="names are texts there")
@pytest.mark.parametrize(("held", "line"), UNDECODED, ids=[line for _, line in UNDECODED])
def test_a_file_s_name_may_be_no_utf8(
    held: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_inputs(tmp_path, "plain")
    file = f"{NO_UTF8}.toml"
    os.rename(held, file)  # noqa: PTH104
    result = linkwright(*(word.format(*[file] * 2) for word in line.split()))
    assert "a fault of Linkwright" not in result.stderr
    check_obeyed_by_no_terminal(result.stdout + result.stderr)
    if held == "machine.toml" and not line.startswith(
        ("machine", "allocate -m {", "collective plan")
    ):
        assert result.exit_code in (1, 2)
        assert len(result.stderr.splitlines()) == 1
    else:
        assert result.exit_code == 0, result.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("form", ["toml", "json", "dot"])
def test_a_terminal_is_shown_documents_with_escapes(form: str, tmp_path: Path) -> None:
    import pty

    from commands import program

    write_inputs(tmp_path, HOSTILE)
    ours, theirs = pty.openpty()
    with program(
        "machine", "show", "machine.toml", "--as", form, cwd=tmp_path, stdout=theirs
    ) as run:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 65_536):
                shown += piece
        except OSError:
            pass
        assert run.wait() == 0
    os.close(ours)
    assert shown
    for line in shown.decode().replace("\r\n", "\n").split("\n"):
        assert line.isprintable(), repr(line)


class Page(HTMLParser):
    """Counts the elements of a page."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.handlers: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keeps the element, and what would run when it is drawn."""
        self.elements.append(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]


def write_pages(folder: Path, name: str) -> list[Path]:
    """Every kind of page and chart that the package writes, from inputs of this name."""
    folder.mkdir()
    write_inputs(folder, name)
    machine = System.from_text((folder / "machine.toml").read_text(encoding="utf-8"))
    results: list[SimulationResult] = [
        play_jobs(machine, [Job(name, "gmm", 2, iterations=3)], "preserve")
    ]
    chart = folder / "occupancy.html"
    save_chart(occupancy(results[0], machine.gpu_names, title=name), chart)
    run, replay = folder / "run", folder / "replay"
    write_run(play_mix(folder / "server.toml"), run)
    write_run(play_programs(folder / "cluster.toml"), replay)
    for command in ("compare", "time", "expect"):
        plot = folder / f"{command}.html"
        done = linkwright(
            *("collective", command, "all-reduce", "--machine", folder / "machine.toml"),
            *(() if command == "compare" else SMALL),
            *("--plot", plot),
        )
        assert done.exit_code == 0, done.output
    plots = [folder / f"{it}.html" for it in ("compare", "time", "expect")]
    return [chart, run / "report.html", replay / "report.html", *plots]


def test_names_add_no_element_to_a_page(tmp_path: Path) -> None:
    plain, hostile = (
        [Page(file) for file in write_pages(tmp_path / folder, name)]
        for folder, name in (("plain", "a"), ("hostile", HOSTILE))
    )
    for ours, theirs in zip(plain, hostile, strict=True):
        assert theirs.elements == ours.elements
        assert theirs.handlers == []
