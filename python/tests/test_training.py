"""Tests steps of training: the answers of `train`, in Python and in the shell."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

import pytest
from commands import linkwright

from linkwright import Pattern, System, train
from linkwright.errors import ArgumentError, FileError, InputError, SimulationError
from linkwright.network import ClusterJob, read_system
from linkwright.recipes import communications
from linkwright.runs.training import play
from linkwright.training import NeuralNetwork, TrainingStep, neural_networks, training_terms

DGX1 = System("dgx1-v100")
WAYS = [
    *("nccl", "packing", "nccl-ring", "all-reduce-broadcast", "reduce-broadcast", "p2p"),
    *("p2p-relay", "p2p-direct", "zero-copy", "unified-memory", "shared-memory", "fsdp"),
    "fsdp:packing",
]
OWN = """
name = "own"
source = "a test"
input = { channels = 3, height = 8, width = 8 }
layers = [
    { name = "first", kind = "convolution", channels = 4, kernel = 3 },
    { name = "last", kind = "fully-connected", width = 10 },
]
"""


@pytest.mark.parametrize("way", WAYS)
def test_the_parts_of_a_step_are_its_time(way: str) -> None:
    run = train("lenet", DGX1, gpus=4, batch=256, communication=way, scaling=False)
    [step] = run.steps
    split = step.parts
    whole = split.framework + split.computing + split.exposed + split.idle
    assert whole == pytest.approx(step.time, rel=1e-9)
    assert split.exposed <= split.communication + 1e-12
    assert step.step.has_root == way.endswith("-broadcast")
    assert split.communication > 0


def test_a_step_has_parts_of_one_job_and_of_all_its_ranks() -> None:
    [step] = train("lenet", DGX1, gpus=2, batch=64, scaling=False).steps
    with pytest.raises(SimulationError, match="3 numbers are given for 2 ranks; give one for each"):
        step.run.step_parts([1, 1, 1])
    once, twice = step.run.step_parts([1, 1]), step.run.step_parts([2, 2])
    assert once == step.run.step_parts() == pytest.approx(twice, rel=1e-12)
    jobs = [ClusterJob(step.step.program, mapping=gpus) for gpus in ([0, 1], [2, 3])]
    both = DGX1.play(jobs, fidelity="flow")
    for asked in (both.step_parts, both.collective_parts):
        with pytest.raises(SimulationError, match="a step of training is one job"):
            asked()


# A network that says how its layers are cut.
CUT = """
input = { width = 256 }
layers = [
    { name = "up", kind = "fully-connected", width = 4096, split = "columns", then = ["relu"] },
    { name = "down", kind = "fully-connected", width = 256, split = "rows" },
    { name = "last", kind = "fully-connected", width = 10, split = "columns" },
]
"""
# Ways in which data moves while GPUs compute, and cannot do otherwise.
OVERLAPPING = ["fsdp", "pipeline", "zero-copy", "shared-memory", "tsm"]
# Planners that plan other collectives than an all-reduce.
OTHERS = [
    "nccl-pat",
    *(f"mpi-{name}" for name in ("linear", "dissemination", "pairwise", "blocked", "bruck")),
]


@pytest.mark.parametrize("way", [way for way in communications() if way not in OTHERS])
def test_without_overlap_all_communication_is_exposed_or_it_is_refused(way: str) -> None:
    network = NeuralNetwork.from_text(CUT)
    gpus = [0, 1, 2, 3]
    chosen = {"batch": 2048, "communication": way, "scaling": False, "bucket": 100_000}
    # Planners for several servers plan for no fewer, and reductions in switches need them.
    machine = {
        "three-phase": read_system("dgx1-v100", 2),
        "nvls": System("hgx-h100"),
        "nvls-tree": read_system("hgx-h100", 2, network="400Gb/s"),
    }.get(way, DGX1)
    if way in ("three-phase", "nvls-tree"):
        gpus = [0, 1, 8, 9]
    if way == "pipeline":
        gpus = [0, 1]

    def best(*, overlap: bool) -> play.Played:
        run = train(network, machine, gpus=gpus, overlap=overlap, **chosen)  # type: ignore[arg-type]
        return run.best

    if way in OVERLAPPING:
        with pytest.raises(
            SimulationError, match=f"`{way}` cannot run without overlap: "
        ) as refused:
            best(overlap=False)
        assert "while" in str(refused.value)
        return
    apart, beside = best(overlap=False), best(overlap=True)
    assert apart.parts.communication > 0
    assert apart.parts.exposed == pytest.approx(apart.parts.communication, rel=1e-9)
    assert apart.parts.computing == pytest.approx(beside.parts.computing, rel=1e-9)
    if way in ("tensor", "unified-memory"):
        # The next computation waits for data in any case.
        assert apart.time == beside.time
    else:
        assert beside.parts.exposed < beside.parts.communication
        assert apart.time > beside.time


@pytest.mark.parametrize("way", ["nccl", "fsdp", "p2p", "tensor", "pipeline"])
@pytest.mark.parametrize("framework", ["pytorch", "mxnet-18-04"])
def test_layers_take_what_the_step_computes(way: str, framework: str) -> None:
    network = NeuralNetwork.from_text(CUT)
    chosen = {"gpus": 2, "batch": 64, "communication": way, "scaling": False}
    step = train(network, DGX1, framework=framework, **chosen).best  # type: ignore[arg-type]
    [model] = step.step.models
    rows = list(step.step.layers(model))
    computed = sum(row[part] for row in rows for part in ("forward", "backward", "update"))
    assert sum(step.step.computing(model)) == pytest.approx(computed, rel=1e-9)
    if way == "pipeline":
        # Of each of eight parts, on a GPU of two, which has its own layers' new weights.
        updates = sum(row["update"] for row in rows)
        computed = (8 * (computed - updates) + updates) / 2
    if way == "p2p":
        # GPU 0 alone has new weights, and the kernels that add.
        assert computed / 2 < step.parts.computing < 2 * computed
    else:
        assert step.parts.computing == pytest.approx(computed, rel=1e-6)


def test_a_sample_of_another_size_leaves_no_note_on_the_usual_one() -> None:
    for name, _, _ in neural_networks():
        network = NeuralNetwork.find(name)
        usual = re.findall(r"[\d,]+ x [\d,]+ points|[\d,]+ tokens", " ".join(network.assumptions))
        if usual and network.tokens:
            other = network.with_input(tokens=512)
            same = network.with_input(tokens=network.tokens)
        elif usual:
            other = network.with_input(size=256)
            same = network.with_input(size=int(network.input.split(" x ")[-1]))
        else:
            continue
        assert same.assumptions == network.assumptions
        assert not any(text in note for text in usual for note in other.assumptions)
    assert "8,192" in NeuralNetwork.find("llama3-8b").assumptions[0]
    assert NeuralNetwork.find("llama3-8b").with_input(tokens=512).assumptions == []


# Trainings that do not fit: network, machine, GPUs, batch, precision and way; and the largest part.
TOO_LARGE = [
    ("llama3-70b", "hgx-h100", 1024, 1024, "bf16", "fsdp", "activations"),
    ("llama3-8b", "hgx-h100", 8, 8, "fp32", "nccl", "activations"),
    ("llama3-8b", "hgx-h100", 1, 1, "bf16", "nccl", "the optimizer's state"),
    ("gpt2-1.5b", "dgx1-v100", 2, 4, "fp16", "nccl", "the optimizer's state"),
    ("vgg-16", "dgx1-v100", 2, 2048, "fp32", "nccl", "activations"),
    ("inception-v3", "dgx1-v100", 4, 2048, "fp32", "p2p", "activations"),
    ("resnet-50", "dgx1-v100", 2, 1024, "fp32", "pipeline", "activations"),
]


@pytest.mark.parametrize("case", TOO_LARGE, ids=lambda case: f"{case[0]}-{case[2]}-{case[5]}")
def test_what_a_refusal_for_memory_advises_fits(
    case: tuple[str, str, int, int, str, str, str],
) -> None:
    name, machine, gpus, batch, precision, way, largest = case
    network = NeuralNetwork.find(name)

    def step(count: int, **choices: Any) -> TrainingStep:
        of = {"batch": batch, "precision": precision, "way": "all-reduce" if way == "nccl" else way}
        size = {key: choices.pop(key) for key in ("size", "tokens") if key in choices}
        on = read_system(machine, gpus=count)
        sized = network.with_input(**size) if size else network
        return TrainingStep(sized, on, range(count), **{**of, **choices})

    with pytest.raises(SimulationError) as refused:
        step(gpus)
    assert f"(mostly {largest}, " in refused.value.problem
    assert refused.value.remedy is not None
    remedies = refused.value.remedy.removeprefix("use ").split(", or ")
    assert remedies
    for remedy in remedies:
        choices: dict[str, Any] = {}
        for pattern, key in (
            (r"`(fsdp)`", "way"),
            (r"`(bf16|fp16)`", "precision"),
            (r"batch of (\d+)", "batch"),
            (r"(\d+) tokens", "tokens"),
            (r"(\d+) points", "size"),
            (r"(\d+) GPUs", "gpus"),
        ):
            if found := re.search(pattern, remedy):
                text = found.group(1)
                choices[key] = int(text) if text.isdigit() else text
        assert choices, remedy
        # Nothing that is so already.
        assert choices.get("way") != way
        assert choices.get("precision") != precision
        count = choices.pop("gpus", gpus)
        assert step(count, **choices).samples_at_once >= 1


@pytest.mark.parametrize("name", ["zero3", "ZeRO-3", "zero_stage_3", "deepspeed"])
def test_a_name_of_another_framework_leads_to_the_way(name: str) -> None:
    with pytest.raises(SimulationError, match="did you mean `fsdp`"):
        train("lenet", DGX1, gpus=2, communication=name)
    told = linkwright("train", "lenet", "--gpus", "2", "--communication", name)
    assert "did you mean `fsdp`" in told.stderr


def test_one_gpu_communicates_nothing() -> None:
    run = train("lenet", DGX1, gpus=1, batch=64, communication=["nccl", "p2p", "fsdp"])
    for step in run.steps:
        copies = sum(row["end"] - row["start"] for row in step.run.copies())
        # Samples come from the host.
        assert step.parts.communication == pytest.approx(copies)
        assert step.run.kernels().num_rows == 0


def test_scaling_is_told_of_powers_of_two() -> None:
    run = train("vgg-16", DGX1, gpus=8, batch=64, communication="nccl")
    strong = [row for row in run.scaling if row.kind == "strong"]
    assert [(row.gpus, row.batch) for row in strong] == [(1, 64), (2, 64), (4, 64), (8, 64)]
    weak = [row for row in run.scaling if row.kind == "weak"]
    assert [(row.gpus, row.batch) for row in weak] == [(1, 8), (2, 16), (4, 32), (8, 64)]
    assert strong[0].speed_up == 1.0
    assert all(row.efficiency <= 1.0 + 1e-9 for row in weak)


@pytest.mark.parametrize(
    ("machine", "way", "most"),
    [
        *(("dgx1-v100", way, 0.01) for way in ("nccl", "fsdp")),
        # Half of the second server is all that the job has there.
        ("dgx2", "nccl", 0.02),
        # A GPU that a reduction needs no more goes on before the others.
        ("dgx1-v100", "reduce-broadcast", 0.1),
    ],
)
def test_servers_that_do_the_same_are_as_all_of_them(
    monkeypatch: pytest.MonkeyPatch, machine: str, way: str, most: float
) -> None:
    system = read_system(machine, gpus=32)
    # Three servers of eight GPUs, or one of 16 and half of another.
    gpus = list(range(8, 32))

    def rows() -> dict[str, Any]:
        run = train("alexnet", system, gpus=gpus, batch=960, communication=way, scaling=False)
        return dict(cast("Any", run.summary())["steps"][0])

    whole = rows()
    monkeypatch.setattr(play, "MOST_PLAYED", 1)
    monkeypatch.setattr(play, "MOST_PLAYED_WITH_ROOT", 1)
    some = rows()
    assert some.pop("data") == pytest.approx(whole.pop("data"), rel=1e-6)
    for part, value in whole.items():
        if part in ("framework", "computing", "samples_at_once"):
            assert some[part] == pytest.approx(value, rel=1e-9), part
        elif isinstance(value, float):
            near = most * (whole["time"] if part == "idle" else value)
            assert some[part] == pytest.approx(value, abs=near), part
        else:
            assert some[part] == value, part


@pytest.mark.parametrize("way", ["fsdp", "nccl"])
def test_links_of_a_representative_count_for_all_that_are_alike(
    monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    system = read_system("hgx-h100", gpus=16, network="400Gb/s")
    chosen = {"batch": 512, "precision": "bf16", "communication": way, "scaling": False}

    def links() -> dict[tuple[str, str, str], dict[str, Any]]:
        best = train("lenet", system, gpus=16, **chosen).best  # type: ignore[arg-type]
        rows = [row for row in best.links() if row["data"] > 0]
        return {(row["from"], row["to"], row["kind"]): dict(row) for row in rows}

    whole = links()
    monkeypatch.setattr(play, "MOST_PLAYED", 1)
    some = links()
    assert some.keys() == whole.keys()
    assert {kind for _, _, kind in some} >= {"pcie5", "injection", "ejection"}
    for ends, row in whole.items():
        assert some[ends]["data"] == pytest.approx(row["data"], abs=1 + 1e-6 * row["data"]), ends
        assert some[ends]["utilisation"] == pytest.approx(row["utilisation"], rel=0.03), ends


def test_a_pipeline_is_played_whole_whatever_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = {"gpus": 2, "batch": 64, "communication": "pipeline", "scaling": False}
    whole = train("lenet", DGX1, **chosen).best  # type: ignore[arg-type]
    monkeypatch.setattr(play, "MOST_PLAYED", 1)
    assert train("lenet", DGX1, **chosen).best.parts == whole.parts  # type: ignore[arg-type]
    assert whole.is_whole


def test_servers_and_their_network_are_as_at_the_shell() -> None:
    run = train("alexnet", DGX1, servers=2, fabric="100Gb/s", batch=64, scaling=False)
    assert (run.system.server_count, len(run.gpus)) == (2, 16)
    assert run.system == read_system("dgx1-v100", 2, network="100Gb/s")
    shell = linkwright(
        *("train", "alexnet", "--machine", "dgx1-v100", "--servers", "2", "--network", "100Gb/s"),
        *("--batch", "64", "--set", "scaling=false", "--json"),
    )
    assert json.loads(shell.stdout)["steps"] == json.loads(json.dumps(run.summary()["steps"]))
    # More GPUs than a named server has are on as many servers as have them.
    assert train("alexnet", gpus=16, batch=64, scaling=False).system.server_count == 2


def test_terms_and_measured_times_are_files_or_texts(tmp_path: Path) -> None:
    terms, times = tmp_path / "terms.toml", tmp_path / "times.csv"
    terms.write_text(training_terms().replace("least = ", "least = 10"), encoding="utf-8")
    times.write_text("layer,forward,backward,update\nc,1 s,1 s,1 s\n", encoding="utf-8")
    told = {"gpus": 1, "batch": 64, "scaling": False}
    found = [
        train("lenet", DGX1, terms=of, **told).summary()  # type: ignore[arg-type]
        for of in (terms, str(terms), terms.read_text(encoding="utf-8"))
    ]
    assert found[0] == found[1] == found[2] != train("lenet", DGX1, **told).summary()  # type: ignore[arg-type]
    for of, file in [(times, times), (str(times), times), (times.read_text(), "<measured>")]:
        with pytest.raises(InputError) as refused:
            train("lenet", DGX1, measured=of, **told)  # type: ignore[arg-type]
        assert str(refused.value).startswith(f"{file}:2:")
    with pytest.raises(FileError, match=r"there is no file `none\.csv`"):
        train("lenet", measured="none.csv")


def test_numbers_and_sizes_are_taken_as_they_come() -> None:
    np = pytest.importorskip("numpy")
    first = train("lenet", DGX1, gpus=[0, 1], batch=64, bucket=25 << 20, scaling=False)
    for gpus in (np.array([0, 1]), (0, 1), range(2), np.int64(2), 2):
        again = train("lenet", DGX1, gpus=gpus, batch=np.int32(64), bucket="25MiB", scaling=False)
        assert again.manifest == first.manifest
    for wrong in ({"gpus": True}, {"gpus": [0, 1.5]}, {"batch": "x"}, {"bucket": "25 Mx"}):
        [name] = wrong
        with pytest.raises(ArgumentError, match=f"`{name}.*` is ") as refused:
            train("lenet", **wrong)
        assert refused.value.argument.startswith(name)


def test_terms_are_read_and_refused_with_their_place() -> None:
    slower = training_terms().replace("least = ", "least = 10")
    usual = train("lenet", DGX1, gpus=1, batch=64).best.time
    assert train("lenet", DGX1, gpus=1, batch=64, terms=slower).best.time > usual
    with pytest.raises(InputError, match="no part of a peak"):
        train(
            "lenet",
            DGX1,
            gpus=1,
            batch=64,
            terms=training_terms().replace("memory = ", "memory = 7"),
        )


def test_what_cannot_be_trained_is_refused_with_what_can(tmp_path: Path) -> None:
    with pytest.raises(
        SimulationError, match="a batch of 30 samples does not divide evenly among 4 GPUs"
    ):
        train("lenet", DGX1, gpus=4, batch=30)
    with pytest.raises(FileError, match="did you mean `lenet`"):
        train("lennet", DGX1)
    with pytest.raises(SimulationError, match="did you mean `p2p`"):
        train("lenet", DGX1, gpus=2, communication="p2")
    with pytest.raises(SimulationError, match="tf32"):
        train("lenet", DGX1, gpus=2, precision="tf32")
    with pytest.raises(SimulationError, match="how its layers are cut"):
        train("lenet", DGX1, gpus=2, communication="tensor")
    with pytest.raises(SimulationError, match="in two"):
        train("lenet", read_system("dgx1-v100", gpus=16), batch=64, communication="p2p")
    own = tmp_path / "own.toml"
    own.write_text(OWN.replace("kernel = 3", "kernel = 9"), encoding="utf-8")
    with pytest.raises(InputError, match=r"own\.toml:6:"):
        train(own, DGX1)


def test_one_s_own_network_is_trained(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(OWN, encoding="utf-8")
    run = train(own, DGX1, gpus=2, batch=8)
    assert run.recipe.network.parameters == 4 * (27 + 1) + 10 * (4 * 36 + 1)
    assert run.manifest["network"] == "own.toml"


def test_gradients_of_32_bits_are_twice_those_of_16() -> None:
    steps = [
        train("vgg-16", DGX1, gpus=4, batch=64, precision="fp16", gradients=kind, scaling=False)
        for kind in (None, "fp32")
    ]
    short, long = (run.best for run in steps)
    assert long.parts.communication > 1.5 * short.parts.communication
    assert long.step.memory()[0]["gradients"] == 2 * short.step.memory()[0]["gradients"]


def test_a_pattern_follows_from_a_program() -> None:
    network = NeuralNetwork.find("lenet")
    edges = {
        way: Pattern.from_program(
            TrainingStep(network, DGX1, range(4), batch=64, way=way).program
        ).edges
        for way in ("all-reduce", "p2p", "shared-memory")
    }
    star = [(0, 1), (0, 2), (0, 3)]
    ring = [(0, 1), (0, 3), (1, 2), (2, 3)]
    assert edges == {"all-reduce": ring, "p2p": star, "shared-memory": star}


def test_the_command_writes_what_it_says(tmp_path: Path) -> None:
    to, timeline, times = tmp_path / "out", tmp_path / "step.json", tmp_path / "times.csv"
    times.write_text("layer,forward,backward\nconv1,x,2\n", encoding="utf-8")
    result = linkwright(
        *("train", "lenet", "--gpus", "2", "--batch", "64", "--communication", "nccl,p2p"),
        *("--output", to, "--timeline", timeline),
    )
    assert result.exit_code == 0, result.output
    assert {file.name for file in to.iterdir()} >= {
        "report.html",
        "steps.parquet",
        "links.parquet",
        "summary.json",
    }
    assert json.loads(timeline.read_text(encoding="utf-8"))
    for arguments, said in (
        (["--on", "0,9"], "there is no GPU 9"),
        (["--on", "0", "--gpus", "2"], "leave one out"),
        (["--communication", "nccl,,p2p"], "names nothing between two commas"),
        (["--set", "bucket=x"], "bucket: `x` is not a size"),
        (["--precision", "fp33"], "fp32"),
        (["--gradients", "fp33"], "fp32"),
        (["--communication", "p2p-direct"], "ranks 0 and 5 have no peer access (no NVLink"),
        (["--measured", times], f"{times}:2:7: this is no time of a layer: `x`"),
        (["--set", f"terms={times}"], f"{times}:1:"),
    ):
        result = linkwright("train", "lenet", *arguments)
        assert result.exit_code == 2 or result.exit_code == 1
        assert said in result.stderr, (arguments, result.stderr)


def test_every_network_can_be_trained() -> None:
    system = read_system("hgx-h100", gpus=64)
    for name, _, parameters in neural_networks():
        if parameters < 1 << 32:
            run = train(name, system, gpus=1, batch=1, precision="bf16")
            assert run.best.time > 0
            continue
        # A whole sequence is larger than a GPU, and so are the weights of all layers.
        network = NeuralNetwork.find(name).with_input(tokens=512)
        step = TrainingStep(network, system, range(64), batch=64, way="fsdp", precision="bf16")
        assert sum(row["weights"] for row in step.memory()) >= 2 * parameters
        assert len(step.collectives()) > 2


def test_a_batch_that_does_not_fit_is_refused_with_one_that_does() -> None:
    with pytest.raises(SimulationError, match=r"GiB more than it has|more than it has"):
        train("vgg-16", DGX1, gpus=2, batch=2048)
    alone, shared = (
        sum(
            row["total"]
            for row in train("resnet-50", DGX1, batch=64, communication=way).best.step.memory()
        )
        for way in ("nccl", "fsdp")
    )
    assert shared < alone
