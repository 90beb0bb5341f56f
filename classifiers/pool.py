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

    A worker that raises ends the run: no further paper is drawn, and those in flight come to their own end first, since
    what they wait for may be paid for. Whoever gives the run up cancels them.
    """
    if concurrency < 1:
        raise ValueError(f"concurrency must be at least 1, not {concurrency}")
    waiting = iter(papers)
    running: set[asyncio.Future[Result]] = set()
    fault: BaseException | None = None
    try:
        while True:
            while fault is None and len(running) < concurrency and (paper := next(waiting, _END)) is not _END:
                running.add(asyncio.ensure_future(worker(paper)))  # type: ignore[arg-type]
            if not running:
                break
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                if raised := task.exception():
                    fault = fault or raised
                else:
                    yield task.result()
        if fault is not None:
            raise fault
    finally:
        for task in running:
            task.cancel()


_END = object()
