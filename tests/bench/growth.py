"""How time, memory, disk and requests of a build grow with an edition, on generated conferences.

`uv run python tests/bench/growth.py [60 1000] [--out FILE.json]` builds each size four times, every time in a process
of its own: cold (everything asked of the offline world), with nothing to do, after one change (a cap), and from
recorded evidence (record and blobs are there, episodes and tables are gone). It prints a table; beside each number of a
paper stands its ratio to the smallest size (1 is linear), and one that grows less than the edition lies below. 10,000
papers take an hour, so they are asked for by name: `growth.py 10000 --out FILE`, then `python -m tests.bench --add
FILE`.

FILE.json is a flat list of {"bench": "growth", "case": "cold" | "no-op" | "one change" | "from evidence", "papers": n,
"seconds": wall clock, "cpu_seconds": of the building process and those it waits for (its shards are not among them),
"peak_mb": the largest process, "requests": sent to the world, "disk_mb": store, "sql_mb", "blobs_mb", "tables_mb":
parts of it}.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.offline.generated import write_generated

SEED = "growth"
CASES = ("cold", "no-op", "one change", "from evidence")
ENDS = (0, 3, 5)
"""Released, blocked at the gate, or waiting for people: nobody decides the rows of a generated conference."""
_CHILD = """\
import json, resource, subprocess, sys, time
began = time.perf_counter()
code = subprocess.run(sys.argv[2:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
told = {"code": code, "seconds": time.perf_counter() - began, "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_mb": used.ru_maxrss / 1024}
open(sys.argv[1], "w").write(json.dumps(told))
"""
"""Between us and the build stands a small process: a new one counts the memory of whom it was forked from."""


def build(world: Path, store: Path) -> dict[str, float]:
    environ = {**os.environ, "RECLAIM_STORE": str(store)}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)  # Dagster would be compiled at every start
    with tempfile.NamedTemporaryFile("r", suffix=".json") as told:
        build = [sys.executable, "-c", "from assets.cli import main; raise SystemExit(main())", "build"]
        command = [sys.executable, "-c", _CHILD, told.name, *build, "--world", str(world)]
        ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
        used: dict[str, float] = json.load(told)
    if used.pop("code") not in ENDS:
        raise SystemExit(f"the build of {world} failed:\n{ran.stderr[-2000:]}")
    asked = re.search(r"asked\s+([\d,]+) requests", ran.stdout + ran.stderr)
    return used | {"requests": int(asked[1].replace(",", "")) if asked else 0}


def megabytes(place: Path) -> float:
    files = [place] if place.is_file() else place.rglob("*")
    return sum(file.stat().st_blocks * 512 for file in files if file.is_file()) / 2**20


def disk(store: Path) -> dict[str, float]:
    sql = sum(megabytes(file) for file in store.glob("store.sqlite*"))
    parts = {"sql_mb": sql, "blobs_mb": megabytes(store / "blobs"), "tables_mb": megabytes(store / "tables")}
    return {"disk_mb": megabytes(store), **parts}


def forget(store: Path) -> None:
    """Leave the evidence alone: what tools saw, and no reading of it."""
    shutil.rmtree(store / "tables")
    with sqlite3.connect(store / "store.sqlite") as connection:
        connection.execute("DELETE FROM episodes")


def change(store: Path) -> None:
    """Settings are fixed before the first episode: a cap changes in an edition that was registered anew."""
    (toml,) = (store / "editions").glob("*.toml")
    text = toml.read_text(encoding="utf-8")
    toml.write_text(text.replace("\n[corpus]", "pool_cap_hours = 180.0\n\n[corpus]", 1), encoding="utf-8")
    shutil.rmtree(store / "registered")


def measured(papers: int, folder: Path) -> Iterator[dict[str, Any]]:
    world, store = folder / f"conference{papers}", folder / f"store{papers}"
    write_generated(world, papers, SEED)
    before = {"from evidence": forget, "one change": change}
    for case in CASES:
        if case in before:
            before[case](store)
        used = build(world, store)
        print(f"{papers:,} papers, {case}: {used['seconds']:.0f} s", file=sys.stderr, flush=True)
        yield {"bench": "growth", "case": case, "papers": papers, **used, **disk(store)}


SHOWN = ("seconds", "cpu_seconds", "peak_mb", "disk_mb", "requests")


def table(found: list[dict[str, Any]]) -> str:
    lines = [f"{'case':<14}{'papers':>8}" + "".join(f"{name:>14}{'ratio':>7}" for name in SHOWN)]
    for one in sorted(found, key=lambda row: (CASES.index(row["case"]), row["papers"])):
        least = min((row for row in found if row["case"] == one["case"]), key=lambda row: row["papers"])
        line = f"{one['case']:<14}{one['papers']:>8,}"
        for name in SHOWN:
            base = least[name] / least["papers"]
            ratio = f"{one[name] / one['papers'] / base:.2f}" if base else "-"
            line += f"{one[name]:>14,.1f}{ratio:>7}"
        lines.append(line)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("papers", nargs="*", type=int, default=[60, 1000])
    parser.add_argument("--quick", action="store_true", help="one small size: a smoke test, no measurement")
    parser.add_argument("--out", type=Path, help="where the measurements go, as JSON")
    told = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for papers in [30] if told.quick else told.papers:
            for one in measured(papers, Path(folder)):
                found.append(one)
                if told.out:  # one by one: the largest takes an hour
                    told.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            shutil.rmtree(Path(folder) / f"store{papers}")
    print(table(found))


if __name__ == "__main__":
    main()
