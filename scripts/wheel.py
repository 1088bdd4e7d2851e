"""Builds a wheel and a source distribution as an index takes them, audits both and tries both.

    scripts/wheel.py            into target/wheel/dist
    scripts/wheel.py --target aarch64-unknown-linux-gnu

The wheel is for every Python from 3.11 on. It is linked by Zig against an old glibc, since the
system's linker takes the newest symbols that it finds. It installs its own tools into
target/wheel/tools, and needs cargo besides. A wheel for another machine is audited and not tried;
it needs Rust's standard library for that target (`rustup target add`).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "target" / "wheel"
TOOLS = WORK / "tools"
DIST = WORK / "dist"
REQUIREMENTS = Path(__file__).with_name("wheel-requirements.txt")

# These run notebooks as a user's Jupyter does.
JUPYTER = ("ipykernel==7.4.0", "nbconvert==7.17.2")

# The oldest glibc that the wheel runs on: that of every distribution which is still looked after.
GLIBC = (2, 28)
PLATFORM = "manylinux_{}_{}".format(*GLIBC)
# In bytes: PyPI's own limit is 100 MB, and a wheel that grew tenfold should not go unseen.
LARGEST = 8_000_000
# No installed package has these: symbols, and sections that debuggers read.
DEBUGGING = {".symtab", ".debug_info", ".debug_line"}
SECTIONS = """
import io, sys, zipfile
from elftools.elf.elffile import ELFFile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in wheel.namelist():
        if name.endswith(".so"):
            for section in ELFFile(io.BytesIO(wheel.read(name))).iter_sections():
                print(section.name)
"""


def main() -> None:
    """Builds, audits and tries."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", help="Rust's name of another machine, which only builds")
    target = parser.parse_args().target
    prepare()
    wheel, source = build(target)
    audit(wheel)
    run(TOOLS / "bin" / "twine", "check", "--strict", wheel, source)
    for package in (wheel, source) if target is None else ():
        try_out(package)
    print(f"{wheel.relative_to(ROOT)}: {wheel.stat().st_size:,} bytes, {PLATFORM}")
    print(f"{source.relative_to(ROOT)}: {source.stat().st_size:,} bytes")


def run(*command: object, **options: object) -> str:
    """Runs a command and gives its output.

    Raises:
        SystemExit: If it fails, with what it printed.
    """
    words = [str(word) for word in command]
    print("$", shlex.join(words), flush=True)
    done = subprocess.run(words, capture_output=True, text=True, **options)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}\nwheel.py: it ended with {done.returncode}")
    return str(done.stdout)


def prepare() -> None:
    """Installs the tools where they are not, or are others than pinned."""
    pinned = REQUIREMENTS.read_text(encoding="utf-8")
    stamp = TOOLS / "requirements.txt"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == pinned:
        return
    venv.create(TOOLS, clear=True, with_pip=True)
    run(TOOLS / "bin" / "pip", "install", "--quiet", "--requirement", REQUIREMENTS)
    stamp.write_text(pinned, encoding="utf-8")


def build(target: str | None) -> tuple[Path, Path]:
    """Builds the wheel and the source distribution."""
    shutil.rmtree(DIST, ignore_errors=True)
    maturin = TOOLS / "bin" / "maturin"
    environment = {**os.environ, "PATH": f"{TOOLS / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    # The repository's own builds keep the symbols that the stub is read from.
    environment.pop("MATURIN_STRIP", None)
    environment["PYO3_PYTHON"] = str(TOOLS / "bin" / "python")
    machine = ["--target", target] if target else []
    options = ["--release", "--locked", "--zig", "--compatibility", PLATFORM, "--out", DIST]
    run(maturin, "build", *options, *machine, cwd=ROOT, env=environment)
    run(maturin, "sdist", "--out", DIST, cwd=ROOT, env=environment)
    [wheel], [source] = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return wheel, source


def audit(wheel: Path) -> None:
    """Holds the wheel to what its name says, its size and what is stripped from it.

    Raises:
        SystemExit: If it breaks one.
    """
    audited = run(TOOLS / "bin" / "auditwheel", "show", "--json", wheel)
    tag = json.loads(audited)["overall_tag"]
    glibc = re.match(r"manylinux_(\d+)_(\d+)_", tag)
    sections = set(run(TOOLS / "bin" / "python", "-c", SECTIONS, wheel).split())
    faults = {
        f"auditwheel finds {tag}, not {PLATFORM}": glibc is None
        or (int(glibc[1]), int(glibc[2])) > GLIBC,
        "it is not for every Python from 3.11 on": f"-cp311-abi3-{PLATFORM}_" not in wheel.name,
        f"it holds more than {LARGEST:,} bytes": wheel.stat().st_size > LARGEST,
        "it holds symbols": bool(sections & DEBUGGING),
    }
    for fault, is_so in faults.items():
        if is_so:
            sys.exit(f"{wheel.name}: {fault}")


def try_out(package: Path) -> None:
    """Installs a package where nothing else is, and runs README's commands on its examples.

    It runs a wheel's notebooks in Jupyter, too.

    Raises:
        SystemExit: If README's first command fails, or an example that a command names is missing.
    """
    commands = readme_commands()
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "environment"
        venv.create(empty, with_pip=True)
        environment = {key: it for key, it in os.environ.items() if not key.startswith("PYTHON")}
        # The dependencies that a source distribution builds are kept for the next time.
        environment["CARGO_TARGET_DIR"] = str(WORK / "source")
        run(empty / "bin" / "pip", "install", "--quiet", package, cwd=folder, env=environment)
        program = empty / "bin" / "linkwright"
        answer = run(program, *commands[0], cwd=folder)
        if not answer.strip():
            sys.exit(f"{package.name}: README's first command says nothing")
        run(program, "examples", cwd=folder)
        for command in commands:
            for word in command:
                if word.startswith("examples/") and not (Path(folder) / word).exists():
                    sys.exit(f"{package.name}: it lacks {word}, which README names")
        if package.suffix == ".whl":
            run(empty / "bin" / "pip", "install", "--quiet", f"{package}[plot]", *JUPYTER)
            run_notebooks(empty / "bin", Path(folder) / "examples")


def run_notebooks(programs: Path, examples: Path) -> None:
    """Runs each notebook in Jupyter, in the folder that `linkwright examples` wrote.

    Raises:
        SystemExit: If a cell fails, or writes to standard error, as a warning does.
    """
    notebooks = sorted(examples.glob("*.ipynb"))
    jupyter = ["nbconvert", "--log-level", "WARN", "--execute", "--inplace", "--to", "notebook"]
    run(programs / "jupyter", *jupyter, *notebooks, cwd=examples)
    for notebook in notebooks:
        for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
            for output in cell.get("outputs", ()):
                if output.get("name") == "stderr":
                    sys.exit(f"{notebook.name}: {''.join(output['text'])}")


def readme_commands() -> list[list[str]]:
    """Reads the words of each command of README behind `linkwright`."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    begins = "$ linkwright "
    return [shlex.split(it.removeprefix(begins)) for it in lines if it.startswith(begins)]


if __name__ == "__main__":
    main()
