"""The same evidence and edition give the same bytes, wherever and however a build runs."""

from __future__ import annotations

import shutil
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.e2e import tiny
from tests.e2e.tiny import ROOT, Tiny, contents, process


@pytest.fixture
def decided(finished: Tiny, tmp_path: Path) -> Tiny:
    """A new store with nothing in it but the decisions of the finished edition."""
    fresh = tiny.make(tmp_path / "elsewhere")
    shutil.copy(finished.folder / "decisions.jsonl", fresh.folder)
    return fresh


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout at another path."""
    folder = tmp_path_factory.mktemp("another") / "näme with space"
    for part in ("pipeline", "classifiers", "assets", "audit_ui", "data"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "store"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


ELSEWHERE: dict[str, dict[str, str]] = {
    "time zone": {"TZ": "Pacific/Kiritimati"},
    "locale": {"LC_ALL": "C", "LANG": "tr_TR.UTF-8"},
    "hash seed": {"PYTHONHASHSEED": "4242"},
    "threads": {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"},
}


def built(decided: Tiny, finished: Tiny, *, tree: Path = ROOT, one: bool = False, umask: int = -1, **env: str) -> None:
    before = ("taskset", "-c", "0") if one and shutil.which("taskset") else ()
    edition = str(decided.toml)
    command = decided.arguments("audit", "import", str(decided.folder / "decisions.jsonl"), "--edition", edition)
    assert process(command, tree=tree, umask=umask, **env).returncode == 0
    done = process(decided.arguments("build", edition), tree=tree, before=before, umask=umask, **env)
    assert done.returncode == tiny.EXIT_RELEASED, done.stdout + done.stderr
    assert contents(decided.root / "releases") == contents(finished.root / "releases")


@pytest.mark.slow
def test_everything_about_the_surroundings_changed_at_once_changes_no_byte(
    decided: Tiny, finished: Tiny, tree: Path
) -> None:
    together = {name: value for changes in ELSEWHERE.values() for name, value in changes.items()}
    built(decided, finished, tree=tree, one=True, umask=0o077, **together)


@pytest.mark.slow
@pytest.mark.parametrize("what", ELSEWHERE)
def test_a_changed_variable_changes_no_byte(what: str, decided: Tiny, finished: Tiny) -> None:
    built(decided, finished, **ELSEWHERE[what])


@pytest.mark.slow
def test_another_checkout_path_changes_no_byte(decided: Tiny, finished: Tiny, tree: Path) -> None:
    built(decided, finished, tree=tree)


@pytest.mark.slow
def test_a_strict_umask_changes_no_byte(decided: Tiny, finished: Tiny) -> None:
    built(decided, finished, umask=0o077)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="taskset is of Linux")
def test_one_processor_changes_no_byte(decided: Tiny, finished: Tiny) -> None:
    built(decided, finished, one=True)


@pytest.fixture
def database(postgres_url: str) -> Iterator[str]:
    """A database of its own on the PostgreSQL server."""
    name = f"reclaim_{uuid.uuid4().hex[:12]}"
    server = sa.create_engine(postgres_url, isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(sa.text(f"create database {name}"))
    yield sa.make_url(postgres_url).set(database=name).render_as_string(hide_password=False)
    with server.connect() as connection:
        connection.execute(sa.text(f"drop database {name} with (force)"))


def test_record_and_ledger_in_postgresql_give_the_same_bytes(
    decided: Tiny, finished: Tiny, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECLAIM_DATABASE", database)
    edition = str(decided.toml)
    assert decided.run("audit", "import", str(decided.folder / "decisions.jsonl"), "--edition", edition) == 0
    assert decided.build() == tiny.EXIT_RELEASED
    assert contents(decided.root / "releases") == contents(finished.root / "releases")
    assert not (decided.root / "store.sqlite").exists()
    before = decided.count("episodes"), decided.count("sightings")
    assert min(before) > 0
    assert decided.build() == tiny.EXIT_RELEASED
    assert (decided.count("episodes"), decided.count("sightings")) == before
