"""GitHub's tokens: each with budgets of its own, read from the headers of answers. They raise limits on metadata only,
and lie in no log, record or error."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

_FULL: Mapping[str, int] = {"core": 5_000, "graphql": 5_000, "search": 30, "code_search": 10}
"""Requests (GraphQL: points) an hour, searches a minute, of a token that nothing is known of
(docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api)."""
VARIABLES = ("GITHUB_TOKENS", "GITHUB_TOKEN")
OWN = "RECLAIM_GITHUB_TOKEN"


def resource_of(path: str) -> str:
    """The budget that a path of api.github.com draws on."""
    for beginning, resource in (("/graphql", "graphql"), ("/search/code", "code_search"), ("/search", "search")):
        if path.startswith(beginning):
            return resource
    return "core"


@dataclass(frozen=True, slots=True)
class _Budget:
    remaining: int
    reset: float  # seconds since 1970


class Tokens:
    """The tokens of one run; none at all is a stranger. Safe from several threads.

    Who asks takes the token with the most left for its resource. Which one that is changes nothing in the record: a
    request's identity knows only that there was one.
    """

    def __init__(self, tokens: Iterable[str] = ()) -> None:
        self._tokens = tuple(dict.fromkeys(t for t in tokens if t))
        self._left: dict[tuple[str, str], _Budget] = {}
        self._lock = threading.Lock()

    @classmethod
    def of(cls, text: str) -> Tokens:
        """One token, or several with commas between."""
        return cls(part.strip() for part in text.split(","))

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], *, own_only: bool = False) -> Tokens:
        """Those of RECLAIM_GITHUB_TOKEN, else of GITHUB_TOKENS and GITHUB_TOKEN. `own_only`: a token that was left in
        the environment for other programs does not count."""
        found = environment.get(OWN, "")
        if not found and not own_only:
            found = ",".join(environment.get(name, "") for name in VARIABLES)
        return cls.of(found)

    def __bool__(self) -> bool:
        return bool(self._tokens)

    def __repr__(self) -> str:
        return f"Tokens({len(self._tokens)})"

    def best(self, resource: str, now: datetime) -> str:
        """The token with the most left for `resource` at `now`, the first among equals; "" where there is none."""
        with self._lock:
            return max(self._tokens, key=lambda token: self._remaining(token, resource, now), default="")

    def _remaining(self, token: str, resource: str, now: datetime) -> int:
        known = self._left.get((token, resource))
        return _FULL.get(resource, 0) if known is None or known.reset <= now.timestamp() else known.remaining

    def told(self, token: str, headers: Mapping[str, str]) -> None:
        """What an answer to `token` says of its budget. One out of the record says what was true then, so within an
        hour a budget only shrinks."""
        remaining, reset = headers.get("x-ratelimit-remaining", ""), headers.get("x-ratelimit-reset", "")
        resource = headers.get("x-ratelimit-resource", "")
        if token not in self._tokens or not resource or not remaining.isdecimal() or not reset.isdecimal():
            return
        new = _Budget(int(remaining), float(reset))
        with self._lock:
            known = self._left.get((token, resource), new)
            if new.reset >= known.reset:
                least = min(new.remaining, known.remaining) if new.reset == known.reset else new.remaining
                self._left[token, resource] = _Budget(least, new.reset)
