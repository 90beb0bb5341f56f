"""What hostile hosts send: it is read, or it is undetermined with a reason of its own. No tool breaks on it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from pipeline.evidence import Outcome, Receipt
from pipeline.sources.pages import read_page
from pipeline.sources.probes import PaperFacts, Probes
from pipeline.sources.reading import Entry, about_files

PAPER = PaperFacts(title="Lantern Attention for Foggy Graphs", arxiv_id="2505.00001")
TEXT = "<p>" + "We study foggy graphs with lanterns. " * 60 + "</p>"
Look = Callable[..., Receipt]


@pytest.fixture
def look(recording: Any) -> Look:
    """A probe of a world that answers everything with the same thing, or by a part of the URL."""

    def make(tool: str, argument: str, given: Any = None, **by_place: Any) -> Receipt:
        def answer(request: httpx2.Request) -> httpx2.Response:
            body, headers, status = given, {}, 200
            for place, told in by_place.items():
                if place in str(request.url):
                    body = told
            if isinstance(body, tuple):
                body, headers, *rest = body
                status = rest[0] if rest else 200
            content = (
                body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
            )
            return httpx2.Response(status, headers=headers, content=content)

        probes = Probes("2505.00001", recording(answer), {}, PAPER)
        receipt, content = getattr(probes, tool)(argument)
        json.dumps([receipt.to_json(), content], ensure_ascii=False, allow_nan=False).encode()
        return receipt

    return make


@pytest.mark.parametrize(
    "body",
    [
        f"<html><![foo bar]]>{TEXT}<a href='/x.html'>x</a></html>",
        f"<html>{TEXT}<a href='http://[::1…'>x</a><a href='/x.html'>x</a></html>",
        f"<html><base href='http://[::1'>{TEXT}<a href='/x.html'>x</a></html>",
        f"<html><iframe src='http://[::1/'></iframe>{TEXT}<a href='/x.html'>x</a></html>",
        *(
            f"<html><meta charset={name}>{TEXT}\\ud800<a href='/x.html'>x</a></html>"
            for name in (
                "idna",
                "undefined",
                "punycode",
                "raw_unicode_escape",
                "unicode_escape",
                "zlib",
                "rot13",
                "xyz",
            )
        ),
    ],
)
def test_an_odd_page_is_read(look: Look, body: str) -> None:
    receipt = look("fetch_url", "https://fog.example.org/", (body, {"content-type": "text/html"}))
    assert (receipt.outcome, receipt.reason) == (Outcome.AVAILABLE, "page read")
    assert receipt.facts["links"] == ["https://fog.example.org/x.html"]


@pytest.mark.parametrize("name", ["idna", "undefined", "punycode", "raw_unicode_escape", "utf-16-le", "unicode_escape"])
def test_a_charset_of_a_header_makes_no_half_characters(name: str) -> None:
    page = read_page(b"<html>\x00\xd8a\\ud800" + bytes(range(256)), f"text/html; charset={name}", "https://a.org/")
    assert page.text.encode() is not None


@pytest.mark.parametrize("place", ["http://[::1", "http://[::1?sig=abc", "https://[fog]/x", "\\\\[", "//[::1"])
def test_a_redirect_to_no_url_is_undetermined(look: Look, place: str) -> None:
    receipt = look("fetch_url", "https://fog.example.org/data.zip", ("", {"location": place}, 302))
    assert (receipt.outcome, receipt.reason) == (Outcome.UNDETERMINED, "blocked")


def test_sizes_of_thousands_of_digits_are_no_sizes(look: Look) -> None:
    headers = {"content-range": f"bytes 0-1/{'9' * 4400}", "content-type": "application/octet-stream"}
    receipt = look("fetch_url", "https://fog.example.org/lantern.ckpt", (bytes(range(256)) * 4, headers))
    assert receipt.facts["weights_open"] == []
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize " + "9" * 4400
    receipt = look("fetch_url", "https://fog.example.org/fog.ckpt", (pointer, headers))
    assert receipt.facts.get("weights_open", []) == []


@pytest.mark.parametrize(
    ("tool", "argument"),
    [
        ("github_repo", "fog/lantern"),
        ("github_tree", "fog/lantern"),
        ("github_search_repositories", "fog"),
        ("hub_repo", "fog/lantern"),
        ("hub_tree", "fog/lantern"),
        ("hub_search", "fog"),
        ("fetch_url", "https://zenodo.org/records/77"),
        ("fetch_url", "https://anonymous.4open.science/r/fog"),
    ],
)
@pytest.mark.parametrize(
    "told",
    [
        {"full_name": "\ud800/\udfff", "id": "\ud800", "tree": [], "metadata": {"title": "\ud800"}, "\ud800": {}},
        {"full_name": ["x"], "id": {"a": 1}, "tree": [7, None, "x"], "files": [[]], "items": [[], 3]},
        {
            "full_name": "a/b",
            "id": "a/b",
            "siblings": [{"rfilename": "x.pt", "size": "9"}],
            "items": [{"repository": 1}],
        },
        [7, None, "x", {"path": 3, "name": [], "size": 1, "id": []}, {"path": "\ud800", "type": "file", "size": 1e999}],
        {"tree": 5, "full_name": "a/b", "id": "a/b", "files": 5, "cardData": 5, "tags": 5, "license": 5, "parent": 5},
        "just text",
        None,
    ],
)
def test_json_of_odd_types_never_breaks_a_tool(look: Look, tool: str, argument: str, told: Any) -> None:
    receipt = look(tool, argument, told)
    assert receipt.exchanges
    assert receipt.outcome in (Outcome.UNDETERMINED, Outcome.AVAILABLE, Outcome.GATED)
    assert not receipt.facts.get("weights_open")


@pytest.mark.parametrize("told", ['{"full_name": NaN}', "[" * 100_000, '{"full_name": ' + "9" * 5000 + "}"])
def test_what_is_no_json_is_undetermined(look: Look, told: str) -> None:
    receipt = look("github_repo", "fog/lantern", told)
    assert (receipt.outcome, receipt.reason) == (Outcome.UNDETERMINED, "answer is not a repository")


def nested(depth: int) -> Any:
    told: Any = {"train.py": {"size": 900, "sha": "a"}}
    for _ in range(depth):
        told = {"folder": told}
    return told


@pytest.mark.parametrize(
    ("listing", "files", "unseen"),
    [
        (nested(3), 1, None),
        (nested(200), 0, ["tree"]),
        pytest.param(
            {f"{n}.py": {"size": 900, "sha": "a"} for n in range(20_001)}, 20_000, ["tree"], marks=pytest.mark.slow
        ),
        ({"a.py": {"size": 900, "sha": "a"}, "b": 7}, 1, ["tree"]),
        ([{"path": "src", "name": "a.py", "size": 900}, {"path": 7, "name": "b.py", "size": 900}], 1, ["tree"]),
    ],
)
def test_a_mirror_that_was_not_listed_whole_says_so(look: Look, listing: Any, files: int, unseen: Any) -> None:
    receipt = look("fetch_url", "https://anonymous.4open.science/r/fog", {"url": "x"}, files=listing)
    assert (receipt.facts["files"], receipt.facts.get("unseen")) == (files, unseen)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("<" * 300_000, marks=pytest.mark.slow),
        "<a " * 100_000,
        "<!--" * 75_000,
        "<![" * 100_000,
        "&#" * 150_000,
        pytest.param("<a href=x>" * 30_000, marks=pytest.mark.slow),
        "a" * 300_000 + "(1",
        "make" * 75_000,
        "https://" * 40_000 + "!" * 100_000,
        "Ada" + " " * 300_000 + "Quill, " * 10_000,
    ],
)
def test_a_page_made_to_stall_is_read_in_seconds(look: Look, body: str) -> None:
    started = time.thread_time()
    look("fetch_url", "https://fog.example.org/", ("<html>" + body, {"content-type": "text/html"}))
    title = "<html><title>Virus scan warning</title>" + body
    look("fetch_url", "https://drive.google.com/uc?id=fog", (title, {"content-type": "text/html"}))
    assert time.thread_time() - started < 10


def test_a_path_made_to_stall_is_read_in_seconds() -> None:
    started = time.thread_time()
    about_files([Entry("make" * 16_000 + ".py", 900), Entry("_eval" * 13_000 + "é!.py", 900)])
    assert time.thread_time() - started < 5
