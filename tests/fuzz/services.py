"""What arXiv, OpenReview, GitHub and the Hub answer, spoiled on the way: a recorded fault, never a statement."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import httpx2
from hypothesis import strategies as st

from pipeline.corpus import IndexEntry, Note, PaperRecord
from pipeline.editions import data, load
from pipeline.evidence import Outcome
from pipeline.offline.server import OfflineWorld
from pipeline.offline.transports import WorldTransport
from pipeline.sources import fetch, github_batches, github_lookup, openreview_notes, packages
from pipeline.sources.github_tokens import Tokens
from pipeline.sources.recorder import Recorder
from pipeline.sources.trouble import FetchError
from tests.fuzz.mutating import Cut, Edit, cut, cuts, edited, edits
from tests.fuzz.running import Target
from tests.fuzz.served import Answering, answered, probing, recording

Sent = tuple[int, dict[str, str], bytes]
_WORLD = "sample-2025"
_MOST = 300_000
_OF_THE_WAY = ("content-length", "transfer-encoding", "content-encoding", "date")


@cache
def _true_answers(job: Callable[[Answering], object]) -> dict[tuple[str, str, bytes], Sent]:
    """What the sample world answers while a job is done."""
    seen: dict[tuple[str, str, bytes], Sent] = {}
    with OfflineWorld(data("offline", _WORLD)) as world:
        way = WorldTransport(world)

        def answer(request: httpx2.Request) -> httpx2.Response:
            told, body = way.handle_request(request), b""
            for piece in told.iter_bytes():
                body += piece
                if len(body) > _MOST:
                    break
            told.close()
            kept = {k: v for k, v in told.headers.items() if k not in _OF_THE_WAY}
            seen[request.method, str(request.url), request.read()] = told.status_code, kept, body
            return httpx2.Response(told.status_code, headers=kept, content=body)

        job(answer)
    return seen


class Spoilt:
    """Answers as the world did, but for the n-th answer (or all): its JSON edited, its bytes cut, or its status."""

    def __init__(self, job: Callable[[Answering], object], given: dict[str, Any]) -> None:
        self.answers, self.given, self.asked = _true_answers(job), given, 0

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        status, headers, body = self.answers.get(
            (request.method, str(request.url), request.read()), (404, {"content-type": "application/json"}, b"{}")
        )
        spoil = self.given["nth"] in (self.asked, 99)
        self.asked += 1
        if spoil:
            body = spoiled(body, self.given["edits"], self.given["cuts"])
            status = self.given["status"] or status
        return httpx2.Response(status, headers=headers, content=body)


def spoiled(body: bytes, json_edits: list[Edit], byte_cuts: list[Cut]) -> bytes:
    if json_edits:
        try:
            told = edited(json.loads(body), json_edits)
        except (ValueError, RecursionError):
            told = None
        if told is not None:
            body = json.dumps(told).encode(errors="surrogatepass")
    return cut(body, byte_cuts)


spoil = {
    "nth": st.sampled_from([0, 0, 1, 2, 3, 5, 99]),
    "edits": st.one_of(st.just([]), edits, edits),
    "cuts": st.one_of(st.just([]), st.just([]), cuts),
    "status": st.sampled_from(
        [0, 0, 0, 0, 0, 200, 201, 204, 206, 304, 400, 401, 403, 404, 410, 422, 429, 451, 500, 502]
    ),
}


# The ten tools.

CALLS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("github_repo", ("gormenghast-ai/corvid",)),
    ("github_repo", ("hybrasil-speech/tidepool",)),
    ("github_tree", ("gormenghast-ai/corvid", "")),
    ("github_file", ("gormenghast-ai/corvid", "README.md")),
    ("github_search_repositories", ("corvid",)),
    ("github_search_code", ("corvid",)),
    ("hub_repo", ("avalon-lamp/lanternlm-1.3b",)),
    ("hub_repo", ("EleutherAI/hendrycks_math", "dataset")),
    ("hub_tree", ("avalon-lamp/lanternlm-1.3b",)),
    ("hub_search", ("lanternlm",)),
    ("fetch_url", ("https://figshare.com/ndownloader/files/3195389",)),
    ("fetch_url", ("https://anonymous.4open.science/r/larkspur-90B8/",)),
    ("fetch_url", ("https://zenodo.org/records/77",)),
)


@cache
def _calling(call: int, token: str) -> Callable[[Answering], Any]:
    tool, arguments = CALLS[call]
    return lambda answer: getattr(probing(answer, token), tool)(*arguments)


def a_spoilt_probe(given: dict[str, Any]) -> None:
    """A receipt that can be stored, the same again; nothing is gone for good at one look."""
    call = _calling(given["call"], given["token"])

    def ask() -> Any:
        return answered(call(Spoilt(call, given)))

    receipt, content = ask()
    assert receipt.outcome is not Outcome.UNAVAILABLE, receipt
    again, shown = ask()
    assert (again.id, json.dumps(shown)) == (receipt.id, json.dumps(content))


# Lists and metadata of the corpus.

IDS = ("2505.90011", "2505.90023", "2505.90248")
VENUE = "Sample.cc/2025/Conference"
FORUM = "no-such-forum"


def _corpus(recorder: Recorder) -> tuple[Any, ...]:
    told = fetch.fetch_metadata(recorder, IDS)
    entry = IndexEntry(title="PebbleNorm: Normalising Activations", authors=("Ottoline Quagmire", "Bram Fiddlewick"))
    found = fetch.search_titles(recorder, [entry])
    return told, found


def _arxiv_job(answer: Answering) -> None:
    _corpus(recording(answer))


def a_spoilt_feed(given: dict[str, Any]) -> None:
    """arXiv's feeds: metadata, or nothing known; never "arXiv has no such paper" at one look."""
    told, found = _corpus(recording(Spoilt(_arxiv_job, given)))
    for id_, paper in told.items():
        assert paper is not None, f"one look says that arXiv does not have {id_}"
        assert paper.arxiv_id == id_
        assert paper.version >= 1
        assert f"{paper}".encode()
    for papers in found.values():
        assert all(paper.arxiv_id for paper in papers)


def _notes(recorder: Recorder) -> dict[str, Note]:
    client = openreview_notes.openreview_client(recorder)
    return openreview_notes.fetch_notes(recorder, (VENUE,), [FORUM], client)


def _notes_job(answer: Answering) -> None:
    recorder = recording(answer)
    openreview_notes.venue_notes(recorder, (VENUE,), openreview_notes.openreview_client(recorder))
    _notes(recorder)
    _packages(recorder)


def a_spoilt_note(given: dict[str, Any]) -> None:
    """OpenReview's lists: typed notes, or an error that says what did not come."""
    recorder = recording(Spoilt(_notes_job, given))
    client = openreview_notes.openreview_client(recorder)
    try:
        notes = openreview_notes.venue_notes(recorder, (VENUE,), client)
        notes |= _notes(recorder)
    except FetchError as error:
        said = str(error)
        assert "OpenReview" in said
        return
    for forum, note in notes.items():
        assert forum == note.forum_id
        assert isinstance(note.title, str)
        assert all(isinstance(name, str) for name in note.authors), note
        assert note.supplement_path is None or isinstance(note.supplement_path, str), note
        assert note.number is None or (isinstance(note.number, int) and not isinstance(note.number, bool)), note
        for text in (note.forum_id, note.title, note.supplement_path or "", *note.authors):
            assert text.encode() is not None


def _record(number: int) -> PaperRecord:
    return PaperRecord(
        arxiv_id=IDS[number], version=1, title="", authors=(), abstract="", forum_id=f"forum{number}", published="",
        categories=(), supplement_path="/attachment/x.zip", index_key="i#0", note_number=number,
    )  # fmt: skip


def _packages(recorder: Recorder) -> list[packages.Fetched]:
    records = [_record(n) for n in range(3)]
    found = [packages.fetch_source(recorder, records[0])]
    supplements = packages.Supplements(recorder, records, openreview_notes.openreview_client(recorder))
    return [*found, *(supplements.fetch(record) for record in records)]


def a_spoilt_package(given: dict[str, Any]) -> None:
    """Sources and supplements: bytes, or that they did not come; never "gone" at one look."""
    try:
        found = _packages(recording(Spoilt(_notes_job, given)))
    except FetchError:
        return
    assert all(one.state != "gone" for one in found), found
    assert all(bool(one.data) == (one.state == "here") for one in found), found


# GitHub's GraphQL, in batches.

REPOS = ("gormenghast-ai/corvid", "hybrasil-speech/tidepool", "no-such/thing")
UNTIL = "2025-06-01T00:00:00Z"
QUESTIONS = [*(github_lookup.Question(repo) for repo in REPOS), github_lookup.Question(REPOS[0], UNTIL)]


def _looked_up(answer: Answering) -> tuple[github_batches.LookedUp, str | None, Any]:
    recorder, tokens = recording(answer), Tokens.of("a-token")
    found = github_batches.look_up(recorder, tokens, QUESTIONS)
    commit = github_lookup.commit_by(recorder, REPOS[0], UNTIL)
    return found, commit, recorder


def a_spoilt_batch(given: dict[str, Any]) -> None:
    """A batch: every question is told, gone or left; a commit is a text or unknown."""
    found, commit, _ = _looked_up(Spoilt(_looked_up, given))
    assert found.known + found.told + found.gone + len(found.left) == len(QUESTIONS)
    assert commit is None or isinstance(commit, str)


# An index somebody keeps.

_ROWS = (
    b'{"title": "Foggy graphs", "arxiv_id": "2505.00001", "forum_id": "abc", "authors": ["Ada Quill"]}\n'
    b'{"title": "Clear graphs", "arxiv_id": null, "forum_id": "abd", "authors": []}\n'
)
_INDEX = {"index.jsonl": _ROWS, "index.csv": b'title,arxiv_id\nFoggy graphs,2505.00001\n"a, b",2505.00002\n'}


def a_spoilt_index(given: tuple[str, list[Edit], list[Cut]]) -> None:
    """A file of accepted papers: entries, or an error that names the file."""
    name, json_edits, byte_cuts = given
    body = _INDEX[name]
    if name.endswith(".jsonl"):
        body = b"".join(spoiled(line, json_edits, []) + b"\n" for line in body.splitlines())
    try:
        entries = fetch.index_entries(fetch.read_rows(name, cut(body, byte_cuts)), name)
    except FetchError as error:
        said = str(error)
        assert name in said
        return
    for entry in entries:
        assert isinstance(entry.title, str)
        assert entry.arxiv_id is None or isinstance(entry.arxiv_id, str)
        assert all(isinstance(author, str) for author in entry.authors)


def hub_index(given: dict[str, Any]) -> None:
    """The same from the Hub."""
    listed = [
        {"type": "file", "path": "data/train.jsonl"},
        {"type": "file", "path": "README.md"},
        {"type": "directory"},
    ]

    def answer(request: httpx2.Request) -> httpx2.Response:
        here = "/tree/" in str(request.url)
        body = json.dumps(listed).encode() if here else _ROWS
        if (given["nth"] == 0) is here or given["nth"] == 99:
            body = spoiled(body, given["edits"] if here else [], given["cuts"])
            return httpx2.Response(given["status"] or 200, content=body)
        return httpx2.Response(200, content=body)

    try:
        entries = fetch.fetch_index(load("neurips-2025"), recording(answer))
    except FetchError as error:
        said = str(error)
        assert "index" in said
        return
    assert entries


probed = st.fixed_dictionaries(
    {**spoil, "call": st.integers(0, len(CALLS) - 1), "token": st.sampled_from(["", "", "a-token"])}
)
anything = st.fixed_dictionaries(spoil)
TARGETS = (
    Target("probes", probed, a_spoilt_probe, round=40, few=2),
    Target("arxiv", anything, a_spoilt_feed, round=40, few=3),
    Target("openreview", anything, a_spoilt_note, round=40, few=2),
    Target("packages", anything, a_spoilt_package, round=30, few=2),
    Target("graphql", anything, a_spoilt_batch, round=40, few=2),
    Target("index", st.tuples(st.sampled_from(sorted(_INDEX)), st.one_of(st.just([]), edits), cuts), a_spoilt_index,
           round=200, few=15),
    Target("hub-index", anything, hub_index, round=40, few=3),
)  # fmt: skip
