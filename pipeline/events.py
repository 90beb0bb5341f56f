"""What people decided, and nothing else: events, appended and chained, never edited.

An event is identified by its content, so importing it twice changes nothing. Each site (a machine where people work)
keeps its own chain for an edition: entry n carries the hash of entry n-1, and the first one the hash of edition and
site. Merging two sites is the union of their chains. Events are read in fold order: time, site, place in the chain.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from pipeline.evidence import Json, Signal, canonical, digest
from pipeline.row import Kind
from pipeline.targets import Bar, Target
from pipeline.targets import problems as target_problems

EventKind = Literal["answer", "undo", "adjudicate", "relabel", "re_estimate", "drop", "replace", "erratum"]
Question = Literal[
    "code_available", "dataset_available", "weights_available", "dataset_is_standard",
    "kind", "needs", "claim", "target", "bar", "hours", "eligibility",
]  # fmt: skip
QUESTIONS: tuple[Question, ...] = get_args(Question)
SIGNALS = tuple(str(s) for s in Signal)
NEEDS = ("paid_api", "human_raters", "special_hardware", "licensed_simulator")
SETTLING: tuple[EventKind, ...] = ("adjudicate", "relabel", "re_estimate")
"""Events that decide a question over every auditor's answer; the latest of them stands."""

CANNOT_TELL = "cannot_tell"
STANDS = "stands"
WRONG = "wrong"

MOST_HOURS = 1_000_000
"""H100-hours that a person can state; far above any cap, and far below where sums of them lose their meaning."""
LAST_YEAR = 2200


class LedgerError(ValueError):
    """The ledger, or what is to enter it, breaks one of its own rules; the message names the event and says which."""


def value_problem(question: Question, value: Json) -> str | None:
    """Why `value` is no answer to `question`; None where it is one.

    Every question takes `cannot_tell`. Signals: true, false, `not_needed`. kind: a paper kind. needs: the sorted list
    of needs that hold. eligibility: true or false. claim: `stands`, `wrong`, or {"claim", "quote"}. target, bar:
    `stands`, `wrong`, or the whole corrected object. hours: `stands`, `wrong` (unknown), or H100-hours. `stands` is
    absolute, because an answer is bound to the hash of the row it judges.
    """
    if value == CANNOT_TELL:
        return None
    if question in SIGNALS:
        return None if isinstance(value, bool) or value == "not_needed" else "true, false, not_needed or cannot_tell"
    if question == "eligibility":
        return None if isinstance(value, bool) else "true, false or cannot_tell"
    if question == "kind":
        return None if value in get_args(Kind) else f"one of {', '.join(get_args(Kind))} or cannot_tell"
    if question == "needs":
        known = isinstance(value, list) and all(v in NEEDS for v in value) and value == sorted(set(value))
        return None if known else f"a sorted list out of {', '.join(NEEDS)}, or cannot_tell"
    if value in (STANDS, WRONG):
        return None
    if question == "hours":
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST_HOURS
        return None if is_number else f"stands, wrong, cannot_tell or H100-hours from 0 to {MOST_HOURS:,}"
    if question == "claim":
        said = (
            isinstance(value, dict)
            and set(value) == {"claim", "quote"}
            and all(v and isinstance(v, str) for v in value.values())
        )
        return None if said else 'stands, wrong, cannot_tell or {"claim": …, "quote": …}'
    try:
        if question == "bar":
            Bar.model_validate(value)
            return None
        return next(iter(target_problems(Target.model_validate(value))), None)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or question
        return f"stands, wrong, cannot_tell or a whole {question} ({where}: {first['msg']})"


def _readable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must be printable, without control characters")
    return text


Name = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_readable)]


class Event(BaseModel):
    """One thing a person did. `id` is the hash of the content.

    `at` is UTC, ISO 8601 with a Z. `row_hash` is the row that was judged. `evidence` are receipt ids, links or quotes.
    `undoes` is the id of an event by the same person. `value` of a `replace` may name the paper that the person expects
    to come in; the rule chooses, and the gate fails where it chose another. {"paper", "because"} chooses against the
    rule, for the reason it states (`swaps`). `guide` is the version of the labelling guide that the person followed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    kind: EventKind
    paper: Name
    who: Name
    at: str
    why: str = ""
    evidence: list[str] = Field(default_factory=list)
    question: Question | None = None
    phase: Literal["blind", "revised"] | None = None
    value: Json = None
    row_hash: str | None = None
    undoes: str | None = None
    guide: int | None = None
    mode: Literal["unblinded"] | None = None
    identity: Literal["asserted"] | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        moment(self.at)
        self._hashable()
        deciding = self.kind == "answer" or self.kind in SETTLING
        if deciding:
            if self.question is None or self.row_hash is None or not re.fullmatch("[0-9a-f]{64}", self.row_hash):
                raise ValueError(f"{self.kind} needs a question and the 64-digit hash of the row it judges")
            if problem := value_problem(self.question, self.value):
                raise ValueError(f"{self.question} is answered by {problem}")
        elif self.question is not None:
            raise ValueError(f"{self.kind} has no question")
        if (self.kind == "answer") != (self.phase is not None):
            raise ValueError("an answer, and nothing else, has a phase: blind or revised")
        if self.mode == "unblinded" and self.phase == "blind":
            raise ValueError("an answer that was given with the verdict in sight is not blind")
        if (self.kind == "undo") != (self.undoes is not None):
            raise ValueError("an undo, and nothing else, names the event it undoes")
        if self.kind not in ("answer", "undo") and not self.why:
            raise ValueError(f"{self.kind} needs a reason in `why`")
        if self.kind in SETTLING and self.value == CANNOT_TELL:
            raise ValueError(f"{self.kind} must decide; cannot_tell does not")
        if (self.kind == "re_estimate") != (self.question == "hours") and self.kind in ("re_estimate", "relabel"):
            raise ValueError("re_estimate is about hours, relabel about any other question")
        return self

    def _hashable(self) -> None:
        """An event that has no canonical JSON (half a character, a number that is none) could enter no chain."""
        try:
            canonical([self.why, self.evidence, self.value]).encode()
        except (ValueError, TypeError, RecursionError):
            raise ValueError("has no canonical JSON: half a character, a number not finite, or deep nesting") from None

    def to_json(self) -> dict[str, Json]:
        """Only what is set: an unset field and its default are the same event."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @cached_property
    def id(self) -> str:
        return digest(self.to_json())

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A changed copy is another event, with an id of its own."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("id", None)
        return copied


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """An event in its place in a site's chain; `seq` counts from 1."""

    site: str
    seq: int
    prev_hash: str
    event: Event

    @property
    def hash(self) -> str:
        return digest([self.site, self.seq, self.prev_hash, self.event.to_json()])

    def to_json(self) -> dict[str, Json]:
        place = {"site": self.site, "seq": self.seq, "prev_hash": self.prev_hash, "hash": self.hash}
        return {**place, "id": self.event.id, "event": self.event.to_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> Entry:
        """Raises LedgerError for an event that is none, and for a hash or id that is not that of the content."""
        try:
            event = Event.model_validate(value["event"])
            entry = cls(site=value["site"], seq=value["seq"], prev_hash=value["prev_hash"], event=event)
            place = f"entry {value['site']} {value['seq']} about {event.paper}"
            stated = (value["hash"], value["id"])
        except ValidationError as error:
            raise LedgerError(f"entry {value.get('site')} {value.get('seq')}: {explain(error)}") from None
        except KeyError as error:
            raise LedgerError(f"entry {value.get('site')} {value.get('seq')} lacks {error}") from None
        if stated != (entry.hash, event.id):
            raise LedgerError(f"{place}: its hash is not that of its content")
        return entry


def moment(at: str) -> datetime:
    """The time an event states. Raises ValueError unless it is UTC, ISO 8601 with a Z, not after `LAST_YEAR`."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", at, re.ASCII):
        raise ValueError(f"{at!r} is no UTC time like 2026-03-01T12:00:00Z")
    if int(at[:4]) > LAST_YEAR:
        raise ValueError(f"{at!r} is after the year {LAST_YEAR}")
    return datetime.fromisoformat(at.replace("Z", "+00:00")).astimezone(UTC)


def explain(error: ValidationError) -> str:
    """The first problem of a validation, as one short line."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" if where else message


def genesis(edition: str, site: str) -> str:
    """What the first entry of a chain is chained to, so that no other edition's or site's chain can take its place."""
    return digest(["ledger", edition, site])


def chained(events: Iterable[Event], site: str, seq: int, last: str) -> list[Entry]:
    """Events as the entries that follow entry `seq` with hash `last` of a site's chain."""
    entries: list[Entry] = []
    for number, one in enumerate(events, start=seq + 1):
        entries.append(Entry(site=site, seq=number, prev_hash=entries[-1].hash if entries else last, event=one))
    return entries


def fold_order(entries: Iterable[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda e: (moment(e.event.at), e.site, e.seq))


def fold(entries: Iterable[Entry]) -> list[Event]:
    """The events that count, in fold order: one seen at two sites once, and neither undos nor what they undo.

    An undo holds only against an event of the same person, and may itself be undone; the order of arrival is nothing.
    """
    events = list({e.event.id: e.event for e in fold_order(entries)}.values())
    undos: dict[str, list[Event]] = {}
    for one in events:
        if one.undoes is not None:
            undos.setdefault(one.undoes, []).append(one)
    known: dict[str, bool] = {}

    def undone(one: Event) -> bool:
        # Ids are content hashes, so an undo can only name an event made before it: no cycles.
        if one.id not in known:
            known[one.id] = any(u.who == one.who and not undone(u) for u in undos.get(one.id, ()))
        return known[one.id]

    return [e for e in events if e.kind != "undo" and not undone(e)]


def verify_chain(entries: Iterable[Entry], edition: str) -> list[str]:
    """What is wrong with the chains, one line an entry; empty when each site's chain is whole."""
    found: list[str] = []
    before: dict[str, tuple[int, str]] = {}
    ordered = sorted(entries, key=lambda e: (e.site, e.seq))
    ids = {e.event.id: e.event for e in ordered}
    for entry in ordered:
        seq, last = before.get(entry.site, (0, genesis(edition, entry.site)))
        where = f"site {entry.site}, entry {entry.seq} about {entry.event.paper}"
        if entry.seq != seq + 1:
            found.append(f"{where}: follows entry {seq}; entries are missing or repeated")
        elif entry.prev_hash != last:
            found.append(f"{where}: is not chained to the entry before it")
        undone = ids.get(entry.event.undoes or "")
        if entry.event.kind == "undo" and (undone is None or undone.who != entry.event.who):
            found.append(f"{where}: undoes no event of {entry.event.who}")
        before[entry.site] = (entry.seq, entry.hash)
    return found


def merge(*chains: Iterable[Entry]) -> list[Entry]:
    """The union of several sites' entries, in fold order.

    Raises LedgerError where two of them hold different entries in one place of a chain: one site name, two machines.
    """
    places: dict[tuple[str, int], Entry] = {}
    for entry in (e for chain in chains for e in chain):
        other = places.setdefault((entry.site, entry.seq), entry)
        if other.hash != entry.hash:
            raise LedgerError(
                f"site {entry.site} has two different entries {entry.seq} ({other.event.paper}, {entry.event.paper}); "
                "give each machine its own site name and import one side's events again"
            )
    return fold_order(places.values())


def ends(entries: Iterable[Entry]) -> tuple[tuple[str, int, str], ...]:
    """The last entry of each site's chain: site, sequence number, hash."""
    last: dict[str, Entry] = {}
    for entry in sorted(entries, key=lambda e: e.seq):
        last[entry.site] = entry
    return tuple((site, last[site].seq, last[site].hash) for site in sorted(last))


def chain_lines(entries: Iterable[Entry]) -> str:
    """Chains as JSON Lines, site by site in their own order: what one ledger exports and another adopts."""
    return "".join(canonical(e.to_json()) + "\n" for e in sorted(entries, key=lambda e: (e.site, e.seq)))


def read_chains(text: str, edition: str, name: str) -> list[Entry]:
    """Entries of an exported file, in fold order. Raises LedgerError naming `name` and line, or the entry that breaks
    its chain; then none of it is to be taken."""
    entries: list[Entry] = []
    # Not splitlines: it also breaks at characters that may stand inside a reason.
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else (), start=1):
        try:
            entries.append(Entry.from_json(json.loads(line)))
        except LedgerError as error:
            raise LedgerError(f"{name}:{number}: {error}") from None
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise LedgerError(f"{name}:{number}: is no entry of a ledger ({error})") from None
    if problems := verify_chain(entries, edition):
        raise LedgerError(f"{name}: {problems[0]} ({len(problems)} in all); nothing was taken")
    return fold_order(entries)


def head(entries: Iterable[Entry]) -> str:
    """One hash for the state of all chains."""
    return digest([list(end) for end in ends(entries)])
