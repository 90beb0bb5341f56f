"""What changed from one frozen version to the next, row by row and field by field, and what made it change.

A cause is found by leaving it out: an event of the ledger that is new since the old version caused a change if the
change would not be there without it. What no event explains comes from another edition, other evidence or other code.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from pipeline.audit import Audited, audit, replay
from pipeline.derivation import Derivation, Rules
from pipeline.events import Entry, Event, fold, fold_order
from pipeline.evidence import Json, canonical
from pipeline.release.compose import Composition, Material
from pipeline.release.contents import plain
from pipeline.release.folder import open_sealed
from pipeline.release.rows import Split, published_row
from pipeline.release.tables import Lines
from pipeline.replacement import audited_pool, by_tier

What = Literal["added", "dropped", "moved", "changed"]
LATER = ("CHANGELOG.md", "ERRATA.md", "changelog.jsonl")
"""Companions of every version but the first."""


class HistoryError(ValueError):
    """The version before is not there as it was frozen; the message says what to do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Past:
    """A frozen version, as the next one is compared with it. `rows` by paper, each with its split in it."""

    name: str
    edition_hash: str
    rows: Mapping[str, Mapping[str, Json]]
    sample: Mapping[str, str]
    receipts: Mapping[str, str]
    entries: tuple[Entry, ...]

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Raises HistoryError for a folder that is no whole release: nothing can be said to have changed since."""
        sealed, checks = open_sealed(folder)
        if sealed is None:
            first = next(failure for check in checks for failure in check.failures)
            raise HistoryError(
                f"{folder} is not as it was frozen ({first}); put it back before a version that follows it is frozen"
            )
        return cls(
            name=folder.name,
            edition_hash=sealed.manifest["edition_hash"],
            rows={row["custom_id"]: row for table in ("eval", "dev") for row in sealed.lines(table)},
            sample={line["arxiv_id"]: canonical(line) for line in sealed.lines("sample")},
            receipts={line["id"]: canonical(line) for line in sealed.lines("receipts")},
            entries=tuple(Entry.from_json(line) for line in sealed.lines("ledger")),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """An event of the ledger, or one of the words edition, evidence, code where none is at fault."""

    word: Literal["event", "edition", "evidence", "code"]
    entry: Entry | None = None

    def to_json(self) -> dict[str, Json]:
        if self.entry is None:
            return {"cause": self.word}
        event = self.entry.event
        told: dict[str, Json] = {"kind": event.kind, "paper": event.paper, "who": event.who, "at": event.at}
        told |= {"question": event.question} if event.question else {}
        return {"cause": "event", "id": event.id, "site": self.entry.site, "seq": self.entry.seq, **told}

    def __str__(self) -> str:
        if self.entry is None:
            return self.word
        event = self.entry.event
        about = f"{event.kind}{f' of {event.question}' if event.question else ''} by {event.who}, {event.at}"
        return f"{about}, about {event.paper} ({self.entry.site} {self.entry.seq})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One field of a row, by its path (`match_target.value`); None is also what a field that is not there has."""

    path: str
    before: Json
    after: Json
    causes: tuple[Cause, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Changed:
    """One row that is not what it was. `before` and `after` are its splits, None where it was or is in none; `causes`
    why it came, went or moved; `fields` in order of their paths, of a row that is in a split in both versions."""

    what: What
    paper: str
    before: Split | None
    after: Split | None
    causes: tuple[Cause, ...] = ()
    fields: tuple[Field, ...] = ()

    def to_json(self) -> dict[str, Json]:
        fields = [
            {"field": f.path, "before": f.before, "after": f.after, "causes": [c.to_json() for c in f.causes]}
            for f in self.fields
        ]
        told = {"custom_id": self.paper, "what": self.what, "before": self.before, "after": self.after}
        return {**told, "causes": [c.to_json() for c in self.causes], "fields": fields}


@dataclass(frozen=True, kw_only=True, slots=True)
class Changelog:
    """`name` after `past`. `errata` by the version they are about, in fold order; `rows` in order of ids."""

    name: str
    past: str
    rows: tuple[Changed, ...]
    errata: Mapping[str, tuple[Entry, ...]]


def changelog(name: str, past: Past, material: Material, made: Composition) -> Changelog:
    """Compare a composition that is to be frozen as `name` with the version before it."""
    now = {r.custom_id: r.model_dump(mode="json") for rows in made.rows.values() for r in rows}
    without = _Without(past, material, made)
    changes = []
    for paper in sorted(past.rows.keys() | now.keys()):
        before, after = past.rows.get(paper), now.get(paper)
        was, is_ = (None if row is None else row["split"] for row in (before, after))
        what: What = "added" if was is None else "dropped" if is_ is None else "moved" if was != is_ else "changed"
        causes = without.of_place(paper, is_) if was != is_ else ()
        fields = () if before is None or after is None else tuple(_fields(paper, before, after, without))
        if what != "changed" or fields:
            changes.append(Changed(what=what, paper=paper, before=was, after=is_, causes=causes, fields=fields))
    return Changelog(name=name, past=past.name, rows=tuple(changes), errata=errata(past.name, material.entries))


def errata(past: str, entries: Iterable[Entry]) -> dict[str, tuple[Entry, ...]]:
    """Errata that count, by the version they are about: the one `value.release` names, else the version before."""
    counted = {event.id for event in fold(entries)}
    found: dict[str, list[Entry]] = {}
    for entry in {e.event.id: e for e in reversed(fold_order(entries))}.values():
        if entry.event.kind == "erratum" and entry.event.id in counted:
            value = entry.event.value
            named = value.get("release") if isinstance(value, dict) else None
            found.setdefault(named if isinstance(named, str) and named else past, []).append(entry)
    return {version: tuple(fold_order(found[version])) for version in sorted(found)}


_SPLIT = ("split",)
"""Told by the row's move itself."""


def _fields(paper: str, before: Mapping[str, Json], after: Mapping[str, Json], without: _Without) -> Iterator[Field]:
    a, b = dict(_flat(before)), dict(_flat(after))
    for path in sorted(a.keys() | b.keys()):
        if path not in _SPLIT and canonical(a.get(path)) != canonical(b.get(path)):
            causes = without.of_field(paper, path, b.get(path))
            yield Field(path=path, before=a.get(path), after=b.get(path), causes=causes)


def _flat(value: Mapping[str, Json], above: str = "") -> Iterator[tuple[str, Json]]:
    """A row's fields by path. Lists are values: what is in a list of links is changed as a whole."""
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _flat(inner, f"{above}{name}.")
        else:
            yield f"{above}{name}", inner


class _Without:
    """The composition as it would be without some of the ledger's entries.

    Only what such an entry can reach is derived again: the row of its paper, and the splits.
    """

    def __init__(self, past: Past, material: Material, made: Composition) -> None:
        known = {(e.site, e.seq) for e in past.entries}
        self._past, self._material, self._made = past, material, made
        self._new = [e for e in fold_order(material.entries) if (e.site, e.seq) not in known]
        self._rules = Rules.of(material.edition)
        self._derived = {row.arxiv_id: row for row in made.derivations}
        self._audited = {row.arxiv_id: row for row in made.audited}

    def of_field(self, paper: str, path: str, after: Json) -> tuple[Cause, ...]:
        mine = [e for e in self._new if e.event.paper == paper]

        def changed_without(left_out: Sequence[Entry]) -> bool:
            row = self._row(paper, left_out)
            return canonical(dict(_flat(row)).get(path) if row else None) != canonical(after)

        alone = [e for e in mine if changed_without([e])]
        found = alone or (mine if len(mine) > 1 and changed_without(mine) else [])
        return tuple(Cause(word="event", entry=e) for e in found) or self._else([paper])

    def of_place(self, paper: str, after: Split | None) -> tuple[Cause, ...]:
        # One paper at a time first: what is new may be a whole audit, and a replay of the splits takes milliseconds.
        def elsewhere_without(left_out: Sequence[Entry]) -> bool:
            return self._place(paper, left_out) != after

        by_paper: dict[str, list[Entry]] = {}
        for entry in self._new:
            by_paper.setdefault(entry.event.paper, []).append(entry)
        found: list[Entry] = []
        for entries in by_paper.values():
            if elsewhere_without(entries):
                alone = [e for e in entries if len(entries) > 1 and elsewhere_without([e])]
                found += alone or entries
        if not found and self._new and elsewhere_without(self._new):
            found = self._new
        if found:
            return tuple(Cause(word="event", entry=e) for e in fold_order(found))
        return self._else(sorted({i.arxiv_id for i in self._material.sample} | self._past.sample.keys()))

    def _else(self, papers: Sequence[str]) -> tuple[Cause, ...]:
        """What else is not as it was, of what these papers' rows follow from."""
        found: list[Cause] = []
        if self._material.edition.hash != self._past.edition_hash:
            found.append(Cause(word="edition"))
        if any(self._evidence_differs(paper) for paper in papers):
            found.append(Cause(word="evidence"))
        return tuple(found) or (Cause(word="code"),)

    def _evidence_differs(self, paper: str) -> bool:
        inputs = next((i for i in self._material.sample if i.arxiv_id == paper), None)
        if inputs is None or self._past.sample.get(paper) != canonical(inputs.model_dump(mode="json")):
            return True
        known = (self._material.receipts[i] for i in inputs.citable if i in self._material.receipts)
        return any(self._past.receipts.get(r.id) != canonical(r.to_json()) for r in known)

    def _events(self, left_out: Sequence[Entry]) -> list[Event]:
        out = {(e.site, e.seq) for e in left_out}
        return fold(e for e in self._material.entries if (e.site, e.seq) not in out)

    def _judged(self, row: Derivation, events: Sequence[Event]) -> Audited:
        mine = [e for e in events if e.paper == row.arxiv_id]
        return audit(row, mine, self._material.receipts, self._rules)

    def _row(self, paper: str, left_out: Sequence[Entry]) -> Mapping[str, Json] | None:
        split = self._made.splits.split(paper)
        if split is None:
            return None
        again = self._judged(self._derived[paper], self._events(left_out))
        try:
            return published_row(again, split, self._material.edition).model_dump(mode="json")
        except ValueError:  # without them the row cannot be published at all
            return None

    def _place(self, paper: str, left_out: Sequence[Entry]) -> Split | None:
        edition, drawn, events = self._material.edition, self._made.pool, self._events(left_out)
        touched = {e.event.paper for e in left_out}

        def judged(row: Derivation) -> Audited:
            known = None if row.arxiv_id in touched else self._audited.get(row.arxiv_id)
            return known or self._judged(row, events)

        pool, reserve = ([self._derived[i] for i in ids] for ids in (drawn.ids, drawn.reserve))
        rows = [row for part in audited_pool(pool, by_tier(reserve), edition, judged, events) for row in part]
        return replay(sorted(rows, key=lambda row: row.arxiv_id), edition, events).split(paper)


def lines(log: Changelog) -> Lines:
    return [row.to_json() for row in log.rows]


_TITLES: Mapping[What, str] = {
    "added": "Rows added",
    "dropped": "Rows dropped",
    "moved": "Rows moved to the other split",
    "changed": "Rows changed",
}
_CHARS = 300
"""Of a value, as the Markdown shows it; `changelog.jsonl` has it whole."""


def markdown(log: Changelog) -> str:
    """CHANGELOG.md: every change since the version before, each with its causes."""
    out = [f"# {log.name}: what changed since {log.past}", ""]
    counts = ", ".join(f"{sum(r.what == what for r in log.rows)} {what}" for what in _TITLES)
    out += [f"{counts}. `changelog.jsonl` holds the same, whole, one row a line.", ""]
    for what, title in _TITLES.items():
        rows = [row for row in log.rows if row.what == what]
        if not rows:
            continue
        out += [f"## {title}", ""]
        for row in rows:
            out += [f"### {row.paper}", ""]
            if what != "changed":
                where = {"added": f"into {row.after}", "dropped": f"out of {row.before}"}
                out += [f"- {where.get(what, f'from {row.before} to {row.after}')}: {_why(row.causes)}"]
            for field in row.fields:
                out += [f"- `{field.path}`: {_shown(field.before)} → {_shown(field.after)}: {_why(field.causes)}"]
            out += [""]
    return "\n".join(out).rstrip("\n") + "\n"


def errata_text(log: Changelog) -> str:
    """ERRATA.md: what people found wrong, by the version that has it. The versions themselves stay as they are."""
    out = ["# Errata", "", "A frozen version is never edited; what is wrong with one stands here.", ""]
    for version, entries in log.errata.items():
        out += [f"## {_plain(version)}", ""]
        for entry in entries:
            event = entry.event
            proof = f" Evidence: {', '.join(_plain(e) for e in event.evidence)}." if event.evidence else ""
            out += [f"- {event.paper}: {_plain(event.why)} ({_plain(event.who)}, {event.at}, {event.id[:16]}).{proof}"]
        out += [""]
    if not log.errata:
        out += ["None is known.", ""]
    return "\n".join(out).rstrip("\n") + "\n"


def companions_of(log: Changelog) -> dict[str, bytes]:
    """The files of `LATER`, by name."""
    jsonl = "".join(canonical(line) + "\n" for line in lines(log))
    texts = {"CHANGELOG.md": markdown(log), "ERRATA.md": errata_text(log), "changelog.jsonl": jsonl}
    return {name: texts[name].encode() for name in LATER}


def _why(causes: Iterable[Cause]) -> str:
    return "; ".join(_because(cause) for cause in causes)


def _because(cause: Cause) -> str:
    why = "" if cause.entry is None else _plain(cause.entry.event.why)
    return f"{_plain(str(cause))}{f' (“{why}”)' if why else ''}"


def _plain(text: str) -> str:
    return plain(" ".join(text.split())[:_CHARS])


def _shown(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    text = text if len(text) <= _CHARS else text[:_CHARS] + "…"
    fence = "`" * (1 + max((len(run) for run in _runs_of_ticks(text)), default=0))
    return f"{fence}{text}{fence}"


def _runs_of_ticks(text: str) -> list[str]:
    return [run for run in "".join(c if c == "`" else " " for c in text).split() if run]
