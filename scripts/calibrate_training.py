"""Fits the terms of training to the calibrated half of the MGPU-TSM dissertation's rows.

Writes them into `crates/linkwright-training/src/training/terms.toml`, what the text leaves open
into `python/linkwright/studies/training/constants.toml`, and prints the errors of both halves. The
extension is to be built anew afterwards, which has the terms compiled in.

First what kernels reach and the host costs, by the calibrated rows on one GPU: their computing
time (Table 2.4) and run time. Then what an iteration costs with several GPUs, by all calibrated
rows. Both by least squares of the logarithms of predicted over published times, outliers damped.
"""

from __future__ import annotations

import math
import tomllib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, median

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from linkwright.training import TrainingStep
from linkwright.studies.training.constants import Constants
from linkwright.studies.training.halves import is_calibrated
from linkwright.studies.training.predicted import FIRST, SECOND, Predicted, play, predict, steps_of
from linkwright.studies.training.published import Epoch, epochs
from linkwright.studies.training.published import rows as published_rows
from linkwright.studies.training.terms import changed, values
from linkwright.studies.training.workloads import WORKLOADS, gpus_of, loaded, machine

ROOT = Path(__file__).resolve().parents[1]
TERMS = ROOT / "crates" / "linkwright-training" / "src" / "training" / "terms.toml"
CONSTANTS = ROOT / "python" / "linkwright" / "studies" / "training" / "constants.toml"
KERNELS = "kernels.mxnet"
HOST = f"framework.{FIRST}"
DECODE = "decode"

Term = tuple[str, str, float, float, float]

# What is fitted on rows of one GPU: section, key, its start, and from where to where it may be.
ALONE: tuple[Term, ...] = (
    (KERNELS, "least", 8.0, 0.5, 50.0),
    (KERNELS, "plain", 0.8, 0.3, 1.0),
    (KERNELS, "memory", 0.3, 0.1, 0.9),
    (KERNELS, "plain_start", 200.0, 1.0, 3000.0),
    (KERNELS, "cell", 6.0, 0.1, 50.0),
    (HOST, "launch", 20.0, 1.0, 100.0),
    (HOST, "iteration", 300.0, 10.0, 5000.0),
    (DECODE, DECODE, 25.0, 1.0, 100.0),
)
# What is fitted on all rows then: an iteration's part for each GPU needs several.
TOGETHER: tuple[Term, ...] = (
    (HOST, "iteration", 200.0, 10.0, 5000.0),
    (HOST, "gpu", 100.0, 1.0, 2000.0),
    (HOST, "copy", 100.0, 0.5, 500.0),
)
DAMPED = 0.2
# Of what is written.
DIGITS = 3


def main() -> None:
    """Fits, writes and prints."""
    text = TERMS.read_text(encoding="utf-8")
    with CONSTANTS.open("rb") as file:
        table = tomllib.load(file)
    nccl = mean(row["overhead"] for row in published_rows("table_2_8")[::2]) / 100
    constants = Constants(table["synthetic"], table["batches"], table["decode"] * 1e-6, nccl)
    text = changed(text, {HOST: {"gpu": 0.0}})
    text, constants = fit_alone(text, constants)
    text = fit_together(text, constants)
    # Its next release is measured on a like host, and none of its times is published.
    host = values(text, HOST)
    later = {key: host[key] for key in ("launch", "iteration", "gpu", "copy")}
    others = [it for it in tomllib.loads(text)["fitted"] if it not in names()]
    text = changed(text, {"": {"fitted": [*names(), *others]}, f"framework.{SECOND}": later})
    TERMS.write_text(text, encoding="utf-8")
    written = {name: round(count) for name, count in constants.batches.items()}
    now = CONSTANTS.read_text(encoding="utf-8")
    alone = {"decode": round(constants.decode * 1e6, 1), "nccl": round(nccl, 3)}
    now = changed(now, {"": alone, "batches": written})
    CONSTANTS.write_text(now, encoding="utf-8")
    constants = replace(constants, batches=written)
    tell(text, constants)


def names() -> list[str]:
    """What was fitted, as the terms name it."""
    fitted = (f"{section}.{key}" for section, key, *_ in (*ALONE, *TOGETHER) if section != DECODE)
    return list(dict.fromkeys(fitted))


def fit_alone(text: str, constants: Constants) -> tuple[str, Constants]:
    """What kernels reach and the host costs, and what the text leaves open."""
    rows = [row for row in epochs() if row.gpus == 1 and is_calibrated(row)]
    copied = {row: host_copies(row, text) for row in rows}

    def predictions(x: NDArray[np.float64]) -> tuple[list[float], list[Epoch], Constants, str]:
        now = changed(text, of(ALONE[:-1], x))
        quiet = changed(now, {HOST: {"launch": 0.0}})
        host = values(now, HOST)
        fixed = (host["iteration"] + host["gpu"]) * 1e-6
        times = {}
        for row in rows:
            time = fixed + copied[row] + seconds(row, now)
            if WORKLOADS[row.dataset, row.network].is_decoded:
                time += x[-1] * 1e-6 * row.batch
            times[row] = time
        # The number of batches of Table 2.5 is what brings its rows nearest in the mean.
        batches = counts(times)
        found = replace(constants, batches=batches, decode=x[-1] * 1e-6)
        ratios = []
        for row, time in times.items():
            steps = steps_of(row, found)
            ratios.append(steps * time / row.run)
            if row.computing is not None:
                ratios.append(steps * seconds(row, quiet) / row.computing)
        return ratios, rows, found, now

    x = fit(ALONE, lambda x: predictions(x)[0])
    _, _, found, now = predictions(x)
    return changed(now, of(ALONE[:-1], x, DIGITS)), found


def fit_together(text: str, constants: Constants) -> str:
    """What the host costs with any number of GPUs."""
    rows = [row for row in epochs() if is_calibrated(row)]

    def terms(x: NDArray[np.float64]) -> str:
        return changed(text, of(TOGETHER, x))

    def ratios(x: NDArray[np.float64]) -> list[float]:
        now = terms(x)
        found = [predict(row, now, constants) for row in rows]
        play.cache_clear()
        return [each.run / row.run for each, row in zip(found, rows, strict=True)]

    return changed(text, of(TOGETHER, fit(TOGETHER, ratios, step=0.05), DIGITS))


def fit(
    terms: Sequence[Term],
    ratios: Callable[[NDArray[np.float64]], Sequence[float]],
    step: float = 0.01,
) -> NDArray[np.float64]:
    """The values that bring ratios of predicted to published nearest to one."""
    start, low, high = np.log([term[2:] for term in terms]).T
    found = least_squares(
        lambda x: np.log(ratios(np.exp(x))),
        start,
        bounds=(low, high),
        loss="soft_l1",
        f_scale=DAMPED,
        diff_step=step,
        max_nfev=60,
    )
    return np.exp(found.x)


def of(
    terms: Sequence[Term], x: NDArray[np.float64], digits: int = 9
) -> dict[str, dict[str, object]]:
    """Values as the terms' text takes them."""
    new: dict[str, dict[str, object]] = defaultdict(dict)
    for (section, key, *_), value in zip(terms, x, strict=False):
        new[section][key] = float(f"{value:.{digits}g}")
    return dict(new)


def seconds(row: Epoch, text: str) -> float:
    """Kernels of a step on one GPU."""
    gpus = gpus_of(row.system, 1)
    network = loaded(row.dataset, row.network)
    step = TrainingStep(
        network, machine(row.system), gpus, batch=row.batch, way="p2p", framework=FIRST, terms=text
    )
    [model] = step.models
    return sum(step.computing(model))


def host_copies(row: Epoch, text: str) -> float:
    """Seconds of a step's copies from the host on one GPU."""
    what = (row.dataset, row.network), row.batch, row.system, 1, "p2p", FIRST
    return sum(copy["end"] - copy["start"] for copy in play(*what, text).run.copies())


def counts(times: Mapping[Epoch, float]) -> dict[str, float]:
    """Batches of Table 2.5 by network, from seconds of a step."""
    logs = defaultdict(list)
    for row, time in times.items():
        if row.table == "2.5" and WORKLOADS[row.dataset, row.network].samples is None:
            logs[row.network].append(math.log(row.run / time))
    return {network: math.exp(sum(each) / len(each)) for network, each in logs.items()}


def tell(text: str, constants: Constants) -> None:
    """Prints the errors of both halves."""
    found = {row: predict(row, text, constants) for row in epochs()}
    for section in (KERNELS, HOST):
        print(section, values(text, section))
    print(constants)
    for name in ("run", "computing", "communication", "peer_copies"):
        for calibrated in (True, False):
            errors = errors_of(found, name, calibrated)
            which = "calibrated" if calibrated else "held back"
            print(f"{name:14} {which:11} median {median(errors):6.1%} of {len(errors)}")
    for row, each in found.items():
        print(
            row.table, row.dataset, row.network, row.batch, row.system, row.gpus,
            "calibrated" if is_calibrated(row) else "held back",
            *(
                f"{name} {getattr(row, name):.4g} {getattr(each, name):.4g} "
                f"({getattr(each, name) / getattr(row, name):.2f})"
                for name in ("run", "computing", "communication", "peer_copies")
                if getattr(row, name) is not None
            ),
        )  # fmt: skip


def errors_of(found: Mapping[Epoch, Predicted], name: str, calibrated: bool) -> list[float]:
    """By how much one half's predictions are off."""
    return [
        abs(getattr(each, name) / getattr(row, name) - 1)
        for row, each in found.items()
        if getattr(row, name) is not None and is_calibrated(row) == calibrated
    ]


if __name__ == "__main__":
    main()
