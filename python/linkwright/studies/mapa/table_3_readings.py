"""Table 3's throughput in every reading of the mix that the paper's text allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from linkwright import System
from linkwright.names import PolicyName
from linkwright.scenario import SimulationResult
from linkwright.studies.mapa.mix import POLICIES, Progress, played
from linkwright.studies.mapa.published import published
from linkwright.studies.mapa.readings import READINGS, Reading, every_reading, jobs_of
from linkwright.studies.tables import Cell, Section, StudyTable
from linkwright.summaries.policies import Speedup, speedups

__all__ = ["Gains", "gains_of", "readings"]

MACHINE = "dgx1-v100"
COMPARED: tuple[PolicyName, ...] = POLICIES[1:]
TAILS = ("upper", "maximum")


@dataclass(frozen=True)
class Gains:
    """Holds the gains of a reading, as medians over seeds of speed-ups over the baseline.

    Attributes:
        reading: The reading.
        throughput: By policy, in the order of Table 3.
        upper: Preserve's, of the 75th percentile of run times.
        maximum: Preserve's, of the slowest job.
    """

    reading: Reading
    throughput: tuple[float, ...]
    upper: float
    maximum: float

    @property
    def distance(self) -> float:
        """How far the throughputs are from the published ones, on average."""
        said: list[float] = [published()["speedup"][policy][-1] for policy in COMPARED]
        parted = [abs(a - b) for a, b in zip(self.throughput, said, strict=True)]
        return sum(parted) / len(parted)


def gains_of(chosen: Reading, seeds: Sequence[int]) -> Gains:
    """Computes Table 3 in a reading, with policies that rank by the published model."""
    machine = System(MACHINE)
    by_policy: dict[str, list[Speedup]] = {policy: [] for policy in COMPARED}
    for seed in seeds:
        jobs = jobs_of(seed, chosen)
        results: list[SimulationResult] = [
            played(machine, jobs, policy, chosen) for policy in POLICIES
        ]
        for gained in speedups(results):
            if gained.policy in by_policy:
                by_policy[gained.policy].append(gained)
    preserve = by_policy["preserve"]
    return Gains(
        chosen,
        tuple(median(each.throughput for each in by_policy[policy]) for policy in COMPARED),
        median(each.upper for each in preserve),
        median(each.maximum for each in preserve),
    )


def readings(seeds: Sequence[int], progress: Progress | None = None) -> Section:
    """The section that compares the readings, the nearest first."""
    every = every_reading()
    found = []
    for done, chosen in enumerate(every, start=1):
        found.append(gains_of(chosen, seeds))
        if progress is not None:
            progress("readings", done, len(every))
    found.sort(key=lambda gains: gains.distance)
    names = {chosen: name for name, chosen in READINGS.items()}
    entry = published()["speedup"]
    said: tuple[Cell, ...] = (
        *("published", *("",) * 5),
        *(entry[policy][-1] for policy in COMPARED),
        None,
        entry["preserve"][3],
        entry["preserve"][4],
    )
    rows = [said]
    for gains in found:
        name = names.get(gains.reading)
        rows.append(
            (
                f"`{name}`" if name else "",
                *gains.reading.words(),
                *gains.throughput,
                gains.distance,
                gains.upper,
                gains.maximum,
            )
        )
    places = {
        names[gains.reading]: at for at, gains in enumerate(found, 1) if gains.reading in names
    }
    return Section(
        title="Table 3 in every reading",
        text=[
            "The text leaves five choices. Jobs are drawn from the six networks of Fig. 5, or "
            "from all nine workloads that Section 4 names. The sentence on the list of jobs and "
            "the authors' published generator have the six. Insensitive jobs take as long on any "
            "links, as Fig. 16 has it, or feel them by their data. The queue is first in, first "
            "out, as Section 4 says, or backfilled, as a policy that reorders may do. Run times "
            "follow the sound model or Eq. 2. The speed of computing follows from Fig. 2b's slope "
            "or from Section 4.1's seconds.",
            "By default the study plays `text`, with each choice as its sentence has it. It takes "
            "the sound model, since the paper measured its times on a machine and did not take "
            "them from its regression. `--set reading=published-fit` plays nine workloads that "
            "all feel their links, fitted to the seconds.",
        ],
        tables=[
            StudyTable(
                title=f"Throughput over the baseline in {len(found)} readings, the nearest first",
                columns=(
                    "reading",
                    "drawn from",
                    "insensitive",
                    "queue",
                    "run time",
                    "calibrated on",
                    *COMPARED,
                    "off by",
                    "preserve, 75 %",
                    "preserve, slowest",
                ),
                rows=tuple(rows),
                formats=(*("",) * 6, *(".3f",) * 6),
                note=(
                    f"The numbers are medians of {len(seeds)} seeds, with policies ranked by the "
                    "published model. 'Off by' is the mean difference of the three throughputs "
                    f"from the published ones. `text` is number {places['text']} and "
                    f"`published-fit` number {places['published-fit']} of {len(found)}. No row "
                    "checks its own calibration: rows on the slope say nothing of Fig. 2b, and "
                    "rows on seconds nothing of Section 4.1's. The relative sizes of the "
                    "networks' batches come from the seconds in all."
                ),
            )
        ],
    )
