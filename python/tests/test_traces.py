"""Programs from OTF2 archives and back."""

import re
import runpy
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from linkwright import LinkwrightError
from linkwright.errors import FileError, InputError, SimulationError
from linkwright.network import Program, read_otf2
from linkwright.names import ApplicationName
from linkwright.traces import write_otf2
from linkwright.traces.events import bytes_of

STENCIL = Path("examples/traces/stencil4d-32/traces.otf2")


def rows(program: Program, rank: int) -> list[dict[str, Any]]:
    return pa.table(program.operations_of(rank)).to_pylist()


def write(program: Program, folder: Path) -> Program:
    pytest.importorskip("_otf2", reason="the package otf2 has no wheel here")
    write_otf2(program, folder / "traces.otf2")
    return Program.from_otf2(folder / "traces.otf2", name=program.name)


def seen(program: Program, rank: int) -> list[tuple[Any, ...]]:
    """What a rank does, without how it waits: computations in a row are one."""
    fields = ["kind", "collective", "peer", "tag", "size", "in_loop"]
    found: list[tuple[Any, ...]] = []
    for row in rows(program, rank):
        if row["kind"] in ("join", "enter", "leave"):
            continue
        if row["kind"] != "compute":
            members = program.communicators[row["communicator"]]
            found.append((*(row[field] for field in fields), members))
        elif found and found[-1][0] == "compute":
            found[-1] = ("compute", found[-1][1] + row["duration"])
        elif row["duration"] > 0:
            found.append(("compute", row["duration"]))
    return found


def test_the_recorded_stencil() -> None:
    program, notes = read_otf2(STENCIL)
    assert program == Program.from_otf2(str(STENCIL))
    assert (program.name, program.ranks, program.has_loop) == ("stencil4d-32", 32, True)
    assert program.communicators == [list(range(32))]
    assert notes == [
        "calls that record no message are left out, and so is their time: 32 of MPI_Init"
    ]
    kinds = Counter(row["kind"] for row in rows(program, 1))
    assert [kinds[kind] for kind in ("send", "receive", "collective", "join")] == [16, 16, 3, 2]
    table = pa.table(program.operations_of(1))
    assert table.schema.field("duration").metadata == {b"unit": b"ps"}
    assert {row["size"] for row in rows(program, 1) if row["kind"] == "send"} == {131072}


def script_of_the_stencil() -> dict[str, Any]:
    pytest.importorskip("_otf2", reason="the package otf2 has no wheel here")
    return runpy.run_path(str(STENCIL.parents[1] / "record_stencil4d.py"))


def test_the_stencil_is_recorded_the_same_way_again(tmp_path: Path) -> None:
    script = script_of_the_stencil()
    script["write"](tmp_path)
    assert script["files_of"](tmp_path) == script["files_of"](STENCIL.parent)
    script["check"]()
    (tmp_path / "traces" / "7.evt").unlink()
    script["check"].__globals__["FOLDER"] = tmp_path
    with pytest.raises(SystemExit, match=r"differs from what this script records: traces/7\.evt"):
        script["check"]()


def test_another_reader_agrees_on_events_messages_and_bytes() -> None:
    reader = shutil.which("otf2-print")
    if reader is None:
        pytest.skip("otf2-print is not installed")
    printed = subprocess.run([reader, STENCIL], capture_output=True, text=True, check=True).stdout
    kinds: Counter[str] = Counter()
    sizes: Counter[tuple[str, int]] = Counter()
    for line in printed.splitlines():
        kind = line.split(" ", 1)[0]
        if re.fullmatch(r"[A-Z0-9_]{5,}", kind):
            kinds[kind] += 1
            length = re.search(r"Length: (\d+)", line)
            if length is not None:
                sizes[kind, int(length[1])] += 1
    program = Program.from_otf2(STENCIL)
    ours: Counter[str] = Counter()
    for rank in range(program.ranks):
        ours.update(row["kind"] for row in rows(program, rank))
    messages = program.ranks * 2 * 8
    assert kinds["MPI_SEND"] == kinds["MPI_IRECV"] == ours["send"] == ours["receive"] == messages
    assert sizes == {("MPI_SEND", 131072): messages, ("MPI_IRECV", 131072): messages}
    assert kinds["MPI_COLLECTIVE_END"] == ours["collective"] == 3 * program.ranks
    listing = (STENCIL.parents[3] / "validation" / "otf2" / "stencil4d-32.listing").read_text()
    events = re.findall(r"^\d+ \d+ [A-Z]", listing, re.MULTILINE)
    assert sum(kinds.values()) == len(events) == 4450


def test_a_program_without_the_region_or_the_rank() -> None:
    with pytest.raises(SimulationError, match="rank 0 never enters the region `loop`"):
        Program.from_otf2(STENCIL, main_loop="loop")
    with pytest.raises(SimulationError, match="there is no rank 32; the program has 32, from 0"):
        Program.from_otf2(STENCIL).operations_of(32)
    with pytest.raises(InputError, match="the archive lacks this file"):
        Program.from_otf2(STENCIL.with_name("absent.otf2"))


def test_the_recorded_stencil_survives_a_copy(tmp_path: Path) -> None:
    program = Program.from_otf2(STENCIL)
    assert write(program, tmp_path) == program


@pytest.mark.parametrize("name", ["stencil4d", "subcomm3d", "kripke", "laghos", "amg", "sw4lite"])
def test_a_skeleton_survives_a_copy(name: ApplicationName, tmp_path: Path) -> None:
    # Fewer of the many small messages than by default: they are all of one form.
    options = {"group_sets": 1} if name == "kripke" else {}
    program = Program.skeleton(name, 32, **options)
    again = write(program, tmp_path)
    for rank in range(32):
        assert seen(again, rank) == seen(program, rank)


GOAL = """num_ranks 3
rank 0 {
a: send 8b to 1 tag 1
b: recv 9b from 2 tag 4
c: calc 100
d: send 7b to 2 tag 5
c irequires a
c irequires b
d requires c
d requires b
}
rank 1 {
recv 8b from 0 tag 1
}
rank 2 {
a: send 9b to 0 tag 4
b: recv 7b from 0 tag 5
}
"""


def test_goal_becomes_a_trace(tmp_path: Path) -> None:
    program = Program.from_goal(GOAL, "three.goal")
    again = write(program, tmp_path)
    assert [seen(again, rank) for rank in range(3)] == [seen(program, rank) for rank in range(3)]
    kinds = [row["kind"] for row in rows(again, 0)]
    assert kinds == ["send", "receive", "compute", "join", "send", "join"]


@pytest.mark.parametrize(
    ("collective", "place", "root", "expected"),
    [
        ("barrier", 1, False, (0, 0)),
        ("broadcast", 1, True, (40, 10)),
        ("broadcast", 1, False, (0, 10)),
        ("gather", 0, True, (10, 40)),
        ("reduce", 2, False, (10, 0)),
        ("all-reduce", 2, False, (40, 40)),
        ("reduce-scatter", 2, False, (10, 8)),
        ("scan", 1, False, (20, 20)),
    ],
)
def test_collectives_are_recorded_as_score_p_does(
    collective: str, place: int, root: bool, expected: tuple[int, int]
) -> None:
    assert bytes_of(collective, 10, 4, place, root) == expected


def test_the_stencil_goes_to_goal_and_back() -> None:
    program = Program.from_otf2(STENCIL)
    again = Program.from_goal(program.to_goal(time_unit=1e-12), time_unit=1e-12)
    assert again.ranks == 32
    computed = [sum(row["duration"] or 0 for row in rows(it, 3)) for it in (program, again)]
    assert computed[0] == computed[1]


def test_what_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    anyone = Program.from_goal(
        "num_ranks 2\nrank 0 {\nrecv 8b from -1\n}\nrank 1 {\nsend 8b to 0\n}\n"
    )
    with pytest.raises(SimulationError, match="operation 0 of rank 0 receives from any sender"):
        write_otf2(anyone, tmp_path / "any.otf2")
    program = Program.skeleton("stencil4d", 16)
    pytest.importorskip("_otf2", reason="the package otf2 has no wheel here")
    with pytest.raises(FileError, match=r"end it in \.otf2"):
        write_otf2(program, tmp_path / "traces")
    with pytest.raises(FileError, match="make it first"):
        write_otf2(program, tmp_path / "absent" / "traces.otf2")
    (tmp_path / "there.otf2").touch()
    with pytest.raises(FileError, match="is there already"):
        write_otf2(program, tmp_path / "there.otf2")
    monkeypatch.setitem(sys.modules, "_otf2", None)
    with pytest.raises(LinkwrightError, match="pip install 'linkwright\\[otf2\\]'"):
        write_otf2(program, tmp_path / "traces.otf2")
