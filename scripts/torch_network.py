"""Turns networks of Linkwright's into modules of PyTorch, layer by layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "gelu": lambda x: functional.gelu(x, approximate="tanh"),
    "silu": functional.silu,
}


class Place(nn.Module):
    """Adds a trained vector at each place of a sequence."""

    def __init__(self, positions: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(positions, width))

    def forward(self, x: Tensor) -> Tensor:
        """Adds it."""
        return x + self.weight[: x.shape[1]]


class Attention(nn.Module):
    """Takes queries, keys and values, which lie behind one another, by PyTorch's fused kernel."""

    def __init__(self, heads: int, key_value_heads: int, rotary: bool, causal: bool) -> None:
        super().__init__()
        self.heads, self.rest, self.rotary, self.causal = heads, key_value_heads, rotary, causal

    def turned(self, x: Tensor) -> Tensor:
        """Returns each pair of numbers turned by its place."""
        half = x.shape[-1] // 2
        places = torch.arange(x.shape[-2], device=x.device, dtype=torch.float32)
        speeds = 10_000.0 ** (-torch.arange(half, device=x.device, dtype=torch.float32) / half)
        angle = torch.outer(places, speeds).to(x.dtype)
        first, second = x[..., :half], x[..., half:]
        cos, sin = angle.cos(), angle.sin()
        return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)

    def forward(self, x: Tensor) -> Tensor:
        """Computes the attention."""
        samples, tokens, width = x.shape
        head = width // (self.heads + 2 * self.rest)
        parts = x.view(samples, tokens, -1, head).transpose(1, 2)
        queries, keys, values = parts.split([self.heads, self.rest, self.rest], dim=1)
        if self.rotary:
            queries, keys = self.turned(queries), self.turned(keys)
        found = functional.scaled_dot_product_attention(
            queries, keys, values, is_causal=self.causal, enable_gqa=self.rest != self.heads
        )
        return found.transpose(1, 2).reshape(samples, tokens, self.heads * head)


class Apply(nn.Module):
    """Applies a function to all inputs, without numbers of its own."""

    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> Tensor:
        """Applies it."""
        return self.function(*inputs)


class Recurrent(nn.Module):
    """Runs cuDNN's LSTM, and uses its outputs alone."""

    def __init__(self, given: int, width: int, bias: bool) -> None:
        super().__init__()
        self.cells = nn.LSTM(given, width, bias=bias, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        """Goes through all steps."""
        found: Tensor = self.cells(x)[0]
        return found


def width_of(shape: Mapping[str, Any]) -> int:
    """Counts channels, or numbers of a token's or a sample's vector."""
    ((kind, sizes),) = shape.items()
    return int(sizes["channels" if kind == "image" else "width"])


def elements_of(shape: Mapping[str, Any]) -> int:
    """Numbers of one sample, or of one token where it has tokens."""
    ((kind, sizes),) = shape.items()
    if kind == "image":
        return int(sizes["channels"] * sizes["height"] * sizes["width"])
    return int(sizes["width"])


def pooling(keys: Mapping[str, Any], *, mean: bool) -> nn.Module:
    """Returns pooling of either kind."""
    window = {name: tuple(keys[name]) for name in ("kernel", "stride", "padding")}
    sizes = (window["kernel"], window["stride"], window["padding"])
    kind = nn.AvgPool2d if mean else nn.MaxPool2d
    return kind(*sizes, ceil_mode=keys["ceiling"])


def subsampled(x: Tensor, channels: int, stride: int) -> Tensor:
    """Takes every `stride`-th point, and puts channels of zeros behind."""
    return functional.pad(x[:, :, ::stride, ::stride], (0, 0, 0, 0, 0, channels - x.shape[1]))


def joined(*inputs: Tensor) -> Tensor:
    """Puts channels of all behind one another."""
    return torch.cat(inputs, dim=1)


def summed(*inputs: Tensor) -> Tensor:
    """Returns the sum of all."""
    return inputs[0] + inputs[1] if len(inputs) == 2 else torch.stack(inputs).sum(0)


def multiplied(*inputs: Tensor) -> Tensor:
    """Returns the product of two."""
    return inputs[0] * inputs[1]


def module_of(layer: Mapping[str, Any], given: Mapping[str, Any]) -> nn.Module:
    """PyTorch's module of one layer that reads a shape."""
    kind = layer["kind"]
    name, keys = (kind, {}) if isinstance(kind, str) else next(iter(kind.items()))
    width = width_of(given)
    match name:
        case "convolution":
            window = keys["window"]
            sizes = [tuple(window[key]) for key in ("kernel", "stride", "padding")]
            return nn.Conv2d(
                width, keys["channels"], *sizes, groups=keys["groups"], bias=keys["bias"]
            )
        case "fully-connected":
            dense = nn.Linear(elements_of(given), keys["width"], bias=keys["bias"])
            return dense if "tokens" in given else nn.Sequential(nn.Flatten(), dense)
        case "max-pooling" | "average-pooling":
            return pooling(keys, mean=name == "average-pooling")
        case "global-average-pooling":
            return nn.AdaptiveAvgPool2d(1)
        case "activation":
            return Apply(ACTIVATIONS[keys])
        case "batch-normalization":
            return nn.BatchNorm2d(width) if "image" in given else nn.BatchNorm1d(width)
        case "layer-normalization":
            return nn.LayerNorm(width, bias=keys["bias"])
        case "root-mean-square-normalization":
            return nn.RMSNorm(width)
        case "local-response-normalization":
            return nn.LocalResponseNorm(keys["size"])
        case "dropout":
            return nn.Dropout(0.1)
        case "concatenation":
            return Apply(joined)
        case "addition":
            return Apply(summed)
        case "multiplication":
            return Apply(multiplied)
        case "embedding":
            return nn.Embedding(keys["vocabulary"], keys["width"])
        case "position-embedding":
            return Place(keys["positions"], width)
        case "long-short-term-memory":
            return Recurrent(width, keys["width"], keys["biases"] > 0)
        case "attention":
            return Attention(*(keys[it] for it in ("heads", "key_value_heads", "rotary", "causal")))
        case "subsampling":
            return Apply(lambda x: subsampled(x, keys["channels"], keys["stride"]))
    raise SystemExit(f"{layer['name']}: PyTorch has no module for `{name}` here")


class Marks(Protocol):
    """Hears when a pass comes by a layer."""

    def open(self, name: str) -> None:
        """A layer starts."""

    def mark(self, name: str) -> None:
        """Something starts; `""` is what no layer is charged with."""


class Marked(torch.autograd.Function):
    """The identity, which marks when the backward pass comes by."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, marks: Marks, name: str) -> Tensor:
        """Hands on what it is given."""
        ctx.marks, ctx.name = marks, name
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        """Marks, and hands on the gradient."""
        if ctx.name:
            ctx.marks.open(ctx.name)
        else:
            ctx.marks.mark("")
        return gradients[0], None, None


class Network(nn.Module):
    """Runs a network of Linkwright's, layer by layer."""

    def __init__(self, network: Mapping[str, Any]) -> None:
        super().__init__()
        self.layers: list[Mapping[str, Any]] = list(network["layers"])
        if self.layers[-1]["kind"] == "softmax":
            # The loss has it.
            self.layers.pop()
        shapes = [layer["output"] for layer in self.layers]
        parts: list[nn.Module] = []
        for layer in self.layers:
            at = layer["inputs"][0]
            parts.append(module_of(layer, network["input"] if at is None else shapes[at]))
        self.parts = nn.ModuleList(parts)
        self.tie()

    def tie(self) -> None:
        """Gives a tied layer the embedding's matrix."""
        embeddings = [part for part in self.parts if isinstance(part, nn.Embedding)]
        for layer, part in zip(self.layers, self.parts, strict=True):
            kind = layer["kind"]
            dense = isinstance(kind, dict) and kind.get("fully-connected")
            if dense and dense["tied"] and isinstance(part, nn.Linear):
                part.weight = embeddings[0].weight

    def forward(self, x: Tensor, marks: Marks | None = None) -> Tensor:
        """Returns the output of the last layer, before its softmax."""
        found: list[Tensor] = []
        for layer, part in zip(self.layers, self.parts, strict=True):
            inputs = [x if at is None else found[at] for at in layer["inputs"]]
            if marks is None:
                found.append(part(*inputs))
                continue
            name = layer["name"]
            inputs = [Marked.apply(it, marks, "") if it.requires_grad else it for it in inputs]
            marks.open(name)
            output = part(*inputs)
            marks.mark("")
            found.append(Marked.apply(output, marks, name))
        return found[-1]
