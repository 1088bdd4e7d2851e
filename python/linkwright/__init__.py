"""Tells how a multi-GPU system behaves: which GPUs a job gets, how data moves, what a day takes.

The names here begin most work. The rest stands by subject:

    linkwright.allocation   policies, patterns, and who holds which GPU
    linkwright.collectives  plans, their times, NCCL, and logs
    linkwright.gpu          kernels inside GPUs, and heat
    linkwright.network      systems, programs and traces
    linkwright.scenario     days of jobs, comparisons and sweeps
    linkwright.training     steps of networks and language models
    linkwright.plots        charts of all of them
    linkwright.contracts    your own policy, NIC order or routing
    linkwright.errors       what is raised
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from linkwright._core import Allocator, GpuSystem, Pattern, System, __version__, expect, plan
from linkwright.docstrings import keep_docstrings
from linkwright.errors import LinkwrightError
from linkwright.extras import name_missing
from linkwright.lazily import lazily

if TYPE_CHECKING:
    from linkwright.doctor import diagnose
    from linkwright.model_training import train_model
    from linkwright.network_training import train
    from linkwright.runs.comparison import compare
    from linkwright.runs.play import play

__all__ = [
    "Allocator",
    "GpuSystem",
    "LinkwrightError",
    "Pattern",
    "System",
    "__version__",
    "compare",
    "diagnose",
    "expect",
    "plan",
    "play",
    "train",
    "train_model",
]

_SUBJECTS = (
    "allocation",
    "collectives",
    "contracts",
    "errors",
    "gpu",
    "network",
    "plots",
    "scenario",
    "training",
)

name_missing()
keep_docstrings()

_find, _listed = lazily(
    __name__,
    [*__all__, *_SUBJECTS],
    {
        "linkwright.doctor": ["diagnose"],
        "linkwright.model_training": ["train_model"],
        "linkwright.network_training": ["train"],
        "linkwright.runs.comparison": ["compare"],
        "linkwright.runs.play": ["play"],
    },
)


def __getattr__(name: str) -> Any:
    if name in _SUBJECTS:
        return import_module(f"{__name__}.{name}")
    try:
        return _find(name)
    except AttributeError as error:
        if name.startswith("_"):
            raise
        from linkwright.moved import whereabouts

        raise AttributeError(f"{error}{whereabouts(name, _SUBJECTS)}", name=name) from None


def __dir__() -> list[str]:
    return _listed()
