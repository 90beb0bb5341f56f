"""`reclaim evaluate`: run classifiers over gold papers and hold what they say against what two readers labelled, and
against each other.

The gold folder is served as an offline world, which passes sources and repositories on and no label. One look a paper:
what such a folder does not record stays undetermined however often it is asked.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from assets.workplace import Workplace, load_edition, to_stderr
from classifiers import pool
from classifiers.budget import Stopped
from classifiers.comparison import Comparison, Reading, compare
from classifiers.comparison_page import comparison_page
from classifiers.evaluation import judge
from classifiers.examination import Examined, examine
from classifiers.gold import GoldError, GoldPaper, load_gold
from classifiers.models import Classifier, model_for
from classifiers.said import Said, said
from classifiers.scorecard import Scorecard, scorecard
from classifiers.scorecard_page import page
from classifiers.turns import RecordedTurns
from pipeline import reference
from pipeline.corpus import Exclusion, PaperRecord
from pipeline.editions import EditionError
from pipeline.files import write
from pipeline.offline.content import whole
from pipeline.offline.values import Paper as WorldPaper
from pipeline.offline.values import WorldError
from pipeline.sources.probes import Probes
from pipeline.sources.web_search import Engine
from pipeline.store import Store

CONCURRENCY = 4
"""Rules are bound by the processor, models by their service."""

Found = dict[str, Examined | Exclusion]


def command(arguments: argparse.Namespace) -> int:
    """Print the scorecard, or the comparison of several classifiers or runs, and write it where asked.

    Code 1 with one line on stderr for a folder or a classifier that cannot be used, or a run that may not be paid for.
    """
    with ExitStack() as stack:
        root = arguments.store or stack.enter_context(TemporaryDirectory(prefix="reclaim-evaluate-"))
        asked = [lambda name=name: model_for(name) for name in arguments.classifier or ["embedded"]]
        try:
            found = compare_on(arguments.gold, asked, Path(root).expanduser().resolve(), to_stderr, arguments.repeat)
        except (GoldError, WorldError, EditionError, Stopped) as error:
            print(f"reclaim: {error}", file=sys.stderr)
            return 1
    alone = found.readings[0].card if len(found.readings) == 1 else None
    report = alone or found
    if arguments.json is not None:
        write(arguments.json, json.dumps(report.to_json(), indent=2, ensure_ascii=False) + "\n")
    if arguments.html is not None:
        write(arguments.html, page(alone) if alone else comparison_page(found))
    print("\n".join(report.lines()))
    return 0


def evaluate(folder: Path, classifier: str, root: Path, say: Callable[[str], None]) -> Scorecard:
    """The scorecard of one classifier over one gold folder. `root`: a store for what is seen on the way.

    Raises GoldError for a folder that holds no gold papers, NoSuchModel for a classifier that is not there.
    """
    return compare_on(folder, [lambda: model_for(classifier)], root, say).readings[0].card


def compare_on(
    folder: Path,
    classifiers: Sequence[Callable[[], Classifier]],
    root: Path,
    say: Callable[[str], None],
    repeat: int = 1,
) -> Comparison:
    """Several classifiers over one gold folder, each `repeat` times, in one world that all of them see alike.

    Each run makes its classifier anew and has turns of its own, so that none reads those of another; they lie in the
    store, so that the same command pays for no turn twice. Raises what `evaluate` does, and Stopped where a model's run
    may not be paid for.
    """
    gold = load_gold(folder)
    store = Store.open(root)
    work = Workplace(edition=load_edition(None, store, folder), store=store, say=say)
    readings: list[Reading] = []
    read: Counter[str] = Counter()
    try:
        papers = {paper.folder.name: paper for paper in work.world.world.papers.values()}
        for make in classifiers:
            for run in range(1, repeat + 1):
                reader = make()
                if reader.endpoint is not None:
                    read[reader.id] += 1
                    own = partial(
                        RecordedTurns, work.record, store.blobs, f"evaluate {folder.name}", run=read[reader.id]
                    )
                    reader = replace(reader, turns=own)
                reader.check()
                found = asyncio.run(_all({name: papers[name] for name in gold}, work, reader))
                words = {name: said(found[name]) for name in gold}
                readings.append(
                    Reading(classifier=reader.id, run=run, said=words, card=_card(reader.id, folder, gold, words))
                )
    finally:
        work.world.close()
    return compare(folder.name, readings)


def _card(reader: str, folder: Path, gold: Mapping[str, GoldPaper], words: Mapping[str, Said]) -> Scorecard:
    judged = [one for name in gold for one in judge(gold[name], words[name])]
    trouble = [(name, one.trouble) for name, one in words.items() if one.trouble]
    return scorecard(reader, folder.name, list(gold), judged, trouble)


async def _all(papers: dict[str, WorldPaper], work: Workplace, classifier: Classifier) -> Found:
    recorder, walls = work.recorder(), reference.walls()
    engine = Engine.of(classifier.web_search, work.environ)

    async def one(name: str) -> tuple[str, Examined | Exclusion]:
        paper = papers[name]
        record = _record(paper)
        files = {path: whole(content) for path, content in paper.source.items()}
        end = await examine(
            record,
            files,
            lambda facts: Probes(record.arxiv_id, recorder, {}, facts, walls, engine=engine),
            classifier,
            work.edition,
        )
        return name, end

    found: Found = {}
    async for name, end in pool.run(sorted(papers), one, CONCURRENCY):
        found[name] = end
        if len(found) % 10 == 0 or len(found) == len(papers):
            work.say(f"evaluate {len(found)}/{len(papers)}")
    return found


def _record(paper: WorldPaper) -> PaperRecord:
    told = paper.facts
    return PaperRecord(
        arxiv_id=told.arxiv_id,
        version=told.version,
        title=told.title,
        authors=told.authors,
        abstract=told.abstract,
        forum_id=told.forum_id,
        published=told.published.isoformat(),
        categories=told.categories,
        supplement_path=None,
        index_key=f"gold#{paper.folder.name}",
    )
