"""SQL over an edition's tables: DuckDB in memory, a view for each Parquet file. Reads only what lies in the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb

from assets.workplace import Workplace
from pipeline.store import damaged

READING = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)


def connect(work: Workplace) -> duckdb.DuckDBPyConnection:
    """A connection whose views are the edition's tables, by name. It opens no other file and no address, and what locks
    it cannot be undone by a query."""
    connection = duckdb.connect()
    folder = work.store.table_path(work.edition.name, "papers").parent.resolve()
    for path in sorted(folder.glob("*.parquet")):
        place = str(path).replace("'", "''")
        try:
            connection.execute(f"create view \"{path.stem}\" as select * from read_parquet('{place}')")
        except duckdb.Error as cause:
            raise damaged(path, cause) from None
    allowed = str(folder).replace("'", "''")
    connection.execute(f"set allowed_directories = ['{allowed}/']")
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
    return connection


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], widest: int = 160) -> str:
    """Rows as text in columns; long cells are cut."""
    shown = [["" if v is None else str(v).replace("\n", " ")[:widest] for v in row] for row in rows]
    widths = [max(len(c), *(len(row[i]) for row in shown), 1) for i, c in enumerate(columns)]
    line = "  ".join(c.ljust(w) for c, w in zip(columns, widths, strict=True)).rstrip()
    rule = "  ".join("-" * w for w in widths)
    body = ["  ".join(v.ljust(w) for v, w in zip(row, widths, strict=True)).rstrip() for row in shown]
    return "\n".join([line, rule, *body])


def ask(work: Workplace, sql: str) -> str:
    """The answer to one query, as text. Raises duckdb.Error for SQL that is none, or that would change something."""
    with connect(work) as connection:
        if any(statement.type not in READING for statement in connection.extract_statements(sql)):
            raise duckdb.InvalidInputException("only queries are answered (select, describe, summarize, explain)")
        found = connection.execute(sql)
        columns = [d[0] for d in found.description or ()]
        return table(columns, found.fetchall())
