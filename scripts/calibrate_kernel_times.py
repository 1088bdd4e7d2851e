"""Fits what kernels alone reach of GPUs, to published measurements of three.

    python scripts/calibrate_kernel_times.py FOLDER [--keep]

The folder holds `kernels/` with tables that people published (`docs/accuracy.md` names them).
They have products, attention and experts on an A100, an H100 and a B200, as an inference engine
runs them.
Writes `kernel_terms.toml` beside the model of kernels; the extension is to be built anew
afterwards, which has the terms compiled in. `--keep` fits nothing and prints what the terms give.

By least squares of the logarithms of predicted over measured times, outliers damped. A fitted term
belongs to a generation and a width of numbers, never to a shape. Two tables follow: errors, and
errors of each GPU by the terms of the others.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.optimize import least_squares

from accuracy.kernels import GENERATIONS, Kernel
from accuracy.restate.kernels import every_kernel
from linkwright.training import kernel_time_terms, kernel_times

ROOT = Path(__file__).resolve().parents[1]
TERMS = ROOT / "crates/linkwright-training/src/training/kernel_time/kernel_terms.toml"
# Terms that are fitted, by the section's name; the others are choices that stand in the file.
FREE = {
    "product": ("share", "loaded", "start", "least", "memory", "cast-row"),
    "experts": ("share", "loaded", "start", "memory", "ordered", "least"),
    "attention": (
        "share",
        "exponentials",
        "start",
        "last",
        "memory",
        "least",
        "narrow",
        "cast",
        "cast-bytes",
    ),
    "decoding": ("memory", "loaded", "start", "part", "merge", "least", "cast"),
}
SECTIONS = {"gemm": "product", "experts": "experts", "attention": "attention", "decode": "decoding"}
DAMPED = 0.05
# Attention that is not by the kernel of most rows.
OTHERS = ("triton_attn", "fa4", "context_attention/vllm_flashinfer_trtllmdecode")

Terms = dict[str, dict[str, object]]


@dataclass(frozen=True)
class Table:
    """Holds the measured rows of one kernel on one GPU, with one kind of numbers."""

    gpu: str
    kernel: str
    precision: str
    shapes: tuple[str, ...]
    seconds: NDArray[np.float64]

    @property
    def section(self) -> tuple[str, ...]:
        """Says where the terms of this table stand."""
        generation = GENERATIONS[self.gpu]
        name = SECTIONS[self.kernel]
        own = (self.precision,) if name in ("product", "experts") else ()
        return (generation, name, *own)

    def predicted(self, text: str) -> NDArray[np.float64]:
        """Gives the seconds by terms."""
        kind: Any = self.kernel
        numbers: Any = self.precision
        times = kernel_times(kind, self.shapes, self.gpu, numbers, text)
        return np.asarray(pa.table(times)["time"], dtype=float)

    def errors(self, text: str) -> NDArray[np.float64]:
        """Gives the logarithms of predicted over measured times."""
        return np.log(self.predicted(text) / self.seconds)


def main() -> None:
    """Fits, writes and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", action="store_true", help="fits nothing")
    wanted = parser.parse_args()
    tables = list(read(wanted.folder))
    terms = tomllib.loads(kernel_time_terms())
    if not wanted.keep:
        for table in tables:
            fit(table, terms)
    text = written(terms)
    TERMS.write_text(text, encoding="utf-8")
    print("| GPU | kernel | numbers | rows | median | 90th | median by others' terms |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: |")
    for table in tables:
        own = np.abs(np.expm1(table.errors(text)))
        others = np.abs(np.expm1(table.errors(without(terms, GENERATIONS[table.gpu]))))
        print(
            f"| {table.gpu} | {table.kernel} | {table.precision} | {len(own)} | "
            f"{np.median(own):.1%} | {np.quantile(own, 0.9):.1%} | {np.median(others):.1%} |"
        )


def read(folder: Path) -> Iterator[Table]:
    """Reads the tables of a folder, each kind of numbers apart."""
    found: dict[tuple[str, str, str], list[Kernel]] = {}
    for row in every_kernel(folder):
        kernel = row.kernel
        if not kernel.unaskable and not is_other(row.engine):
            key = (kernel.gpu, kernel.kind, kernel.numbers)
            found.setdefault(key, []).append(kernel)
    for (gpu, kind, precision), own in found.items():
        shapes = tuple(kernel.shape for kernel in own)
        yield Table(gpu, kind, precision, shapes, np.array([kernel.time for kernel in own]))


def is_other(engine: str) -> bool:
    """Says whether a row is of a kernel that the engine takes where its usual one cannot."""
    return any(name in engine for name in OTHERS)


def at(terms: Terms, section: Sequence[str]) -> dict[str, object]:
    """Gives a section of the terms."""
    found: dict[str, object] = terms
    for name in section:
        found = found.setdefault(name, {})  # type: ignore[assignment]
    return found


def fit(table: Table, terms: Terms) -> None:
    """Puts the terms of a table in their section."""
    section = at(terms, table.section)
    free = [name for name in FREE[table.section[1]] if name in section]
    shares = {"share", "memory", "ordered"}
    bounds = [(1e-3, 1.0) if name in shares else (1e-2, 2e4) for name in free]
    least, most = (np.log([bound[side] for bound in bounds]) for side in (0, 1))
    start = np.log([float(section[name]) or 1.0 for name in free])  # type: ignore[arg-type]

    def with_(values: NDArray[np.float64]) -> str:
        for name, value in zip(free, np.exp(values), strict=True):
            section[name] = min(float(f"{value:.4g}"), 1.0 if name in shares else 2e4)
        return written(terms)

    found = least_squares(
        lambda values: table.errors(with_(values)),
        np.clip(start, least + 1e-6, most - 1e-6),
        bounds=(least, most),
        loss="soft_l1",
        f_scale=DAMPED,
        diff_step=0.02,
        max_nfev=40,
    )
    with_(found.x)
    for name in free:
        section[name] = float(f"{section[name]:.3g}")
    print(f"{' '.join(table.section)}: {section}")


def without(terms: Terms, generation: str) -> str:
    """Writes the terms as if a generation had not been measured."""
    return written({name: own for name, own in terms.items() if name != generation})


HEADER = """\
# What kernels alone reach of a GPU, by how its matrix units are fed. Times are microseconds;
# `reach.rs` says what each term is.
#
# Fitted by scripts/calibrate_kernel_times.py to kernels of an inference engine (vLLM 0.14 on an
# A100, 0.24 on an H100 and a B200; ai-dynamo/aiconfigurator, Apache-2.0). `queries`, `rows` and
# `host` are choices: blocks of FlashAttention 2 and 3 and of trtllm-gen, clusters of CUTLASS's
# products of eight bits, and medians of the rows that nothing but the host bounds.
#
# `energy` is the picojoules of an operation with numbers of 16 bits at the data sheet's clock, a
# multiply-add being two: what leaves the published TFLOP/s of random numbers for long under the
# power of data sheets. Ampere: 258 of an A100 (He, "Strangely, Matrix Multiplications on GPUs Run
# Faster When Given Predictable Data", 2024). Hopper: 720 of an H100 (SemiAnalysis, "MI300X vs H100
# vs H200", 2024). Blackwell: an assumption, 0.9 of Hopper's, whose process is one step before.
# CDNA: as Hopper, in a process as old; its shares are 620 and 990 TFLOP/s of an MI300X
# (SemiAnalysis), attention's is as far below as an A100's, and its other terms are the nearest's.
"""


def written(terms: Terms) -> str:
    """Writes terms as TOML."""
    lines = [HEADER]
    for generation, own in terms.items():
        plain = {name: value for name, value in own.items() if not isinstance(value, dict)}
        lines += [f"[{generation}]", *(f"{name} = {value}" for name, value in plain.items()), ""]
        for path, section in sections((generation,), own):
            lines.append(f"[{'.'.join(path)}]")
            lines += [f"{name} = {toml(value)}" for name, value in section.items()]
            lines.append("")
    return "\n".join(lines)


def sections(
    path: tuple[str, ...], own: Mapping[str, object]
) -> Iterator[tuple[tuple[str, ...], Mapping[str, object]]]:
    """Lists the sections within one, each with its path."""
    for name, value in own.items():
        if isinstance(value, dict) and name != "host":
            if any(not isinstance(it, dict) for it in value.values()):
                yield (*path, name), value
            else:
                yield from sections((*path, name), value)


def toml(value: object) -> str:
    """Writes a value."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {it}" for name, it in value.items()) + " }"
    return str(value)


if __name__ == "__main__":
    main()
