"""What web servers send: pages as text, and where the tool that opens a URL says they lead."""

from __future__ import annotations

import json
from itertools import count
from typing import Any
from urllib.parse import urlsplit

import httpx2
from hypothesis import strategies as st

from pipeline.evidence import Outcome
from pipeline.sources import pages
from tests.fuzz.mutating import cut, cuts
from tests.fuzz.running import Target
from tests.fuzz.served import answered, probing

URL = "https://fog.example.org/lantern/data"
_PIECES = """
<html> <head> <title> </title> <body> <p> </p> <div> <br> <table><tr><td> </td> <ul><li> <pre> <a> </a> <script>
</script> <style> </style> <noscript> </noscript> <template> <svg> </svg> <!-- --> <![CDATA[ ]]> <![if <!doctype
<iframe> &amp; &#x41; &#0; &#xd800; &lt &nosuch; </html> <textarea> </textarea> <plaintext> <math> < > <a <!
"""
_ATTRIBUTED = (
    "<a href='/x.zip'>", "<a href=http://[::1>", "<a href='javascript:alert(1)'>", "<a href='ftp://a.org/b'>",
    "<a href=' //cdn.example/data.csv '>", "<a href='#top'>", "<a href='mailto:a@b.c'>", "<a href='data:text/html,x'>",
    "<base href='https://other.example/'>", "<base href='http://[::1'>", "<base href='file:///etc/'>",
    "<base href='x:'>",
    "<iframe src='https://player.example/v'>", "<iframe src='http://[::1/'>", "<video src='//a.org/v.mp4'>",
    "<embed src='HTTPS://A.org/'>", "<input type=password>", "<meta name=citation_title content=x>",
    "<meta charset=utf-16>", "<meta charset=idna>", "<script src=x>", "<img src=x>",
)  # fmt: skip
_SAID = (
    "Lantern Attention for Foggy Graphs", "Page not found", "404", "Sign in", "Just a moment...", "buy this domain",
    "quota exceeded", "You need access", "coming soon", "data set", "train.csv", "purchase PDF",
    "We study foggy graphs. ",
)  # fmt: skip
bodies = st.lists(
    st.one_of(
        st.sampled_from(_PIECES.split()), st.sampled_from(_ATTRIBUTED), st.sampled_from(_SAID), st.text(max_size=6)
    ),
    max_size=25,
).map(" ".join)
kinds = st.sampled_from(
    [
        "text/html",
        "text/html; charset=utf-16",
        "text/html; charset=\x00",
        "application/json",
        "text/plain",
        "",
        "image/png",
    ]
)
raw = st.tuples(bodies.map(lambda b: b.encode(errors="surrogatepass")), cuts).map(lambda given: cut(*given))


def a_page(given: tuple[bytes, str]) -> None:
    """Flattening never raises; the text can be stored, reads the same again, and links lead to the web."""
    body, kind = given
    page = pages.read_page(body, kind, URL)
    for text in (page.title, page.text, *page.links):
        assert text.encode().decode() == text
    assert len(page.title) <= 300
    assert page.text == page.text.strip()
    assert "\n\n\n" not in page.text
    for link in page.links:
        parts = urlsplit(link)
        assert parts.scheme in ("http", "https"), link
        assert parts.netloc, link
    assert len(set(page.links)) == len(page.links)
    assert page == pages.read_page(body, kind, URL)
    assert pages.wall(page, URL) in (None, "login", "request_access", "credentialed", "paywall")
    pages.doubtful(page)
    pages.says_gone(page)


# Pages of which is known what they show: words that are seen, and words that are not.

word = st.text("abcdefghij", min_size=3, max_size=8)
_SHOWN = (
    "<p>{}</p>",
    "<div>{}</div>",
    "<b>{}</b> ",
    "<a href='/x'>{}</a> ",
    "<ul><li>{}</li></ul>",
    "{} ",
    "<td>{}</td> ",
)
_HIDDEN = ("<script>{}</script>", "<style>{}</style>", "<!-- {} -->", "<template>{}</template>", "<svg>{}</svg>")
known = st.lists(
    st.one_of(
        st.tuples(st.just(True), st.sampled_from(_SHOWN), word),
        st.tuples(st.just(False), st.sampled_from(_HIDDEN), word.map(str.upper)),
    ),
    max_size=20,
)


def a_known_page(parts: list[tuple[bool, str, str]]) -> None:
    body = "<html><body>" + "".join(way.format(said) for _, way, said in parts) + "</body></html>"
    page = pages.read_page(body.encode(), "text/html; charset=utf-8", URL)
    text = page.text.replace("](https://fog.example.org/x)", "").replace("[", "")
    assert text.split() == [said for shown, _, said in parts if shown]
    assert not page.broken


# The tool that opens a URL, on a host that sends anything.

headers = st.dictionaries(
    st.sampled_from(["content-type", "content-range", "content-length", "content-disposition", "location", "server"]),
    st.sampled_from(
        ["text/html", "application/zip", "bytes 0-1/" + "9" * 30, "-1", "cloudflare", 'attachment; filename="a.csv"',
         "attachment; filename=", "/elsewhere", "http://[::1", "https://fog.example.org/", "//", "text/html; charset=x"]
    ),
    max_size=3,
)  # fmt: skip
magic = st.sampled_from(
    [b"", b"PK\x03\x04", b"\x1f\x8b\x08\x00", b"%PDF-1.5", b"\x00" * 600, b"BZh9", b"{", b"7z\xbc\xaf"]
)
served = st.fixed_dictionaries(
    {
        "url": st.sampled_from(
            [URL, "https://fog.example.org/", f"{URL}.zip", f"{URL}.csv", "https://zenodo.org/records/77",
             "https://drive.google.com/file/d/fog/view", "https://www.dropbox.com/s/fog/a.zip?dl=0", "https://doi.org/10.1/x",
             "https://figshare.com/articles/dataset/x/77", "https://osf.io/abcde/", "https://physionet.org/content/x/1.0/",
             "https://anonymous.4open.science/r/fog", "https://fog-my.sharepoint.com/:u:/g/x"]
        ),
        "status": st.sampled_from([200, 200, 200, 200, 206, 301, 302, 401, 403, 404, 410, 429, 451, 500, 503]),
        "headers": headers,
        "body": st.one_of(raw, st.tuples(magic, st.binary(max_size=80)).map(b"".join)),
    }
)  # fmt: skip
number = count()


def an_opened_url(given: dict[str, Any]) -> None:
    """A receipt, whatever came: storable, the same again, and never "unavailable" at the first look."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(given["status"], headers=given["headers"], content=given["body"])

    receipt, content = answered(probing(answer).fetch_url(given["url"]))
    assert receipt.outcome is not Outcome.UNAVAILABLE, "one look proves nothing gone"
    assert not receipt.reason.startswith("unreadable_answer") or given["url"] != URL, receipt.reason
    again, shown = answered(probing(answer).fetch_url(given["url"]))
    assert again.id == receipt.id
    assert json.dumps(shown) == json.dumps(content)


TARGETS = (
    Target("pages", st.tuples(raw, kinds), a_page, round=400, few=30),
    Target("shown", known, a_known_page, round=200, few=25),
    Target("landing", served, an_opened_url, round=100, few=6),
)
