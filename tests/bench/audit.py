"""The audit page with twenty people at it: one decision every two seconds each, on SQLite and on PostgreSQL; and how
long the longest real paper takes to appear.

`uv run python -m tests.bench.audit [--seconds 60] [--people 20]`

The page is the real one (uvicorn) in a process of its own; people are HTTP clients in this one. Fails if a decision
that was acknowledged is not in the ledger or the chain does not verify. PostgreSQL where RECLAIM_TEST_DATABASE names
one; the paper where ../shared/realworld is there.
"""

from __future__ import annotations

import os
import socket
import statistics
import tempfile
import time
from pathlib import Path

import sqlalchemy as sa

from pipeline.ledger import verify_chain
from tests.audit_ui.crowd import EDITION, ROOT, Client, crowd, ledger, people, serving
from tests.bench.telling import Row, options, tell

LARGEST = ROOT.parent / "shared" / "realworld" / "papers" / "fedeve" / "src"  # 124,501 characters
ROWS = 200


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def share(of: list[float], percent: int) -> float:
    return statistics.quantiles(of, n=100, method="inclusive")[percent - 1] * 1000


def decisions(name: str, database: str | None, count: int, seconds: float) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        store, port = Path(folder), free_port()
        with serving(store, port, ROWS, count, database):
            readers = crowd(port, count, ROWS, seconds, 2.0)
        took = [t for reader in readers for t in reader.took]
        said = sorted((r.name, paper, q) for r in readers for paper, q in r.acknowledged)
        entries = ledger(store, database).entries()
        kept = sorted((e.event.who, e.event.paper, str(e.event.question)) for e in entries)
        assert said == kept, "what was acknowledged is not what the ledger holds"
        assert verify_chain(entries, EDITION.name) == []
    return {
        "bench": "pages",
        "case": f"a decision, {name}",
        "people": count,
        "count": len(took),
        "median_ms": share(took, 50),
        "p95_ms": share(took, 95),
        "p99_ms": share(took, 99),
        "most_ms": max(took) * 1000,
        "refused": sum(len(r.refused) for r in readers),
        "lost": 0,
    }


def paper() -> list[Row]:
    """The page of the longest real paper, first and later, and the queue's page."""
    if not LARGEST.is_dir():
        print("paper page: no real papers on this machine")
        return []
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        with serving(Path(folder), port, ROWS, paper=LARGEST):
            client = Client(port)
            client.enter(people(1)[0])
            took = []
            for _ in range(11):
                begun = time.perf_counter()
                text = client.get("/paper/2601.00000")
                took.append((time.perf_counter() - begun) * 1000)
            queue = time.perf_counter()
            client.get("/")
            queue = (time.perf_counter() - queue) * 1000
    said = {
        f"the longest real paper ({len(text) // 1000} kB), first": took[0],
        "the same, later": statistics.median(took[1:]),
        f"queue of {ROWS} rows": queue,
    }
    return [{"bench": "pages", "case": case, "people": 1, "median_ms": ms} for case, ms in said.items()]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--people", type=int, default=20)
    given = parser.parse_args()
    people_, seconds = (3, 3.0) if given.quick else (given.people, given.seconds)
    rows = [*([] if given.quick else paper()), decisions("SQLite", None, people_, seconds)]
    server = os.environ.get("RECLAIM_TEST_DATABASE")
    if server and not given.quick:
        admin = sa.create_engine(server, isolation_level="AUTOCOMMIT")
        name = f"bench_audit_{os.getpid()}"
        with admin.connect() as connection:
            connection.execute(sa.text(f"CREATE DATABASE {name}"))
        try:
            there = sa.make_url(server).set(database=name).render_as_string(hide_password=False)
            rows.append(decisions("PostgreSQL", there, people_, seconds))
        finally:
            with admin.connect() as connection:
                connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
    elif not server:
        print("PostgreSQL: none on this machine (set RECLAIM_TEST_DATABASE)")
    tell(rows, given.out)


if __name__ == "__main__":
    main()
