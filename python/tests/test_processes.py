"""Schedules with a process for each rank: equal to threads, and nothing stays behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwright import System, plan
from linkwright.collectives import Schedule
from linkwright.errors import CollectiveError, ScheduleError
from linkwright.names import CollectiveName
from linkwright.processes import execute_in_processes, layout, worker

SHARED_MEMORY = Path("/dev/shm")
COLLECTIVES = ["all-reduce", "broadcast", "all-gather", "reduce-scatter", "all-to-all"]
PLACES = [("pcie-tree-4", [0, 1, 2]), ("dgx1-v100", [0, 1, 2])]
DGX1 = System("dgx1-v100")


@pytest.fixture(autouse=True)
def nothing_stays_behind() -> Iterator[None]:
    """No shared memory of this process and none of its children is left after a test."""
    yield
    if SHARED_MEMORY.is_dir():
        assert not list(SHARED_MEMORY.glob(f"linkwright-{os.getpid()}-*"))
    assert not multiprocessing.active_children()


def inputs(schedule: Schedule, dtype: str, shard: int = 997) -> list[np.ndarray[Any, Any]]:
    """Numbers whose sum depends on the order in which floats are added."""
    random = np.random.default_rng(3)
    return [
        (random.standard_normal(shard * shards) * 1e6).astype(dtype)
        for shards in schedule.input_shards
    ]


def assert_same(schedule: Schedule, given: list[Any], *, in_place: bool = False) -> None:
    """Tests that processes give the bits that threads give."""
    found = execute_in_processes(schedule, given, in_place=in_place)
    wanted = schedule.execute(given, in_place=in_place)
    for got, want in zip(found, wanted, strict=True):
        assert got.dtype == want.dtype
        assert got.tobytes() == want.tobytes()


# Starting processes takes a second, so that types and placements take turns over the places. Each
# collective meets both types, and both placements where it has them.
@pytest.mark.parametrize("place", [0, 1], ids=[machine for machine, _ in PLACES])
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_processes_give_the_bits_of_threads(collective: CollectiveName, place: int) -> None:
    machine, gpus = PLACES[place]
    root = gpus[1] if collective == "broadcast" else None
    schedule = plan(System(machine), gpus, collective, root=root)
    turn = (COLLECTIVES.index(collective) + place) % 2
    given = inputs(schedule, ["float32", "int64"][turn])
    assert_same(schedule, given, in_place=schedule.in_place and place == 0)


def test_long_data_goes_in_pieces_and_integers_wrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "PIECE", 1000)
    schedule = plan(DGX1, [1, 4, 5, 6], "all-reduce")
    given = [np.full(4001, 2**62 + rank, dtype=np.int64) for rank in range(4)]
    assert_same(schedule, given)


def test_a_schedule_or_arrays_that_do_not_fit_are_refused_before_any_process() -> None:
    schedule = plan(DGX1, [0, 1, 2], "all-to-all")
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: execute_in_processes(schedule, [np.ones(3)] * 3, in_place=True), "in place"),
        (
            lambda: execute_in_processes(schedule, [np.ones(3)] * 2),
            "has 3 ranks, but 2 inputs were given",
        ),
        (lambda: execute_in_processes(schedule, [np.ones(4)] * 3), "do not divide"),
        (lambda: execute_in_processes(schedule, [np.ones(3)] * 3, "mean"), "no reduction `mean`"),  # type: ignore[arg-type]
        (lambda: execute_in_processes(schedule, [np.ones(3)] * 3, timeout=0), "timeout is 0"),
    ]
    for call, said in cases:
        with pytest.raises(CollectiveError, match=said):
            call()
    tree = Path(__file__).resolve().parents[2] / "examples/collectives/tree-all-reduce-4.xml"
    text = tree.read_text(encoding="utf-8").replace('type="rrc"', 'type="r"', 1)
    with pytest.raises(ScheduleError):
        execute_in_processes(Schedule.from_msccl_xml(text), [np.ones(4)] * 4)


def signal_rank(rank: int, what: signal.Signals) -> None:
    """Waits for the process of a rank, and sends it a signal."""

    def send() -> None:
        for _ in range(2000):
            for process in multiprocessing.active_children():
                if process.name == f"rank {rank}" and process.pid is not None:
                    os.kill(process.pid, what)
                    return
            time.sleep(0.005)

    threading.Thread(target=send, daemon=True).start()


@pytest.mark.skipif(os.name == "nt", reason="no such signals")
@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (signal.SIGKILL, "the process of rank 1 was ended by signal 9"),
        (signal.SIGSTOP, "the process of rank 1 did not end in time"),
    ],
)
def test_a_rank_that_dies_or_hangs_is_named(sent: signal.Signals, said: str) -> None:
    schedule = plan(DGX1, [0, 1, 2], "all-reduce")
    # On a busy computer the others need longer to get to where they wait for it.
    for timeout in (1.5, 6, 24):
        signal_rank(1, sent)
        with pytest.raises(CollectiveError) as caught:
            execute_in_processes(schedule, inputs(schedule, "float32"), timeout=timeout)
        if said in str(caught.value):
            break
    assert said in str(caught.value)


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT to oneself")
def test_ctrl_c_ends_all_ranks() -> None:
    schedule = plan(DGX1, [0, 1, 2], "all-reduce")
    signal_rank(1, signal.SIGSTOP)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            execute_in_processes(schedule, inputs(schedule, "float32"))
    finally:
        signal.signal(signal.SIGINT, before)


def test_min_and_max_skip_a_nan_as_threads_do() -> None:
    assert worker.REDUCTIONS["min"](np.nan, 1.0) == 1.0
    assert worker.REDUCTIONS["max"](1.0, np.nan) == 1.0
