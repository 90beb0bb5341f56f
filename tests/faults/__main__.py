"""The whole fault matrix by one command:

    uv run python -m tests.faults --runs 200 --seed 2025 [--only kill-build --only tests] [--out FILE.json]

kills a build, an audit, a freeze and a publication 200 times in all, shared among two launchers, then runs every test
that is marked as a fault, and prints what became of each as a Markdown table. Exit status 1 where a line fails.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
import time
from pathlib import Path

from tests.faults import matrix
from tests.faults.campaigns import CAMPAIGNS
from tests.faults.many import kills, scenes_in

TESTS = "tests"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="kills in all (200)")
    parser.add_argument("--seed", type=int, default=2025)
    parser.add_argument("--only", action="append", choices=[*CAMPAIGNS, TESTS], help="may be given several times")
    parser.add_argument("--workers", type=int, default=2, help="launchers at once (2)")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="also write the lines as JSON")
    parser.add_argument("--require-services", action="store_true", help="fail where PostgreSQL is not there")
    given = parser.parse_args()
    wanted = given.only or [*CAMPAIGNS, TESTS]
    begun, lines = time.perf_counter(), []
    if kinds := [kind for kind in CAMPAIGNS if kind in wanted]:
        with tempfile.TemporaryDirectory(prefix="reclaim-faults-") as folder:
            scenes = scenes_in(Path(folder))
            print(f"{time.strftime('%X')} the scenes are set", file=sys.stderr, flush=True)
            lines += kills(given.runs, given.seed, kinds, given.workers, scenes, Path(folder))
    if TESTS in wanted:
        with contextlib.redirect_stdout(sys.stderr):
            lines += matrix.marked(["--require-services"] if given.require_services else [])
    print(matrix.table(lines))
    failed = [line for line in lines if not line.ok]
    took = f"{(time.perf_counter() - begun) / 60:.1f} minutes, seed {given.seed}"
    print(f"\n{took}; {'every line held' if not failed else f'{len(failed)} lines failed'}")
    if given.out is not None:
        given.out.write_text(json.dumps(matrix.as_json(lines), indent=2) + "\n", encoding="utf-8")
    return 1 if failed or not lines else 0


if __name__ == "__main__":
    sys.exit(main())
