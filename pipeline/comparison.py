"""Two editions side by side: which papers both have, which artifacts are not what they were, tiers, hours, requests.

Nothing is carried over from one edition to the next; what both have in common is told here, so that nobody takes it for
new, or for old.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline import drift
from pipeline.dates import contamination
from pipeline.evidence import Json, Outcome, Receipt, lists
from pipeline.release.contents import ROW_WORDS, TIERS
from pipeline.release.folder import Sealed
from pipeline.release.tables import Lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SPLITS = ("eval", "dev")


def compare(before: Sealed, after: Sealed, cutoffs: Sequence[str] = (), asked: int | None = None) -> dict[str, Json]:
    """The report on a new edition's release, beside the last edition's.

    Hours are H100-hours after the audit. `cutoffs`: months up to which models say they were trained. `asked`: answers
    that the new edition's builds had of the world, where it is known; what a release itself shows are the exchanges
    its receipts rest on. ValueError for a cutoff that is no month.
    """
    return {
        "before": _heading(before),
        "after": _heading(after),
        "papers": _papers(before, after),
        "carried": _carried(before, after),
        "artifacts": _artifacts(before, after),
        "tiers": {split: _tiers(before.lines(split), after.lines(split)) for split in SPLITS},
        "requests": {"before": _exchanges(before), "after": _exchanges(after), "asked": asked},
        "contamination": {cutoff: _contamination(after, cutoff) for cutoff in sorted(set(cutoffs))},
    }


def _heading(sealed: Sealed) -> dict[str, Json]:
    said = ("edition", "edition_hash", "as_of", "ledger_head", "counts")
    return {name: sealed.manifest[name] for name in said}


def _papers(before: Sealed, after: Sealed) -> dict[str, Json]:
    """Papers that both have: in their lists, and in their splits."""
    indexes = [{line["arxiv_id"] for line in sealed.lines("index") if line["arxiv_id"]} for sealed in (before, after)]
    rows = [{row["custom_id"]: split for split in SPLITS for row in s.lines(split)} for s in (before, after)]
    both = sorted(rows[0].keys() & rows[1].keys())
    return {
        "in_both_indexes": len(indexes[0] & indexes[1]),
        "in_both_splits": [{"custom_id": i, "before": rows[0][i], "after": rows[1][i]} for i in both],
        "in_last_splits_and_listed_again": sorted((rows[0].keys() & indexes[1]) - rows[1].keys()),
    }


def _carried(before: Sealed, after: Sealed) -> dict[str, Json]:
    """What stands in both by identity: decisions and evidence that were not made anew."""
    events = [{line["id"] for line in sealed.lines("ledger")} for sealed in (before, after)]
    receipts = [{line["id"] for line in sealed.lines("receipts")} for sealed in (before, after)]
    return {"decisions": sorted(events[0] & events[1]), "receipts": len(receipts[0] & receipts[1])}


def _artifacts(before: Sealed, after: Sealed) -> list[dict[str, Json]]:
    """Places that papers of both editions rest on and that are not what they were, by subject."""
    old, new = _places(before), _places(after)
    found = []
    for subject in sorted(old.keys() & new.keys()):
        ways = drift.classify(old[subject], new[subject])
        if ways:
            told = [{"way": str(way.way), "detail": way.detail} for way in ways]
            found.append({"subject": subject, "before": old[subject].id, "after": new[subject].id, "found": told})
    return found


def _places(sealed: Sealed) -> dict[str, Receipt]:
    """The first receipt about each place as a whole, by subject; searches and supplements are none."""
    found: dict[str, Receipt] = {}
    for receipt in map(Receipt.from_json, sealed.lines("receipts")):
        whole = lists(receipt) and receipt.exchanges and not receipt.subject.startswith("supplement:")
        if whole and receipt.outcome is not Outcome.UNDETERMINED:
            found.setdefault(receipt.subject, receipt)
    return found


def _tiers(before: Lines, after: Lines) -> dict[str, Json]:
    """Rows and hours by tier, in both."""
    return {tier: {"before": _sums(before, tier), "after": _sums(after, tier)} for tier in TIERS}


def _sums(rows: Lines, tier: str) -> dict[str, Json]:
    hours = [float(row["audited_h100_hours"]) for row in rows if ROW_WORDS[row["tier"]] == tier]
    return {"rows": len(hours), "hours": round(sum(hours), 6)}


def _exchanges(sealed: Sealed) -> int:
    """How many exchanges a release's receipts rest on."""
    return len({id_ for line in sealed.lines("receipts") for id_ in line["exchanges"]})


def _contamination(sealed: Sealed, cutoff: str) -> dict[str, Json]:
    rows = [(r["custom_id"], f"{split}, {ROW_WORDS[r['tier']]}") for split in SPLITS for r in sealed.lines(split)]
    all_ = [(i, group.partition(",")[0]) for i, group in rows]
    return contamination([*all_, *rows], cutoff)


def page(report: Mapping[str, Json]) -> str:
    """The report as one HTML page that opens offline."""
    import jinja2

    from pipeline.release.page import inline
    from pipeline.release.plots import svg

    template = Path(__file__).with_name("comparison.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    plot = inline(svg(lambda axes: _draw(axes, report), 2.2, (0.14, 0.23, 0.84, 0.66)))
    ways = Counter(artifact["found"][0]["way"] for artifact in report["artifacts"])
    return environment.from_string(template).render(r=report, plot=plot, ways=dict(sorted(ways.items())))


def _draw(axes: Axes, report: Mapping[str, Any]) -> None:
    """The eval split's hours by tier, the last edition above the new one."""
    for place, (when, colour) in enumerate((("before", "#c9c9c9"), ("after", "#2f6f9f"))):
        values = [report["tiers"]["eval"][tier][when] for tier in reversed(TIERS)]
        at = [k + 0.2 - 0.4 * place for k in range(len(TIERS))]
        axes.barh(at, [v["hours"] for v in values], height=0.36, color=colour, label=report[when]["edition"])
        for y, value in zip(at, values, strict=True):
            axes.text(value["hours"], y, f" {value['rows']} rows", va="center", fontsize=8)
    axes.set_yticks(range(len(TIERS)), list(reversed(TIERS)))
    axes.margins(x=0.15)
    axes.set_xlabel("H100-hours of the eval split")
    axes.legend(frameon=False, ncols=2, loc="upper left", bbox_to_anchor=(0, 1.24))
