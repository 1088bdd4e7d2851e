"""Standard output is written whole, or the exit code says that it was not.

Python writes in two ways. The unbuffered one (PYTHONUNBUFFERED=1, usual in containers) takes a part
that the system has written for the whole.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from commands import surroundings

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no such devices, limits and signals")

# More than a pipe holds, and than the small disk.
LONG = ["jobs", "generate", "--count", "3000", "--seed", "1"]
SMALL = 64 * 1024
BUFFERINGS = ["", "1"]


@pytest.fixture(scope="module")
def whole() -> bytes:
    """Prints all of it, where nothing stands in its way."""
    code, out, said = ended(LONG, "")
    assert (code, said) == (0, b"")
    assert len(out) > SMALL
    return out


def ended(words: list[str], unbuffered: str, **options: Any) -> tuple[int, bytes, bytes]:
    """Runs a command; gives its exit code and the texts that went into pipes."""
    done = subprocess.run(
        [sys.executable, "-m", "linkwright", *words],
        env=surroundings() | {"PYTHONUNBUFFERED": unbuffered},
        timeout=60,
        check=False,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )
    return done.returncode, done.stdout or b"", done.stderr or b""


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of 64 kB, where this user may have one."""
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "none", str(folder)],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("this user may mount nothing")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("unbuffered", BUFFERINGS)
def test_pipes_and_files_get_all_of_it(unbuffered: str, whole: bytes, tmp_path: Path) -> None:
    assert ended(LONG, unbuffered) == (0, whole, b"")
    file = tmp_path / "out"
    with file.open("wb") as stream:
        assert ended(LONG, unbuffered, stdout=stream)[0] == 0
    assert file.read_bytes() == whole


@pytest.mark.parametrize("unbuffered", BUFFERINGS)
def test_a_reader_that_leaves_in_the_middle_is_told_by_the_code(unbuffered: str) -> None:
    for words in (LONG, [*LONG, "--json"]):
        process = subprocess.Popen(
            [sys.executable, "-m", "linkwright", *words],
            env=surroundings() | {"PYTHONUNBUFFERED": unbuffered},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        # Once some of it is there, the rest is being written, and the pipe is full.
        assert os.read(process.stdout.fileno(), 10)
        process.stdout.close()
        assert (process.wait(timeout=60), process.stderr.read()) == (141, b"")
        process.stderr.close()


@pytest.mark.parametrize("unbuffered", BUFFERINGS)
def test_a_limit_of_a_file_s_size_is_told(unbuffered: str, whole: bytes, tmp_path: Path) -> None:
    file = tmp_path / "out"
    with file.open("wb") as stream:
        code, _, said = ended(
            LONG,
            unbuffered,
            stdout=stream,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, SMALL)),
        )
    assert (code, said) == (2, b"error: cannot write to standard output: file too large\n")
    assert file.read_bytes() == whole[:SMALL]


@pytest.mark.parametrize("unbuffered", BUFFERINGS)
def test_a_disk_that_becomes_full_is_told(unbuffered: str, whole: bytes, tmp_path: Path) -> None:
    with small_disk(tmp_path) as folder:
        file = folder / "out"
        with file.open("wb") as stream:
            code, _, said = ended(LONG, unbuffered, stdout=stream)
        assert (code, said) == (
            2,
            b"error: cannot write to standard output: no space left on device\n",
        )
        assert 0 < file.stat().st_size < len(whole)
        file.unlink()
        # A file of its own is there whole, or not at all.
        code, out, said = ended([*LONG, "--output", str(file)], unbuffered)
        assert (code, out) == (2, b"")
        assert said.startswith(b"error: cannot write `")
        assert list(folder.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("unbuffered", BUFFERINGS)
def test_a_disk_that_is_full_and_no_output_at_all_are_told(unbuffered: str) -> None:
    with Path("/dev/full").open("wb") as full:
        code, _, said = ended(["--version"], unbuffered, stdout=full)
    assert (code, said) == (
        2,
        b"error: cannot write to standard output: no space left on device\n",
    )
    closed = ended(["--version"], unbuffered, stdout=None, preexec_fn=lambda: os.close(1))
    assert closed == (2, b"", b"error: cannot write to standard output: it is closed\n")
