"""Compares the results of a scenario's variants on the same seeds."""
