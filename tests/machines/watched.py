"""Preloaded by the Dask workers of these tests: writes down which papers are read here. Where TEST_DIES_AFTER says so,
the whole machine (worker and nanny) is killed as that many are kept."""

import os
import signal
import threading
from pathlib import Path
from typing import Any

from pipeline.record import Record

whole = getattr(Record.put_episode, "whole", Record.put_episode)  # Dask loads a preloaded file twice
lock = threading.Lock()


def put_episode(self: Record, key: str, **named: Any) -> None:
    with lock:
        whole(self, key, **named)
        place = Path(os.environ["RECLAIM_STORE"]) / "read.txt"
        with place.open("a") as file:
            file.write(f"{named['paper']} {named['value']['passes']}\n")
        if os.environ.get("TEST_DIES_AFTER") == str(len(place.read_text().splitlines())):
            os.killpg(0, signal.SIGKILL)


put_episode.whole = whole  # type: ignore[attr-defined]
Record.put_episode = put_episode  # type: ignore[method-assign]
