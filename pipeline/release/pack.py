"""The evidence pack of a release: what its receipts rest on and may not be redistributed with it.

A zip file with `exchanges.jsonl` (every exchange that a receipt of the release names, and what else the same requests
were answered), `sightings.jsonl` (when they were seen: "gone" takes two looks), `papers.jsonl` (the files of each
paper's source and supplement, by hash, and by what name places are searched for it), `episodes.jsonl` (what the
classifier answered about each sampled paper), `turns.jsonl` where a language model read them (each turn's key, and the
blob that answered it) and `blobs/<sha256>` (bodies, files and answers). Same evidence, same bytes.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from pipeline.answers import Episode
from pipeline.evidence import Exchange, Json, canonical
from pipeline.files import writing
from pipeline.paper import NoPaper, Paper, read
from pipeline.release.case import Case
from pipeline.release.report import Check, Tally

EXCHANGES, SIGHTINGS, PAPERS, EPISODES = "exchanges.jsonl", "sightings.jsonl", "papers.jsonl", "episodes.jsonl"
TURNS = "turns.jsonl"
BLOBS = "blobs/"
LIMIT = 8 << 30
"""Bytes that a pack may unpack to."""


class PackError(ValueError):
    """A file that is no evidence pack, or a piece of evidence that is missing; the message says which."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """One sighting of an exchange, by its id: when (aware), at which attempt, with which volatile headers."""

    exchange: str
    at: datetime
    attempt: int
    headers: Mapping[str, str]

    def to_json(self) -> dict[str, Json]:
        at = self.at.astimezone(UTC).isoformat(timespec="microseconds")
        return {"exchange": self.exchange, "at": at, "attempt": self.attempt, "headers": dict(self.headers)}

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> Seen:
        """Raises ValueError, KeyError or TypeError for what is no sighting."""
        at = datetime.fromisoformat(value["at"])
        if at.tzinfo is None:
            raise ValueError(f"the sighting of {value['exchange']} at {value['at']} has no time zone")
        return cls(exchange=value["exchange"], at=at, attempt=int(value["attempt"]), headers=dict(value["headers"]))


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """What a pack holds of one paper: the pinned version; title and authors as listed; files of source and supplement,
    path to SHA-256."""

    version: int
    title: str
    authors: tuple[str, ...]
    source: Mapping[str, str]
    supplement: Mapping[str, str]


def export(
    exchanges: Iterable[Exchange],
    sightings: Iterable[Seen],
    papers: Mapping[str, Held],
    episodes: Iterable[Episode],
    blob: Callable[[str], bytes],
    place: Path,
    turns: Mapping[str, str] | None = None,
) -> Path:
    """Write a pack. `papers` by arXiv id; `turns`: the blob of each model turn by its key; `blob` gives the bytes of a
    hash.

    Written beside its place and renamed. Times inside are fixed and entries sorted.
    """
    held = sorted({e.id: e for e in exchanges}.items())
    hashes = {e.body_sha256 for _, e in held if e.body_sha256}
    hashes |= {h for one in papers.values() for files in (one.source, one.supplement) for h in files.values()}
    hashes |= set((turns or {}).values())
    listed = {
        EXCHANGES: [canonical(e.to_json()) for _, e in held],
        SIGHTINGS: sorted({canonical(seen.to_json()) for seen in sightings}),
        PAPERS: [canonical({"arxiv_id": paper, **asdict(papers[paper])}) for paper in sorted(papers)],
        EPISODES: [canonical(e.to_json()) for e in sorted(episodes, key=lambda e: e.paper)],
    }
    if turns:
        listed[TURNS] = [canonical({"key": key, "response_sha256": turns[key]}) for key in sorted(turns)]
    with writing(place) as staged, zipfile.ZipFile(staged, "w") as out:
        for name, lines in listed.items():
            _put(out, name, "".join(line + "\n" for line in lines).encode())
        for sha256 in sorted(hashes):
            _put(out, BLOBS + sha256, blob(sha256))
    return place


def _put(out: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
    out.writestr(info, data)


@dataclass(frozen=True, kw_only=True, slots=True)
class Pack:
    """An opened pack. Bytes are hashed on the way out."""

    exchanges: Mapping[str, Exchange]
    sightings: tuple[Seen, ...]
    papers: Mapping[str, Held]
    episodes: Mapping[str, Episode]
    turns: Mapping[str, str]
    archive: zipfile.ZipFile
    names: frozenset[str]

    @classmethod
    def open(cls, place: Path) -> Pack:
        """Raises PackError for a file that is no pack, or one that would unpack to more than `LIMIT`.

        The file stays open: close `archive` after use.
        """
        archive = None
        try:
            archive = zipfile.ZipFile(place)
            size = sum(info.file_size for info in archive.infolist())
            if size > LIMIT:
                raise ValueError(f"it would unpack to {size} bytes, more than {LIMIT}")
            exchanges = [Exchange.from_json(line) for line in _lines(archive, EXCHANGES)]
            sightings = tuple(Seen.from_json(line) for line in _lines(archive, SIGHTINGS))
            papers = {line["arxiv_id"]: _held(line) for line in _lines(archive, PAPERS)}
            episodes = {e.paper: e for e in map(Episode.from_json, _lines(archive, EPISODES))}
            told = _lines(archive, TURNS) if TURNS in archive.namelist() else []
            turns = {str(line["key"]): str(line["response_sha256"]) for line in told}
        except (*_UNREADABLE, KeyError, TypeError, AttributeError) as error:
            if archive is not None:
                archive.close()
            raise PackError(f"is no evidence pack ({type(error).__name__}: {error})") from None
        return cls(
            exchanges={e.id: e for e in exchanges},
            sightings=sightings,
            papers=papers,
            episodes=episodes,
            turns=turns,
            archive=archive,
            names=frozenset(archive.namelist()),
        )

    def blob(self, sha256: str) -> bytes:
        """The bytes of a hash. Raises PackError where they are missing or other bytes."""
        if BLOBS + sha256 not in self.names:
            raise PackError(f"blob {sha256[:16]} is not in the pack")
        try:
            data = self.archive.read(BLOBS + sha256)
        except _UNREADABLE as error:
            raise PackError(f"blob {sha256[:16]} cannot be read ({error})") from None
        if hashlib.sha256(data).hexdigest() != sha256:
            raise PackError(f"blob {sha256[:16]} is not what its hash says")
        return data

    def paper(self, arxiv_id: str) -> Paper | None:
        """The paper's source, read anew; None where the pack does not hold it whole or it is no paper."""
        try:
            return read(self.files(self.papers[arxiv_id].source))
        except (KeyError, PackError, NoPaper):
            return None

    def files(self, listed: Mapping[str, str]) -> dict[str, bytes]:
        """Files by path, from their hashes. Raises PackError for one that is missing or other bytes."""
        return {path: self.blob(sha256) for path, sha256 in listed.items()}


def _held(line: Mapping[str, Json]) -> Held:
    return Held(
        version=int(line["version"]),
        title=line["title"],
        authors=tuple(line["authors"]),
        source=dict(line["source"]),
        supplement=dict(line["supplement"]),
    )


def _lines(archive: zipfile.ZipFile, name: str) -> list[dict[str, Json]]:
    return [json.loads(line) for line in archive.read(name).decode().split("\n") if line]


def pack_checks(case: Case, pack: Pack) -> tuple[Check, ...]:
    """What a pack proves about receipts: their exchanges exist and hash to their ids, and so do the bodies."""
    exchanges = Tally("receipts rest on exchanges of the pack")
    bodies = Tally("bodies are what their hashes say")
    seen: set[str] = set()
    for receipt in case.material.receipts.values():
        for id_ in receipt.exchanges:
            exchange = pack.exchanges.get(id_)
            exchanges.look(
                receipt.paper, [] if exchange else [f"exchange {id_[:16]} of {receipt.tool} is not in the pack"]
            )
            if exchange is None or exchange.body_sha256 is None or exchange.body_sha256 in seen:
                continue
            seen.add(exchange.body_sha256)
            try:
                pack.blob(exchange.body_sha256)
                bodies.look(receipt.paper)
            except PackError as error:
                bodies.look(receipt.paper, [str(error)])
    return exchanges.done(), bodies.done()


_UNREADABLE = (zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, RuntimeError, ValueError)
"""What reading a damaged archive raises: encrypted and unknown entries among it, where a bit says that they are."""
