"""Kills in numbers: shared among processes that each have a launcher of their own."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

from tests.e2e import tiny
from tests.e2e.tiny import Tiny
from tests.faults.campaigns import CAMPAIGNS, Campaign, draws
from tests.faults.launching import Kill, Launcher
from tests.faults.matrix import Line
from tests.faults.scenes import Scenes, prepare

_campaigns: dict[type[Campaign], Campaign] = {}


def shared(runs: int, kinds: Sequence[str]) -> dict[type[Campaign], int]:
    """So many runs, shared evenly over the kinds asked for, and within a kind over its campaigns."""
    each = {kind: runs // len(kinds) + (n < runs % len(kinds)) for n, kind in enumerate(kinds)}
    found = {}
    for kind, count in each.items():
        some = CAMPAIGNS[kind]
        found |= {one: count // len(some) + (n < count % len(some)) for n, one in enumerate(some)}
    return {one: count for one, count in found.items() if count}


def once(kind: type[Campaign], kill: Kill, scenes: Scenes, folder: Path) -> Line:
    """One kill, by the launcher of this process."""
    own, begun = folder / f"worker-{os.getpid()}", time.perf_counter()
    own.mkdir(exist_ok=True)
    if kind not in _campaigns:
        launcher = next((known.launcher for known in _campaigns.values()), None) or Launcher(own)
        _campaigns[kind] = kind(scenes, launcher)
    line = Line(fault="kill -9", where=kind.where, runs=1)
    try:
        outcome = _campaigns[kind].once(kill, own / "again")
    except Exception as error:  # whatever fails is a line of the matrix, and the other runs go on
        return replace(line, notes=(f"{kill}: {type(error).__name__}: {error}"[:600],))
    notes = (f"{kill}: {'; '.join(outcome.problems)}",) if outcome.problems else ()
    seconds = time.perf_counter() - begun
    return replace(line, same=int(not notes), lost=outcome.lost, seconds=seconds, notes=notes)


def kills(runs: int, seed: int, kinds: Sequence[str], workers: int, scenes: Scenes, folder: Path) -> list[Line]:
    """So many kills of these kinds, by as many processes as `workers`, which keep their things in `folder`."""
    counts = shared(runs, kinds)
    found = {kind: Line(fault="kill -9", where=kind.where) for kind in counts}
    forks = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=forks) as pool:
        # Of every kind from the beginning, so that whoever looks early sees some of each.
        drawn = [
            (n / count, kind, kill) for kind, count in counts.items() for n, kill in enumerate(draws(kind, seed, count))
        ]
        todo = {pool.submit(once, k, kill, scenes, folder): k for _, k, kill in sorted(drawn, key=itemgetter(0))}
        for number, done in enumerate(as_completed(todo), start=1):
            line = done.result()
            found[todo[done]] += line
            if number % 10 == 0:
                bad = sum(line.runs - line.same for line in found.values())
                told = f"{number} of {len(todo)} kills, {bad} ended otherwise"
                print(f"{time.strftime('%X')} {told}", file=sys.stderr, flush=True)
            for note in line.notes:
                print(f"{line.where}: {note}", file=sys.stderr, flush=True)
    return list(found.values())


def scenes_in(folder: Path) -> Scenes:
    """A tiny edition built, decided and released, and everything made from it."""
    made = tiny.make(folder / "finished")
    with (folder / "scenes.txt").open("w") as out, contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        assert made.build() == tiny.EXIT_WAITING
        made.decide()
        assert made.build() == tiny.EXIT_RELEASED
        return prepare(Tiny(made.folder), folder)
