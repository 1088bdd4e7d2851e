"""Tests `collective doctor`: its verdicts, its proofs and its codes."""

import json
from pathlib import Path

import pytest
from commands import fails, linkwright

from linkwright import System
from linkwright.doctor import LogFiles, Question, diagnose

EXAMPLES = Path(__file__).parents[2] / "examples"
SLOW = EXAMPLES / "logs" / "gpudirect-off.log"
HEALTHY = EXAMPLES / "logs" / "healthy.log"
P2P = EXAMPLES / "measured" / "dgx1-v100.p2p.txt"


def code(*words: object) -> int:
    return linkwright("collective", "doctor", *map(str, words)).exit_code


def test_a_slow_run_has_a_cause_with_its_line_and_what_it_costs() -> None:
    (found,) = diagnose(SLOW)
    first = found.causes[0]
    assert (found.kind, first.cause, found.ranks) == ("cause", "gpudirect-off", 16)
    assert first.line is not None
    assert SLOW.read_text().splitlines()[first.line.number - 1].strip() == first.line.text
    assert "via NET/IB/0" in first.line.text
    assert first.cost == pytest.approx(1.69, abs=0.02)
    assert first.explains is not None
    assert first.explains > 0.8
    assert "nvidia_peermem" in first.command
    assert code(SLOW) == 1


def test_a_healthy_run_is_called_healthy() -> None:
    (found,) = diagnose([HEALTHY], Question(machine=System("hgx-h100"), network="400Gb/s"))
    assert (found.kind, found.causes) == ("healthy", [])
    assert all(row.fits for row in found.rows)
    assert code(HEALTHY) == 0


def test_a_threshold_takes_the_place_of_the_error() -> None:
    assert code(SLOW, "--threshold", "0.5") == 0
    assert code(SLOW, "--threshold", "0.9") == 1
    assert code(HEALTHY, "--threshold", "0.9") == 0


def test_the_order_of_the_answer_is_measured_cause_costs_and_where_to_look() -> None:
    shown = linkwright("collective", "doctor", str(SLOW)).stdout
    places = [shown.index(part) for part in ("expected", "reaches", "proof", "explains", "look")]
    assert places == sorted(places)


def test_logs_in_two_files_are_one_run(tmp_path: Path) -> None:
    lines = SLOW.read_text().splitlines(keepends=True)
    debug, table = tmp_path / "nccl.log", tmp_path / "table.log"
    debug.write_text("".join(line for line in lines if "NCCL INFO" in line))
    table.write_text("".join(line for line in lines if "NCCL INFO" not in line))
    (found,) = diagnose([debug, table])
    assert found.causes[0].cause == "gpudirect-off"
    assert found.causes[0].line is not None
    assert found.causes[0].line.file == str(debug)
    (alone,) = diagnose(debug, Question(machine="hgx-h100"))
    assert (alone.kind, alone.causes[0].cause) == ("cause", "gpudirect-off")
    assert "nothing was measured" in alone.headline


def test_another_machine_than_the_log_s_gets_no_verdict() -> None:
    ran = linkwright("collective", "doctor", str(SLOW), "-m", "dgx-a100")
    assert ran.exit_code == 4
    assert "The log's GPUs are NVIDIA H100" in ran.stdout


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Channel 00/0 : 0[0] [send] via COLLNET/SHARP/0/GDRDMA", "CollNet"),
        ("AllReduce [Symmetric]: 65536 Bytes -> Kernel AllReduce_AGxLLMC_R", "Symmetric"),
        ("TUNER/Plugin: Using tuner plugin Special", "Special"),
    ],
)
def test_what_the_model_lacks_gets_no_verdict_and_the_reason(line: str, reason: str) -> None:
    files = LogFiles()
    text = SLOW.read_text().replace("NCCL INFO Using network IB", f"NCCL INFO {line}", 1)
    files.read_text(text, "log")
    (found,) = files.diagnose()
    assert (found.kind, reason in found.headline) == ("no-verdict", True)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    assert "there is no file" in fails(2, "collective", "doctor", "missing.log")
    other = tmp_path / "poem.txt"
    other.write_text("The fog comes\non little cat feet.\n")
    assert f"{other}:" in fails(2, "collective", "doctor", other)
    cut = tmp_path / "cut.log"
    cut.write_text(SLOW.read_text()[:6_000])
    assert code(cut) in (0, 1, 2, 4)


def test_a_pair_below_its_like_is_named() -> None:
    ran = linkwright("collective", "doctor", str(P2P), "-m", "dgx1-v100", "--json")
    (found,) = json.loads(ran.stdout)
    assert ran.exit_code == 1
    assert (found["kind"], found["causes"][0]["cause"]) == ("cause", "slow-pair")
    assert found["causes"][0]["line"]["file"] == str(P2P)


def test_the_log_of_expect_has_the_same_verdict() -> None:
    words = ("-m", "hgx-h100", "--servers", "2", "--network", "400Gb/s", "--measured", str(SLOW))
    ran = linkwright("collective", "expect", *words, "--json")
    assert json.loads(ran.stdout)["verdict"]["causes"][0]["cause"] == "gpudirect-off"
    assert "proof  " in linkwright("collective", "expect", *words).stdout


def test_parts_that_are_known_to_be_down_are_no_cause() -> None:
    (found,) = diagnose(SLOW, Question(machine="hgx-h100", network="400Gb/s", without=["mlx5_3"]))
    assert found.rows[-1].expected > diagnose(SLOW)[0].rows[-1].expected
