"""Shows the options of a command in groups, by the `rich_help_panel` of each."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

__all__ = ["Panelled"]


class Panelled(TyperCommand):
    """Shows options in groups: those without one come first."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes arguments, options of no group, and each group below its name."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                is_argument = parameter.param_type_name == "argument"
                named = getattr(parameter, "rich_help_panel", None) or "Options"
                groups.setdefault("Arguments" if is_argument else named, []).append(record)
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)
