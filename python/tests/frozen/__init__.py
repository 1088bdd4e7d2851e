"""The frozen numbers: captured tables that every commit must give again, to the last digit.

`captured` says what a captured table is and how two are compared; a module for each family says
which cases it has; `data/` holds what they gave.
"""
