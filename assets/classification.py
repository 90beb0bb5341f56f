"""Classification: one episode a sampled paper, checkpointed one by one, then a second look at what stayed
undetermined."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta

import polars as pl

from assets import bundles, corpus, episodes, refreshing, repositories, second_looks
from assets.episodes import Item, derived_alone, excluded, read_papers, reader_of, recorded
from assets.stages import UNFINISHED, Checked, Lines, Stage, Summary, read_rows
from assets.workplace import Workplace
from pipeline.answers import Episode
from pipeline.classification import open_answers, prefix_that_fills, second_look_wanted
from pipeline.corpus import Exclusion
from pipeline.derivation import Derivation, Inputs, Rules, derive
from pipeline.evidence import Json, Outcome, Receipt, canonical
from pipeline.store import StoreError
from pipeline.tiers import Tier

NOT_CLASSIFIED = "not_classified_in_time"
UNTIL_CHUNK = 50
"""Papers classified between two looks at whether `until` is filled."""


def run(work: Workplace, print_: str) -> Summary:
    """Tables `rows` (derivations), `receipts`, and `classification_exclusions`; episodes lie in the record."""
    work.store.register(work.edition.name, work.edition.hash)
    work.extracts |= extracts(work)
    items = episodes.items(work)
    cached = 0
    waiting = 0
    enough = len(items)
    filled: list[Tier | None] = []
    # `until` ends the sample at the first rank where its tiers are full, so papers are read no further than that needs.
    step = UNTIL_CHUNK if work.edition.until else max(len(items), 1)
    for start in range(0, len(items), step):
        chunk = items[start : start + step]
        again = set(refreshing.renew(work, chunk).changed) if work.mode == "refresh" else set()
        todo = [i for i in chunk if i in again or recorded(work, i) is None]
        cached += len(chunk) - len(todo)
        asyncio.run(read_papers(work, todo, passes=1))
        waiting += look_later(work, chunk)
        waiting += second_looks.look_again(work, chunk)
        if work.edition.until:
            filled += (_fills(work, item) for item in chunk)
            enough = prefix_that_fills(filled, work.edition.until) or len(items)
        if enough < len(items):
            break
    made = _Made(work)
    prefix = len(items)
    for place, item in enumerate(items):
        # Out of time, the longest prefix of ranks with all its episodes is still a uniform sample.
        episode = recorded(work, item) if place < min(prefix, enough) else None
        if place >= enough:
            made.beyond(item, bundles.NOT_SAMPLED, f"rank {item.rank + 1} lies beyond the sample, whose tiers are full")
        elif episode is None:
            prefix = min(prefix, place)
            detail = f"rank {item.rank + 1} is not before the first paper that was not classified in time"
            made.beyond(item, NOT_CLASSIFIED, f"{detail}; {work.stopped}" if work.stopped else detail)
        else:
            made.ended(item, episode)
    unfinished = max(0, enough - prefix)
    if waiting or (unfinished and not work.take_prefix):
        # Not the last word: the next build finds this stage stale and goes on.
        print_ += UNFINISHED
    made.write(print_)
    return {
        "episodes": min(prefix, enough),
        "from_record": cached,
        "rows": len(made.rows),
        "eligible": made.eligible,
        "scores_differ": made.scores_differ,
        "second_looks_due": waiting,
        "routes_found": made.routes,
        "unfinished": unfinished,
        **({"stopped": str(work.stopped)} if work.stopped else {}),
        "tiers": dict(sorted(made.tiers.items())),
    }


class _Made:
    """The tables, paper by paper: an edition's episodes are more than a machine need hold at once."""

    def __init__(self, work: Workplace) -> None:
        self._work, self._recorder = work, work.recorder()
        self.rows = Lines(["arxiv_id", "tier"], hours=pl.Float64, eligible=pl.Boolean)
        self.tiers: Counter[str] = Counter()
        self.eligible = self.scores_differ = self.routes = 0
        self._tables = {
            "receipts": Lines(["paper", "id", "tool", "outcome"]),
            "classification_exclusions": Lines(["key", "stage", "reason"]),
            "repository_commits": Lines(["arxiv_id", "repository", "commit"]),
            "disagreements": Lines(["arxiv_id", "question", "look"]),
            "rows": self.rows,
        }

    def beyond(self, item: Item, reason: str, detail: str) -> None:
        """A paper that lies outside the sample."""
        self._exclude(replace(excluded(item, reason, detail), stage="sample"))

    def _exclude(self, one: Exclusion) -> None:
        self._tables["classification_exclusions"].add([asdict(one)])

    def ended(self, item: Item, episode: Episode) -> None:
        """A paper with its episode: a row or an exclusion, with all it rests on."""
        end = _derived(self._work, item, episode)
        receipts = {r.id: r for r in episode.receipts}
        if isinstance(end, Exclusion):
            self._exclude(end)
        else:
            extracted = episodes.extraction_of(self._work, item, episode)
            self.rows.add([row_of(end) | {"extraction": extracted}])
            self.tiers[end.tier.value if end.tier else "undetermined"] += 1
            self.eligible += end.eligible
            self.scores_differ += end.score_needs != end.score_published
            found, looked = second_looks.proposals(self._work, [item])
            receipts.update((r.id, r) for r in looked)
            self.routes += sum(d.route for d in found)
            self._tables["disagreements"].add(d.to_json() for d in found)
        self._tables["receipts"].add(r.to_json() for r in receipts.values())
        commits = repositories.commits(self._recorder, [item.record], receipts.values())
        self._tables["repository_commits"].add(commits)

    def write(self, print_: str) -> None:
        for name, lines in self._tables.items():  # the rows last: they are what the others are about
            lines.write(self._work, name, print_)


def extracts(work: Workplace) -> dict[str, str]:
    """What the rows of an earlier build were derived from, for those whose papers, episodes and rules are the same."""
    if work.store.table_print(work.edition.name, "rows") is None:
        return {}
    try:
        rows = read_rows(work, "rows")
    except StoreError:
        return {}  # it is written anew
    return {row["extraction"]: canonical(row["inputs"] | {"looks": []}) for row in rows if "extraction" in row}


def _fills(work: Workplace, item: Item) -> Tier | None:
    """The tier in which a paper counts towards `until`, or None."""
    episode = recorded(work, item)
    end = None if episode is None else _derived(work, item, episode)
    return end.tier if isinstance(end, Derivation) and end.eligible else None


Read = Callable[[Sequence[Item], int], bool]
"""Reads papers for a given look (2: the second); whether the next look may follow."""


def look_later(work: Workplace, items: Sequence[Item], read: Read | None = None) -> int:
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
        if read is None:
            asyncio.run(read_papers(work, ready, passes=look))
        elif not read(ready, look):
            return len(due)
        late = len(due) - len(ready)
        if late or work.out_of_time():
            return late + sum(_wants_look(work, i, look) for i in ready)
    return 0


def _wants_look(work: Workplace, item: Item, look: int) -> bool:
    episode = recorded(work, item)
    if episode is None or episode.passes >= look or not open_answers(episode):
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
        "needs_paid_api": found.needs_paid_api,
        "row_hash": found.row_hash,
        "inputs": found.inputs.model_dump(mode="json"),
    }


def receipts_of(work: Workplace, papers: Collection[str] | None = None) -> dict[str, Receipt]:
    """By id: all receipts of the tables, or those of some papers."""
    rows = read_rows(work, "receipts") if papers is None else read_rows(work, "receipts", paper=papers)
    return {row["id"]: Receipt.from_json(row) for row in rows}


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


def derivations(work: Workplace, papers: Collection[str] | None = None) -> list[Derivation]:
    """Rows of the sample, all or those of some papers, derived from what the tables hold."""
    receipts = receipts_of(work, papers)
    rules = Rules.of(work.edition)
    rows = read_rows(work, "rows") if papers is None else read_rows(work, "rows", arxiv_id=papers)
    return [derive(Inputs.model_validate(row["inputs"]), receipts, rules) for row in rows]


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
