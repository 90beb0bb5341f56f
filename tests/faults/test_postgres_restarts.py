"""PostgreSQL restarted while it is worked with: nothing acknowledged is lost or there twice, and the release is the
same."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from audit_ui.flow import BLIND
from pipeline import accounts, database
from pipeline.events import Event, verify_chain
from pipeline.ledger import Ledger
from pipeline.record import Record
from pipeline.store import Store, StoreError
from tests.audit_ui import conftest as audit_page
from tests.e2e.tiny import Tiny, contents
from tests.faults.driving import drive


class Server:
    """A PostgreSQL server of its own, in a folder of its own, on loopback."""

    def __init__(self, binaries: Path) -> None:
        self.binaries = binaries
        self.folder = Path(tempfile.mkdtemp(prefix="reclaim-pg-"))
        self._as = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        if self._as:
            shutil.chown(self.folder, "postgres")
        self.run("initdb", "-D", str(self.folder / "data"), "-A", "trust", "-U", "reclaim", "--no-sync")
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://reclaim@127.0.0.1:{self.port}/postgres"

    def run(self, program: str, *arguments: str) -> None:
        log = subprocess.DEVNULL
        subprocess.run(
            [*self._as, str(self.binaries / program), *arguments], check=True, stdout=log, stderr=log, cwd="/"
        )

    def _ctl(self, *arguments: str) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c fsync=off -k {self.folder}"
        log = str(self.folder / "log")
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-l", log, "-o", options, *arguments)

    def start(self) -> None:
        self._ctl("start")

    def restart(self) -> None:
        """As after a crash: every connection is cut, whatever it was doing."""
        self._ctl("restart", "-m", "immediate")

    def stop(self) -> None:
        self._ctl("stop", "-m", "immediate")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if not found or (os.geteuid() == 0 and shutil.which("runuser") is None):
        pytest.skip("no PostgreSQL server is installed here (/usr/lib/postgresql)")
    try:
        made = Server(found[-1])
    except (subprocess.CalledProcessError, LookupError) as cause:
        pytest.skip(f"no PostgreSQL server can be started here ({cause})")
    yield made
    made.stop()
    shutil.rmtree(made.folder)


def event(number: int, who: str) -> Event:
    return Event(
        paper=f"2505.{10000 + number}",
        kind="answer",
        who=who,
        at=f"2025-12-02T10:{number // 60 % 60:02}:{number % 60:02}Z",
        why="read it",
        guide=1,
        phase="revised",
        question="code_available",
        value=True,
        row_hash="0" * 64,
    )


@pytest.mark.slow
@pytest.mark.fault("PostgreSQL restarted", "ledger")
def test_no_acknowledged_event_is_lost_or_doubled_while_the_server_restarts_twice(
    server: Server, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Four people decide without a pause, each in turns of their own, while every connection is cut twice."""
    engine = Store(tmp_path / "store", server.url).engine
    ledger, going = Ledger(engine, "busy"), threading.Event()
    going.set()
    acknowledged: dict[str, list[str]] = {}
    failures: list[str] = []

    def decide(who: str) -> None:
        mine = acknowledged.setdefault(who, [])
        while going.is_set() or len(mine) < 20:
            try:
                (entry,) = ledger.append([event(len(mine), who)])
            except StoreError as fault:
                failures.append(str(fault))
                continue
            mine.append(entry.event.id)

    people = [threading.Thread(target=decide, args=(f"p{n}",)) for n in range(4)]
    for one in people:
        one.start()
    for _ in range(2):
        time.sleep(0.7)
        server.restart()
    time.sleep(0.5)
    going.clear()
    for one in people:
        one.join(60)
        assert not one.is_alive()
    entries = ledger.entries()
    assert failures == []  # whoever decides does not notice
    assert verify_chain(entries, "busy") == []
    assert sorted(e.event.id for e in entries) == sorted(id_ for mine in acknowledged.values() for id_ in mine)
    assert min(map(len, acknowledged.values())) >= 20
    record_property("cases", 2)


@pytest.mark.slow
@pytest.mark.fault("PostgreSQL restarted", "build")
def test_a_build_on_a_server_that_restarts_ends_in_the_bytes_of_sqlite(
    server: Server,
    finished: Tiny,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    """Cut while it asks and while it classifies, by how much it has recorded."""
    monkeypatch.setenv("RECLAIM_DATABASE", server.url)
    one = Tiny(tmp_path / "tiny")
    one.folder.mkdir()
    (one.folder / "world").symlink_to(finished.world)
    shutil.copy(finished.toml, one.folder)
    shutil.copy(finished.folder / "decisions.jsonl", one.folder)
    assert one.run("audit", "import", str(one.folder / "decisions.jsonl"), "--edition", str(one.toml)) == 0
    done = threading.Event()
    cuts: list[int] = []

    def disturb() -> None:
        watch = sa.create_engine(server.url, poolclass=sa.NullPool)
        for least in (15, 70):
            seen = 0
            while seen < least and not done.is_set():
                time.sleep(0.02)
                try:
                    with watch.connect() as connection:
                        seen = connection.exec_driver_sql("select count(*) from sightings").scalar() or 0
                except sa.exc.DBAPIError:
                    continue
            if not done.is_set():
                server.restart()
                cuts.append(seen)

    other = threading.Thread(target=disturb)
    other.start()
    try:
        drive(one)  # without a failure that a person would see
    finally:
        done.set()
        other.join()
    assert len(cuts) == 2
    assert contents(one.root / "releases") == contents(finished.root / "releases")
    assert len({entry.event.id for entry in one.ledger()}) == len(one.ledger()) == len(finished.ledger())
    record_property("cases", len(cuts))


@pytest.mark.slow
@pytest.mark.fault("PostgreSQL restarted", "away")
def test_a_server_that_stays_away_is_waited_for_and_then_named_without_its_password(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.5)
    ledger = Ledger(Store(tmp_path / "store", server.url.replace("reclaim@", "reclaim:secret@")).engine, "away")
    ledger.append([event(1, "ada")])
    server.stop()
    began = time.monotonic()
    with pytest.raises(StoreError, match=r"does not answer.*the same command goes on from there") as told:
        ledger.append([event(2, "ada")])
    assert time.monotonic() - began < 20
    assert "secret" not in str(told.value)
    server.start()
    ledger.append([event(2, "ada")])
    assert [entry.event.paper for entry in ledger.entries()] == ["2505.10001", "2505.10002"]
    with pytest.raises(StoreError, match="does not answer"):  # one that never answered is not waited for
        Ledger(Store(tmp_path / "other", "postgresql+psycopg://reclaim@127.0.0.1:1/postgres").engine, "away")


@pytest.mark.slow
@pytest.mark.fault("PostgreSQL restarted", "audit page")
def test_what_the_page_acknowledged_is_there_once_and_what_it_could_not_do_it_says(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    """Somebody reads row after row while the server restarts twice; then it is away, and comes back."""
    monkeypatch.setattr(accounts, "_N", 2)
    made = audit_page.build(tmp_path / "made")
    store = Store(tmp_path / "page", server.url)
    Record(store.engine)  # makes its tables
    page = audit_page.World(replace(made.given, store=store), made.pool)
    ada, acknowledged = page.person("ada"), list[tuple[str, str]]()
    restarts = threading.Thread(target=lambda: [(time.sleep(0.6), server.restart()) for _ in range(2)])
    restarts.start()
    for paper in page.papers:
        for question in BLIND:
            assert ada.agrees(paper, question).status_code == 200  # a person does not notice
            acknowledged.append((paper, question))
        if len(acknowledged) > 12 and not restarts.is_alive():
            break
    restarts.join()
    entries = page.site.desk.ledger.entries()
    assert verify_chain(entries, page.site.desk.ledger.edition) == []
    assert sorted((e.event.paper, str(e.event.question)) for e in entries) == sorted(acknowledged)
    monkeypatch.setattr(database, "PATIENCE", 0.2)
    server.stop()
    for answer in (ada.browser.get("/"), ada.posts("/undo", {"csrf": ada.csrf})):
        assert answer.status_code == 503
        assert "does not answer" in answer.text
    server.start()
    assert ada.browser.get("/").status_code == 200
    assert len(page.site.desk.ledger.entries()) == len(acknowledged)
    record_property("cases", 3)
