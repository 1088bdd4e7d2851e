"""Makes networks of a single kernel."""

from __future__ import annotations

from functools import cache

from linkwright.training import NeuralNetwork


@cache
def product_network(rows: int, columns: int, depth: int) -> NeuralNetwork:
    """Makes a network of a product alone: rows x depth by depth x columns."""
    return NeuralNetwork.from_text(
        f'name = "product"\ninput = {{ tokens = {rows}, width = {depth} }}\n'
        f'layers = [{{ kind = "fully-connected", width = {columns}, bias = false }}]\n'
    )
