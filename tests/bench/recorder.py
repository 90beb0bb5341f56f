"""What the recorder itself costs: `PYTHONPATH=. python tests/bench/recorder.py [ASKS]` (1,000 by default).

CPU milliseconds of one new question (lane, lease, sighting, traffic, blob) and of one that the record answers, over
SQLite in a folder and over a transport that answers at once.
"""

from __future__ import annotations

import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import httpx2

from pipeline.sources.clocks import SimulatedClock
from pipeline.sources.recorder import Recorder
from pipeline.store import Store


def main() -> None:
    asks = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json={"url": str(request.url)}))
    with tempfile.TemporaryDirectory() as folder:
        clock = SimulatedClock(datetime(2025, 12, 1, tzinfo=UTC))
        recorder = Recorder(Store(Path(folder)), clock, run="bench", epoch="offline:bench", transport=transport)
        for what in ("new", "from the record"):
            began, cpu = time.perf_counter(), time.process_time()
            for number in range(asks):
                recorder.ask("GET", f"https://api.github.com/repos/someone/{number}")
            spent, wall = time.process_time() - cpu, time.perf_counter() - began
            print(f"{what:<18}{spent / asks * 1e3:8.2f} ms CPU {wall / asks * 1e3:8.2f} ms wall a question")


if __name__ == "__main__":
    main()
