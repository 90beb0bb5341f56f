"""`reclaim evaluate`: run a classifier over gold papers and hold what it says against what two readers labelled.

The gold folder is served as an offline world, which passes sources and repositories on and no label. One look a paper:
what such a folder does not record stays undetermined however often it is asked.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from assets.workplace import Workplace, load_edition, to_stderr
from classifiers import pool
from classifiers.evaluation import judge
from classifiers.examination import Examined, examine
from classifiers.gold import GoldError, load_gold
from classifiers.models import Classifier, NoSuchModel, model_for
from classifiers.said import said
from classifiers.scorecard import Scorecard, scorecard
from classifiers.scorecard_page import page
from pipeline import reference
from pipeline.corpus import Exclusion, PaperRecord
from pipeline.offline.content import whole
from pipeline.offline.values import Paper as WorldPaper
from pipeline.offline.values import WorldError
from pipeline.sources.probes import Probes
from pipeline.store import Store

CONCURRENCY = 4
"""Rules are bound by the processor, models by their service."""

Found = dict[str, Examined | Exclusion]


def command(arguments: argparse.Namespace) -> int:
    """Print the scorecard, and write it where asked. Code 1 with one line on stderr for a folder or a classifier that
    cannot be used."""
    with ExitStack() as stack:
        root = arguments.store or stack.enter_context(TemporaryDirectory(prefix="reclaim-evaluate-"))
        try:
            card = evaluate(arguments.gold, arguments.classifier, Path(root).expanduser().resolve(), to_stderr)
        except (GoldError, WorldError, NoSuchModel) as error:
            print(f"reclaim: {error}", file=sys.stderr)
            return 1
    if arguments.json is not None:
        _write(arguments.json, json.dumps(card.to_json(), indent=2, ensure_ascii=False) + "\n")
    if arguments.html is not None:
        _write(arguments.html, page(card))
    print("\n".join(card.lines()))
    return 0


def _write(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")


def evaluate(folder: Path, classifier: str, root: Path, say: Callable[[str], None]) -> Scorecard:
    """The scorecard of one classifier over one gold folder. `root`: a store for what is seen on the way.

    Raises GoldError for a folder that holds no gold papers, NoSuchModel for a classifier that is not there.
    """
    gold, reader = load_gold(folder), model_for(classifier)
    store = Store.open(root)
    work = Workplace(edition=load_edition(None, store, folder), store=store, say=say)
    try:
        papers = {paper.folder.name: paper for paper in work.world.world.papers.values()}
        found = asyncio.run(_all({name: papers[name] for name in gold}, work, reader))
    finally:
        work.world.close()
    words = {name: said(one) for name, one in found.items()}
    judged = [one for name in gold for one in judge(gold[name], words[name])]
    trouble = [(name, one.trouble) for name, one in words.items() if one.trouble]
    return scorecard(reader.id, folder.name, list(gold), judged, trouble)


async def _all(papers: dict[str, WorldPaper], work: Workplace, classifier: Classifier) -> Found:
    recorder, walls = work.recorder(), reference.walls()

    async def one(name: str) -> tuple[str, Examined | Exclusion]:
        paper = papers[name]
        record = _record(paper)
        files = {path: whole(content) for path, content in paper.source.items()}
        end = await examine(
            record,
            files,
            lambda facts: Probes(record.arxiv_id, recorder, {}, facts, walls),
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
