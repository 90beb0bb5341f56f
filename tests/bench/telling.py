"""How every benchmark tells what it measured: rows, printed as a table and written as JSON where `--out` says.

A row names its `bench`, its `case`, where several do the same `who`, and numbers whose names end in their unit:
`seconds`, `ms`, `mb`, `share` (of one), `times` (ratio to ours, or to the peer where `who` is "ours"). Nothing here
asserts anything about time.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def options(doc: str | None) -> argparse.ArgumentParser:
    """A benchmark's command line: `--out FILE` for its rows, `--quick` for a smoke test."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, help="write the rows as JSON")
    parser.add_argument("--quick", action="store_true", help="little work: a smoke test, no measurement")
    return parser


def tell(rows: Sequence[Row], out: Path | None) -> None:
    print(table(rows))
    if out is not None:
        out.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def columns(rows: Iterable[Row]) -> list[str]:
    """Names of the rows' values in the order in which they first appear."""
    return [name for name in dict.fromkeys(name for row in rows for name in row) if name != "bench"]


def table(rows: Sequence[Row]) -> str:
    names = columns(rows)
    cells = [[title(name) for name in names], *([shown(name, row.get(name)) for name in names] for row in rows)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(names))]
    right = [all(not isinstance(row.get(name), str) for row in rows) for name in names]
    lines = [[c.rjust(w) if r else c.ljust(w) for c, w, r in zip(line, widths, right, strict=True)] for line in cells]
    return "\n".join("  ".join(line).rstrip() for line in lines)


def title(name: str) -> str:
    """A column's head: `median_ms` is "median ms", `kept_share` "kept"."""
    return name.removesuffix("_share").removesuffix("_times").replace("_mb", " MB").replace("_", " ")


def shown(name: str, value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return str(value)
    if name.endswith("share"):
        return f"{value:.1%}"
    if name.endswith("times"):
        return f"{value:.2f}x" if value < 10 else f"{value:,.0f}x"
    if isinstance(value, int):
        return f"{value:,}"
    digits = next((n for most, n in ((1, 3), (10, 2), (1000, 1)) if abs(value) < most), 0)
    return f"{value:,.{digits}f}"
