"""Classification: one episode a sampled paper, checkpointed one by one, then a second look at what stayed
undetermined."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta

import polars as pl

from assets import bundles, corpus, episodes, refreshing, repositories, second_looks
from assets.episodes import Item, derived_alone, excluded, read_papers, reader_of, recorded
from assets.stages import UNFINISHED, Checked, Stage, Summary, read_rows, write_rows
from assets.workplace import Workplace
from pipeline.answers import Episode
from pipeline.classification import prefix_that_fills, second_look_wanted
from pipeline.corpus import Exclusion
from pipeline.derivation import Derivation, Inputs, Rules, derive
from pipeline.evidence import Json, Outcome, Receipt
from pipeline.store import StoreError

NOT_CLASSIFIED = "not_classified_in_time"
UNTIL_CHUNK = 50
"""Papers classified between two looks at whether `until` is filled."""


def run(work: Workplace, print_: str) -> Summary:
    """Tables `rows` (derivations), `receipts`, and `classification_exclusions`; episodes lie in the record."""
    work.store.register(work.edition.name, work.edition.hash)
    items = episodes.items(work)
    cached = 0
    waiting = 0
    enough = len(items)
    # `until` ends the sample at the first rank where its tiers are full, so papers are read no further than that needs.
    step = UNTIL_CHUNK if work.edition.until else max(len(items), 1)
    for start in range(0, len(items), step):
        chunk = items[start : start + step]
        again = set(refreshing.renew(work, chunk).changed) if work.mode == "refresh" else set()
        todo = [i for i in chunk if i in again or recorded(work, i) is None]
        cached += len(chunk) - len(todo)
        asyncio.run(read_papers(work, todo, passes=1))
        waiting += _look_later(work, chunk)
        waiting += second_looks.look_again(work, chunk)
        enough = _enough(work, items[: start + len(chunk)], len(items))
        if enough < len(items):
            break
    ended = {i.record.arxiv_id: recorded(work, i) for i in items}
    # Out of time, the longest prefix of ranks with all its episodes is still a uniform sample.
    prefix = next((n for n, i in enumerate(items) if ended[i.record.arxiv_id] is None), len(items))
    derived: list[Derivation] = []
    out: list[Exclusion] = []
    receipts: dict[str, Receipt] = {}
    for place, item in enumerate(items):
        episode = ended[item.record.arxiv_id]
        if place >= enough:
            detail = f"rank {item.rank + 1} lies beyond the sample, whose tiers are full"
            out.append(replace(excluded(item, bundles.NOT_SAMPLED, detail), stage="sample"))
            continue
        if place >= prefix or episode is None:
            detail = f"rank {item.rank + 1} is not before the first paper that was not classified in time"
            detail += f"; {work.stopped}" if work.stopped else ""
            out.append(replace(excluded(item, NOT_CLASSIFIED, detail), stage="sample"))
            continue
        end = _derived(work, item, episode)
        receipts.update((r.id, r) for r in episode.receipts)
        if isinstance(end, Exclusion):
            out.append(end)
        else:
            derived.append(end)
    read_ = {row.arxiv_id for row in derived}
    found, looked = second_looks.proposals(work, (i for i in items if i.record.arxiv_id in read_))
    receipts.update((r.id, r) for r in looked)
    unfinished = max(0, enough - prefix)
    if waiting or (unfinished and not work.take_prefix):
        # Not the last word: the next build finds this stage stale and goes on.
        print_ += UNFINISHED
    write_rows(work, "receipts", (r.to_json() for r in receipts.values()), ["paper", "id", "tool", "outcome"], print_)
    write_rows(work, "classification_exclusions", map(asdict, out), ["key", "stage", "reason"], print_)
    records = [i.record for i in items]
    commits = repositories.commits(work.recorder(), records, receipts.values())
    write_rows(work, "repository_commits", commits, ["arxiv_id", "repository", "commit"], print_)
    write_rows(work, "disagreements", (d.to_json() for d in found), ["arxiv_id", "question", "look"], print_)
    write_rows(work, "rows", map(row_of, derived), ["arxiv_id", "tier"], print_, hours=pl.Float64, eligible=pl.Boolean)
    return {
        "episodes": min(prefix, enough),
        "from_record": cached,
        "rows": len(derived),
        "eligible": sum(d.eligible for d in derived),
        "scores_differ": sum(d.score_needs != d.score_published for d in derived),
        "second_looks_due": waiting,
        "routes_found": sum(d.route for d in found),
        "unfinished": unfinished,
        **({"stopped": str(work.stopped)} if work.stopped else {}),
        "tiers": _counts(derived),
    }


def _enough(work: Workplace, items: Sequence[Item], all_: int) -> int:
    """How many leading papers fill the edition's `until`; all of them where it has none or is not yet filled."""
    if not work.edition.until:
        return all_
    looked = ((i, recorded(work, i)) for i in items)
    ends = (None if episode is None else _derived(work, i, episode) for i, episode in looked)
    return prefix_that_fills(ends, work.edition.until) or all_


def _look_later(work: Workplace, items: Sequence[Item]) -> int:
    """Look again, a day later, at papers whose labels wait on an undetermined answer. Returns how many must still wait.

    A day passes at once in an offline world; elsewhere the next build after that day looks again.
    """
    day = timedelta(hours=work.edition.second_look_hours)
    for look in range(2, work.edition.max_passes + 1):
        due = [i for i in items if _wants_look(work, i, look)]
        if not due:
            return 0
        if work.offline:
            # Only as far as the last of them needs: a build that was killed here goes on from the same day.
            wait = max(_last_seen(work, i) for i in due) + day - work.clock.now()
            work.clock.sleep(max(0.0, wait.total_seconds() + 60))
        ready = [i for i in due if _last_seen(work, i) + day <= work.clock.now()]
        asyncio.run(read_papers(work, ready, passes=look))
        late = len(due) - len(ready)
        if late or work.out_of_time():
            return late + sum(_wants_look(work, i, look) for i in ready)
    return 0


def _wants_look(work: Workplace, item: Item, look: int) -> bool:
    episode = recorded(work, item)
    if episode is None or episode.passes >= look:
        return False
    return second_look_wanted(episode, _derived(work, item, episode))


def _last_seen(work: Workplace, item: Item) -> datetime:
    episode = recorded(work, item)
    assert episode is not None
    ids = [e for r in episode.receipts if r.outcome is Outcome.UNDETERMINED for e in r.exchanges]
    span = work.record.seen_span(ids[:500]) if ids else None
    return span[1] if span else work.clock.now() - timedelta(days=3650)


def _derived(work: Workplace, item: Item, episode: Episode) -> Derivation | Exclusion:
    """What follows from a paper's episode, with the second looks that the record holds for it."""
    end = derived_alone(work, item, episode)
    return second_looks.with_looks(work, item, end) if isinstance(end, Derivation) else end


def _counts(derived: Sequence[Derivation]) -> dict[str, int]:
    tiers = [d.tier.value if d.tier else "undetermined" for d in derived]
    return {tier: tiers.count(tier) for tier in sorted(set(tiers))}


def row_of(found: Derivation) -> Json:
    """A derivation as a table's row: what is derived beside what it is derived from."""
    return {
        "arxiv_id": found.arxiv_id,
        "tier": found.tier.value if found.tier else None,
        "hours": found.hours,
        "eligible": found.eligible,
        "band": found.band,
        "score_needs": found.score_needs,
        "score_published": found.score_published,
        "ineligible": list(found.ineligible),
        "row_hash": found.row_hash,
        "inputs": found.inputs.model_dump(mode="json"),
    }


def receipts_of(work: Workplace) -> dict[str, Receipt]:
    return {row["id"]: Receipt.from_json(row) for row in read_rows(work, "receipts")}


def episodes_of(work: Workplace) -> list[Episode]:
    """The episodes behind the tables, by arXiv id. StoreError where one is not in the record."""
    out = corpus.exclusions(work, "classification_exclusions")
    ended = {row["arxiv_id"] for row in read_rows(work, "rows")} | {e.key for e in out if e.stage == "classification"}
    found = {i.record.arxiv_id: recorded(work, i) for i in episodes.items(work) if i.record.arxiv_id in ended}
    if lost := sorted(paper for paper, episode in found.items() if episode is None):
        raise StoreError(
            f"{len(lost)} episodes are not in the record as this code makes them, first {lost[0]}; build again first"
        )
    return [episode for _, episode in sorted(found.items()) if episode is not None]


def derivations(work: Workplace) -> list[Derivation]:
    """All rows of the sample, derived from what the tables hold."""
    receipts = receipts_of(work)
    rules = Rules.of(work.edition)
    return [derive(Inputs.model_validate(row["inputs"]), receipts, rules) for row in read_rows(work, "rows")]


def check(work: Workplace) -> Checked:
    """Every sampled paper has an episode with an answer, and nothing its tier reads stayed undetermined."""
    rows = read_rows(work, "rows")
    lost = corpus.exclusions(work, "classification_exclusions")
    open_ = [
        (row["arxiv_id"], reason) for row in rows for reason in row["ineligible"] if reason.startswith("unverified")
    ]
    return len(rows) + len(lost), [f"{e.key}: {e.reason}: {e.detail}" for e in lost] + [f"{i}: {r}" for i, r in open_]


STAGE = Stage(
    name="classification",
    after=("bundles",),
    tables=("receipts", "repository_commits", "classification_exclusions", "disagreements", "rows"),
    rules=(*episodes.RULES, "pipeline.classification"),
    parts=("classification", "rows"),
    run=run,
    check=check,
    inputs=lambda work: {"world": work.world_print} | ({"reader": reader_of(work)} if reader_of(work) else {}),
    libraries=episodes.LIBRARIES,
    reference=episodes.REFERENCE,
)
