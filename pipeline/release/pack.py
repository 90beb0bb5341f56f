"""The evidence pack of a release: what its receipts rest on and may not be redistributed with it.

A zip file with `exchanges.jsonl` (every exchange that a receipt of the release names), `papers.jsonl` (the files of
each paper's source, by hash) and `blobs/<sha256>` (bodies and files). Same evidence, same bytes.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.evidence import Exchange, Json, canonical
from pipeline.paper import NoPaper, Paper, read
from pipeline.release.gate import Case
from pipeline.release.report import Check, Tally

EXCHANGES, PAPERS, BLOBS = "exchanges.jsonl", "papers.jsonl", "blobs/"
LIMIT = 8 << 30
"""Bytes that a pack may unpack to."""


class PackError(ValueError):
    """A file that is no evidence pack, or a piece of evidence that is missing; the message says which."""


def export(
    exchanges: Iterable[Exchange], papers: Mapping[str, Mapping[str, str]], blob: Callable[[str], bytes], place: Path
) -> Path:
    """Write a pack. `papers`: each paper's source files, path to SHA-256; `blob` gives the bytes of a hash.

    Written beside its place and renamed. Times inside are fixed and entries sorted.
    """
    held = sorted({e.id: e for e in exchanges}.items())
    hashes = {e.body_sha256 for _, e in held if e.body_sha256} | {
        h for files in papers.values() for h in files.values()
    }
    staged = place.with_name(f".{place.name}.part")
    with zipfile.ZipFile(staged, "w") as out:
        _put(out, EXCHANGES, "".join(canonical(e.to_json()) + "\n" for _, e in held).encode())
        lines = ({"arxiv_id": paper, "files": dict(papers[paper])} for paper in sorted(papers))
        _put(out, PAPERS, "".join(canonical(line) + "\n" for line in lines).encode())
        for sha256 in sorted(hashes):
            _put(out, BLOBS + sha256, blob(sha256))
    staged.replace(place)
    return place


def _put(out: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
    out.writestr(info, data)


@dataclass(frozen=True, kw_only=True, slots=True)
class Pack:
    """An opened pack. Bytes are hashed on the way out."""

    exchanges: Mapping[str, Exchange]
    papers: Mapping[str, Mapping[str, str]]
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
            papers = {line["arxiv_id"]: dict(line["files"]) for line in _lines(archive, PAPERS)}
        except (OSError, zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError, RuntimeError) as error:
            if archive is not None:
                archive.close()
            raise PackError(f"is no evidence pack ({type(error).__name__}: {error})") from None
        return cls(
            exchanges={e.id: e for e in exchanges}, papers=papers, archive=archive, names=frozenset(archive.namelist())
        )

    def blob(self, sha256: str) -> bytes:
        """The bytes of a hash. Raises PackError where they are missing or other bytes."""
        if BLOBS + sha256 not in self.names:
            raise PackError(f"blob {sha256[:16]} is not in the pack")
        try:
            data = self.archive.read(BLOBS + sha256)
        except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError) as error:
            raise PackError(f"blob {sha256[:16]} cannot be read ({error})") from None
        if hashlib.sha256(data).hexdigest() != sha256:
            raise PackError(f"blob {sha256[:16]} is not what its hash says")
        return data

    def paper(self, arxiv_id: str) -> Paper | None:
        """The paper's source, read anew; None where the pack does not hold it whole or it is no paper."""
        try:
            return read({path: self.blob(sha256) for path, sha256 in self.papers[arxiv_id].items()})
        except (KeyError, PackError, NoPaper):
            return None


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
