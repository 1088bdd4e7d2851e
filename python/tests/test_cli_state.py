"""What a server's state survives: kills, links, readers that leave, and other programs."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from commands import fails, linkwright, parsed, program

from linkwright import packing_rate

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(os.name == "nt", reason="no such locks, links and signals")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A state's file in a folder of its own."""
    (tmp_path / "server").mkdir()
    return tmp_path / "server" / "state.json"


def at(file: Path) -> list[object]:
    """The options of a DGX-1V with its state in the file."""
    return ["-m", "dgx1-v100", "--state", file]


def held(file: Path) -> dict[str, list[int]]:
    """Who holds what."""
    found: dict[str, list[int]] = parsed("state", "show", *at(file))["held"]
    return found


def test_killed_two_hundred_times_at_every_step_no_gpu_has_two_owners(tmp_path: Path) -> None:
    words = [sys.executable, str(HERE / "kill_state.py"), str(tmp_path), "200"]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stderr
    counted = json.loads(ended.stdout.splitlines()[-1])
    assert counted["kills"] >= 200
    # Most kills come before the state is written or after the answer is; some fall between.
    assert 0 < counted["leaks"] < counted["kills"]


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
def test_killed_once_the_answer_is_read_the_state_has_it(file: Path, sent: signal.Signals) -> None:
    told: dict[str, str] = {}
    for number in range(4):
        process = program("allocate", *at(file), "-k", 2, "--job", f"job-{number}")
        assert process.stdout is not None
        answer = process.stdout.readline().decode()
        process.send_signal(sent)
        process.communicate(timeout=60)
        told[f"job-{number}"] = answer.strip().removeprefix("CUDA_VISIBLE_DEVICES=")
    shown = {job: ",".join(map(str, gpus)) for job, gpus in held(file).items()}
    assert shown == told
    assert sorted(",".join(told.values()).split(",")) == list("01234567")


def test_the_packing_rate_is_sought_while_others_change_the_state(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in (["--json"], []):
        job = f"job-{len(words)}"

        def asking(*given: object, job: str = job) -> object:
            # The program that is asked here would wait for ever for a lock that were held.
            assert job in held(file)
            process = program("state", "mark-unhealthy", 7, *at(file))
            assert process.wait(timeout=60) == 0
            process.communicate()
            return packing_rate(*given)  # type: ignore[arg-type]

        monkeypatch.setattr("linkwright.cli.allocate.packing_rate", asking)
        result = linkwright("allocate", *at(file), "-k", 2, "--job", job, *words)
        assert result.exit_code == 0, result.output
    assert set(held(file)) == {"job-0", "job-1"}


def test_an_answer_that_fails_takes_back_its_own_change_alone(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> object:
        monkeypatch.undo()
        assert linkwright("allocate", *at(file), "-k", 3, "--job", "other").exit_code == 0
        raise KeyboardInterrupt

    monkeypatch.setattr("linkwright.cli.allocate.packing_rate", failing)
    result = linkwright("allocate", *at(file), "-k", 2, "--job", "mine", "--json")
    assert (result.exit_code, result.stdout) == (130, "")
    assert list(held(file)) == ["other"]


def test_an_answer_that_fails_leaves_to_another_what_was_given_anew(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> object:
        monkeypatch.undo()
        assert linkwright("state", "release", "mine", *at(file)).exit_code == 0
        assert linkwright("allocate", *at(file), "-k", 4, "--job", "mine").exit_code == 0
        raise KeyboardInterrupt

    monkeypatch.setattr("linkwright.cli.allocate.packing_rate", failing)
    result = linkwright("allocate", *at(file), "-k", 2, "--job", "mine", "--json")
    assert result.exit_code == 130
    assert len(held(file)["mine"]) == 4


def test_a_state_is_one_state_by_whatever_link(file: Path, tmp_path: Path) -> None:
    link, folder = tmp_path / "link.json", tmp_path / "folder"
    link.symlink_to(file)
    folder.symlink_to(file.parent)
    names = [link, file, folder / "state.json", link]
    started = [
        program("allocate", *at(name), "--json", "-k", 2, "--job", f"job-{number}")
        for number, name in enumerate(names)
    ]
    given = [json.loads(process.communicate(timeout=120)[0])["gpus"] for process in started]
    assert sorted(gpu for gpus in given for gpu in gpus) == list(range(8))
    assert link.is_symlink()
    assert held(link) == held(file)
    assert len(held(file)) == 4


def test_a_private_state_stays_private(file: Path) -> None:
    parsed("allocate", *at(file), "-k", 1, "--job", "a")
    file.chmod(0o600)
    parsed("allocate", *at(file), "-k", 1, "--job", "b")
    parsed("state", "release", "a", *at(file))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_state_of_two_hard_names_or_none_to_be_replaced_is_refused(file: Path) -> None:
    parsed("allocate", *at(file), "-k", 1, "--job", "a")
    other = file.with_name("other.json")
    os.link(file, other)
    assert "has 2 names (hard links)" in fails(2, "state", "release", "a", *at(other))
    other.unlink()
    os.mkfifo(other)
    assert "is no plain file" in fails(2, "allocate", *at(other), "-k", 1, "--job", "a")
    assert "is a directory" in fails(2, "allocate", *at(file.parent), "-k", 1, "--job", "a")


def test_a_program_that_waits_for_its_turn_can_be_ended(file: Path, tmp_path: Path) -> None:
    import fcntl

    edges = tmp_path / "edges"
    os.mkfifo(edges)
    handle = os.open(file.parent, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    process = program("allocate", *at(file), "--edges", edges, "--job", "a")
    with edges.open("wb") as stream:
        stream.write(b"0 1\n")
    process.terminate()
    out, err = process.communicate(timeout=60)
    os.close(handle)
    assert (process.returncode, out, err) == (143, b"", b"error: interrupted\n")
    assert list(file.parent.iterdir()) == []
