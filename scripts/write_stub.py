"""Writes `python/linkwright/_core.pyi`, the types of the extension, from its Rust source.

PyO3 keeps in the library the arguments and results of every class and function, with their
documentation; maturin reads it. Some facts Rust's types do not say: a callback's arguments, or the
names that a text may be. They stand in `#[pyo3(signature = ...)]` beside the function. This script
puts both into the style of the repository, in the order of the source. It writes the names of every
choice as `Literal`s into `python/linkwright/names.py`.

    scripts/write_stub.py           writes both files
    scripts/write_stub.py --check   fails where they are not what would be written

`make stub` and `make stub-check` build the extension first; maturin reads that build.
"""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
BINDING = ROOT / "crates" / "linkwright-python"
STUB = ROOT / "python" / "linkwright" / "_core.pyi"
NAMES = ROOT / "python" / "linkwright" / "names.py"
# Cargo's profiles by the folders of what they build.
PROFILES = {"release": "release", "tested": "tested", "debug": "dev"}

# maturin strips its builds where the package's own settings say so. The data that it would read is
# then gone, so it is shown other settings.
SETTINGS = """[build-system]
requires = ["maturin>=1.16,<2"]
build-backend = "maturin"
[project]
name = "linkwright"
version = "0"
[tool.maturin]
module-name = "linkwright._core"
"""

# Getters and magic methods take no signature, and a constant no type. The types that Rust leaves
# out stand here.
RETURNS = {
    "Fabric.parameters": "dict[str, int | bool | str | list[int]]",
    "Match.joined_by": "dict[str, int]",
    "Scenario.jobs": "str | list[Job]",
    "NcclTestsLog.numbers": "NumberTypeName | None",
    "NcclTestsLog.operation": "NcclOperationName | None",
    "Scenario.kind": "Literal['mix', 'programs']",
    "Scenario.policies": "list[PolicyName]",
    "Scenario.bandwidth_model": "BandwidthModelName",
    "Scenario.bandwidth_profile": "BandwidthProfileName | None",
    "Scenario.ties": "TieName",
    "Scenario.discipline": "DisciplineName",
    "Scenario.gpu_speed": "GpuSpeedName",
    "Scenario.server_choice": "ServerChoiceName",
    "Scenario.run_time": "RunTimeName",
    "Scenario.planner": "PlannerName",
    "Scenario.fidelity": "FidelityName",
    "Schedule.collective": "CollectiveName",
    "Schedule.protocol": "ProtocolName",
    "SimulationResult.run_time": "RunTimeName",
    "Timing.protocol": "ProtocolName",
    "System.default_bandwidth_profile": "BandwidthProfileName",
    "ClusterJob.mapping": "str | list[int] | None",
    "Table.__iter__": "Iterator[dict[str, Any]]",
}
PARAMETERS = {"Table.__arrow_c_stream__": {"requested_schema": "object | None"}}
# How values are pickled, which no one calls.
PRIVATE = """
def _reduced(value: object) -> tuple[Callable[[str, str], Any], tuple[str, str]]: ...
def _restored(*args: Any) -> Any: ...
"""
HEAD = '''"""The compiled half of the package `linkwright`; use the package, not this module.

Written by scripts/write_stub.py: change the Rust source, and run `make stub`.
"""

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from typing import Any, ClassVar, Literal, final

from numpy.typing import NDArray
from typing_extensions import Buffer, CapsuleType

'''
HEAD_OF_NAMES = '''"""The names of every closed choice, as types: a type checker refuses any other.

What comes from a file or a person is a text until it was looked up in `linkwright.choice_names()`;
`typing.cast` tells a type checker that it was.

Written by scripts/write_stub.py from the core's own lists: run `make stub`.
"""

from typing import Literal, TypeAlias

'''
# Every class has these, and they show no one anything new.
UNTOLD = {"__repr__", "__str__"}


def main() -> int:
    """Writes the stub and the names, or says which of them is not current."""
    core = importlib.import_module("linkwright._core")
    choices = {type_of(kind): names for kind, names in core.choice_names().items()}
    text = body(ast.parse(generated()), core)
    used = [name for name in choices if re.search(rf"\b{name}\b", text)]
    protocols = "from linkwright.contracts import Policy\n"
    stub = f"{HEAD}{protocols}from linkwright.names import {', '.join(used)}\n\n{text}"
    stale = []
    for file, text in ((STUB, stub), (NAMES, HEAD_OF_NAMES + literals(choices))):
        wanted = styled(text, file)
        if "--check" not in sys.argv:
            file.write_text(wanted, encoding="utf-8", newline="\n")
        elif not file.exists() or file.read_text(encoding="utf-8") != wanted:
            stale.append(file)
    for file in stale:
        sys.stderr.write(f"{file.relative_to(ROOT)} is not what `make stub` writes\n")
    return 1 if stale else 0


def generated() -> str:
    """The types as maturin reads them from the library."""
    settings = BINDING / "pyproject.toml"
    settings.write_text(SETTINGS, encoding="utf-8")
    try:
        with tempfile.TemporaryDirectory() as folder:
            words = ["maturin", "generate-stubs", "--quiet", "--locked", "--profile", profile()]
            words += ["--manifest-path", str(BINDING / "Cargo.toml"), "--out", folder]
            subprocess.run(words, check=True, cwd=ROOT)
            [file] = Path(folder).rglob("*.pyi")
            return file.read_text(encoding="utf-8")
    finally:
        settings.unlink()


def profile() -> str:
    """That of the extension which was built last, so that nothing is built for the stub alone."""
    built = [ROOT / "target" / folder / "lib_core.so" for folder in PROFILES]
    built += [file.with_suffix(".dylib") for file in built]
    found = [file for file in built if file.exists()]
    if not found:
        # maturin takes what it has read away; the Makefile's words for it name what was built.
        named = re.search(r"--profile[ =](\w+)", os.environ.get("MATURIN_PEP517_ARGS", ""))
        return named[1] if named else "release"
    return PROFILES[max(found, key=lambda file: file.stat().st_mtime).parent.name]


def styled(text: str, file: Path) -> str:
    """The text as `ruff format` has it."""
    words = ["ruff", "format", "--stdin-filename", str(file), "-"]
    done = subprocess.run(words, check=True, cwd=ROOT, input=text, capture_output=True, text=True)
    return done.stdout


def literals(choices: dict[str, list[str]]) -> str:
    """Writes the type of each choice."""
    lines = ["__all__ = [" + ", ".join(f'"{name}"' for name in choices) + "]", ""]
    for name, known in choices.items():
        quoted = ", ".join(f'"{each}"' for each in known)
        lines.append(f"{name}: TypeAlias = Literal[{quoted}]")
    return "\n".join(lines) + "\n"


def body(module: ast.Module, core: ModuleType) -> str:
    """The exported names, the constants, and each class and function."""
    found = {node.name: node for node in module.body if isinstance(node, Named)}
    found.pop("__getattr__", None)
    constants = [name for name in dir(core) if name.isupper()]
    exported = [*found, *constants, "__version__", "_reduced", "_restored"]
    ranked = sorted(exported, key=lambda it: (not it.isupper(), not it[0].isupper(), it))
    parts = ["__all__ = [" + ", ".join(f'"{name}"' for name in ranked) + "]", ""]
    types = (f"{name}: {type(getattr(core, name)).__name__}" for name in constants)
    parts += [*types, "__version__: str", ""]
    source = BINDING / "src"
    everything = "\n".join(path.read_text(encoding="utf-8") for path in source.rglob("*.rs"))
    for name in order((source / "lib.rs").read_text(encoding="utf-8"), found):
        node = found[name]
        if isinstance(node, ast.ClassDef):
            parts += class_of(node, everything, getattr(core, name))
        else:
            parts += [*function(node, ""), ""]
    return "\n".join(parts) + PRIVATE


Named = ast.ClassDef | ast.FunctionDef


def type_of(kind: str) -> str:
    """Names the type of a choice: `BandwidthModelName`."""
    return "".join(word.title() for word in kind.split("_")) + "Name"


def order(source: str, found: dict[str, Named]) -> Iterator[str]:
    """Names in the order in which the module exports them, classes first."""
    exported = re.findall(r"\b\w+\b", source[source.index("mod _core") :])
    ordered = [name for name in dict.fromkeys(exported) if name in found]
    yield from sorted(ordered, key=lambda name: not isinstance(found[name], ast.ClassDef))


def class_of(node: ast.ClassDef, source: str, live: type) -> list[str]:
    """A class with its members in the order of the source, what makes it first."""
    start = source.index(f"#[pymethods]\nimpl {node.name} {{")
    end = source.index("\n}\n", start)

    def place(member: ast.FunctionDef) -> tuple[int, int]:
        if member.name in ("__new__", "__eq__", "__ne__"):
            return (-1 if member.name == "__new__" else 1, 0)
        at = re.search(rf"\bfn {member.name}\b", source[start:end])
        at = at or re.search(rf'name = "{member.name}"', source[start:end])
        return (0, at.start() if at else end)

    members = [each for each in node.body if isinstance(each, ast.FunctionDef)]
    lines = ["@final", f"class {node.name}:", *documentation(node, "    ")]
    if live.__hash__ is None:
        lines += ["    __hash__: ClassVar[None]  # type: ignore[assignment]", ""]
    for member in sorted(members, key=place):
        if member.name not in UNTOLD:
            lines += [*function(member, node.name), ""]
    return lines


def function(node: ast.FunctionDef, owner: str) -> list[str]:
    """Writes a function or a member, with the types that Rust's leave open."""
    name = f"{owner}.{node.name}" if owner else node.name
    arguments = node.args
    if node.name in ("__eq__", "__ne__"):
        return [f"    def {node.name}(self, other: object, /) -> bool: ..."]
    # Only what has no name of its own is positional here: `self` needs no mark of it.
    if arguments.posonlyargs and len(arguments.posonlyargs) == 1:
        arguments.args = [*arguments.posonlyargs, *arguments.args]
        arguments.posonlyargs = []
    several = [arguments.vararg] if arguments.vararg is not None else []
    for argument in [*arguments.posonlyargs, *arguments.args, *several, *arguments.kwonlyargs]:
        said = PARAMETERS.get(name, {}).get(argument.arg)
        if said or argument.annotation is not None:
            argument.annotation = annotation(said or argument.annotation)
    if arguments.kwarg is not None:
        arguments.kwarg.annotation = annotation("object")
    node.returns = annotation(RETURNS.get(name) or node.returns)
    indent = "    " if owner else ""
    lines = [f"{indent}@{ast.unparse(decorator)}" for decorator in node.decorator_list]
    head = f"{indent}def {node.name}({ast.unparse(arguments)}) -> {ast.unparse(node.returns)}:"
    told = documentation(node, indent + "    ")
    return [*lines, head, *told] if told else [*lines, f"{head} ..."]


def annotation(said: str | ast.expr | None) -> ast.expr:
    """A type in our words: a text of the source as it is, PyO3's as the package says them."""
    if isinstance(said, ast.Constant) and isinstance(said.value, str):
        said = said.value
    text = said if isinstance(said, str) else ast.unparse(said or ast.Name("Any"))
    text = text.replace("SupportsGetItem[int, ", "Sequence[").replace("SupportsIndex", "int")
    text = text.replace("SupportsFloat | int", "float")
    text = re.sub(r"\bdict\b(?!\[)", "dict[str, Any]", text)
    return ast.parse(text, mode="eval").body


def documentation(node: Named, indent: str) -> list[str]:
    """Writes the source's documentation of it."""
    told = ast.get_docstring(node)
    if told is None:
        return []
    lines = [f"{indent}{line}".rstrip() for line in told.splitlines()]
    lines[0] = f'{indent}"""{told.splitlines()[0]}'
    if len(lines) == 1:
        return [f'{lines[0]}"""', ""]
    return [*lines, f'{indent}"""', ""]


if __name__ == "__main__":
    sys.exit(main())
