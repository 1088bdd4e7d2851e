"""Fits what NCCL's kernels cost to measurements, and says how far off the clock then is.

The measurements are those of one server: `validation/nccl-tests.csv`, and the rows of threads and
logs in `validation/accuracy/`. The terms are those that `fitted` names in
`crates/linkwright-collectives/src/collectives/schedule/time/terms.toml`; each family of GPUs
weighs as much as any other. Parts of the rows are also left out in turn: the terms are fitted to
the others, and predict the part. The tables go to
`docs/concepts/calibration.md`, and the errors of what was left out are the error bars.

Run it by `make calibrate`; with `--check` nothing is written, and the page must be what it is.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median

from accuracy.collectives import Measured, loaded, logs, one_process
from accuracy.collectives import fitted as fitted_runs
from linkwright import expect
from linkwright.collectives import error_likeness
from linkwright.errors import LinkwrightError
from nccl_rows import DECADES, ROOT, Machine, Row, machines, rows_of_tests

TERMS = ROOT / "crates/linkwright-collectives/src/collectives/schedule/time/terms.toml"
PAGE = ROOT / "docs/concepts/calibration.md"
ERRORS = ROOT / "crates/linkwright-collectives/src/collectives/nccl/accuracy/errors.tsv"

# Of whose GPUs the rows of threads and logs are, by a word of their label; `GB200` holds `B200`.
FAMILIES = ("A100", "H100", "GB200", "B200", "L40S", "MI300X")
# Rows of more GPUs than any preset of their kind has.
BEYOND = ("8 L40S",)
# Groups that are not fitted to: AMD's GPUs, and one whose host nobody knows.
UNFITTED = ("MI300X", "L40S")

# These are left out of the fit in turn.
LEFT_OUT: dict[str, Callable[[Row], bool]] = {
    "V100": lambda row: row.machine.group.startswith("V100"),
    "A100": lambda row: row.machine.group == "A100",
    "H100": lambda row: row.machine.group == "H100",
    "B200 and GB200": lambda row: row.machine.group in ("B200", "GB200"),
    "4 GPUs": lambda row: len(row.machine.gpus) == 4,
    "64 MiB and more": lambda row: row.size >= 64 << 20,
    "below 64 KiB": lambda row: row.size < 64 << 10,
    "all-to-all on 8 H100": lambda row: (
        (row.collective, row.machine.label) == ("all-to-all", "8 H100")
    ),
    "broadcast and reduce on 8 A100": lambda row: (
        row.collective in ("broadcast", "reduce") and row.machine.group == "A100"
    ),
}
# A host of its own, with Grace in place of x86: how long its launches take is not fitted to.
APART = "4 GB200, one process, ring only"
# Every so manieth size of a long run is fitted to: neighbours say much the same.
EVERY = 3


def rows() -> list[Row]:
    """Reads the measurements of one server that say a size and a time."""
    runs = [*one_process(), *logs()]
    return [*rows_of_tests(), *(row for run in runs for row in _rows_of(run))]


def _rows_of(run: Measured) -> Iterator[Row]:
    family = next((family for family in FAMILIES if family in run.label), None)
    if family is None or not run.machine or run.servers > 1 or run.label in BEYOND:
        return
    counted = {it.group: it.counted for it in machines().values() if it.counted is not None}
    machine = Machine(
        system=run.name,
        label=run.label,
        group=family,
        machine=run.machine,
        gpus=run.gpus,
        processes=run.processes,
        nccl=run.nccl,
        counted=counted.get(family),
        algorithm=run.algorithm,
        numbers=run.numbers or None,
    )
    for size, time in run.times:
        yield Row(machine, run.collective, size, time * 1e-6)


def predicted(measured: Iterable[Row], terms: str, *, as_counted: bool = False) -> dict[Row, float]:
    """Returns the time of each row by these terms, in seconds.

    Links reach the share that their kind says. Where the machine's own rows set it, these rows may
    be the ones to predict (`as_counted`). Then links reach the share that the library counts on.
    """
    runs: dict[tuple[Machine, str], list[Row]] = {}
    for row in measured:
        runs.setdefault((row.machine, row.collective), []).append(row)
    times: dict[Row, float] = {}
    for (machine, collective), own in runs.items():
        found = expect(
            loaded(machine.machine, 1, None),
            list(machine.gpus),
            collective,
            [row.size for row in own],
            nccl=machine.nccl,
            processes=machine.processes,
            algorithm=machine.algorithm,
            numbers=machine.numbers,
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
    start = text.index(f"[{table}]\n") if table else 0
    line = re.compile(rf"^{key} = (.*)$", re.MULTILINE)
    found = line.search(text, start)
    assert found is not None, name
    shown = f"{value:.4g}"
    if place is not None:
        items = found[1].strip("[]").split(", ")
        items[place] = shown
        shown = f"[{', '.join(items)}]"
    return f"{text[: found.start(1)]}{shown}{text[found.end(1) :]}"


def fitted(
    measured: list[Row], text: str, evaluations: int | None = None
) -> tuple[str, dict[str, float]]:
    """Fits the terms to the measurements, in a number of evaluations if there is one.

    Returns:
        The terms, and the standard error of each fitted one as a part of it.
    """
    # Who only reads the rows does without it.
    from scipy.optimize import least_squares

    names = tomllib.loads(text)["fitted"]
    taken = _thinned(measured)
    groups = [row.machine.group for row in taken]
    weight = {group: 1 / math.sqrt(groups.count(group)) for group in set(groups)}

    def with_all(logarithms: Iterable[float]) -> str:
        made = text
        for name, logarithm in zip(names, logarithms, strict=True):
            made = with_value(made, name, math.exp(logarithm))
        return made

    start = [math.log(value_of(text, name)) for name in names]

    def residuals(logarithms: list[float]) -> list[float]:
        times = predicted(taken, with_all(logarithms))
        off = [math.log(times[row] / row.time) * weight[row.machine.group] for row in taken]
        # A term that nothing is measured of stays where it is.
        kept = zip(logarithms, start, strict=True)
        return off + [(new - old) * 1e-3 for new, old in kept]

    found = least_squares(
        residuals,
        start,
        loss="soft_l1",
        f_scale=0.03,
        diff_step=0.02,
        xtol=1e-3,
        ftol=1e-3,
        max_nfev=evaluations,
    )
    return with_all(found.x), dict(zip(names, _standard_errors(found), strict=True))


def _thinned(measured: list[Row]) -> list[Row]:
    """Leaves out neighbouring sizes of long runs, and numbers of 8 bits, which say the same."""
    seen: dict[tuple[Machine, str], int] = {}
    taken = []
    for row in measured:
        run = (row.machine, row.collective)
        at = seen[run] = seen.get(run, -1) + 1
        is_long = row.machine.processes == "each" and row.machine.group != "V100 PCIe"
        if (not is_long or at % EVERY == 0) and ", int8," not in row.machine.system:
            taken.append(row)
    return taken


def _standard_errors(found: object) -> list[float]:
    """Returns each logarithm's standard error, by the curvature of the sum of squares."""
    import numpy as np

    jacobian, off = found.jac, found.fun  # type: ignore[attr-defined]
    free = max(len(off) - 2 * jacobian.shape[1], 1)
    covariance = np.linalg.pinv(jacobian.T @ jacobian) * float(off @ off) / free
    return [float(value) for value in np.sqrt(np.diag(covariance))]


def errors(measured: list[Row], text: str, *, as_counted: bool = False) -> dict[Row, float]:
    """How far off each row is, as a part of what was measured."""
    times = predicted(measured, text, as_counted=as_counted)
    return {row: times[row] / row.time - 1 for row in measured}


def fitted_to(measured: list[Row], but: str | None = None) -> list[Row]:
    """The rows that are fitted to, without a part of them."""
    known = [
        row for row in measured if row.machine.group not in UNFITTED and row.machine.label != APART
    ]
    return [row for row in known if but is None or not LEFT_OUT[but](row)]


def fits_without(measured: list[Row], text: str) -> dict[str, str]:
    """The terms that are fitted without a part of the rows, by its name."""
    return {part: fitted(fitted_to(measured, but=part), text)[0] for part in LEFT_OUT}


def left_out(
    measured: list[Row], text: str, fits: Mapping[str, str]
) -> dict[str, dict[Row, float]]:
    """The errors of predictions of what is left out of the fit, or never fitted to, by its name."""
    found = {}
    for part, is_of_it in LEFT_OUT.items():
        own = [row for row in measured if row.machine.group not in UNFITTED and is_of_it(row)]
        found[part] = errors(own, fits[part], as_counted=True)
    for group in UNFITTED:
        own = [row for row in measured if row.machine.group == group]
        found[group] = errors(own, text, as_counted=True)
    return found


def decades() -> list[tuple[int, float]]:
    """Where each decade of sizes begins and ends."""
    starts = [least for least, _ in DECADES]
    return list(zip(starts, [*starts[1:], math.inf], strict=True))


# By which left-out fit a system's rows are predicted, by a word of its label; others by all rows.
PREDICTED_WITHOUT = {
    "V100": "V100",
    "A100": "A100",
    "H100": "H100",
    "B200": "B200 and GB200",
}
COLUMNS = [
    "system",
    "gpu",
    "gpus",
    "joined",
    "library",
    "servers",
    "collective",
    "algorithm",
    "from",
    "errors",
]


def all_runs() -> list[Measured]:
    """Lists every run that a machine is known of."""
    return [run for run in (*fitted_runs(), *one_process(), *logs()) if run.machine]


def bars(terms: str, left: Mapping[str, str], runs: Iterable[Measured]) -> str:
    """Writes `errors.tsv`: errors of predictions without the own family of GPUs, in thousandths.

    Args:
        terms: Those of the fit.
        left: Those of the fits without a family, by its name.
        runs: The measurements.
    """
    found: dict[tuple[str, ...], list[str]] = {}
    counted = {it.label: it.counted for it in machines().values()}
    for run in runs:
        family = next((it for word, it in PREDICTED_WITHOUT.items() if word in run.label), None)
        system, gpus = loaded(run.machine, run.servers, run.network), list(run.gpus)
        try:
            told = expect(
                system,
                gpus,
                run.collective,
                [size for size, _ in run.times],
                nccl=run.nccl,
                processes=run.processes,
                algorithm=run.algorithm,
                numbers=run.numbers or None,
                link_bandwidth=counted.get(run.label),
                terms=left.get(family, terms),
            )
        except LinkwrightError:
            continue
        gpu, joined, library = error_likeness(system, gpus)
        like = (run.label, gpu, str(len(gpus)), joined, library, str(run.servers), run.collective)
        for (size, time), row in zip(run.times, told, strict=True):
            least = next(least for least, _ in reversed(DECADES) if size >= least)
            error = abs(row["time"] * 1e6 / time - 1)
            own = found.setdefault((*like, row["algorithm"], str(least)), [])
            own.append(f"{error * 1e3:.0f}")
    lines = ["\t".join(COLUMNS), *("\t".join([*key, " ".join(own)]) for key, own in found.items())]
    return "\n".join(lines) + "\n"


def worst(off: Iterable[float]) -> str:
    """The median, the ninetieth percentile and the largest of errors, as a page shows them."""
    found = sorted(map(abs, off))
    return " | ".join(
        f"{it:.1%}" for it in (median(found), found[math.ceil(0.9 * len(found)) - 1], found[-1])
    )


def page(
    measured: list[Row],
    text: str,
    standard: dict[str, float],
    off: dict[Row, float],
    of_left_out: dict[str, dict[Row, float]],
) -> str:
    """Writes the text of `docs/concepts/calibration.md` between its marks."""
    lines = ["| fitted term | value | standard error |", "| --- | --- | ---: |"]
    lines += [
        f"| `{name}` | {value_of(text, name):.4g} | {error:.1%} |"
        for name, error in standard.items()
    ]
    head = "median error | 90th percentile | largest |"
    lines += ["", f"| group | rows | {head}", "| --- | ---: | ---: | ---: | ---: |"]
    for group in dict.fromkeys(row.machine.group for row in measured):
        own = [off[row] for row in measured if row.machine.group == group]
        lines.append(f"| {group} | {len(own)} | {worst(own)} |")
    fitted_rows = fitted_to(measured)
    lines.append(
        f"| all that is fitted to | {len(fitted_rows)} | {worst(off[row] for row in fitted_rows)} |"
    )
    lines += ["", f"| left out of the fit | rows | {head} fitted to, too |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: |")
    by_median = sorted(of_left_out.items(), key=lambda it: -median(map(abs, it[1].values())))
    for part, found in by_median:
        within = median(abs(off[row]) for row in found)
        shown = "never" if part in UNFITTED else f"{within:.1%}"
        lines.append(f"| {part} | {len(found)} | {worst(found.values())} | {shown} |")
    heads = " | ".join(name for _, name in DECADES)
    lines += ["", f"| system | {heads} |", "| --- |" + " ---: |" * len(DECADES)]
    for label in dict.fromkeys((row.machine.label, row.collective) for row in measured):
        cells = []
        for least, most in decades():
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
    parser.add_argument("--keep", action="store_true", help="Keep the terms; write the rest anew.")
    parser.add_argument("--rows", action="store_true", help="Print every row, and do no more.")
    chosen = parser.parse_args()
    measured, before = rows(), TERMS.read_text()
    if chosen.rows:
        for row, error in errors(measured, before).items():
            name = f"{row.machine.label:26} {row.collective:10} {row.size:>12}"
            print(f"{name} {row.time * 1e6:10.1f} {error:+7.1%}")
        return
    is_kept = chosen.keep or chosen.check
    terms, standard = fitted(fitted_to(measured), before, evaluations=1 if is_kept else None)
    if is_kept:
        terms = before
    fits = fits_without(measured, terms)
    off, of_left_out = errors(measured, terms), left_out(measured, terms, fits)
    tables = page(measured, terms, standard, off, of_left_out)
    written = with_tables(PAGE.read_text(), tables)
    data = bars(terms, fits, all_runs())
    if chosen.check:
        for path, made in ((PAGE, written), (ERRORS, data)):
            _expect_same(path, made)
        return
    TERMS.write_text(terms)
    PAGE.write_text(written)
    ERRORS.write_text(data)
    print(tables)


def _expect_same(path: Path, made: str) -> None:
    if made != path.read_text():
        sys.exit(f"{path.relative_to(ROOT)} is not what the rows give; run make calibrate")


if __name__ == "__main__":
    main()
