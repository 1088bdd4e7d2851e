"""Plays steps of training, and compares their times by one way to communicate or another."""
