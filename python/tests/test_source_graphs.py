"""Asks who talks to whom by a program's source."""

from __future__ import annotations

import random
import tomllib
from contextlib import suppress
from itertools import product
from math import prod
from pathlib import Path

import pytest
from commands import fails, linkwright, parsed

from linkwright.errors import FileError, InputError, SimulationError
from linkwright.sources.graph import SourceGraph, load_source
from linkwright.sources.grids import balanced, shifted
from linkwright.sources.values import NOBODY, Grid

SOURCES = Path(__file__).resolve().parents[2] / "examples" / "sources"


def read(folder: Path, name: str, text: str, gpus: int | None = 4) -> SourceGraph:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return load_source(path, gpus=gpus)


def pairs(graph: SourceGraph) -> list[tuple[int, int]]:
    return [(edge.a, edge.b) for edge in graph.edges]


RING = [(0, 1), (0, 3), (1, 2), (2, 3)]
CHAIN = [(0, 1), (1, 2), (2, 3)]
STAR = [(0, 1), (0, 2), (0, 3)]
ALL = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


@pytest.mark.parametrize(
    ("name", "gpus", "shape", "expected", "first"),
    [
        ("training.cu", None, "ring", RING, (16, "ncclAllReduce")),
        ("halo.c", 4, "custom", CHAIN, (14, "MPI_Isend")),
        ("pipeline.py", 4, "custom", CHAIN, (23, "dist.send")),
    ],
)
def test_an_example_has_the_graph_that_its_calls_say(
    name: str, gpus: int | None, shape: str, expected: list[object], first: tuple[int, str]
) -> None:
    graph = load_source(SOURCES / name, gpus=gpus)
    assert (graph.pattern.shape, pairs(graph), graph.notes) == (shape, expected, [])
    assert (graph.edges[0].line, graph.edges[0].call) == first
    assert graph.edges[0].file == str(SOURCES / name)


def test_a_ring_of_peer_copies_says_how_many_gpus_it_has() -> None:
    graph = load_source(SOURCES / "peer-ring.cu")
    assert (graph.pattern.shape, graph.pattern.size) == ("ring", 5)
    with pytest.raises(InputError, match=r"peer-ring.cu:9:5: .*GPU 3.*give 4"):
        load_source(SOURCES / "peer-ring.cu", gpus=3)


def test_what_is_no_constant_takes_all_to_all_and_says_so() -> None:
    graph = load_source(SOURCES / "workers.cpp", gpus=4)
    assert pairs(graph) == ALL
    assert [(note.line, note.call) for note in graph.notes] == [(9, "MPI_Send")]


NAMED = {"ring": RING, "chain": CHAIN, "star": STAR, "all": ALL}


def named_pairs(text: str) -> list[tuple[int, int]]:
    """Gives the pairs that a case says to be joined."""
    pairs = [pair.split("-") for pair in text.split()]
    return NAMED.get(text) or [(int(a), int(b)) for a, b in pairs]


def c_cases() -> dict[str, list[tuple[int, int]]]:
    """Reads the cases in C: a line of source, and the pairs that its calls join."""
    lines = (Path(__file__).parent / "cases" / "source-calls.txt").read_text(encoding="utf-8")
    cases = {}
    for line in lines.splitlines()[1:]:
        expected, _, text = line.partition(": ")
        cases[text] = named_pairs(expected)
    return cases


PYTHON_CASES = {
    "import torch.distributed as d\nd.all_reduce(x)\n": RING,
    "from torch.distributed import all_to_all_single as go\ngo(a, b)\n": ALL,
    "import torch\nfor peer in range(1, 4):\n    torch.distributed.send(x, peer)\n": ALL,
    "import torch.distributed as d\nif d.get_rank() == 0:\n    for p in range(1, 4):\n"
    "        d.send(x, dst=p)\nelse:\n    d.recv(x, 0)\n": STAR,
    "import torch.distributed as d\ng = d.new_group([1, 2])\nd.all_reduce(x, group=g)\n": [(1, 2)],
    "import torch.distributed as d\nr, n = d.get_rank(), d.get_world_size()\n"
    "ops = [d.P2POp(d.isend, x, p) for p in [(r + 1) % n]]\nd.batch_isend_irecv(ops)\n": RING,
    "from mpi4py import MPI\nc = MPI.COMM_WORLD\nif c.rank:\n    c.send(x, c.rank - 1)\n": CHAIN,
    "from torch.nn.parallel import DistributedDataParallel as DDP\nm = DDP(m)\n": RING,
    "import torch.multiprocessing as mp\nimport torch.distributed as d\n"
    "def run(rank, n):\n    d.send(x, (rank + 1) % n)\nmp.spawn(run, args=(4,), nprocs=4)\n": RING,
    "import os\nimport torch.distributed as d\nr = int(os.environ['RANK'])\n"
    "if r < 3:\n    d.send(x, r + 1)\n": CHAIN,
}


def test_each_kind_of_call_joins_what_it_should(tmp_path: Path) -> None:
    for name, cases in (("a.cu", c_cases()), ("a.c", c_cases()), ("a.py", PYTHON_CASES)):
        for text, expected in cases.items():
            assert pairs(read(tmp_path, name, text)) == expected, text


@pytest.mark.parametrize(("language", "name"), [("c", "a.cu"), ("python", "a.py")])
def test_what_a_source_does_is_followed(tmp_path: Path, language: str, name: str) -> None:
    text = (Path(__file__).parent / "cases" / "sources.toml").read_text(encoding="utf-8")
    for what, case in tomllib.loads(text)[language].items():
        graph = read(tmp_path, name, case["text"])
        assert pairs(graph) == named_pairs(case["joins"]), what
        assert bool(graph.notes) == case.get("open", False), (what, graph.notes)


def test_what_is_too_much_to_follow_is_taken_to_be_anything(tmp_path: Path) -> None:
    head = "import torch.distributed as d\nr = d.get_rank()\ndef go(p):\n    d.send(x, p)\n"
    long = "go(0)\nfor a in range(200):\n    for b in range(200):\n        z = a * b\ngo(2)\n"
    deep = "".join(f"def f{i}(p):\n    f{i + 1}(p)\n" for i in range(12))
    deep += "def f12(p):\n    go(p)\ngo(0)\nf0(3)\n"
    for text in (long, deep):
        graph = read(tmp_path, "a.py", head + text)
        assert pairs(graph) == ALL
        assert graph.notes


def test_a_grid_is_as_even_as_can_be() -> None:
    for ranks, count in product(range(1, 25), (1, 2, 3)):
        sizes = balanced(ranks, [0] * count)
        assert isinstance(sizes, list)
        assert prod(sizes) == ranks
        assert sizes == sorted(sizes, reverse=True)
        every = product(range(1, ranks + 1), repeat=count)
        spread = min(max(parts) - min(parts) for parts in every if prod(parts) == ranks)
        assert sizes[0] - sizes[-1] == spread
    assert balanced(12, [0, 2, 0]) == [3, 2, 2]
    assert shifted(Grid((2, 3), (False, True)), 5, 1, 1) == [4, 3]
    assert shifted(Grid((2, 3), (False, True)), 5, 0, 1) == [2, NOBODY]


def test_bad_sources_are_refused_in_one_line(tmp_path: Path) -> None:
    for name, text, expected in (
        ("a.c", "void f() {\n  int = ;\n}\n", "a.c:2:"),
        ("a.py", "def f(:\n", "a.py:1:"),
        ("a.py", "x = 1\n# dist.send(x, 1)\n", "a.py:1:1: no call moves data"),
        ("a.c", "int x = " + "(" * 400 + "1" + ")" * 400 + ";", "nested deeper"),
        ("a.cu", "int main() { ncclCommInitAll(c, 3, d); ncclAllReduce(a); }", "a.cu:1:14: "),
        ("a.cu", "void f() { ncclSend(a, 1, t, 0, comms[4], s); }", "give 5 or more"),
    ):
        with pytest.raises(InputError) as error:
            read(tmp_path, name, text)
        told = str(error.value)
        assert expected in told, told
        assert "; " in told, told
        assert "\n" not in told, told
    with pytest.raises(SimulationError, match="--gpus"):
        read(tmp_path, "a.c", "void f() { ncclAllReduce(a, b, 1, t, o, c, s); }", None)
    large = tmp_path / "large.cu"
    large.write_bytes(b"int x;\n" * (50 * 2**20 // 7))
    with pytest.raises(FileError, match=r"large\.cu"):
        load_source(large)
    assert "large.cu" in fails(2, "allocate", "-m", "dgx1-v100", "--program", large)


def test_a_damaged_source_is_read_or_refused(tmp_path: Path) -> None:
    chance = random.Random(46)
    for name in ("training.cu", "halo.c", "pipeline.py"):
        content = (SOURCES / name).read_bytes()
        for _ in range(12):
            at, length = chance.randrange(len(content)), chance.randrange(40)
            damaged = tmp_path / name
            damaged.write_bytes(
                content[:at]
                + bytes(chance.randrange(128) for _ in range(3))
                + content[at + length :]
            )
            with suppress(InputError):
                load_source(damaged, gpus=3)


def test_allocate_takes_sources_and_training_and_tells_each_edge() -> None:
    told = parsed("allocate", "-m", "dgx1-v100", "--program", SOURCES / "training.cu")
    edges = told["program"]["edges"]
    assert len(told["gpus"]) == 4
    assert len(edges) == 4
    assert {(edge["line"], edge["call"]) for edge in edges} == {(16, "ncclAllReduce")}
    words = ["allocate", "-m", "dgx1-v100", "-k", "4", "--program", "resnet-50"]
    told = parsed(*words, "--communication", "pipeline")
    traffic = told["program"]["traffic"]
    assert [(edge["a"], edge["b"]) for edge in traffic] == CHAIN
    assert sum(edge["share"] for edge in traffic) == pytest.approx(1)
    assert all(edge["bytes_a_to_b"] == edge["bytes_b_to_a"] > 0 for edge in traffic)
    result = linkwright(*words, "--batch", "64", "--sensitivity", "measured")
    assert "Measured: " in result.stderr, result.stderr
