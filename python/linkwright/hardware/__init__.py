"""What a system is made of, and what that costs by a file of prices."""

from linkwright.hardware.bill import PARTS, Bill, bill_of
from linkwright.hardware.prices import Cost, Price, Prices, read_prices

__all__ = ["PARTS", "Bill", "Cost", "Price", "Prices", "bill_of", "read_prices"]
