"""Counts the messages that flows could carry as one, and tells what flows take beside packets.

Messages between the same two ranks that begin at one moment could be one flow of several. The
second and the third of these also print processor time, the median of five:

    python examples/flow_speed.py
    python examples/flow_speed.py one-gpu 64 256 512
    python examples/flow_speed.py several-gpus 64 256
"""

import sys
from resource import RUSAGE_SELF, getrusage
from statistics import median

import pyarrow

from linkwright import System
from linkwright.network import ClusterJob, ClusterRun, Program, applications
from linkwright.names import FidelityName

POLICIES = ("fcfs", "rr")
KINDS = {"one-gpu": (1,), "several-gpus": (4, 8)}
# More than any of these runs sends.
MESSAGES = 3_000_000
TIMES = 5


def equal(run: ClusterRun) -> tuple[int, int]:
    """How many messages there are, and how many of them another one could carry."""
    messages = pyarrow.table(run.messages())
    ends_and_start = ["source", "destination", "sent"]
    different = messages.group_by(ends_and_start).aggregate([]).num_rows
    return messages.num_rows, messages.num_rows - different


def seconds(system: System, job: ClusterJob, fidelity: FidelityName) -> float:
    """What playing takes of a processor."""
    found = []
    for _ in range(TIMES):
        before = getrusage(RUSAGE_SELF).ru_utime
        system.play([job], fidelity=fidelity)
        found.append(getrusage(RUSAGE_SELF).ru_utime - before)
    return median(found)


def main(kind: str, sizes: list[int], *, timed: bool) -> None:
    """Prints a line for each application."""
    for gpus in KINDS[kind]:
        for nic in POLICIES:
            system = System({"gpus": gpus}, network={"kind": "fat-tree", "nic": nic})
            # The six of the paper come first.
            for application, _, speedup in applications()[:6]:
                for size in sizes:
                    program = Program.skeleton(application, size)
                    job = ClusterJob(program, iterations=2, computation_scale=1 / speedup)
                    run = system.play([job], fidelity="flow", timeline=MESSAGES)
                    sent, merged = equal(run)
                    told = f"{gpus:2} {nic:5}{application:10}{size:4} ranks: {merged} of {sent}"
                    if timed:
                        flow, packet = (seconds(system, job, it) for it in ("flow", "packet"))
                        told += f", {flow:.3f} s as flows, {packet:.3f} s as packets"
                        told += f": {flow / packet:.2f} times"
                    print(told, flush=True)


if __name__ == "__main__":
    kind, *words = sys.argv[1:] or ["one-gpu"]
    main(kind, [int(word) for word in words] or [32], timed=bool(words))
