"""Compute mentions of a whole paper: clauses of its sentences, and rows of tables whose header names a unit of time.

A clause without a device takes its sentence's, else that of the sentences just before it in the same paragraph.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pipeline.paper.compute import Reading, read_clauses
from pipeline.paper.devices import NAME, find_devices, variant
from pipeline.paper.durations import unit_hours
from pipeline.paper.model import Anchor, Cell, ComputeMention, Sentence, Table

REACH = 3  # sentences a device is carried on
MAX_TABLE_MENTIONS = 60  # of one table

# A compute statement has one of these in it: only such sentences are read closely.
_NAMED = re.compile(
    r"[A-Z$](?:PU|\d\d|VIDIA|vidia|TX|itan|ITAN|LOP|olab|acBook|eon|PYC|uadro|eForce|SD|4\b|esla|rainium|rillium|audi"
    r"|erebras|adeon|yzen|hreadripper|raviton|etson|nstinct|scend|GX|I[1-3]|\s?\d)"
)
_CLOCK = re.compile(r"\d(?:\s?h(?:rs?)?(?![A-Za-z0-9])|0[5-9]0(?!\d))")
_NEEDLES = ("hour", "minute", "seconds", "-day", "laptop", " day", " week", " month", " min", " sec")
# Thanks and denials need no number, but a word of their own beside the hardware.
_WEAK = ("omput", "luster", "loud", "ardware")
_SPOKEN = re.compile(
    r"thank|grate|cknowledg|support|fund|donat|generous|credit|available by|grant|alloc|\bnot\b|n't|\bno\b|\bNo\b"
)

_UNIT = r"(?P<unit>hours?|hrs?\.?|h|days?|d|minutes?|mins?\.?|seconds?|secs?\.?|s)"
_HEADED = re.compile(
    rf"(?P<device>{NAME}|[GTC]PU|[Cc]ore|[Nn]ode|[Dd]evice)s?[\s-]?(?i:{_UNIT})(?![A-Za-z])"
    rf"|[\[(,/]\s?(?P<device2>{NAME}\s?|[GTC]PU[\s-]?)?(?i:{_UNIT.replace('unit', 'unit2')})"
    r"(?P<per>\s?(?:/|per)\s?\w+)?\s?[\])]?$"
    rf"|^(?i:(?:training |total |wall[- ]?clock )?(?P<unit3>hours|days|minutes))$"
)
_COSTS = re.compile(r"train|wall|total|run[- ]?time|comput|\bcost|GPU|TPU|budget|search time|fine-?tun", re.IGNORECASE)
_NO_COST = re.compile(
    r"latency|inference|per (?:sample|image|query|token|frame)|horizon|delay|length|speech|audio|footage", re.IGNORECASE
)
_HOW_MANY = re.compile(
    r"^(?:#|no\.?|num(?:ber)?\.?)?\s?(?:of )?(?:GPU|TPU|device|card|chip|accelerator)s?$", re.IGNORECASE
)
_RANGE = re.compile(r"^[<>≤≥~∼≈ ]*(\d[\d,]*(?:\.\d+)?)\s?[–—-]\s?(\d[\d,]*(?:\.\d+)?)")
_TIMED_CELL = re.compile(r"\d\s?(?:h|hrs?|hours?|min|minutes?|days?|d|s|sec|seconds?|ms)\b")

_NOTE = re.compile(r"\[Footnote: ([^\[\]]*)\]")


def mentions(text: str, sentences: Sequence[Sentence], tables: Sequence[Table]) -> tuple[ComputeMention, ...]:
    """Every compute mention in reading order. A clause's anchor has its own offset and its sentence's lines."""
    starts = [s.anchor.offset for s in sentences]
    rows: dict[int, list[ComputeMention]] = {}
    for table in tables:
        for at, one in _in_table(table, sentences, starts):
            rows.setdefault(at, []).append(one)
    found: list[ComputeMention] = []
    last: tuple[int, ComputeMention] | None = None
    for k in _candidates(text, sentences, starts, rows):
        sentence = sentences[k]
        if sentence.place in ("bibliography", "title"):
            continue
        made = _in_sentence(sentence)
        if k in rows:
            made = _with_row(made, rows[k])
        made = _shared(made)
        if last is not None and k - last[0] <= REACH and sentence.place != "table":
            before = last[1]
            if before.devices and "\n" not in text[before.anchor.offset : sentence.anchor.offset]:
                made = [_inheriting(m, before) for m in made]
        found += made
        if made:
            last = (k, next((m for m in reversed(made) if m.devices), made[-1]))
    return tuple(found)


def _candidates(
    text: str, sentences: Sequence[Sentence], starts: Sequence[int], rows: dict[int, list[ComputeMention]]
) -> list[int]:
    """Indices of the sentences that may speak of compute, in order."""
    chosen = set(rows)
    listed = [s.place == "bibliography" for s in sentences]
    first = listed.index(True) if True in listed else len(listed)
    past = len(listed) - listed[::-1].index(True) if True in listed else first
    before = starts[first] if first < len(starts) else len(text)
    for low, high in ((0, before), (starts[past] if past < len(starts) else len(text), len(text))):
        for pattern in (_NAMED, _CLOCK):
            chosen.update(bisect_right(starts, m.start()) - 1 for m in pattern.finditer(text, low, high))
        for word in _NEEDLES:
            chosen.update(bisect_right(starts, at + 1) - 1 for at in _occurrences(text, word, low, high))
        for word in _WEAK:
            for k in {bisect_right(starts, at) - 1 for at in _occurrences(text, word, low, high)}:
                if k >= 0 and k not in chosen and _SPOKEN.search(sentences[k].text):
                    chosen.add(k)
    chosen.discard(-1)
    return sorted(chosen)


def _occurrences(text: str, word: str, low: int, high: int) -> Iterator[int]:
    at = text.find(word, low, high)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word), high)


def _in_sentence(sentence: Sentence) -> list[ComputeMention]:
    """The clauses of a sentence; a footnote in it speaks for itself."""
    whole = sentence.text
    stretches = [(0, whole)]
    if "[Footnote: " in whole:
        stretches = [(0, _NOTE.sub(lambda m: " " * len(m[0]), whole))]
        stretches += [(m.start(1), m[1]) for m in _NOTE.finditer(whole)]
    made = []
    for shift, stretch in stretches:
        for start, end, reading in read_clauses(stretch):
            start, end = start + shift, end + shift
            here = replace(sentence.anchor, offset=sentence.anchor.offset + start)
            made.append(_mention(whole[start:end], here, reading, whole))
    return made


def _mention(quote: str, anchor: Anchor, r: Reading, sentence: str) -> ComputeMention:
    return ComputeMention(
        quote=quote,
        anchor=anchor,
        devices=r.devices,
        count=r.count,
        hours=r.hours,
        hours_range=r.hours_range,
        hours_kind=r.hours_kind,
        epochs=r.epochs,
        steps=r.steps,
        time_per_step=r.time_per_step,
        time_per_epoch=r.time_per_epoch,
        flops=r.flops,
        cost_usd=r.cost_usd,
        scope=r.scope,
        includes_failed=r.includes_failed,
        denial=r.denial,
        acknowledgement=r.acknowledgement,
        cpu_only=r.cpu_only,
        subject=r.subject,
        sentence=sentence,
    )


def _shared(made: list[ComputeMention]) -> list[ComputeMention]:
    """Clauses of one sentence lend each other their device: the one before first, else the one after."""
    if len(made) < 2:
        return made
    done: list[ComputeMention] = []
    for k, mention in enumerate(made):
        lender = next((m for m in reversed(done) if m.devices), None) or next(
            (m for m in made[k + 1 :] if m.devices), None
        )
        if lender is not None:
            mention = _inheriting(mention, lender)
        elif mention.count is None and done:
            mention = replace(mention, count=done[-1].count)
        done.append(mention)
    return done


def _inheriting(mention: ComputeMention, lender: ComputeMention) -> ComputeMention:
    """The mention with the lender's device, memory and form beside it included, where it times something without"
    " one."""
    timed = mention.hours is not None or mention.time_per_epoch is not None or mention.time_per_step is not None
    if mention.devices or not timed or mention.cpu_only or not lender.devices:
        return mention
    tpu = lender.devices[0].upper().startswith("TPU")
    if ("TPU" in mention.quote and not tpu) or ("GPU" in mention.quote and tpu):
        return mention
    names = lender.devices
    if not lender.inherited:
        shown = {d.name: variant(d, lender.quote) for d in reversed(find_devices(lender.quote))}
        names = tuple(shown.get(name, name) for name in names)
    return replace(mention, devices=names, count=mention.count or lender.count, inherited=True)


# -- tables


def _with_row(made: list[ComputeMention], cells: list[ComputeMention]) -> list[ComputeMention]:
    """A row's typed cells beside what its line says in words; a line that only names devices gives way to them."""
    words = [m for m in made if m.hours is not None or m.time_per_epoch is not None]
    named = next((m for m in made if m.devices), None)
    count = next((m.count for m in made if m.count is not None), None)
    filled = [replace(m, devices=m.devices or (named.devices if named else ()), count=m.count or count) for m in cells]
    return words + filled


def _in_table(
    table: Table, sentences: Sequence[Sentence], starts: Sequence[int]
) -> Iterator[tuple[int, ComputeMention]]:
    """(sentence index, mention) of each bare number under a header that is a unit of compute time."""
    headers = [" ".join(table.column_headers(k)) for k in range(table.columns)]
    units = {k: unit for k, head in enumerate(headers) if (unit := _headed(head, table.caption)) is not None}
    if not units or not table.row_anchors:
        return
    counts = next((k for k, head in enumerate(headers) if _HOW_MANY.match(head)), None)
    made = 0
    for r in range(table.header_rows, len(table.grid)):
        k = bisect_right(starts, table.row_anchors[r].offset) - 1 if r < len(table.row_anchors) else -1
        if k < 0 or not sentences[k].text.startswith("|"):
            continue
        for column, (hours, device_hours, role) in units.items():
            cell = table.grid[r][column]
            amount = _amount(cell) if cell is not None and cell.column == column else None
            if amount is None or made >= MAX_TABLE_MENTIONS:
                continue
            made += 1
            row = sentences[k]
            low, high = amount[0] * hours, amount[1] * hours
            count = table.grid[r][counts] if counts is not None else None
            near = find_devices(row.text) or find_devices(headers[column]) or find_devices(table.caption)
            total = role == "total"
            yield (
                k,
                ComputeMention(
                    quote=row.text,
                    anchor=row.anchor,
                    devices=tuple(dict.fromkeys(d.name for d in near)),
                    count=int(count.value) if count is not None and count.value and count.value < 1e5 else None,
                    hours=round((low + high) / 2, 6) if total else None,
                    hours_range=(round(low, 6), round(high, 6)) if total and low != high else None,
                    hours_kind=("device" if device_hours else "wall") if total else None,
                    time_per_epoch=(low + high) / 2 if role == "epoch" else None,
                    time_per_step=(low + high) / 2 if role == "step" else None,
                    subject=", ".join(t for t in table.row_headers(r)[:3] if not re.fullmatch(r"[\d.,–\- ]+", t))[:160],
                    sentence=row.text,
                ),
            )


def _headed(header: str, caption: str) -> tuple[float, bool, str] | None:
    """(hours in a unit, whether of devices, total | epoch | step) that a column's header promises; None for others."""
    found = _HEADED.search(header) if header else None
    if found is None or _NO_COST.search(header):
        return None
    device = found["device"] or found["device2"]
    if (
        not device
        and not _COSTS.search(header)
        and not (_COSTS.search(caption) and re.search("(?i)time|hours|days", header))
    ):
        return None
    unit = (found["unit"] or found["unit2"] or found["unit3"]).rstrip(".")
    per = (found["per"] or "").lower() + " " + header.lower()
    if not device and unit.lower() in ("d", "s", "h") and not re.search("(?i)time|train|cost|wall", header):
        return None
    role = (
        "epoch"
        if re.search(r"(?:/|per)\s?epoch", per)
        else "step"
        if re.search(r"(?:/|per)\s?(?:it|step)", per)
        else "total"
    )
    return unit_hours(unit), bool(device), role


def _amount(cell: Cell) -> tuple[float, float] | None:
    if _TIMED_CELL.search(cell.text):
        return None  # read with its own unit
    span = _RANGE.match(cell.text)
    if span:
        low, high = (float(g.replace(",", "")) for g in span.groups())
        return (low, high) if low <= high else None
    return (cell.value, cell.value) if cell.value is not None and 0 < cell.value < 1e9 else None
