"""Measures the layers of a network on the GPU at hand, for `linkwright train --measured`.

It needs PyTorch and a GPU. Of Linkwright it needs nothing but the network's layers, as
`NeuralNetwork.to_json` writes them. So it runs where Linkwright is not installed.

    python -c 'import linkwright as l; print(l.NeuralNetwork.find("vgg-16").to_json())' > vgg.json
    python scripts/measure_layers.py vgg.json --samples 64 --precision bf16 --output vgg.csv
    linkwright train vgg-16 --machine hgx-h100 --batch 512 --precision bf16 --measured vgg.csv

A layer's time lies between two events on the GPU. A sleep that goes first keeps the host ahead of
the GPU. So the time holds kernels and the gaps between them, and no waiting for the host. The time
of two events alone is subtracted. A step is timed besides as users run it, without sleep or events
between layers. Where it is longer than its layers, the host limits it.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor

from torch_network import Network

# Layers between two pauses.
LAYERS_AHEAD = 40


class Clock:
    """Events on the GPU, each with the name of what starts there."""

    def __init__(self, pause: float = 0.0) -> None:
        self.marks: list[tuple[str, torch.cuda.Event]] = []
        # The GPU waits for this time, in seconds, before every `LAYERS_AHEAD` layers, lest it
        # overtakes the host. About a thousand launches are taken ahead, and then the host waits.
        self.pause, self.opened = pause, 0

    def mark(self, name: str) -> None:
        """Marks where something starts; under no name is what nobody asks for."""
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self.marks.append((name, event))

    def open(self, name: str) -> None:
        """Marks where a layer starts."""
        self.opened += 1
        if self.pause > 0.0 and self.opened % LAYERS_AHEAD == 0:
            self.mark("")
            ahead(self.pause)
        self.mark(name)

    def taken(self, nothing: float = 0.0) -> dict[str, float]:
        """Microseconds from each mark to the next, by name, less what two marks take alone."""
        torch.cuda.synchronize()
        found: dict[str, float] = {}
        for (name, start), (_, end) in zip(self.marks, self.marks[1:], strict=False):
            if name:
                span = start.elapsed_time(end) * 1000.0 - nothing
                found[name] = found.get(name, 0.0) + span
        self.marks.clear()
        return found


@dataclass
class Setup:
    """How a network is run."""

    samples: int
    precision: str
    optimizer: str = "sgd"
    # Weights in 16 bits, too, where the precision has them; PyTorch's autocast keeps them in 32.
    short_weights: bool = False
    repeats: int = 10


@dataclass
class Measurement:
    """Holds the measurements of a step; times are microseconds, medians of its repeats."""

    network: str
    setup: Setup
    gpu: str = ""
    torch: str = ""
    # Layer: forward, backward.
    layers: dict[str, tuple[float, float]] = field(default_factory=dict)
    loss: float = 0.0
    forward: float = 0.0
    backward: float = 0.0
    update: float = 0.0
    step: float = 0.0
    kernels: int = 0
    busy: float = 0.0
    memory: dict[str, int] = field(default_factory=dict)


class Trainer:
    """One network on one GPU, with what a step needs."""

    def __init__(self, network: Mapping[str, Any], setup: Setup) -> None:
        self.setup = setup
        self.number = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(setup.precision)
        torch.backends.cudnn.benchmark = True
        torch.backends.cudnn.allow_tf32 = setup.precision == "tf32"
        torch.backends.cuda.matmul.allow_tf32 = setup.precision == "tf32"
        torch.manual_seed(1)
        # Weights are made where they are used: large ones take minutes on a host.
        with torch.device("cuda"):
            self.model = Network(network)
        if setup.short_weights and self.number is not None:
            self.model = self.model.to(self.number)
        ((kind, sizes),) = network["input"].items()
        self.is_image = kind == "image"
        if self.is_image:
            self.model = self.model.to(memory_format=torch.channels_last)
        self.x = self.data(kind, sizes)
        self.weights_memory = torch.cuda.memory_allocated()
        with torch.no_grad(), self.cast():
            shape = self.model(self.x).shape
        classes = shape[1] if self.is_image or len(shape) == 2 else shape[-1]
        wanted = (setup.samples, *shape[2:]) if self.is_image else shape[:-1]
        self.target = torch.randint(classes, wanted, device="cuda").flatten()
        weights = [it for it in self.model.parameters() if it.requires_grad]
        self.optimizer: torch.optim.Optimizer
        match setup.optimizer:
            case "adam":
                self.optimizer = torch.optim.AdamW(weights, lr=1e-4, fused=True)
            case "momentum":
                self.optimizer = torch.optim.SGD(weights, lr=1e-3, momentum=0.9, fused=True)
            case _:
                self.optimizer = torch.optim.SGD(weights, lr=1e-3, fused=True)

    def data(self, kind: str, sizes: Mapping[str, int]) -> Tensor:
        """Samples by chance."""
        samples = self.setup.samples
        first = self.model.layers[0]["kind"]
        if isinstance(first, dict) and "embedding" in first:
            most = first["embedding"]["vocabulary"]
            return torch.randint(most, (samples, sizes["tokens"]), device="cuda")
        shape = {
            "image": lambda: (sizes["channels"], sizes["height"], sizes["width"]),
            "tokens": lambda: (sizes["tokens"], sizes["width"]),
            "vector": lambda: (sizes["width"],),
        }[kind]()
        x = torch.randn(samples, *shape, device="cuda")
        if self.setup.short_weights and self.number is not None:
            x = x.to(self.number)
        return x.to(memory_format=torch.channels_last) if kind == "image" else x

    def cast(self) -> contextlib.AbstractContextManager[Any]:
        """Returns the context that casts to the precision, or one that does nothing."""
        if self.number is None or self.setup.short_weights:
            return contextlib.nullcontext()
        return torch.autocast("cuda", dtype=self.number)

    def loss(self, clock: Clock | None = None) -> Tensor:
        """Runs the forward pass."""
        with self.cast():
            output = self.model(self.x, clock)
            if self.is_image:
                return functional.cross_entropy(output.flatten(1), self.target)
            return functional.cross_entropy(output.flatten(0, -2), self.target)

    def step(self) -> None:
        """Runs a step, as users write it."""
        self.loss().backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


def ahead(seconds: float) -> None:
    """Keeps the GPU busy until the host has launched what follows, if that takes it so long."""
    torch.cuda.synchronize()
    # Cycles, of a GPU of at most 2 GHz.
    torch.cuda._sleep(int((2.0 * seconds + 0.002) * 2e9))


def medians(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Of each name, over all runs."""
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def empty_span() -> float:
    """Measures the microseconds between two events with nothing between them."""
    clock = Clock()
    ahead(0.01)
    for _ in range(200):
        clock.mark("nothing")
    return clock.taken()["nothing"] / 199


def launched(trainer: Trainer, clock: Clock | None) -> tuple[float, float]:
    """Seconds that the host takes to launch a forward and a backward pass."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    loss = trainer.loss(clock)
    middle = time.perf_counter()
    torch.cuda.synchronize()
    again = time.perf_counter()
    loss.backward()
    found = middle - start, time.perf_counter() - again
    trainer.optimizer.zero_grad(set_to_none=True)
    return found


def passes(
    trainer: Trainer, within: bool, host: tuple[float, float], nothing: float
) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    """Measures the microseconds of a forward pass, a backward pass and an update.

    The GPU is kept waiting before each. Within passes every layer is marked, or none.
    """
    batches = max(len(trainer.model.layers) / LAYERS_AHEAD, 1.0)
    clock = Clock(pause=max(host) / batches if within else 0.0)
    ahead(host[0])
    clock.mark("forward")
    loss = trainer.loss(clock if within else None)
    clock.mark("")
    forward = clock.taken(nothing)
    ahead(host[1])
    clock.mark("loss")
    loss.backward()
    clock.mark("")
    backward = clock.taken(nothing)
    ahead(0.01)
    clock.mark("update")
    trainer.optimizer.step()
    clock.mark("")
    update = clock.taken(nothing)
    trainer.optimizer.zero_grad(set_to_none=True)
    return forward, backward, update


def by_layer(trainer: Trainer) -> tuple[dict[str, tuple[float, float]], dict[str, float]]:
    """Forward and backward of each layer, and of whole passes without events in them."""
    nothing = empty_span()
    names = dict.fromkeys((it["name"] for it in trainer.model.layers), 0.0)
    marked, plain = launched(trainer, Clock()), launched(trainer, None)
    forwards, backwards, wholes = [], [], []
    for _ in range(trainer.setup.repeats):
        forward, backward, _ = passes(trainer, True, marked, nothing)
        forwards.append(names | forward)
        backwards.append(names | backward)
        forward, backward, update = passes(trainer, False, plain, nothing)
        # No layer is marked: all of the pass is under its first mark.
        wholes.append(forward | {"backward": backward["loss"]} | update)
    forward, backward, whole = (medians(runs) for runs in (forwards, backwards, wholes))
    layers = {name: (forward[name], backward[name]) for name in names}
    return layers, whole | {"loss": backward["loss"]}


def measure(network: Mapping[str, Any], setup: Setup) -> Measurement:
    """Measures one network, run in one way."""
    trainer = Trainer(network, setup)
    for _ in range(4):
        trainer.step()
    variant = network.get("variant")
    name = network["name"] + (f":{variant}" if variant else "")
    found = Measurement(name, setup, torch.cuda.get_device_name(), torch.__version__)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    times = []
    for _ in range(3 * setup.repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        # Several at once, as users run them: a step's launches hide behind those before it.
        for _ in range(4):
            trainer.step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / 4 * 1e6)
        if sum(times) * 4 > 8e6:
            break
    found.step = statistics.median(times)
    found.memory = {
        "peak": torch.cuda.max_memory_allocated(),
        "reserved": torch.cuda.max_memory_reserved(),
        "before": trainer.weights_memory,
        "used": torch.cuda.mem_get_info()[1] - torch.cuda.mem_get_info()[0],
    }
    found.layers, wholes = by_layer(trainer)
    found.forward, found.backward = wholes["forward"], wholes["backward"]
    found.update, found.loss = wholes["update"], wholes["loss"]
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        trainer.step()
        torch.cuda.synchronize()
    kernels = [it for it in profile.events() if it.device_type == torch.autograd.DeviceType.CUDA]
    found.kernels = len(kernels)
    found.busy = float(sum(it.device_time_total for it in kernels))
    return found


def write_layers(found: Measurement, network: Mapping[str, Any], output: Path) -> None:
    """The file that `--measured` reads; an update is shared by parameters."""
    parameters = {it["name"]: it["parameters"] for it in network["layers"]}
    whole = sum(parameters.values())
    with output.open("w", newline="") as file:
        file.write(f"# {found.gpu}, PyTorch {found.torch}, {found.setup.precision}\n")
        rows = csv.writer(file)
        rows.writerow(["layer", "samples", "forward", "backward", "update"])
        for name, (forward, backward) in found.layers.items():
            update = found.update * parameters[name] / max(whole, 1)
            times = (f"{max(it, 0.0):.2f}" for it in (forward, backward, update))
            rows.writerow([name, found.setup.samples, *times])


def main() -> None:
    """Measures one network."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("network", type=Path, help="layers of a network, as to_json() writes them")
    parser.add_argument("--samples", type=int, default=32, help="samples of a step")
    parser.add_argument("--precision", choices=("fp32", "tf32", "fp16", "bf16"), default="fp32")
    parser.add_argument("--optimizer", choices=("sgd", "momentum", "adam"), default="momentum")
    parser.add_argument("--short-weights", action="store_true", help="weights in 16 bits, too")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--output", type=Path, required=True, help="layers of CSV, or all as JSON")
    given = parser.parse_args()
    network = json.loads(given.network.read_text())
    setup = Setup(
        given.samples, given.precision, given.optimizer, given.short_weights, given.repeats
    )
    found = measure(network, setup)
    if given.output.suffix == ".json":
        given.output.write_text(json.dumps(asdict(found), indent=1))
    else:
        write_layers(found, network, given.output)
    sys.stderr.write(f"{found.network}: {found.step:.0f} us a step of {setup.samples} samples\n")


if __name__ == "__main__":
    main()
