"""Counting judgements: k of n with its interval, precision, recall, confusion, and the readers among themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from textwrap import shorten

from classifiers.judged import MEASURES, Against, Judged, Measure
from pipeline.evidence import Json
from pipeline.scoring import wilson

OPEN = "left open"


@dataclass(frozen=True, slots=True)
class Share:
    """k of n, with Wilson's 95 % interval."""

    k: int
    n: int

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.k, self.n)

    def __str__(self) -> str:
        if not self.n:
            return "-"
        low, high = self.interval
        return f"{self.k}/{self.n} = {self.k / self.n:.2f} [{low:.2f}, {high:.2f}]"

    def to_json(self) -> dict[str, Json]:
        low, high = self.interval
        return {"k": self.k, "n": self.n, "low": low, "high": high}


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """One row: a measure against one side. `open` are comparisons that we left open; they count in neither k nor n.

    `precision` and `recall` are of the answer "yes", None where they mean nothing; an open answer is no hit, so it
    counts in recall. `readers`: how often the two readers give each other's label, None where only one labelled it.
    """

    measure: Measure
    against: Against
    agree: Share
    open: int
    precision: Share | None
    recall: Share | None
    confusion: tuple[tuple[str, str, int], ...]
    readers: Share | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Scorecard:
    """An evaluation: rows in the order of the measures, and each judgement behind them."""

    classifier: str
    gold: str
    papers: tuple[str, ...]
    tallies: tuple[Tally, ...]
    judged: tuple[Judged, ...]
    trouble: tuple[tuple[str, str], ...]

    @property
    def disagreements(self) -> tuple[Judged, ...]:
        """Everything that is not as a reader or the record has it; one line for rows that say the same."""
        return self._once(lambda one: one.agrees is False)

    @property
    def left_open(self) -> tuple[Judged, ...]:
        """Everything that the classifier left open, once."""
        return self._once(lambda one: one.agrees is None)

    def _once(self, wanted: Callable[[Judged], bool]) -> tuple[Judged, ...]:
        seen: dict[tuple[str, str, str, str | None, str], Judged] = {}
        for one in self.judged:
            if one.against != "readers" and wanted(one):
                seen.setdefault((one.measure, one.paper, one.theirs, one.ours, one.our_evidence), one)
        return tuple(seen.values())

    def lines(self) -> list[str]:
        """The report for a terminal: one line a row, then the disagreements with their evidence."""
        out = [f"{self.classifier} on {len(self.papers)} gold papers of {self.gold}", ""]
        head = ("measure", "against", "agree (95 %)", "open", "precision", "recall", "readers agree")
        rows = [head, *(_cells(one) for one in self.tallies)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        out += ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        out += ["", "open: left undetermined by us, counted in no share but in recall as a miss."]
        out += ["", f"Disagreements ({len(self.disagreements)})"]
        for one in self.disagreements:
            out += [f"- {one.paper}, {one.measure} ({one.against}): theirs {one.theirs}, ours {one.ours}"]
            out += [f"    ours:   {_short(one.our_evidence)}", f"    theirs: {_short(one.their_evidence)}"]
        out += ["", "Papers without an answer"] if self.trouble else []
        return out + [f"- {paper}: {_short(reason)}" for paper, reason in self.trouble]

    def to_json(self) -> dict[str, Json]:
        return {
            "classifier": self.classifier,
            "gold": self.gold,
            "papers": list(self.papers),
            "trouble": [{"paper": paper, "reason": reason} for paper, reason in self.trouble],
            "measures": [_row(one) for one in self.tallies],
            "judged": [asdict(one) for one in self.judged],
        }


def scorecard(
    classifier: str, gold: str, papers: Sequence[str], judged: Iterable[Judged], trouble: Sequence[tuple[str, str]] = ()
) -> Scorecard:
    """Count everything, in the order of the measures, then by paper: nothing depends on who finished first."""
    listed = sorted(judged, key=lambda one: (_ORDER[one.measure], _AGAINST.index(one.against), one.paper))
    return Scorecard(
        classifier=classifier,
        gold=gold,
        papers=tuple(sorted(papers)),
        tallies=tallies(listed),
        judged=tuple(listed),
        trouble=tuple(sorted(trouble)),
    )


_AGAINST: tuple[Against, ...] = ("record", "either", "both", "first", "second", "readers")
_ORDER = {measure.name: place for place, measure in enumerate(MEASURES)}
_BESIDE = {"compute mentions": "compute statements", "tier: with repository": "tier: source alone"}
"""Where the readers did not label what is measured, their agreement on the nearest question stands beside it."""


def tallies(judged: Sequence[Judged]) -> tuple[Tally, ...]:
    """One row for each measure and side that has something to compare."""
    between = {
        m.name: Share(sum(bool(j.agrees) for j in js), len(js))
        for m in MEASURES
        if (js := [j for j in judged if j.measure == m.name and j.against == "readers"])
    }
    rows = []
    for measure in MEASURES:
        for against in _AGAINST:
            mine = [j for j in judged if (j.measure, j.against) == (measure.name, against)]
            if mine and against != "readers":
                rows.append(_tally(measure, against, mine, between.get(_BESIDE.get(measure.name, measure.name))))
    return tuple(rows)


def _tally(measure: Measure, against: Against, judged: Sequence[Judged], readers: Share | None) -> Tally:
    decided = [j for j in judged if j.agrees is not None]
    hits = sum(j.theirs == j.ours == "yes" for j in judged)
    said, true = sum(j.ours == "yes" for j in judged), sum(j.theirs == "yes" for j in judged)
    counts = Counter((j.theirs, j.ours or OPEN) for j in judged) if measure.categories else Counter()
    return Tally(
        measure=measure,
        against=against,
        agree=Share(sum(bool(j.agrees) for j in decided), len(decided)),
        open=len(judged) - len(decided),
        precision=Share(hits, said) if "precision" in measure.ratios else None,
        recall=Share(hits, true) if "recall" in measure.ratios else None,
        confusion=tuple((theirs, ours, n) for (theirs, ours), n in sorted(counts.items())),
        readers=readers,
    )


def _short(text: str) -> str:
    return shorten(text, 300, placeholder=" …")


def _cells(one: Tally) -> tuple[str, ...]:
    shares = (one.precision, one.recall, one.readers)
    texts = ["-" if share is None else str(share) for share in shares]
    return one.measure.name, one.against, str(one.agree), str(one.open), *texts


def _row(one: Tally) -> dict[str, Json]:
    return {
        "measure": one.measure.name,
        "about": one.measure.about,
        "against": one.against,
        "agree": one.agree.to_json(),
        "left_open": one.open,
        "precision": one.precision.to_json() if one.precision else None,
        "recall": one.recall.to_json() if one.recall else None,
        "confusion": [{"theirs": t, "ours": o, "n": n} for t, o, n in one.confusion],
        "readers_agree": one.readers.to_json() if one.readers else None,
    }
