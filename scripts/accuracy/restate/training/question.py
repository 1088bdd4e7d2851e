"""Writes a published step as what `linkwright train` is asked, with what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# Precisions as their publishers name them.
PRECISIONS = {"fp8cs": "fp8", "fp8mx": "mxfp8"}
# Where the models stand that have no name.
MODELS = "validation/accuracy/models"

# Reasons for which a row is no question.
OFFLOADS = "moves activations to the host"
MAMBA = "has Mamba-2 layers, which are not built"
FIT_BY = "is fit by"
NO_LAYOUT = "states no layout"
NO_PRECISION = "states no precision"
NO_RECOMPUTATION = "states no recomputation"


@dataclass(frozen=True)
class Question:
    """Holds a published step, as a row of our table.

    `asked` follows `linkwright train`. `unasked` says why nobody can ask it, and `left_out` why it
    counts in no score. A recipe has no `seconds`: nobody measured it.
    """

    source: str
    release: str
    system: str
    gpus: int
    model: str
    kind: str
    stage: str
    precision: str
    page: str
    asked: str = ""
    seconds: float | None = None
    other_seconds: float | None = None
    reserved: float | None = None
    unasked: str = ""
    left_out: str = ""

    def line(self, name: str, fitted: str) -> dict[str, str]:
        """Gives the row of the table; `fitted` is what it set of the model."""
        return {
            "job": name,
            "source": self.source,
            "release": self.release,
            "system": self.system,
            "gpus": str(self.gpus),
            "model": self.model,
            "kind": self.kind,
            "stage": self.stage,
            "precision": self.precision,
            "asked": self.asked,
            "seconds": number(self.seconds),
            "other_seconds": number(self.other_seconds),
            "reserved_gib": number(self.reserved),
            "unasked": self.unasked,
            "left_out": self.left_out,
            "fitted": fitted,
            "page": self.page,
        }


def number(value: float | None) -> str:
    """Writes a measured figure; nothing where there is none."""
    return "" if value is None else f"{value:.6g}"


# The keywords of `linkwright train --set`; the others are options.
SETTINGS = {
    "async_tensor",
    "capacity_factor",
    "context",
    "fp8_activations",
    "fp8_weights",
    "gpu_bandwidth",
    "gpu_memory",
    "gpu_power",
    "kernels",
    "lora",
    "lora_target",
    "order",
    "prefetch",
    "sequence_parallel",
}


def asked(model: str, machine: str, layout: str, **options: Any) -> str:
    """Writes what follows `linkwright train`, without options that are not chosen."""
    words = [model, "--machine", machine, "--layout", layout]
    for name, value in options.items():
        if value is None or value is False:
            continue
        if name in SETTINGS:
            words += ["--set", f"{name}={'true' if value is True else value}"]
        else:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return " ".join(words)


def divided(gpus: int, **parts: str | int) -> str:
    """Writes a layout whose other GPUs are replicas, without parts of one."""
    own = {name: int(count) for name, count in parts.items() if str(count).isdigit()}
    others = own.get("tp", 1) * own.get("pp", 1) * own.get("cp", 1)
    layout = {"dp": gpus // others} | {name: count for name, count in own.items() if count > 1}
    return ",".join(f"{name}={count}" for name, count in layout.items())
