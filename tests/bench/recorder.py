"""What the recorder itself costs: `uv run python -m tests.bench.recorder [--asks 1000]`.

CPU milliseconds of one new question (lane, lease, sighting, traffic, blob) and of one that the record answers, over
SQLite in a folder and over a transport that answers at once.
"""

from __future__ import annotations

import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import httpx2

from pipeline.sources.clocks import SimulatedClock
from pipeline.sources.recorder import Recorder
from pipeline.store import Store
from tests.bench.telling import Row, options, tell


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--asks", type=int, default=1000)
    given = parser.parse_args()
    asks, rows = 100 if given.quick else given.asks, list[Row]()
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json={"url": str(request.url)}))
    with tempfile.TemporaryDirectory() as folder:
        clock = SimulatedClock(datetime(2025, 12, 1, tzinfo=UTC))
        recorder = Recorder(Store(Path(folder)), clock, run="bench", epoch="offline:bench", transport=transport)
        for what in ("new", "from the record"):
            began, cpu = time.perf_counter(), time.process_time()
            for number in range(asks):
                recorder.ask("GET", f"https://api.github.com/repos/someone/{number}")
            spent, wall = time.process_time() - cpu, time.perf_counter() - began
            told = {"asks": asks, "cpu_ms": spent / asks * 1e3, "wall_ms": wall / asks * 1e3}
            rows.append({"bench": "recorder", "case": f"a question, {what}", **told})
    tell(rows, given.out)


if __name__ == "__main__":
    main()
