"""Lets the site's navigation stand beside the text from 1,100 pixels on; a hook of MkDocs.

The theme hides it behind a button below 1,220 pixels, and has no setting for that width. Its
style sheets and its script name the width wherever they ask for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

# The theme's widths and ours, in units of 16 pixels: where the menu is shown, and just below.
WIDTHS = {"76.25em": "68.75em", "76.234375em": "68.734375em"}
FILES = ("stylesheets/main.*.css", "stylesheets/palette.*.css", "javascripts/bundle.*.js")


class Settings(Protocol):
    """Where MkDocs writes the site."""

    site_dir: str


def on_post_build(config: Settings) -> None:
    """Writes the narrower width into the theme's files.

    Raises:
        RuntimeError: If a file of the theme no longer names its width.
    """
    assets = Path(config.site_dir) / "assets"
    for pattern in FILES:
        for file in assets.glob(pattern):
            text = file.read_text(encoding="utf-8")
            if not any(width in text for width in WIDTHS):
                raise RuntimeError(f"{file.name} has none of the widths {', '.join(WIDTHS)}")
            for theirs, ours in WIDTHS.items():
                text = text.replace(theirs, ours)
            file.write_text(text, encoding="utf-8")
