"""Asks the model about every measured row, and writes `docs/accuracy.md`.

Run it by `make accuracy`. `--check` writes nothing and asks about a sample of the series. They must
come to the stored results. These must give the tables of the page and of the README, and the shares
that commands print below their error bars.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from accuracy import collectives, insides, jobs, kernels, packets, pcie, training
from accuracy.page import GUIDE, LEGEND, PAGE, README, in_guide, in_legend, in_page, in_readme
from accuracy.results import PATH, asked, stored, text_of, with_others
from accuracy.rows import Series, told
from accuracy.runs import repeat
from accuracy.tables import ROOT

# `--check` asks about as many series of each subject.
SAMPLE = 5
TEXTS = {PAGE: in_page, README: in_readme, LEGEND: in_legend, GUIDE: in_guide}


def every_series() -> list[Series]:
    """Lists every measurement."""
    return [
        *collectives.series(),
        *jobs.series(),
        *training.series(),
        *kernels.series(),
        *insides.series(),
        *pcie.series(),
        *packets.series(),
    ]


def sampled(series: list[Series], most: int) -> list[Series]:
    """Chooses evenly among the series of each subject, the first among them."""
    found = []
    for subject in dict.fromkeys(each.subject for each in series):
        own = [each for each in series if each.subject == subject]
        found += own[:: -(-len(own) // most)]
    return found


def differences(sample: int = SAMPLE) -> Iterator[str]:
    """Tells every difference from the stored results."""
    before = stored()
    known = {
        (each.name, name): own for each in before.subjects for name, own in each.series.items()
    }
    now = every_series()
    if {(each.subject, each.name) for each in now} != set(known):
        yield "the measured rows are not those of the stored results"
        return
    for each in sampled(now, sample):
        found, kept = told(each.ask()), known[each.subject, each.name]
        if found != kept:
            what = f"{each.subject}, {each.name}"
            yield f"{what}: rows, asked and mean error are {found}, not {kept}"
    for path, remade in TEXTS.items():
        text = path.read_text(encoding="utf-8")
        if remade(before, text) != text:
            yield f"{path.relative_to(ROOT)} is not what the stored results give"


def main() -> None:
    """Asks, and writes or compares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="Write nothing; fail where it would.")
    parser.add_argument(
        "--runs", action="store_true", help="Repeat the costly runs first: minutes."
    )
    parser.add_argument(
        "--only", default="", metavar="SUBJECT", help="Ask anew about subjects that begin so."
    )
    chosen = parser.parse_args()
    if chosen.runs:
        repeat(every_series())
    if chosen.check:
        found = [*differences()]
        if found:
            sys.exit("\n".join([*found, "run make accuracy"]))
        return
    wanted = [each for each in every_series() if each.subject.startswith(chosen.only)]
    if not wanted:
        names = dict.fromkeys(each.subject for each in every_series())
        parser.error(f"no subject begins with `{chosen.only}`; take one of {', '.join(names)}")
    if any(each.subject.startswith(jobs.JOBS) for each in wanted):
        jobs.play(jobs.jobs())
        jobs.store()
    results = asked(wanted)
    if chosen.only:
        results = with_others(results, stored())
    PATH.write_text(text_of(results), encoding="utf-8")
    for path, remade in TEXTS.items():
        path.write_text(remade(results, path.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"Wrote {PAGE.relative_to(ROOT)}.")


if __name__ == "__main__":
    main()
