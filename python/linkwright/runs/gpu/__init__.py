"""Kernels inside GPUs: what a run of one took, over which links, as tables and a report."""
