"""What is shown of a release is made from its frozen tables alone; here they are counted, once, for all of it."""

from __future__ import annotations

import re
import statistics
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.dates import posted
from pipeline.evidence import Json, Signal
from pipeline.release.tables import Lines

TIERS = ("Run", "Retrain", "Reimplement")
ROW_WORDS: Mapping[str, str] = {"Easy": "Run", "Medium": "Retrain", "Hard": "Reimplement"}
"""The row's published words for the three tiers of a split."""
SPLITS: Mapping[str, str] = {"eval": "test", "dev": "validation"}
"""Our splits, and what the Hub calls them. There is no train split: nothing here is to be trained on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Contents:
    """A frozen release: its name, edition, funnel, agreement and tables, with the heads its manifest names."""

    name: str
    edition: Mapping[str, Json]
    funnel: Mapping[str, Json]
    agreement: Mapping[str, Json]
    lines: Mapping[str, Lines]
    edition_hash: str
    ledger_head: str

    @property
    def conference(self) -> str:
        return f"{self.edition['conference']} {self.edition['year']}"

    @property
    def repo(self) -> str:
        """Where the edition says its releases are published, as ORG/NAME on the Hub."""
        return str(self.edition.get("repo") or "ORG/NAME")

    @property
    def version(self) -> int:
        """The number behind the name's last "v"; 0 for a folder that was named otherwise."""
        found = re.search(r"-v(\d+)$", self.name)
        return int(found[1]) if found else 0

    @property
    def rows(self) -> Lines:
        return [*self.lines["eval"], *self.lines["dev"]]

    @property
    def titles(self) -> dict[str, str]:
        return {line["arxiv_id"]: line["title"] for line in self.lines["sample"]}

    @property
    def canary(self) -> str:
        """A string that is nowhere else: who finds it in a model's output knows what the model was trained on."""
        return f"reclaim-canary-{uuid.uuid5(uuid.NAMESPACE_URL, f'reclaim:{self.name}:{self.edition_hash}')}"


def tier(row: Mapping[str, Json]) -> str:
    return ROW_WORDS[row["tier"]]


def bands(contents: Contents, table: str) -> list[str]:
    """Bands in which a split's rows fall, cheapest first."""
    return sorted({row["h100_band"] for row in contents.lines[table]}, key=_start)


def _start(band: str) -> float:
    return float(band.split("-")[0])


def by_tier_and_band(contents: Contents, table: str) -> dict[str, dict[str, int]]:
    """Rows of a split by tier and band. Every tier and every band of the split has its cell."""
    counted = Counter((tier(row), row["h100_band"]) for row in contents.lines[table])
    found = bands(contents, table)
    return {t: {band: counted[t, band] for band in found} for t in TIERS}


def pool_by_tier_and_band(contents: Contents) -> dict[str, dict[str, int]]:
    """Rows of the pool by the tier and band they were drawn on."""
    drawn = [row for row in contents.lines["selection"] if row["pool_status"] == "taken"]
    found = sorted({row["band"] for row in drawn}, key=_start)
    counted = Counter((row["tier"], row["band"]) for row in drawn)
    return {t: {band: counted[t, band] for band in found} for t in TIERS}


@dataclass(frozen=True, kw_only=True, slots=True)
class Hours:
    """H100-hours of some rows: how many, their sum, least, median and most."""

    n: int
    total: float
    least: float
    median: float
    most: float


def hours(rows: Sequence[Mapping[str, Json]]) -> Hours | None:
    """None where there is no row."""
    found = sorted(float(row["audited_h100_hours"]) for row in rows)
    if not found:
        return None
    return Hours(n=len(found), total=sum(found), least=found[0], median=statistics.median(found), most=found[-1])


def hours_by_tier(contents: Contents, table: str) -> dict[str, Hours | None]:
    return {t: hours([row for row in contents.lines[table] if tier(row) == t]) for t in TIERS}


def verifications(contents: Contents, table: str) -> dict[str, Counter[str]]:
    """How each signal of a split was settled: true or false, and by what."""
    return {
        str(s): Counter(
            f"{'yes' if row['signals'][str(s)]['value'] else 'no'}, {row['signals'][str(s)]['verification']}"
            for row in contents.lines[table]
        )
        for s in Signal
    }


def bars(contents: Contents, table: str) -> Counter[str]:
    return Counter(row["match_target"]["match_bar_kind"] for row in contents.lines[table])


def months(contents: Contents, table: str) -> dict[str, Counter[str]]:
    """Rows by tier and the month their paper was first posted, which an arXiv id names (YYMM)."""
    found: dict[str, Counter[str]] = {t: Counter() for t in TIERS}
    for row in contents.lines[table]:
        found[tier(row)][posted(row["custom_id"])] += 1
    return found


def month_range(found: set[str]) -> list[str]:
    """Every month from the first to the last, also those without a paper."""
    if not found:
        return []
    first, last = (12 * int(m[:4]) + int(m[5:]) - 1 for m in (min(found), max(found)))
    return [f"{m // 12}-{m % 12 + 1:02}" for m in range(first, last + 1)]


def funnel_steps(contents: Contents) -> list[tuple[str, int]]:
    """How many papers passed each stage."""
    told = contents.funnel
    return [
        ("accepted papers in the index", told["index"]),
        ("classified", told["derived"]),
        ("eligible", told["eligible"]),
        ("in the pool for people", told["pool"]),
        ("entered it from the reserve", len(told["entered"])),
        ("decided by people", told["decided"]),
        ("in the eval split", told["eval"]),
        ("in the dev split", told["dev"]),
    ]


def plain(text: str) -> str:
    """What papers, hosts and people wrote, as one line of Markdown that no reader takes for markup."""
    line = "".join(c if c.isprintable() else " " for c in text)
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#&~$" else c for c in " ".join(line.split()))


def address(url: str) -> str:
    """A link in Markdown: to itself where it is one, else its words."""
    return f"<{url}>" if re.fullmatch(r"https?://[!-;=?-~]+", url) else plain(url)
