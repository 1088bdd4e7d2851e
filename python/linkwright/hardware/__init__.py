"""Counts the parts of systems, and prices them by a file of the user."""

from linkwright.hardware.bill import PARTS, Bill, bill_of
from linkwright.hardware.prices import Cost, Price, Prices, read_prices

__all__ = ["PARTS", "Bill", "Cost", "Price", "Prices", "bill_of", "read_prices"]
