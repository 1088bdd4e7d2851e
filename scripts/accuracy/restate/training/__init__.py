"""Writes published steps of language models as questions of ours, each with its measured time."""
