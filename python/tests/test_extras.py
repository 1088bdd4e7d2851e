"""Tests the package without the optional packages, and its errors where one is missing."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from linkwright.extras import EXTRAS

ROOT = Path(__file__).resolve().parents[2]

# As if none were installed: nobody finds them.
BARE = """
import sys

class Blind:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name in {missing!r} else self.finder.find_spec(name, path, target)

sys.meta_path[:] = [Blind(finder) for finder in sys.meta_path]
{rest}
"""
COMMAND = "from linkwright.cli import main; main()"


def bare(*words: str | Path, code: str = COMMAND) -> subprocess.CompletedProcess[str]:
    """The program, or other code, where no optional package is installed."""
    code = BARE.format(missing=set(EXTRAS), rest=code)
    command = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def test_a_server_is_kept_without_any_optional_package(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    machine = ["--machine", "examples/topologies/dgx1-v100.nvidia-smi-topo-m.txt"]
    for words in (
        ["machine", "show", machine[1]],
        ["allocate", *machine, "--gpus", "3", "--explain"],
        ["allocate", *machine, "--gpus", "2", "--state", state, "--job", "a"],
        ["state", "show", *machine, "--state", state],
        ["state", "release", "a", *machine, "--state", state],
        ["collective", "plan", "all-reduce", *machine, "--size", "64MiB"],
        ["collective", "compare", "all-reduce", *machine, "--on", "1,4,5,6"],
        ["collective", "expect", "all-reduce", *machine],
        ["compare", "examples/dgx1-v100-mix.toml"],
        ["replay", "examples/traces/stencil4d-32"],
    ):
        done = bare(*words)
        assert done.returncode == 0, (words, done.stderr)


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["jobs", "workloads"], "arrow"),
        (["study", "mapa", "--quick"], "plot"),
    ],
)
def test_a_missing_package_is_named_with_what_brings_it(words: list[str], extra: str) -> None:
    done = bare(*words)
    assert done.returncode == 1
    assert done.stderr.startswith("error: this needs the package")
    assert f"pip install 'linkwright[{extra}]'" in done.stderr
    assert done.stderr.count("\n") == 1


# Charts, reports and tables of the Python API, and which extra brings them.
CALLS = {
    "import linkwright.plot": "plot",
    "import linkwright.plots.jobs": "plot",
    "import linkwright.plots.network": "plot",
    "import linkwright.drawing": "plot",
    "import linkwright.collective_plot": "plot",
    "import linkwright.runs.training.charts": "plot",
    "import linkwright.studies.mapa": "plot",
    "import linkwright.processes": "arrow",
    "linkwright.scenario.write_run(None, 'x')": "plot",
    "linkwright.train('lenet').sections()": "plot",
    "linkwright.train('lenet').tables()": "arrow",
}


def test_the_python_api_names_what_brings_a_missing_package() -> None:
    lines = ["import linkwright"]
    for call in CALLS:
        lines += ["try:", f"    {call}", "except ImportError as error:", "    print(error)"]
    # Others' imports fail as they did.
    lines += ["try:", "    import altair", "except ImportError as error:", "    print(error)"]
    done = bare(code="\n".join(lines))
    assert done.returncode == 0, done.stderr
    *told, last = done.stdout.splitlines()
    extras = [line.rpartition("pip install ")[2] for line in told]
    assert dict(zip(CALLS, extras, strict=True)) == {
        call: f"'linkwright[{extra}]'" for call, extra in CALLS.items()
    }
    assert last == "No module named 'altair'"


def test_the_notebook_says_first_what_it_needs() -> None:
    notebook = json.loads((ROOT / "examples" / "first_look.ipynb").read_text(encoding="utf-8"))
    assert "pip install 'linkwright[plot]'" in "".join(notebook["cells"][0]["source"])


def test_every_optional_package_is_in_an_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = project["optional-dependencies"]
    for package, extra in EXTRAS.items():
        # Jinja2 brings its own escaping.
        names = {"vl_convert": "vl-convert-python", "markupsafe": "jinja2"}
        name = {**names, "markdown_it": "markdown-it-py"}.get(package, package)
        name = name.replace("_", "-")
        assert any(line.startswith(f"{name}>") for line in declared[extra]), package
        assert not any(line.startswith(name) for line in project["dependencies"])


def test_links_of_the_readme_lead_somewhere_from_a_package_index_too() -> None:
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    blob = f"{urls['Homepage']}/blob/main/"
    raw = blob.replace("github.com", "raw.githubusercontent.com").replace("/blob/", "/")
    targets = markdown_targets((ROOT / "README.md").read_text())
    assert targets
    for target in targets:
        base = next((base for base in (blob, raw) if target.startswith(base)), None)
        if base is None:
            assert target.startswith("https://"), f"{target}: no path works on a package index"
            continue
        assert (ROOT / target.removeprefix(base)).exists(), target


def markdown_targets(text: str) -> list[str]:
    """Returns the targets of the links and pictures of a page."""
    return [part.partition(")")[0] for part in text.split("](")[1:]]
