"""Networks that were measured and that Linkwright does not have, as texts of its own format."""

from __future__ import annotations

from functools import cache

from linkwright import NeuralNetwork

# MPT by llm-foundry's configurations: width, layers, heads.
MPT = {
    "mpt-125m": (768, 12, 12),
    "mpt-350m": (1024, 24, 16),
    "mpt-760m": (1536, 24, 12),
    "mpt-1b": (2048, 24, 16),
    "mpt-3b": (2560, 32, 20),
    "mpt-7b": (4096, 32, 32),
    "mpt-13b": (5120, 40, 40),
    "mpt-30b": (7168, 48, 56),
    "mpt-70b": (8192, 80, 64),
}

MPT_TEXT = """
name = "{name}"
input = {{ tokens = {tokens} }}
layers = [
    {{ name = "embedding", kind = "embedding", vocabulary = 50368, width = {width}, split = "rows" }},
    {{ name = "position", kind = "position-embedding", positions = {tokens} }},
    {{ name = "block", use = "decoder", width = {width}, heads = {heads}, repeat = {layers} }},
    {{ name = "norm", kind = "layer-norm" }},
    {{ name = "head", kind = "fully-connected", width = 50368, bias = false, tied = true, split = "columns", then = ["softmax"] }},
]

[block.decoder]
arguments = ["width", "heads"]
unit = true
layers = [
    {{ name = "norm1", kind = "layer-norm" }},
    {{ name = "qkv", kind = "fully-connected", width = "3 * width", split = "columns" }},
    {{ name = "attention", kind = "attention", heads = "heads" }},
    {{ name = "projection", kind = "fully-connected", width = "width", split = "rows" }},
    {{ name = "sum1", kind = "add", from = ["projection", "input"] }},
    {{ name = "norm2", kind = "layer-norm" }},
    {{ name = "up", kind = "fully-connected", width = "4 * width", split = "columns", then = ["gelu"] }},
    {{ name = "down", kind = "fully-connected", width = "width", split = "rows" }},
    {{ name = "sum2", kind = "add", from = ["down", "sum1"] }},
]
"""  # noqa: E501

# Llama 3.1 405B cut to four layers, with 16 heads of keys and values as SimuMax measured it.
LLAMA_405B = """
name = "llama3-405b-4-layers"
input = {{ tokens = {tokens} }}
layers = [
    {{ name = "embedding", kind = "embedding", vocabulary = 128256, width = 16384, split = "rows" }},
    {{ name = "block", use = "decoder", repeat = 4 }},
    {{ name = "norm", kind = "rms-norm" }},
    {{ name = "head", kind = "fully-connected", width = 128256, bias = false, split = "columns", then = ["softmax"] }},
]

[block.decoder]
unit = true
layers = [
    {{ name = "norm1", kind = "rms-norm" }},
    {{ name = "qkv", kind = "fully-connected", width = 20480, bias = false, split = "columns" }},
    {{ name = "attention", kind = "attention", heads = 128, key_value_heads = 16, rotary = true }},
    {{ name = "projection", kind = "fully-connected", width = 16384, bias = false, split = "rows" }},
    {{ name = "sum1", kind = "add", from = ["projection", "input"] }},
    {{ name = "norm2", kind = "rms-norm" }},
    {{ name = "gate", kind = "fully-connected", width = 53248, bias = false, split = "columns", then = ["silu"] }},
    {{ name = "up", kind = "fully-connected", from = "norm2", width = 53248, bias = false, split = "columns" }},
    {{ name = "product", kind = "multiply", from = ["gate", "up"] }},
    {{ name = "down", kind = "fully-connected", width = 16384, bias = false, split = "rows" }},
    {{ name = "sum2", kind = "add", from = ["down", "sum1"] }},
]
"""  # noqa: E501


def network(name: str, tokens: int) -> NeuralNetwork:
    """Finds a network by its name, for sequences of a length.

    Raises:
        SimulationError: If there is none.
    """
    if name in MPT:
        width, layers, heads = MPT[name]
        text = MPT_TEXT.format(name=name, tokens=tokens, width=width, layers=layers, heads=heads)
        return NeuralNetwork.from_toml(text)
    if name == "llama3-405b-4-layers":
        return NeuralNetwork.from_toml(LLAMA_405B.format(tokens=tokens))
    return NeuralNetwork.find(name).with_input(tokens=tokens)


@cache
def product_network(rows: int, columns: int, depth: int) -> NeuralNetwork:
    """Makes a network of a product alone: rows x depth by depth x columns."""
    return NeuralNetwork.from_toml(
        f'name = "product"\ninput = {{ tokens = {rows}, width = {depth} }}\n'
        f'layers = [{{ kind = "fully-connected", width = {columns}, bias = false }}]\n'
    )


@cache
def attention_network(tokens: int, heads: int, key_heads: int, width: int) -> NeuralNetwork:
    """Makes a network of causal attention alone."""
    whole = (heads + 2 * key_heads) * width
    return NeuralNetwork.from_toml(
        f'name = "attention"\ninput = {{ tokens = {tokens}, width = {whole} }}\n'
        f'layers = [{{ kind = "attention", heads = {heads}, key_value_heads = {key_heads} }}]\n'
    )
