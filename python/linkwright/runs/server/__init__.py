"""Plays jobs on one shared server, under one or several policies."""
