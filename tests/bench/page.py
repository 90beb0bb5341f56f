"""The page of a run: goals, the plot, and every benchmark's table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.bench.goals import GOALS
from tests.bench.telling import Row, columns, shown, title

ABOUT: Mapping[str, str] = {
    "reader": "Ours reads the bundle as submitted: main file, inputs, links, tables, figures, references. The others "
    "get one flat file and convert it. The fastest of three turns counts; `to ours` on the papers the peer completed.",
    "selection": "All choose the same papers. `polars, ours` also tells status, reason, rank and reserve of every "
    "candidate; the others only who is chosen.",
    "growth": "Generated conferences, from first build to rebuilds.",
    "plain": "The same facts by one REST call each, one paper after another.",
    "verify": "Processes with their start; `to hashing` beside a process that only hashes every file of the folder.",
    "audit": "Real page, real clients, every answer acknowledged found in the ledger and the chain whole.",
    "recorder": "CPU and wall time of one question, over a host that answers at once.",
    "agent": "Our loop beside a bare pydantic-ai loop that makes the same calls; and a kill half-way.",
    "prompt": "Tokens of our first message beside the published prompt, and beside that without the rendered text.",
    "snapshot": "A conference looked up in a local snapshot of arXiv's metadata.",
    "fetch": "A whole conference fetched on services that keep the real ones' limits, on a simulated clock.",
}


def render(said: Mapping[str, Any]) -> str:
    rows: Sequence[Row] = said["rows"]
    parts = [
        "# Performance\n",
        "Made by `uv run --group bench python -m tests.bench`, which anyone may run; numbers in `performance.json`.\n",
        f"{said['cores']} cores of {said['processor']}, {said['memory_gb']:g} GB, {said['system']}, Python "
        f"{said['python']}; commit {said['commit']}, {said['date']}; load before the run {said['load']:.1f}.\n",
    ]
    if said["quick"]:
        parts.append("**A quick run: a smoke test, whose numbers mean nothing.**\n")
    parts += ["## Goals\n", _grid(("", "goal", "measured", ""), (goal.words(rows) for goal in GOALS))]
    parts.append("![Reader, selection, growth and rebuilds](performance.png)\n")
    for bench in dict.fromkeys(row["bench"] for row in rows):
        mine = [row for row in rows if row["bench"] == bench]
        names = columns(mine)
        lines = ([shown(name, row.get(name)) for name in names] for row in mine)
        parts += [f"## {bench.capitalize()}\n", f"{ABOUT.get(bench, '')}\n", _grid([title(n) for n in names], lines)]
    failed = [name for name, told in said["benches"].items() if told["exit"]]
    took = sum(told["seconds"] for told in said["benches"].values())
    parts.append(
        f"All of it took {took / 60:.0f} minutes." + (f" Failed: {', '.join(failed)}." if failed else "") + "\n"
    )
    return "\n".join(parts)


def _grid(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *lines]
    return "\n".join(f"| {' | '.join(cell.replace('|', '¦') for cell in line)} |" for line in lines) + "\n"
