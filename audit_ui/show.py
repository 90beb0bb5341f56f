"""Papers and receipts as plain values that a template can print: who wrote them is not trusted, so nothing here is
markup."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import sqlalchemy as sa

from pipeline import compute
from pipeline.artifacts import url
from pipeline.derivation import Derivation, PartInput
from pipeline.evidence import Exchange, Json, Receipt, Signal
from pipeline.paper import Paper, Table
from pipeline.record_tables import exchanges, sightings
from pipeline.store import Store
from pipeline.targets import Target


@dataclass(frozen=True, slots=True)
class Span:
    text: str
    mark: str = ""  # claim, target, hours or ""
    first: bool = False  # the first span of its mark: the place to jump to


@dataclass(frozen=True, slots=True)
class CellView:
    text: str
    header: bool
    rowspan: int
    colspan: int
    target: bool
    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a heading, or a table."""

    kind: str
    spans: tuple[Span, ...] = ()
    number: str = ""
    caption: str = ""
    rows: tuple[tuple[CellView, ...], ...] = ()
    target: bool = False


def blocks(paper: Paper, row: Derivation) -> tuple[Block, ...]:
    """The paper in reading order, its tables as tables, with the claim's quote, the target and quoted times marked."""
    marks = _marks(paper, row)
    tables = sorted((t for t in paper.tables if 0 <= t.anchor.offset < t.end), key=lambda t: t.anchor.offset)
    captions = {" ".join(f"Table {t.number}: {t.caption}".split()) for t in tables}
    found: list[Block] = []
    seen: set[str] = set()
    at = 0
    for table in tables:
        if table.anchor.offset < at:
            continue
        found += _text(paper.text, at, table.anchor.offset, marks, captions, seen)
        found.append(_table(table, row.inputs.target))
        at = table.end
    found += _text(paper.text, at, len(paper.text), marks, captions, seen)
    return tuple(found)


def _marks(paper: Paper, row: Derivation) -> list[tuple[int, int, str]]:
    quotes = [(row.inputs.claim_quote, "claim")]
    target = row.inputs.target
    if target is not None and target.anchor.table is None:
        quotes.append((target.anchor.quote, "target"))
    quotes += [(part.quote, "hours") for part in row.inputs.compute]
    found: list[tuple[int, int, str]] = []
    for quote, name in quotes:
        start = paper.find(quote) if quote else None
        if start is not None:
            words = re.compile(r"\s+".join(map(re.escape, quote.split())))
            held = words.match(paper.text, start)
            found.append((start, held.end() if held else start + len(quote), name))
    return sorted(found)


def _text(
    text: str, start: int, end: int, marks: Sequence[tuple[int, int, str]], captions: set[str], seen: set[str]
) -> Iterable[Block]:
    for held in re.finditer(r"\S(?:.|\n(?!\s*\n))*", text[start:end]):
        a, b = start + held.start(), start + held.end()
        cuts = sorted({a, b, *(min(max(c, a), b) for s, e, _ in marks for c in (s, e) if s < b and e > a)})
        spans = []
        for left, right in pairwise(cuts):
            mark = next((name for s, e, name in marks if s <= left and right <= e), "")
            spans.append(Span(text[left:right], mark, bool(mark) and mark not in seen))
            seen.add(mark)
        plain = " ".join(text[a:b].split())
        if plain in captions:
            continue
        # The reader writes headings as "## 3 Method"; the signs say what the element says already.
        signs = len(plain) - len(plain.lstrip("#"))
        if signs and len(spans) == 1:
            yield Block("heading", (Span(plain.lstrip("# ")),))
        else:
            yield Block("text", tuple(spans))


def _table(table: Table, target: Target | None) -> Block:
    anchor = target.anchor if target is not None else None
    here = anchor is not None and (anchor.table, anchor.file) == (table.number, table.anchor.file)
    rows: list[tuple[CellView, ...]] = []
    for r, cells in enumerate(table.grid):
        line: list[CellView] = []
        for c, cell in enumerate(cells):
            if cell is None:
                line.append(CellView("", r < table.header_rows, 1, 1, False, r, c))
            elif (cell.row, cell.column) == (r, c):
                spanned = range(c, c + cell.colspan)
                hit = here and anchor is not None and anchor.row == r and anchor.column in spanned
                line.append(
                    CellView(cell.text, r < table.header_rows, cell.rowspan, cell.colspan, hit, cell.row, cell.column)
                )
        rows.append(tuple(line))
    return Block("table", (), table.number, table.caption, tuple(rows), here)


@dataclass(frozen=True, slots=True)
class ExchangeView:
    method: str
    chain: tuple[tuple[int, str], ...]
    final_url: str
    status: str
    seen: str
    stranger: bool
    body: str
    size: int


@dataclass(frozen=True, slots=True)
class ReceiptView:
    id: str
    tool: str
    about: str
    address: str
    outcome: str
    reason: str
    asked: str
    words: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, int | None], ...]
    exchanges: tuple[ExchangeView, ...]
    stranger: bool
    own: bool
    second_look: bool


def receipts(store: Store, row: Derivation, known: Mapping[str, Receipt]) -> dict[str, ReceiptView]:
    """Every receipt of a row that a person may cite, by id: its episode's in call order, then those of second looks."""
    mine = [known[i] for i in row.inputs.citable if i in known]
    sent = _exchanges(store, [e for r in mine for e in r.exchanges])
    return {r.id: view(r, sent, row) for r in mine}


def view(receipt: Receipt, sent: Mapping[str, tuple[Exchange, str]], row: Derivation) -> ReceiptView:
    places = {s for c in row.inputs.contexts.values() for group in c["groups"] for s in group}
    search = receipt.subject.startswith("search:")
    return ReceiptView(
        id=receipt.id,
        tool=receipt.tool,
        about=receipt.subject,
        address="" if search or receipt.subject.startswith("supplement:") else safe(url(receipt.subject)),
        outcome=str(receipt.outcome),
        reason=receipt.reason,
        asked=", ".join(f"{k} {v}" for k, v in receipt.arguments.items() if v),
        words=tuple(_facts(receipt.facts)),
        files=tuple(_files(receipt.facts)),
        exchanges=tuple(_exchange(*sent[e]) for e in receipt.exchanges if e in sent),
        stranger=not receipt.facts.get("authenticated"),
        own=receipt.subject in places,
        second_look=receipt.id not in row.inputs.receipts,
    )


def safe(address: str) -> str:
    """An address a person may follow, or "": nothing but the web's own schemes becomes a link."""
    return address if re.match(r"https?://[^\s\"'<>]+$", address) else ""


def _exchange(exchange: Exchange, seen: str) -> ExchangeView:
    return ExchangeView(
        method=exchange.method,
        chain=exchange.redirects,
        final_url=exchange.final_url or exchange.url,
        status=str(exchange.status or exchange.fault or "no answer"),
        seen=seen,
        stranger=not exchange.authenticated,
        body=exchange.body_sha256 or "",
        size=exchange.body_size,
    )


_SHOWN = {
    "full_name": "name", "license": "licence", "commit": "commit", "pushed_at": "last pushed", "title": "title",
    "gated": "gate", "fork_of": "fork of", "moved_elsewhere": "moved to", "names_paper": "names the paper by",
    "code_files": "code files", "train_entries": "trains with", "eval_entries": "evaluates with",
    "weights_open": "weights a stranger got", "data_open": "data a stranger got", "base_model": "base model",
    "adapter_only": "adapter only", "eval_only": "evaluation only", "readme_only": "README only", "empty": "empty",
    "coming_soon": "coming soon", "construction_scripts": "makes its data with", "wall": "wall",
    "final_url": "page after redirects", "results": "results", "complete": "complete search", "unseen": "not seen",
    "archived": "archived", "quote": "quoted", "website_only": "website only",
}  # fmt: skip


def _facts(facts: Mapping[str, Json]) -> Iterable[tuple[str, str]]:
    for name, word in _SHOWN.items():
        value = facts.get(name)
        if value in (None, False, "", []) and not (name == "results" and value == []):
            continue
        if isinstance(value, list):
            listed = [str(v.get("path") or v.get("url") or v) if isinstance(v, dict) else str(v) for v in value]
            text = ", ".join(listed[:4]) + (f" and {len(listed) - 4} more" if len(listed) > 4 else "")
            yield word, text or "none"
        else:
            yield word, "yes" if value is True else str(value)[:200]


def _files(facts: Mapping[str, Json]) -> Iterable[tuple[str, int | None]]:
    for name in ("weight_files", "code_sample", "data_sample", "release_assets"):
        listed = facts.get(name)
        for one in listed[:8] if isinstance(listed, list) else ():
            if isinstance(one, dict):
                yield str(one.get("path") or one.get("name") or "?"), one.get("size")
            else:
                yield str(one), None


def _exchanges(store: Store, ids: Sequence[str]) -> dict[str, tuple[Exchange, str]]:
    """Exchanges by id, each with when it was last seen."""
    found: dict[str, tuple[Exchange, str]] = {}
    wanted = sorted(set(ids))
    last = sa.func.max(sightings.c.seen_at)
    with store.engine.connect() as connection:
        for start in range(0, len(wanted), 500):  # SQLite bounds the number of parameters of a statement
            some = wanted[start : start + 500]
            query = (
                sa.select(exchanges.c.id, exchanges.c.json, last)
                .outerjoin(sightings, sightings.c.exchange_id == exchanges.c.id)
                .where(exchanges.c.id.in_(some))
                .group_by(exchanges.c.id, exchanges.c.json)
            )
            for id_, text, seen in connection.execute(query):
                found[id_] = (Exchange.from_json(json.loads(text)), (seen or "")[:16].replace("T", " "))
    return found


def bodies(store: Store, row: Derivation, known: Mapping[str, Receipt]) -> set[str]:
    """Hashes of the bodies behind a row's receipts: no other blob is shown beside this paper."""
    sent = _exchanges(store, [e for i in row.inputs.citable if i in known for e in known[i].exchanges])
    return {exchange.body_sha256 for exchange, _ in sent.values() if exchange.body_sha256}


def for_signal(signal: Signal, row: Derivation, known: Mapping[str, Receipt]) -> tuple[list[str], list[str]]:
    """Ids of receipts about a signal's places and searches, and ids of the others; both in call order.

    Chosen by what could hold the artifact, never by what the label rests on.
    """
    context = row.inputs.contexts.get(str(signal), {"groups": []})
    places = {s for group in context["groups"] for s in group}
    search = {Signal.CODE: "search:github"}.get(signal, "search:hub")
    mine: list[str] = []
    others: list[str] = []
    for id_ in row.inputs.citable:
        if id_ in known:
            near = known[id_].subject in places or known[id_].subject.startswith(search)
            (mine if near else others).append(id_)
    return mine, others


def bar_words(target: Target) -> str:
    bar = target.bar
    if bar.op == "between":
        return f"between {bar.low:g} and {bar.high:g}"
    if bar.op == "within":
        source = {"authors": "the paper's ±", "default_relative": "the default share", "absolute": "absolute"}
        return f"within {bar.tolerance:.4g} of {bar.reference:g} ({source[bar.tolerance_source or 'absolute']})"
    word = {">": "above", "<": "below", ">=": "at least", "<=": "at most"}[bar.op]
    return f"{word} {bar.reference:g}" + (" (the baseline's value)" if bar.kind == "direction" else "")


def part_words(part: PartInput) -> str:
    device = compute.match_device(part.device)
    if part.device_hours is not None:
        time = f"{part.device_hours:.3g} device-hours"
    elif part.wall_hours is not None:
        time = f"{'?' if part.count is None else f'{part.count:g}'} × {part.wall_hours:.3g} h"
    else:
        time = "no time stated"
    factor = f"× {device.factor:g} ({device.low:g}–{device.high:g})" if device else "no factor"
    return f"{part.kind}: {part.runs} run{'s' * (part.runs != 1)} of {time} on {part.device or 'no device'} {factor}"


def value_words(question: str, value: Json) -> str:
    """An answer as a person reads it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return (
            "unknown"
            if question == "hours"
            else "none"
            if question in ("target", "bar", "claim")
            else "no receipt settles it"
        )
    if isinstance(value, list):
        return ", ".join(v.replace("_", " ") for v in value) or "nothing"
    if isinstance(value, dict):
        shown = {"claim": "claim", "target": "value", "bar": "kind"}.get(question, "")
        return f"corrected: {value.get(shown, '')}"
    if isinstance(value, int | float):
        return f"{value:g} H100-hours"
    return {"not_needed": "not applicable", "cannot_tell": "cannot tell"}.get(value, str(value))


def proposed(question: str, value: Json) -> str:
    """What a reading by a classifier says: a whole target, a claim's quote, hours, or an answer."""
    if isinstance(value, dict):
        return f"{value.get('value', '')} {value.get('metric', '')} ({value.get('config', '')})".replace(
            " ()", ""
        ).strip()
    return f"“{value}”" if question == "claim" and isinstance(value, str) else value_words(question, value)


def said(question: str, canonical: str) -> str:
    """A counted answer, which agreement keeps as canonical JSON."""
    return value_words(question, json.loads(canonical))


def difference(before: Receipt, now: Receipt) -> list[tuple[str, str, str]]:
    """What a call gives now that it did not give then: (what, then, now)."""
    found = [] if before.outcome is now.outcome else [("outcome", str(before.outcome), str(now.outcome))]
    if before.reason != now.reason:
        found.append(("reason", before.reason, now.reason))
    for name in sorted({*before.facts, *now.facts}):
        a, b = before.facts.get(name), now.facts.get(name)
        if a != b:
            found.append((name.replace("_", " "), _short(a), _short(b)))
    return found


def _short(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else text[:160] + "…"
