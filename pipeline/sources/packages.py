"""Fetching what bundles are made of: source packages from arXiv, supplements from OpenReview.

Every answer ends as one of four: it is here, there is nothing to ask for, the service says it is not there, or nothing
was established. A service says that something is not there by saying it twice, a day apart; what it says about us (rate
limits, challenges, its own trouble) establishes nothing, and is asked again.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from io import BytesIO
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from pipeline.archives import sniff
from pipeline.bundles import Fetched
from pipeline.corpus import PaperRecord
from pipeline.sources.openreview_notes import API, challenge, openreview_from_environment
from pipeline.sources.outcomes import challenged
from pipeline.sources.recorder import RATE_LIMITED, TRUNCATED, Answer, Recorder
from pipeline.sources.trouble import trouble

if TYPE_CHECKING:
    import openreview.api

SOURCE_BYTES = 256 << 20
SUPPLEMENT_BYTES = 256 << 20
"""OpenReview takes uploads of 100 MB, arXiv of 50 MB; with room."""
BULK = 50
"""Ids an attachment request may name (openreview-py, `tools.get_all_attachments`)."""
BULK_BYTES = 512 << 20
"""Of one answer with many supplements, which is held in memory; a longer one is asked for in halves."""
FIELD = "supplementary_material"
MIRROR = "RECLAIM_ARXIV_MIRROR"
ARXIV = "https://arxiv.org"
_INFLATED = 1 << 30
_PIECE = 1 << 20
_GONE = (404, 410, 451)


# -------------------------------------------------------------------------------------------------------------- arXiv


def fetch_source(recorder: Recorder, record: PaperRecord, mirror: str | None = None) -> Fetched:
    """The source package of the pinned version, as sent.

    `mirror`: a base URL that serves the same bytes, by default that of RECLAIM_ARXIV_MIRROR. What it does not give is
    asked of arXiv itself: that a mirror lacks something says nothing about the paper.
    """
    says = _source_says(record.arxiv_id)
    path = f"/src/{record.arxiv_id}v{record.version}"
    mirror = mirror or os.environ.get(MIRROR)
    if mirror:
        answer = recorder.ask("GET", mirror.rstrip("/") + path, limit=SOURCE_BYTES, says_gone=says)
        if says(answer) is False:
            return _fetched(recorder, answer, says)
    return _fetched(recorder, recorder.ask("GET", ARXIV + path, limit=SOURCE_BYTES, says_gone=says), says)


def _source_says(arxiv_id: str) -> Callable[[Answer], bool | None]:
    """arXiv sends no bare words: those, and pages that do not name the paper, are about us."""

    def says(answer: Answer) -> bool | None:
        form = sniff(answer.body) if _came(answer) else ""
        if form == "text" or (form == "html" and arxiv_id.encode() not in answer.body):
            return None
        return _says_gone(answer)

    return says


# ---------------------------------------------------------------------------------------------------------- OpenReview


class Supplements:
    """The supplements of papers, fifty a request, in the order in which they will be asked for.

    Groups depend on that order alone, so a build that was killed finds its own requests in the record. What a group's
    answer lacks is asked for by itself. One group is held at a time. `client`: logged in, by default from the
    environment when the first supplement is asked for.
    """

    def __init__(
        self, recorder: Recorder, records: Iterable[PaperRecord], client: openreview.api.OpenReviewClient | None = None
    ) -> None:
        self._recorder = recorder
        self._client = client
        named = [record for record in records if _named(record)]
        groups = [tuple(named[start : start + BULK]) for start in range(0, len(named), BULK)]
        self._groups = {record.arxiv_id: group for group in groups for record in group}
        self._held: tuple[Sequence[PaperRecord], Mapping[str, Fetched]] = ((), {})

    def fetch(self, record: PaperRecord) -> Fetched:
        """As sent, by forum id. Raises `FetchError` where a login is needed."""
        if not _named(record):
            return Fetched(state="none")
        group = self._groups.get(record.arxiv_id, ())
        if self._held[0] is not group:
            self._held = group, self._many(group)
        return self._held[1].get(record.arxiv_id) or self._one(record)

    @cached_property
    def _login(self) -> dict[str, str]:
        client = self._client or openreview_from_environment(self._recorder)
        return {name: value for name, value in client.headers.items() if name.lower() == "authorization"}

    def _ask(self, limit: int, **arguments: str) -> Answer:
        url = f"{API}/attachment?{urlencode({'name': FIELD, **arguments})}"
        answer = self._recorder.ask("GET", url, headers=self._login, limit=limit, says_gone=_says_gone)
        if answer.status == 403 and b"ChallengeRequired" in answer.body[:2000]:
            raise challenge(f"for the supplements of {', '.join(arguments.values()):.60}")
        return answer

    def _one(self, record: PaperRecord) -> Fetched:
        answer = self._ask(SUPPLEMENT_BYTES, id=str(record.forum_id))
        return _fetched(self._recorder, answer, _says_gone)

    def _many(self, group: Sequence[PaperRecord]) -> dict[str, Fetched]:
        """What one request tells of each paper, by arXiv id. An answer that is no whole archive (too long, too slow,
        or refused because of one of them) is asked for in halves."""
        if len(group) < 2:
            return {}  # the service answers one id with the file itself
        answer = self._ask(BULK_BYTES, ids=",".join(str(record.forum_id) for record in group))
        exchanges = (answer.exchange.id,)
        if answer.status == 200 and TRUNCATED not in answer.headers and zipfile.is_zipfile(BytesIO(answer.body)):
            found = attachments(answer.body, group)
            return {key: Fetched(state="here", data=data, exchanges=exchanges) for key, data in found.items()}
        down = answer.exchange.fault != "timeout" if answer.status is None else answer.status in (401, *range(500, 600))
        if down or RATE_LIMITED in answer.headers or challenged(answer):
            none = Fetched(state="undetermined", reason=trouble(answer), exchanges=exchanges)
            return {record.arxiv_id: none for record in group}
        half = (len(group) + 1) // 2
        return self._many(group[:half]) | self._many(group[half:])


def fetch_supplement(
    recorder: Recorder, record: PaperRecord, client: openreview.api.OpenReviewClient | None = None
) -> Fetched:
    """The supplement that one paper's note names, by forum id, as sent. Raises `FetchError` where a login is needed."""
    return Supplements(recorder, [record], client).fetch(record)


def _named(record: PaperRecord) -> bool:
    return record.forum_id is not None and record.supplement_path is not None


def attachments(archive: bytes, group: Sequence[PaperRecord]) -> dict[str, bytes]:
    """The files of an answer with many attachments, by arXiv id.

    The service names each after its note, by number or forum id (`12345_supplementary_material.zip`). A name that
    leads to no note of the group, or to two, and a note with two files, tell nothing: those papers are not in the
    result. Numbers count within a venue, so in a group of several venues they tell nothing where they meet.
    """
    owners: dict[str, list[str]] = {}
    for record in group:
        for expected in _names(record):
            owners.setdefault(expected, []).append(record.arxiv_id)
    names: dict[str, list[str]] = {}
    with zipfile.ZipFile(BytesIO(archive)) as members:
        for name in (info.filename for info in members.infolist() if not info.is_dir()):
            own = owners.get(PurePosixPath(name).name, [])
            if len(own) == 1:
                names.setdefault(own[0], []).append(name)
        found = {}
        for arxiv_id, (first, *more) in names.items():
            try:
                with members.open(first) as member:
                    data = member.read(SUPPLEMENT_BYTES + 1)
            except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError, RuntimeError):
                continue  # damaged on the way; asked for by itself
            if not more and data and len(data) <= SUPPLEMENT_BYTES:
                found[arxiv_id] = data
    return found


def _names(record: PaperRecord) -> list[str]:
    """What its supplement may be called among others."""
    ending = PurePosixPath(str(record.supplement_path)).suffix
    stems = [str(record.forum_id)] + ([str(record.note_number)] if record.note_number is not None else [])
    return [f"{stem}{field}{ending}" for stem in stems for field in ("", f"_{FIELD}")]


# ------------------------------------------------------------------------------------------------------------ outcomes


def _came(answer: Answer) -> bool:
    return answer.status == 200 and RATE_LIMITED not in answer.headers and not challenged(answer) and bool(answer.body)


def _says_gone(answer: Answer) -> bool | None:
    """Whether an answer denies the file (it is gone, or broken, which is believed as late), holds it, or says nothing
    of it (None)."""
    if answer.status in _GONE:
        return True
    if not _came(answer):
        return None
    return TRUNCATED not in answer.headers and _broken(answer.body)


def _broken(data: bytes) -> bool:
    """An archive that ends before its end. Cheap next to the fetch: 20 ms for 5 MB."""
    form = sniff(data)
    if form == "zip":
        return not zipfile.is_zipfile(BytesIO(data))
    if form != "gzip":
        return form in ("empty", "unknown")
    stream, inflated, rest = zlib.decompressobj(wbits=31), 0, data
    try:
        while rest and not stream.eof and inflated < _INFLATED:
            inflated += len(stream.decompress(rest, _PIECE))
            rest = stream.unconsumed_tail
    except zlib.error:
        return True
    return not stream.eof and inflated < _INFLATED


def _fetched(recorder: Recorder, answer: Answer, says: Callable[[Answer], bool | None]) -> Fetched:
    exchanges, said = (answer.exchange.id,), says(answer)
    came = _came(answer)
    if said is False or (said and came and recorder.said_gone_twice(answer.exchange, says)):
        reason = "longer than the limit, cut" if TRUNCATED in answer.headers else ""
        return Fetched(state="here", data=answer.body, reason=reason, exchanges=exchanges)
    if said and recorder.said_gone_twice(answer.exchange, says):
        return Fetched(state="absent", reason=trouble(answer), exchanges=exchanges)
    once = "a broken archive, once" if said and came else f"{trouble(answer)}, once" if said else trouble(answer)
    if said is None and came:
        once = "a page in place of the file"
    return Fetched(state="undetermined", reason=once, exchanges=exchanges)
