"""Files and folders that are written whole, whatever happens to their writer."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from commands import linkwright, program, write_scenario

from linkwright.errors import FileError
from linkwright.writing import replace_file, staged

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no such locks, links and signals")


def test_a_file_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    (tmp_path / "true").mkdir()
    file, link = tmp_path / "true" / "state.json", tmp_path / "link.json"
    file.write_bytes(b"old")
    file.chmod(0o600)
    link.symlink_to(file)
    replace_file(link, b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert os.listdir(tmp_path / "true") == ["state.json"]  # noqa: PTH208


def test_a_link_that_leads_nowhere_yet_makes_what_it_leads_to(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "file")
    replace_file(link, b"new")
    assert (link.is_symlink(), (tmp_path / "file").read_bytes()) == (True, b"new")
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    with pytest.raises(FileError, match="cannot follow"):
        replace_file(circle, b"new")


def test_a_new_file_has_the_mode_that_the_user_s_mask_gives(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        replace_file(tmp_path / "file", b"")
        with staged(tmp_path / "set") as (aside, _):
            (aside / "a").touch()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "set").stat().st_mode) == 0o750


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="not the superuser")
def test_the_superuser_leaves_a_file_to_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    os.chown(file, 1234, 4321)
    replace_file(file, b"new")
    assert (file.stat().st_uid, file.stat().st_gid) == (1234, 4321)


def test_a_name_laid_as_a_link_before_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim, file = tmp_path / "victim", tmp_path / "file"
    victim.write_bytes(b"whole")
    names = iter([bytes(16), bytes(16), bytes([1]) * 16])
    # Even a name that somebody guessed is refused by the system.
    (tmp_path / f".file.{'00' * 16}.part").symlink_to(victim)
    monkeypatch.setattr(os, "urandom", lambda _: next(names))
    with pytest.raises(FileExistsError):
        replace_file(file, b"new")
    assert victim.read_bytes() == b"whole"
    monkeypatch.undo()
    asides = set()
    for _ in range(20):
        monkeypatch.setattr(os, "replace", lambda aside, _: asides.add(Path(aside).name))
        replace_file(file, b"new")
        monkeypatch.undo()
    assert len(asides) == 20


def test_a_device_is_written_to_where_it_stands(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    replace_file(Path(f"/dev/fd/{writer}"), b"told")
    os.close(writer)
    assert os.read(reader, 100) == b"told"
    os.close(reader)
    assert list(tmp_path.iterdir()) == []


def test_all_is_on_the_disk_before_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened: list[str] = []
    fsync, replace = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        happened.append(f"sync {kind}")
        fsync(descriptor)

    def renamed(old: Path, new: Path) -> None:
        happened.append("rename")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    monkeypatch.setattr("typer.echo", lambda *_, **__: happened.append("tell"))
    at = ["-m", "dgx1-v100", "--state", tmp_path / "state.json"]
    assert linkwright("allocate", *at, "-k", 2, "--job", "a").exit_code == 0
    # The first that is told is the answer; remarks follow.
    assert happened[:4] == ["sync file", "rename", "sync folder", "tell"]
    assert "rename" not in happened[4:]


@pytest.mark.parametrize("existing", [False, True])
def test_a_set_whose_folder_the_disk_does_not_take_is_no_success(
    tmp_path: Path, existing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    if existing:
        out.mkdir()
    fsync = os.fsync

    def failing(descriptor: int) -> None:
        target = out if existing else tmp_path
        if os.path.samestat(os.fstat(descriptor), target.stat()):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        fsync(descriptor)

    def write() -> None:
        with staged(out) as (aside, _):
            (aside / "manifest.json").touch()

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(FileError, match=r"cannot write into `.*`: input/output error"):
        write()


DYING = """
import os, signal, sys
from pathlib import Path
import linkwright.writing as writing
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def dies(code: str, *words: object) -> None:
    """Runs Python code that kills itself."""
    ended = subprocess.run([sys.executable, "-c", DYING + code, *map(str, words)], timeout=60)
    assert ended.returncode == -signal.SIGKILL


def test_what_dead_writers_left_is_swept_and_of_living_ones_is_not(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    dies("os.replace = die; writing.replace_file(Path(sys.argv[1]), b'1')", file)
    assert len(list(tmp_path.glob(".state.json.*.part"))) == 1
    # An earlier version's, a user's own, and one that is being written.
    (tmp_path / ".state.json.4711.part").touch()
    own = tmp_path / ".state.json.of-mine.part"
    own.touch()
    with staged(tmp_path / "state.json.d") as (living, _):
        replace_file(file, b"2")
        replace_file(tmp_path / "state.json.d.other", b"2")
        assert living.is_dir()
        (living / "a").touch()
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept == {"state.json", own.name, "state.json.d", "state.json.d.other"}


def test_a_folder_left_by_a_killed_writer_is_swept(tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = """
with writing.staged(Path(sys.argv[1])) as (aside, _):
    (aside / "a").touch()
    die()
"""
    dies(code, out)
    assert [path.name[:5] for path in tmp_path.iterdir()] == [".out."]
    with staged(out) as (aside, _):
        (aside / "a").touch()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    dies(code, out)
    # What the versions before this one left there.
    (out / ".part-k3_x9abc").mkdir()
    assert len(list(out.glob(".part-*"))) == 2
    with staged(out) as (aside, written):
        (aside / "b").touch()
    assert written == [out / "b"]
    assert {path.name for path in out.iterdir()} == {"a", "b"}


NAMES = ["jobs.parquet", "manifest.json", "report.html", "summary.json"]

SET = """
import itertools
steps = itertools.count(1)
def counted(call):
    def step(*words, **options):
        if next(steps) == int(sys.argv[3]):
            die()
        return call(*words, **options)
    return step
for name in ("replace", "unlink", "fsync", "rename", "rmdir"):
    setattr(os, name, counted(getattr(os, name)))
with writing.staged(Path(sys.argv[1])) as (aside, _):
    for name in sys.argv[4:]:
        (aside / name).write_text(sys.argv[2])
"""


def test_a_set_killed_at_any_step_is_whole_or_without_its_manifest(tmp_path: Path) -> None:
    out = tmp_path / "out"
    step, killed, torn = 0, True, 0
    while killed:
        step += 1
        with staged(out) as (aside, _):
            for name in [*NAMES, "timeline.json"]:
                (aside / name).write_text("old", encoding="utf-8")
        words = [out, "new", step, *NAMES]
        ended = subprocess.run([sys.executable, "-c", DYING + SET, *map(str, words)], timeout=60)
        killed = ended.returncode != 0
        found = {path.name: path.read_text() for path in out.iterdir() if path.is_file()}
        if "manifest.json" in found:
            whole = [dict.fromkeys(NAMES, "new")]
            whole.append(dict.fromkeys([*NAMES, "timeline.json"], "old"))
            assert found in whole
        else:
            torn += 1
    assert step > 10
    assert torn > 3
    assert sorted(path.name for path in out.iterdir()) == NAMES


def test_a_new_directory_appears_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "deep" / "out"
    monkeypatch.setattr(os, "replace", lambda *_: pytest.fail("moved one by one"))
    with staged(out) as (aside, written):
        (aside / "a").touch()
        assert not out.exists()
    assert written == [out / "a"]


def test_a_set_goes_where_a_linked_directory_is(tmp_path: Path) -> None:
    (tmp_path / "true").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "true")
    with staged(tmp_path / "link") as (aside, _):
        (aside / "a").touch()
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "true" / "a").exists()


def test_what_cannot_be_replaced_is_said_before_anything_is(tmp_path: Path) -> None:
    (tmp_path / "out" / "b").mkdir(parents=True)
    (tmp_path / "out" / "a").write_text("old", encoding="utf-8")

    def written() -> None:
        with staged(tmp_path / "out") as (aside, _):
            (aside / "a").touch()
            (aside / "b").touch()

    with pytest.raises(FileError, match="is a directory"):
        written()
    assert (tmp_path / "out" / "a").read_text(encoding="utf-8") == "old"
    with pytest.raises(FileError, match="is no directory"), staged(tmp_path / "out" / "a"):
        pass


SLOW = """
import time, sys
import linkwright.runs.report as report
def slow(*words, **options):
    print("writing", flush=True)
    time.sleep(60)
report.write_report = slow
from linkwright.cli import main
main()
"""


@pytest.mark.parametrize(
    ("sent", "code", "said"),
    [
        (signal.SIGTERM, 143, "error: interrupted\n"),
        (signal.SIGKILL, -signal.SIGKILL, ""),
    ],
)
def test_a_run_that_is_ended_while_it_writes_leaves_nothing_for_good(
    tmp_path: Path, sent: signal.Signals, code: int, said: str
) -> None:
    scenario, out = write_scenario(tmp_path), tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, "run", str(scenario), "-o", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    process.send_signal(sent)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (code, said)
    left = [path.name for path in tmp_path.iterdir() if path != scenario]
    if sent == signal.SIGKILL:
        assert len(left) == 1
        assert left[0].startswith(".out.")
        assert linkwright("run", scenario, "-o", out).exit_code == 0
        left = [path.name for path in tmp_path.iterdir() if path not in (scenario, out)]
    assert left == []


def test_sigterm_ends_a_command_as_ctrl_c_does(tmp_path: Path) -> None:
    # A pipe that nobody fills: what reads it waits, and says so by opening it.
    edges = tmp_path / "edges"
    os.mkfifo(edges)
    for sent, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        process = program(
            *("allocate", "-m", "dgx1-v100", "--edges", edges),
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        with edges.open("wb"):
            process.send_signal(sent)
            out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (code, b"", b"error: interrupted\n")


def test_sigterm_that_is_ignored_at_the_start_stays_ignored(tmp_path: Path) -> None:
    edges = tmp_path / "edges"
    os.mkfifo(edges)
    process = program(
        *("allocate", "-m", "dgx1-v100", "--edges", edges),
        preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
    )
    with edges.open("wb") as stream:
        process.send_signal(signal.SIGTERM)
        stream.write(b"0 1\n")
    out, _ = process.communicate(timeout=60)
    answer = b"CUDA_VISIBLE_DEVICES=2,3\nCUDA_DEVICE_ORDER=PCI_BUS_ID\n"
    assert (process.returncode, out) == (0, answer)
