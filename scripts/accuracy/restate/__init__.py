"""Writes public measurements anew, as the tables of `validation/accuracy/`."""
