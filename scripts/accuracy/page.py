"""Writes the tables of `docs/accuracy.md` and of the README from the stored results.

Each table stands between two marks, and so do the shares that commands print below their error
bars, in the file that prints them. All else is written on the page itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from accuracy import job_tables
from accuracy.jobs import JOBS
from accuracy.kernels import GROUPS, KERNELS, KIND
from accuracy.markdown import between, share, signed, table
from accuracy.results import Results
from accuracy.rows import Errors, Subject
from accuracy.tables import ROOT, STORED
from accuracy.tables import table as read

REST = "others, which cannot be asked"
PAGE = ROOT / "docs" / "accuracy.md"
README = ROOT / "README.md"
GUIDE = ROOT / "docs" / "guide" / "training.md"
LEGEND = ROOT / "python" / "linkwright" / "cli" / "error_bars.py"

# Between these lines of the legend's file stands what results give.
LEGEND_MARKS = (
    "# From here on `make accuracy` writes.\n",
    "# End of what `make accuracy` writes.\n",
)


def in_page(results: Results, text: str) -> str:
    """Writes the page's tables anew.

    Raises:
        ValueError: If a subject has no place on the page.
    """
    subjects = results.subjects
    tables = {
        "summary": summary(subjects),
        "bars": bars(results),
        "cannot be asked": refused(subjects),
    }
    for subject in subjects:
        if subject.name == KERNELS:
            tables["all kernels"] = all_kernels()
        own = [groups(subject, facet) for facet in subject.facets]
        tables[subject.name] = "\n\n".join(own)
        if subject.name.startswith(JOBS):
            tables |= job_tables.of_subject(subject.name)
    if any(subject.name.startswith(JOBS) for subject in subjects):
        tables |= job_tables.of_page()
    for name, made in tables.items():
        text = between(text, name, made)
    return text


def in_legend(results: Results, text: str) -> str:
    """Writes the shares of rows inside their bars into the file that prints them."""
    start, end = (text.index(mark) for mark in LEGEND_MARKS)
    shares = "".join(
        f'    "{basis}": "{inside(errors)}",\n' for basis, errors in results.bars.items()
    )
    return f"{text[:start]}{LEGEND_MARKS[0]}SHARES_INSIDE = {{\n{shares}}}\n{text[end:]}"


def in_guide(_results: Results, text: str) -> str:
    """Writes the guide's tables of measured jobs anew."""
    for name, made in job_tables.of_guide().items():
        text = between(text, name, made)
    return text


def in_readme(results: Results, text: str) -> str:
    """Writes the README's table between its marks, where it has them."""
    return between(text, "accuracy", readme(results)) if "<!-- accuracy -->" in text else text


def summary(subjects: Sequence[Subject]) -> str:
    """Gives a row to each subject, the worst first."""
    heads = ["what", "rows", "asked", "median error", "90th percentile", "inside the printed bar"]
    return table(
        [*heads, "worst group"],
        [
            [
                each.name,
                f"{each.errors.rows:,}",
                f"{each.errors.asked:,}",
                share(each.errors.median),
                share(each.errors.ninetieth),
                inside(each.errors),
                worst(each),
            ]
            for each in by_median(subjects)
        ],
    )


def bars(results: Results) -> str:
    """Gives a row to what bars come from."""
    rows = [
        [
            basis,
            f"{errors.barred:,}",
            share(errors.median),
            share(errors.width),
            f"{errors.inside:,}",
            inside(errors),
        ]
        for basis, errors in results.bars.items()
    ]
    return table(["bar", "rows", "median error", "median bar", "inside", "share"], rows)


def readme(results: Results) -> str:
    """Gives the README's table, with a few words for each subject."""
    rows = [
        [words, f"{errors.asked:,} of {errors.rows:,}", share(errors.median), inside(errors)]
        for words, errors in results.short.items()
    ]
    return table(["what", "rows asked of all", "median error", "inside the printed bar"], rows)


def refused(subjects: Sequence[Subject]) -> str:
    """Gives a row to each reason."""
    return table(
        ["what", "why", "rows"],
        [
            [each.name, reason, f"{count:,}"]
            for each in subjects
            for reason, count in each.refusals.items()
        ],
    )


def groups(subject: Subject, facet: str) -> str:
    """Gives a row to each group, the worst first."""
    found = subject.facets[facet]
    rest = [errors.rows for errors in found.values() if not errors.asked]
    rows = [group_row(group, errors) for group, errors in found.items() if errors.asked]
    if rest:
        rows.append(group_row(REST, Errors(sum(rest), 0)))
    heads = [facet, "rows", "asked", "median error", "signed", "90th percentile", "largest"]
    return table([*heads, "median bar", "inside the bar"], rows)


def group_row(group: str, errors: Errors) -> list[str]:
    """Gives the cells of a group."""
    return [
        group,
        f"{errors.rows:,}",
        f"{errors.asked:,}",
        share(errors.median),
        signed(errors.signed),
        share(errors.ninetieth),
        share(errors.largest),
        share(errors.width),
        inside(errors),
    ]


def all_kernels() -> str:
    """Gives a row to each group of kernels that can be asked, over all published rows."""
    found = list(read(STORED / GROUPS))
    asked = {
        row[KIND]: Errors(
            rows=int(row["rows"]),
            asked=int(row["asked"]),
            median=float(row["median"]),
            signed=float(row["signed"]),
            ninetieth=float(row["ninetieth"]),
            largest=float(row["largest"]),
        )
        for row in found
        if row["median"]
    }
    rest = [row for row in found if not row["median"]]
    heads = [KIND, "rows", "asked", "median error", "signed", "90th percentile", "largest"]
    rows = [group_row(group, errors)[:-2] for group, errors in asked.items()]
    count = sum(int(row["rows"]) for row in rest)
    rows.append(group_row(REST, Errors(count, 0))[:-2])
    return table(heads, rows)


def by_median(subjects: Sequence[Subject]) -> list[Subject]:
    """Sorts subjects, the worst first and those that cannot be asked last."""
    return sorted(
        subjects,
        key=lambda it: -1.0 if it.errors.median is None else it.errors.median,
        reverse=True,
    )


def worst(subject: Subject) -> str:
    """Names the worst group of the first kind, with its median error."""
    for group, errors in next(iter(subject.facets.values())).items():
        if errors.median is not None:
            return f"{group}: {share(errors.median)}"
    return ""


def inside(errors: Errors) -> str:
    """Shows the share of rows within the bar."""
    found = errors.share_inside
    return "" if not errors.asked else "no bar" if found is None else f"{found:.0%}"
