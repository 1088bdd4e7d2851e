"""What is given to a command instead of a file."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from pathlib import Path

import typer

from linkwright import System
from linkwright.errors import FileError
from linkwright.network import Fabric, fabric_names, read_fabric, read_system, preset_names
from linkwright.cli import output
from linkwright.files import LARGEST_TEXT, cause_of, decode, read_stream, read_text

__all__ = ["given_machine", "given_machine_or_fabric", "machine_of", "standard_input"]

# What stands for standard input where a file is named.
DASH = "-"


def standard_input(most: int = LARGEST_TEXT) -> str:
    """All of standard input as text, of at most so many bytes.

    Raises:
        FileError: If it is closed, cannot be read, or holds more than a file may.
        InputError: If it is not UTF-8, with the place of the first bad byte.
    """
    if sys.stdin is None:
        raise FileError("standard input is closed", "name a file")
    # A terminal waits for a paste, and should say so.
    if sys.stdin.isatty():
        typer.echo("paste the text, then press Ctrl-D on a line of its own", err=True)
    try:
        content = read_stream("<stdin>", sys.stdin.buffer, most)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot read standard input: {cause_of(error)}") from error
    return decode("<stdin>", content)


def given_machine(name: str, *, warn: bool = True) -> System:
    """The machine of a preset, a file, or standard input, which is written `-`.

    Where `warn`, what probably makes its description wrong is said on standard error, before
    any answer.

    Raises:
        FileError: If there is no such preset or file, or standard input cannot be read.
        InputError: If the text describes no machine, with line and column.
    """
    machine = System.from_text(standard_input(), "<stdin>") if name == DASH else read_system(name)
    if warn:
        output.notes("Warning", machine.warnings, stderr=True)
    return machine


def machine_of(name: str, servers: int, network: str | None) -> System:
    """Gives the machine, or a number of it on a network.

    Raises:
        FileError: If there is no such machine or network.
        InputError: If a text describes none, with line and column.
        MachineError: If it is several servers already.
    """
    machine = given_machine(name)
    if network is None and servers == 1:
        return machine
    from linkwright.cli.settings import of_options
    from linkwright.systems import read_system

    with of_options():
        return read_system(machine, servers, network=network)


def given_machine_or_fabric(name: str, *, warn: bool = True) -> System | Fabric:
    """The machine or the network of a name, a file, or standard input, which is written `-`.

    Raises:
        FileError: If there is no such preset, kind or file, or standard input cannot be read.
        InputError: If the text describes neither, with line and column.
    """
    from linkwright.systems import is_network

    if name in fabric_names():
        return read_fabric(name)
    if name == DASH:
        text = standard_input()
        if is_network(text):
            return Fabric.from_text(text, "<stdin>")
        machine = System.from_text(text, "<stdin>")
        if warn:
            output.notes("Warning", machine.warnings, stderr=True)
        return machine
    presets = [preset for preset, _ in preset_names()]
    if name not in presets:
        path = Path(name)
        if path.exists():
            if is_network(read_text(path)):
                return read_fabric(path)
        elif close := get_close_matches(name, fabric_names(), n=1, cutoff=0.7):
            raise FileError(
                f"there is neither a preset, nor a kind of network, nor a file `{name}`",
                f"did you mean `{close[0]}`? the kinds are {', '.join(fabric_names())}",
            )
    return given_machine(name, warn=warn)
