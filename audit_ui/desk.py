"""What the pages read: the pool, the ledger as far as it has grown, places, work. Reads are kept; nothing is decided
here."""

from __future__ import annotations

import contextlib
import statistics
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from operator import itemgetter
from typing import Any, TypeVar

from audit_ui import show
from audit_ui.flow import BLIND, PROPOSED, Reading, reading
from audit_ui.given import Given, Pool
from pipeline import compute
from pipeline.accounts import Account, Accounts
from pipeline.agreement import Measurement, measure
from pipeline.assignments import FIRST, SECOND, Assignments, Place, conflicts, latest, next_for
from pipeline.audit import Audited, audit, replay
from pipeline.deciding import Deciding
from pipeline.derivation import Derivation, Rules
from pipeline.doubts import Doubt, doubts
from pipeline.events import Entry, Event, Question, fold, fold_order, moment
from pipeline.ledger import Ledger
from pipeline.paper import NoPaper
from pipeline.second_readings import TARGET_ONLY, Row, Scope, overturned_alone, scopes
from pipeline.store import StoreError

ALL: tuple[Question, ...] = BLIND + PROPOSED
T = TypeVar("T")


class Kept:
    """The last results of costly pure reads, by key."""

    def __init__(self, size: int) -> None:
        self._size, self._lock = size, threading.Lock()
        self._held: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                found: T = self._held[key]
                return found
        made = make()
        with self._lock:
            self._held[key] = made
            while len(self._held) > self._size:
                self._held.popitem(last=False)
        return made


@dataclass(frozen=True, slots=True)
class Shown:
    """The parts of a paper's page that depend on nobody's answers."""

    title: str
    blocks: tuple[show.Block, ...]
    doubts: tuple[Doubt, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A row of the queue as one person may see it: the tier only once they have seen its verdict."""

    row: Derivation
    tier: str
    band: str
    state: str
    mine: str
    stale: bool
    disputed: bool
    answered: int
    asked: int
    differs: bool


class Places(dict[tuple[str, int], Place]):
    """Who is in which place of which row; `conflicts`: pairs of paper and person that do not go together."""

    def __init__(self, now: dict[tuple[str, int], Place], conflicts: set[tuple[str, str]]) -> None:
        super().__init__(now)
        self.conflicts = conflicts


class Desk:
    def __init__(self, given: Given) -> None:
        self.given = given
        self.ledger = Ledger(given.store.engine, given.edition.name, given.site)
        self.accounts = Accounts(given.store.engine)
        self.deciding = Deciding(self.ledger)
        self.assignments = Assignments(given.store.engine, given.edition.name)
        self._lock = threading.Lock()
        self._read: dict[str, int] = {}
        self._by_paper: defaultdict[str, list[Entry]] = defaultdict(list)
        self._by_who: defaultdict[str, list[tuple[Any, Event]]] = defaultdict(list)
        self._papers, self._scopes = Kept(800), Kept(2)
        self._measured = Kept(2)
        self._audited, self._readings = Kept(2000), Kept(10_000)
        self._folded, self._counted = Kept(2000), Kept(2000)
        self._pool: Pool | None = None

    @property
    def pool(self) -> Pool:
        """The pool as it was at the beginning of the request."""
        return self._pool or self.given.pool()

    def fresh(self) -> None:
        """Take note of what was built and decided, here or elsewhere, since the last request."""
        self._pool = self.given.pool()
        self._catch_up()

    @cached_property
    def rules(self) -> Rules:
        return Rules.of(self.given.edition)

    # The ledger

    def _catch_up(self) -> None:
        with self._lock:
            for entry in self.ledger.after(self._read):
                self._read[entry.site] = max(entry.seq, self._read.get(entry.site, 0))
                when = (moment(entry.event.at), entry.site, entry.seq)
                mine = [*self._by_who[entry.event.who], (when, entry.event)]
                self._by_who[entry.event.who] = sorted(mine, key=itemgetter(0))
                paper = entry.event.paper
                # A new list, so that a reader's snapshot never grows under it.
                self._by_paper[paper] = fold_order([*self._by_paper[paper], entry])

    def entries(self, paper: str) -> Sequence[Entry]:
        """Everything about a paper, in fold order."""
        return self._by_paper.get(paper, ())

    def events(self, paper: str) -> Sequence[Event]:
        """What counts of it."""
        entries = self.entries(paper)
        return self._folded.get((paper, len(entries)), lambda: fold(entries))

    def counted(self, paper: str) -> frozenset[str]:
        """Ids of what counts of it."""
        entries = self.entries(paper)
        return self._counted.get((paper, len(entries)), lambda: frozenset(e.id for e in self.events(paper)))

    def all_entries(self) -> list[Entry]:
        return fold_order(entry for entries in list(self._by_paper.values()) for entry in entries)

    # Rows

    def audited(self, row: Derivation) -> Audited:
        key = (self.pool.print, row.arxiv_id, len(self.entries(row.arxiv_id)))  # entries are only ever added
        return self._audited.get(key, lambda: audit(row, self.events(row.arxiv_id), self.pool.receipts, self.rules))

    def shown(self, row: Derivation) -> Shown:
        pool = self.pool

        def make() -> Shown:
            paper = pool.paper(row.arxiv_id)
            found = doubts(row, pool.receipts, paper, self.given.edition.tolerance_relative)
            return Shown(paper.title or row.inputs.title, show.blocks(paper, row), found)

        return self._papers.get((pool.print, row.arxiv_id, row.row_hash), make)

    def receipts(self, row: Derivation) -> dict[str, show.ReceiptView]:
        pool = self.pool
        key = (pool.print, row.arxiv_id, "receipts")
        return self._papers.get(key, lambda: show.receipts(self.given.store, row, pool.receipts))

    def warm(self) -> None:
        """Read every paper of the pool once, so that its page need not wait for that. A paper that cannot be read says
        so on its page."""
        for row in self.pool.rows:
            with contextlib.suppress(StoreError, NoPaper):
                self.shown(row)

    def band(self, row: Derivation) -> str:
        return compute.band(row.hours, self.given.edition.band_edges_hours) or "?"

    # Who reads what

    def assigned(self, row: Derivation) -> Row:
        return Row.of(row, self.given.edition.band_edges_hours)

    def alone(self) -> bool:
        """Whether nobody is there to read anything a second time."""
        return sum(account.reads for account in self.accounts.all()) < 2

    def scopes(self) -> dict[str, Scope]:
        """What a second reader is asked about each row that has one, as of the decisions so far."""
        state = [self.audited(row) for row in self.pool.rows]
        moved = self._moves()
        told = [(c := a.candidate(), c.excluded is None, overturned_alone(a)) for a in state]
        key = tuple((c.tier, c.hours, c.needs_paid_api, fit, over) for c, fit, over in told)
        return self._scopes.get((self.pool.print, tuple(e.id for e in moved), key), lambda: self._due(state, moved))

    def _moves(self) -> list[Event]:
        """Drops and replacements that count, in fold order."""
        counted = ((paper, entry) for paper, entries in list(self._by_paper.items()) for entry in entries)
        moves = (e for paper, e in counted if e.event.kind in ("drop", "replace") and e.event.id in self.counted(paper))
        return [entry.event for entry in fold_order(moves)]

    def _due(self, state: list[Audited], moved: list[Event]) -> dict[str, Scope]:
        splits = replay(state, self.given.edition, moved)
        return scopes(state, {*splits.eval, *splits.dev}, self.given.edition, self.given.share)

    def places(self) -> Places:
        """Who is in which place of the rows as they are now."""
        turns = self.assignments.turns()
        hashes = {row.arxiv_id: row.row_hash for row in self.pool.rows}
        now = {(p.paper, p.place): p for p in latest(turns) if hashes.get(p.paper) == p.row_hash}
        return Places(now, conflicts(turns))

    def place_of(self, who: str, paper: str, places: Places) -> Place | None:
        found = (places.get((paper, n)) for n in (FIRST, SECOND))
        return next((p for p in found if p is not None and p.who == who and p.held), None)

    def reading(self, who: str, row: Derivation, places: Places | None = None) -> Reading:
        held = self.place_of(who, row.arxiv_id, self.places() if places is None else places)
        questions = TARGET_ONLY if held is not None and held.scope == "target" else ALL
        entries = self.entries(row.arxiv_id)
        key = (who, row.arxiv_id, row.row_hash, len(entries), questions)
        return self._readings.get(key, lambda: reading(who, row, entries, questions))

    def finished(self, places: Places) -> set[tuple[str, str]]:
        held = [(p.paper, p.who) for p in places.values() if p.held]
        by_id = {row.arxiv_id: row for row in self.pool.rows}
        return {(paper, who) for paper, who in held if self.reading(who, by_id[paper], places).done}

    def next_row(self, me: Account) -> tuple[Row, int] | None:
        places = self.places()
        rows = [self.assigned(r) for r in self.pool.rows if (r.arxiv_id, me.name) not in places.conflicts]
        scopes = {} if self.alone() else self.scopes()
        return next_for(me.name, rows, places.values(), scopes, self.finished(places), self.given.edition.seed)

    def readers(self, row: Derivation) -> list[str]:
        """Everybody who answered something about the row as it is now, in order of their first answer."""
        said = (e.event for e in self.entries(row.arxiv_id))
        return list(dict.fromkeys(e.who for e in said if e.kind == "answer" and e.row_hash == row.row_hash))

    def disputed(self, row: Derivation, places: Places) -> tuple[Question, ...]:
        """Questions that wait for an adjudicator: open ones of readers who are through, one of whom cannot tell."""
        state = self.audited(row).standing
        if state.state == "decided":
            return ()
        if any(not self.reading(who, row, places).done for who in self.readers(row)):
            return ()
        return tuple(q for q, s in state.open.items() if s == "disputed")

    def agreement(self) -> Measurement:
        """How far blind readers of the pool's rows agree, as of the decisions so far."""
        rows = {row.arxiv_id: row.row_hash for row in self.pool.rows}
        key = (self.pool.print, sum(map(len, list(self._by_paper.values()))))
        seed = self.given.edition.seed
        return self._measured.get(key, lambda: measure(rows, fold(self.all_entries()), seed))

    # The queue

    def line(self, me: Account, row: Derivation, places: Places) -> Line:
        state = self.audited(row).standing
        own = self.reading(me.name, row, places)
        held = self.place_of(me.name, row.arxiv_id, places)
        sees_all = not me.reads
        disputed = self.disputed(row, places) if me.adjudicates or own.done else ()
        stale = bool(own.earlier) and not own.done
        if held is not None and held.state == "parked":
            mine = "parked"
        elif own.answers:
            mine = "stale" if stale else "done" if own.done else "begun"
        else:
            mine = "stale" if stale else "taken" if held else ""
        return Line(
            row=row,
            tier=(row.tier.value if row.tier else "undetermined") if own.revealed or sees_all else "",
            band=self.band(row),
            state=state.state if sees_all or own.done else "",
            mine=mine,
            stale=stale or (sees_all and "stale" in state.open.values()),
            disputed=bool(disputed),
            answered=sum(own.mark(q) in ("blind", "answered", "unsure", "settled") for q in own.questions),
            asked=len(own.questions),
            differs=any(one.arxiv_id == row.arxiv_id for one in self.pool.disagreements),
        )

    def progress(self, places: Places) -> Progress:
        rows = self.pool.rows
        decided = sum(self.audited(r).standing.state == "decided" for r in rows)
        finished = self.finished(places)
        people = sorted({p.who for p in places.values() if p.held})
        spent = self.deciding.spent()
        whole = [spent[key] for key in finished if spent.get(key)]
        pace = statistics.median(whole) if whole else None
        second = [] if self.alone() else list(self.scopes())
        twice = sum(
            (place := places.get((p, SECOND))) is not None and (p, place.who) in finished for p in second
        )  # fmt: skip
        first = sum((place := places.get((r.arxiv_id, FIRST))) is not None and place.held for r in rows)
        left = len(rows) - first + len(second) - twice + sum(p.held for p in places.values()) - len(finished)
        active = max(1, len(people))
        return Progress(
            rows=len(rows),
            decided=decided,
            seconds_due=len(second),
            seconds_done=twice,
            people=tuple(
                (
                    who,
                    sum(w == who for _, w in finished),
                    sum(p.who == who and p.held for p in places.values()),
                    round(statistics.median(mine)) if (mine := [s for (_, w), s in spent.items() if w == who]) else 0,
                )
                for who in people
            ),
            minutes_left=None if pace is None else round(max(0, left) * pace / active / 60),
        )

    def last_ten(self, who: str) -> list[Event]:
        """A person's latest decisions that stand, newest first."""
        known = {row.arxiv_id for row in self.pool.rows}
        mine = (event for _, event in reversed(self._by_who.get(who, [])))
        standing = (e for e in mine if e.paper in known and e.question and e.id in self.counted(e.paper))
        return list(islice(standing, 10))


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """`people`: name, readings done, readings held, median active seconds a reading. `minutes_left` a person at the
    present pace, None while nobody has finished a reading."""

    rows: int
    decided: int
    seconds_due: int
    seconds_done: int
    people: tuple[tuple[str, int, int, int], ...]
    minutes_left: int | None
