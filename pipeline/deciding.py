"""One decision at a time: what a person saw before it, how long it took, and that nobody else came first.

Every decision made on a page names the last event about its question that the page had shown. In the transaction that
appends the decision this is compared and written down under a unique key, so of two writers who saw the same state one
is told what happened.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from pipeline.database import again
from pipeline.events import Entry, Event, moment
from pipeline.evidence import canonical
from pipeline.ledger import Ledger, entry_table, single_reads

ADJUDICATION = "(adjudication)"
"""In the place of a person's name: adjudications of one question are one line, whoever makes them."""

metadata = sa.MetaData()
work = sa.Table(
    "audit_work",
    metadata,
    sa.Column("edition", sa.String(128), primary_key=True),
    sa.Column("paper", sa.String(64), primary_key=True),
    sa.Column("line", sa.String(100), primary_key=True),
    sa.Column("question", sa.String(32), primary_key=True),
    sa.Column("after", sa.String(64), primary_key=True),
    sa.Column("event", sa.String(64), nullable=False, index=True),
    sa.Column("who", sa.String(100), nullable=False),
    sa.Column("active_ms", sa.Integer, nullable=False),
    sa.Column("opened", sa.Text, nullable=False),
)


class Conflict(Exception):
    """The question was answered since the page was shown. `last` is the event that came first, None for none."""

    def __init__(self, last: Event | None) -> None:
        super().__init__("this question changed since the page was shown")
        self.last = last


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """The work behind one decision: seconds with the page in view and the person at it, and receipts they opened."""

    event: str
    paper: str
    who: str
    active_seconds: float
    opened: tuple[str, ...]


class Deciding:
    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self._reads = ledger, single_reads(ledger.engine)
        try:
            metadata.create_all(ledger.engine)
        except sa.exc.DBAPIError:  # another process made it between our look and our CREATE
            metadata.create_all(ledger.engine)

    def decide(
        self,
        event: Event,
        question: str,
        after: str,
        *,
        line: str | None = None,
        active_ms: int = 0,
        opened: Sequence[str] = (),
    ) -> Entry:
        """Append one decision about `question`, or the undo of one. `line` is the person's own, unless it is
        `ADJUDICATION`; `after` the id of the last event of the line that was shown, or "".

        Raises Conflict where there is a later one; then nothing is written.
        """
        line = line or event.who

        def beside(connection: sa.Connection, new: Sequence[Entry]) -> None:
            here = (entry_table.c.edition == self.ledger.edition) & (entry_table.c.paper == event.paper)
            own = {entry.event.id for entry in new}
            found = (row for row in connection.execute(sa.select(entry_table).where(here)) if row.id not in own)
            ordered = sorted(found, key=lambda row: (moment(row.at), row.site, row.seq))
            told = (json.loads(row.event) for row in ordered)
            about = (Event.model_validate(e) for e in told if e.get("question") == question or e.get("undoes"))
            last = last_of(line, question, about)
            if (last.id if last else "") != after or not own:
                raise Conflict(last)
            row = {
                "edition": self.ledger.edition,
                "paper": event.paper,
                "line": line,
                "question": question,
                "after": after,
                "event": event.id,
                "who": event.who,
                "active_ms": active_ms,
                "opened": canonical(list(opened)),
            }
            connection.execute(sa.insert(work).values(row))

        (entry,) = self.ledger.append([event], beside)
        return entry

    @again
    def spent(self) -> dict[tuple[str, str], float]:
        """Active seconds by paper and person."""
        total = sa.func.sum(work.c.active_ms)
        query = sa.select(work.c.paper, work.c.who, total).where(work.c.edition == self.ledger.edition)
        with self._reads.connect() as connection:
            rows = connection.execute(query.group_by(work.c.paper, work.c.who)).all()
        return {(paper, who): float(ms) / 1000 for paper, who, ms in rows}

    @again
    def all(self) -> list[Work]:
        query = sa.select(work).where(work.c.edition == self.ledger.edition).order_by(work.c.event)
        with self._reads.connect() as connection:
            rows = connection.execute(query).mappings().all()
        return [
            Work(
                event=row["event"],
                paper=row["paper"],
                who=row["who"],
                active_seconds=row["active_ms"] / 1000,
                opened=tuple(json.loads(row["opened"])),
            )
            for row in rows
        ]


def last_of(line: str, question: str, events: Iterable[Event]) -> Event | None:
    """The last answer (for `ADJUDICATION`: settling event) about a question on a line, or undo of one; `events` in
    fold order."""
    last: Event | None = None
    ours: set[str] = set()
    for one in events:
        settles = one.kind != "answer" and one.question is not None
        on_line = settles if line == ADJUDICATION else one.kind == "answer" and one.who == line
        if (on_line and one.question == question) or one.undoes in ours:
            ours.add(one.id)
            last = one
    return last
