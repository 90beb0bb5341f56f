"""`reclaim plan`: what a build will ask of whom, how long that takes, what it costs, and which secrets it lacks.

From what the store knows. A pilot runs the first papers of the sample for real; the sample's order is a uniform draw,
so they stand for the rest, and nothing they fetched is fetched again.
"""

from __future__ import annotations

import asyncio
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path

from assets import bundles, corpus, episodes, second_looks
from assets.stages import UNFINISHED, prints, read_rows
from assets.workplace import Workplace
from pipeline.answers import Episode
from pipeline.corpus import PaperRecord, valid_arxiv_id
from pipeline.editions import Edition, sample_order
from pipeline.evidence import Outcome
from pipeline.sources.budget import (
    Interval,
    batches,
    duration,
    exactly,
    forecast,
    is_named,
    lanes_of,
    seconds,
    shown,
    size,
)

PILOT = 20
LOOKED_AT = 200
"""Papers done that a forecast is made from: more of them narrow it little."""
ATTACHMENTS = "api2.openreview.net/attachment"
LOOK_UPS = "token@api.github.com/graphql"
OTHERS = "all other hosts"
EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class Plan:
    """Requests by lane (None: not known without a pilot), and what else a build takes. `to_come` of `sample` papers are
    not classified yet; `done` are, and forecasts rest on them."""

    sample: int
    to_come: int
    done: int
    requests: Mapping[str, Interval | None]
    later: Interval | None
    tokens: Interval | None
    micro_usd: Interval | None
    disk: Interval | None
    notes: tuple[str, ...] = ()

    @property
    def longest(self) -> float:
        """Seconds that the slowest lane takes at the likely number of requests: no build is faster."""
        named = {lane: n.likely for lane, n in self.requests.items() if n is not None and lane != OTHERS}
        return max((seconds(lane, n) for lane, n in named.items()), default=0.0)


def plan(work: Workplace) -> Plan:
    """The plan of an edition, from the store alone. Asks nobody anything."""
    notes: list[str] = []
    requests: Counter[str] = Counter()
    unknown: dict[str, None] = {}
    records = _records(work)
    if records is None:
        _corpus_ahead(work, requests, unknown, notes)
    sample = min(work.edition.sample_limit, len(records)) if records is not None else work.edition.sample_limit
    ordered = sample_order(records or {}, work.edition.seed)[:sample]
    fetched = _fetched(work)
    missing = [i for i in ordered if i not in fetched]
    requests["arxiv.org"] += len(missing) if records is not None else sample
    if records is None:
        unknown[ATTACHMENTS] = None
    else:
        from pipeline.sources.packages import BULK

        named = [i for i in missing if records[i].supplement_path is not None]
        requests[ATTACHMENTS] += batches(len(named), BULK)
    looks = [(item, episode) for item, episode in _looks(work) if episode is not None]
    done = [[episode, *second_looks.readings(work, item)] for item, episode in looks[:LOOKED_AT]]
    to_come = max(0, sample - len(looks))
    asked, sizes = _asked(work, done)
    found: dict[str, Interval | None] = {lane: exactly(n) for lane, n in requests.items() if n}
    for lane in sorted({lane for paper in asked for lane in paper}):
        ahead = forecast([paper[lane] for paper in asked], to_come)
        if ahead is not None and lane == LOOK_UPS:
            ahead = ahead.through(_calls)
        known = found.get(lane)
        if ahead is None or ahead.high > 0:
            found[lane] = ahead if known is None or ahead is None else known + ahead
    if len(done) < 2 and to_come:
        unknown |= dict.fromkeys(("api.github.com", "huggingface.co/api"))
        notes.append("What the papers' links and the agents ask is not known before a few papers are done: --pilot 20")
    read = [_of(paper, "input_tokens") + _of(paper, "output_tokens") for paper in done]
    rules = {work.edition.classifier.model, *work.edition.classifier.looks} == {EMBEDDED}
    bytes_ = [size_ + sum(f["size"] for f in fetched[p[0].paper]) for p, size_ in zip(done, sizes, strict=True)]
    money = exactly(0) if rules else forecast([_of(paper, "micro_usd") for paper in done], to_come)
    if not rules and not _priced(work, notes):
        money = None
    return Plan(
        sample=sample,
        to_come=to_come,
        done=len(done),
        requests={**found, **{lane: None for lane in unknown if lane not in found}},
        later=forecast([_open(paper) for paper in done], to_come),
        tokens=exactly(0) if rules else forecast(read, to_come),
        micro_usd=money,
        disk=forecast(bytes_, to_come),
        notes=tuple(notes),
    )


def pilot(work: Workplace, papers: int) -> None:
    """Bring the first `papers` ranks of the sample as far as an episode, for real. Raises StoreError where another
    build holds the edition.

    The edition's settings are registered by it, as before any first episode.
    """
    with work.store.lock(work.edition.name):
        present = prints(work)
        if work.store.table_print(work.edition.name, "papers") != present["corpus"]:
            corpus.run(work, present["corpus"])
        papers = min(papers, work.edition.sample_limit)
        if len(_fetched(work)) < papers:
            small = {"sample": papers, "pool_size": papers, "eval_size": 1, "dev_per_tier": 0}
            bundles.run(_as(work, work.edition.variant(small)), f"pilot{UNFINISHED}")
        work.store.register(work.edition.name, work.edition.hash)
        first = [item for item, _ in _looks(work)[:papers]]
        todo = [item for item in first if episodes.recorded(work, item) is None]
        asyncio.run(episodes.read_papers(work, todo, passes=1))
        second_looks.look_again(work, first)


def _as(work: Workplace, edition: Edition) -> Workplace:
    """The same place with other settings: one run, one recorder's clock, one world."""
    for shared in ("record", "clock", "world"):
        getattr(work, shared)  # what is made at first use is made once
    other = copy(work)
    other.edition = edition
    return other


# -------------------------------------------------------------------------------------------------- what the store has


def _records(work: Workplace) -> dict[str, PaperRecord] | None:
    """The corpus, or None where there is none that this version can read: it will be made anew."""
    if work.store.table_print(work.edition.name, "papers") is None:
        return None
    try:
        return {record.arxiv_id: record for record in corpus.records(work)}
    except (TypeError, KeyError):
        return None


def _fetched(work: Workplace) -> dict[str, list[dict[str, int]]]:
    """Files of each bundle at hand, by arXiv id."""
    if work.store.table_print(work.edition.name, "bundles") is None:
        return {}
    rows = read_rows(work, "bundles")
    return {row["arxiv_id"]: [*row["source_files"], *row["supplement_files"]] for row in rows}


def _looks(work: Workplace) -> list[tuple[episodes.Item, Episode | None]]:
    """The bundles at hand in rank order, each with its recorded episode."""
    if work.store.table_print(work.edition.name, "bundles") is None:
        return []
    try:
        return [(item, episodes.recorded(work, item)) for item in episodes.items(work)]
    except (TypeError, KeyError):
        return []


def _asked(work: Workplace, done: Sequence[Sequence[Episode]]) -> tuple[list[Counter[str]], list[int]]:
    """Requests by lane, and bytes of bodies, that each paper was the first to need: what many papers name is asked
    once."""
    seen: set[str] = set()
    asked: list[Counter[str]] = []
    sizes: list[int] = []
    for paper in done:
        receipts = (receipt for episode in paper for receipt in episode.receipts)
        new = dict.fromkeys(id_ for receipt in receipts for id_ in receipt.exchanges if id_ not in seen)
        seen |= new.keys()
        exchanges = [found for id_ in new if (found := work.record.get_exchange(id_)) is not None]
        lanes = (lane for exchange in exchanges for lane in lanes_of(exchange))
        asked.append(Counter(lane if is_named(lane) else OTHERS for lane in lanes))
        sizes.append(sum(exchange.body_size for exchange in exchanges))
    return asked, sizes


def _open(paper: Sequence[Episode]) -> int:
    """Questions that a paper's reading left for a later day; second looks ask nothing again."""
    open_ = {id_ for r in paper[0].receipts if r.outcome is Outcome.UNDETERMINED for id_ in r.exchanges}
    return len(open_)


def _of(paper: Sequence[Episode], name: str) -> float:
    """What a paper's reading and second looks took together."""
    return float(sum(episode.account.get(name) or 0 for episode in paper))


def _priced(work: Workplace, notes: list[str]) -> bool:
    """Whether dollars can be told at all: what has no known price does not cost nothing."""
    from classifiers import prices
    from classifiers.endpoints import Address

    own = os.environ.get("RECLAIM_PRICES")
    table, told = prices.load(Path(own) if own else None), work.edition.classifier
    asked = [Address.parse(model) for model in dict.fromkeys((told.model, *told.looks)) if model != EMBEDDED]
    unknown = [address.name for address in asked if table.of(address.provider, address.model) is None]
    notes += [f"No price is known for {name}: give one in a file that RECLAIM_PRICES names" for name in unknown]
    return not unknown


def _calls(questions: float) -> float:
    from pipeline.sources.github_lookup import BATCH

    return float(math.ceil(questions / BATCH))


def _corpus_ahead(work: Workplace, requests: Counter[str], unknown: dict[str, None], notes: list[str]) -> None:
    """Requests of a corpus that is not there yet: by the floor on its size, which is all that is known."""
    from pipeline.sources.fetch import BATCH
    from pipeline.sources.openreview_notes import PAGE

    live, least = work.edition.live, work.edition.corpus.min_papers
    if work.store.table_print(work.edition.name, "index") is not None:
        entries = read_rows(work, "index")
        least = len([e for e in entries if e["arxiv_id"] and valid_arxiv_id(e["arxiv_id"])]) or least
    else:
        notes.append(f"The index is not fetched yet: counted with its floor of {least:,} papers")
    requests["arxiv.org"] += batches(least, BATCH)
    requests["api2.openreview.net"] += batches(least, PAGE) + 1
    if live is None:
        return
    if live.index_dataset is not None:
        requests["huggingface.co/api"] += 1
        requests["huggingface.co/resolve"] += 1
    elif live.index_file is None and not (live.arxiv_snapshot or os.environ.get("RECLAIM_ARXIV_SNAPSHOT")):
        requests["arxiv.org"] += least
        notes.append(
            "The index names no arXiv ids: each title is looked up, once or twice. A local file of arXiv's metadata "
            "(RECLAIM_ARXIV_SNAPSHOT) saves that"
        )


# ------------------------------------------------------------------------------------------------------------- secrets


def secrets(edition: Edition, environ: Mapping[str, str] = os.environ) -> list[str]:
    """Which secrets a live build would use and does not have, one line each, with what works without it."""
    lines = []
    if not any(environ.get(name) for name in ("RECLAIM_GITHUB_TOKEN", "GITHUB_TOKENS", "GITHUB_TOKEN")):
        lines.append(
            "GITHUB_TOKEN is not set: GitHub answers 60 requests an hour instead of 5,000, no look-ups of many "
            "repositories a call, and no code searches (those stay undetermined); all else works"
        )
    login = [name for name in ("OPENREVIEW_USERNAME", "OPENREVIEW_PASSWORD") if not environ.get(name)]
    if login:
        by_venue = edition.live is not None and not (edition.live.index_dataset or edition.live.index_file)
        without = "there is no index, so nothing can start" if by_venue else "the index and arXiv's sources come"
        lines.append(
            f"{' and '.join(login)} {'is' if len(login) == 1 else 'are'} not set: OpenReview challenges strangers, and "
            f"the build stops at its notes and supplements; without it {without} (an account is free)"
        )
    model = edition.classifier.model
    if model != EMBEDDED:
        from classifiers.endpoints import Address, NoSuchModel

        try:
            Address.parse(model).key(environ)
        except NoSuchModel as lack:
            lines.append(f"{lack}: papers are fetched and bundled without it, none is classified")
    return lines


# ---------------------------------------------------------------------------------------------------------------- text


def text(work: Workplace, found: Plan) -> str:
    """The plan for a terminal."""
    edition = work.edition
    lines = [
        f"{edition.conference} {edition.year} ({edition.name}), read by {edition.classifier.model}: "
        f"{found.to_come:,} of {found.sample:,} papers to come",
        f"  forecast from {found.done} papers done, 95 % intervals" if found.done > 1 else "  no paper is done yet",
        "",
        *(_hosts(found) if found.requests else ["  nothing is left to ask"]),
        *_costs(edition, found),
    ]
    lacking = [] if work.offline else secrets(edition)
    closing = "An offline world answers at once: the hours are what the real services would need."
    for block in (found.notes, lacking, [closing] if work.offline else []):
        lines += ["", *(f"  {line}" for line in block)] if block else []
    return "\n".join(lines)


def _hosts(found: Plan) -> list[str]:
    known = {lane: n for lane, n in found.requests.items() if n is not None}
    slow = sorted(known, key=lambda lane: (lane == OTHERS, -seconds(lane, known[lane].likely), lane))
    return [
        f"  {'asked of':<34}{'requests':<36}at its limits",
        *(f"  {lane:<34}{shown(known[lane]):<36}{_time(lane, known[lane].likely)}" for lane in slow),
        *(f"  {lane:<34}unknown" for lane, n in found.requests.items() if n is None),
        "",
        f"  time       at least {duration(found.longest)}: each host has its own rhythm, and the slowest decides",
    ]


def _time(lane: str, requests: float) -> str:
    return "each at its own rhythm" if lane == OTHERS else duration(seconds(lane, requests))


def _costs(edition: Edition, found: Plan) -> list[str]:
    lines = []
    if found.later is not None and found.later.high > 0:
        hours = f"{edition.second_look_hours:g} hours"
        lines.append(f"  and then   {shown(found.later)} uncertain answers are asked for again, {hours} later")
    if edition.classifier.model == EMBEDDED:
        lines.append("  tokens     none: the embedded rules read for nothing")
    else:
        dollars = None if found.micro_usd is None else found.micro_usd.through(lambda micro: micro / 1e6)
        lines += [f"  tokens     {shown(found.tokens)}", f"  dollars    {shown(dollars)}"]
    disk = "unknown" if found.disk is None else f"about {size(found.disk.likely)} (up to {size(found.disk.high)})"
    return [*lines, f"  disk       {disk}"]
