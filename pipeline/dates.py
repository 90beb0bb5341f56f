"""When a paper was first posted, and what of a benchmark a model may have read before its cutoff."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pipeline.evidence import Json

WHEN = ("before", "after")
"""`before`: posted in the cutoff's month or earlier, so that a model may have read it."""


def posted(arxiv_id: str) -> str:
    """The month in which an arXiv id was given out, as YYYY-MM: that of the first version, whatever came later.

    Ids are YYMM.number since April 2007, and archive/YYMMnumber before (arXiv's identifier scheme). ValueError for a
    text that is none.
    """
    found = re.fullmatch(r"(?:[a-z-]+(?:\.[A-Z]{2})?/)?(\d\d)(0[1-9]|1[0-2])(?:\.\d{4,5}|\d{3})(?:v\d+)?", arxiv_id)
    if found is None:
        raise ValueError(f"{arxiv_id!r} is no arXiv id; its month is unknown")
    year = int(found[1])
    return f"{2000 + year if year < 91 else 1900 + year}-{found[2]}"


def contamination(rows: Iterable[tuple[str, str]], cutoff: str) -> dict[str, dict[str, int]]:
    """How many rows of each group were posted before or after a model's stated cutoff, a month as YYYY-MM.

    `rows`: (arXiv id, group). A cutoff says "up to this month", so the month itself counts as before. Posted before
    proves no reading, posted after no innocence: text travels earlier, too. ValueError for a cutoff that is no month.
    """
    if not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", cutoff, re.ASCII):
        raise ValueError(f"cutoff {cutoff!r} is no month like 2025-06")
    found: dict[str, dict[str, int]] = {}
    for arxiv_id, group in rows:
        counts = found.setdefault(group, dict.fromkeys(WHEN, 0))
        counts["before" if posted(arxiv_id) <= cutoff else "after"] += 1
    return dict(sorted(found.items()))


def window(rows: Iterable[Mapping[str, Json]], after: str | None = None, until: str | None = None) -> list[str]:
    """Ids (`custom_id`) of the rows posted in a window of months: later than `after`, up to and with `until`."""
    months = {str(row["custom_id"]): posted(str(row["custom_id"])) for row in rows}
    return [i for i, month in months.items() if (after is None or month > after) and (until is None or month <= until)]
