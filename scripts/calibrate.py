"""Fits what NCCL's kernels cost to measurements, and says how far off the clock then is.

The measurements are `validation/nccl-tests.csv`. The terms are those that `fitted` names in
`crates/linkwright-collectives/src/collectives/schedule/time/terms.toml`; each
group of systems weighs as much as any other. Groups are also left out in turn: the terms are fitted
to the others, and it is predicted from them and its data sheets. The tables go to
`docs/concepts/calibration.md`.

Run it by `make calibrate`; with `--check` nothing is written, and the page must be what it is.
While rows that the terms were fitted to are `gone`, it refuses, and all that they set stays.
"""

from __future__ import annotations

import argparse
import csv
import math
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from linkwright import expect, load_system

ROOT = Path(__file__).parent.parent
TERMS = ROOT / "crates/linkwright-collectives/src/collectives/schedule/time/terms.toml"
ROWS = ROOT / "validation/nccl-tests.csv"
MACHINES = ROOT / "validation/nccl-machines.toml"
PAGE = ROOT / "docs/concepts/calibration.md"
ERRORS = ROOT / "crates/linkwright-collectives/src/collectives/nccl/accuracy/errors.toml"

# Decades of sizes in the table of errors.
DECADES = [
    (0, "below 64 KiB"),
    (1 << 16, "to 1 MiB"),
    (1 << 20, "to 16 MiB"),
    (1 << 24, "to 256 MiB"),
    (1 << 28, "above"),
]


@dataclass(frozen=True)
class Machine:
    """What a name of the measurements stands for."""

    system: str
    label: str
    group: str
    machine: str
    gpus: tuple[int, ...]
    processes: str
    nccl: str | None = None
    counted: float | None = None
    why: str = ""
    gone: int = 0


@dataclass(frozen=True)
class Row:
    """A measured time in seconds."""

    machine: Machine
    collective: str
    size: int
    time: float


def machines() -> dict[str, Machine]:
    """The systems by their names in the measurements."""
    found = tomllib.loads(MACHINES.read_text())["machine"]
    made = [Machine(**{**fields, "gpus": tuple(fields["gpus"])}) for fields in found]
    return {machine.system: machine for machine in made}


def rows() -> list[Row]:
    """The measurements that say a size and a time."""
    known = machines()
    found = []
    with ROWS.open(newline="") as file:
        for row in csv.DictReader(file):
            machine = known.get(row["system"])
            if machine is not None:
                collective = row["collective"].replace("_", "").replace("allreduce", "all-reduce")
                size, time = int(row["size_bytes"]), float(row["time_us"]) * 1e-6
                found.append(Row(machine, collective, size, time))
    return found


def gone() -> dict[str, int]:
    """How many rows of each group the terms were fitted to, and are no longer there."""
    found: dict[str, int] = {}
    for machine in machines().values():
        if machine.gone:
            found[machine.group] = found.get(machine.group, 0) + machine.gone
    return found


def predicted(measured: list[Row], terms: str, *, as_counted: bool = False) -> dict[Row, float]:
    """The time of each row by these terms, in seconds.

    What links reach is what their kind says. Where that was set by the machine's own rows, it is
    what its library counts on if these rows are to be predicted (`as_counted`).
    """
    times: dict[Row, float] = {}
    for machine, collective in dict.fromkeys((row.machine, row.collective) for row in measured):
        own = [row for row in measured if (row.machine, row.collective) == (machine, collective)]
        name = machine.machine
        system = load_system(str(ROOT / name) if name.endswith(".toml") else name)
        found = expect(
            system,
            list(machine.gpus),
            collective,
            [row.size for row in own],
            nccl=machine.nccl,
            processes=machine.processes,
            link_bandwidth=machine.counted if as_counted else None,
            terms=terms,
        )
        times.update((row, told["time"]) for row, told in zip(own, found, strict=True))
    return times


def value_of(text: str, name: str) -> float:
    """A term by its dotted name; a number at its end is the place in a list."""
    found: object = tomllib.loads(text)
    for part in name.split("."):
        found = found[int(part)] if isinstance(found, list) else found[part]  # type: ignore[index]
    return float(found)  # type: ignore[arg-type]


def with_value(text: str, name: str, value: float) -> str:
    """The text with another value of a term; all else stays, comments too."""
    *tables, key = name.split(".")
    place = None
    if key.isdigit():
        place, key = int(key), tables.pop()
    table = ".".join(tables)
    start = text.index(f"[{table}]\n")
    line = re.compile(rf"^{key} = (.*)$", re.MULTILINE)
    found = line.search(text, start)
    assert found is not None, name
    shown = f"{value:.4g}"
    if place is not None:
        items = found[1].strip("[]").split(", ")
        items[place] = shown
        shown = f"[{', '.join(items)}]"
    return f"{text[: found.start(1)]}{shown}{text[found.end(1) :]}"


def fitted(measured: list[Row], text: str) -> str:
    """The terms with those that are fitted as near to the measurements as they come."""
    # Who only reads the rows does without it.
    from scipy.optimize import least_squares

    names = tomllib.loads(text)["fitted"]
    weight = {
        group: 1 / math.sqrt(sum(row.machine.group == group for row in measured))
        for group in {row.machine.group for row in measured}
    }

    def with_all(logarithms: list[float]) -> str:
        made = text
        for name, logarithm in zip(names, logarithms, strict=True):
            made = with_value(made, name, math.exp(logarithm))
        return made

    def residuals(logarithms: list[float]) -> list[float]:
        times = predicted(measured, with_all(logarithms))
        off = [math.log(times[row] / row.time) * weight[row.machine.group] for row in measured]
        from_prior = [
            (new - prior) * (0.3 if name in PRIORS else 1e-3)
            for name, new, prior in zip(names, logarithms, priors, strict=True)
        ]
        return off + from_prior

    # What nothing is measured of stays where it is.
    start = [math.log(value_of(text, name)) for name in names]
    priors = [
        math.log(PRIORS[name]) if name in PRIORS else old
        for name, old in zip(names, start, strict=True)
    ]
    found = least_squares(residuals, start, loss="soft_l1", f_scale=0.1, diff_step=0.02)
    return with_all(list(found.x))


def errors(measured: list[Row], text: str, *, as_counted: bool = False) -> dict[Row, float]:
    """How far off each row is, as a part of what was measured."""
    times = predicted(measured, text, as_counted=as_counted)
    return {row: times[row] / row.time - 1 for row in measured}


# What NCCL's own constants say of a term (2.30, src/graph/tuning.cc: Simple's hop around a ring).
PRIORS = {"hop.direct.2": 3.4, "hop.host.2": 5.7}

# Groups that are fitted to but are left out in turn, and those that are not fitted to.
LEFT_OUT = ["V100 mesh", "A100", "B200"]
UNFITTED = ["H100", "MI300X"]


def fitted_to(measured: list[Row], but: str | None = None, also: str | None = None) -> list[Row]:
    """The rows of the groups that are fitted to, without one and with another."""
    groups = {row.machine.group for row in measured} - set(UNFITTED) - {but} | {also}
    return [row for row in measured if row.machine.group in groups]


# What joins the GPUs of each group, and whether through switches.
JOINED = {
    "V100 pairs": ("nvlink2", False),
    "V100 mesh": ("nvlink2", False),
    "A100": ("nvlink3", True),
    "H100": ("nvlink4", True),
    "B200": ("nvlink5", True),
    "MI300X": ("xgmi-mi300", False),
    "V100 PCIe": ("pcie3", False),
}


def left_out(measured: list[Row], text: str) -> dict[Row, float]:
    """The errors of predictions for groups that are left out of the fit, or are not fitted to."""
    found = {}
    for group in LEFT_OUT + UNFITTED:
        own = [row for row in measured if row.machine.group == group]
        terms = fitted(fitted_to(measured, but=group), text) if group in LEFT_OUT else text
        found |= errors(own, terms, as_counted=True)
    return found


def decades() -> list[tuple[int, float]]:
    """Where each decade of sizes begins and ends."""
    starts = [least for least, _ in DECADES]
    return list(zip(starts, [*starts[1:], math.inf], strict=True))


def bars(off: dict[Row, float], of_left_out: dict[Row, float]) -> str:
    """What `errors.toml` says: errors by what joins GPUs, and the largest of what was left out."""
    lines = [
        "# How far off the clock was, by what joins the GPUs and by size.",
        "# Errors are parts of what was measured; `make calibrate` writes this.",
        "# left_out: the largest error of predictions for groups left out of the fit.",
    ]
    for link, switched in dict.fromkeys(JOINED.values()):
        switches = str(switched).lower()
        lines += ["", "[[kind]]", f'link = "{link}"', f"switched = {switches}"]
        for least, most in decades():
            own = sorted(
                abs(error)
                for row, error in off.items()
                if JOINED[row.machine.group] == (link, switched) and least <= row.size < most
            )
            if own:
                ninetieth = own[math.ceil(0.9 * len(own)) - 1]
                lines += ["[[kind.error]]", f'from = "{least} B"', f"rows = {len(own)}"]
                lines += [f"median = {median(own):.3f}", f"ninetieth = {ninetieth:.3f}"]
    for rccl in (False, True):
        for least, most in decades():
            largest = [
                abs(error)
                for row, error in of_left_out.items()
                if (row.machine.group == "MI300X") == rccl and least <= row.size < most
            ]
            if largest:
                lines += ["", "[[left_out]]", f"is_rccl = {str(rccl).lower()}"]
                lines += [f'from = "{least} B"', f"largest = {max(largest):.3f}"]
    return "\n".join(lines) + "\n"


def worst(off: list[float]) -> str:
    """The median and the largest of errors, as a page shows them."""
    return f"{median(map(abs, off)):.1%} | {max(map(abs, off)):.1%}"


def page(
    measured: list[Row], text: str, off: dict[Row, float], of_left_out: dict[Row, float]
) -> str:
    """What `docs/concepts/calibration.md` says between its marks."""
    groups = list(dict.fromkeys(row.machine.group for row in measured))
    lines = ["| fitted term | value |", "| --- | --- |"]
    lines += [
        f"| `{name}` | {value_of(text, name):.4g} |" for name in tomllib.loads(text)["fitted"]
    ]
    lines += ["", "| group | rows | median error | largest |", "| --- | ---: | ---: | ---: |"]
    for group in groups:
        own = [off[row] for row in measured if row.machine.group == group]
        lines.append(f"| {group} | {len(own)} | {worst(own)} |")
    lines.append(f"| all | {len(measured)} | {worst(list(off.values()))} |")
    lines += ["", "| left out of the fit | median error | largest |", "| --- | ---: | ---: |"]
    for group in LEFT_OUT + UNFITTED:
        found = [error for row, error in of_left_out.items() if row.machine.group == group]
        lines.append(f"| {group} | {worst(found)} |")
    lines += ["", "| fitted to, too | median error | largest |", "| --- | ---: | ---: |"]
    for group in UNFITTED:
        own = [row for row in measured if row.machine.group == group]
        found = errors(own, fitted(fitted_to(measured, also=group), text))
        lines.append(f"| {group} | {worst(list(found.values()))} |")
    heads = " | ".join(name for _, name in DECADES)
    lines += ["", f"| system | {heads} |", "| --- |" + " ---: |" * len(DECADES)]
    for label in dict.fromkeys((row.machine.label, row.collective) for row in measured):
        cells = []
        for at, (least, _) in enumerate(DECADES):
            most = DECADES[at + 1][0] if at + 1 < len(DECADES) else math.inf
            own = [
                off[row]
                for row in measured
                if (row.machine.label, row.collective) == label and least <= row.size < most
            ]
            cells.append(f"{median(own):+.1%}" if own else "")
        lines.append(f"| {label[0]}, {label[1]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def with_tables(text: str, tables: str) -> str:
    """A page with other tables between its marks."""
    start, end = (text.index(f"<!-- {mark} -->") for mark in ("tables", "end of tables"))
    return f"{text[:start]}<!-- tables -->\n{tables}\n{text[end:]}"


def main() -> None:
    """Fits, writes and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="Write nothing; fail where it would.")
    parser.add_argument("--rows", action="store_true", help="Print every row, and do no more.")
    chosen = parser.parse_args()
    measured, before = rows(), TERMS.read_text()
    if chosen.rows:
        for row, error in errors(measured, before).items():
            name = f"{row.machine.label:26} {row.collective:10} {row.size:>12}"
            print(f"{name} {row.time * 1e6:10.1f} {error:+7.1%}")
        return
    if gone():
        rows_of = " and ".join(f"{count} rows of {group}" for group, count in gone().items())
        sys.exit(
            f"{rows_of}, which the terms were fitted to, are gone, so that nothing is fitted or "
            f"written: give {ROWS.relative_to(ROOT)} rows with a source that can be followed in "
            f"their place, and remove `gone` from {MACHINES.relative_to(ROOT)}"
        )
    terms = before if chosen.check else fitted(fitted_to(measured), before)
    off, of_left_out = errors(measured, terms), left_out(measured, terms)
    written = with_tables(PAGE.read_text(), page(measured, terms, off, of_left_out))
    data = bars(off, of_left_out)
    if chosen.check:
        for path, made in ((PAGE, written), (ERRORS, data)):
            if made != path.read_text():
                sys.exit(f"{path.relative_to(ROOT)} is not what the terms give; run make calibrate")
        return
    TERMS.write_text(terms)
    PAGE.write_text(written)
    ERRORS.write_text(data)
    print(written[written.index("<!-- tables -->") :])


if __name__ == "__main__":
    main()
