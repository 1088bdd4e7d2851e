"""Tests collectives from Python: planned, proved, run, timed, exported and read."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from interrupts import interrupted

from linkwright import System, expect, plan
from linkwright.collectives import (
    Schedule,
    algorithm_descriptions,
    algorithm_names,
    collective_names,
    packing_rate,
    reduction_names,
    time_sweep,
)
from linkwright.errors import CollectiveError, InputError, MachineError, ScheduleError
from linkwright.names import AlgorithmName, CollectiveName, ReductionName

DGX1 = System("dgx1-v100")
ALGORITHMS = Path(__file__).resolve().parents[2] / "examples" / "collectives"
TREE = (ALGORITHMS / "tree-all-reduce-4.xml").read_text(encoding="utf-8")
TYPES = ["float32", "float64", "int32", "int64"]


ROOTED = ("broadcast", "reduce", "gather", "scatter")


def inputs(schedule: Schedule, dtype: str, shard: int = 60) -> list[np.ndarray[Any, Any]]:
    """Returns the input of each rank: numbers that no order of additions rounds."""
    random = np.random.default_rng(5)
    return [
        random.integers(-50, 50, shard * shards).astype(dtype) for shards in schedule.input_shards
    ]


def planned(collective: CollectiveName, algorithm: AlgorithmName) -> Schedule:
    """Plans on four GPUs of the DGX-1V."""
    root = 5 if collective in ROOTED else None
    return plan(DGX1, [1, 4, 5, 6], collective, algorithm=algorithm, root=root)


def does(collective: CollectiveName, algorithm: AlgorithmName) -> bool:
    """Whether these GPUs have such a plan; where not, the error says why and names another."""
    try:
        planned(collective, algorithm)
    except CollectiveError as error:
        refusal = str(error)
    else:
        return True
    known = ("cannot plan", "on several servers", "works only on GPUs", "no NVSwitch joins")
    assert any(words in refusal for words in known), refusal
    assert "use " in refusal
    return False


@pytest.mark.parametrize("algorithm", algorithm_names())
def test_every_plan_checks_runs_and_is_timed(algorithm: AlgorithmName) -> None:
    done = [collective for collective in collective_names() if does(collective, algorithm)]
    for collective in done:
        check_runs_and_is_timed(collective, algorithm)
    # Only what is for several servers, or for an NVSwitch, has none.
    assert done or algorithm in ("three-phase", "nvls", "nvls-tree", "nccl-pat")


def check_runs_and_is_timed(collective: CollectiveName, algorithm: AlgorithmName) -> None:
    schedule = planned(collective, algorithm)
    # The fastest schedule of all has the name of its algorithm.
    assert schedule.algorithm in (algorithm_names() if algorithm == "auto" else [algorithm])
    assert schedule.collective == collective
    assert schedule.gpus == [1, 4, 5, 6]
    assert schedule.root == (5 if collective in ROOTED else None)
    report = schedule.check()
    assert report.steps == schedule.step_count
    assert len(report.sent_chunks) == 4
    given = inputs(schedule, "int64")
    for got, wanted in zip(schedule.execute(given), schedule.reference(given), strict=True):
        np.testing.assert_array_equal(got, wanted)
    timing = schedule.time(16 << 20)
    assert schedule.rate is not None
    if collective == "barrier":
        assert (timing.size, timing.algorithm_bandwidth, schedule.rate) == (0, 0, 0)
        assert 0 < timing.time < 1e-3
        return
    assert timing.algorithm_bandwidth == pytest.approx((16 << 20) / timing.time / 1e9)
    assert 0 < timing.algorithm_bandwidth <= schedule.rate * 1.0001


def test_what_the_planner_knows_is_on_the_schedule() -> None:
    schedule = plan(DGX1, [1, 4, 5, 6], "all-reduce", algorithm="packing")
    assert (schedule.rate, schedule.optimum, schedule.links) == (50.0, 50.0, "nvlink")
    assert schedule.notes == []
    assert sum(tree.share for tree in schedule.trees) == pytest.approx(1)
    for tree in schedule.trees:
        assert {child for _, child in tree.edges} | {tree.root} == {1, 4, 5, 6}
        assert 1 <= tree.depth <= 3
    assert schedule == plan(DGX1, [1, 4, 5, 6], "all-reduce", algorithm="packing")
    assert schedule != plan(DGX1, [1, 4, 5, 7], "all-reduce", algorithm="packing")


def test_gpus_that_nvlink_does_not_join_are_named_and_planned_over_pcie() -> None:
    schedule = plan(DGX1, [1, 4, 6], "broadcast", algorithm="packing", root=4)
    assert schedule.links == "pcie"
    assert "GPUs 4, 6 cannot be reached from GPU 1" in schedule.notes[0]
    with pytest.raises(CollectiveError, match="NVLink does not join these GPUs"):
        plan(DGX1, [1, 4, 6], "broadcast", links="nvlink")


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("reduction", reduction_names())
def test_every_type_is_reduced_in_every_way(
    dtype: str, reduction: ReductionName, in_place: bool
) -> None:
    schedule = plan(DGX1, [0, 1, 2], "all-reduce")
    given = [array[:7] % 5 for array in inputs(schedule, dtype)]
    kept = [array.copy() for array in given]
    whole = {"sum": np.add, "product": np.multiply, "min": np.minimum, "max": np.maximum}
    wanted = whole[reduction].reduce(given)
    for output in schedule.execute(given, reduction, in_place=in_place):
        assert output.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(output, wanted)
    for array, before in zip(given, kept, strict=True):
        np.testing.assert_array_equal(array, before)


def test_ranks_without_input_give_none_and_views_are_read_in_their_order() -> None:
    schedule = plan(DGX1, [0, 3, 2], "broadcast", root=3)
    data = np.arange(20, dtype=np.float32)[::2]
    outputs, seconds = schedule.execute_timed([None, data, None])
    assert seconds > 0
    for output in outputs:
        np.testing.assert_array_equal(output, data)


BAD_ARRAYS: list[tuple[list[Any], str]] = [
    ([np.zeros(4, dtype=np.float16)] * 3, "format `e`; give float32"),
    ([np.zeros(4), np.zeros(4), np.zeros(4, dtype=np.int32)], "rank 2's input has elements"),
    ([[1.0, 2.0]] * 3, "rank 0's input is a list; give a NumPy array"),
    ([np.ones(4, dtype=">f8")] * 3, "rank 0's input has its bytes in another order"),
    ([np.ones(4, dtype=">i4")] * 3, "rank 0's input has its bytes in another order"),
    ([np.zeros(4)] * 2, "3 ranks, but 2 inputs were given"),
    ([np.zeros(4), np.zeros(5), np.zeros(4)], "rank 1's input has 5 elements"),
]


@pytest.mark.parametrize(("arrays", "said"), BAD_ARRAYS, ids=[said for _, said in BAD_ARRAYS])
def test_arrays_that_do_not_fit_are_named(arrays: list[Any], said: str) -> None:
    with pytest.raises(CollectiveError) as refused:
        plan(DGX1, [0, 1, 2], "all-reduce").execute(arrays)
    assert said in str(refused.value)


MANY = System(DGX1, 129, network="100 Gb/s")
FOUR = plan(DGX1, [0, 1, 2, 3], "all-gather", algorithm="packing")
BAD: list[tuple[Callable[[], object], str]] = [
    (lambda: plan(DGX1, [0, 8], "all-reduce"), "no GPU 8 on `dgx1-v100`; use GPUs 0 to 7"),
    (lambda: plan(DGX1, [0, -1], "all-reduce"), "no GPU -1"),
    (lambda: plan(DGX1, [0, 0], "all-reduce"), "GPU 0 is given twice"),
    (lambda: plan(DGX1, [0], "all-reduce"), "at least two GPUs"),
    (
        lambda: plan(DGX1, [0, 1], "reduce-all"),  # type: ignore[arg-type]
        "no collective `reduce-all`; did you mean `reduce`? use one of broadcast",
    ),
    (lambda: plan(DGX1, [0, 1], "all-reduce", algorithm="x"), "no algorithm `x`; use one of"),  # type: ignore[arg-type]
    (lambda: plan(DGX1, [0, 1], "all-reduce", links="x"), "no choice of links `x`"),  # type: ignore[arg-type]
    (lambda: plan(DGX1, [4, 5], "broadcast", root=0), "GPU 0, and the job has GPUs 4,5"),
    (lambda: plan(DGX1, [4, 5], "all-reduce", root=4), "all-reduce has no root"),
    (lambda: plan(DGX1, [4, 5], "reduce-all", root=4), "no collective `reduce-all`"),  # type: ignore[arg-type]
    (lambda: FOUR.time(0), "the size is 0"),
    (lambda: FOUR.time(-3), "the size is -3"),
    (lambda: FOUR.time(2**60), "give 1 to 2^50 bytes"),
    (lambda: FOUR.time(10), "10 B do not divide into the 4 shards"),
    (lambda: FOUR.time(1 << 20, chunk=0), "the chunk is 0"),
    (lambda: FOUR.time(1 << 40, chunk=1), "use larger chunks"),
    (lambda: FOUR.time(1 << 20, protocol="ll"), "no protocol `ll`; use one of LL, LL128, Simple"),  # type: ignore[arg-type]
    (lambda: FOUR.time(1 << 20, system=System("kepler-pair")), "runs on GPU 2"),
    (lambda: FOUR.execute([np.zeros(1)] * 4, "mean"), "no reduction `mean`"),  # type: ignore[arg-type]
    (lambda: FOUR.to_msccl_xml(step_limit=-1), "step_limit is -1"),
    (lambda: FOUR.to_msccl_xml(max_bytes=-1), "max_bytes is -1"),
    (lambda: FOUR.to_mscclpp_json(threads_per_block=7), "threads_per_block"),
    (lambda: time_sweep(FOUR, None, [8, 9]), "9 B do not divide"),
    (lambda: Schedule.from_msccl_xml(TREE).time(1 << 20), "name the system"),
    (lambda: Schedule.from_msccl_xml(TREE, gpus=[0, 1]), "4 ranks, and 2 GPUs are given"),
    (lambda: Schedule.from_msccl_xml(TREE, gpus=[0, 1, 2, 2]), "GPU 2 is given twice"),
    (lambda: Schedule.from_msccl_xml(TREE, gpus=[0, 1, 2, -2]), "there is no GPU -2"),
    (lambda: packing_rate(DGX1, [0, 9]), "no GPU 9"),
    (lambda: plan(DGX1, [1, 4, 5], "all-reduce", algorithm="one-hop", links="nvlink"), "packing"),
    (lambda: plan(MANY, range(1025), "all-reduce"), "1025 GPUs are more than a plan can have"),
    (lambda: expect(MANY, range(16385), "all-reduce", [8]), "name 16384 at most"),
]


@pytest.mark.parametrize(("call", "said"), BAD, ids=[said for _, said in BAD])
def test_bad_arguments_are_named(call: Callable[[], object], said: str) -> None:
    with pytest.raises(CollectiveError) as refused:
        call()
    assert said in str(refused.value)


def test_a_sweep_is_what_the_timings_are() -> None:
    seen: list[tuple[int, int]] = []
    sizes = [64, 1 << 16, 1 << 26]
    table = time_sweep(FOUR, DGX1, sizes, progress=lambda done, total: seen.append((done, total)))
    rows = pyarrow.table(table).to_pylist()
    assert [row["size"] for row in rows] == sizes
    for row in rows:
        timing = FOUR.time(row["size"])
        assert row["time"] == timing.time
        assert row["chunk"] == timing.chunk
        assert row["bus_bandwidth"] == pytest.approx(row["algorithm_bandwidth"] * 3 / 4)
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_the_chunk_is_found_and_says_what_was_tried() -> None:
    found = FOUR.time(1 << 26)
    assert max(bandwidth for _, bandwidth in found.chunk_trials) == found.algorithm_bandwidth
    given = FOUR.time(1 << 26, chunk=1 << 16)
    assert given.chunk_trials == []
    assert given.chunk <= 1 << 16
    assert given.time >= found.time
    loads = pyarrow.table(found.links()).to_pylist()
    assert {load["kind"] for load in loads} == {"nvlink2"}
    assert all(0 < load["utilisation"] <= 1 for load in loads)


def test_a_protocol_changes_the_latency_and_the_bandwidth() -> None:
    low, full = (FOUR.time(256, protocol=name).time for name in ("LL", "Simple"))
    assert low < full
    low, full = (FOUR.time(1 << 28, protocol=name).time for name in ("LL", "Simple"))
    assert low > full


def test_the_steps_are_a_table() -> None:
    steps = pyarrow.table(FOUR.steps()).to_pylist()
    assert len(steps) == FOUR.step_count
    sends = {row["rank"]: 0 for row in steps}
    for row in steps:
        sends[row["rank"]] += row["count"] if row["send_to"] else 0
    assert list(sends.values()) == FOUR.check().sent_chunks


def test_exports_name_ranks_and_read_back_the_same() -> None:
    schedule = plan(DGX1, [1, 4, 5, 6], "all-reduce", algorithm="packing")
    exported = schedule.to_msccl_xml(max_bytes=1 << 30)
    assert exported.text == str(exported)
    assert 'maxBytes="1073741824"' in exported.text
    assert any("CUDA_VISIBLE_DEVICES=1,4,5,6" in note for note in exported.notes)
    read = Schedule.from_msccl_xml(exported.text, gpus=schedule.gpus)
    assert read == schedule
    assert (read.algorithm, read.rate, read.trees) == (None, None, [])
    assert read.time(1 << 20, system=DGX1).time == schedule.time(1 << 20).time
    assert schedule.to_mscclpp_json().text.startswith("{")
    assert schedule.to_dot().count("subgraph") == len(schedule.trees)
    assert "subgraph" not in read.to_dot()


def test_a_broken_algorithm_names_the_step() -> None:
    broken = TREE.replace('type="rrc"', 'type="r"', 1)
    assert broken != TREE
    with pytest.raises(ScheduleError, match=r"rank \d"):
        Schedule.from_msccl_xml(broken).check()
    with pytest.raises(ScheduleError):
        Schedule.from_msccl_xml(broken).execute([np.zeros(4)] * 4)


@pytest.mark.parametrize(
    "text", ["", "<algo", "<a/>", '<!DOCTYPE x [<!ENTITY a "b">]><algo name="&a;"/>', TREE[:300]]
)
def test_texts_that_are_no_algorithm_get_a_place(text: str) -> None:
    with pytest.raises(InputError) as refused:
        Schedule.from_msccl_xml(text, "bad.xml")
    assert refused.value.file == "bad.xml"


def test_links_are_those_that_carry_the_data() -> None:
    apart = plan(DGX1, [1, 4, 5, 6], "all-reduce", algorithm="one-hop")
    assert apart.links == "hybrid"
    assert any("over PCIe" in note for note in apart.notes)
    assert plan(DGX1, range(4), "all-reduce", algorithm="one-hop").links == "nvlink"
    four = partial(plan, DGX1, [1, 4, 5, 6], "broadcast", algorithm="packing", links="hybrid")
    both = four(size=1 << 30)
    assert both.links == "hybrid"
    little = four(size=1 << 20)
    assert little.links == "nvlink"


def test_entities_of_a_file_s_own_are_refused_with_what_to_do() -> None:
    bomb = '<!DOCTYPE a [<!ENTITY b "c">]>' + TREE
    with pytest.raises(InputError, match=r"document type.*remove the <!DOCTYPE>"):
        Schedule.from_msccl_xml(bomb)


def test_many_gpus_out_of_reach_are_told_as_runs() -> None:
    with pytest.raises(CollectiveError, match="GPUs 8 to 31 cannot be reached from GPU 0"):
        plan(MANY, range(32), "all-reduce", algorithm="one-hop", links="nvlink")
    # A network joins them, as it should: nothing is wrong, and nothing is said.
    assert plan(MANY, range(32), "all-reduce", algorithm="one-hop").notes == []


def test_the_packing_rate_is_the_plan_s() -> None:
    for gpus in ([0, 1], [1, 4, 5, 6], [1, 4, 6], list(range(8))):
        schedule = plan(DGX1, gpus, "all-reduce", algorithm="packing")
        assert packing_rate(DGX1, gpus) == (schedule.optimum, schedule.links)
    assert packing_rate(DGX1, list(range(8)))[0] == pytest.approx(24 / 7 * 25)


def test_every_algorithm_says_what_it_is() -> None:
    described = algorithm_descriptions()
    assert [name for name, _ in described] == algorithm_names()
    assert all(words for _, words in described)


def test_servers_make_a_cluster_that_is_planned_over_the_network() -> None:
    pair = System(DGX1, 2, network="100 Gb/s")
    assert pair.gpu_count == 16
    assert plan(pair, [0, 1, 8, 9], "all-reduce").links == "network"
    for arguments, said in [
        ((0, "100 Gb/s"), "servers is 0; give 1 to"),
        ((2, "fast"), "no network `fast`; use one of fat-tree, .* such as `100 Gb/s`"),
        ((2, "0 Gb/s"), "has a bandwidth of 0; give a bandwidth above 0"),
        ((2, {"kind": "single-switch", "links": "token-ring"}), "token-ring"),
    ]:
        servers, network = arguments
        with pytest.raises((MachineError, InputError), match=said):
            System(DGX1, servers, network=network)  # type: ignore[arg-type]


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT to oneself")
def test_ctrl_c_is_heard_while_a_schedule_is_timed() -> None:
    schedule = plan(DGX1, list(range(8)), "all-reduce", algorithm="packing")
    with interrupted():
        schedule.time(1 << 31, chunk=10_000)
