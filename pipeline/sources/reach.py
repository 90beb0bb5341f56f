"""What every probe works with: the recorder, the paper it works for, and the hosts known to be walled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipeline.evidence import Json
from pipeline.sources.github_tokens import Tokens, resource_of
from pipeline.sources.outcomes import json_of
from pipeline.sources.reading import MEGABYTE, Entry, PaperFacts, holds_weights
from pipeline.sources.recorder import Answer, Recorder, is_gone

FILLER = b"\0\xff \t\r\n"
"""Bytes that any sender can make as many of as it likes: alone they are the beginning of nothing."""
_LFS = b"version https://git-lfs.github.com/spec/v1"
_TRIED = 2
"""Files of one place whose bytes are asked for: the largest, and one more in case that one is odd."""


@dataclass(frozen=True)
class Reach:
    recorder: Recorder
    paper: PaperFacts
    walls: Mapping[str, str] = field(default_factory=dict)
    tokens: Tokens = field(default_factory=Tokens)

    def github(self, path: str) -> Answer:
        """GitHub's REST API. A token raises its limits (60 requests an hour for strangers); such exchanges are
        marked."""
        headers = {"accept": "application/json", "x-github-api-version": "2022-11-28"}
        token = self.tokens.best(resource_of(path), self.recorder.clock.now())
        if token:
            headers["authorization"] = f"Bearer {token}"
        answer = self.recorder.ask(
            "GET", f"https://api.github.com{path}", headers=headers, limit=self.recorder.limits.archive_bytes
        )
        self.tokens.told(token, answer.headers)
        return answer

    def get(self, url: str, *, first: int | None = None, limit: int | None = None) -> Answer:
        """An anonymous GET; `first`: only that many bytes."""
        headers = {"range": f"bytes=0-{first - 1}"} if first else {}
        return self.recorder.ask("GET", url, headers=headers, limit=limit or first)

    def json(self, url: str) -> tuple[Answer, Json]:
        answer = self.recorder.ask("GET", url, headers={"accept": "application/json"})
        return answer, json_of(answer)

    def opened(self, kind: str, files: list[tuple[str, str]], unseen: list[str]) -> list[str]:
        """Which of (path, url) a stranger gets bytes of; at most the first few are tried, the first success ends it.

        Where none gave bytes and one could not be asked, `unseen` gains `kind`.
        """
        told: list[bool | None] = []
        for path, url in files[:_TRIED]:
            told.append(bytes_seen(self.get(url, first=2048), kind))
            if told[-1]:
                return [path]
        if None in told:
            missed(unseen, kind)
        return []


def missed(unseen: list[str], part: str) -> None:
    """A part of a place that could not be asked for: neither there nor absent."""
    if part not in unseen:
        unseen.append(part)


def bytes_seen(answer: Answer, kind: str = "data") -> bool | None:
    """Whether a stranger gets a file's bytes; None where the answer does not say: trouble, or a refusal to robots.

    `kind` "weights": bytes that a checkpoint can begin with.
    """
    if gives_bytes(answer):
        if kind != "weights" and not answer.body.strip(FILLER):
            return None
        return kind != "weights" or holds_weights(answer.body)
    told = answer.status in (200, 206, 402) or answer.exchange.fault == "blocked"
    return False if told or is_gone(answer.exchange) else None


def gives_bytes(answer: Answer) -> bool:
    """Whether an answer is the beginning of a file: a success that is neither a page, nor empty, nor an LFS pointer."""
    if answer.status not in (200, 206) or not answer.body:
        return False
    head = answer.body[:512].lstrip().lower()
    page = head.startswith((b"<!doctype html", b"<html", b"<!--")) or "text/html" in answer.headers.get(
        "content-type", ""
    )
    return not page and not answer.body.startswith(_LFS)


def lfs_size(body: bytes) -> int | None:
    """The size an LFS pointer promises, or None where the bytes are no pointer."""
    if not body.startswith(_LFS):
        return None
    for line in body.splitlines():
        if line.startswith(b"size ") and line[5:].strip().isdigit() and len(line) < 25:
            return int(line[5:])
    return 0


def big_enough(entry: Entry) -> bool:
    return entry.size is None or entry.size >= MEGABYTE
