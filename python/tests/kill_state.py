"""Kills programs that change a server's state at each of their steps, and looks at what is left.

Run as a program: it prints how often it killed, and fails with what it found wrong.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import typer
from killed_at_each_step import Ended, run_until

from linkwright import Allocator, System
from linkwright.cli.commands import app

# Built once, and not in every child.
COMMANDS = typer.main.get_command(app)
MACHINE = System("pcie-tree-4")
NEVER = 10**9


class Server:
    """Holds a state's file, and the answer that every job was told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "state.json"
        self.told: dict[str, list[int]] = {}
        self.kills = 0
        self.leaks = 0

    def command(self, *words: object) -> Callable[[], object]:
        line = [str(word) for word in words] + ["-m", "pcie-tree-4", "--state", str(self.file)]
        return lambda: COMMANDS.main(line, prog_name="linkwright")

    def held(self) -> dict[str, list[int]]:
        text = self.file.read_text(encoding="utf-8") if self.file.exists() else None
        return Allocator(MACHINE, state=text).held

    def allocate(self, job: str, *, step: int = NEVER, as_json: bool = False) -> Ended:
        words = ["--json"] if as_json else []
        ended = run_until(step, self.command("allocate", "-k", 1, "--job", job, *words))
        given = gpus_told(ended.out, as_json)
        if given is not None:
            self.told[job] = given
        self.check(f"allocate {job} until {step}")
        return ended

    def release(self, job: str, *, step: int = NEVER) -> Ended:
        # Who asks for the release counts on the GPUs no more, whatever is answered.
        gpus = self.told.pop(job, None)
        ended = run_until(step, self.command("state", "release", job))
        if "released" in ended.out and job in self.held():
            raise SystemExit(f"{job} was told that {gpus} are released, and the state holds them")
        self.check(f"release {job} until {step}")
        return ended

    def check(self, what: str) -> None:
        """No GPU has two owners: the state knows all that anybody was told."""
        held = self.held()
        for job, gpus in self.told.items():
            if held.get(job) != gpus:
                raise SystemExit(f"{what}: {job} was told {gpus}; the state holds {held}")
        owned = [gpu for gpus in held.values() for gpu in gpus]
        if len(set(owned)) != len(owned):
            raise SystemExit(f"{what}: a GPU has two owners: {held}")

    def tidy(self) -> None:
        """Begins anew, once a writer that ended well has left nothing of a dead one."""
        left = sorted(path.name for path in self.folder.iterdir())
        if left != ["state.json"]:
            raise SystemExit(f"left behind: {left}")
        self.leaks += sum(job not in self.told for job in self.held())
        self.told.clear()
        self.file.unlink()


def gpus_told(out: str, as_json: bool) -> list[int] | None:
    """Returns the GPUs that a reader understands from the output; nothing of half an answer."""
    if as_json:
        try:
            return list(json.loads(out)["gpus"])
        except ValueError:
            return None
    if not out.endswith("\n"):
        return None
    gpus = out.splitlines()[0].removeprefix("CUDA_VISIBLE_DEVICES=")
    return [int(gpu) for gpu in gpus.split(",")]


def round_of_kills(server: Server, number: int) -> None:
    """Kills each command at each of its steps, and lets another job in after every kill."""
    for as_json in (False, True):
        step, killed = 1, True
        while killed:
            killed = server.allocate(f"a{number}", step=step, as_json=as_json).killed
            server.kills += killed
            server.allocate("next")
            server.tidy()
            step += 1
    step, killed = 1, True
    while killed:
        server.allocate("going")
        server.allocate("staying")
        killed = server.release("going", step=step).killed
        server.kills += killed
        server.allocate("next")
        server.tidy()
        step += 1


def main() -> None:
    server = Server(Path(sys.argv[1]))
    wanted = int(sys.argv[2])
    # Modules that are imported late are imported now, and not in every child.
    for line in (["allocate", "-m", "pcie-tree-4", "-k", "2"], ["state", "--help"]):
        with suppress(SystemExit):
            COMMANDS.main(line, prog_name="linkwright")
    number = 0
    while server.kills < wanted:
        round_of_kills(server, number)
        number += 1
    print(json.dumps({"kills": server.kills, "leaks": server.leaks, "rounds": number}))


if __name__ == "__main__":
    main()
