"""An environment that holds an installed wheel, what one of its extras needs, and nothing else.

No index is asked. The other packages are links to those of the tests' own environment. The
installer has no package but the wheel, and fails where the wheel asks for more.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

__all__ = ["environment", "site_packages"]


def environment(folder: Path, wheel: Path, extra: str) -> Path:
    """Makes the environment, and returns its folder of programs."""
    venv.create(folder, symlinks=True)
    needed = {"linkwright": {extra}}
    gather("linkwright", needed)
    for name in needed.keys() - {"linkwright"}:
        link(name, site_packages(folder))
    programs = folder / "bin"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    into = ["--python", str(programs / "python"), "install", "--no-index", "--no-compile"]
    subprocess.run([*pip, *into, f"linkwright[{extra}] @ {wheel.as_uri()}"], check=True)
    return programs


def site_packages(folder: Path) -> Path:
    """Returns where an environment keeps its packages."""
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))


def gather(name: str, needed: dict[str, set[str]]) -> None:
    """Adds what a package needs, each with the extras that are asked of it."""
    for text in distribution(name).requires or ():
        requirement = Requirement(text)
        extras = needed[name] | {""}
        marker = requirement.marker
        if marker is not None and not any(marker.evaluate({"extra": each}) for each in extras):
            continue
        found = canonicalize_name(requirement.name)
        if found not in needed or requirement.extras - needed[found]:
            needed.setdefault(found, set()).update(requirement.extras)
            gather(found, needed)


def link(name: str, folder: Path) -> None:
    """Links the files and folders of a package of the tests' environment into another one."""
    package = distribution(name)
    for top in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
        (folder / top).symlink_to(Path(str(package.locate_file(top))).resolve())
