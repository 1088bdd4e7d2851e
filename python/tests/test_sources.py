"""Names the memory system of coherent shared memory, `rc` or `sc`."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Words of licences and of notices that hold for what others wrote, of copies, and of sources that
# nobody but their finder can follow.
FOREIGN = re.compile(
    "|".join(
        (
            r"permission is hereby granted",
            r"redistributions? (and use )?(in|of) source",
            r"merchantability",
            r"licensed under the",
            r"(gnu|mozilla) [a-z ]*public licen[cs]e",
            r"apache license\W+version",
            r"all rights reserved",
            r"copyright (\(c\)|©|\d{4})",
            r"spdx-license",
            r"byte[ -]for[ -]byte",
            r"code index id",
            r"in a public [a-z-]+ unit test",
        )
    ),
    re.IGNORECASE,
)
# Whoever follows one of these comes to the rows.
FOLLOWED = re.compile(r"https://\S+\.\S+")
OWN_LICENCE = "LICENSE"


def foreign(text: str) -> list[str]:
    """Finds the words of a text that no file here may have."""
    return [found[0] for found in FOREIGN.finditer(" ".join(text.split()))]


@pytest.mark.parametrize(
    "text",
    [
        "Permission is hereby\n granted, free of charge",
        "* Redistributions of source code must retain",
        "Redistribution and use in source and binary forms",
        "warranties of MERCHANTABILITY",
        "Licensed under the Apache License, Version 2.0",
        "Copyright (c) 2019-2020, Somebody, Inc.",
        "Copyright 2024 Somebody",
        "SPDX-License-Identifier: MIT",
        "the examples of somebody, byte for\nbyte",
        '"public README (code index id 4711)"',
        "sample log in a public hardware-profiler unit test",
    ],
)
def test_words_of_others_are_known(text: str) -> None:
    assert foreign(f"before {text} behind")


def test_every_file_is_written_here() -> None:
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("no checkout")
    listed = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    names = [name for name in listed.stdout.decode().split("\0") if (ROOT / name).is_file()]
    assert len(names) > 1000
    assert [name for name in names if "LICEN" in name.upper()] == [OWN_LICENCE]
    own = {OWN_LICENCE, Path(__file__).relative_to(ROOT).as_posix()}
    found = {
        name: words
        for name in names
        if name not in own
        and (words := foreign((ROOT / name).read_text(encoding="utf-8", errors="replace")))
    }
    assert not found


def test_measured_rows_name_a_source_that_can_be_followed() -> None:
    with (ROOT / "validation" / "nccl-tests.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 76
    unfollowed = {row["source"] for row in rows if not FOLLOWED.match(row["source"])}
    assert not unfollowed
