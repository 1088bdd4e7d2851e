"""A sweep's checkpoint that was damaged or changed: refused, and never taken for what runs gave."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwright.errors import FileError, InputError
from linkwright.sweeps.checkpoint import Finished, Manifest, open_checkpoint

MANIFEST = Manifest("1", "module:function", 7, 4, "p", "c", "i")
RUNS = {f"key-{at}": json.dumps({"number": at}) for at in range(4)}
GIVEN = {key: Finished({"seconds": at * 1.5}, 0.25) for at, key in enumerate(RUNS)}


def write(file: Path, keys: list[str]) -> bytes:
    """A checkpoint with these runs."""
    with open_checkpoint(file, MANIFEST, RUNS) as checkpoint:
        for key in keys:
            checkpoint.keep(key, RUNS[key], GIVEN[key])
    return file.read_bytes()


def read(file: Path) -> dict[str, Finished]:
    with open_checkpoint(file, MANIFEST, RUNS) as checkpoint:
        return checkpoint.finished


def lines_of(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[bytes], bytes]:
    return lambda content: b"".join(change(content.splitlines(keepends=True)))


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda content: content.replace(b'"seconds":1.5', b'"seconds":1.4'), 3),
        (lambda content: content.replace(b'"cpu_seconds":0.25', b'"cpu_seconds":0.5', 1), 2),
        (lambda content: content.replace(b'"number":2', b'"number":3'), 4),
        (lines_of(lambda lines: [lines[0], *lines[2:]]), 2),
        (lines_of(lambda lines: [lines[0], lines[2], lines[1], *lines[3:]]), 2),
        (lines_of(lambda lines: [*lines, lines[-1]]), 6),
    ],
)
def test_a_changed_result_is_refused(
    change: Callable[[bytes], bytes], line: int, tmp_path: Path
) -> None:
    file = tmp_path / "sweep.jsonl"
    content = write(file, list(RUNS))
    assert read(file) == GIVEN
    file.write_bytes(change(content))
    with pytest.raises(InputError, match="was changed") as refused:
        read(file)
    assert refused.value.line == line
    assert file.read_bytes() == change(content)


def test_what_was_kept_in_several_goes_is_one_chain(tmp_path: Path) -> None:
    file, at_once = tmp_path / "several.jsonl", tmp_path / "once.jsonl"
    for key in RUNS:
        write(file, [key])
    assert file.read_bytes() == write(at_once, list(RUNS))
    assert read(file) == GIVEN


def test_a_process_killed_while_it_writes_loses_one_run(tmp_path: Path) -> None:
    file = tmp_path / "sweep.jsonl"
    content = write(file, list(RUNS))
    start = content.rfind(b"\n", 0, -1) + 1
    for end in range(start, len(content)):
        file.write_bytes(content[:end])
        assert read(file) == {key: GIVEN[key] for key in list(RUNS)[:3]}
        assert write(file, list(RUNS)[3:]) == content


def test_no_line_brings_a_traceback(tmp_path: Path) -> None:
    file = tmp_path / "sweep.jsonl"
    first = write(file, [])
    for line in (
        b"[" * 1_000_000,
        b'{"key":' * 100_000,
        b'{"key":[],"result":1,"cpu_seconds":1}',
        b'{"key":"key-0","result":1,"cpu_seconds":' + b"9" * 5_000 + b"}",
        b'{"key":"key-0","result":1,"cpu_seconds":1e999}',
        b'{"key":"\xff","result":1,"cpu_seconds":1}',
        b"\0" * 100,
    ):
        for content in (first + line + b"\n", line + b"\n"):
            file.write_bytes(content)
            with pytest.raises(InputError) as refused:
                read(file)
            assert len(str(refused.value)) < 1_000


@settings(max_examples=300)
@given(data=st.data())
def test_no_damage_is_taken_for_a_result(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("fuzz") / "sweep.jsonl"
    content = write(file, list(RUNS))
    at = data.draw(st.integers(0, len(content)))
    cut = data.draw(st.integers(0, 40))
    put = data.draw(
        st.one_of(st.binary(max_size=40), st.sampled_from([b"[" * 5_000, b"\n", b"{}"]))
    )
    file.write_bytes(content[:at] + put + content[at + cut :])
    try:
        found = read(file)
    except (InputError, FileError):
        return
    assert found.items() <= GIVEN.items()
