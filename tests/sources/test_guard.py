"""No URL of a paper opens a private place, however it is spelled and whatever its name leads to."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

import httpcore2
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.sources.clocks import Clock
from pipeline.sources.connections import PublicTransport
from pipeline.sources.guard import is_public, refusal, system_resolve
from pipeline.sources.pacing import Limits
from pipeline.sources.recorder import Recorder
from pipeline.sources.wire import Asked, send
from pipeline.store import Store

FORBIDDEN = {
    "IPv4 in numbers": [
        "http://127.0.0.1/",
        "http://2130706433/",
        "http://017700000001/",
        "http://0x7f000001/",
        "http://0x7F.0.0.1/",
        "http://0177.0.0.1/",
        "http://0177.0.0.0x1/",
        "http://127.1/",
        "http://127.0.1/",
        "http://0/",
        "http://0.0.0.0/",
        "http://00000000.0/",
        "http://127.0.0.1./",
        "http://999.999.999.999/",
        "http://1.2.3.4.5/",
        "http://0x/",
        "http://example.0x7f/",
    ],
    "places of one network": [
        "http://10.0.0.1/",
        "http://172.16.3.4/",
        "http://192.168.1.1/",
        "http://100.64.0.1/",
        "http://192.0.0.192/",
        "http://192.88.99.1/",
        "http://198.18.0.1/",
        "http://203.0.113.9/",
        "http://224.0.0.1/",
        "http://240.0.0.1/",
        "http://255.255.255.255/",
    ],
    "IPv6": [
        "http://[::1]/",
        "http://[::]/",
        "http://[0:0:0:0:0:0:0:1]/",
        "http://[fd00::1]/",
        "http://[fe80::1]/",
        "http://[fec0::1]/",
        "http://[ff02::1]/",
        "http://[2001:db8::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[::127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[64:ff9b::169.254.169.254]/",
        "http://[64:ff9b:1::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://[2002:a9fe:a9fe::1]/",
        "http://[::ffff:0:7f00:1]/",
        "http://[2001:0:0:0:0:0:80ff:fffe]/",
        "http://[fe80::1%25eth0]/",
        "http://[2606:4700::1111%25eth0]/",
        "http://[::1%lo]/",
        "http://[v1.example.org]/",
        "http://[::1",
        "http://[127.0.0.1]/",
    ],
    "names of this machine and its network": [
        "http://localhost/",
        "http://LOCALHOST./",
        "http://a.localhost/",
        "http://localhost.localdomain/",
        "http://printer.local/",
        "http://printer.test/",
        "http://router.lan/",
        "http://intranet/",
        "http://db.corp/",
        "http://nas.home.arpa/",
        "http://wiki.internal/",
        "http://facebookwkhpilnemxj7asaniu7vnjjbiltxjqhye3mhbshg7kx5tfyd.onion/",
    ],
    "metadata services": [
        "http://169.254.169.254/latest/meta-data/",
        "http://0xA9FEA9FE/latest/meta-data/",
        "http://2852039166/latest/meta-data/",
        "http://169.254.169.254.:80/latest/",
        "http://[fd00:ec2::254]/latest/meta-data/",
        "http://100.100.100.200/latest/meta-data/",
        "http://168.63.129.16/machine/",
        "http://metadata/computeMetadata/v1/",
        "http://metadata.google.internal/computeMetadata/v1/",
        "http://metadata.goog/computeMetadata/v1/",
        "http://metadata.tencentyun.com/latest/",
        "http://instance-data/latest/",
        "http://metadata.svc/",
        "http://kubernetes.default.svc.cluster.local/api",
    ],
    "letters that only look like others": [
        "http://\u2460\u2461\u2466.0.0.1/",
        "http://\uff11\uff12\uff17.0.0.1/",
        "http://127\uff0e0\uff0e0\uff0e1/",
        "http://127\u30020\u30020\u30021/",
        "http://127\uff610\uff610\uff611/",
        "http://l\u24deca\u2113host/",
        "http://local\u00adhost/",
        "http://loca\u200dlhost/",
        "http://printer\u3002local/",
        "http://\u0661\u0662\u0667.0.0.1/",
        "http://example.org\u2100.evil.org/",
        "http://exam\u3000ple.org/",
    ],
    "percent signs": [
        "http://%31%32%37.0.0.1/",
        "http://127.0.0.1%2f.example.org/",
        "http://local%68ost/",
        "http://example.org%00.local/",
        "http://example%2eorg/",
    ],
    "who is asked and who is named": [
        "http://user:pass@example.org/",
        "http://user@example.org/",
        "http://@example.org/",
        "http://example.org@127.0.0.1/",
        "http://example.org:80@127.0.0.1/",
        "http://127.0.0.1#@example.org/",
        "http://127.0.0.1?@example.org/",
        "http://127.0.0.1\\@example.org/",
        "http://example.org\\.evil.org/",
        "http:\\\\127.0.0.1/",
    ],
    "ports": [
        "http://example.org:22/",
        "http://example.org:8080/",
        "http://example.org:0/",
        "http://example.org:65616/",
        "http://example.org:-80/",
        "http://example.org:\uff18\uff10/",
        "https://example.org:4430/",
    ],
    "white space and control characters": [
        "http://exa mple.org/",
        " http://example.org/",
        "http://example.org/\r\nX-Injected: 1",
        "http://example.org\r\n.local/",
        "http://127.0.\t0.1/",
        "http://exam\nple.org/",
        "http://example.org/\x00",
        "http://example.org/\x7f",
    ],
    "schemes": [
        "ftp://example.org/",
        "file:///etc/passwd",
        "file://example.org/etc/passwd",
        "gopher://example.org/",
        "dict://example.org/",
        "ws://example.org/",
        "data:text/html,x",
        "javascript:alert(1)",
        "jar:http://example.org!/",
        "http+unix://%2Fvar%2Frun%2Fdocker.sock/",
        "//example.org/",
        "example.org/no-scheme",
    ],
    "no host": [
        "",
        "http:",
        "http://",
        "http:///path",
        "http:/127.0.0.1/",
        "http://./",
        "http://../",
        "http://.example.org/",
        "http://example..org/",
        "http://example.org../",
        f"http://{'a' * 64}.org/",
    ],
}
PUBLIC = [
    "https://example.org",
    "HTTP://EXAMPLE.ORG/",
    "http://example.org./",
    "http://example.org:80/a?b=c#d",
    "https://example.org:443/",
    "https://example.org:/",
    "http://example.org/%0d%0aSet-Cookie:x",
    "https://example.org/a@b:8080/c?u=http://127.0.0.1/",
    "https://example.org/\u8def\u5f84",
    "https://8.8.8.8/",
    "http://134744072/",
    "http://0x08.8.8.8/",
    "https://[2606:4700::1111]/",
    "https://[::ffff:8.8.8.8]/",
    "https://[64:ff9b::808:808]/",
    "https://b\u00fccher.example.org/",
    "https://xn--bcher-kva.example.org/",
    "https://\uff45xample.org/",
    "https://local.example.org/",
    "https://localhost.example.org/",
    "https://internal-tools.org/",
    "https://metadata.example.org/",
    "https://127.0.0.1.example.org/",
    "https://my_bucket.s3.amazonaws.com/",
    "https://10.example.org/",
    "https://999.org/",
    "https://172.32.0.1/",
    "https://169.253.1.1/",
]
FORMS = [
    pytest.param(url, id=f"{kind}-{number}") for kind, urls in FORBIDDEN.items() for number, url in enumerate(urls)
]


def test_there_are_far_more_than_eighty_forms() -> None:
    assert len({url for urls in FORBIDDEN.values() for url in urls}) == len(FORMS) >= 80


@pytest.mark.parametrize("url", FORMS)
def test_private_places_and_odd_spellings_are_refused(url: str) -> None:
    assert refusal(url) is not None


@pytest.mark.parametrize("url", PUBLIC)
def test_public_places_are_not_however_odd_they_look(url: str) -> None:
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
        f"{octets[0]}.{number & 0xFFFFFF}",
        f"[::ffff:{address}]",
        f"[::{address}]" if number > 0xFFFF else str(address),
        f"[64:ff9b::{address}]",
        f"[2002:{number >> 16:x}:{number & 0xFFFF:x}::1]",
    ]
    for spelling in spellings:
        assert (refusal(f"http://{spelling}/") is None) == is_public(address), spelling


RELATIVE = ["//example.org/", "example.org/no-scheme", "", "http:", "http:///path", "http://", "http:/127.0.0.1/"]
"""References that a redirect may hold: they mean a place on, or the scheme of, the page that holds them."""


def test_no_redirect_leads_to_a_forbidden_form(recording: Callable[..., Recorder]) -> None:
    forms = [url for urls in FORBIDDEN.values() for url in urls if url not in RELATIVE]
    asked: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(str(request.url))
        number = int(request.url.path.strip("/") or -1) if request.url.host == "start.example.org" else -1
        headers = [(b"location", forms[number].encode())] if number >= 0 else []
        return httpx2.Response(302 if headers else 404, headers=headers)

    recorder = recording(answer)
    for number, form in enumerate(forms):
        here = f"https://start.example.org/{number}"
        exchange = recorder.ask("GET", here).exchange
        # White space around and line ends inside a reference are dropped, as browsers do: what is left may be public.
        if form in FORBIDDEN["white space and control characters"] and refusal(urlsplit(form).geturl()) is None:
            assert exchange.fault is None, form
        else:
            assert (exchange.fault, exchange.redirects) == ("blocked", ((302, here),)), form
    assert all(refusal(url) is None for url in asked)


def test_every_hop_of_a_chain_is_looked_at(recording: Callable[..., Recorder]) -> None:
    hops = {"/0": "/1", "/1": "https://cdn.example.org/2", "/2": "http://169.254.169.254/latest/meta-data/"}
    asked: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(str(request.url))
        return httpx2.Response(302, headers={"location": hops[request.url.path]})

    exchange = recording(answer).ask("GET", "https://example.org/0").exchange
    assert asked == ["https://example.org/0", "https://example.org/1", "https://cdn.example.org/2"]
    assert (exchange.status, exchange.fault) == (None, "blocked")
    assert exchange.redirects == tuple((302, url) for url in asked)


# Names, and what they lead to


class Wire(httpcore2.NetworkBackend):
    """A network that notes which addresses are connected to and answers everything."""

    def __init__(
        self, dead: Sequence[str] = (), answer: bytes = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
    ) -> None:
        self.connected: list[str] = []
        self.named: list[str | None] = []
        self.sent = b""
        self._dead = dead
        self._answer = answer

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        self.connected.append(host)
        if host in self._dead:
            raise httpcore2.ConnectError("refused")
        return _Stream(self)


class _Stream(httpcore2.NetworkStream):
    def __init__(self, wire: Wire) -> None:
        self._wire, self._left = wire, [wire._answer]

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._left.pop() if self._left else b""

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._wire.sent += buffer

    def close(self) -> None:
        pass

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        assert ssl_context.check_hostname
        self._wire.named.append(server_hostname)
        return self

    def get_extra_info(self, info: str) -> Any:
        return None


class Dripping(httpcore2.SyncBackend):
    """A network on which every address sends one byte now and then, for ever: of its headers or of its body."""

    def __init__(self, begin: bytes) -> None:
        self._begin = begin

    def connect_tcp(self, host: str, port: int, *_: Any, **__: Any) -> httpcore2.NetworkStream:
        drip = _Stream(Wire())

        def read(max_bytes: int, timeout: float | None = None) -> bytes:
            if self._begin:
                begin, self._begin = self._begin, b""
                return begin
            time.sleep(0.02)
            return b"a"

        drip.read = read  # type: ignore[method-assign]
        return drip


@pytest.mark.parametrize(
    "begin",
    [
        b"HTTP/1.1 200 OK\r\nx-drip: ",
        b"HTTP/1.1 200 OK\r\ncontent-length: 900000\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 900000\r\n\r\n\x1f\x8b\x08\x08\0\0\0\0\0\0",
    ],
)
def test_a_host_that_drips_its_headers_or_its_body_is_a_timeout_soon(begin: bytes) -> None:
    """Each byte comes within the timeout of a read, and the decoder of a compressed name gives nothing out."""
    transport = PublicTransport(lambda host: ["93.184.216.34"], Dripping(begin))
    began = time.monotonic()
    asked = Asked.of("GET", "http://slow.example.org/", {}, b"", True, 1 << 20)
    raw = send(transport, asked, Limits(timeout=5, total_time=0.3))
    assert (raw.status, raw.fault) == (None, "timeout")
    assert time.monotonic() - began < 3


def test_of_a_name_with_hundreds_of_silent_addresses_a_few_are_tried(recorder_over: Callable[..., Recorder]) -> None:
    addresses = [f"93.184.216.{n}" for n in range(200)]
    wire = Wire(dead=addresses)
    resolve, _ = names(addresses)
    assert recorder_over(PublicTransport(resolve, wire)).ask("GET", "http://many.example.org/").status is None
    assert wire.connected == addresses[:3] * Limits().attempts


def names(*answers: Sequence[str]) -> tuple[Callable[[str], Sequence[str]], list[str]]:
    """A resolver that gives its answers in turn, the last one for ever; and the names it was asked."""
    asked: list[str] = []
    left = list(answers)

    def resolve(host: str) -> Sequence[str]:
        asked.append(host)
        return left.pop(0) if len(left) > 1 else left[0]

    return resolve, asked


def test_the_address_that_was_checked_is_the_one_connected_to(recorder_over: Callable[..., Recorder]) -> None:
    wire = Wire()
    resolve, asked = names(["93.184.215.14"], ["127.0.0.1"])
    exchange = recorder_over(PublicTransport(resolve, wire)).ask("GET", "https://rebind.example.org/data").exchange
    assert (exchange.status, wire.connected, asked) == (200, ["93.184.215.14"], ["rebind.example.org"])
    assert wire.named == ["rebind.example.org"]
    assert b"\r\nhost: rebind.example.org\r\n" in wire.sent.lower()


@pytest.mark.parametrize(
    "found",
    [
        ["127.0.0.1"],
        ["93.184.215.14", "10.0.0.7"],
        ["10.0.0.7", "93.184.215.14"],
        ["169.254.169.254"],
        ["93.184.215.14", "::1"],
        ["fe80::1%eth0"],
        ["::ffff:10.0.0.1"],
        ["64:ff9b::a00:1"],
        ["not an address"],
    ],
)
def test_a_name_with_one_address_that_is_not_public_is_never_connected_to(
    recorder_over: Callable[..., Recorder], found: list[str]
) -> None:
    wire = Wire()
    exchange = recorder_over(PublicTransport(names(found)[0], wire)).ask("GET", "https://two.example.org/").exchange
    assert (exchange.status, exchange.fault, wire.connected) == (None, "blocked", [])


def test_a_name_that_changes_between_two_requests_is_refused_at_the_second(
    recorder_over: Callable[..., Recorder],
) -> None:
    wire = Wire(answer=b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok")
    recorder = recorder_over(PublicTransport(names(["93.184.215.14"], ["10.0.0.7"])[0], wire))
    faults = [recorder.ask("GET", f"https://turn.example.org/{n}").exchange.fault for n in range(2)]
    assert (faults, wire.connected) == ([None, "blocked"], ["93.184.215.14"])


def test_a_redirect_to_a_name_with_a_private_address_is_refused(recorder_over: Callable[..., Recorder]) -> None:
    wire = Wire(answer=b"HTTP/1.1 302 Found\r\nlocation: http://inside.example.org/\r\ncontent-length: 0\r\n\r\n")
    table = {"example.org": ["93.184.215.14"], "inside.example.org": ["192.168.0.1"]}
    exchange = recorder_over(PublicTransport(table.__getitem__, wire)).ask("GET", "https://example.org/").exchange
    assert (exchange.fault, exchange.redirects) == ("blocked", ((302, "https://example.org/"),))
    assert wire.connected == ["93.184.215.14"]


def test_the_next_address_is_tried_where_the_first_does_not_answer(recorder_over: Callable[..., Recorder]) -> None:
    wire = Wire(dead=["2606:4700::1111"])
    found = ["2606:4700::1111", "93.184.215.14"]
    exchange = recorder_over(PublicTransport(names(found)[0], wire)).ask("GET", "http://both.example.org/").exchange
    assert (exchange.status, wire.connected) == (200, found)


@pytest.mark.parametrize(
    ("number", "fault"), [(socket.EAI_NONAME, "nxdomain"), (socket.EAI_AGAIN, "unreachable"), (None, "nxdomain")]
)
def test_a_name_without_addresses_is_told_from_a_resolver_in_trouble(
    recorder_over: Callable[..., Recorder], number: int | None, fault: str
) -> None:
    def resolve(host: str) -> list[str]:
        if number is not None:
            raise socket.gaierror(number, "no answer")
        return []

    exchange = recorder_over(PublicTransport(resolve, Wire())).ask("GET", "https://gone.example.org/").exchange
    assert exchange.fault == fault


def test_the_systems_resolver_gives_addresses_or_says_that_there_are_none() -> None:
    assert "127.0.0.1" in system_resolve("127.0.0.1")
    with pytest.raises(socket.gaierror):
        system_resolve("a" * 70 + ".example.org")


def test_a_recorder_without_a_transport_of_its_own_goes_to_public_places_only(store: Store, clock: Clock) -> None:
    recorder = Recorder(store, clock, run="run", epoch="epoch")
    assert isinstance(recorder._transport, PublicTransport)


@pytest.fixture
def recorder_over(store: Store, clock: Clock) -> Callable[[httpx2.BaseTransport], Recorder]:
    return lambda transport: Recorder(store, clock, run="run", epoch="epoch", transport=transport)
