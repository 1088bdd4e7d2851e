"""Fits what fast convolutions reach, to four networks on one P100.

Writes `kernels.current.fast` of `crates/linkwright-training/src/training/terms.toml`; the extension
is to be built anew afterwards, which has the terms compiled in. One term is the part of the peak
that products of transformed numbers reach, which is no more than cuBLAS's products do. The other is
the part of the memory's bandwidth that transforms reach. Both are those with the least squares of
the logarithms of predicted over published times of `validation/training-benchmarks.csv`.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from linkwright import System
from linkwright.training import NeuralNetwork
from linkwright.recipes import Recipe
from linkwright.runs.training.play import play_step
from linkwright.studies.blink.published import Benchmark, benchmarks
from linkwright.studies.training.terms import changed

ROOT = Path(__file__).resolve().parents[1]
TERMS = ROOT / "crates" / "linkwright-training" / "src" / "training" / "terms.toml"
SECTION = "kernels.current.fast"
# From where to where a term may be, and its start: products of matrices by cuBLAS reach 0.9.
PRODUCT = (0.5, 0.8, 0.9)
TRANSFORM = (0.2, 0.7, 1.0)


def main() -> None:
    """Fits, writes and prints."""
    text = TERMS.read_text(encoding="utf-8")

    def terms(x: NDArray[np.float64]) -> str:
        product, transform = (float(f"{value:.2g}") for value in np.exp(x))
        return changed(text, {SECTION: {"product": product, "transform": transform}})

    def errors(x: NDArray[np.float64]) -> list[float]:
        product, transform = np.exp(x)
        now = changed(text, {SECTION: {"product": product, "transform": transform}})
        return [math.log(rate(row, now) / row.rate) for row in benchmarks()]

    low, start, high = np.log([PRODUCT, TRANSFORM]).T
    found = least_squares(errors, start, bounds=(low, high), diff_step=0.02, max_nfev=40)
    text = terms(found.x)
    TERMS.write_text(text, encoding="utf-8")
    for row in benchmarks():
        ours = rate(row, text)
        print(f"{row.network:20} {row.rate:6.0f} {ours:6.0f} {ours / row.rate:.2f}")


def rate(row: Benchmark, text: str) -> float:
    """Gives pictures a second by the model."""
    network = NeuralNetwork.find(row.network)
    # Pictures are synthetic, and lie in the GPU's memory.
    recipe = Recipe(network, row.samples, host_copies=False, terms=text)
    return play_step(recipe, System(row.machine), [0]).rate


if __name__ == "__main__":
    main()
