"""Runs kernels inside GPUs that a machine's links join."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from commands import linkwright

from linkwright import GpuSystem, System, plan
from linkwright.drawing import machine_drawing
from linkwright.errors import AllocationError, MachineError, SimulationError
from linkwright.network import read_system
from linkwright.specification import chart_specification

DGX1 = ("--machine", "dgx1-v100", "--gpu", "r9-nano")
SMALL = ("gpu", "run", "mt", "--size", "128")


def of_machine(*gpus: int, name: str = "dgx1-v100", **options: object) -> GpuSystem:
    """Gives GPUs of a machine, with the inside of the only model that has one."""
    return GpuSystem("r9-nano", machine=read_system(name), on=list(gpus), **options)  # type: ignore[arg-type]


def test_the_shell_and_python_give_the_same_over_a_machine_s_links() -> None:
    result = linkwright(*SMALL, *DGX1, "--on", "0,3", "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    run = of_machine(0, 3).play("mt", 128)
    assert (told["machine"], told["on"], told["model"]) == ("dgx1-v100", [0, 3], "r9-nano")
    assert (run.correct, told["time"]) == (True, run.time)
    assert told["links"] == list(run.links())
    carried = {row["link"]: row["bytes"] for row in run.links()}
    assert carried["GPU0 to GPU3"] > 0
    assert carried["GPU3 to GPU0"] > 0
    # Copies come from the host, from the same CPU to both.
    assert carried["CPU0 to PCIE0"] + carried["CPU0 to PCIE1"] == 128 * 128 * 4
    assert all(0 < row["utilisation"] <= 1 for row in run.links())


def test_the_output_says_what_lies_between_and_what_inside() -> None:
    said = linkwright(*SMALL, *DGX1, "--on", "0,3", "--without", "GPU0-GPU3").stdout
    assert (
        "between GPU0, GPU3: the links of dgx1-v100 without GPU0-GPU3; inside: r9-nano, not the "
        "machine's V100-SXM2-16GB" in " ".join(said.split())
    )


def test_all_gpus_of_a_machine_take_part_where_nobody_names_them() -> None:
    whole = GpuSystem("r9-nano", machine=read_system("hgx-h100"))
    assert (whole.gpus, whole.on) == (8, list(range(8)))
    assert GpuSystem("r9-nano", 2, machine=read_system("hgx-h100")).on == [0, 1]
    lacking = GpuSystem("r9-nano", 2, machine=read_system("hgx-h100"), without=["GPU0"])
    assert (lacking.on, lacking.without) == ([1, 2], ["GPU0"])
    assert lacking.machine == read_system("hgx-h100")


def test_links_decide_how_long_a_kernel_takes() -> None:
    def time(system: GpuSystem) -> float:
        run = system.play("mt", 128)
        assert run.correct
        return run.kernel_time

    # Two NVLinks, one, and no NVLink but two sockets.
    times = [time(of_machine(0, 3)), time(of_machine(0, 1)), time(of_machine(0, 5))]
    assert times == sorted(times)
    assert times[0] < times[2]
    assert time(of_machine(0, 3, without=["GPU0-GPU3"])) > times[0]
    assert time(of_machine(0, 3, without=["mlx5_3", "GPU1-GPU2"])) == times[0]
    # One of four NVSwitches carries five links of eighteen of each GPU.
    hgx = [of_machine(0, 1, name="hgx-h100", without=absent) for absent in ([], ["NVSW0"])]
    whole, lacking = (system.play("mt", 128) for system in hgx)
    assert whole.kernel_time < lacking.kernel_time
    assert not any("NVSW0" in row["link"] for row in lacking.links())


def test_memory_systems_that_share_memory_are_left_out_of_a_comparison() -> None:
    result = linkwright(
        *("gpu", "compare", "relu", "--machine", "hgx-h100", "--gpu", "r9-nano", "--gpus", "2")
    )
    assert result.exit_code == 0, result.stderr
    for memory in ("rdma", "hmg", "g-tsc", "zero-copy", "unified"):
        assert re.search(rf"^relu +{memory} ", result.stdout, re.MULTILINE), memory
    assert "left out, since no memory there is shared by all: tsm-wb-nc-rc" in result.stdout


def test_a_run_over_a_machine_s_links_is_pickled() -> None:
    system = of_machine(0, 1, without=["mlx5_3"])
    assert pickle.loads(pickle.dumps(system)) == system
    assert system != of_machine(0, 1)
    assert repr(system) == "<GpuSystem: 2 of r9-nano in dgx1-v100, rdma>"
    run = system.play("relu", 1024)
    again = pickle.loads(pickle.dumps(run))
    assert (again.time, list(again.links())) == (run.time, list(run.links()))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "gpu run mt --machine dgx1-v100",
            "of `v100-sxm2-16gb` has no [hierarchy]; give --gpu a preset with a [hierarchy]",
        ),
        (
            "gpu run mt --machine dgx1-v100 --gpu r9-nano --on 0,9",
            "there is no GPU 9; the machine has GPUs 0 to 7",
        ),
        (
            "gpu run mt --machine dgx1-v100 --gpu r9-nano --on 0,0",
            "`GPU0` is named twice; name it once",
        ),
        (
            "gpu run mt --machine dgx1-v100 --gpu r9-nano --on 0,1 --without GPU1",
            "`GPU1` is absent; leave it out of `on`",
        ),
        (
            "gpu run mt --machine dgx1-v100 --gpu r9-nano --gpus 9",
            "`dgx1-v100` has 8 GPUs, and 9 are asked for; take 1 to 8",
        ),
        (
            "gpu run mt --machine dgx1-v100 --gpu r9-nano --without GPU0-GPU5",
            "no link joins `GPU0` and `GPU5`; use a link of `GPU0`: they lead to GPU3, GPU4, "
            "GPU1, "
            "GPU2, "
            "PCIE0",
        ),
        (
            "gpu compare mt --machine dgx1-v100 --gpu r9-nano --without mlx5_9",
            "there is no part `mlx5_9`; did you mean `mlx5_0`?",
        ),
        (
            "gpu run mt --machine dgx1-v100 --gpu r9-nano --without node1/GPU0",
            "there is no server `node1`; use node0",
        ),
        (
            "gpu run mt --machine dgx1-v100 --gpu r9-nano --memory tsm-wt-c-rc",
            "`tsm-wt-c-rc` needs a memory that GPUs share, but the machine's links lead to "
            "none; use "
            "rdma, hmg, g-tsc, zero-copy, unified",
        ),
        (
            "gpu run mt --machine mgpu-tsm --memory tsm-wt-c-rc --set shared_bandwidth=64",
            "shared_bandwidth changes nothing: the links of mgpu-tsm say how fast",
        ),
        ("gpu run mt --on 0,1", "--on is of a machine; give --machine, too."),
        ("gpu run mt --without GPU0", "--without is of a machine; give --machine, too."),
        (
            "gpu run mt --machine dgx1-v100 --gpu r9-nano --on 0,1 --gpus 2",
            "--on names the GPUs, and --gpus counts them; give one.",
        ),
    ],
)
def test_what_a_machine_does_not_have_is_told_in_a_line(line: str, said: str) -> None:
    result = linkwright(*line.split())
    assert result.exit_code != 0
    assert said in " ".join(result.stderr.replace("│", " ").split())


def test_python_refuses_the_same() -> None:
    machine = read_system("dgx1-v100")
    with pytest.raises(MachineError, match=r"has no \[hierarchy\]; give --gpu a preset"):
        GpuSystem(machine=machine)
    with pytest.raises(MachineError, match="`on` names GPUs of a machine; give the machine, too"):
        GpuSystem(on=[0, 1])
    with pytest.raises(AllocationError, match="there is no GPU 8"):
        GpuSystem("r9-nano", machine=machine, on=[8])
    with pytest.raises(SimulationError, match="`on` names no GPU"):
        GpuSystem("r9-nano", machine=machine, on=[])
    pair = System("dgx1-v100", 2, network="100 Gb/s")
    with pytest.raises(MachineError, match="they are in two servers; use GPUs of one server"):
        GpuSystem("r9-nano", machine=pair, on=[0, 8])
    far = GpuSystem("r9-nano", machine=pair, on=[8, 11], without=["node1/mlx5_3"])
    near = GpuSystem("r9-nano", machine=machine, on=[0, 3])
    assert far.play("relu", 1024).time == near.play("relu", 1024).time


def test_a_folder_holds_the_load_of_each_link(tmp_path: Path) -> None:
    line = (*SMALL, *DGX1, "--on", "0-3", "--without", "mlx5_0", "-o", str(tmp_path / "run"))
    result = linkwright(*line)
    assert result.exit_code == 0, result.stderr
    links = pq.read_table(tmp_path / "run" / "links.parquet").to_pylist()
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert links == summary["links"]
    # All that leaves a switch of PCIe for its GPUs has come from the CPU, page by page.
    load = {row["link"]: row["bytes"] for row in links}
    assert load["CPU0 to PCIE0"] == load["PCIE0 to GPU0"] + load["PCIE0 to GPU1"]
    assert load["memory of CPU0"] == 2 * 128 * 128 * 4
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["machine"]["without"] == ["mlx5_0"]
    report = (tmp_path / "run" / "report.html").read_text()
    assert "GPU0 to GPU3" in report
    assert (tmp_path / "run" / "timeline.json").exists()


def test_a_comparison_writes_the_load_of_each_link_of_each_run(tmp_path: Path) -> None:
    words = ("gpu", "compare", "mt", "message", "--memory", "rdma", "--memory", "hmg", *DGX1)
    result = linkwright(*words, "--on", "0,3", "-o", tmp_path / "out", "--json")
    assert result.exit_code == 0, result.stderr
    rows = json.loads(result.stdout)
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {
        *("comparison.parquet", "links.parquet", "summary.json", "manifest.json", "report.html")
    }
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert summary["runs"] == rows
    links = pq.read_table(tmp_path / "out" / "links.parquet").to_pylist()
    for memory in ("rdma", "hmg"):
        system = of_machine(0, 3, memory=memory)
        run = system.play("mt", next(row["size"] for row in rows if row["benchmark"] == "mt"))
        of = {"benchmark": "mt", "memory": memory}
        assert [row for row in links if row | of == row] == [of | row for row in run.links()]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert [it["memory"] for it in manifest["systems"]] == ["rdma", "hmg"]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "GPU0 to GPU3" in page
    assert "The fastest with a right answer: mt: " in page


@pytest.mark.parametrize("machine", ["mgpu-rdma", "mgpu-tsm"])
@pytest.mark.parametrize("benchmark", ["mt", "relu", "fir"])
@pytest.mark.parametrize("memory", ["rdma", "hmg", "zero-copy", "unified", "tsm-wt-c-rc", "mesi"])
def test_the_dissertation_s_systems_are_machines(machine: str, benchmark: str, memory: str) -> None:
    words = ("gpu", "run", benchmark, "--memory", memory, "--json")
    result = linkwright(*words, "--machine", machine)
    if machine == "mgpu-rdma" and memory in ("tsm-wt-c-rc", "mesi"):
        needed = f"`{memory}` needs a memory that GPUs share, but the machine's links lead to none"
        assert needed in result.stderr
        return
    assert result.exit_code == 0, result.stderr
    # The answer is the same, but that it names the machine.
    own = linkwright(*words, "--gpu", "r9-nano", "--gpus", "4").stdout
    named = f'"machine": "{machine}",\n  "on": [\n    0,\n    1,\n    2,\n    3\n  ],'
    assert result.stdout.replace(named, '"machine": null,\n  "on": [],') == own


def test_shared_memory_is_drawn_and_no_way_between_others() -> None:
    shared, plain = read_system("mgpu-tsm"), read_system("mgpu-rdma")
    kinds = [row["kind"] for row in shared.devices()]
    assert (kinds.count("memory-switch"), kinds.count("memory")) == (1, 1)
    assert {row["kind"] for row in plain.devices()} == set(kinds) - {"memory-switch", "memory"}
    drawn = shared.to_dot()
    assert "octagon" in drawn
    assert "cylinder" in drawn
    page = str(chart_specification(machine_drawing(shared)))
    assert "'memory'" in page
    assert System.from_text(shared.to_toml()) == shared
    gpus = [0, 1, 2, 3]
    for algorithm in ("packing", "blink", "nccl-ring", "nccl-tree"):
        both = [plan(system, gpus, "all-reduce", algorithm=algorithm) for system in (shared, plain)]
        assert both[0].rate == both[1].rate
        if algorithm != "packing":
            assert both[0].time("16MiB").time == both[1].time("16MiB").time


def test_less_bandwidth_to_shared_memory_takes_longer() -> None:
    shared = read_system("mgpu-tsm")
    text = shared.to_toml()
    assert 'bandwidth = "32 GB/s"' in text
    narrow = System.from_text(text.replace('bandwidth = "32 GB/s"', 'bandwidth = "8 GB/s"'))
    times = [
        GpuSystem(machine=system, memory="tsm-wt-c-rc").play("mt", 128).time
        for system in (shared, narrow)
    ]
    assert times[0] < times[1]
    system = GpuSystem(machine=shared, memory="tsm-wt-c-rc")
    assert "shared_bandwidth" not in system.heeds
    with pytest.raises(SimulationError, match="needs a memory that GPUs share, but"):
        GpuSystem(machine=shared, memory="tsm-wt-c-rc", without=["memory"])


def test_a_kernel_is_a_job_of_a_replay() -> None:
    system = read_system("dgx1-v100")
    job = GpuSystem("r9-nano", machine=system, on=[0, 3]).job("mt", 128, name="transpose")
    assert (job.name, job.program.name, job.ranks, job.mapping) == ("transpose", "mt", 2, [0, 3])
    assert pickle.loads(pickle.dumps(job)) == job
    by_itself = GpuSystem("r9-nano", machine=system, on=[0, 3]).play("mt", 128, data=False)
    assert system.play([job]).times[0] == pytest.approx(by_itself.time, rel=0.02)
    with pytest.raises(SimulationError, match="needs the fidelity `packet`, not `flow`"):
        system.play([job], fidelity="flow")
