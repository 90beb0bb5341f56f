"""Whatever happens to a table's file, nobody takes what it then holds for what was written."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest

from assets.stages import read_rows, stages, stale
from assets.workplace import Workplace, workplace
from pipeline.store import StoreError
from tests.e2e.tiny import Tiny, contents
from tests.faults.driving import drive, one_line, told

SEED = 2025
TABLES = tuple(table for stage in stages() for table in (*stage.tables, *(["pins"] if stage.name == "corpus" else [])))
Damage = Callable[[bytes, random.Random], bytes]


def changed(data: bytes, at: int, draw: random.Random) -> bytes:
    return data[:at] + bytes([data[at] ^ draw.randrange(1, 256)]) + data[at + 1 :]


def footer_of(data: bytes) -> int:
    """Where the footer begins: its length stands before the last four bytes."""
    return len(data) - 8 - int.from_bytes(data[-8:-4], "little")


def rewritten(data: bytes, change: Callable[[pl.DataFrame], pl.DataFrame], **metadata: str) -> bytes:
    """The same rows changed and written whole, with the metadata it had."""
    out, kept = BytesIO(), pl.read_parquet_metadata(BytesIO(data))
    kept.pop("ARROW:schema", None)
    change(pl.read_parquet(BytesIO(data))).write_parquet(out, metadata={**kept, **metadata})
    return out.getvalue()


DAMAGES: dict[str, Damage] = {
    "first magic": lambda data, draw: changed(data, draw.randrange(4), draw),
    "last magic": lambda data, draw: changed(data, len(data) - 1 - draw.randrange(4), draw),
    "length of the footer": lambda data, draw: changed(data, len(data) - 8 + draw.randrange(4), draw),
    "footer": lambda data, draw: changed(data, draw.randrange(footer_of(data), len(data) - 8), draw),
    "page": lambda data, draw: changed(data, draw.randrange(4, max(footer_of(data), 5)), draw),
    "cut short": lambda data, draw: data[: draw.randrange(1, len(data))],
    "zeros at the end": lambda data, draw: data[: (at := draw.randrange(len(data)))] + bytes(len(data) - at),
    "empty": lambda data, draw: b"",
    "a column less": lambda data, draw: rewritten(data, lambda frame: frame.drop("sha256")),
    "a row changed": lambda data, draw: rewritten(data, lambda frame: frame.with_columns(json=pl.lit("{}"))),
    "text": lambda data, draw: b"arxiv_id,tier\n2505.90011,Run\n",
}


def outcome(work: Workplace, table: str, rows: list[object]) -> str:
    """Whether a table counts as not made, is named with a remedy, or says what it said; nothing else may be."""
    place, stands = work.store.table_path(work.edition.name, table), work.store.table_print(work.edition.name, table)
    try:
        found = list(read_rows(work, table))
    except StoreError as named:
        said = str(named)
    else:
        assert found == rows, table
        return "same"
    assert str(place) in said, said
    assert "delete it and build again" in said, said
    return "named" if stands else "stale"


@pytest.mark.fault("damaged", "tables")
def test_no_damage_to_any_table_is_read_as_what_was_written(
    finished: Tiny, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Every table under every damage: it counts as not made, it is named with a remedy, or it says what it said."""
    root = tmp_path / "store"
    shutil.copytree(finished.root / "tables", root / "tables")
    store = Tiny(tmp_path, finished.name).store
    draw, outcomes, cases = random.Random(SEED), {"stale": 0, "named": 0, "same": 0}, 0
    with workplace(str(finished.toml), root, say=lambda line: None) as work:
        for table in TABLES:
            place = store.table_path(finished.name, table)
            whole, rows = place.read_bytes(), list(read_rows(work, table))
            for name, damage in DAMAGES.items():
                if name == "a row changed" and not rows:
                    continue
                hurt = damage(whole, draw)
                place.write_bytes(hurt)
                cases += 1
                outcomes[outcome(work, table, rows)] += 1
                place.write_bytes(whole)
    record_property("cases", cases)
    assert sum(outcomes.values()) == cases
    assert outcomes["stale"] > 60, outcomes
    assert outcomes["named"] > 15, outcomes


@pytest.mark.fault("damaged", "tables")
def test_a_table_in_the_place_of_another_counts_as_not_made(
    finished: Tiny, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """All tables of a stage carry one print, so that alone does not tell them apart; nor do editions of one corpus."""
    root = tmp_path / "store"
    for part in ("tables", "releases"):
        shutil.copytree(finished.root / part, root / part)
    with workplace(str(finished.toml), root, say=lambda line: None) as work:
        present = {stage.name: "" for stage in stages()}
        for stage in stages():
            present[stage.name] = str(work.store.table_print(finished.name, stage.tables[0]))
        assert stale(work, present) == []
        for stage in stages():
            for table in stage.tables:
                place = work.store.table_path(finished.name, table)
                whole = place.read_bytes()
                other = next(t for t in TABLES if t != table and t in (*stage.tables, "pins", "papers"))
                place.write_bytes(work.store.table_path(finished.name, other).read_bytes())
                assert stage in stale(work, present), f"{other} in the place of {table}"
                with pytest.raises(StoreError, match=f"tiny/{other}.*delete it and build again"):
                    work.store.read_table(finished.name, table)
                place.write_bytes(whole)
        frame = work.store.read_table(finished.name, "rows")
        work.store.write_table("other", "rows", frame, present["classification"])
        shutil.copy(work.store.table_path("other", "rows"), work.store.table_path(finished.name, "rows"))
        assert "classification" in [stage.name for stage in stale(work, present)]
    record_property("cases", len(TABLES))


@pytest.mark.slow
@pytest.mark.fault("damaged", "tables")
def test_after_any_damage_to_tables_the_same_command_or_the_remedy_gives_the_same_release(
    copy: Tiny, record_property: Callable[[str, object], None]
) -> None:
    """Several tables hurt at once, drawn with their damages; what is named is deleted, as its message says."""
    before, draw = contents(copy.root / "releases"), random.Random(SEED)
    rounds = 3
    for _ in range(rounds):
        for table in draw.sample(TABLES, 3):
            place = copy.store.table_path(copy.name, table)
            place.write_bytes(draw.choice(list(DAMAGES.values()))(place.read_bytes(), draw))
        for _ in TABLES:
            try:
                drive(copy)
                break
            except StoreError as named:
                (hurt,) = [t for t in TABLES if f"{copy.store.table_path(copy.name, t)} " in str(named)]
                copy.store.table_path(copy.name, hurt).unlink()
        assert drive(copy) == []
        assert contents(copy.root / "releases") == before
    record_property("cases", rounds * 3)


@pytest.mark.fault("damaged", "tables")
@pytest.mark.parametrize(
    "command",
    [("status", "EDITION"), ("sql", "select 1", "--edition", "EDITION"), ("audit", "status", "--edition", "EDITION")],
    ids=lambda command: command[0],
)
def test_a_command_that_meets_a_damaged_table_names_it_in_one_line(
    command: tuple[str, ...], copy: Tiny, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cut off in front of its footer, and with a footer whose print still stands."""
    place = copy.store.table_path(copy.name, "selection")
    whole = place.read_bytes()
    schema = whole.rindex(b"ARROW:schema") + 40
    hurts = {"cut short": whole[: footer_of(whole)], "footer": whole[:schema] + b"\xff" + whole[schema + 1 :]}
    if command[0] == "status":  # a table without a footer is as good as none, and the schema is not looked at
        hurts = {"page": whole[:4] + bytes(footer_of(whole) - 4) + whole[footer_of(whole) :]}
    if command[0] == "sql":
        del hurts["footer"]  # DuckDB does not read what polars writes there for itself
    for hurt in hurts.values():
        place.write_bytes(hurt)
        code, said = told(copy, capsys, *(str(copy.toml) if part == "EDITION" else part for part in command))
        assert code == 1, said
        line = one_line(said)
        assert str(place) in line
        assert "delete it and build again" in line


def test_the_tables_that_are_hurt_here_are_all_that_a_build_leaves(finished: Tiny) -> None:
    assert {path.stem for path in (finished.root / "tables" / "tiny").glob("*.parquet")} == set(TABLES)
