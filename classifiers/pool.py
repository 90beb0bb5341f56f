"""Many episodes at once, a bounded number in flight, each handed over as it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import TypeVar

Given = TypeVar("Given")
Result = TypeVar("Result")


async def run(
    papers: Iterable[Given], worker: Callable[[Given], Awaitable[Result]], concurrency: int
) -> AsyncIterator[Result]:
    """Yield what `worker` makes of each paper, in the order of completion. Papers are drawn only as places become free.

    A worker that raises ends the run, after the others in flight are cancelled: `run_episode` never does.
    """
    if concurrency < 1:
        raise ValueError(f"concurrency must be at least 1, not {concurrency}")
    waiting = iter(papers)
    running: set[asyncio.Future[Result]] = set()
    try:
        while True:
            while len(running) < concurrency and (paper := next(waiting, _END)) is not _END:
                running.add(asyncio.ensure_future(worker(paper)))  # type: ignore[arg-type]
            if not running:
                return
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                yield task.result()
    finally:
        for task in running:
            task.cancel()


_END = object()
