"""What large jobs and scenarios of many cost: time and memory, each in a process of its own.

- `import`: nothing but the import of the package, which the other rows hold, too.
- `all-to-all`: every one of N ranks sends 1 KiB to every other, by MPI's algorithm in blocks, on as
  many GPUs of servers of eight in a fat-tree, by flow.
- `all-reduce`: N ranks, more than a 16-bit number holds, reduce 8 B by recursive doubling there.
- `scenario`: reading a scenario of N jobs, and building its system and jobs.

Prints seconds of user CPU time and the most memory that the process had. Words of the command line
choose rows, and a number takes the place of N, as in `large.py all-to-all 512`. Needs a system that
tells what a process took, as Linux and macOS do.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from linkwright.network import ClusterJob, ProgramBuilder, read_system
from linkwright.runs.scenarios import read_scenario_file

SIZES = {"import": 0, "all-to-all": 4_096, "all-reduce": 131_072, "scenario": 5_000}
ALGORITHMS = {"all-to-all": ("1 KiB", "blocked"), "all-reduce": ("8 B", "recursive-doubling")}
GPUS_PER_SERVER = 8
# Linux tells KiB, macOS bytes.
UNIT = 1 if sys.platform == "darwin" else 1 << 10

HEAD = '[system]\nserver = "dgx1-v100"\nservers = 8\nnetwork = "fat-tree"\n'
JOB = """\
[[job]]
name = "job-{at}"
goal = "pair.goal"
mapping = [{gpu}, {next}]
start = "{at} us"
"""
PAIR = "num_ranks 2\nrank 0 {\nl1: send 8b to 1\n}\nrank 1 {\nl1: recv 8b from 0\n}\n"


def play(collective: str, ranks: int) -> None:
    """A job of one collective on as many GPUs as it has ranks."""
    size, algorithm = ALGORITHMS[collective]
    builder = ProgramBuilder(ranks)
    builder.collective(collective, size)
    servers = -(-ranks // GPUS_PER_SERVER)
    system = read_system("hgx-h100", servers=servers, network="fat-tree")
    chosen = {collective.replace("-", "_"): algorithm}
    run = system.play([ClusterJob(builder.build())], fidelity="flow", collectives=chosen)
    assert run.makespan > 0


def build(jobs: int) -> None:
    """A scenario of pairs of GPUs, each with a time of its own."""
    gpus = [2 * at % 64 for at in range(jobs)]
    rows = [JOB.format(at=at, gpu=gpu, next=gpu + 1) for at, gpu in enumerate(gpus)]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pair.goal").write_text(PAIR, encoding="utf-8")
        path = Path(folder, "many.toml")
        path.write_text(HEAD + "".join(rows), encoding="utf-8")
        _, made, _ = read_scenario_file(path).build()
    assert len(made) == jobs


def row(name: str, size: int) -> None:
    """Performs one row in this process, and prints it."""
    if name in ALGORITHMS:
        play(name, size)
    elif name == "scenario":
        build(size)
    used = resource.getrusage(resource.RUSAGE_SELF)
    memory = used.ru_maxrss * UNIT / 1e6
    print(f"{name:<12}{size:>9,}{used.ru_utime:>9.2f}{memory:>9,.0f}", flush=True)


def main() -> None:
    """Prints a row for each name."""
    match sys.argv[1:]:
        case ["--row", name, size]:
            row(name, int(size))
        case words:
            numbers = [word for word in words if word.isdigit()]
            print(f"{'':<12}{'N':>9}{'user s':>9}{'most MB':>9}", flush=True)
            for name in [name for name in SIZES if name in words] or list(SIZES):
                size = numbers[0] if numbers else str(SIZES[name])
                subprocess.run([sys.executable, __file__, "--row", name, size], check=True)


if __name__ == "__main__":
    main()
