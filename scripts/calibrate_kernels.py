"""Fits what the kernels of today's libraries reach, to measurements of one H100.

Writes `kernels.current` of `crates/linkwright-training/src/training/terms.toml`; the extension is
to be built anew afterwards, which has the terms compiled in. First single kernels
(`validation/training-kernels.csv`): what products, reading and writing reach of their peaks. Then
the layers of some networks (`validation/training-layers.csv`), a family, a pass and a width of
numbers at a time: the starts of how many kernels it takes, and how many times the bound of its
work. All by least squares of the logarithms of predicted over measured times, outliers damped; a
layer counts by the root of its time.
"""

from __future__ import annotations

import csv
import math
import statistics
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.optimize import least_squares

from accuracy.networks import product_network
from linkwright import System
from linkwright.gpu import GpuModel
from linkwright.training import NeuralNetwork, TrainingStep
from linkwright.studies.training.terms import changed

ROOT = Path(__file__).resolve().parents[1]
TERMS = ROOT / "crates" / "linkwright-training" / "src" / "training" / "terms.toml"
VALIDATION = ROOT / "validation"
KERNELS = "kernels.current"
FRAMEWORK = "framework.pytorch"
SERVER = "hgx-h100"
GPU = "h100-sxm5-80gb"
FAMILIES: Mapping[str, Sequence[str]] = {
    "convolution": ("convolution",),
    "fully-connected": ("fully-connected",),
    "attention": ("attention",),
    "recurrent": ("lstm",),
    "batch-norm": ("batch-norm",),
    "token-norm": ("layer-norm", "rms-norm"),
    "local-response-norm": ("local-response-norm",),
    "pooling": ("max-pooling", "average-pooling", "global-average-pooling"),
    "elementwise": ("relu", "tanh", "gelu", "dropout", "position-embedding"),
    "join": ("add", "concat"),
    "embedding": ("embedding",),
    "softmax": ("softmax",),
}
PASSES = ("forward", "backward")
WIDTHS = {"short": ("bf16",), "long": ("tf32", "fp32")}
# Blocks of the libraries, each way, and terms of a sum before it is divided.
TILES = (64, 128, 256)
DEPTHS = (256, 512, 1024)
DAMPED = 0.3
# Microseconds of what is too short to be told from the gaps between kernels.
SHORTEST = 0.5


@dataclass(frozen=True)
class Timed:
    """A pass through a layer, in microseconds: what was measured, and the model's parts."""

    family: str
    width: str
    which: str
    measured: float
    # By its arithmetic and its memory.
    bound: float
    # Kernels of the model.
    kernels: float
    # By the cast of its weights.
    cast: float
    is_aligned: bool


def main() -> None:
    """Fits, writes and prints."""
    text = TERMS.read_text(encoding="utf-8")
    text = fit_kernels(text)
    text = fit_layers(text)
    TERMS.write_text(text, encoding="utf-8")


def table(name: str) -> Iterator[dict[str, str]]:
    """The rows of a file of measurements."""
    with (VALIDATION / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))


@cache
def server() -> System:
    """What the GPU stands in."""
    return System(SERVER)


def bare(text: str) -> str:
    """Terms of which nothing but bounds remains: no starts, no launches, no family, no casts."""
    new: dict[str, dict[str, object]] = {KERNELS: {"least": 0.0, "unaligned": widths(1.0, 1.0)}}
    new[FRAMEWORK] = {"launch": 0.0, "casts_weights": "false"}
    for family in FAMILIES:
        new[f"{KERNELS}.layers.{family}"] = dict.fromkeys(WIDTHS, passes((1.0, 1.0), (1.0, 1.0)))
    return changed(text, new)


def widths(short: float, long: float) -> str:
    """A value for each width of numbers, as TOML."""
    return f"{{ short = {short:.3g}, long = {long:.3g} }}"


def passes(kernels: tuple[float, float], times: tuple[float, float]) -> str:
    """What the passes of a family take, as TOML."""
    of = [f"[{first:.3g}, {second:.3g}]" for first, second in (kernels, times)]
    return f"{{ kernels = {of[0]}, times = {of[1]} }}"


def fit_kernels(text: str) -> str:
    """What single kernels reach."""
    rows = list(table("training-kernels.csv"))
    copies = [row for row in rows if row["kind"] != "product"]
    time = {(row["kind"], int(row["rows"])): float(row["microseconds"]) for row in copies}
    least = statistics.median(time for (_, count), time in time.items() if count <= 1 << 14)
    most = max(count for _, count in time)
    peak = GpuModel.find(GPU).memory_bandwidth * 1e9
    reads = {"copy": 2, "add": 2}
    reached = [reads[kind] * 4 * most / (time[kind, most] - least) * 1e6 for kind in reads]
    text = changed(
        text,
        {KERNELS: {"least": round(least, 2), "memory": round(statistics.mean(reached) / peak, 3)}},
    )
    for cores, precisions in (("plain", ("fp32",)), ("matrix", ("bf16", "tf32"))):
        chosen = [row for row in rows if row["precision"] in precisions]
        text = fit_products([row for row in chosen if row["kind"] == "product"], text, cores, least)
    return text


def fit_products(rows: Sequence[Mapping[str, str]], text: str, cores: str, least: float) -> str:
    """The share of the peak that products reach, and how a block takes it."""
    measured = np.array([float(row["microseconds"]) for row in rows])

    def predicted(now: str) -> NDArray[np.float64]:
        return least + np.array([product(row, now) for row in rows])

    best: tuple[float, str] | None = None
    for tile in TILES:
        for depth in DEPTHS if cores == "matrix" else (None,):

            def terms(x: NDArray[np.float64], tile: int = tile, depth: int | None = depth) -> str:
                share, start = min(float(x[0]), 1.0), float(x[1])
                new: dict[str, object] = {f"{cores}_tile": tile, cores: round(share, 3)}
                new[f"{cores}_start"] = round(start, 1)
                if depth is not None:
                    new["depth"] = depth
                return changed(bare(text), {KERNELS: new})

            found = least_squares(
                lambda x: np.log(predicted(terms(np.exp(x))) / measured),
                np.log([0.7, 128.0]),
                bounds=(np.log([0.2, 4.0]), np.log([1.0, 2048.0])),
                loss="soft_l1",
                f_scale=DAMPED,
                diff_step=0.02,
                max_nfev=20,
            )
            chosen = terms(np.exp(found.x))
            error = float(np.median(np.abs(np.log(predicted(chosen) / measured))))
            print(f"{cores} tile {tile} depth {depth}: {np.exp(found.x)} median {error:.3f}")
            if best is None or found.cost < best[0]:
                keys = ("depth", f"{cores}_tile", cores, f"{cores}_start")
                best = found.cost, changed(text, {KERNELS: taken(chosen, keys)})
    assert best is not None
    return best[1]


def taken(text: str, keys: Sequence[str]) -> dict[str, object]:
    """Values of the kernels' section."""
    section = tomllib.loads(text)["kernels"]["current"]
    return {key: section[key] for key in keys}


def product(row: Mapping[str, str], text: str) -> float:
    """Microseconds of one product, without its start."""
    step = TrainingStep(
        product_network(int(row["rows"]), int(row["columns"]), int(row["depth"])),
        server(),
        [0],
        batch=1,
        precision=row["precision"],
        terms=text,
    )
    [model] = step.models
    return float(pa.table(step.layers(model))["forward"][0].as_py()) * 1e6


def fit_layers(text: str) -> str:
    """What layers of each family take."""
    all_timed = timed(text)
    least = float(taken(text, ["least"])["least"])  # type: ignore[arg-type]
    unaligned = {}
    fitted: dict[tuple[str, str, str], tuple[float, float]] = {}
    for width in WIDTHS:
        rows = [each for each in all_timed if each.width == width]
        for family in FAMILIES:
            for which in PASSES:
                of = [it for it in rows if it.family == family and it.which == which]
                found = fit_pass([it for it in of if it.is_aligned] or of, least)
                fitted[width, family, which] = found
        # Alone, what is left of the times of products whose rows are not aligned.
        logs, weights = [], []
        for it in rows:
            if it.is_aligned:
                continue
            kernels, times = fitted[width, it.family, it.which]
            rest = it.measured - kernels * least * it.kernels - it.cast
            if rest > 0.5 * it.measured:
                logs.append(math.log(rest / (times * it.bound)))
                weights.append(math.sqrt(it.measured))
        unaligned[width] = math.exp(float(np.average(logs, weights=weights)))
    new: dict[str, dict[str, object]] = {
        KERNELS: {"unaligned": widths(unaligned["short"], unaligned["long"])}
    }
    for family in FAMILIES:
        section = {}
        for width in WIDTHS:
            [forward, backward] = [fitted[width, family, which] for which in PASSES]
            section[width] = passes((forward[0], backward[0]), (forward[1], backward[1]))
        new[f"{KERNELS}.layers.{family}"] = section
    tell(all_timed, fitted, unaligned, least)
    return changed(text, new)


def fit_pass(rows: Sequence[Timed], least: float) -> tuple[float, float]:
    """Kernels and times of a pass; 1 and 1 where nothing was measured."""
    if not rows:
        return 1.0, 1.0
    measured, bound, kernels, cast = (
        np.array([getattr(row, name) for row in rows])
        for name in ("measured", "bound", "kernels", "cast")
    )
    weights = np.sqrt(measured) / np.mean(np.sqrt(measured))

    def off(x: NDArray[np.float64]) -> NDArray[np.float64]:
        predicted = np.exp(x[0]) * least * kernels + np.exp(x[1]) * bound + cast
        return np.asarray(np.log(predicted / measured) * weights)

    found = least_squares(
        off,
        [0.0, 0.0],
        bounds=(np.log([0.05, 0.01]), np.log([200.0, 200.0])),
        loss="soft_l1",
        f_scale=DAMPED,
    )
    return float(np.exp(found.x[0])), float(np.exp(found.x[1]))


def timed(text: str) -> list[Timed]:
    """All passes that were measured."""
    groups: dict[tuple[str, int, str], dict[str, tuple[float, float]]] = defaultdict(dict)
    for row in table("training-layers.csv"):
        run = row["network"], int(row["samples"]), row["precision"]
        groups[run][row["layer"]] = float(row["forward"]), float(row["backward"])
    found = []
    for run, layers in groups.items():
        found.extend(timed_run(run, layers, text))
    return found


def timed_run(
    run: tuple[str, int, str], layers: Mapping[str, tuple[float, float]], text: str
) -> Iterator[Timed]:
    """Those of one run."""
    name, samples, precision = run
    network = NeuralNetwork.find(name)
    bounds = layer_times(network, samples, precision, bare(text))
    starts = layer_times(
        network, samples, precision, changed(bare(text), {KERNELS: {"least": 1.0}})
    )
    casts = layer_times(
        network, samples, precision, changed(bare(text), {FRAMEWORK: {"casts_weights": "true"}})
    )
    uneven = layer_times(
        network, samples, precision, changed(bare(text), {KERNELS: {"unaligned": widths(9.0, 9.0)}})
    )
    family_of = {kind: family for family, kinds in FAMILIES.items() for kind in kinds}
    # Where several layers read an output, its gradients are summed up: sums of layers have that.
    sums = layers.get("(sums of gradients)")
    joins = sum(it["backward"] for it in bounds if family_of.get(it["kind"]) == "join")
    width = next(width for width, precisions in WIDTHS.items() if precision in precisions)
    for at, layer in enumerate(bounds):
        family = family_of.get(layer["kind"])
        name = "(loss)" if family == "softmax" else layer["name"]
        if family is None or name not in layers:
            continue
        for index, which in enumerate(PASSES):
            measured = layers[name][index]
            if family == "join" and which == "backward":
                if sums is None:
                    continue
                measured += sums[1] * layer[which] / joins
            if family == "softmax" and measured < SHORTEST:
                continue
            yield Timed(
                family=family,
                width=width,
                which=which,
                measured=max(measured, SHORTEST),
                bound=layer[which],
                kernels=starts[at][which] - layer[which],
                cast=casts[at][which] - layer[which],
                is_aligned=uneven[at][which] <= layer[which],
            )


def layer_times(
    network: NeuralNetwork, samples: int, precision: str, text: str
) -> list[dict[str, float]]:
    """Microseconds of every layer by the model."""
    step = TrainingStep(network, server(), [0], batch=samples, precision=precision, terms=text)
    [model] = step.models
    rows: list[dict[str, float]] = pa.table(step.layers(model)).to_pylist()
    return [row | {which: row[which] * 1e6 for which in PASSES} for row in rows]


def tell(
    rows: Sequence[Timed],
    fitted: Mapping[tuple[str, str, str], tuple[float, float]],
    unaligned: Mapping[str, float],
    least: float,
) -> None:
    """Prints what was fitted, and by how much it is off."""
    print("unaligned", dict(unaligned))
    groups: dict[tuple[str, str, str], list[Timed]] = defaultdict(list)
    for row in rows:
        groups[row.width, row.family, row.which].append(row)
    for key, of in sorted(groups.items()):
        kernels, times = fitted[key]
        predicted = [
            kernels * least * it.kernels
            + times * it.bound * (1.0 if it.is_aligned else unaligned[it.width])
            + it.cast
            for it in of
        ]
        whole = sum(predicted) / sum(it.measured for it in of)
        logs = [abs(math.log(mine / it.measured)) for mine, it in zip(predicted, of, strict=True)]
        print(
            *key, f"{len(of)} kernels {kernels:.2f} times {times:.2f}",
            f"sum {whole:.2f} median {statistics.median(logs):.2f}",
        )  # fmt: skip


if __name__ == "__main__":
    main()
