"""Tells what a step of training takes, layout by layout and kernel by kernel.

Examples:
    >>> from linkwright.training import Model
    >>> Model.find("llama-3.1-8b").parameters
    8030261248
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwright._core import (
    KernelRatios,
    KernelTrace,
    LayoutSearch,
    LayoutStep,
    Model,
    ModelTraining,
    NeuralNetwork,
    TrainingStep,
    kernel_fields,
    kernel_time_terms,
    kernel_times,
    models,
    neural_networks,
    training_terms,
)
from linkwright.lazily import lazily

if TYPE_CHECKING:
    from linkwright.model_training import train_model
    from linkwright.network_training import train
    from linkwright.runs.models.run import ModelRun
    from linkwright.runs.training.run import TrainingRun

__all__ = [
    "KernelRatios",
    "KernelTrace",
    "LayoutSearch",
    "LayoutStep",
    "Model",
    "ModelRun",
    "ModelTraining",
    "NeuralNetwork",
    "TrainingRun",
    "TrainingStep",
    "kernel_fields",
    "kernel_time_terms",
    "kernel_times",
    "models",
    "neural_networks",
    "train",
    "train_model",
    "training_terms",
]

__getattr__, __dir__ = lazily(
    __name__,
    __all__,
    {
        "linkwright.model_training": ["train_model"],
        "linkwright.network_training": ["train"],
        "linkwright.runs.models.run": ["ModelRun"],
        "linkwright.runs.training.run": ["TrainingRun"],
    },
)
