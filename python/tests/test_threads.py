"""Long work of the core lets other threads of the interpreter run meanwhile."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from linkwright import System
from linkwright.scenario import generate_jobs, jobs_from_text, play_jobs, write_jobs


@pytest.fixture(autouse=True)
def patient() -> Iterator[None]:
    """No thread is asked to let others run: whoever goes on while another works was let."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1_000)
    yield
    sys.setswitchinterval(before)


def lets_others_run(work: Callable[[], object]) -> bool:
    begins, over = threading.Event(), threading.Event()

    def play() -> None:
        begins.set()
        work()
        over.set()

    worker = threading.Thread(target=play)
    worker.start()
    begins.wait()
    meanwhile = not over.is_set()
    worker.join()
    return meanwhile


def test_what_holds_the_lock_is_told_from_what_releases_it() -> None:
    assert not lets_others_run(lambda: sum(range(1_000_000)))


def test_jobs_are_generated_read_and_written_beside_other_threads() -> None:
    assert lets_others_run(lambda: generate_jobs(count=100_000))
    jobs = generate_jobs(count=20_000)
    text = write_jobs(jobs)
    assert lets_others_run(lambda: write_jobs(jobs))
    assert lets_others_run(lambda: jobs_from_text(text))


def test_systems_and_results_become_json_beside_other_threads() -> None:
    system = System("dgx1-v100", servers=64)
    assert lets_others_run(system.to_json)
    result = play_jobs(System("dgx1-v100"), generate_jobs(count=300), "baseline")
    # One is over before a busy machine lets anybody else run.
    assert lets_others_run(lambda: [result.to_json() for _ in range(100)])
