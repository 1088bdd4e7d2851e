"""Studies, quick: every table but those of times by the clock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import cache

from frozen.captured import Captured, Case
from frozen.names import APPLICATIONS
from frozen.tables import ROOT, of_rows
from linkwright.studies import blink, mapa
from linkwright.studies.network.jobs import MixJob
from linkwright.studies.network.measured import read_times
from linkwright.studies.network.runs import plan, replay_mix
from linkwright.studies.network.study import sections_of
from linkwright.studies.study import Study
from linkwright.studies.tables import Section, StudyTable

__all__ = [
    "QUICK_BLINK",
    "QUICK_MAPA",
    "QUICK_NETWORK",
    "TIMES",
    "cases",
    "quick_blink",
    "quick_mapa",
    "quick_network",
]

TIMES = ROOT / "docs" / "studies" / "data" / "network-quick.parquet"

# Ranks of a job of each application, in their order.
SIZES = (128, 64, 64, 32, 64, 32)


@cache
def quick_blink() -> Study:
    """Blink's study, run once for all tests of a process."""
    return blink.run(quick=True)


MAPA_STEPS: list[tuple[str, int, int]] = []
"""What MAPA's study told of its progress."""


@cache
def quick_mapa() -> mapa.MapaStudy:
    """MAPA's, likewise."""
    return mapa.run(quick=True, progress=lambda *step: MAPA_STEPS.append(step))


@cache
def quick_network() -> list[Section]:
    """What the study of networks makes of the times that its page has."""
    return sections_of(read_times(TIMES))


def cases() -> list[Case]:
    """Runs of the study of networks."""
    return [Case("studies/network-runs", "every setting of the study, with small jobs", _runs)]


def _of_tables(tables: Iterable[StudyTable]) -> Iterator[Captured]:
    return (Captured(table.title, table.columns, table.rows) for table in tables)


def _mapa() -> Iterator[Captured]:
    # Its last section holds what clocks said.
    return _of_tables(table for section in quick_mapa().sections for table in section.tables)


def _blink() -> Iterator[Captured]:
    return _of_tables(quick_blink().tables)


def _network() -> Iterator[Captured]:
    return _of_tables(table for section in quick_network() for table in section.tables)


def _runs() -> Iterator[Captured]:
    """A run in each setting, of one job of each application; the study's own take ten minutes."""
    # All mixes are played in every setting; which they are costs ten seconds to find.
    settings = dict.fromkeys(run.setting for run in plan([[]]))
    jobs = [asdict(MixJob(name, ranks, 1)) for name, ranks in zip(APPLICATIONS, SIZES, strict=True)]
    rows = [(*asdict(each).values(), replay_mix(asdict(each), jobs)) for each in settings]
    yield of_rows("runs", "network gpus_per_node bandwidth nic times", rows)


# The tests of these studies hold them, which have run them anyway.
QUICK_MAPA = Case("studies/mapa", "linkwright study mapa --quick", _mapa)
QUICK_BLINK = Case("studies/blink", "linkwright study blink --quick", _blink)
QUICK_NETWORK = Case(
    "studies/network", f"sections_of(read_times({str(TIMES.relative_to(ROOT))!r}))", _network
)
