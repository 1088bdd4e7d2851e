"""The finished runs of a sweep in a file: one JSON line each, below one that names the sweep.

A line is appended as soon as its run has ended, by a single write. A process that is killed can
leave half a line at the end; it is cut off, and its run is performed again.

Each line ends in a hash of itself and of the line before. So a result that was changed, left out or
put elsewhere is not taken for the result of the run.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from linkwright.errors import FileError, InputError
from linkwright.files import cause_of

__all__ = ["Checkpoint", "Finished", "Manifest", "open_checkpoint"]

FORMAT = "linkwright sweep 2"
BEGIN_ANEW = "give another file, or delete this one to begin anew"

# How a record's line ends: its hash is its last key, which the other bytes of the line are under.
CHAIN = b',"chain_sha256":"'
CHAIN_END = b'"}'


@dataclass(frozen=True)
class Manifest:
    """Says which sweep a checkpoint belongs to.

    Attributes:
        linkwright: The version.
        function: The function that its runs call: module and name.
        seed: The number from which its runs were drawn.
        runs: How many different runs there are.
        parameters_sha256: The hash of all parameters in the order of the runs.
        code_sha256: That of the function's module and of the core.
        inputs_sha256: That of the files that the runs read.
    """

    linkwright: str
    function: str
    seed: int | None
    runs: int
    parameters_sha256: str
    code_sha256: str
    inputs_sha256: str

    def line(self) -> bytes:
        """Returns the first line of a checkpoint."""
        return _line({"format": FORMAT} | asdict(self))


@dataclass(frozen=True)
class Finished:
    """A run that has ended well.

    Attributes:
        result: Its result.
        cpu_seconds: The processor time of its worker's process while it lasted.
    """

    result: Any
    cpu_seconds: float


class Checkpoint:
    """An open checkpoint, which no other sweep can open meanwhile.

    Attributes:
        finished: The runs that were found in it, by key.
        note: The oddity that was found in it and mended; empty if there was none.
    """

    def __init__(
        self, stream: BinaryIO, file: Path, finished: dict[str, Finished], note: str, chain: str
    ):
        self._stream = stream
        self._file = file
        self._chain = chain
        self.finished = finished
        self.note = note

    def keep(self, key: str, parameters: str, run: Finished) -> None:
        """Appends a finished run.

        Args:
            key: The run's.
            parameters: Its parameters as JSON, for whoever reads the file.
            run: The run's result.

        Raises:
            FileError: If the file cannot be written.
        """
        record = {"key": key, "parameters": json.loads(parameters)} | asdict(run)
        line, self._chain = _chained(self._chain, _line(record))
        _append(self._stream, self._file, line)

    def count(self) -> int:
        """How many runs the file holds: also one whose keeping Ctrl-C cut short once written."""
        with self._file.open("rb") as stream:
            # The first line says what the sweep is.
            return sum(line.endswith(b"\n") for line in stream) - 1


@contextmanager
def open_checkpoint(
    file: Path, manifest: Manifest, runs: Mapping[str, str]
) -> Iterator[Checkpoint]:
    """Opens the checkpoint of a sweep, or makes it.

    Args:
        file: Its file.
        manifest: The manifest of the sweep that it must belong to.
        runs: The parameters of each run of that sweep as JSON, by key.

    Raises:
        FileError: If the file cannot be read or written, or another sweep has it open.
        InputError: If it is not a checkpoint of this sweep, with what differs.
    """
    if file.exists() and not file.is_file():
        # A device may have no end to read to.
        raise FileError(f"`{file}` is no plain file", "name one for the checkpoint")
    try:
        # Unbuffered, so that a line is one write.
        stream = file.open("a+b", buffering=0)
    except OSError as error:
        raise FileError(f"cannot write `{file}`: {cause_of(error)}") from error
    with stream:
        _lock(stream, file)
        stream.seek(0)
        content = stream.readall()
        whole = content[: content.rfind(b"\n") + 1]
        if not whole and manifest.line().startswith(content):
            # New, or killed while it was made.
            stream.truncate(0)
            _append(stream, file, manifest.line())
            yield Checkpoint(stream, file, {}, "", _hash("", manifest.line().rstrip(b"\n")))
            return
        finished, chain = _read(str(file), whole or content, manifest, runs)
        note = ""
        if len(whole) < len(content):
            stream.truncate(len(whole))
            note = f"`{file}` ended in half a line; its run is performed again"
        yield Checkpoint(stream, file, finished, note, chain)


def _append(stream: BinaryIO, file: Path, line: bytes) -> None:
    try:
        written = stream.write(line)
    except OSError as error:
        raise FileError(f"cannot write `{file}`: {cause_of(error)}") from error
    if written < len(line):
        raise FileError(f"cannot write `{file}`: the disk is full")


def _lock(stream: BinaryIO, file: Path) -> None:
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise FileError(
            f"another sweep is writing `{file}`", "wait for its end, or give another file"
        ) from error


def _read(
    file: str, content: bytes, manifest: Manifest, runs: Mapping[str, str]
) -> tuple[dict[str, Finished], str]:
    """The finished runs, and the last line's hash; the first line is compared before any other."""
    first, *others = content.removesuffix(b"\n").split(b"\n")
    found = _parsed(file, 1, first)
    if found.pop("format", None) != FORMAT:
        raise InputError(
            file,
            1,
            1,
            "this file is not a checkpoint of a sweep",
            _shown(first),
            "give another file",
        )
    records = enumerate(others, start=2)
    if found != asdict(manifest):
        parameters = (_parsed(file, line, text).get("parameters") for line, text in records)
        raise InputError(file, 1, 1, _difference(found, manifest, parameters, runs), "", BEGIN_ANEW)
    finished = {}
    chain = _hash("", first)
    for line, text in records:
        record = _parsed(file, line, text)
        try:
            key = record["key"]
            run = Finished(record["result"], float(record["cpu_seconds"]))
        except (KeyError, TypeError, ValueError) as error:
            problem = "a finished run must have `key`, `result` and `cpu_seconds`"
            raise InputError(file, line, 1, problem, _shown(text), BEGIN_ANEW) from error
        if not isinstance(key, str) or key not in runs:
            problem = "this run does not belong to the sweep that the first line names"
            raise InputError(file, line, 1, problem, _shown(text), BEGIN_ANEW)
        body, told = _unchained(text)
        chain = _hash(chain, body)
        if told != chain:
            problem = "this line was changed, or one before it was changed or left out"
            raise InputError(file, line, 1, problem, _shown(text), BEGIN_ANEW)
        finished[key] = run
    return finished, chain


def _difference(
    found: dict[str, Any],
    manifest: Manifest,
    parameters: Iterator[object],
    runs: Mapping[str, str],
) -> str:
    """Says how a checkpoint's sweep differs from this one, as an error's problem."""
    names = {
        "linkwright": "version of linkwright",
        "function": "function",
        "seed": "seed",
        "runs": "number of runs",
    }
    wanted = asdict(manifest)
    differences = [
        f"its {name} is {found.get(field)}, not {wanted[field]}"
        for field, name in names.items()
        if found.get(field) != wanted[field]
    ]
    hashes = {
        "code_sha256": "the code of its function or of Linkwright's core has changed",
        "inputs_sha256": "the files that its runs read have changed",
    }
    differences += [told for field, told in hashes.items() if found.get(field) != wanted[field]]
    if found.get("parameters_sha256") != manifest.parameters_sha256:
        ours = set(runs.values())
        theirs = (json.dumps(each, sort_keys=True) for each in parameters)
        stranger = next((each for each in theirs if each not in ours), None)
        if stranger is not None:
            differences.append(f"its run {stranger} is none of these")
        elif found.get("runs") == manifest.runs:
            differences.append("its runs have other parameters or another order")
    return "this is the checkpoint of another sweep: " + ", ".join(differences)


def _parsed(file: str, line: int, text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except RecursionError as error:
        problem = "this line of a checkpoint is nested too deeply"
        raise InputError(file, line, 1, problem, _shown(text), BEGIN_ANEW) from error
    except ValueError as error:
        column = error.colno if isinstance(error, json.JSONDecodeError) else 1
        problem = "this line of a checkpoint is not JSON"
        raise InputError(file, line, column, problem, _shown(text), BEGIN_ANEW) from error
    if not isinstance(found, dict):
        problem = "this line of a checkpoint is not a JSON object"
        raise InputError(file, line, 1, problem, _shown(text), BEGIN_ANEW)
    return found


def _hash(before: str, line: bytes) -> str:
    return hashlib.sha256(before.encode() + b"\n" + line).hexdigest()


def _chained(before: str, line: bytes) -> tuple[bytes, str]:
    """Returns the line of a record with its hash as the last key, and the hash."""
    body = line.removesuffix(b"}\n")
    chain = _hash(before, body)
    return body + CHAIN + chain.encode() + CHAIN_END + b"\n", chain


def _unchained(line: bytes) -> tuple[bytes, str]:
    """Splits a record's line into the part that its hash covers and the hash, or an empty text."""
    body, mark, chain = line.rpartition(CHAIN)
    told = chain.removesuffix(CHAIN_END)
    return (body, told.decode(errors="replace")) if mark and told != chain else (line, "")


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _shown(text: bytes) -> str:
    return text[:60].decode(errors="replace") + ("…" if len(text) > 60 else "")
