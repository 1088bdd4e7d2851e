"""What each row of the tables trains: a network, its input, its samples, its framework."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from linkwright import System
from linkwright.training import NeuralNetwork
from linkwright.studies.training.numbering import preset_gpus

__all__ = ["PRESETS", "WORKLOADS", "Workload", "gpus_of", "loaded", "machine"]

# The presets of the text's systems.
PRESETS = {
    "kepler": "kepler-pair",
    "titan": "titan-z",
    "dgx1-p100": "dgx1-p100",
    "dgx1-v100": "dgx1-v100",
}


@dataclass(frozen=True)
class Workload:
    """A network on a dataset.

    Attributes:
        network: Its name.
        size: Points of a picture each way; None for the network's own.
        channels: Of a picture.
        samples: Of an epoch; None where the text does not say.
        is_decoded: Whether the host decodes pictures from a file of records.
    """

    network: str
    size: int | None = None
    channels: int = 3
    samples: int | None = None
    is_decoded: bool = False

    def load(self) -> NeuralNetwork:
        """The network on samples of this shape."""
        network = NeuralNetwork.find(self.network)
        if self.size is None:
            return network
        return network.with_input(size=self.size, channels=self.channels)


# By dataset and network, as the text calls them. MXNet's examples for CIFAR-10 take 28 x 28 of
# 32 x 32 points, and 110 layers of ResNet; for ImageNet they take 50 (train_cifar10.py,
# train_imagenet.py).
WORKLOADS = {
    ("MNIST", "MLP"): Workload("mlp:ten-classes", samples=60_000),
    ("MNIST", "LeNet"): Workload("lenet:mxnet", samples=60_000),
    ("CIFAR-10", "MLP"): Workload("mlp:ten-classes", 28, 3, 50_000, is_decoded=True),
    ("CIFAR-10", "LeNet"): Workload("lenet:mxnet", 28, 3, 50_000, is_decoded=True),
    ("CIFAR-10", "ResNet"): Workload("resnet-110:cifar", 28, 3, 50_000, is_decoded=True),
    ("Penn Treebank", "LSTM"): Workload("lstm", samples=42_068),
    ("ImageNet", "LeNet"): Workload("lenet:mxnet-imagenet", 224),
    ("ImageNet", "AlexNet"): Workload("alexnet:mxnet", 224),
    ("ImageNet", "GoogLeNet"): Workload("googlenet:plain", 224),
    ("ImageNet", "ResNet"): Workload("resnet-50:paper", 224),
    ("ImageNet-299", "Inception-v3"): Workload("inception-v3", 299),
}


@cache
def loaded(dataset: str, network: str) -> NeuralNetwork:
    """The network of a row."""
    return WORKLOADS[dataset, network].load()


@cache
def machine(system: str) -> System:
    """The preset of a system of the text."""
    return System(PRESETS[system])


def gpus_of(system: str, count: int) -> list[int]:
    """The preset's GPUs that are the text's first `count`."""
    every = preset_gpus() if system.startswith("dgx1") else tuple(range(count))
    return list(every[:count])
