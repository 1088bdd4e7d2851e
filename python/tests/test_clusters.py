"""Tests clusters, programs and scenarios from Python."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from interrupts import interrupted

import linkwright as lw
from linkwright.names import FidelityName

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL: dict[str, Any] = {"radix": 4, "pods": 4, "gpus_per_node": 4}
SCENARIO = """\
seed = 3
[network]
file = "line.toml"
gpus_per_node = 5
routing_table = "ways.toml"
[[job]]
goal = "pair.goal"
mapping = "pair.map"
[[job]]
trace = "four/trace.otf2"
mapping = "random"
start = "1 ms"
"""


def table(stream: lw.scenario.Table) -> pa.Table:
    return pa.table(stream)


def column(of: pa.Table, name: str) -> list[Any]:
    values: list[Any] = of[name].to_pylist()
    return values


def system_of(*, gpus_per_node: int | None = None, **network: object) -> lw.System:
    """Puts nodes of `gpus_per_node` GPUs on a fat-tree."""
    node: dict[str, Any] | None = {"gpus": gpus_per_node} if gpus_per_node else None
    return lw.System(node, network={"kind": "fat-tree", **network})


def small_run(timeline: int = 0, **settings: Any) -> lw.network.ClusterRun:
    play = {key: settings.pop(key) for key in ("fidelity", "protocol") if key in settings}
    system = system_of(**SMALL, **settings)
    stencil = lw.network.Program.skeleton("stencil4d", 16, message="16 KiB", compute="5 us")
    jobs = [
        lw.network.ClusterJob(stencil, name="a", iterations=2),
        lw.network.ClusterJob(
            stencil, name="b", mapping="random", start=1e-3, computation_scale=0.1
        ),
    ]
    return system.play(jobs, timeline=timeline, **play)


def test_jobs_run_and_their_tables_agree() -> None:
    run = small_run(timeline=10**6)
    jobs = table(run.jobs())
    assert column(jobs, "name") == ["a", "b"]
    assert column(jobs, "start") == [0.0, 1e-3]
    assert column(jobs, "time") == run.times
    assert max(column(jobs, "end")) == run.makespan
    assert column(jobs, "computing") == pytest.approx([10e-6, 0.5e-6])
    messages = sum(column(jobs, "messages"))
    assert run.timeline_counts[1] == messages
    assert table(run.messages()).num_rows == messages
    assert sum(column(table(run.latencies()), "messages")) == messages
    assert table(run.computation()).num_rows == run.timeline_counts[0] == 16 * 3
    ranks = table(run.ranks())
    assert column(ranks, "gpu") == [gpu for gpus in run.mapping for gpu in gpus]
    assert column(ranks, "node") == [gpu // 4 for gpu in column(ranks, "gpu")]
    links = table(run.links())
    assert sum(column(links, "packets")) == run.packet_hops > 0
    assert set(column(links, "kind")) == {"injection", "ejection", "switch"}
    assert 0 < max(column(links, "utilisation")) <= 1
    assert links.schema.field("bandwidth").metadata == {b"unit": b"GB/s"}
    assert run.events > 0
    assert run.operations > 0


@pytest.mark.parametrize("fidelity", ["packet", "flow"])
def test_a_run_is_the_same_again_with_and_without_a_timeline(fidelity: FidelityName) -> None:
    def columns(run: lw.network.ClusterRun) -> list[pa.Table]:
        streams = [run.jobs(), run.ranks(), run.links(), run.latencies()]
        return [table(stream) for stream in streams]

    first, second = small_run(fidelity=fidelity), small_run(timeline=50, fidelity=fidelity)
    assert columns(first) == columns(second)
    assert first.mapping == second.mapping
    assert table(first.messages()).num_rows == 0
    assert table(second.messages()).num_rows == 50


def test_settings_say_what_the_cluster_is() -> None:
    system = lw.System({"gpus": 8}, network={"kind": "dragonfly", "groups": 2, "nic": "rr-4"})
    assert (system.server_count, system.gpu_count) == (256, 2048)
    assert set(system.gpus_per_server) == {8}
    assert (system.routing, system.nic) == ("progressive", "rr-4")
    assert all(lw.System(network=kind).fabric for kind in lw.network.fabric_names())
    faster = small_run(bandwidth_scale="16x").times
    assert faster[0] < small_run(bandwidth_scale="x/16").times[0]
    slow = small_run(protocol={"send_overhead": "1 ms"}).times
    assert slow[0] > 1e-3


def eleven_sends(*, blocking: bool) -> lw.network.Program:
    """Eleven blocking sends of 128 KiB, and their receives one by one or all at once."""
    order = "".join(f"l{index} requires l{index - 1}\n" for index in range(1, 11))
    sends = "".join(f"l{index}: send 131072b to 1 tag 1\n" for index in range(11))
    receives = "".join(f"l{index}: recv 131072b from 0 tag 1\n" for index in range(11))
    of_receiver = receives + (order if blocking else "")
    return lw.network.Program.from_goal(
        f"num_ranks 2\nrank 0 {{\n{sends}{order}}}\nrank 1 {{\n{of_receiver}}}\n"
    )


@pytest.mark.parametrize("fidelity", ["packet", "flow"])
def test_announced_receives_cost_no_request(fidelity: FidelityName) -> None:
    def time(*, blocking: bool, gpu: int, rendezvous: str) -> float:
        job = lw.network.ClusterJob(eleven_sends(blocking=blocking), mapping=[0, gpu])
        run = lw.System(network="fat-tree").play(
            [job], fidelity=fidelity, protocol={"rendezvous": rendezvous}
        )
        return round(run.makespan * 1e6, 1)

    # The open simulator of the study takes 175.0 us, on a network and a placement of its own.
    assert time(blocking=True, gpu=1, rendezvous="sender") == 149.8
    assert time(blocking=True, gpu=1, rendezvous="receiver") == 146.5
    assert time(blocking=True, gpu=300, rendezvous="receiver") == 171.4
    assert time(blocking=False, gpu=300, rendezvous="receiver") == 141.7
    # By hand, on one switch: interface, delay, data, and the last packet's second link.
    data, packet, switch, wire = 131_072 / 11_900, 4_096 / 11_900, 0.06, 0.02
    announced = 0.4 + 2 * 16 / 11_900 + switch + wire
    once = 0.4 + 1.0 + data + packet + switch + wire
    assert time(blocking=True, gpu=1, rendezvous="receiver") == round(11 * (announced + once), 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pod": 2}, "<settings>:2:1: unknown key: `pod`; did you mean `pods`?"),
        ({"pods": 99}, "<settings>:2:8: `pods` cannot be 99: `99`; a core switch of radix 32"),
        ({"nic": "rr4"}, "no NIC policy `rr4`; did you mean `rr-4`? use"),
        ({"bandwidth_scale": 0}, "bandwidth_scale: no factor of bandwidths: `0`; write a factor"),
        ({"routing": "ugal"}, "routing `ugal` needs dragonflies, but `fat-tree-2048` is"),
        ({"protocol": {"eager": "1 B"}}, "unknown key: `eager`; did you mean `eager_limit`?"),
        ({"protocol": {"rendezvous": "recever"}}, '`"recever"`; did you mean `receiver`? use'),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], message: str) -> None:
    play = {"protocol": settings.pop("protocol")} if "protocol" in settings else {}
    job = lw.network.ClusterJob(lw.network.Program.skeleton("laghos", 8))
    with pytest.raises(lw.errors.InputError) as caught:
        system_of(**settings).play([job], **play)
    assert message in str(caught.value)


def test_jobs_that_do_not_fit_are_refused() -> None:
    cluster = system_of(**SMALL)
    program = lw.network.Program.skeleton("laghos", 8)

    def refused(*jobs: lw.network.ClusterJob) -> str:
        with pytest.raises(lw.errors.SimulationError) as caught:
            cluster.play(jobs)
        return str(caught.value)

    on = [lw.network.ClusterJob(program, name=f"on {first}", mapping=range(first, first + 8))
          for first in (0, 7, 60)]  # fmt: skip
    twice = lw.network.ClusterJob(program, name="twice", mapping=[*range(7), 0])
    assert "`twice` puts ranks 0 and 7 on GPU 0; give each rank a GPU of its own" in refused(twice)
    assert "`on 60` puts rank 4 on GPU 64, which does not exist; use GPUs 0 to 63" in refused(on[2])
    many = [lw.network.ClusterJob(program)] * 9
    assert "have 72 ranks in all, but the cluster has 64 GPUs" in refused(*many)
    short = lw.network.ClusterJob(program, mapping=[1, 2])
    assert "has 8 ranks, but its mapping lists 2 GPUs" in refused(short)
    with pytest.raises(lw.errors.SimulationError, match="no mapping `linaer`"):
        lw.network.ClusterJob(program, mapping="linaer")
    with pytest.raises(lw.errors.SimulationError, match="there is no application `lagos`"):
        lw.network.Program.skeleton("lagos", 8)  # type: ignore[arg-type]


def test_jobs_on_the_same_gpus_run_one_after_the_other() -> None:
    program = lw.network.Program.skeleton("laghos", 8)
    first, second = (
        lw.network.ClusterJob(program, name=name, mapping=range(at, at + 8))
        for name, at in (("a", 0), ("b", 7))
    )
    rows = table(system_of(**SMALL).play([first, second]).jobs()).to_pylist()
    alone = table(system_of(**SMALL).play([first]).jobs()).to_pylist()[0]
    assert [row["arrival"] for row in rows] == [0, 0]
    assert rows[0]["end"] == alone["end"] == rows[1]["start"]
    assert rows[1]["time"] > 0


def test_a_send_without_a_receive_is_named() -> None:
    goal = "num_ranks 2\nrank 0 {\nsend 8b to 1 tag 5\n}\nrank 1 {\ncalc 1\n}\n"
    job = lw.network.ClusterJob(lw.network.Program.from_goal(goal, "lost.goal"))
    with pytest.raises(lw.errors.SimulationError) as caught:
        system_of(**SMALL).play([job])
    assert "job `lost.goal` rank 0 sends 8 B to rank 1 with tag 5 (call 0)" in str(caught.value)


def test_a_program_survives_goal() -> None:
    program = lw.network.Program.skeleton("kripke", 8)
    again = lw.network.Program.from_goal(program.to_goal())
    assert (again.ranks, again.has_loop, program.has_loop) == (8, False, True)
    cluster = system_of(**SMALL)
    first, second = (cluster.play([lw.network.ClusterJob(it)]).times[0] for it in (program, again))
    assert first == second


def test_a_recorded_run_replays() -> None:
    anchor = next((EXAMPLES / "traces" / "stencil4d-32").glob("*.otf2"))
    program, notes = lw.network.read_otf2(anchor)
    assert program.ranks == 32
    assert all(isinstance(note, str) for note in notes)
    run = system_of(**SMALL).play([lw.network.ClusterJob(program)])
    assert run.makespan > 0
    assert column(table(run.jobs()), "messages")[0] > 0


def scenario(folder: Path) -> Path:
    (folder / "line.toml").write_text(
        '[defaults]\nbandwidth = "1 GB/s"\nlatency = "10 ns"\n[[switch]]\n'
        'names = ["a", "b"]\nnodes = 4\n[[link]]\nbetween = [["a", "b"]]\n'
    )
    (folder / "ways.toml").write_text(
        '[[route]]\nat = ["a"]\nto = ["b"]\nnext = ["b"]\n'
        '[[route]]\nat = ["b"]\nto = ["a"]\nnext = ["a"]\n'
    )
    (folder / "pair.goal").write_text(
        "num_ranks 2\nrank 0 {\nsend 4096b to 1\n}\nrank 1 {\nrecv 4096b from 0\n}\n"
    )
    (folder / "pair.map").write_text("0\n7\n")
    recorded = EXAMPLES / "traces" / "stencil4d-32"
    anchor = next(recorded.glob("*.otf2"))
    for name, content in lw.network.read_trace_files(anchor).items():
        path = folder / "four" / name.replace(anchor.stem, "trace", 1)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    path = folder / "cluster.toml"
    path.write_text(SCENARIO)
    return path


def test_a_scenario_reads_its_files(tmp_path: Path) -> None:
    path = scenario(tmp_path)
    assert lw.scenario.Scenario.from_text(path.read_text()).kind == "programs"
    assert (
        lw.scenario.Scenario.from_text((EXAMPLES / "dgx1-v100-mix.toml").read_text()).kind == "mix"
    )
    done = lw.scenario.play_programs(path)
    assert [job.name for job in done.jobs] == ["pair", "four"]
    assert done.run.mapping[0] == [0, 7]
    assert done.jobs[1].ranks == 32
    again = lw.scenario.play_programs(path)
    assert table(again.run.jobs()) == table(done.run.jobs())
    assert again.manifest == done.manifest
    assert str(tmp_path) not in str(done.manifest)


def test_two_files_of_one_name_keep_both_hashes(tmp_path: Path) -> None:
    text = "num_ranks 2\nrank 0 {\nsend 4096b to 1\n}\nrank 1 {\nrecv 4096b from 0\n}\n"
    expected = []
    written = "[network]\npreset = 'fat-tree'\nlevels = 2\nleaves = 4\nradix = 8\n"
    for folder, size in (("a", "4096b"), ("b", "64b")):
        file = tmp_path / folder / "pair.goal"
        file.parent.mkdir()
        file.write_text(text.replace("4096b", size), encoding="utf-8")
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        line = written.count("\n") + 2
        expected.append({"file": "pair.goal", "line": line, "sha256": digest})
        written += f"[[job]]\ngoal = '{file}'\n"
    path = tmp_path / "cluster.toml"
    path.write_text(written, encoding="utf-8")
    assert lw.scenario.play_programs(path).manifest["files"] == expected


def test_a_file_that_is_not_there_is_the_scenarios_error(tmp_path: Path) -> None:
    path = scenario(tmp_path)
    (tmp_path / "pair.map").unlink()
    with pytest.raises(lw.errors.InputError) as caught:
        lw.scenario.play_programs(path)
    assert (caught.value.line, caught.value.column, caught.value.value) == (8, 11, "pair.map")
    with pytest.raises(lw.errors.FileError, match="did you mean `fat-tree`"):
        lw.network.read_system(network="fattree")
    loaded = lw.network.read_system({"gpus": 2}, network=tmp_path / "line.toml")
    assert (loaded.gpu_count, loaded.routing) == (16, "shortest-path")


def test_ctrl_c_stops_a_run_within_a_second() -> None:
    program = lw.network.Program.skeleton("stencil4d", 64, message="1 MiB")
    job = lw.network.ClusterJob(program, iterations=100_000)
    seen: list[tuple[int, int, float, int]] = []
    cluster = system_of(radix=8, pods=4, gpus_per_node=2)
    with interrupted():
        cluster.play([job], progress=lambda *at: seen.append(at))
    assert seen
    assert all(0 <= done <= total for done, total, *_ in seen)
    counts = [events for *_, events in seen]
    assert counts[0] > 0
    assert counts == sorted(counts)


def many_calculations() -> str:
    return "num_ranks 1\nrank 0 {\n" + "calc 1\n" * 6_000_000 + "}\n"


KRIPKES = '[network]\ngpus_per_node = 16\n[[job]]\nprogram = "kripke"\nranks = 32768\n'


@pytest.mark.parametrize(
    "prepare",
    [
        lambda: partial(lw.network.Program.skeleton, "kripke", 32_768),
        lambda: partial(lw.network.Program.from_goal, many_calculations()),
        lambda: partial(lw.scenario.Scenario.from_text, KRIPKES),
    ],
    ids=["application", "goal", "scenario"],
)
def test_ctrl_c_is_heard_while_programs_are_made(
    prepare: Callable[[], Callable[[], object]],
) -> None:
    make = prepare()
    with interrupted(after=0.2):
        make()


def test_an_error_of_the_progress_ends_the_run() -> None:
    program = lw.network.Program.skeleton("stencil4d", 64, message="1 MiB")

    def fail(*_at: float) -> None:
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        system_of(gpus_per_node=2).play(
            [lw.network.ClusterJob(program, iterations=100_000)], progress=fail
        )


def test_collectives_go_by_plans_where_they_are_asked_to() -> None:
    program = lw.network.Program.skeleton("subcomm3d", 8, message_y="128 KiB", message_z="128 KiB")
    job = lw.network.ClusterJob(program, mapping=[0, 1, 4, 5, 8, 9, 12, 13])
    collectives = {"all_to_all": "planned", "all_reduce": "ring"}
    run = system_of(**SMALL).play([job], collectives=collectives)
    planned = table(run.planned())
    assert set(column(planned, "collective")) == {"all-to-all"}
    assert set(column(planned, "ranks")) == {2}
    assert set(column(planned, "nodes")) == {1, 2}
    assert min(column(planned, "rate")) > 0
    usual = system_of(**SMALL).play([job])
    assert table(usual.planned()).num_rows == 0
    assert column(table(run.jobs()), "data") == column(table(usual.jobs()), "data")


def test_what_no_plan_does_is_refused_with_what_does() -> None:
    with pytest.raises(lw.errors.InputError, match="use one of recursive-doubling, linear"):
        system_of(**SMALL).play([], collectives={"scan": "planned"})
    system = system_of(gpus_per_node=16)
    job = lw.network.ClusterJob(lw.network.Program.skeleton("laghos", 512))
    with pytest.raises(
        lw.errors.SimulationError, match="at most 256 GPUs; use another algorithm, such as"
    ):
        system.play([job], collectives={"all_reduce": "planned"})
