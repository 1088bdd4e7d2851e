"""`expect --log` and `--calibrate` answer rightly about the logs that people have."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from commands import linkwright

from linkwright import System
from linkwright.collectives import NcclTestsLog
from linkwright.errors import InputError
from linkwright.nccl_tests import compare_log, read_nccl_log
from linkwright.network import read_system

LOGS = Path(__file__).parent / "logs"
ALL = list(range(8))
CALIBRATE = ("collective", "expect", "all-reduce", "-m", "dgx-a100", "--calibrate")


def words(text: str) -> str:
    return " ".join(text.split())


def told(name: str | Path, machine: str, collective: str = "all-reduce", *more: object) -> Any:
    ran = linkwright(
        "collective",
        "expect",
        collective,
        "-m",
        machine,
        "--measured",
        LOGS / name,
        *more,
        "--json",
    )
    assert ran.exit_code == 0, ran.output
    return json.loads(ran.stdout)


def test_rows_of_size_zero_are_left_out_and_the_others_are_compared(tmp_path: Path) -> None:
    found = told("all-gather-from-8-bytes.txt", "hgx-h100", "all-gather")
    assert [row["size"] for row in found["sweep"]] == [64, *(512 << 4 * n for n in range(6))]
    [note] = [note for note in found["notes"] if "size 0" in note]
    assert ":17: 2 rows of size 0 are left out" in note
    log = LOGS / "all-gather-from-8-bytes.txt"
    ran = linkwright(
        "collective", "expect", "all-gather", "-m", "hgx-h100", "--calibrate", log,
        "-o", tmp_path / "x.toml",
    )  # fmt: skip
    assert ran.exit_code == 0, ran.output
    assert "2 rows of size 0 are left out" in words(ran.stderr)


def test_a_warning_is_noted_and_the_log_is_a_guide(tmp_path: Path) -> None:
    found = told("harmless-warning.txt", "dgx-a100")
    [note] = [note for note in found["notes"] if "libibverbs" in note]
    assert ":12: NCCL warned: Failed to open libibverbs.so[.1]" in note
    assert not any("failed here" in note for note in found["notes"])
    target = tmp_path / "x.toml"
    ran = linkwright(*CALIBRATE, LOGS / "harmless-warning.txt", "-o", target)
    assert ran.exit_code == 0, ran.output
    assert target.exists()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (lambda text: text[: text.index("   134217728")], "the table is cut short"),
        (lambda text: text + "a: Test NCCL failure common.cu:958 'error'\n", "Test NCCL failure"),
        (lambda text: text.replace("values : 0 OK", "values : 3 FAILED"), "3 values out of bounds"),
        # Values that are wrong in place alone are wrong, too.
        (lambda text: text.replace("159.08      0\n", "159.08      5\n"), "wrong values"),
        (str, ""),
    ],
)
def test_a_failed_run_is_no_guide(tmp_path: Path, changed: Any, said: str) -> None:
    log, target = tmp_path / "a.log", tmp_path / "x.toml"
    log.write_text(changed((LOGS / "harmless-warning.txt").read_text()))
    ran = linkwright(*CALIBRATE, log, "-o", target)
    assert (ran.exit_code != 0) == bool(said)
    assert said in words(ran.stderr)
    assert target.exists() != bool(said)


def test_labels_of_a_launcher_change_nothing() -> None:
    found = told("srun-labels.txt", "dgx-a100")
    plain = told("harmless-warning.txt", "dgx-a100")
    assert [row | {"line": 0} for row in found["sweep"]] == [
        row | {"line": 0} for row in plain["sweep"]
    ]
    assert found["notes"] == [note for note in plain["notes"] if "libibverbs" not in note]
    assert found["measured_nccl"] == "2.20.5+cuda12.4"


def test_what_lies_within_its_error_fits_and_the_rest_has_a_shape() -> None:
    found = told("quarter-of-the-bandwidth.txt", "dgx-a100")
    assert "Large sizes reach 25 % of the expected bandwidth" in found["meaning"]
    assert "PCIe or the host in place of NVLink" in found["meaning"]


HEAD = "# nThread 1 nGpus 1 minBytes 1024 maxBytes 1073741824 step: 32(factor) warmup iters: 5"
COLUMNS = "#   size   count   type   redop   root   time   algbw   busbw  #wrong"


def log_of(
    hosts: int,
    model: str,
    busbw: float,
    *lines: str,
    each: int = 8,
    test: str = "",
    latency: float = 40e-6,
) -> str:
    """Writes a log of an all-reduce that reaches this bandwidth at large sizes."""
    ranks = hosts * each
    factor = 2 * (ranks - 1) / ranks
    text = [HEAD, *([f"# Collective test starting: {test}"] if test else []), "# Using devices"]
    for rank in range(ranks):
        host, device = divmod(rank, each)
        place = f"Pid {100 + rank} on node-{host} device {device} [0x1{device}]"
        text.append(f"#  Rank {rank} Group 0 {place} {model}")
    text += [*lines, COLUMNS]
    for size in (1 << 10, 1 << 15, 1 << 20, 1 << 25, 1 << 30):
        time = latency + size / (busbw * 1e9 / factor)
        algbw = size / time / 1e9
        text.append(
            f" {size} {size // 4} float sum -1 {time * 1e6:.2f} {algbw:.2f} {algbw * factor:.2f} 0"
        )
    return "\n".join([*text, "# Avg bus bandwidth : 1", ""])


H100, A100 = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB"


def of_two(text: str, machine: str = "hgx-h100", network: str = "400Gb/s", **options: Any) -> Any:
    system = read_system(machine, 2, network=network)
    return compare_log(
        NcclTestsLog.from_text(text), system, list(range(16)), "all-reduce", **options
    )


@pytest.mark.parametrize(
    "line",
    [
        "a:1:1 [0] NCCL INFO AllReduce: 1073741824 Bytes -> Algo COLLNET_CHAIN proto SIMPLE",
        "a:1:1 [0] NCCL INFO AllReduce: 1073741824 Bytes -> Algo 3 proto 2 time 9.0",
        "a:1:1 [0] NCCL INFO NCCL_ALGO set by environment to CollnetDirect",
    ],
)
@pytest.mark.parametrize("busbw", [480.0, 100.0])
def test_no_verdict_from_a_model_that_lacks_what_the_log_shows(line: str, busbw: float) -> None:
    found = of_two(log_of(2, H100, busbw, line))
    assert "The log shows CollNet, which the model lacks" in found.meaning
    assert "tells nothing of the machine" in found.meaning
    assert [finding.means for finding in found.findings] == ["not-modelled"]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            "a:1:1 [0] NCCL INFO AllReduce [Symmetric]: 65536 Bytes -> Kernel AllReduce_AGxLLMC_R"
            " nchannels 8 nthreads 512 nWorks 1",
            "kernels on registered windows",
        ),
        (
            "a:1:1 [0] NCCL INFO AllGather [Copy Engine]: 8388608 Bytes -> cudaMemcpy",
            "copy engines on registered windows",
        ),
        ("+ mpirun -np 16 ./all_reduce_perf -b 8 -e 8G -R 2", "registered windows (-R 2)"),
    ],
)
def test_no_verdict_on_registered_windows(line: str, shown: str) -> None:
    found = of_two(log_of(2, H100, 100.0, line))
    assert shown in found.meaning
    assert "tells nothing of the machine" in found.meaning


def test_two_servers_whose_switches_reduce_have_a_verdict() -> None:
    found = of_two(log_of(2, H100, 480.0))
    assert found.findings == []
    tree = "a [0] NCCL INFO AllReduce: 1073741824 Bytes -> Algo NVLSTREE proto SIMPLE"
    assert of_two(log_of(2, H100, 480.0, tree)).findings == []
    [only] = of_two(
        log_of(2, H100, 480.0, "a:1:1 [0] NCCL INFO NCCL_ALGO set by environment to NVLSTree")
    ).findings
    assert only.option == "--env NCCL_ALGO=nvls-tree"
    for other in (found, of_two(log_of(2, A100, 900.0), "dgx-a100", "200Gb/s")):
        assert "carries more" not in other.meaning


def test_the_transport_that_the_log_names_is_named() -> None:
    lines = [
        "a:1:1 [0] NCCL INFO NET/IB : No device found.",
        "a:1:1 [0] NCCL INFO Using network Socket",
    ]
    found = of_two(log_of(2, A100, 9.0, *lines, latency=38e-6), "dgx-a100", "200Gb/s")
    assert re.match(r"Large sizes reach \d+ % of the expected bandwidth\.", found.meaning)
    assert "over TCP (NET/Socket)" in found.meaning
    assert "its width" not in found.meaning
    [finding] = found.findings
    assert finding.option is not None
    assert "network_bandwidth" in finding.option
    # A lone host has no network to exchange over, though NCCL names one.
    own = compare_log(
        NcclTestsLog.from_text(log_of(1, A100, 58.0, *lines)), System("dgx-a100"), ALL, "all-reduce"
    )
    assert own.findings == []
    shared = "a:1:1 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct"
    [finding] = compare_log(
        NcclTestsLog.from_text(log_of(1, A100, 20.0, shared)), System("dgx-a100"), ALL, "all-reduce"
    ).findings
    assert finding.option == "--env NCCL_P2P_DISABLE=1"


@pytest.mark.parametrize(
    ("lines", "options", "option"),
    [
        (["NCCL_P2P_DISABLE set by environment to 1"], {}, "--env NCCL_P2P_DISABLE=1"),
        (["NCCL_P2P_DISABLE set by environment to 1"], {"p2p": False}, None),
        (["NCCL_NVLS_ENABLE set by environment to 0"], {}, "--env NCCL_NVLS_ENABLE=0"),
        (["NCCL_NVLS_ENABLE set by environment to 0"], {"nvls": False}, None),
        (["NCCL_ALGO set by environment to Ring"], {}, "--env NCCL_ALGO=ring"),
        (["NCCL_ALGO set by environment to Tree"], {"algorithm": "tree"}, None),
        (["NCCL_PROTO set by environment to LL128"], {}, "--env NCCL_PROTO=LL128"),
        (["NCCL version 2.20.5+cuda12.4"], {"nccl": "2.30"}, "--nccl 2.20.5"),
        (["NCCL version 2.20.5+cuda12.4"], {}, None),
        ([], {"processes": "one"}, "--processes each"),
        ([], {"numbers": "half"}, "--type float"),
        ([], {"operation": "max"}, "--reduction sum"),
        ([], {"numbers": "float", "operation": "sum"}, None),
        (["NCCL_DEBUG set by environment to INFO"], {}, None),
    ],
)
def test_what_the_log_states_comes_with_the_option_that_asks_rightly(
    lines: list[str], options: Any, option: str | None
) -> None:
    log = NcclTestsLog.from_text(
        log_of(1, H100, 100.0, *(f"a:1:1 [0] NCCL INFO {it}" for it in lines))
    )
    found = compare_log(log, System("hgx-h100"), ALL, "all-reduce", **options)
    assert [finding.option for finding in found.findings] == ([] if option is None else [option])
    assert ("no cause is looked for" in found.meaning) == (option is not None)


def test_hosts_and_gpus_are_those_that_were_asked_about() -> None:
    text = log_of(2, A100, 100.0, each=4)
    found = compare_log(NcclTestsLog.from_text(text), System("dgx-a100"), ALL, "all-reduce")
    [finding] = found.findings
    assert finding.text.startswith(
        "The log is of 2 hosts with 4 GPUs each, and 8 GPUs of one server"
    )
    assert "--servers 2" in (finding.option or "")
    with pytest.raises(InputError, match=r"2 hosts with 8 GPUs each.*--servers 2"):
        compare_log(
            NcclTestsLog.from_text(log_of(2, A100, 100.0)), System("dgx-a100"), ALL, "all-reduce"
        )
    # A size of memory makes no other GPU, and another generation does.
    for model, option in {
        "NVIDIA A100-SXM4-40GB": None,
        "A100-SXM4-80GB": None,
        H100: "hgx-h100",
        "NVIDIA B200": "hgx-b200",
    }.items():
        log = NcclTestsLog.from_text(log_of(1, model, 200.0))
        findings = compare_log(log, System("dgx-a100"), ALL, "all-reduce").findings
        assert [(it.option or "").split()[1].rstrip(",") for it in findings] == (
            [option] if option else []
        )
    log = NcclTestsLog.from_text(log_of(1, A100, 200.0, test="all_gather_perf"))
    with pytest.raises(InputError, match="is of all-gather, and reduce-scatter is asked"):
        compare_log(log, System("dgx-a100"), ALL, "reduce-scatter")


def test_what_the_log_states_is_printed_before_the_answer(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(log_of(1, A100, 20.0, "+ mpirun -x NCCL_P2P_DISABLE=1 all_reduce_perf"))
    ran = linkwright("collective", "expect", "all-reduce", "-m", "dgx-a100", "--measured", path)
    assert ran.stdout.startswith(
        "a.log:11: The log sets NCCL_P2P_DISABLE=1; ask with --env NCCL_P2P_DISABLE=1."
    )
    [finding] = told(path, "dgx-a100")["findings"]
    assert (finding["line"], finding["means"]) == (11, "asked-otherwise")
    assert (finding["option"], finding["text"][:8]) == ("--env NCCL_P2P_DISABLE=1", "The log ")
    target = tmp_path / "x.toml"
    ran = linkwright(*CALIBRATE, path, "-o", target)
    assert ran.exit_code != 0
    assert "ask with --env NCCL_P2P_DISABLE=1" in words(ran.stderr)
    assert not target.exists()
    assert linkwright(*CALIBRATE, path, "-o", target, "--env", "NCCL_P2P_DISABLE=1").exit_code == 0


def test_the_log_of_an_example_is_as_it_was() -> None:
    example = Path(__file__).parents[2] / "examples/measurements/dgx1-v100-gpus-0-3.nccl-tests.txt"
    found = compare_log(read_nccl_log(example), System("dgx1-v100"), [0, 3], "all-reduce")
    assert found.findings == []
