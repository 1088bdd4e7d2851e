"""Runs the program as a user does, in this process or in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from linkwright.cli.commands import app

__all__ = [
    "SCENARIO",
    "bridged",
    "fails",
    "linkwright",
    "parsed",
    "program",
    "surroundings",
    "write_scenario",
]

SCENARIO = """[machine]
preset = "dgx1-v100"
[jobs]
generate = { seed = 7, count = 40, max_gpus = 4 }
[allocation]
policies = ["baseline", "preserve"]
"""


def linkwright(*words: object, stdin: str | bytes = "") -> Result:
    """Runs one command to its end."""
    return CliRunner().invoke(app, [str(word) for word in words], input=stdin)


def parsed(*words: object, stdin: str = "") -> Any:
    """Returns the output of a command that succeeds with `--json`."""
    result = linkwright(*words, "--json", stdin=stdin)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def fails(code: int, *words: object, stdin: str | bytes = "") -> str:
    """The one line of a command that ends with this code and says nothing else."""
    result = linkwright(*words, stdin=stdin)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    return lines[0]


def program(*words: object, **options: Any) -> subprocess.Popen[bytes]:
    """Runs the program in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "linkwright", *map(str, words)],
        env=surroundings(),
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )


def surroundings() -> dict[str, str]:
    """The environment of a program that finds out by itself how wide its terminal is."""
    return {key: value for key, value in os.environ.items() if key != "COLUMNS"}


def write_scenario(folder: Path, text: str = SCENARIO) -> Path:
    """Writes a scenario's file in the folder."""
    file = folder / "scenario.toml"
    file.write_text(text, encoding="utf-8")
    return file


def bridged(gpus: int) -> str:
    """A machine called node whose GPUs nothing tells apart, in TOML."""
    names = [f"GPU{gpu}" for gpu in range(gpus)]
    pairs = [[name, "bridge"] for name in names]
    return f"""
name = "node"
source = "a test"
[[device]]
kind = "gpu"
names = {json.dumps(names)}
[[device]]
kind = "host-bridge"
names = ["bridge"]
[[link]]
kind = "pcie4"
between = {json.dumps(pairs)}
"""
