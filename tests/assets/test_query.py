"""`reclaim sql` reads the edition's tables and nothing else of the machine."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import polars as pl
import pytest

from assets import query
from pipeline.store import Store


@pytest.fixture
def work(tmp_path: Path) -> Any:
    """What a query needs of a workplace: an edition's name and its store, with one table."""
    store = Store(tmp_path / "it's a store")
    frame = pl.DataFrame({"arxiv_id": ["2601.00001", "2601.00002"]})
    store.write_table("made-2026", "papers", frame, "print")
    return SimpleNamespace(store=store, edition=SimpleNamespace(name="made-2026"))


def test_a_table_is_a_view_by_its_name(work: Any) -> None:
    assert query.ask(work, "select count(*) as n from papers").splitlines() == ["n", "-", "2"]
    assert "arxiv_id" in query.ask(work, "describe papers")


@pytest.mark.parametrize(
    "sql",
    [
        "select content from read_text('/etc/hostname')",
        "select * from glob('/etc/*')",
        "select * from '/etc/hostname'",
        "select * from read_csv('{outside}')",
        "select * from read_text('{folder}/../../../outside.csv')",
        "select * from read_parquet('http://127.0.0.1:9/x.parquet')",
        "attach '/tmp/other.db'",
        "install httpfs",
        "set enable_external_access = true",
        "set allowed_directories = ['/']",
        "reset enable_external_access",
        "copy papers to '{folder}/papers.parquet'",
        "copy papers to '{folder}/more.parquet'",
        "select 1; copy papers to '{folder}/more.parquet'",
        "drop view papers",
    ],
)
def test_nothing_outside_is_read_and_nothing_is_written(work: Any, tmp_path: Path, sql: str) -> None:
    (tmp_path / "outside.csv").write_text("a\n1\n", encoding="utf-8")
    folder = work.store.table_path("made-2026", "papers").parent
    before = {path: path.read_bytes() for path in sorted(folder.iterdir())}
    with pytest.raises(duckdb.Error):
        query.ask(work, sql.format(folder=str(folder).replace("'", "''"), outside=tmp_path / "outside.csv"))
    assert {path: path.read_bytes() for path in sorted(folder.iterdir())} == before


def test_the_lock_holds_for_whoever_connects(work: Any) -> None:
    with query.connect(work) as connection:
        with pytest.raises(duckdb.Error, match="locked"):
            connection.execute("set enable_external_access = true")
        with pytest.raises(duckdb.Error):
            connection.execute("select content from read_text('/etc/hostname')")
