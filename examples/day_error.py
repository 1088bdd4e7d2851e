"""Plays the two example days, shorter, as fluids and as flows, and tells how far they are apart.

Jobs are of the workloads that train a net, have that many iterations, and come as much sooner, so
that they fill the servers as those of a day do. docs/concepts/run-time.md has what these print:

    python examples/day_error.py shared-server.toml 40 30
    python examples/day_error.py shared-cluster.toml 40 10
"""

import sys
import tomllib
from pathlib import Path
from statistics import mean

import pyarrow

from linkwright.scenario import Scenario
from linkwright.names import FidelityName
from linkwright.runs.server.play import simulated

HERE = Path(__file__).parent
NETS = ["alexnet", "vgg-16", "resnet-50", "inception-v3", "caffenet", "googlenet"]
# Those of a day's jobs.
ITERATIONS = 10_000


def played(scenario: Scenario, fidelity: FidelityName) -> pyarrow.Table:
    """The jobs, as a fidelity has them."""
    scenario = scenario.with_settings({"fidelity": fidelity})
    system, jobs, _ = scenario.build()
    return pyarrow.table(simulated(scenario, system, jobs, scenario.policies[0]).jobs())


def job_time(jobs: pyarrow.Table) -> float:
    """The mean time from a job's arrival to its end."""
    return mean(map(sum, zip(jobs["wait"].to_pylist(), jobs["run_time"].to_pylist(), strict=True)))


def main(file: str, count: int, iterations: int) -> None:
    """Prints the error of each variant's mean job time, and of its jobs' run times."""
    text = (HERE / file).read_text("utf-8")
    seconds, _, _ = tomllib.loads(text)["jobs"]["generate"]["mean_interarrival"].partition(" s")
    between = f"{float(seconds) / ITERATIONS * iterations * 1e6:.0f} us"
    day = Scenario.from_text(text, file).with_settings(
        {
            "jobs.generate.workloads": NETS,
            "jobs.generate.count": count,
            "jobs.generate.iterations": iterations,
            "jobs.generate.mean_interarrival": between,
        }
    )
    print(f"{file}: {count} jobs of {iterations} iterations, fluid to flow")
    for name in day.variants:
        fluid, flow = (played(day.variant(name), fidelity) for fidelity in ("fluid", "flow"))
        later = job_time(fluid) / job_time(flow) - 1
        pairs = zip(fluid["run_time"].to_pylist(), flow["run_time"].to_pylist(), strict=True)
        errors = [one / other - 1 for one, other in pairs]
        print(
            f"{name:10} mean job time {later:+.2%}, run times "
            f"{min(errors):+.1%} to {max(errors):+.1%}",
            flush=True,
        )


if __name__ == "__main__":
    file, count, iterations = sys.argv[1:] or ["shared-server.toml", "6", "2"]
    main(file, int(count), int(iterations))
