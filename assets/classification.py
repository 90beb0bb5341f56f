"""Classification: one episode a sampled paper, checkpointed one by one, then a second look at what stayed
undetermined."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import polars as pl

from assets import bundles, corpus, repositories
from assets.stages import UNFINISHED, Checked, Stage, Summary, read_rows, reference_files, write_rows
from assets.workplace import INFRASTRUCTURE, Workplace
from classifiers import prompts
from pipeline import reference
from pipeline.answers import Episode
from pipeline.bundles import Bundle, files_of, manifest
from pipeline.classification import derivation, prefix_that_fills, second_look_wanted
from pipeline.corpus import Exclusion, PaperRecord
from pipeline.derivation import Derivation, Inputs, Rules, derive
from pipeline.editions import EditionError
from pipeline.evidence import Json, Outcome, Receipt, digest
from pipeline.fingerprints import code_print
from pipeline.paper import Paper, read
from pipeline.store import StoreError

if TYPE_CHECKING:
    from classifiers.models import Classifier
    from classifiers.second_looks import Looker

NOT_CLASSIFIED = "not_classified_in_time"
UNTIL_CHUNK = 50
"""Papers classified between two looks at whether `until` is filled."""
CONCURRENCY, MODEL_CONCURRENCY = 8, 32
"""Episodes in flight: embedded rules are bound by the processor, models wait for their service. RECLAIM_IN_FLIGHT says
otherwise for models; it changes no result."""


EPISODE = ("classifiers.agent", "classifiers.models", "pipeline.sources.probes")
"""What makes an episode what it is; how its receipts become labels may change without asking anybody again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One sampled paper, as an episode needs it."""

    record: PaperRecord
    bundle: Bundle
    rank: int
    key: str


def run(work: Workplace, print_: str) -> Summary:
    """Tables `rows` (derivations), `receipts`, and `classification_exclusions`; episodes lie in the record."""
    from assets import second_looks  # which runs episodes as this stage does

    work.store.register(work.edition.name, work.edition.hash)
    items = _items(work)
    cached = 0
    waiting = 0
    enough = len(items)
    # `until` ends the sample at the first rank where its tiers are full, so papers are read no further than that needs.
    step = UNTIL_CHUNK if work.edition.until else max(len(items), 1)
    for start in range(0, len(items), step):
        chunk = items[start : start + step]
        todo = [i for i in chunk if recorded(work, i) is None]
        cached += len(chunk) - len(todo)
        asyncio.run(read_papers(work, todo, passes=1))
        waiting += _second_looks(work, chunk)
        second_looks.look_again(work, chunk)
        enough = _enough(work, items[: start + len(chunk)], len(items))
        if enough < len(items):
            break
    episodes = {i.record.arxiv_id: recorded(work, i) for i in items}
    # Out of time, the longest prefix of ranks with all its episodes is still a uniform sample.
    prefix = next((n for n, i in enumerate(items) if episodes[i.record.arxiv_id] is None), len(items))
    derived: list[Derivation] = []
    out: list[Exclusion] = []
    receipts: dict[str, Receipt] = {}
    for place, item in enumerate(items):
        episode = episodes[item.record.arxiv_id]
        if place >= enough:
            detail = f"rank {item.rank + 1} lies beyond the sample, whose tiers are full"
            out.append(replace(_out(item, bundles.NOT_SAMPLED, detail), stage="sample"))
            continue
        if place >= prefix or episode is None:
            detail = f"rank {item.rank + 1} is not before the first paper that was not classified in time"
            detail += f"; {work.stopped}" if work.stopped else ""
            out.append(replace(_out(item, NOT_CLASSIFIED, detail), stage="sample"))
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
    episodes = ((i, recorded(work, i)) for i in items)
    ends = (None if episode is None else _derived(work, i, episode) for i, episode in episodes)
    return prefix_that_fills(ends, work.edition.until) or all_


def _items(work: Workplace) -> list[Item]:
    code = code_print(*EPISODE, libraries=STAGE.libraries, files=reference_files(STAGE)) + _reader(work)
    settings = work.edition.part("classification")
    items = []
    for row in bundles.sampled(work):
        found = bundles.bundle_of(row)
        key = digest(["episode", found.arxiv_id, found.digest, code, settings, work.world_print])
        items.append(Item(record=corpus.record_of(row["record"]), bundle=found, rank=row["rank"], key=key))
    return items


def _reader(work: Workplace) -> str:
    """The identity of a language model's reading; "" for the embedded rules, which are code."""
    told = work.edition.classifier
    return "" if told.model == "embedded" else prompts.identity(told.model.partition("@http")[0], told.llm)


def classifier_of(work: Workplace, looker: Looker | None = None) -> Classifier:
    """The edition's classifier, or another reader, its turns in the record. Raises what `model_for` does."""
    from classifiers.budget import Spent
    from classifiers.models import Way, model_for
    from classifiers.turns import RecordedTurns

    edition, own = work.edition.name, work.edition.classifier
    model, told = (looker.model, looker.told) if looker else (own.model, own.llm)
    if model == "embedded":
        return model_for(model)
    count, read_, written, hits, cost = work.record.paid(edition)
    spent = Spent(requests=count, input_tokens=read_, output_tokens=written, cached_tokens=hits, micro_usd=cost)
    way = Way.of(
        work.environ, spent=spent, turns=lambda paper: RecordedTurns(work.record, work.store.blobs, edition, paper)
    )
    return model_for(model, told, way)


def in_flight(work: Workplace, asks_a_model: bool) -> int:
    told = work.environ.get("RECLAIM_IN_FLIGHT", "")
    if not asks_a_model:
        return CONCURRENCY
    if told and not (told.isdecimal() and 0 < int(told) <= 1024):
        raise EditionError(f"RECLAIM_IN_FLIGHT: {told!r} is no number of episodes between 1 and 1024")
    return int(told) if told else MODEL_CONCURRENCY


def askable(work: Workplace) -> bool:
    """Whether the classifier may be asked at all; if not, `work.stopped` says why. Nothing is asked to find out."""
    from classifiers.budget import Stopped

    if work.edition.classifier.model == "embedded":
        return True
    try:
        classifier_of(work).check()
    except Stopped as reason:
        work.stopped = reason
    return work.stopped is None


def recorded(work: Workplace, item: Item) -> Episode | None:
    """The recorded episode of a paper, or None. One that cannot be read, or is another paper's, counts as none."""
    try:
        value = work.record.get_episode(item.key)
        found = None if value is None else Episode.from_json(value)
        if found is None or (found.paper, found.bundle) == (item.record.arxiv_id, item.bundle.digest):
            return found
        fault = f"it is about {found.paper}"
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        fault = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    work.say(f"classification {item.record.arxiv_id}: its recorded episode is damaged ({fault}); it is run again")
    return None


def looks(work: Workplace) -> list[tuple[Item, Episode | None]]:
    """The bundles at hand in rank order, each with its recorded episode."""
    return [(item, recorded(work, item)) for item in _items(work)]


async def first_look(work: Workplace, items: Sequence[Item]) -> None:
    """Run the first episode of some papers and commit each."""
    await read_papers(work, items, passes=1)


def _paper(work: Workplace, item: Item) -> Paper:
    return read(files_of(item.bundle.source_files, work.store.blobs.get))


def _readable(work: Workplace, items: Sequence[Item]) -> Iterator[tuple[PaperRecord, Paper]]:
    """Papers whose source can be read; why one cannot, its episode says."""
    for item in items:
        try:
            yield item.record, _paper(work, item)
        except INFRASTRUCTURE:
            raise
        except Exception:
            continue


async def read_papers(
    work: Workplace,
    items: Sequence[Item],
    passes: int,
    reader: Classifier | None = None,
    note: Callable[[Item], str] = lambda item: "",
) -> None:
    """Run episodes and commit each as it ends. `passes` counts looks at a paper; later ones ask unsettled questions
    again. `reader` is the edition's classifier unless another looks, told a note behind the paper."""
    if not items or work.stopped is not None:
        return
    from classifiers import pool, prompt
    from classifiers.agent import run_episode
    from classifiers.budget import Stopped
    from classifiers.models import limits_of
    from classifiers.toolbox import PaperInput
    from pipeline.sources.probes import Probes
    from pipeline.sources.reading import PaperFacts

    limits = limits_of(work.edition.classifier)
    classifier = reader or classifier_of(work)
    shows_all = classifier.style == "published"
    recorder = work.recorder(again=passes > 1)
    walls = reference.walls()
    tokens = repositories.tokens(work)
    await asyncio.to_thread(repositories.look_up, work, recorder, tokens, _readable(work, items))

    async def one(item: Item) -> Item:
        if work.out_of_time():
            return item
        try:
            episode = await episode_of(item)
        except (Stopped, *INFRASTRUCTURE):
            raise
        except Exception as fault:  # one paper must not end the run
            if passes > 1:
                return item  # what the look before this one found still stands
            episode = Episode(
                paper=item.record.arxiv_id,
                bundle=item.bundle.digest,
                classifier=classifier.id,
                exit_reason="crashed",
                answer=None,
                receipts=(),
                problem=f"{type(fault).__name__}: {fault}"[:500],
            )
        if passes > 1 and episode.answer is None:
            return item  # a look that failed does not replace one that answered
        await asyncio.to_thread(_keep, work, item, episode)
        return item

    async def episode_of(item: Item) -> Episode:
        source = await asyncio.to_thread(files_of, item.bundle.source_files, work.store.blobs.get)
        paper = await asyncio.to_thread(read, source)
        supplement = await asyncio.to_thread(files_of, item.bundle.supplement_files, work.store.blobs.get)
        title = paper.title or item.record.title
        facts = PaperFacts(title=title, arxiv_id=item.record.arxiv_id, authors=item.record.authors)
        probes = Probes(item.record.arxiv_id, recorder, supplement, facts, walls, tokens)
        listed = tuple((entry.path, entry.size) for entry in manifest(item.bundle.supplement_files))
        given = PaperInput(
            record=item.record.arxiv_id,
            bundle=item.bundle.digest,
            paper=paper,
            supplement=listed,
            texts=prompt.texts_of(supplement, code=shows_all) if classifier.endpoint else (),
            latex=prompt.latex_of(source) if shows_all else "",
            note=note(item),
        )
        return await run_episode(given, probes, classifier, limits, passes)

    done = 0
    try:
        classifier.check()
        async for _ in pool.run(items, one, in_flight(work, classifier.endpoint is not None)):
            done += 1
            if done % 25 == 0 or done == len(items):
                look = "" if passes == 1 else f" (look {passes})"
                work.say(f"classification{look} {done}/{len(items)}")
    except Stopped as reason:
        work.stopped = reason
        work.say(f"classification stopped: {reason}")


def _keep(work: Workplace, item: Item, episode: Episode) -> None:
    for receipt in episode.receipts:
        work.record.put_receipt(receipt)
    work.record.put_episode(
        item.key, edition=work.edition.name, paper=item.record.arxiv_id, seq=item.rank, value=episode.to_json()
    )


def _second_looks(work: Workplace, items: Sequence[Item]) -> int:
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
    from assets.second_looks import with_looks

    end = _by_itself(work, item, episode)
    return with_looks(work, item, end) if isinstance(end, Derivation) else end


def first_derived(work: Workplace, item: Item) -> Derivation | None:
    """What follows from the recorded episode alone; None where there is none, or no row."""
    episode = recorded(work, item)
    end = None if episode is None else _by_itself(work, item, episode)
    return end if isinstance(end, Derivation) else None


def receipts_of_episode(work: Workplace, item: Item) -> tuple[Receipt, ...]:
    episode = recorded(work, item)
    return () if episode is None else episode.receipts


def _by_itself(work: Workplace, item: Item, episode: Episode) -> Derivation | Exclusion:
    try:
        paper = _paper(work, item)
        has_supplement = bool(item.bundle.supplement_files)
        return derivation(item.record, paper, episode, work.edition, has_supplement=has_supplement)
    except StoreError:
        raise
    except Exception as fault:  # a rule that fails on one paper costs that paper, with its reason
        return _out(item, "crashed", f"{type(fault).__name__}: {fault}"[:500])


def _out(item: Item, reason: str, detail: str) -> Exclusion:
    return Exclusion(
        key=item.record.arxiv_id, title=item.record.title, stage="classification", reason=reason, detail=detail
    )


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
    found = {i.record.arxiv_id: recorded(work, i) for i in _items(work) if i.record.arxiv_id in ended}
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
    rules=(*EPISODE, "pipeline.classification"),
    parts=("classification", "rows"),
    run=run,
    check=check,
    inputs=lambda work: {"world": work.world_print} | ({"reader": _reader(work)} if _reader(work) else {}),
    libraries=("pydantic-ai-slim",),
    reference=("benchmarks.toml", "devices.toml", "paid_apis.toml", "walled_hosts.toml", "guide.md"),
)
