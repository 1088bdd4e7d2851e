"""Whatever happens, a command ends in one line and an exit code of the reference's."""

from __future__ import annotations

import pytest
from commands import fails, linkwright

from linkwright.cli import machine
from linkwright.cli.program import EXIT_CODES


def raising(error: BaseException) -> object:
    def preset_names() -> object:
        raise error

    return preset_names


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyError("x\x1b\ny"), "KeyError: 'x\\x1b\\ny' (test_cli_last_resort.py:"),
        (RecursionError("maximum recursion depth exceeded"), "RecursionError: maximum"),
        (OverflowError("too large"), "OverflowError: too large"),
        (ModuleNotFoundError("No module named 'x'", name="x"), "ModuleNotFoundError: No module"),
        (RuntimeError("long " * 1_000), "long long"),
        # A panic of the core is no Exception.
        (type("PanicException", (BaseException,), {})("it broke"), "PanicException: it broke"),
    ],
)
def test_what_nobody_foresaw_is_one_line(
    error: BaseException, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LINKWRIGHT_TRACEBACK", raising=False)
    monkeypatch.setattr(machine, "preset_names", raising(error))
    line = fails(1, "machine", "list")
    assert said in line
    assert "a fault of Linkwright" in line
    assert "LINKWRIGHT_TRACEBACK=1" in line
    assert len(line) < 500


def test_the_traceback_is_there_for_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKWRIGHT_TRACEBACK", "1")
    monkeypatch.setattr(machine, "preset_names", raising(KeyError("x")))
    result = linkwright("machine", "list")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert "raise error" in result.stderr
    assert "a fault of Linkwright" in result.stderr.splitlines()[-1]


def test_too_little_memory_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "preset_names", raising(MemoryError()))
    assert "memory" in fails(1, "machine", "list")
    assert 1 in EXIT_CODES
