"""A whole conference fetched on the offline services, which keep the real ones' limits on a simulated clock.

`PYTHONPATH=. python tests/bench/fetch.py [PAPERS]` (3,414 by default, some ten minutes) prints what was asked of whom
and the time the real services would need. It fails where a limit was broken.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from pipeline.sources.budget import duration, lane_of, seconds
from tests.bench.rehearsal import START, attachments, fetch_all, is_plain, rehearsal


def main() -> None:
    papers = int(sys.argv[1]) if len(sys.argv) > 1 else 3414
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, rehearsal(Path(folder), papers) as work:
        told = fetch_all(work)
        log, simulated = work.keeper.seen, (work.simulated.now() - START).total_seconds()
    lanes = Counter(lane_of(f"https://{seen.host}{seen.path}", seen.who != "anonymous") for seen in log)
    shown = {lane: (count, seconds(lane, count)) for lane, count in lanes.items()}
    print(f"{'lane':<34}{'requests':>10}  at its limits")
    for lane, (count, spent) in sorted(shown.items(), key=lambda item: -item[1][1])[:20]:
        print(f"{lane:<34}{count:>10,}  {duration(spent)}")
    rest = [lane for lane in shown if lane not in sorted(shown, key=lambda one: -shown[one][1])[:20]]
    print(f"{f'{len(rest)} more hosts':<34}{sum(lanes[lane] for lane in rest):>10,}")
    plain, repositories = sum(map(is_plain, log)), told["repositories"]
    supplements = told["with_supplement"]
    print(f"\n{told['papers']:,} papers, {repositories:,} repositories, {supplements:,} supplements")
    print(f"GitHub API requests a repository, deep trees and searches aside: {plain / max(1, repositories):.3f}")
    print(f"OpenReview attachment requests: {attachments(log)}")
    print(f"one after another on the simulated clock: {duration(simulated)}")
    print(f"here, without waiting: {duration(time.perf_counter() - began)}")
    if broken := Counter((seen.host, seen.limit) for seen in log if seen.limit):
        raise SystemExit(f"limits were broken: {broken.most_common()}")


if __name__ == "__main__":
    main()
