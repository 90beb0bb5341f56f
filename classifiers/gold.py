"""Gold papers: what two careful readers wrote down about real papers, as typed values.

The folder has `papers/ID/src/`, `papers/ID/meta.json` (the first reader, under `gold`), `papers/ID/second_reader.json`,
and `repos/OWNER+NAME.json` with a judgement of what a repository held. A label that is not there is None or absent: a
paper then counts in fewer comparisons, never as wrong. Labels go to the comparison alone, never to a classifier.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pipeline.artifacts import subject
from pipeline.evidence import Json
from pipeline.tiers import Tier

Reader = Literal["first", "second"]
Standing = Literal["own", "unrendered", "foreign", "own data or weights"]
NO_PAPER = "no paper"
"""The kind of a folder that holds a template or a fragment."""


class GoldError(ValueError):
    """A gold folder that cannot be read: the message names the file and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Lines:
    """A place in a source: lines `first` to `last` of `file`, 1-based."""

    file: str
    first: int
    last: int

    def overlaps(self, other: Lines) -> bool:
        return self.file == other.file and self.first <= other.last and other.first <= self.last

    def __str__(self) -> str:
        return f"{self.file}:{self.first}" + (f"-{self.last}" if self.last > self.first else "")


@dataclass(frozen=True, slots=True)
class LinkLabel:
    """A link as a reader judged it; `subject` is the artifact it names."""

    subject: str
    standing: Standing
    evidence: str


@dataclass(frozen=True, slots=True)
class Statement:
    """A compute statement. `text` is all the reader wrote about it; `hours` the durations in it, in hours."""

    lines: Lines
    text: str
    hours: tuple[float, ...]
    aside: bool
    """An acknowledgement, a denial, or nothing of which a device or a duration could agree."""


@dataclass(frozen=True, slots=True)
class Value:
    """A number that a reader would accept as the target, as written; `numbers` are what it prints (two for "a vs
    b").
    """

    text: str
    numbers: tuple[float, ...]
    evidence: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Labels:
    """One reader's labels of one paper. `values`: the reader's own target first. `signals`: by the reader's word."""

    reader: Reader
    links: tuple[LinkLabel, ...] = ()
    commented: tuple[tuple[Lines, str], ...] = ()
    kind: str | None = None
    values: tuple[Value, ...] = ()
    statements: tuple[Statement, ...] = ()
    tier: Tier | None = None
    tier_with_repository: Tier | None = None
    code_claimed: bool | None = None
    weights_claimed: bool | None = None
    data_public: bool | None = None
    data_standard: bool | None = None
    notes: Mapping[str, str] = field(default_factory=dict)

    def note(self, what: str) -> str:
        return self.notes.get(what, "")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a fetched repository was found to hold. It holds code iff its kind starts with `real_code`."""

    repository: str
    kind: str
    note: str

    @property
    def code(self) -> bool:
        return self.kind.startswith("real_code")


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldPaper:
    """`own`: judgements of those repositories of the paper's own that were fetched."""

    name: str
    first: Labels | None
    second: Labels | None
    own: tuple[Judgement, ...] = ()

    @property
    def readers(self) -> tuple[Labels, ...]:
        return tuple(labels for labels in (self.first, self.second) if labels is not None)


def load_gold(folder: Path) -> dict[str, GoldPaper]:
    """All gold papers of a folder by name. Raises GoldError where there is none, or a file that is not what it should
    be."""
    judged = _judgements(folder)
    papers = {path.parent.name: _paper(path, judged) for path in sorted(folder.glob("papers/*/meta.json"))}
    if not papers:
        raise GoldError(f"{folder} holds no gold papers (papers/ID/meta.json); name the folder that does")
    return papers


def _paper(path: Path, judged: Mapping[str, Judgement]) -> GoldPaper:
    meta, beside = _object(path), path.parent / "second_reader.json"
    try:
        gold = meta.get("gold")
        first = None if gold is None else _first(gold)
        second = _second(_object(beside)) if beside.is_file() else None
    except (TypeError, AttributeError, KeyError, ValueError) as error:
        raise GoldError(f"{path.parent}: labels are not in the gold format: {type(error).__name__}: {error}") from error
    links = [link for labels in (first, second) if labels for link in labels.links]
    own = [link.subject for link in links if link.standing in ("own", "unrendered")]
    official = (gold or {}).get("official_repo_known_otherwise")
    if official:
        own.append(subject(str(official)))
    known = tuple(judged[s] for s in dict.fromkeys(own) if s in judged)
    return GoldPaper(name=path.parent.name, first=first, second=second, own=known)


def _judgements(folder: Path) -> dict[str, Judgement]:
    found: dict[str, Judgement] = {}
    for path in sorted(folder.glob("repos/*.json")):
        record = _object(path)
        judgement = record.get("judgement")
        if record.get("fetched") and isinstance(judgement, dict) and judgement.get("kind") and record.get("repo"):
            note = f"{path.name}: {judgement['kind']} {judgement.get('note') or ''}".strip()
            key = f"github:{record['repo']}".lower()
            found[key] = Judgement(str(record["repo"]), str(judgement["kind"]), note)
    return found


# ----------------------------------------------------------------------------------------------------- the first reader


def _first(gold: Mapping[str, Any]) -> Labels:
    links: list[LinkLabel] = []
    for entry in gold.get("code_links") or ():
        links += _link(entry, "own" if entry.get("visible_in_pdf", True) else "unrendered")
    for entry in gold.get("links_not_own_code") or ():
        links += _link(entry, "foreign")
    for key in ("weights_links", "data_links"):
        for entry in gold.get(key) or ():
            links += _link(entry, "own data or weights")
    metric = gold.get("metric") or {}
    values = [(metric.get("value"), f"{_cited(metric)} {metric.get('name') or ''}")]
    values += [(one[1], str(one[0])) for one in gold.get("other_metrics") or () if len(one) > 1]
    datasets = gold.get("datasets") or []
    with_repository = str(gold.get("tier_with_repo_knowledge") or "")
    alone = str(gold.get("tier_from_source_alone") or "")
    own = [link for link in links if link.standing in ("own", "unrendered")]
    return Labels(
        reader="first",
        links=tuple(links),
        commented=tuple(
            (Lines(str(e["file"]), int(e["line"]), int(e["line"])), str(e.get("quote") or ""))
            for e in gold.get("commented_out_links") or ()
            if e.get("file") and e.get("line")
        ),
        kind=NO_PAPER if "not a paper" in alone.lower() else None,
        values=tuple(_values(values)),
        statements=tuple(_first_statements(gold.get("compute") or ())),
        tier=tier_of(alone),
        tier_with_repository=tier_of(with_repository),
        code_claimed=bool(own) if "code_links" in gold else None,
        weights_claimed=bool(gold["weights_links"]) if "weights_links" in gold else None,
        data_public=all(bool(d.get("public")) for d in datasets) if datasets else None,
        notes={
            "code": "; ".join(link.evidence for link in own),
            "weights": "; ".join(link.evidence for link in links if link.standing == "own data or weights"),
            "data": ", ".join(f"{d.get('name')} ({'' if d.get('public') else 'not '}public)" for d in datasets),
            "tier": alone,
            "tier_with_repository": with_repository,
            "kind": alone,
        },
    )


def _link(entry: Mapping[str, Any], standing: Standing) -> Iterator[LinkLabel]:
    words = str(entry.get("url") or "").split()
    if words and _is_address(words[0]):
        yield LinkLabel(subject(words[0]), standing, f"{_cited(entry)} {entry.get('note') or entry.get('role') or ''}")


def _first_statements(entries: Iterable[Mapping[str, Any]]) -> Iterator[Statement]:
    for entry in entries:
        evidence = entry.get("evidence") or {}
        line = evidence.get("line")
        if not (evidence.get("file") and line):
            continue
        reading = str(entry.get("reading") or "")
        text = f"{reading} | {evidence.get('quote') or ''}"
        aside = bool(re.search(r"acknowledg|\bden(?:y|ies|ied|ial)", reading, re.IGNORECASE))
        yield Statement(Lines(str(evidence["file"]), int(line), int(line)), text, durations(text), aside)


# ---------------------------------------------------------------------------------------------------- the second reader


def _second(told: Mapping[str, Any]) -> Labels:
    links: list[LinkLabel] = []
    standings: tuple[tuple[str, Standing], ...] = (
        ("own_code_links", "own"),
        ("own_code_links_unrendered", "unrendered"),
        ("weights_links", "own data or weights"),
        ("own_data_links", "own data or weights"),
    )
    for key, standing in standings:
        for url in told.get(key) or ():
            links += _link({"url": url}, standing)
    target = told.get("target") or {}
    values = [(target.get("value"), f"{target.get('where') or ''} {target.get('metric') or ''}")]
    for other in told.get("target_alternatives") or ():
        what = other.get("what") or other.get("metric") or ""
        values.append((other.get("value"), f"{other.get('where') or ''} {what}"))
    signals = told.get("signals") or {}
    datasets = told.get("datasets") or []
    kind = told.get("paper_kind")
    return Labels(
        reader="second",
        links=tuple(links),
        kind=str(kind) if kind else NO_PAPER if "paper_kind" in told else None,
        values=tuple(_values(values)),
        statements=tuple(_second_statements(told.get("compute") or ())),
        tier=tier_of(str(told.get("tier_from_source_alone") or "")),
        code_claimed=signals.get("code_claimed"),
        weights_claimed=signals.get("weights_claimed"),
        data_public=signals.get("data_public"),
        data_standard=all(bool(d.get("standard_public")) for d in datasets) if datasets else None,
        notes={
            "data": ", ".join(
                f"{d.get('name')} ({'' if d.get('standard_public') else 'not '}standard)" for d in datasets
            ),
            "tier": f"{told.get('tier_from_source_alone') or ''}: {told.get('note') or ''}",
            "code": ", ".join(link.subject for link in links if link.standing in ("own", "unrendered")),
        },
    )


def _second_statements(entries: Iterable[Mapping[str, Any]]) -> Iterator[Statement]:
    for entry in entries:
        lines = _where(str(entry.get("where") or ""))
        if lines is None:
            continue
        devices, hours = str(entry.get("devices") or ""), entry.get("hours")
        text = f"{devices} | {entry.get('verbatim') or ''}"
        stated = (float(hours),) if isinstance(hours, (int, float)) else ()
        aside = (devices in ("", "API") and not stated) or "acknowledg" in str(entry.get("scope") or "").lower()
        yield Statement(lines, text, tuple(dict.fromkeys((*stated, *durations(text)))), aside)


def _where(text: str) -> Lines | None:
    found = re.search(r"([^\s:,]+\.\w+):(\d+)(?:-(\d+))?", text)
    return None if found is None else Lines(found[1], int(found[2]), int(found[3] or found[2]))


# ------------------------------------------------------------------------------------------------------- reading labels

_NUMBER = re.compile(r"[<>~≈≤≥$\s]*(?P<number>[-−+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?)(?P<rest>.*)", re.DOTALL)
_AFTER = re.compile(r"\s*(?:$|%|[x×](?![a-z])|[kKMB]\b|±|\\pm|\+/-|\(|,|vs\b|(?:ms|s|min|h)\b)")


def numbers_of(text: str) -> tuple[float, ...]:
    """The value or values that a label or a proposal prints: "11,264x" is 11264, "96.53 ± 0.16" is 96.53, "a vs b"
    both.

    A sentence that merely begins with a number ("5 of 6 cases") prints no value.
    """
    found: list[float] = []
    for part in re.split(r"\bvs\.?\s", text):
        match = _NUMBER.match(part)
        if match and re.search(r"\d", match["number"]) and _AFTER.match(match["rest"]):
            found.append(float(match["number"].replace(",", "").replace("−", "-")))
    return tuple(found)


def _values(told: Iterable[tuple[Any, str]]) -> Iterator[Value]:
    for text, evidence in told:
        numbers = numbers_of(str(text)) if text is not None else ()
        if numbers:
            yield Value(str(text), numbers, evidence.strip())


_UNITS = {"sec": 1 / 3600, "min": 1 / 60, "h": 1.0, "day": 24.0, "week": 168.0}
_WORDS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "ten": 10,
    "thirty": 30,
}
_AMOUNT = r"\d+(?:,\d{3})*(?:\.\d+)?"
_DURATION = re.compile(
    rf"(?<![\w.])(?P<low>{_AMOUNT}|{'|'.join(_WORDS)})(?:\s*(?:-+|–|—|to)\s*(?P<high>{_AMOUNT}))?"
    r"[\s$~-]*(?:[A-Z]{1,4}\d+[\s-]*)?(?:GPU|TPU|CPU)?[\s-]*(?P<unit>sec|min|h(?:ours?|rs?)?\b|day|week)",
    re.IGNORECASE,
)


def durations(text: str) -> tuple[float, ...]:
    """The durations a label states, in hours; of a range both ends."""
    found: list[float] = []
    for match in _DURATION.finditer(text):
        unit = next(hours for name, hours in _UNITS.items() if match["unit"].lower().startswith(name))
        for number in (match["low"], match["high"]):
            if number:
                value = _WORDS.get(number.lower())
                found.append((value if value is not None else float(number.replace(",", ""))) * unit)
    return tuple(dict.fromkeys(found))


def tier_of(text: str) -> Tier | None:
    """The tier a label begins with, or None where it begins otherwise ("not fetched", "no experiment")."""
    for tier in Tier:
        if re.match(rf"{re.escape(tier.value)}\b", text.strip()):
            return tier
    return None


def _is_address(word: str) -> bool:
    return "://" in word or word.startswith("www.")


def _cited(entry: Mapping[str, Any]) -> str:
    evidence = entry.get("evidence") or {}
    place = f"{evidence.get('file')}:{evidence.get('line')}" if evidence.get("file") else ""
    quote = f" “{evidence['quote']}”" if evidence.get("quote") else ""
    return (place + quote).strip()


def _object(path: Path) -> dict[str, Json]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise GoldError(f"{path}: not readable JSON: {error}") from error
    if not isinstance(value, dict):
        raise GoldError(f"{path}: not a JSON object")
    return value
