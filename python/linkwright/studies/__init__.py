"""Runs studies: each repeats a paper's tables and figures, published beside reproduced."""
