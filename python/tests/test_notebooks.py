"""The notebooks in `examples/` run, warn of nothing and show what is stored in them.

`make pytest` names a wheel that it built. The notebooks then run as a user's do, in the folder
that `linkwright examples` writes. Only this wheel and the packages of its extra `plot` are
installed there. Without a wheel they run in the tests' environment.

`UPDATE_GOLDEN=1 pytest python/tests/test_notebooks.py` stores what they show after a change that
is meant. A chart's own data is not stored.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

import fresh
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
PACKAGE = ROOT / "python" / "linkwright"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
CELLS = Path(__file__).with_name("cells.py")
# Where make put the wheel.
WHEELS = os.environ.get("LINKWRIGHT_WHEELS")


class Place(NamedTuple):
    """Says with which Python notebooks run, in which folder, and which package they import."""

    python: Path
    folder: Path
    package: Path


def wheel() -> Path:
    """Finds the one wheel that make built."""
    [found] = Path(WHEELS or "").glob("*.whl")
    return found.resolve()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Installs the wheel, where there is one, and writes its examples."""
    if not WHEELS:
        return Place(Path(sys.executable), EXAMPLES, PACKAGE)
    folder = tmp_path_factory.mktemp("installed")
    programs = fresh.environment(folder / "environment", wheel(), "plot")
    subprocess.run([programs / "linkwright", "examples"], cwd=folder, check=True)
    package = fresh.site_packages(folder / "environment") / "linkwright"
    return Place(programs / "python", folder / "examples", package)


def test_there_are_three_notebooks() -> None:
    assert len(NOTEBOOKS) >= 3


# A day of a cluster takes some seconds: it is what the notebook shows.
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_shows_what_is_stored_in_it(notebook: Path, place: Place) -> None:
    command = [str(place.python), "-I", "-W", "error", str(CELLS), notebook.name]
    done = subprocess.run(command, cwd=place.folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert Path(found["package"]) == place.package / "__init__.py"
    document = json.loads(notebook.read_text(encoding="utf-8"))
    cells = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    for number, (cell, outputs) in enumerate(zip(cells, found["outputs"], strict=True), 1):
        if os.environ.get("UPDATE_GOLDEN"):
            cell["outputs"], cell["execution_count"] = outputs, number
        assert cell["outputs"] == outputs, "UPDATE_GOLDEN=1 stores it"
    if os.environ.get("UPDATE_GOLDEN"):
        text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        notebook.write_text(text, encoding="utf-8", newline="\n")


@pytest.mark.skipif(not WHEELS, reason="`make pytest` builds a wheel, and names it to this test")
def test_the_wheel_holds_the_package_and_its_examples() -> None:
    with zipfile.ZipFile(wheel()) as archive:
        held = {name for name in archive.namelist() if name.startswith("linkwright/")}
        files = [*PACKAGE.rglob("*"), *(PACKAGE / "examples").rglob("*")]
        asked = {
            f"linkwright/{file.relative_to(PACKAGE)}": file
            for file in files
            if file.is_file() and "__pycache__" not in file.parts
        }
        assert held == set(asked)
        texts = {name: file for name, file in asked.items() if file.suffix != ".so"}
        other = [name for name, file in texts.items() if archive.read(name) != file.read_bytes()]
    assert other == [], "the wheel is older than the tree: `make pytest` builds it anew"
