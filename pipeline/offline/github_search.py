"""GitHub's two searches over what a world holds. An empty result is complete: `incomplete_results` is always false."""

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

from pipeline.offline.content import NotRecordedError, blob_sha, whole
from pipeline.offline.github_objects import API, repository_body
from pipeline.offline.values import Repository, World, is_readme

_TERM = re.compile(r'(-?\w+):("[^"]*"|\S+)|"([^"]*)"|(\S+)')
_WORD = re.compile(r"[^\W_]+")
_READ_LIMIT = 384 * 1024
"""GitHub's code search does not index larger files (docs.github.com, "Searching code")."""


def search_repositories(world: World, query: str) -> list[dict[str, Any]]:
    """Repositories that hold every word: in name, description and topics, as on GitHub, unless `in:readme` says so."""
    phrases, told = _parsed(query)
    fields = set(",".join(told.get("in", ["name,description,topics"])).split(","))
    keys: Collection[str] = world.repositories
    if phrases and "readme" not in fields:
        places = _places(world)
        keys = set.intersection(*(places.get(phrase[0], set()) for phrase in phrases))
    ranked = []
    for repository in map(world.repositories.__getitem__, keys):
        if not repository.listed or not _qualifies(repository, told):
            continue
        texts = _texts(repository)
        texts["readme"] = _words(readme_text(repository)) if "readme" in fields else []
        searched = [texts[key] for key in sorted(fields & texts.keys())]
        if all(any(_holds(text, phrase) for text in searched) for phrase in phrases):
            in_name = sum(_holds(texts["name"], phrase) for phrase in phrases)
            ranked.append((-in_name, repository.full_name.lower(), repository))
    return [
        repository_body(world, repository) | {"score": 1.0} for *_, repository in sorted(ranked, key=lambda r: r[:2])
    ]


def _texts(repository: Repository) -> dict[str, list[str]]:
    return {
        "name": [*_words(repository.name), repository.name.lower()],
        "description": _words(repository.facts.description or ""),
        "topics": _words(" ".join(repository.facts.topics)),
    }


@lru_cache(maxsize=4)
def _places(world: World) -> Mapping[str, set[str]]:
    """The repositories, by key, that each word of a name, description or topic occurs in."""
    places: dict[str, set[str]] = {}
    for key, repository in world.repositories.items():
        for word in chain.from_iterable(_texts(repository).values()):
            places.setdefault(word, set()).add(key)
    return places


def search_code(world: World, query: str) -> list[dict[str, Any]]:
    """Files whose path or text holds every word."""
    phrases, told = _parsed(query)
    found = []
    for repository in sorted(world.repositories.values(), key=lambda repo: repo.full_name.lower()):
        if not repository.listed or repository.facts.empty or not _qualifies(repository, told):
            continue
        for path in repository.files:
            suffix = PurePosixPath(path).suffix.lstrip(".")
            if told.get("extension", [suffix])[0] != suffix or told.get("filename", [path])[0] not in path:
                continue
            text = _words(path) + _words(_text(repository, path))
            if all(_holds(text, phrase) for phrase in phrases):
                sha, url = blob_sha(repository.files[path].content), f"{API}/repos/{repository.full_name}"
                found.append(
                    {
                        "name": PurePosixPath(path).name,
                        "path": path,
                        "sha": sha,
                        "url": f"{url}/contents/{path}?ref={repository.head}",
                        "git_url": f"{url}/git/blobs/{sha}",
                        "html_url": f"https://github.com/{repository.full_name}/blob/{repository.head}/{path}",
                        "repository": repository_body(world, repository),
                        "score": 1.0,
                    }
                )
    return found


def readme_text(repository: Repository) -> str:
    path = next(filter(is_readme, sorted(repository.files)), None)
    return _text(repository, path) if path else ""


def _text(repository: Repository, path: str) -> str:
    file = repository.files[path]
    if file.lfs or file.content.size > _READ_LIMIT:
        return ""
    try:
        return whole(file.content).decode("utf-8", "replace")
    except NotRecordedError:
        return ""


def _parsed(query: str) -> tuple[list[list[str]], dict[str, list[str]]]:
    """The phrases (each a list of words) and the qualifiers of a query; a negated qualifier keeps its minus."""
    phrases: list[list[str]] = []
    told: dict[str, list[str]] = {}
    for key, value, phrase, word in _TERM.findall(query):
        if key:
            told.setdefault(key.lower(), []).append(value.strip('"'))
        else:
            phrases.append(_words(phrase or word))
    return [phrase for phrase in phrases if phrase], told


def _qualifies(repository: Repository, told: dict[str, list[str]]) -> bool:
    owners = [owner.lower() for key in ("user", "org") for owner in told.get(key, [])]
    names = [name.lower() for name in told.get("repo", [])]
    if owners and repository.owner.lower() not in owners:
        return False
    if names and repository.full_name.lower() not in names:
        return False
    return repository.facts.fork_of is None or told.get("fork", [""])[0] in {"true", "only"}


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _holds(words: list[str], phrase: list[str]) -> bool:
    if len(phrase) == 1:
        return phrase[0] in words
    return any(words[i : i + len(phrase)] == phrase for i in range(len(words) - len(phrase) + 1))
