"""No URL of a paper opens a private place, however it is spelled."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.sources.guard import is_public, refusal
from pipeline.sources.recorder import Recorder

PRIVATE = [
    "http://127.0.0.1/",
    "http://localhost/",
    "http://LOCALHOST./",
    "http://a.localhost/",
    "http://printer.local/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://10.0.0.1/",
    "http://172.16.3.4/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://0.0.0.0/",
    "http://224.0.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://127.0.0.1./",
    "http://\u2460\u2461\u2466.0.0.1/",
    "http://１２７.0.0.1/",
    "http://999.999.999.999/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[64:ff9b:1::7f00:1]/",
    "http://[::ffff:0:7f00:1]/",
    "http://[fec0::1]/",
    "http://192.0.0.192/",
    "http://192.88.99.1/",
    "http://metadata.svc/",
    "http://api.default.svc/",
    "http://db.default.svc.cluster.local/",
    "http://printer.test/",
    "http://[fe80::1%25eth0]/",
    "http://[fd00::1]/",
    "http://metadata/",
    "http://example.org:22/",
    "http://example.org:8080/",
    "http://user:pass@example.org/",
    "http://example.org@127.0.0.1/",
    "http://127.0.0.1#@example.org/",
    "http://127.0.0.1\\@example.org/",
    "http://exa mple.org/",
    "http://example.org/\r\nX-Injected: 1",
    "ftp://example.org/",
    "file:///etc/passwd",
    "gopher://example.org/",
    "javascript:alert(1)",
    "http:///path",
    "http://[::1",
    "",
    "example.org/no-scheme",
]


@pytest.mark.parametrize("url", PRIVATE)
def test_private_places_and_odd_spellings_are_refused(url: str) -> None:
    assert refusal(url) is not None


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org",
        "http://example.org:80/a?b=c#d",
        "https://example.org:443/",
        "https://8.8.8.8/",
        "https://[2606:4700::1111]/",
        "https://bücher.example.org/",
        "https://local.example.org/",
        "https://internal-tools.org/",
    ],
)
def test_public_places_are_not(url: str) -> None:
    assert refusal(url) is None


@given(st.integers(0, 2**32 - 1))
def test_every_spelling_of_an_address_is_judged_like_the_address(number: int) -> None:
    address = ipaddress.IPv4Address(number)
    octets = str(address).split(".")
    spellings = [
        str(address),
        str(number),
        hex(number),
        ".".join(hex(int(o)) for o in octets),
        ".".join(f"0{int(o):o}" for o in octets),
        f"[::ffff:{address}]",
    ]
    for spelling in spellings:
        assert (refusal(f"http://{spelling}/") is None) == is_public(address), spelling


def test_a_public_name_that_resolves_to_a_private_address_is_refused() -> None:
    assert refusal("https://rebind.example.org/", lambda host: ["8.8.8.8", "10.0.0.7"]) is not None
    assert refusal("https://fine.example.org/", lambda host: ["8.8.8.8"]) is None
    assert refusal("https://gone.example.org/", lambda host: []) is None


def test_a_redirect_to_a_private_address_is_not_followed(recording: Callable[..., Recorder]) -> None:
    asked: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.host)
        return httpx2.Response(302, headers={"location": "http://169.254.169.254/latest/meta-data/"})

    exchange = recording(answer).ask("GET", "https://example.org/dataset").exchange
    assert asked == ["example.org"]
    assert (exchange.status, exchange.fault) == (None, "blocked")
    assert exchange.redirects == ((302, "https://example.org/dataset"),)
