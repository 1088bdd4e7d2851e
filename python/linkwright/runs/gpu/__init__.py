"""Runs of kernels inside GPUs, as tables and a report."""
