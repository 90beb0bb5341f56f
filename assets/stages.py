"""The stages of a build in order, what each is made from, and which are stale. Knows no Dagster."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from pipeline import editions
from pipeline.evidence import Json, canonical
from pipeline.fingerprints import code_print, fingerprint, keep, remember
from pipeline.store import StoreError

if TYPE_CHECKING:
    from assets.workplace import Workplace

Summary = Mapping[str, Json]
"""What a stage says of itself: counts and short tables, shown as metadata."""


UNFINISHED = " unfinished"
"""Behind a print: the output is not the last word, and the next build goes on with the stage."""

Checked = tuple[int, list[str]]
"""How many things a check looked at, and what it found wrong, one line each."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One noun of the pipeline.

    `rules`: modules whose reachable code makes the output what it is. `parts`: parts of the edition it reads.
    `reference`: shipped data files it reads. `inputs`: prints of what lies outside earlier stages. `run` writes
    `tables`, each with the given print. `lost`: whether what it made beside them is no longer there.
    """

    name: str
    after: tuple[str, ...]
    tables: tuple[str, ...]
    rules: tuple[str, ...]
    parts: tuple[str, ...]
    run: Callable[[Workplace, str], Summary]
    check: Callable[[Workplace], Checked]
    inputs: Callable[[Workplace], Mapping[str, str]] = lambda work: {}
    lost: Callable[[Workplace], bool] = lambda work: False
    libraries: tuple[str, ...] = ()
    reference: tuple[str, ...] = ()


def stages() -> tuple[Stage, ...]:
    """All stages, each after those it reads."""
    from assets import audit, bundles, classification, corpus, release, selection

    return (corpus.STAGE, bundles.STAGE, classification.STAGE, selection.STAGE, audit.STAGE, release.STAGE)


def code_of(stage: Stage) -> str:
    """The computed code version of a stage, shown by Dagster too."""
    return code_print(*stage.rules, libraries=stage.libraries, files=reference_files(stage))


def reference_files(stage: Stage) -> tuple[Path, ...]:
    return tuple(editions.data("reference", name) for name in stage.reference)


def prints(work: Workplace) -> dict[str, str]:
    """Every stage's present fingerprint: a chain, so that a change reaches all that depends on it and nothing else."""
    found: dict[str, str] = {}
    parsed = work.store.root / "parsed.json"
    remember(parsed)
    for stage in stages():
        inputs = {name: found[name] for name in stage.after} | dict(stage.inputs(work))
        settings = {part: work.edition.part(part) for part in stage.parts}
        found[stage.name] = fingerprint(stage.name, inputs=inputs, settings=settings, code=code_of(stage))
    keep(parsed)
    return found


def stale(work: Workplace, present: Mapping[str, str]) -> list[Stage]:
    """Stages whose output is gone or does not carry its present print, and all that come after one of them, in
    order."""
    edition = work.edition.name
    found: list[Stage] = []
    for stage in stages():
        made = (work.store.table_print(edition, table) for table in stage.tables)
        changed = any(s.name in stage.after for s in found) or any(print_ != present[stage.name] for print_ in made)
        if changed or stage.lost(work):
            found.append(stage)
    return found


class Lines:
    """Rows of a table as a stage makes them: each is kept as its text alone, so that a stage need not hold all that its
    rows are made from. `keys` as columns to sort and query by, further `columns` typed, the whole as `json`, and its
    hash, since Parquet has no checksum that readers look at."""

    def __init__(self, keys: Sequence[str], **columns: type[pl.DataType]) -> None:
        self._keys = keys
        self._schema = dict.fromkeys(keys, pl.String) | columns | {"json": pl.String, "sha256": pl.String}
        self._cells: dict[str, list[Json]] = {name: [] for name in self._schema}

    def __len__(self) -> int:
        return len(self._cells["json"])

    def add(self, rows: Iterable[Json]) -> None:
        """Rows are JSON objects."""
        for row in rows:
            text = canonical(row)
            told = {**row, "json": text, "sha256": _hash(text)}
            for name, cells in self._cells.items():
                cells.append(told.get(name))

    def write(self, work: Workplace, table: str, print_: str) -> int:
        frame = pl.DataFrame(self._cells, schema=self._schema).sort([*self._keys, "json"], nulls_last=True)
        work.store.write_table(work.edition.name, table, frame, print_)
        return len(self)


def write_rows(
    work: Workplace, table: str, rows: Iterable[Json], keys: Sequence[str], print_: str, **columns: type[pl.DataType]
) -> int:
    """Write JSON objects as a table (see `Lines`)."""
    lines = Lines(keys, **columns)
    lines.add(rows)
    return lines.write(work, table, print_)


def read_rows(work: Workplace, table: str, **only: Collection[str]) -> list[Json]:
    """The JSON objects of a table, in its order; `only` those whose column is one of the values given. StoreError where
    one of them is not what was written."""
    frame = work.store.read_table(work.edition.name, table)
    place = work.store.table_path(work.edition.name, table)
    if not {"json", "sha256", *only} <= set(frame.columns):
        raise StoreError(f"table {place} lacks a column (another version wrote it); delete it and build again")
    frame = frame.with_row_index("number", 1)
    for column, values in only.items():
        frame = frame.filter(pl.col(column).is_in(list(values)))
    rows = []
    for number, text, sha256 in frame.select("number", "json", "sha256").iter_rows():
        if _hash(text) != sha256:
            raise StoreError(f"table {place} is damaged (row {number} was changed); delete it and build again")
        rows.append(json.loads(text))
    return rows


def _hash(text: str | None) -> str:
    return hashlib.sha256((text or "").encode()).hexdigest()
