"""All benchmarks, one after another, each in a process of its own, and what they came to as page, plot and numbers.

    uv run --group bench python -m tests.bench [--quick] [--only NAME …] [--add FILE …] [--out FOLDER]

writes `performance.json` (every row, the machine, the commit), `performance.md` (goals and tables) and
`performance.png` to `docs/`, or to FOLDER. `--only` runs some and keeps the other rows of an earlier run on the same
commit and machine; `--add` takes rows that a benchmark wrote by itself. `--quick` does little of everything, in a
minute or two: a smoke test, whose numbers mean nothing; it writes to `docs/` only where told to. Goals are printed
beside what was measured and never asserted: the exit code is 1 only where a benchmark itself failed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.bench import goals, page, plot
from tests.bench.machine import machine
from tests.bench.telling import Row

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Member:
    """A benchmark: its module, what a full and a quick run are told; `asked`: only where it is named."""

    name: str
    full: tuple[str, ...] = ()
    quick: tuple[str, ...] | None = ("--quick",)
    asked: bool = False


MEMBERS = (
    Member("reader"),
    Member("selection"),
    Member("growth"),
    Member("plain"),
    Member("verify"),
    Member("audit"),
    Member("recorder"),
    Member("agent"),
    Member("prompt"),
    Member("snapshot"),
    Member("fetch", quick=None, asked=True),
)


def run(member: Member, quick: bool, folder: Path) -> tuple[list[Row], dict[str, Any]]:
    """A benchmark's rows, and how its process ended."""
    out = folder / f"{member.name}.json"
    arguments = (member.quick or ()) if quick else member.full
    if member.name != "fetch":  # tells its numbers as text
        arguments = (*arguments, "--out", str(out))
    began = time.perf_counter()
    ran = subprocess.run([sys.executable, "-m", f"tests.bench.{member.name}", *arguments], cwd=ROOT, check=False)
    told = {"seconds": time.perf_counter() - began, "exit": ran.returncode}
    rows: list[Row] = json.loads(out.read_text(encoding="utf-8")) if out.is_file() else []
    if member.name == "fetch" and not ran.returncode:
        rows = [{"bench": "fetch", "case": "a conference of 3,414 papers", "seconds": told["seconds"]}]
    return rows, told


def main() -> int:
    here = [member for member in MEMBERS if (Path(__file__).parent / f"{member.name}.py").is_file()]
    names = [member.name for member in here]
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a smoke test of a minute or two")
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--add", nargs="+", type=Path, default=[], metavar="FILE", help="rows measured by themselves")
    parser.add_argument("--out", type=Path, help="folder (default: docs; a quick run's: a temporary one)")
    given = parser.parse_args()
    chosen = [m for m in here if (m.name in given.only if given.only else not m.asked)]
    chosen = [m for m in chosen if not given.quick or m.quick is not None]
    folder = given.out or (Path(tempfile.mkdtemp(prefix="reclaim-bench-")) if given.quick else ROOT / "docs")
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / "performance.json"
    said: dict[str, Any] = {**machine(ROOT), "quick": given.quick, "benches": {}, "rows": []}
    if given.only and place.is_file():
        said = kept(said, json.loads(place.read_text(encoding="utf-8")), {m.name for m in chosen})
    with tempfile.TemporaryDirectory() as work:
        for member in chosen:
            print(f"\n== {member.name}", flush=True)
            rows, told = run(member, given.quick, Path(work))
            said["benches"][member.name] = {**told, "of": [row["bench"] for row in rows[:1]]}
            said["rows"] += rows
    for file in given.add:
        said["rows"] += json.loads(file.read_text(encoding="utf-8"))
    said["date"] = datetime.now(UTC).strftime("%Y-%m-%d")
    place.write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    plot.draw(said, folder / "performance.png")
    (folder / "performance.md").write_text(page.render(said), encoding="utf-8")
    print("\n== goals")
    print("\n".join(goal.line(said["rows"]) for goal in goals.GOALS))
    failed = [name for name in (m.name for m in chosen) if said["benches"][name]["exit"]]
    print(f"\n{place}, performance.md, performance.png" + (f"; FAILED: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


def kept(said: dict[str, Any], before: dict[str, Any], again: set[str]) -> dict[str, Any]:
    """An earlier run's benchmarks that are not run again, where it was the same code on the same machine."""
    same = ("commit", "cores", "memory_gb", "processor", "python", "quick")
    if any(before.get(key) != said[key] for key in same):
        print("an earlier run was of another commit or machine: its rows are dropped")
        return said
    gone = {bench for name in again for bench in before["benches"].get(name, {}).get("of", ())}
    said["benches"] = {name: told for name, told in before["benches"].items() if name not in again}
    said["rows"] = [row for row in before["rows"] if row["bench"] not in gone]
    return said


if __name__ == "__main__":
    sys.exit(main())
