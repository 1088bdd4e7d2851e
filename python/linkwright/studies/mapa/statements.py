"""What the paper says of Figs. 13 and 18, as checks over what the jobs felt.

The figures are box plots without a table, so that their sentences are what can be checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from linkwright.allocation import published_effective_bandwidth
from linkwright.quartiles import Quartiles
from linkwright.studies.mapa.mix import Model
from linkwright.studies.mapa.published import published

__all__ = ["STATEMENTS", "Felt", "Outcome", "Statement"]


@dataclass(frozen=True)
class Felt:
    """What the sensitive jobs of two or more GPUs of one mix felt, by policy.

    Attributes:
        model: The model of the bandwidths.
        bandwidth: Effective bandwidths, in GB/s.
        one_gpu_jobs: How many sensitive jobs have one GPU, which no list here holds.
        run_time: Run times, in seconds.
        makespan: Seconds until the last job of the mix ended.
    """

    model: Model
    bandwidth: Mapping[str, Sequence[float]]
    one_gpu_jobs: int
    run_time: Mapping[str, Sequence[float]]
    makespan: Mapping[str, float]

    def five(self, policy: str) -> Quartiles:
        """The quartiles of a policy's effective bandwidths, in GB/s."""
        return Quartiles.of(self.bandwidth[policy])

    def whiskers(self, policy: str) -> tuple[float, float]:
        """The least and the most within 1.5 interquartile ranges of the box, in GB/s.

        Some plotting programs draw these as the ends, and what lies beyond as outliers.
        """
        five = self.five(policy)
        reach = 1.5 * (five.upper - five.lower)
        within = [
            value
            for value in self.bandwidth[policy]
            if five.lower - reach <= value <= five.upper + reach
        ]
        return min(within), max(within)

    def times(self, policy: str) -> Quartiles:
        """The quartiles of a policy's run times, in seconds."""
        return Quartiles.of(self.run_time[policy])


@dataclass(frozen=True)
class Outcome:
    """Whether a statement holds for a mix, and the numbers that say so."""

    holds: bool
    measured: str


@dataclass(frozen=True)
class Statement:
    """One sentence of the paper as a check.

    Attributes:
        machine: The preset that it speaks of.
        source: Where it stands.
        says: The sentence, restated so that it can be checked.
        check: The check.
        of_the_regression: Whether it means a value that only the published regression has.
    """

    machine: str
    source: str
    says: str
    check: Callable[[Felt], Outcome]
    of_the_regression: bool = False


def _near() -> float:
    return 1 - float(published()["exploration"]["near"])


def _median_is_published(policy: str) -> Callable[[Felt], Outcome]:
    def check(felt: Felt) -> Outcome:
        entry = published()["effective_bandwidth"]
        median = felt.five(policy).median
        holds = abs(median - entry[f"median_{policy}"]) <= entry["tolerance"]
        return Outcome(holds, f"{median:.2f}")

    return check


def _lower_quartile_counts_one_gpu_jobs(felt: Felt) -> Outcome:
    entry = published()["effective_bandwidth"]
    nothing = published_effective_bandwidth(0, 0, 0)
    counted = [*felt.bandwidth["greedy"], *[nothing] * felt.one_gpu_jobs]
    with_them = Quartiles.of(counted).lower
    without = felt.five("greedy").lower
    holds = abs(with_them - entry["lower_quartile_greedy"]) <= entry["tolerance"]
    return Outcome(holds, f"{with_them:.2f} with them, {without:.2f} without")


def _lower_quartile_excludes_one_gpu_jobs(felt: Felt) -> Outcome:
    entry = published()["effective_bandwidth"]
    lower = felt.five("greedy").lower
    holds = abs(lower - entry["lower_quartile_greedy"]) <= entry["tolerance"]
    return Outcome(holds, f"{lower:.2f}")


def _medians_near_others_maximum(felt: Felt) -> Outcome:
    medians = [felt.five(policy).median for policy in ("greedy", "preserve")]
    most = max(felt.five(policy).maximum for policy in ("baseline", "topology-aware"))
    holds = min(medians) >= _near() * most
    return Outcome(holds, f"{medians[0]:.2f} and {medians[1]:.2f} against {most:.2f}")


def _topology_aware_gains_little(felt: Felt) -> Outcome:
    median, reference = felt.five("topology-aware").median, felt.five("baseline").median
    return Outcome(
        median * _near() <= reference <= median / _near(), f"{median:.2f} against {reference:.2f}"
    )


def _preserve_does_not_starve(felt: Felt) -> Outcome:
    preserve, greedy = felt.five("preserve").lower, felt.five("greedy").lower
    return Outcome(preserve > greedy, f"{preserve:.2f} against {greedy:.2f}")


def _lowest_tail(felt: Felt) -> Outcome:
    tails = {policy: felt.times(policy) for policy in felt.run_time}
    preserve = tails["preserve"]
    holds = all(
        preserve.upper <= other.upper and preserve.maximum <= other.maximum
        for other in tails.values()
    )
    others = [other for policy, other in tails.items() if policy != "preserve"]
    upper, most = min(o.upper for o in others), min(o.maximum for o in others)
    return Outcome(
        holds,
        f"{preserve.upper:.0f} s and {preserve.maximum:.0f} s; best of the others "
        f"{upper:.0f} s and {most:.0f} s",
    )


def _best_throughput(felt: Felt) -> Outcome:
    gains = {policy: felt.makespan["baseline"] / each for policy, each in felt.makespan.items()}
    best = max(gains, key=lambda policy: gains[policy])
    numbers = ", ".join(f"{policy} {gain:.3f}" for policy, gain in gains.items())
    return Outcome(best == "preserve", numbers)


def _torus_lower_quartile(felt: Felt) -> Outcome:
    lower = felt.five("preserve").lower
    medians = [felt.five(policy).median for policy in ("baseline", "topology-aware")]
    return Outcome(
        lower > max(medians), f"{lower:.2f} against {medians[0]:.2f} and {medians[1]:.2f}"
    )


def _minimum_reaches_others_lower_quartile(felt: Felt) -> Outcome:
    least = felt.five("preserve").minimum
    others = ("baseline", "topology-aware", "greedy")
    lower = [felt.five(policy).lower for policy in others]
    numbers = ", ".join(f"{value:.2f}" for value in lower)
    return Outcome(least >= _near() * max(lower), f"{least:.2f} against {numbers}")


def _lower_whisker_reaches_others_lower_quartile(felt: Felt) -> Outcome:
    least = felt.whiskers("preserve")[0]
    others = ("baseline", "topology-aware", "greedy")
    lower = [felt.five(policy).lower for policy in others]
    numbers = ", ".join(f"{value:.2f}" for value in lower)
    return Outcome(least >= _near() * max(lower), f"{least:.2f} against {numbers}")


def _greedy_improves_upper_quartile(felt: Felt) -> Outcome:
    upper = felt.five("greedy").upper
    others = [felt.five(policy).upper for policy in ("baseline", "topology-aware")]
    return Outcome(upper > max(others), f"{upper:.2f} against {others[0]:.2f} and {others[1]:.2f}")


def _median_near_greedys_upper_quartile(felt: Felt) -> Outcome:
    median, upper = felt.five("preserve").median, felt.five("greedy").upper
    return Outcome(median >= _near() * upper, f"{median:.2f} against {upper:.2f}")


def _half_faster_than_all(felt: Felt) -> Outcome:
    median = felt.five("preserve").median
    most = [felt.five(policy).maximum for policy in ("baseline", "topology-aware")]
    return Outcome(
        median >= _near() * max(most), f"{median:.2f} against {most[0]:.2f} and {most[1]:.2f}"
    )


def _half_faster_than_whiskers(felt: Felt) -> Outcome:
    median = felt.five("preserve").median
    most = [felt.whiskers(policy)[1] for policy in ("baseline", "topology-aware")]
    return Outcome(
        median >= _near() * max(most), f"{median:.2f} against {most[0]:.2f} and {most[1]:.2f}"
    )


def _half_faster_than_majority_of_greedy(felt: Felt) -> Outcome:
    median, greedy = felt.five("preserve").median, felt.bandwidth["greedy"]
    share = sum(value < median for value in greedy) / len(greedy)
    return Outcome(share > 0.5, f"above {share:.0%} of greedy's")


DGX, TORUS, CUBE = "dgx1-v100", "torus2d-16", "cubemesh-16"

STATEMENTS = (
    Statement(DGX, "4.1", "the median of greedy is 57.85", _median_is_published("greedy"), True),
    Statement(
        DGX, "4.1", "the median of preserve is 57.85", _median_is_published("preserve"), True
    ),
    Statement(
        DGX,
        "4.1",
        "the 25th percentile of greedy is 12.33",
        _lower_quartile_excludes_one_gpu_jobs,
        True,
    ),
    Statement(
        DGX,
        "4.1",
        "the same, if jobs of one GPU count as (0, 0, 0)",
        _lower_quartile_counts_one_gpu_jobs,
        True,
    ),
    Statement(
        DGX,
        "4.1",
        "the medians of greedy and preserve are near the maximum of baseline and topology-aware",
        _medians_near_others_maximum,
    ),
    Statement(
        DGX,
        "4.1",
        "the median of topology-aware is about that of baseline",
        _topology_aware_gains_little,
    ),
    Statement(
        DGX,
        "4.1",
        "the 25th percentile of preserve is above that of greedy",
        _preserve_does_not_starve,
    ),
    Statement(
        DGX,
        "4.1",
        "preserve has the lowest 75th percentile and maximum of run time",
        _lowest_tail,
    ),
    Statement(DGX, "Table 3", "preserve has the best throughput", _best_throughput),
    Statement(
        TORUS,
        "5.3",
        "the 25th percentile of preserve is above the median of baseline and topology-aware",
        _torus_lower_quartile,
    ),
    Statement(
        TORUS,
        "5.3",
        "the minimum of preserve is equivalent to the 25th percentile of all others",
        _minimum_reaches_others_lower_quartile,
    ),
    Statement(
        TORUS,
        "5.3",
        "the same, the minimum being the end of a whisker",
        _lower_whisker_reaches_others_lower_quartile,
    ),
    Statement(
        TORUS,
        "5.3",
        "greedy improves the 75th percentile",
        _greedy_improves_upper_quartile,
    ),
    Statement(
        CUBE,
        "5.3",
        "the minimum of preserve is equivalent to the 25th percentile of all others",
        _minimum_reaches_others_lower_quartile,
    ),
    Statement(
        CUBE,
        "5.3",
        "the same, the minimum being the end of a whisker",
        _lower_whisker_reaches_others_lower_quartile,
    ),
    Statement(
        CUBE,
        "5.3",
        "the median of preserve is near the 75th percentile of greedy",
        _median_near_greedys_upper_quartile,
    ),
    Statement(
        CUBE,
        "5.3",
        "the median of preserve is near the maximum of baseline and topology-aware: half of its "
        "jobs are faster than all of theirs",
        _half_faster_than_all,
    ),
    Statement(
        CUBE,
        "5.3",
        "the same, the maximum being the end of a whisker",
        _half_faster_than_whiskers,
    ),
    Statement(
        CUBE,
        "5.3",
        "half of preserve's jobs are faster than the majority of greedy's",
        _half_faster_than_majority_of_greedy,
    ),
)
