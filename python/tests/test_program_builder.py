"""Programs built in Python play as any others, and say what is wrong with them."""

from collections.abc import Callable
from typing import Any

import pytest

import linkwright as lw
from linkwright.runs.rank_timeline import rank_timeline
from linkwright.runs.timeline import timeline_text

FREE = {"send_overhead": "0 ps", "copy_per_byte": "0 ps", "eager_limit": "1 GiB"}


def played(
    builder: lw.network.ProgramBuilder, system: lw.System, **options: Any
) -> lw.network.ClusterRun:
    job = lw.network.ClusterJob(builder.build(), iterations=options.pop("iterations", 1))
    return system.play([job], protocol=FREE, **options)


def ends(run: lw.network.ClusterRun) -> list[float]:
    return [row["end"] for row in run.ranks()]


def test_operations_stand_in_the_program_as_written() -> None:
    builder = lw.network.ProgramBuilder(ranks=3, name="all of them")
    pair = builder.communicator([2, 0])
    builder.enter(0, "step")
    first = builder.compute(0, 3e-6)
    builder.send(0, 2, "1 KiB", tag=7, communicator=pair, route="host", after=[first])
    builder.receive(2, None, 4096, tag=None, communicator=pair)
    builder.leave(0, "step")
    builder.copy(0, "peer", 10, peer=1, stream=3)
    builder.reduce(0, 20, rate="2 GB/s", stream=3)
    parts = builder.collective("broadcast", 8, root=2, after=[first])
    builder.wait(0, [parts[0], first])
    program = builder.build()
    assert (program.name, program.ranks, program.operations) == ("all of them", 3, 11)
    assert (program.communicators, program.regions) == ([[0, 1, 2], [2, 0]], ["step"])
    assert (repr(first), first.rank, first.index) == ("<ProgramOperation 1 of rank 0>", 0, 1)
    assert repr(builder) == '<ProgramBuilder "all of them": 3 ranks, 11 operations>'
    rows = list(program.operations_of(0))
    columns = ("kind", "peer", "size", "route", "direction", "rate", "duration", "completed")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        ("enter", None, None, "", "", None, None, []),
        ("compute", None, None, "", "", None, 3_000_000, [0]),
        ("send", 2, 1024, "host", "", None, None, [1, 1]),
        ("leave", None, None, "", "", None, None, [2]),
        ("copy", 1, 10, "any", "peer", None, None, []),
        ("reduce", None, 20, "", "", 2_000_000_000, None, [4]),
        ("collective", 2, 8, "", "", None, None, [3, 1]),
        ("join", None, None, "", "", None, None, [6, 6, 1]),
    ]
    received = next(iter(program.operations_of(2)))
    assert (received["peer"], received["tag"], received["communicator"]) == (None, None, 1)


def test_streams_overlap_and_one_stream_does_not() -> None:
    server = lw.System("dgx1-v100")
    size, kernel = 157_540_000, 0.02

    def time(stream: int, fidelity: str) -> float:
        builder = lw.network.ProgramBuilder(1)
        builder.copy(0, "host-to-device", size, stream=stream)
        builder.compute(0, kernel)
        return played(builder, server, fidelity=fidelity).makespan

    for fidelity in ("packet", "flow"):
        assert time(1, fidelity) == kernel
        # It takes some 10 ms over PCIe 3.0 x16; messages reach a part of that rate.
        assert 0.0101 + kernel < time(0, fidelity) < 0.0145 + kernel


def test_calls_that_do_not_block_are_waited_for() -> None:
    builder = lw.network.ProgramBuilder(2)
    request = builder.receive(0, 1, "1 MiB", blocking=False)
    builder.compute(0, "4 ms")
    builder.wait(0, [request])
    builder.compute(0, "1 ms")
    builder.compute(1, "9 ms")
    builder.send(1, 0, "1 MiB")
    receiver, sender = ends(played(builder, lw.System({"gpus": 2})))
    assert (sender, round(receiver, 3)) == (9e-3, 10e-3)
    assert receiver > 10e-3


def test_the_main_loop_is_what_iterations_repeat() -> None:
    builder = lw.network.ProgramBuilder(2)
    builder.compute(0, "1 us")
    with builder.main_loop():
        builder.compute(0, "10 us")
    builder.compute(0, "100 us")
    assert builder.build().has_loop
    # The other rank repeats nothing, which is no fault.
    run = played(builder, lw.System({"gpus": 2}), iterations=5)
    assert ends(run) == [151e-6, 0.0]


def test_a_timeline_shows_copies_on_threads_of_their_own() -> None:
    builder = lw.network.ProgramBuilder(2, name="copies")
    builder.copy(0, "host-to-device", 4096)
    builder.copy(0, "peer", 1000, peer=1, stream=1)
    builder.compute(0, "1 ms")
    run = played(builder, lw.System("dgx1-v100"), timeline=100)
    rows = [(row["rank"], row["direction"], row["peer"], row["size"]) for row in run.copies()]
    assert sorted(rows) == [(0, "host-to-device", None, 4096), (0, "peer", 1, 1000)]
    assert run.copy_count == 2
    assert all(0 <= row["start"] < row["end"] < 1e-3 for row in run.copies())
    timeline = rank_timeline("copies", "dgx1-v100", run)
    assert timeline is not None
    text = timeline_text(timeline)
    assert '"rank 0, copies"' in text
    assert "copy 4096 B host-to-device" in text
    assert "copy 1000 B to rank 1" in text
    assert '"copies_kept": 2, ' in text
    # Tables that were not asked for are not kept, but counted.
    unwatched = played(builder, lw.System("dgx1-v100"))
    assert (unwatched.copies().num_rows, unwatched.copy_count) == (0, 2)


def test_programs_are_written_as_goal_and_read_back() -> None:
    builder = lw.network.ProgramBuilder(2)
    done = builder.compute(0, 5e-6, stream=4)
    builder.send(0, 1, 100, tag=3, after=[done])
    builder.receive(1, 0, 100, tag=3)
    builder.reduce(1, 1000, rate="1 GB/s")
    program = builder.build()
    again = lw.network.Program.from_goal(program.to_goal())
    system = lw.System({"gpus": 2})
    runs = [system.play([lw.network.ClusterJob(each)]) for each in (program, again)]
    assert ends(runs[0]) == ends(runs[1])
    builder.copy(1, "device-to-host", 1)
    with pytest.raises(
        lw.errors.SimulationError, match="operation 2 of rank 1 is a copy, which GOAL cannot"
    ):
        builder.build().to_goal()


def test_builders_go_on_after_building() -> None:
    builder = lw.network.ProgramBuilder(1)
    builder.compute(0, 1e-3)
    one = builder.build()
    builder.compute(0, 1e-3)
    assert (one.operations, builder.build().operations) == (1, 2)
    assert one == lw.network.Program.from_goal(one.to_goal(), "program")


def foreign(builder: lw.network.ProgramBuilder) -> object:
    return builder.compute(0, 1, after=[lw.network.ProgramBuilder(1).compute(0, 1)])


def of_another_rank(builder: lw.network.ProgramBuilder) -> object:
    return builder.compute(1, 1, after=[builder.compute(0, 1)])


def looped_twice(builder: lw.network.ProgramBuilder) -> None:
    with builder.main_loop():
        pass
    builder.main_loop()


def built_inside(builder: lw.network.ProgramBuilder) -> None:
    with builder.main_loop():
        builder.build()


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda b: b.compute(2, 1), "there is no rank 2; the program has 2, from 0"),
        (lambda b: b.compute(-1, 1), "there is no rank -1; "),
        (lambda b: b.compute(0, "5 parsecs"), "operation 0 of rank 0 has no time: "),
        (lambda b: b.compute(0, -1.0), "the duration"),
        (lambda b: b.send(0, 2, 1), "operation 0 of rank 0 sends to rank 2; there are 2, from 0"),
        (lambda b: b.send(0, 1, -1), "the size is -1; give 0 to "),
        (lambda b: b.send(0, 1, "1 TB/s"), "is not a size"),
        (lambda b: b.send(0, 1, 1 << 41), "operation 0 of rank 0 is of 2048 GiB; give at most"),
        (lambda b: b.send(0, 1, 1, tag=-1), "the tag is -1; give 0 to 4294967295"),
        (lambda b: b.send(0, 1, 1, route="nvlnk"), "there is no class of links `nvlnk`; "),
        (lambda b: b.send(0, 1, 1, communicator=1), "there is no communicator 1; the program has"),
        (
            lambda b: b.send(0, 1, 1, communicator=b.communicator([1])),
            "operation 0 of rank 0 names communicator 1, which does not hold rank 0",
        ),
        (lambda b: b.receive(1, 5, 1), "operation 0 of rank 1 receives from rank 5; there are 2"),
        (lambda b: b.copy(0, "peer", 1), "operation 0 of rank 0 copies to no peer; name its rank"),
        (lambda b: b.copy(0, "device-to-host", 1, peer=1), "names a peer, but copies to or from"),
        (lambda b: b.copy(0, "host-to-devic", 1), "no direction `host-to-devic`; did you mean `ho"),
        (lambda b: (b.copy(0, "peer", 1, peer=0), b.build()), "copies to rank 0, which is itself;"),
        (lambda b: b.reduce(0, 1, rate=0.0), "operation 0 of rank 0 reduces 0 bytes in a second"),
        (lambda b: b.collective("allreduce", 1), "no collective `allreduce`; did you mean `all-re"),
        (
            lambda b: b.collective("all-reduce", 1, root=0),
            "the all-reduce has no root; leave it out",
        ),
        (lambda b: b.collective("broadcast", 1, root=2), "has the root rank 2; there are 2"),
        (lambda b: b.communicator([0, 0]), "the communicator names rank 0 twice; name it once"),
        (lambda b: b.communicator([]), "the communicator has no ranks; name some"),
        (
            lambda b: b.leave(0, "step"),
            "operation 0 of rank 0 leaves region `step`, which no rank has entered; ent",
        ),
        (lambda b: b.compute(0, 1, stream=-1), "the stream is -1; give 0 to 4294967295"),
        (foreign, "operation 0 of rank 0 is of another builder; name one of this"),
        (
            of_another_rank,
            "operation 0 of rank 1 cannot wait for operation 0 of rank 0; let that send it a",
        ),
        (looped_twice, "the program has a main loop already; it may have one"),
        (built_inside, "the main loop is open; build behind its `with`"),
    ],
)
def test_mistakes_name_rank_and_operation(
    mistake: Callable[[lw.network.ProgramBuilder], object], message: str
) -> None:
    with pytest.raises(lw.errors.SimulationError) as caught:
        mistake(lw.network.ProgramBuilder(2))
    assert message in str(caught.value)


@pytest.mark.parametrize("ranks", [0, -1, (1 << 20) + 1, 1 << 80])
def test_programs_have_a_number_of_ranks(ranks: int) -> None:
    with pytest.raises(lw.errors.SimulationError, match="give 1 to 1048576"):
        lw.network.ProgramBuilder(ranks)


def test_what_has_no_host_is_refused_before_the_run() -> None:
    builder = lw.network.ProgramBuilder(2, name="loads")
    builder.compute(1, 1)
    builder.copy(1, "host-to-device", 1)
    with pytest.raises(lw.errors.SimulationError) as caught:
        lw.System({"gpus": 2}).play([lw.network.ClusterJob(builder.build())])
    assert str(caught.value).startswith(
        "call 1 of rank 1 of job `loads` copies to or from its host, but GPU 1 has none ("
    )
