"""Runs of every kind: from a scenario or options to tables, a report, a timeline and JSON.

`run` says what every run has and writes it to a folder; `report`, `timeline` and the command line
need no more. A kind of run is a folder of its own: how it is played, its tables, its charts.
"""

from linkwright.runs.run import Best, Progress, Run, Section, Sheet, write_run

__all__ = ["Best", "Progress", "Run", "Section", "Sheet", "write_run"]
