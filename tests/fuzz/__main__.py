"""Fuzz what takes input from strangers: `uv run python -m tests.fuzz SECONDS [--seed N] [--only TARGET …]`.

Every target gets its share of the time, in rounds of one seed each. The end is a table: target, inputs, failures,
slowest input in seconds of processor time. A failure prints its example and the command that makes it again; then the
exit code is 1. `tests/fuzz/test_fuzz.py` runs a few inputs of each target, the same ones every time.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time

from tests.fuzz import editing, ledgers, papers, releases, services, targets, web
from tests.fuzz.running import Tally, Target, run

TARGETS: tuple[Target, ...] = (
    *papers.TARGETS,
    *targets.TARGETS,
    *web.TARGETS,
    *services.TARGETS,
    *ledgers.TARGETS,
    *releases.TARGETS,
    *editing.TARGETS,
)


def main() -> int:
    names = [target.name for target in TARGETS]
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("seconds", type=float, nargs="?", default=60.0, help="for all targets together")
    parser.add_argument("--seed", type=int, default=0, help="of the first round; each round counts one up")
    parser.add_argument("--only", nargs="+", metavar="TARGET", choices=names, default=names, help=", ".join(names))
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)  # client libraries warn of every entry that they skip
    chosen = [target for target in TARGETS if target.name in given.only]
    tallies = {target.name: Tally() for target in chosen}
    spent = dict.fromkeys(tallies, 0.0)
    number, end = given.seed, time.monotonic() + given.seconds
    while number == given.seed or time.monotonic() < end:
        for target in chosen:
            if number > given.seed and (time.monotonic() >= end or spent[target.name] > min(spent.values()) + 30):
                continue
            began, known = time.monotonic(), set(tallies[target.name].failures)
            run(target, number, tallies[target.name])
            spent[target.name] += time.monotonic() - began
            for kind, told in tallies[target.name].failures.items():
                if kind not in known:
                    print(f"FAILED {target.name}: {kind}\n{told}", flush=True)
        number += 1
    print(table(tallies, spent))
    return 1 if any(tally.failures for tally in tallies.values()) else 0


def table(tallies: dict[str, Tally], spent: dict[str, float]) -> str:
    lines = [f"{'target':<12}{'inputs':>10}{'failures':>10}{'slowest':>10}{'seconds':>10}"]
    lines += [
        f"{name:<12}{tally.inputs:>10,}{len(tally.failures):>10}{tally.slowest:>8.2f} s{spent[name]:>10.0f}"
        for name, tally in tallies.items()
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
