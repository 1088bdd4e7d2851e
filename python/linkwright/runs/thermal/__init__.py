"""Shows the heat of a package: its temperatures as a run, with tables, a map, and a report."""
