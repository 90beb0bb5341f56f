"""Episodes of a build: who reads a paper, what a reading needs, and each one committed to the record as it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assets import bundles, corpus, repositories
from assets.workplace import Workplace
from classifiers import prompts
from classifiers.second_looks import Looker, lookers
from pipeline import editions, reference
from pipeline.answers import Episode
from pipeline.bundles import Bundle, files_of, manifest
from pipeline.classification import extract, extraction
from pipeline.corpus import Exclusion, PaperRecord
from pipeline.database import INFRASTRUCTURE
from pipeline.derivation import Derivation, Inputs, Rules, derive
from pipeline.editions import EditionError, LanguageModel
from pipeline.evidence import Receipt, digest
from pipeline.fingerprints import code_print
from pipeline.paper import Paper, read
from pipeline.store import StoreError

if TYPE_CHECKING:
    from classifiers.budget import Spent
    from classifiers.models import Classifier
    from pipeline.sources.github_tokens import Tokens
    from pipeline.sources.probes import Probes
    from pipeline.sources.recorder import Recorder

CONCURRENCY, MODEL_CONCURRENCY = 8, 32
"""Episodes in flight: embedded rules are bound by the processor, models wait for their service. RECLAIM_IN_FLIGHT says
otherwise for models; it changes no result."""
RULES = ("classifiers.agent", "classifiers.models", "pipeline.sources.probes")
"""What makes an episode what it is; how its receipts become labels may change without asking anybody again."""
LIBRARIES = ("pydantic-ai-slim",)
REFERENCE = ("benchmarks.toml", "devices.toml", "paid_apis.toml", "walled_hosts.toml", "guide.md")


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One sampled paper, as an episode needs it."""

    record: PaperRecord
    bundle: Bundle
    rank: int
    key: str


def items(work: Workplace) -> list[Item]:
    """The sampled papers in rank order."""
    key = keys(work)
    found: list[Item] = []
    for row in bundles.sampled(work):
        bundle = bundles.bundle_of(row)
        found.append(Item(record=corpus.record_of(row["record"]), bundle=bundle, rank=row["rank"], key=key(bundle)))
    return found


def code_of(work: Workplace) -> str:
    """What reads a paper: the code, and a language model's identity."""
    files = tuple(editions.data("reference", name) for name in REFERENCE)
    return code_print(*RULES, libraries=LIBRARIES, files=files) + reader_of(work)


def keys(work: Workplace) -> Callable[[Bundle], str]:
    """The key of each bundle's episode under these settings, in this world, by this code."""
    code, settings = code_of(work), work.edition.part("classification")
    return lambda bundle: digest(["episode", bundle.arxiv_id, bundle.digest, code, settings, work.world_print])


def reader_of(work: Workplace) -> str:
    """The identity of a language model's reading; "" for the embedded rules, which are code."""
    told = work.edition.classifier
    return "" if told.model == "embedded" else prompts.identity(told.model.partition("@http")[0], told.llm)


def classifier_of(work: Workplace, looker: Looker | None = None) -> Classifier:
    """The edition's classifier, or another reader, its turns in the record. Raises what `model_for` does."""
    from classifiers.budget import Purse, from_environment
    from classifiers.models import Way, model_for
    from classifiers.turns import RecordedTurns

    edition, own = work.edition.name, work.edition.classifier
    model, told = (looker.model, looker.told) if looker else (own.model, own.llm)
    if model == "embedded":
        return model_for(model)
    if work.purse is None:  # one for all readers of a run: second looks spend what first readings leave
        budget, accepted = from_environment(work.environ)
        work.purse = Purse(budget=budget, accepted=accepted, spent=paid(work))

    def turns(paper: str) -> RecordedTurns:
        return RecordedTurns(work.record, work.store.blobs, edition, paper)

    return model_for(model, told or LanguageModel(), Way(purse=work.purse, turns=turns, environ=work.environ))


def paid(work: Workplace) -> Spent:
    """What the record holds of the edition's turns."""
    from classifiers.budget import Spent

    count, read_, written, hits, cost = work.record.paid(work.edition.name)
    return Spent(requests=count, input_tokens=read_, output_tokens=written, cached_tokens=hits, micro_usd=cost)


def in_flight(work: Workplace, asks_a_model: bool) -> int:
    told = work.environ.get("RECLAIM_IN_FLIGHT", "")
    if not asks_a_model:
        return CONCURRENCY
    if told and not (told.isdecimal() and 0 < int(told) <= 1024):
        raise EditionError(f"RECLAIM_IN_FLIGHT: {told!r} is no number of episodes between 1 and 1024")
    return int(told) if told else MODEL_CONCURRENCY


def askable(work: Workplace) -> bool:
    """Whether the classifier, and whoever looks again, may be asked at all; if not, `work.stopped` says why. Nothing is
    asked to find out.
    """
    told = work.edition.classifier
    if told.model == "embedded" and all(looker.model == "embedded" for looker in lookers(told)):
        return True
    from classifiers.budget import Stopped

    try:
        for looker in (None, *lookers(told)):
            classifier_of(work, looker).check()
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


def looked(work: Workplace, item: Item, passes: int) -> bool:
    """Whether the recorded episode of a paper comes from that many looks at it."""
    episode = recorded(work, item)
    return episode is not None and episode.passes >= passes


def paper_of(work: Workplace, item: Item) -> Paper:
    return read(files_of(item.bundle.source_files, work.store.blobs.get))


def _readable(work: Workplace, items: Sequence[Item]) -> Iterator[tuple[PaperRecord, Paper]]:
    """Papers whose source can be read; why one cannot, its episode says."""
    for item in items:
        try:
            yield item.record, paper_of(work, item)
        except INFRASTRUCTURE:
            raise
        except Exception:
            continue


def probes(work: Workplace, item: Item, recorder: Recorder, tokens: Tokens) -> Probes:
    """The tools of one paper, as its episode had them."""
    from pipeline.sources.probes import PaperFacts, Probes

    title = paper_of(work, item).title or item.record.title
    facts = PaperFacts(title=title, arxiv_id=item.record.arxiv_id, authors=item.record.authors)
    supplement = files_of(item.bundle.supplement_files, work.store.blobs.get)
    return Probes(item.record.arxiv_id, recorder, supplement, facts, reference.walls(), tokens)


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
    from pipeline.sources.web_search import Engine

    limits = limits_of(work.edition.classifier)
    classifier = reader or classifier_of(work)
    shows_all = classifier.style == "published"
    recorder = work.recorder(again=passes > 1)
    engine = Engine.of(classifier.web_search, work.environ)
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
        probes = Probes(item.record.arxiv_id, recorder, supplement, facts, walls, tokens, engine)
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
    told = {"edition": work.edition.name, "paper": item.record.arxiv_id, "seq": item.rank}
    work.record.put_episode(item.key, **told, value=episode.to_json(), read=episode.receipts)


def first_derived(work: Workplace, item: Item) -> Derivation | None:
    """What follows from the recorded episode alone; None where there is none, or no row."""
    episode = recorded(work, item)
    end = None if episode is None else derived_alone(work, item, episode)
    return end if isinstance(end, Derivation) else None


def receipts_of_episode(work: Workplace, item: Item) -> tuple[Receipt, ...]:
    episode = recorded(work, item)
    return () if episode is None else episode.receipts


def derived_alone(work: Workplace, item: Item, episode: Episode) -> Derivation | Exclusion:
    try:
        inputs = _extracted(work, item, episode)
        if isinstance(inputs, Exclusion):
            return inputs
        return derive(inputs, {receipt.id: receipt for receipt in episode.receipts}, Rules.of(work.edition))
    except StoreError:
        raise
    except Exception as fault:  # a rule that fails on one paper costs that paper, with its reason
        return excluded(item, "crashed", f"{type(fault).__name__}: {fault}"[:500])


def extraction_of(work: Workplace, item: Item, episode: Episode) -> str:
    has_supplement = bool(item.bundle.supplement_files)
    files = tuple(editions.data("reference", name) for name in REFERENCE)
    code = code_print("pipeline.classification", files=files)
    return extraction(item.record, episode, work.edition, has_supplement=has_supplement, code=code)


def _extracted(work: Workplace, item: Item, episode: Episode) -> Inputs | Exclusion:
    """What a derivation needs of a paper; its source is read where the same was not read before."""
    made = extraction_of(work, item, episode)
    if (known := work.extracts.get(made)) is not None:
        return Inputs.model_validate_json(known)
    has_supplement = bool(item.bundle.supplement_files)
    inputs = extract(item.record, paper_of(work, item), episode, work.edition, has_supplement=has_supplement)
    if isinstance(inputs, Inputs):
        work.extracts[made] = inputs.model_dump_json()
    return inputs


def excluded(item: Item, reason: str, detail: str) -> Exclusion:
    return Exclusion(
        key=item.record.arxiv_id, title=item.record.title, stage="classification", reason=reason, detail=detail
    )
