"""What our loop costs beside a bare pydantic-ai loop that makes the same calls, and what a kill half-way costs:
`uv run python -m tests.bench.agent [--papers 200] [--in-flight 64] [--rounds 3]`.

Both loops read the papers of one generated conference through one fake server (another process), with the same
instructions, messages, tools and answers, by turns. Ours adds the link check, the prompt, the gate, the account, and
every turn in the record. CPU seconds of this process are compared, as the machine may be shared.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from pydantic_ai import Agent, Tool, ToolOutput

from classifiers import pool, prompt
from classifiers.agent import OUTPUT, run_episode
from classifiers.linkcheck import check
from classifiers.models import Classifier, Way, model_for
from classifiers.toolbox import TOOLS, Desk, Limits, PaperInput
from classifiers.turns import RecordedTurns
from pipeline.answers import Answer
from pipeline.editions import LanguageModel
from pipeline.offline.content import whole
from pipeline.offline.generated import load_generated, write_generated
from pipeline.paper import NoPaper, read
from pipeline.record import Record
from pipeline.store import Store
from tests.bench.telling import Row, options, tell
from tests.classifiers.fake_openai import Say, serving, turns
from tests.classifiers.toys import FakeProbes

CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("github_search_repositories", {"query": "the method by name"}),
    ("github_search_repositories", {"query": "the title in words"}),
    ("hub_search", {"query": "the method", "kind": "model"}),
    ("github_repo", {"repo": "quill-lab/gizmo"}),
    ("fetch_url", {"url": "https://example.org/data"}),
)
WORD = {"value": False, "receipts": [], "artifacts": [], "evidence": ""}
ANSWER: dict[str, Any] = {
    "central_claim": "A rate is shown to be tight.",
    "claim_quote": "",
    "paper_kind": "theoretical",
    "mre_config": "",
    "agent_task": "",
    "target": None,
    "signals": dict.fromkeys(("code_available", "dataset_available", "weights_available", "dataset_is_standard"), WORD),
    "verified_links": {"paper_or_project": [], "code": [], "dataset": [], "weights": []},
    "training": "none",
}
MODEL = "MiniMax-M2.7"


def script(told: dict[str, Any]) -> Say:
    """Five calls, one a turn, then an answer that has nothing to deny."""
    made = turns(told)
    return Say(calls=[CALLS[made] if made < len(CALLS) else (OUTPUT, ANSWER)], usage=(12_000, 300))


def conference(folder: Path, papers: int) -> list[PaperInput]:
    """So many papers of a generated conference, read."""
    world = load_generated(write_generated(folder, papers + papers // 5 + 5, "agent-bench"))
    found: list[PaperInput] = []
    for arxiv_id in sorted(world.papers):
        source = {path: whole(content) for path, content in world.papers[arxiv_id].source.items()}
        try:
            found.append(PaperInput(record=arxiv_id, bundle="b" * 64, paper=read(source)))
        except NoPaper:
            continue
        if len(found) == papers:
            break
    return found


# ------------------------------------------------------------------------------------------------- the server's side


def _serve(pipe: Connection) -> None:
    with serving(script) as fake:
        pipe.send(fake.url)
        while pipe.recv() == "paid":
            pipe.send((len(fake.paid), len(set(fake.paid))))


@dataclass
class Server:
    url: str
    pipe: Connection

    def paid(self) -> tuple[int, int]:
        """Answers given, and distinct conversations among them."""
        self.pipe.send("paid")
        counted: tuple[int, int] = self.pipe.recv()
        return counted


@contextmanager
def server() -> Iterator[Server]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield Server(ours.recv(), ours)
    finally:
        ours.send("end")
        process.join(10)


# --------------------------------------------------------------------------------------------------------- two loops


def reader(url: str, store: Store) -> Classifier:
    record = Record(store.engine)
    way = Way(turns=lambda paper: RecordedTurns(record, store.blobs, "bench", paper), environ={})
    return model_for(f"openai:{MODEL}@{url}", LanguageModel(), way)


async def ours(papers: list[PaperInput], url: str, store: Store, in_flight: int) -> list[str]:
    """Why each episode ended."""
    classifier, limits = reader(url, store), Limits()

    async def one(paper: PaperInput) -> str:
        episode = await run_episode(paper, FakeProbes(paper=paper.record), classifier, limits)
        return episode.exit_reason

    return [reason async for reason in pool.run(papers, one, in_flight)]


async def bare(papers: list[PaperInput], messages: dict[str, str], url: str, in_flight: int) -> list[str]:
    """A loop as the library's documentation writes it: agent, tools, typed answer."""
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = AsyncOpenAI(base_url=url, api_key="none")
    agent: Agent[Desk, Answer] = Agent(
        OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=client)),
        deps_type=Desk,
        output_type=ToolOutput(Answer, name=OUTPUT),
        instructions=prompt.instructions(),
        tools=[Tool(function, takes_ctx=True) for function in TOOLS],
    )

    async def one(paper: PaperInput) -> str:
        desk = Desk(given=paper, probes=FakeProbes(paper=paper.record), limits=Limits())
        result = await agent.run(messages[paper.record], deps=desk)
        return result.output.paper_kind

    async with client:
        return [kind async for kind in pool.run(papers, one, in_flight)]


def messages_of(papers: list[PaperInput]) -> dict[str, str]:
    """What ours would send first, made beforehand for the bare loop."""
    made = {}
    for paper in papers:
        desk = Desk(given=paper, probes=FakeProbes(paper=paper.record), limits=Limits())
        made[paper.record] = prompt.message(desk, check(desk), Limits().prompt_tokens).text
    return made


# ------------------------------------------------------------------------------------------------------------- kills


def _reading(folder: str, papers: int, url: str, in_flight: int) -> None:
    given = conference(Path(folder) / "world", papers)
    asyncio.run(ours(given, url, Store(Path(folder) / "store"), in_flight))


@dataclass(frozen=True)
class Kill:
    """Turns answered and kept when the reading was killed, answered and distinct in the end, and needed in all."""

    answered: int
    kept: int
    answered_in_all: int
    distinct: int
    needed: int

    @property
    def paid_twice(self) -> int:
        """Recorded turns that were asked again all the same."""
        return self.answered_in_all - self.distinct - self.lost

    @property
    def lost(self) -> int:
        """Turns that were answered and not yet recorded when the kill came: they are asked, and paid for, again."""
        return self.answered - self.kept


def kill_half_way(folder: Path, papers: int, in_flight: int) -> Kill:
    """Kill a reading at half its turns and run it again, against one server."""
    needed = papers * (len(CALLS) + 1)
    context = multiprocessing.get_context("spawn")
    with server() as up:
        process = context.Process(target=_reading, args=(str(folder), papers, up.url, in_flight), daemon=True)
        process.start()
        while up.paid()[0] < needed // 2 and process.is_alive():
            time.sleep(0.02)
        process.kill()
        process.join()
        time.sleep(0.5)  # what was under way is answered into the void
        answered = up.paid()[0]
        kept = Record(Store(folder / "store").engine).paid("bench")[0]
        again = context.Process(target=_reading, args=(str(folder), papers, up.url, in_flight), daemon=True)
        again.start()
        again.join()
        in_all, distinct = up.paid()
    return Kill(answered, kept, in_all, distinct, needed)


def resident() -> float:
    """Megabytes of this process now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def overhead(papers: int, in_flight: int, rounds: int) -> Row:
    """CPU of our loop as a ratio to the bare loop's: the median of so many turns."""
    with TemporaryDirectory() as name, server() as up:
        folder = Path(name)
        given = conference(folder / "world", papers)
        told = messages_of(given)
        asyncio.run(ours(given[:8], up.url, Store(folder / "warm"), in_flight))
        asyncio.run(bare(given[:8], told, up.url, in_flight))
        turns_: list[tuple[float, float, float, float]] = []
        before = resident()
        for turn in range(rounds):
            began, wall = time.process_time(), time.perf_counter()
            ends = asyncio.run(ours(given, up.url, Store(folder / f"store{turn}"), in_flight))
            mine, mine_wall = time.process_time() - began, time.perf_counter() - wall
            assert ends == ["natural"] * len(given), ends
            began, wall = time.process_time(), time.perf_counter()
            asyncio.run(bare(given, told, up.url, in_flight))
            turns_.append((mine, time.process_time() - began, mine_wall, time.perf_counter() - wall))
        return {
            "bench": "agent",
            "case": f"{len(given)} papers, {in_flight} in flight, {len(CALLS) + 1} turns each",
            "ours_cpu_seconds": median(t[0] for t in turns_),
            "bare_cpu_seconds": median(t[1] for t in turns_),
            "to_bare_times": median(t[0] / t[1] for t in turns_),
            "to_bare_wall_times": median(t[2] / t[3] for t in turns_),
            "grown_mb": resident() - before,
        }


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--papers", type=int, default=200)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    papers, rounds = (10, 1) if given.quick else (given.papers, given.rounds)
    rows = [overhead(papers, given.in_flight, rounds)]
    with TemporaryDirectory() as name:
        kill = kill_half_way(Path(name), papers, given.in_flight)
    told = {"answered": kill.answered, "kept": kill.kept, "paid_twice": kill.paid_twice, "lost_in_flight": kill.lost}
    tell([*rows, {"bench": "agent", "case": "killed half-way, run again", **told}], given.out)


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    main()
