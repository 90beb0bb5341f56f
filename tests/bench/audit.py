"""The audit page with twenty people at it: one decision every two seconds each, on SQLite and on PostgreSQL; and how
long the longest real paper takes to appear.

``PYTHONPATH=. python tests/bench/audit.py [--seconds 60] [--people 20]``

The page is the real one (uvicorn) in a process of its own; people are HTTP clients in this one. Fails if a decision
that was acknowledged is not in the ledger or the chain does not verify. PostgreSQL where RECLAIM_TEST_DATABASE names
one; the paper where ../shared/realworld is there.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import tempfile
import time
from pathlib import Path

import sqlalchemy as sa

from pipeline.ledger import verify_chain
from tests.audit_ui.crowd import EDITION, ROOT, Client, crowd, ledger, people, serving

LARGEST = ROOT.parent / "shared" / "realworld" / "papers" / "fedeve" / "src"  # 124,501 characters
ROWS = 200


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def share(of: list[float], percent: int) -> float:
    return statistics.quantiles(of, n=100, method="inclusive")[percent - 1] * 1000


def decisions(name: str, database: str | None, count: int, seconds: float) -> None:
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
        refused = sum(len(r.refused) for r in readers)
        print(
            f"{name:<12} {len(took)} decisions of {count} people: median {share(took, 50):.1f} ms, p95 "
            f"{share(took, 95):.1f} ms, p99 {share(took, 99):.1f} ms, most {max(took) * 1000:.1f} ms; "
            f"{refused} refused, none lost, the chain verifies"
        )


def paper() -> None:
    if not LARGEST.is_dir():
        print("paper page: no real papers on this machine")
        return
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
    print(
        f"paper page   longest real paper ({len(text) // 1000} kB of page): first {took[0]:.0f} ms, then "
        f"{statistics.median(took[1:]):.0f} ms; queue of {ROWS} rows {queue:.0f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--people", type=int, default=20)
    given = parser.parse_args()
    paper()
    decisions("SQLite", None, given.people, given.seconds)
    server = os.environ.get("RECLAIM_TEST_DATABASE")
    if not server:
        print("PostgreSQL   none on this machine (set RECLAIM_TEST_DATABASE)")
        return
    admin = sa.create_engine(server, isolation_level="AUTOCOMMIT")
    name = f"bench_audit_{os.getpid()}"
    with admin.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    try:
        there = sa.make_url(server).set(database=name).render_as_string(hide_password=False)
        decisions("PostgreSQL", there, given.people, given.seconds)
    finally:
        with admin.connect() as connection:
            connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))


if __name__ == "__main__":
    main()
