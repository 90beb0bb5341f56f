"""Second looks and double reads: episodes of other readers beside the first one's, kept in the record, never in its
place. Their proposals are the table `disagreements`; what changes a label is a person's event.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from assets import episodes
from assets.episodes import Item
from assets.stages import read_rows, write_rows
from assets.workplace import Workplace
from classifiers import prompts
from classifiers.second_looks import Looker, double_reader, lookers, note
from pipeline.answers import Episode
from pipeline.derivation import Derivation, LookInput, Rules, derive
from pipeline.disagreements import Disagreement, disagreements, first_seen, wants_looks
from pipeline.evidence import Receipt, digest


def look_again(work: Workplace, items: Sequence[Item]) -> int:
    """Let the edition's second readers look at the rows among these papers that stand on what nobody found. Returns how
    many looks are still to be had: a run may end before them.
    """
    asked = lookers(work.edition.classifier)
    if not asked:
        return 0
    rows = dict(_wanting(work, items))
    wanting = [item for item in items if item.record.arxiv_id in rows]
    return sum(_read(work, looker, wanting, rows) for looker in asked)


def _wanting(work: Workplace, items: Sequence[Item]) -> Iterator[tuple[str, Derivation]]:
    for item in items:
        row = episodes.first_derived(work, item)
        if row is not None and wants_looks(row):
            yield item.record.arxiv_id, row


def _read(work: Workplace, looker: Looker, items: Sequence[Item], rows: Mapping[str, Derivation]) -> int:
    """One reader's episodes of these papers; those in the record are not read again. Returns how many are lacking."""
    theirs = [_theirs(item, looker, rows[item.record.arxiv_id]) for item in items]
    todo = [item for item in theirs if episodes.recorded(work, item) is None]
    if todo:
        work.say(f"classification: {looker.look}, {len(todo)} rows")
        reader = episodes.classifier_of(work, looker)
        told = {key: note(row, looker.look) for key, row in rows.items()}
        asyncio.run(episodes.read_papers(work, todo, 1, reader, lambda item: told[item.record.arxiv_id]))
    return sum(episodes.recorded(work, item) is None for item in todo)


def _theirs(item: Item, looker: Looker, row: Derivation) -> Item:
    """The same paper under the key of another reader's episode: who reads it, and what they were told of the first."""
    name = looker.model.partition("@http")[0]
    who = name if name == "embedded" else prompts.identity(name, looker.told)
    return replace(item, key=digest(["look", item.key, looker.look, who, note(row, looker.look)]))


def readings(work: Workplace, item: Item) -> list[Episode]:
    """The second looks' episodes that the record holds for a paper."""
    row = episodes.first_derived(work, item)
    if row is None or not wants_looks(row):
        return []
    asked = (_theirs(item, looker, row) for looker in lookers(work.edition.classifier))
    return [found for one in asked if (found := episodes.recorded(work, one)) is not None]


def with_looks(work: Workplace, item: Item, row: Derivation) -> Derivation:
    """A row with the second looks that the record holds for it, where it needs any."""
    asked = lookers(work.edition.classifier)
    if not asked or not wants_looks(row):
        return row
    looks = []
    for looker in asked:
        theirs = _theirs(item, looker, row)
        second, episode = episodes.first_derived(work, theirs), episodes.recorded(work, theirs)
        proposed = () if second is None else disagreements(row, second, looker.look)
        cited = list(dict.fromkeys(i for one in proposed for i in one.receipts))
        who = "" if episode is None else episode.classifier
        looks.append(LookInput(look=looker.look, classifier=who, answered=second is not None, receipts=cited))
    receipts = {r.id: r for r in episodes.receipts_of_episode(work, item)}
    return derive(row.inputs.model_copy(update={"looks": looks}), receipts, Rules.of(work.edition))


def proposals(work: Workplace, items: Iterable[Item]) -> tuple[list[Disagreement], list[Receipt]]:
    """What second looks propose about these papers' rows, and the receipts that it rests on."""
    asked = lookers(work.edition.classifier)
    found: list[Disagreement] = []
    receipts: dict[str, Receipt] = {}
    for item in items if asked else ():
        row = episodes.first_derived(work, item)
        if row is None or not wants_looks(row):
            continue
        for looker in asked:
            _compare(work, item, row, looker, found, receipts)
    return found, list(receipts.values())


def _compare(
    work: Workplace,
    item: Item,
    row: Derivation,
    looker: Looker,
    found: list[Disagreement],
    receipts: dict[str, Receipt],
) -> None:
    theirs = _theirs(item, looker, row)
    second = episodes.first_derived(work, theirs)
    if second is None:
        return
    new = disagreements(row, second, looker.look)
    wanted = {i for one in new for i in one.receipts}
    receipts.update((r.id, r) for r in episodes.receipts_of_episode(work, theirs) if r.id in wanted)
    found += new


def double_read(work: Workplace, papers: Sequence[str], model: str | None = None) -> list[Disagreement]:
    """Read rows a second time and keep what differs, as table `double_reads`, in the auditors' order.

    `papers` are arXiv ids, as of the pool; `model` another reader's name. The table `disagreements` of the second looks
    stays as it is.
    """
    looker = double_reader(work.edition.classifier, model)
    items = [item for item in episodes.items(work) if item.record.arxiv_id in set(papers)]
    rows = {i.record.arxiv_id: row for i in items if (row := episodes.first_derived(work, i)) is not None}
    read = [item for item in items if item.record.arxiv_id in rows]
    _read(work, looker, read, rows)
    found: list[Disagreement] = []
    receipts: dict[str, Receipt] = {}
    for item in read:
        _compare(work, item, rows[item.record.arxiv_id], looker, found, receipts)
    write_rows(work, "double_reads", (one.to_json() for one in found), ["arxiv_id", "question", "look"], looker.model)
    kept = (receipt.to_json() for receipt in receipts.values())
    write_rows(work, "double_read_receipts", kept, ["paper", "id", "tool", "outcome"], looker.model)
    return first_seen(found)


def double_read_pool(work: Workplace, model: str | None = None) -> list[Disagreement]:
    """Read every row of the pool a second time; an empty list where there is no pool yet."""
    if work.store.table_print(work.edition.name, "selection") is None:
        return []
    taken = [row["arxiv_id"] for row in read_rows(work, "selection") if row["status"] == "taken"]
    return double_read(work, taken, model)


def told(found: Sequence[Disagreement]) -> list[str]:
    """Disagreements for a terminal: how many, and the first ones."""
    out = [f"double read: {len(found)} disagreements, {sum(one.cheaper for one in found)} cheaper configurations"]
    return out + [f"- {one.arxiv_id} {one.question}: {one.reason[:160]}" for one in found[:10]]


def disagreements_of(work: Workplace) -> list[Disagreement]:
    """All disagreements of an edition, second looks' and double reads', in the auditors' order."""
    tables = [t for t in ("disagreements", "double_reads") if work.store.table_print(work.edition.name, t) is not None]
    return first_seen(Disagreement.from_json(row) for table in tables for row in read_rows(work, table))
