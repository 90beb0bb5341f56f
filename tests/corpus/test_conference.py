"""A whole made-up conference, fetched from services that keep the real ones' limits; killed on the way, it goes on."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from assets import bundles, corpus
from pipeline.offline.limits import ATTACHMENTS_AN_HOUR, SPACING, Seen
from pipeline.sources.packages import BULK
from tests.bench.rehearsal import (
    START,
    attachments,
    fetch_all,
    hosts,
    is_plain,
    most_within,
    rehearsal,
    shortest_gap,
)
from tests.e2e.tiny import ROOT, environment

pytestmark = pytest.mark.slow
PAPERS = 150


def test_the_full_fetch_completes_and_obeys_every_limit(tmp_path: Path) -> None:
    with rehearsal(tmp_path, PAPERS) as work:
        told = fetch_all(work)
        log = work.keeper.seen
        totals = work.record.totals()
    assert told["papers"] == PAPERS - len(told["bundles_undetermined"]) - told["bundles_before_last"]
    assert told["papers"] > 0.97 * PAPERS
    assert not told["undetermined"]
    assert [(seen.host, seen.path, seen.limit) for seen in log if seen.limit] == []
    assert shortest_gap(log, "arxiv.org") >= SPACING - 0.01
    assert max(seen.open for seen in log if seen.host.endswith("arxiv.org")) == 1
    assert most_within(log, "openreview attachments", 3600) <= ATTACHMENTS_AN_HOUR
    assert most_within(log, "github core", 3600) <= 5000
    assert most_within(log, "github graphql", 3600) <= 5000
    assert most_within(log, "hub api", 300) <= 500
    assert most_within(log, "hub resolvers", 300) <= 3000
    assert most_within(log, "hub pages", 300) <= 100
    supplements = told["with_supplement"]
    assert supplements / BULK <= attachments(log) <= 40 / 31 * (supplements / BULK + 1)
    assert told["repositories"] > PAPERS / 3
    assert sum(map(is_plain, log)) <= 0.15 * told["repositories"]
    assert {host: total.requests for host, total in totals.hosts.items()} == dict(hosts(log))


def test_a_stranger_keeps_to_sixty_requests_an_hour_and_is_never_refused(tmp_path: Path) -> None:
    with rehearsal(tmp_path, 15, token="") as work:
        fetch_all(work)
        log = work.keeper.seen
    assert [(seen.host, seen.path, seen.limit) for seen in log if seen.limit] == []
    assert {seen.who for seen in log if seen.host == "api.github.com"} == {"anonymous"}
    assert sum(seen.quota == "github core" for seen in log) > 60
    assert most_within(log, "github core", 3600) <= 60


def test_a_lock_out_is_waited_for_and_costs_no_supplement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file a request, and more of them than OpenReview gives in an hour: it says so once, and until when."""
    monkeypatch.setattr("pipeline.sources.packages.BULK", 1)
    with rehearsal(tmp_path, 90) as work:
        told = {**corpus.run(work, "print"), **bundles.run(work, "print")}
        log = work.keeper.seen
        spent = work.simulated.now() - START
    assert told["with_supplement"] > ATTACHMENTS_AN_HOUR
    assert (told["undetermined"], attachments(log)) == ([], told["with_supplement"] + 1)
    assert [seen.limit for seen in log if seen.limit] == ["openreview attachments"]
    assert timedelta(hours=1) < spent < timedelta(hours=1.5)


def read_log(folder: Path) -> list[Seen]:
    path = folder / "log.jsonl"
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Seen(**json.loads(line)) for line in lines if line.endswith("}")]


def lines_of(folder: Path) -> int:
    path = folder / "log.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def fetched(folder: Path, papers: int, kill_after: int | None = None) -> bool:
    """Fetch all in a process of its own, killed after so many requests more; whether it came to its end."""
    before = lines_of(folder)
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.rehearsal", str(folder), str(papers)],
        cwd=ROOT,
        env=environment(ROOT),
    )
    while child.poll() is None:
        if kill_after is not None and lines_of(folder) >= before + kill_after:
            os.kill(child.pid, signal.SIGKILL)
        time.sleep(0.02)
    assert child.returncode in (0, -signal.SIGKILL)
    return child.returncode == 0


def results(folder: Path, papers: int) -> dict[str, object]:
    """What the tables say, and every exchange of the record."""
    from assets.stages import read_rows

    with rehearsal(folder, papers) as work:
        tables = {name: read_rows(work, name) for name in ("papers", "corpus_exclusions", "bundles")}
        with work.store.engine.connect() as connection:
            found = connection.exec_driver_sql("select id from exchanges order by id").scalars().all()
        return {**tables, "exchanges": list(found)}


def test_a_fetch_killed_again_and_again_asks_nothing_twice_and_ends_the_same(tmp_path: Path) -> None:
    papers, rng = 24, random.Random(7)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir()
    broken.mkdir()
    assert fetched(whole, papers)
    once = Counter((seen.method, seen.host, seen.path) for seen in read_log(whole))
    kills = 0
    while not fetched(broken, papers, rng.randint(once.total() // 5, once.total() // 2)):
        kills += 1
        assert kills < 30, "no progress between kills"
    assert kills >= 2
    asked = Counter((seen.method, seen.host, seen.path) for seen in read_log(broken))
    again = asked - once
    # What was on its way when the process died is asked again: an exchange, with its redirects, a kill.
    assert again.total() <= 3 * kills, again
    assert set(asked) == set(once)
    assert results(broken, papers) == results(whole, papers)
