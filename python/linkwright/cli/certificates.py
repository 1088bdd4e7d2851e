"""Tells, in words and data, why a plan's rate is the optimum, and how GPUs outside a job help."""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.collectives import Certificate, Schedule

__all__ = [
    "certificate_fields",
    "certificate_lines",
    "helper_fields",
    "helper_lines",
]

# As many links as a person reads.
MOST_LINKS = 16

# As many names of devices as stand in a line.
MOST_NAMES = 12


def certificate_fields(certificate: Certificate | None) -> dict[str, object] | None:
    """Gives a certificate as data; bandwidths are in GB/s."""
    if certificate is None:
        return None
    links = [
        {"from": near, "to": far, "bandwidth": bandwidth, "counts": counts}
        for near, far, bandwidth, counts in certificate.links
    ]
    return {
        "kind": certificate.kind,
        "sides": certificate.sides,
        "left_out": certificate.left_out,
        "links": links,
        "capacity": certificate.capacity,
        "need": certificate.need,
        "bound": certificate.bound,
    }


def certificate_lines(certificate: Certificate | None, schedule: Schedule) -> list[str]:
    """Tells people what a certificate proves, or that there is none.

    Raises:
        CollectiveError: If the certificate does not prove the plan's optimum.
    """
    if schedule.optimum is None:
        return ["no certificate, since the optimum is not known"]
    if certificate is None:
        return ["no certificate: no cut of the system's links proves the optimum"]
    schedule.verify(certificate)
    lines = [f"{_what(certificate)}:"]
    if certificate.kind == "cut":
        lines.append(f"on one side are {_names(certificate.sides[0])}")
    elif certificate.kind == "parts":
        lines += [f"a part is {_names(part)}" for part in certificate.sides[:MOST_LINKS]]
        if len(certificate.sides) > MOST_LINKS:
            lines.append(f"and {len(certificate.sides) - MOST_LINKS} more parts")
    if certificate.left_out:
        lines.append(
            f"plans leave out {_names(certificate.left_out)}, since other interfaces are nearer"
        )
    for near, far, bandwidth, counts in certificate.links[:MOST_LINKS]:
        times = f", which counts {counts} times" if counts > 1 else ""
        lines.append(f"{near} to {far}: {bandwidth:.2f} GB/s{times}")
    if len(certificate.links) > MOST_LINKS:
        lines.append(f"and {len(certificate.links) - MOST_LINKS} more; --json has them all")
    lines.append(
        f"together {certificate.capacity:.2f} GB/s over {certificate.need:.4g} bytes for each byte "
        f"of the size: no such plan passes {certificate.bound:.2f} GB/s (verified)"
    )
    return lines


def _what(certificate: Certificate) -> str:
    """Says why the links that follow bound the rate."""
    need = f"{certificate.need:.4g} bytes"
    if certificate.kind == "cut":
        return f"of each byte of the size {need} must leave one side, over the links that cross"
    if certificate.kind == "parts":
        return (
            f"each byte of the result must arrive {certificate.need:.0f} times at one of "
            f"{len(certificate.sides)} parts, over the links that enter them"
        )
    if certificate.kind == "in-switch":
        return (
            f"to merge and to spread each byte in switches takes {need} on the links between GPUs "
            "and switches"
        )
    return (
        "with links as long as they count, what each GPU sends to each other one takes at least "
        f"their distance, {need} for each byte of the size"
    )


def _names(devices: Sequence[str]) -> str:
    """The names of a few devices, and how many there are of many."""
    if len(devices) <= MOST_NAMES:
        return ", ".join(devices)
    return f"{', '.join(devices[:MOST_NAMES])} and {len(devices) - MOST_NAMES} more"


def helper_fields(schedule: Schedule) -> list[dict[str, object]]:
    """Gives as data what a plan takes of GPUs outside the job; bandwidths are in GB/s."""
    return [
        {"gpu": gpu, "bandwidth": bandwidth, "share": share, "most": most}
        for gpu, bandwidth, share, most in schedule.helpers
    ]


def helper_lines(schedule: Schedule, without: Schedule | None) -> list[str]:
    """Tells people the rate with helpers and without, and the bandwidth that each loses."""
    lines = []
    if without is not None and without.rate and schedule.rate:
        lines.append(
            f"{schedule.rate:.2f} GB/s with helpers, and {without.rate:.2f} GB/s without "
            f"({without.links}): {schedule.rate / without.rate:.2f} times"
        )
    lines += [
        f"GPU {gpu} passes on {bandwidth:.2f} GB/s: {share:.0%} of its NVLinks' bandwidth, and "
        f"{most:.0%} of the link that is used most"
        for gpu, bandwidth, share, most in schedule.helpers
    ]
    return lines
