"""One call and its answer, free of any web framework: what the services below are functions over."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from pipeline.offline.content import Content, Held
from pipeline.offline.values import FailFirst, FaultKind

FAULT_HEADER = "x-offline-fault"


@dataclass(frozen=True)
class Call:
    """A request as the real host would see it. `path` is decoded and starts with `/`; header names are lower case."""

    method: str
    host: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def arg(self, name: str, default: str = "") -> str:
        return next((value for key, value in self.query if key == name), default)

    def args(self, name: str) -> list[str]:
        return [value for key, value in self.query if key == name]

    def number(self, name: str, default: int, most: int) -> int:
        text = self.arg(name)
        return max(0, min(int(text), most)) if text.isdecimal() else default

    @property
    def raw_query(self) -> str:
        return urlencode(self.query)

    @property
    def form(self) -> list[tuple[str, str]]:
        return parse_qsl(self.body.decode("utf-8", "replace"), keep_blank_values=True)

    @property
    def has_token(self) -> bool:
        return bool(self.headers.get("authorization"))

    @property
    def segments(self) -> list[str]:
        return [part for part in self.path.split("/") if part]

    @property
    def url(self) -> str:
        query = f"?{self.raw_query}" if self.query else ""
        return f"https://{self.host}{quote(self.path)}{query}"

    def with_query(self, **changed: str) -> str:
        """This call's own URL with some arguments replaced or added: what `Link` headers point to."""
        kept = [(key, value) for key, value in self.query if key not in changed]
        return f"https://{self.host}{quote(self.path)}?{urlencode(kept + list(changed.items()))}"


NOTHING = Held(b"")


@dataclass(frozen=True)
class Answer:
    """A response. `ranges`: the host honours `Range` on it."""

    status: int
    content: Content = NOTHING
    headers: tuple[tuple[str, str], ...] = ()
    ranges: bool = False

    def plus(self, *headers: tuple[str, str]) -> "Answer":
        return Answer(self.status, self.content, (*self.headers, *headers), self.ranges)


@dataclass(frozen=True)
class Fault:
    """No response at all, and why."""

    kind: FaultKind


UNREACHABLE = Fault("unreachable")


def as_json(value: Any, status: int = 200, *headers: tuple[str, str]) -> Answer:
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return Answer(status, Held(body), (("Content-Type", "application/json; charset=utf-8"), *headers))


def as_html(title: str, body: str, status: int = 200, *headers: tuple[str, str]) -> Answer:
    page = f"<!DOCTYPE html>\n<html><head><title>{title}</title></head>\n<body>\n{body}\n</body></html>\n"
    return Answer(status, Held(page.encode()), (("Content-Type", "text/html; charset=utf-8"), *headers))


def moved(location: str, status: int = 302, *headers: tuple[str, str]) -> Answer:
    return Answer(status, NOTHING, (("Content-Type", "text/html; charset=utf-8"), ("Location", location), *headers))


class Failures:
    """Counts the requests that were told to fail first (`fail_first`); the only state a served world has."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def due(self, key: str, told: FailFirst | None) -> FailFirst | None:
        """`told` while its failures last, for the subject that `key` names; then nothing."""
        if told is None or self._seen.get(key, 0) >= told.times:
            return None
        self._seen[key] = self._seen.get(key, 0) + 1
        return told
