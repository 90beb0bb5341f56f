"""Sources and supplements, as services under quota, in trouble and out of honesty send them."""

from __future__ import annotations

import gzip
import hashlib
import io
import zipfile
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest

from pipeline.corpus import PaperRecord
from pipeline.offline.limits import ATTACHMENTS_AN_HOUR, Keeper
from pipeline.offline.values import World
from pipeline.sources import packages
from pipeline.sources.clocks import SimulatedClock
from pipeline.sources.openreview_notes import fetch_notes
from pipeline.sources.pacing import Limits
from pipeline.sources.packages import Supplements, attachments, fetch_source, fetch_supplement
from pipeline.sources.recorder import Recorder
from pipeline.sources.trouble import FetchError
from pipeline.store import Store
from tests.bundles.served import START, VENUE, Served, conference

DAY = 86_400.0
LATEX = gzip.compress(b"\\documentclass{article}\\begin{document}Words.\\end{document}", mtime=0)


def records(world: World, recorder: Recorder) -> list[PaperRecord]:
    """The world's papers as the corpus joins them with the venue's notes."""
    forums = {str(p.facts.forum_id): i for i, p in world.papers.items()}
    notes = fetch_notes(recorder, (VENUE,), forums)
    return [
        record(forums[n.forum_id], n.forum_id, n.supplement_path, n.number)
        for n in sorted(notes.values(), key=lambda n: n.forum_id)
    ]


def record(
    arxiv_id: str = "2505.00001",
    forum_id: str | None = "F1",
    path: str | None = "/attachment/x.zip",
    number: int | None = None,
) -> PaperRecord:
    return PaperRecord(
        arxiv_id=arxiv_id,
        version=1,
        title="T",
        authors=(),
        abstract="",
        forum_id=forum_id,
        published="",
        categories=(),
        supplement_path=path,
        index_key="t#0",
        note_number=number,
    )


def recorder(
    folder: Path, transport: httpx2.BaseTransport, clock: SimulatedClock | None = None, limits: Limits | None = None
) -> Recorder:
    clock = clock or SimulatedClock(START)
    return Recorder(Store(folder / "store"), clock, run="r", epoch="e", transport=transport, limits=limits)


def says(body: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        return archive.read("whose.txt").decode()


def zipped(files: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return stream.getvalue()


# ------------------------------------------------------------------------------------------ fifty supplements at once


@pytest.mark.slow
def test_1547_supplements_take_31_to_40_openreview_requests_within_the_quota(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENREVIEW_USERNAME", "reader@example.org")
    monkeypatch.setenv("OPENREVIEW_PASSWORD", "a-long-secret")
    world, clock = conference(3414, 1547, challenge=True), SimulatedClock(START)
    keeper = Keeper(clock)
    rec = recorder(tmp_path, Served(world, keeper), clock)
    papers = records(world, rec)
    asked = Supplements(rec, papers)
    found = {r.arxiv_id: asked.fetch(r) for r in papers}
    assert {i: says(f.data) for i, f in found.items() if f.state == "here"} == {
        r.arxiv_id: r.arxiv_id for r in papers[:1547]
    }
    assert {f.state for f in found.values()} == {"here", "none"}
    assert [seen.limit for seen in keeper.seen if seen.limit] == []
    attached = [seen for seen in keeper.seen if seen.path.startswith("/attachment")]
    assert len(attached) == 31
    # Listing 3,414 notes takes five pages, and two clients log in.
    assert 31 <= len(keeper.seen) <= 40
    print(f"{len(keeper.seen)} requests, {(clock.now() - START).total_seconds():.0f} s at the service's pace")


@pytest.fixture
def pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "BULK", 2)


@pytest.mark.usefixtures("pairs")
def test_a_lock_out_is_waited_out_and_nothing_is_asked_twice(tmp_path: Path) -> None:
    world, clock = conference(80, 80), SimulatedClock(START)
    keeper = Keeper(clock)
    rec = recorder(tmp_path, Served(world, keeper), clock)
    papers = records(world, rec)
    asked = Supplements(rec, papers)
    assert [says(asked.fetch(r).data) for r in papers] == [r.arxiv_id for r in papers]
    assert clock.now() - START >= timedelta(hours=1)
    attached = [seen.path for seen in keeper.seen if seen.path.startswith("/attachment") and not seen.limit]
    assert len(attached) == len(set(attached)) == 40
    assert ATTACHMENTS_AN_HOUR < 40
    assert sum(bool(seen.limit) for seen in keeper.seen) <= 1


@pytest.mark.usefixtures("pairs")
def test_a_build_that_stopped_in_a_lock_out_goes_on_where_it_was(tmp_path: Path) -> None:
    world, clock = conference(80, 80), SimulatedClock(START)
    keeper = Keeper(clock)
    first = recorder(tmp_path, Served(world, keeper), clock, Limits(longest_wait=60))
    papers = records(world, first)
    before = Supplements(first, papers)
    states = [before.fetch(r).state for r in papers]
    assert (states.count("here"), states.count("undetermined")) == (72, 8)
    clock.sleep(DAY + 3600)
    second = recorder(tmp_path, Served(world, keeper), clock)
    after = Supplements(second, papers)
    assert [says(after.fetch(r).data) for r in papers] == [r.arxiv_id for r in papers]
    served = [seen.path for seen in keeper.seen if seen.path.startswith("/attachment") and seen.status == 200]
    assert len(served) == len(set(served)) == 40


def bulk(reply: Callable[[dict[str, str]], httpx2.Response], seen: list[dict[str, str]]) -> httpx2.MockTransport:
    def handle(request: httpx2.Request) -> httpx2.Response:
        arguments = dict(request.url.params)
        seen.append(arguments)
        return reply(arguments)

    return httpx2.MockTransport(handle)


def group(count: int) -> list[PaperRecord]:
    return [record(f"2505.{n:05}", f"forum{n}", "/attachment/x.zip", 100 + n) for n in range(count)]


def test_what_a_groups_answer_lacks_is_asked_for_by_itself(tmp_path: Path) -> None:
    def reply(asked: dict[str, str]) -> httpx2.Response:
        if "ids" in asked:
            return httpx2.Response(200, content=zipped({"100_supplementary_material.zip": zipped({"a.py": b"x"})}))
        return httpx2.Response(200, content=zipped({"b.py": asked["id"].encode()}))

    seen: list[dict[str, str]] = []
    asked = Supplements(recorder(tmp_path, bulk(reply, seen)), group(3))
    states = [asked.fetch(r) for r in group(3)]
    assert [f.state for f in states] == ["here"] * 3
    assert [a.get("id") for a in seen] == [None, "forum1", "forum2"]
    assert seen[0]["ids"] == "forum0,forum1,forum2"


def test_an_answer_too_long_or_refused_is_asked_for_in_halves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "BULK_BYTES", 4000)

    def reply(asked: dict[str, str]) -> httpx2.Response:
        ids = asked["ids"].split(",")
        files = {f"{i}_supplementary_material.zip": zipped({"a": b"x" * 1000}) for i in ids}
        return httpx2.Response(200, content=zipped(files)) if "forum0" in ids else httpx2.Response(400, text="no")

    seen: list[dict[str, str]] = []
    asked = Supplements(recorder(tmp_path, bulk(reply, seen)), group(4))
    assert asked.fetch(group(4)[0]).state == "here"
    assert [a["ids"].count("forum") for a in seen] == [4, 2, 2]


@pytest.mark.parametrize("response", [httpx2.Response(503), httpx2.Response(429), httpx2.Response(403, text="captcha")])
def test_a_service_in_trouble_is_not_asked_for_each_by_itself(tmp_path: Path, response: httpx2.Response) -> None:
    seen: list[dict[str, str]] = []
    answer = bulk(lambda _: httpx2.Response(response.status_code, content=response.content), seen)
    asked = Supplements(recorder(tmp_path, answer), group(4))
    assert {asked.fetch(r).state for r in group(4)} == {"undetermined"}
    assert all("ids" in a for a in seen)


def test_a_challenge_to_a_group_names_the_variables(tmp_path: Path) -> None:
    answer = httpx2.Response(403, json={"name": "ChallengeRequiredError"})
    rec = recorder(tmp_path, bulk(lambda _: httpx2.Response(403, content=answer.content), []))
    with pytest.raises(FetchError, match=r"OPENREVIEW_USERNAME and.*OPENREVIEW_PASSWORD"):
        Supplements(rec, group(3)).fetch(group(3)[0])


def test_files_are_told_apart_by_number_or_forum_id_and_by_nothing_else() -> None:
    one, two, other = record("a", "F1", number=7), record("b", "F2", number=8), record("c", "F3", number=7)
    names = {
        "7_supplementary_material.zip": b"seven",
        "F2_supplementary_material.zip": b"two",
        "Paper 8.zip": b"by title",
        "88_supplementary_material.zip": b"another",
        "7_supplementary_material.pdf": b"another kind",
    }
    assert attachments(zipped(names), [one, two]) == {"a": b"seven", "b": b"two"}
    # Numbers count within a venue: where two venues meet in a group, they tell nothing.
    assert attachments(zipped(names), [one, two, other]) == {"b": b"two"}
    twice = {"8_supplementary_material.zip": b"x", "F2.zip": b"y"}
    assert attachments(zipped(twice), [two]) == {}


def test_a_file_damaged_in_the_archive_is_not_taken() -> None:
    data = bytearray(zipped({"7_supplementary_material.zip": b"seven" * 20}))
    data[60] ^= 0xFF
    assert attachments(bytes(data), [record("a", "F1", number=7)]) == {}


# ------------------------------------------------------------------------------------------ gone is what is said twice


def days(folder: Path, answers: list[httpx2.Response], fetch: Callable[[Recorder], object], apart: float = DAY) -> list:
    """What `fetch` makes of one answer after the other, each asked `apart` seconds later by a recorder of its own."""
    clock, got, left = SimulatedClock(START), [], list(answers)

    def reply(_: httpx2.Request) -> httpx2.Response:
        answer = left[0] if len(left) == 1 else left.pop(0)
        return httpx2.Response(answer.status_code, headers=answer.headers, content=answer.content)

    for _ in answers:
        got.append(fetch(recorder(folder, httpx2.MockTransport(reply), clock)))
        clock.sleep(apart + 60)
    return got


GONE, PAGE, BUSY = (
    httpx2.Response(404, text="no"),
    httpx2.Response(200, text="<html>Rate exceeded</html>"),
    httpx2.Response(503),
)
HERE, CUT = httpx2.Response(200, content=LATEX), httpx2.Response(200, content=LATEX[:-9])


@pytest.mark.parametrize(
    ("answers", "states"),
    [
        ([GONE, GONE], ["undetermined", "absent"]),
        ([GONE, HERE], ["undetermined", "here"]),
        ([GONE, BUSY], ["undetermined", "undetermined"]),
        ([PAGE, PAGE, PAGE], ["undetermined"] * 3),
        ([PAGE, HERE], ["undetermined", "here"]),
        ([CUT, HERE], ["undetermined", "here"]),
        ([CUT, CUT], ["undetermined", "here"]),
        ([HERE], ["here"]),
    ],
)
def test_a_source_is_absent_when_two_answers_a_day_apart_say_so(
    tmp_path: Path, answers: list[httpx2.Response], states: list[str]
) -> None:
    found = days(tmp_path, answers, lambda rec: fetch_source(rec, record()))
    assert [f.state for f in found] == states


def test_two_refusals_within_a_day_are_one(tmp_path: Path) -> None:
    found = days(tmp_path, [GONE, GONE], lambda rec: fetch_source(rec, record()), apart=3600)
    assert [f.state for f in found] == ["undetermined", "undetermined"]


def test_a_supplement_is_missing_when_it_is_denied_twice(tmp_path: Path) -> None:
    found = days(tmp_path, [GONE, GONE], lambda rec: fetch_supplement(rec, record()))
    assert [f.state for f in found] == ["undetermined", "absent"]


def test_a_page_that_names_the_paper_is_its_source(tmp_path: Path) -> None:
    page = httpx2.Response(200, text="<html>Source of 2505.00001 is HTML.</html>")
    assert [f.state for f in days(tmp_path, [page], lambda rec: fetch_source(rec, record()))] == ["here"]


@pytest.mark.parametrize("body", [b"Rate exceeded.", b"<!DOCTYPE html><html>Access denied</html>"])
def test_words_in_place_of_a_source_say_nothing(tmp_path: Path, body: bytes) -> None:
    answer = httpx2.Response(200, content=body)
    (found,) = days(tmp_path, [answer], lambda rec: fetch_source(rec, record()))
    assert (found.state, found.reason) == ("undetermined", "a page in place of the file")


# --------------------------------------------------------------------------------------------------------------- mirror


def test_a_mirror_serves_the_same_bytes_and_what_it_lacks_is_asked_of_arxiv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def reply(request: httpx2.Request) -> httpx2.Response:
        seen.append(str(request.url))
        lacking = request.url.host == "mirror.example" and "00002" in request.url.path
        return httpx2.Response(404) if lacking else httpx2.Response(200, content=LATEX)

    rec = recorder(tmp_path, httpx2.MockTransport(reply))
    one = fetch_source(rec, record("2505.00001"), "https://mirror.example/arxiv/")
    two = fetch_source(rec, record("2505.00002"), "https://mirror.example/arxiv/")
    monkeypatch.setenv("RECLAIM_ARXIV_MIRROR", "https://other.example")
    three = fetch_source(rec, record("2505.00003"))
    assert [hashlib.sha256(f.data).hexdigest() for f in (one, two, three)] == [hashlib.sha256(LATEX).hexdigest()] * 3
    assert seen == [
        "https://mirror.example/arxiv/src/2505.00001v1",
        "https://mirror.example/arxiv/src/2505.00002v1",
        "https://arxiv.org/src/2505.00002v1",
        "https://other.example/src/2505.00003v1",
    ]
