"""The least hardware that keeps a share of performance."""
