"""From the source to the row: an evidence pack's papers and episodes, read by the rules again, give the `sample` table.

The folder alone derives labels from recorded inputs; this shows that the inputs are what the paper's source and the
classifier's answer give.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from pipeline.answers import Episode
from pipeline.classification import derivation
from pipeline.corpus import Exclusion, PaperRecord
from pipeline.derivation import Derivation
from pipeline.editions import Edition
from pipeline.evidence import Json
from pipeline.release.case import Case
from pipeline.release.folder import same
from pipeline.release.pack import Held, Pack, PackError
from pipeline.release.report import Check, Tally

CHECK = "rows are read from the papers' sources and the recorded episodes"
_LATER = {"looks"}
"""What joins a row after its own episode: second looks are episodes of others, and no label rests on them."""


def extracted(case: Case, pack: Pack) -> Check:
    """Every sampled paper extracted again from the pack, and held against the release, field by field."""
    tally = Tally(CHECK)
    rows = {inputs.arxiv_id: inputs.model_dump(mode="json", exclude=_LATER) for inputs in case.material.sample}
    out = {e.key: e for e in case.material.early if e.stage == "classification"}
    for paper in sorted(rows.keys() | out.keys()):
        held, episode = pack.papers.get(paper), pack.episodes.get(paper)
        if held is None or episode is None:
            tally.look(paper, [f"its {'episode' if held else 'source'} is not in the pack"])
            continue
        found = _again(paper, held, episode, pack, case.material.edition)
        there = rows.get(paper) or asdict(out[paper])
        problems = [*_receipts(case, episode if paper in rows else None), *_turns(episode, pack)]
        tally.look(paper, [*problems, *_differences(there, found)])
    return tally.done()


def _again(paper: str, held: Held, episode: Episode, pack: Pack, edition: Edition) -> dict[str, Json]:
    """The paper's row of `sample`, or its exclusion, as the build would make it now."""
    record = PaperRecord(
        arxiv_id=paper,
        version=held.version,
        title=held.title,
        authors=held.authors,
        abstract="",
        forum_id=None,
        published="",
        categories=(),
        supplement_path=None,
        index_key="",
    )
    source = pack.paper(paper)
    try:
        if source is None:
            raise ValueError("the source cannot be read")
        end: Derivation | Exclusion = derivation(record, source, episode, edition, has_supplement=bool(held.supplement))
    except Exception as fault:  # what a rule cannot read is a crash of that paper, here as in the build
        detail = f"{type(fault).__name__}: {fault}"[:500]
        end = Exclusion(key=paper, title=held.title, stage="classification", reason="crashed", detail=detail)
    return asdict(end) if isinstance(end, Exclusion) else end.inputs.model_dump(mode="json", exclude=_LATER)


def _receipts(case: Case, episode: Episode | None) -> Iterator[str]:
    """Receipts of the episode that are not the release's own. Ids do not cover facts, so the whole is compared."""
    for receipt in () if episode is None else episode.receipts:
        there = case.material.receipts.get(receipt.id)
        if there is None or not same(there.to_json(), receipt.to_json()):
            yield f"receipt {receipt.id[:16]} of its episode is not the release's"


def _turns(episode: Episode, pack: Pack) -> Iterator[str]:
    """Turns of a language model that its episode names and the pack cannot show."""
    for number, key in enumerate(episode.account.get("turns") or (), start=1):
        try:
            pack.blob(pack.turns[key])
        except KeyError:
            yield f"turn {number} of its reading ({key[:16]}) is not in the pack"
        except PackError as error:
            yield f"turn {number} of its reading: {error}"


def _differences(there: dict[str, Json], again: dict[str, Json]) -> list[str]:
    if there.keys() != again.keys():
        what = f"excluded as {again['reason']} ({again['detail']})" if "reason" in again else "a row"
        return [f"read again, it is {what}; in the release it is {'excluded' if 'reason' in there else 'a row'}"]
    return [
        f"{field} is {there[field]!r:.200}, read again {again[field]!r:.200}"
        for field in sorted(there)
        if not same(there[field], again[field])
    ]
