"""Sums results up in numbers: of policies, of programs, of links."""
