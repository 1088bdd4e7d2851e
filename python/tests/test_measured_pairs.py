"""Bandwidths that were measured between GPUs, as machines take them."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import linkwright as lw
from linkwright.cli.commands import app

FILE = Path(__file__).parents[2] / "examples/measured/dgx1-v100.p2p.txt"


def test_a_slow_link_is_named_and_kept() -> None:
    text, server = FILE.read_text(), lw.System("dgx1-v100")
    links, slow, notes = server.measured_links(text, FILE.name)
    assert len(links) == 16
    assert [(row["a"], row["b"], row["link"]) for row in slow] == [("GPU0", "GPU3", "NV2")]
    assert not notes
    measured = server.with_measured(text, FILE.name)
    assert measured != server
    assert lw.System.from_text(measured.to_toml()) == measured
    assert (
        measured.gpu_matrix("data-sheet")[0][3][1] < 30 < server.gpu_matrix("data-sheet")[0][3][1]
    )


def test_what_is_no_matrix_is_refused() -> None:
    with pytest.raises(lw.errors.InputError, match="no matrix"):
        lw.System("dgx1-v100").with_measured("hello")


def test_import_says_what_was_measured(tmp_path: Path) -> None:
    to = tmp_path / "measured.toml"
    given = ["machine", "import", "dgx1-v100", "--measured", str(FILE), "-o", str(to)]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0, result.output
    assert 'measured = "24.11 GB/s"' in to.read_text()
    assert "GPU0 and GPU3 reach" in result.stderr
