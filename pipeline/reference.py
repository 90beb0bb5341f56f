"""What the field knows by name: standard benchmarks, closed services, hosts behind a wall.

The facts lie in ``data/reference``; here are their types and how a name, a text or a URL is held against them. Nothing
is looked up anywhere else, and a name that is not listed is simply not known.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pipeline.editions import data

Gate = Literal["open", "click-through", "registration", "request", "credentialed", "paid"]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Benchmark(_Entry):
    """A standard benchmark: where a stranger starts (``home``, a URL) and what stands in the way (``gate``).

    ``word``: the name is an ordinary word, which prose must call a data set before it counts. ``shared``: those of the
    names that mean other things too (GRF: a Gaussian random field), of which the same is asked.
    """

    name: str
    area: str
    home: Annotated[str, Field(pattern=r"^https?://")]
    gate: Gate
    kind: Literal["dataset", "benchmark", "simulator"]
    splits: str
    aliases: tuple[str, ...] = ()
    word: bool = False
    shared: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _shares_its_own(self) -> Self:
        if not set(self.shared) <= set(self.names):
            raise ValueError(f"{self.name}: shared names {self.shared} are none of its names")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)


class Provider(_Entry):
    """A paid or closed service. ``models`` and ``open`` are regular expressions of whole words, case kept."""

    name: str
    models: Annotated[tuple[str, ...], Field(min_length=1)]
    open: tuple[str, ...]
    source: str

    @model_validator(mode="after")
    def _compiles(self) -> Self:
        for pattern in (*self.models, *self.open):
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{self.name}: pattern {pattern!r} is no regular expression: {error}") from error
        return self


class Wall(_Entry):
    """A host, or a part of one, that hands nothing over to a stranger."""

    host: Annotated[str, Field(pattern=r"^[a-z0-9.-]+$")]
    path: Annotated[str, Field(pattern=r"^/")] | None = None
    kind: Literal["signup", "request", "credentialed", "paywall", "extraction-code"]
    source: str


class Mention(NamedTuple):
    """A name found in a text, with its place in characters."""

    name: str
    words: str
    start: int
    end: int


@cache
def benchmarks() -> tuple[Benchmark, ...]:
    """All listed benchmarks, in the order of the file. Raises ValueError when two claim one name."""
    table = _read("benchmarks.toml")
    listed = tuple(
        Benchmark(name=name, area=area, **entry)
        for area, entries in table.items()
        if isinstance(entries, dict)
        for name, entry in entries.items()
    )
    _by_key(listed)
    return listed


@cache
def providers() -> tuple[Provider, ...]:
    return tuple(Provider(**entry) for entry in _read("paid_apis.toml")["provider"])


@cache
def walled_places() -> tuple[Wall, ...]:
    return tuple(Wall(**entry) for entry in _read("walled_hosts.toml")["wall"])


def benchmark(name: str) -> Benchmark | None:
    """The benchmark a name means, whatever its spelling ("cifar 10 dataset"), or None.

    The whole name must be listed: "CIFAR-10 with our labels" is not CIFAR-10.
    """
    whole = _index().get(_key(name))
    return whole or _index().get(_key(_SURROUNDING.sub("", name.strip())))


@lru_cache(maxsize=16)
def benchmarks_in(text: str) -> tuple[Mention, ...]:
    """Mentions of listed benchmarks in running text, in order, each by its main name.

    Longer names win over names inside them. Names with a digit or of several words may be written in any case; other
    names only as listed; ordinary words only beside a word such as "dataset". Several rules ask this of one paper in
    turn, so that the last few answers are kept.
    """
    found = []
    end = 0
    for beginning in _WORD_BEGINS.finditer(text):
        start = beginning.start()
        names = _finders().get(text[start].casefold())
        match = names.match(text, start) if names and start >= end else None
        if match is None:
            continue
        end = match.end()
        owner = _index()[_key(match[0])]
        plain = not owner.word and _key(match[0]) not in map(_key, owner.shared)
        if plain or _called_data(text, start, end):
            found.append(Mention(owner.name, match[0], start, end))
    return tuple(found)


def paid_apis_in(text: str) -> tuple[Mention, ...]:
    """Mentions of paid or closed services, in order, each by its provider; open-weight look-alikes are left out."""
    masked = _open_names().sub(lambda m: " " * len(m[0]), text)
    found: list[Mention] = []
    for name, pattern in _closed_names():
        found += (Mention(name, m[0], m.start(), m.end()) for m in pattern.finditer(masked))
    found.sort(key=lambda m: (m.start, -m.end))
    return tuple(m for i, m in enumerate(found) if i == 0 or m.start >= max(f.end for f in found[:i]))


def paid_api(text: str) -> str | None:
    """The first paid or closed service a text names, as "provider (words)", or None."""
    first = next(iter(paid_apis_in(text)), None)
    return f"{first.name} ({first.words})" if first else None


def walls() -> Mapping[str, str]:
    """Host to kind of wall, for hosts that are walled as a whole."""
    return {wall.host: wall.kind for wall in walled_places() if wall.path is None}


def wall_of(url: str) -> Wall | None:
    """The wall a URL stands behind, by its host or one above it and, where stated, the beginning of its path."""
    parts = urlsplit(url)
    host, path = (parts.hostname or "").lower(), parts.path.lower()
    for wall in walled_places():
        inside = host == wall.host or host.endswith("." + wall.host)
        if inside and (wall.path is None or f"{path}/".startswith(f"{wall.path}/")):
            return wall
    return None


# What people write around a benchmark's name without meaning another one.
_SURROUNDING = re.compile(
    r"^the\s+|\s+(?:data\s?sets?|benchmarks?|corpus|suite|environments?|(?:test|train(?:ing)?|validation|val|dev)"
    r"(?:\s+(?:set|split))?)$",
    re.IGNORECASE,
)
_CALLED = re.compile(r"data\s?sets?|benchmarks?|corpus|corpora|simulators?|environments?|splits?", re.IGNORECASE)
_NEAR = 40
_NO_SIGN = re.compile(r"[^a-z0-9+*τ]")
_WORD_BEGINS = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9τ$]")


def _called_data(text: str, start: int, end: int) -> bool:
    """Does the text call it data just after the name, or just before it ("the datasets Adult and Iris")?"""
    return bool(_CALLED.search(text[end : end + _NEAR]) or _CALLED.search(text[max(0, start - _NEAR) : start]))


def _key(name: str) -> str:
    """Letters, digits and the signs that tell names apart (HumanEval+, V*), in one case."""
    return _NO_SIGN.sub("", name.casefold())


def _by_key(listed: tuple[Benchmark, ...]) -> dict[str, Benchmark]:
    index: dict[str, Benchmark] = {}
    for entry in listed:
        for name in entry.names:
            other = index.setdefault(_key(name), entry)
            if other is not entry:
                raise ValueError(f"benchmarks.toml: {name!r} stands for both {other.name} and {entry.name}")
    return index


@cache
def _index() -> dict[str, Benchmark]:
    return _by_key(benchmarks())


@cache
def _finders() -> dict[str, re.Pattern[str]]:
    """By first letter, one expression over the names that begin with it, longest first: ten times faster than one
    over all.

    A name that goes on ("CIFAR-100-LT", "MNIST2") is another name.
    """
    groups: dict[str, list[str]] = {}
    for name in sorted({name for b in benchmarks() for name in b.names}, key=lambda n: (-len(n), n)):
        groups.setdefault(name[0].casefold(), []).append(_spelling(name))
    return {
        first: re.compile(rf"(?:{'|'.join(names)})(?![A-Za-z0-9+*]|-[A-Z0-9])", re.ASCII)
        for first, names in groups.items()
    }


def _spelling(name: str) -> str:
    """A name as prose may write it: hyphen or space between its parts, or nothing where a digit stands beside.

    Letters are never run together ("MultiPL-E" is not "multiple", "RT-X" is not "RTX").
    """
    parts = [p for p in re.split(r"[\s-]+", name) if p]
    body = re.escape(parts[0])
    for before, after in pairwise(parts):
        body += (r"[\s~-]?" if before[-1].isdigit() or after[0].isdigit() else r"[\s~-]") + re.escape(after)
    any_case = len(name) >= 5 and (re.search(r"\d", name) or len(parts) > 1)
    return f"(?i:{body})" if any_case else body


@cache
def _closed_names() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((p.name, _words(p.models)) for p in providers())


@cache
def _open_names() -> re.Pattern[str]:
    return _words(tuple(pattern for p in providers() for pattern in p.open))


def _words(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(patterns)})(?![A-Za-z0-9])")


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(data("reference", name).read_text(encoding="utf-8"))
