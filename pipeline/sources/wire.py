"""One request as sent and one answer as received: cleaning, redacting, sending. No memory and no patience here."""

from __future__ import annotations

import hashlib
import re
import socket
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

import httpx2

from pipeline.evidence import digest
from pipeline.record import Sighting
from pipeline.sources.connections import within
from pipeline.sources.guard import Forbidden
from pipeline.sources.pacing import Limits

USER_AGENT = "reclaim (reproduction benchmark builder)"
_CREDENTIALS = ("authorization", "cookie", "x-api-key", "x-goog-api-key", "private-token")
_SIGNED = re.compile(r"(?i)[?&](x-amz-|x-goog-|signature=|sig=|jwt=|token=|access_token=|key-pair-id=|policy=)")
_SECRET_ARGUMENT = re.compile(r"(?i)([?&](?:access_token|api_key|apikey|client_secret|password)=)[^&#]+")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request. `url` is what is sent, `shown_url` what is kept; header names are lower case.

    `known`: what the record holds about it, where only a change is asked for.
    """

    method: str
    url: str
    shown_url: str
    headers: Mapping[str, str]
    body: bytes
    follow: bool
    limit: int
    secrets: tuple[str, ...]
    authenticated: bool
    known: Sighting | None = None

    @classmethod
    def of(
        cls,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        follow: bool,
        limit: int,
        secrets: Sequence[str] = (),
    ) -> Asked:
        lower = {name.lower(): value for name, value in headers.items()}
        own = tuple(v.split()[-1] for name, v in lower.items() if name in _CREDENTIALS and v.strip())
        url = without_default_port(url)
        hidden = redacted(_without_userinfo(url), (*secrets, *own))
        shown = _SECRET_ARGUMENT.sub(r"\1***", hidden).replace("\0", "%00")  # PostgreSQL stores no NUL
        return cls(
            method.upper(), url, shown, lower, body, follow, limit, own, bool(own) or shown != _without_userinfo(url)
        )

    @property
    def sha256(self) -> str | None:
        """What besides method and URL changes the answer, hashed; None for a plain request.

        Whether redirects are followed is part of it (the answer differs), a password is not.
        """
        telling: dict[str, str] = {name: self.headers[name] for name in ("range",) if name in self.headers}
        if self.headers.get("accept", "").startswith("application/vnd."):
            telling["accept"] = self.headers["accept"]
        if not self.follow:
            telling["follow"] = "no"
        if self.body and not carries_login(self):
            telling["body"] = hashlib.sha256(self.body).hexdigest()
        return digest(telling) if telling else None


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer, or a fault, as it came."""

    status: int | None
    fault: str | None
    headers: Mapping[str, str]
    body: bytes
    truncated: bool = False
    final_url: str = ""
    redirects: tuple[tuple[int, str], ...] = ()

    @classmethod
    def failed(cls, fault: str, url: str, chain: Sequence[tuple[int, str]] = ()) -> Raw:
        return cls(None, fault, {}, b"", final_url=url, redirects=tuple(chain))


def carries_login(asked: Asked) -> bool:
    """A request whose body is a password and whose answer is a token: neither is ever stored or reused."""
    path = re.split(r"[?#]", asked.shown_url)[0]
    return asked.method == "POST" and path.endswith(("/login", "/mfa/verify", "/token"))


def without_default_port(url: str) -> str:
    return re.sub(r"^(https://[^/?#@\[\]]+):443(?=[/?#]|$)|^(http://[^/?#@\[\]]+):80(?=[/?#]|$)", r"\1\2", url)


def _without_userinfo(url: str) -> str:
    return re.sub(r"^([a-zA-Z][a-zA-Z0-9+.-]*://)[^/?#]*@", r"\1", url)


def redacted(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


def unsigned(text: str, *, whole: bool = True) -> str:
    """A URL without the signature a host put on it for us: it is a short-lived credential and differs every time.

    `whole=False` keeps the query of a URL that was asked for, less the signed part.
    """
    if not _SIGNED.search(text) or not text.startswith(("http://", "https://", "/")):
        return text
    try:
        parts = urlsplit(text)
    except ValueError:  # no URL, and no place that a signature would open
        return text.split("?", 1)[0]
    if whole:
        return urlunsplit(parts._replace(query=""))
    kept = "&".join(pair for pair in parts.query.split("&") if not _SIGNED.match("?" + pair))
    return urlunsplit(parts._replace(query=kept))


def send(transport: httpx2.BaseTransport, asked: Asked, limits: Limits) -> Raw:
    """One request on a transport, no redirects followed. Faults come back as values."""
    ranged = "range" in asked.headers
    headers = {
        "user-agent": USER_AGENT,
        "accept": "*/*",
        # A range of a compressed body is not a range of the file.
        **asked.headers,
        "accept-encoding": "identity" if ranged else "gzip, deflate",
    }
    headers.pop("content-length", None)
    headers.pop("host", None)
    headers.pop("connection", None)
    try:
        request = httpx2.Request(
            asked.method,
            asked.url,
            headers=headers,
            content=asked.body or None,
            extensions={"timeout": httpx2.Timeout(limits.timeout).as_dict()},
        )
    except (httpx2.InvalidURL, ValueError, UnicodeError):
        return Raw.failed("blocked", asked.url)
    try:
        with within(limits.total_time):
            response = transport.handle_request(request)
            try:
                body, truncated = _read(response, asked.limit, limits.total_time)
            finally:
                response.close()
    except httpx2.InvalidURL:
        return Raw.failed("blocked", asked.url)
    except (httpx2.RequestError, OSError, UnicodeError, ValueError) as error:
        return Raw.failed(fault_of(error), asked.url)
    received = {name.lower(): value for name, value in response.headers.items()}
    if not truncated and _cut_short(asked.method, response.status_code, received, body):
        return Raw.failed("reset", asked.url)
    return Raw(response.status_code, None, received, body, truncated)


def _cut_short(method: str, status: int, headers: Mapping[str, str], body: bytes) -> bool:
    """Whether less came than the answer's own length says: a proxy that gave up in the middle closes as if all was
    there."""
    length = headers.get("content-length", "")
    if method == "HEAD" or status in (204, 304) or headers.get("content-encoding", "identity") != "identity":
        return False
    return length.isdecimal() and len(body) < int(length)


def _read(response: httpx2.Response, limit: int, total_time: float) -> tuple[bytes, bool]:
    """At most `limit` bytes, decoded while they come so that a small bomb stays small. A slow drip is a timeout: pieces
    are taken as they come, not gathered first."""
    deadline = time.monotonic() + total_time
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > limit:
            return bytes(body[:limit]), True
        if time.monotonic() > deadline:
            raise TimeoutError
    return bytes(body), False


def fault_of(error: BaseException) -> str:
    """The kind of a transport's failure, from the exception and what caused it (see `Exchange.fault`)."""
    chain = list(_causes(error))
    for one in chain:
        if isinstance(one, Forbidden):
            return "blocked"
        if isinstance(one, socket.gaierror):
            # EAI_AGAIN is a resolver in trouble, not a name that does not exist.
            return "unreachable" if one.errno == socket.EAI_AGAIN else "nxdomain"
        if isinstance(one, ssl.SSLError):
            return "tls"
        if isinstance(one, ConnectionRefusedError):
            return "refused"
        if isinstance(one, ConnectionResetError | BrokenPipeError):
            return "reset"
        if isinstance(one, httpx2.TimeoutException | TimeoutError):
            return "timeout"
    text = " ".join(str(one) for one in chain).lower()
    for words, fault in (
        (("temporary failure in name resolution",), "unreachable"),
        (
            ("name or service not known", "nodename nor servname", "no address associated", "name resolution"),
            "nxdomain",
        ),
        (("connection refused",), "refused"),
        (("certificate", "ssl", "tls"), "tls"),
    ):
        if any(word in text for word in words):
            return fault
    if isinstance(error, httpx2.ReadError | httpx2.WriteError | httpx2.RemoteProtocolError | httpx2.CloseError):
        return "reset"
    return "unreachable"


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__
