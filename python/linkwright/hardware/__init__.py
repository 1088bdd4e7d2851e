"""Counts the parts of systems, and prices them by a file of the user."""

from linkwright.hardware.bill import PARTS, Bill, bill_of
from linkwright.hardware.prices import GPU, Cost, Price, Prices, busy_power, read_prices

__all__ = [
    "GPU",
    "PARTS",
    "Bill",
    "Cost",
    "Price",
    "Prices",
    "bill_of",
    "busy_power",
    "read_prices",
]
