"""A release as files: sealed by a manifest that names every byte, and read back without trusting any.

The manifest holds the hash of every file and, for JSON lines, of every line with the name of its row, so that one
changed byte is named by file and row. It carries its own hash, and no time but the edition's `as_of`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline import events
from pipeline.evidence import Json, canonical, digest
from pipeline.release.compose import Composition, Material, funnel
from pipeline.release.report import Check, Tally
from pipeline.release.tables import (
    SCHEMAS,
    TABLES,
    Lines,
    document,
    documents,
    jsonl,
    parquet,
    row_name,
    tables,
)

MANIFEST = "manifest.json"
FORMAT = 1
_LINE = 16
"""Hex digits of a line's hash: enough to name a line; the file's whole hash is what holds it."""


def render(material: Material, made: Composition) -> dict[str, bytes]:
    """Every file of a release but the manifest, by name."""
    lines = tables(material, made)
    files = {f"{table}.jsonl": jsonl(lines[table]) for table in TABLES}
    files |= {f"{table}.parquet": parquet(table, lines[table]) for table in SCHEMAS}
    return files | {name: document(value) for name, value in documents(material, made).items()}


def facts(material: Material, made: Composition, code_print: str) -> dict[str, Json]:
    """What the manifest says besides hashes; all but `code_print` can be derived from the files."""
    edition = material.edition
    counted = funnel(material, made)
    lines = {split: [row.model_dump(mode="json") for row in made.rows[split]] for split in ("eval", "dev")}
    return {
        "format": FORMAT,
        "edition": edition.name,
        "edition_hash": edition.hash,
        "as_of": edition.as_of.isoformat(),
        "code_print": code_print,
        "ledger_head": events.head(material.entries),
        "rows_sha256": digest(lines),
        "counts": {"eval": len(lines["eval"]), "dev": len(lines["dev"]), "index": len(material.index)},
        "shortfall": counted["shortfall"],
        **({"chosen": counted["chosen"]} if "chosen" in counted else {}),
    }


def seal(files: Mapping[str, bytes], said: Mapping[str, Json]) -> bytes:
    """The manifest over these files: canonical JSON with its own hash."""
    body = {**said, "files": {name: _listed(name, files[name]) for name in sorted(files)}}
    return document({**body, "manifest_sha256": digest(body)})


def _listed(name: str, data: bytes) -> dict[str, Json]:
    """A file as the manifest lists it."""
    entry: dict[str, Json] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
    if name.endswith(".jsonl"):
        table = name.removesuffix(".jsonl")
        entry["lines"] = [[row_name(table, json.loads(line)), _short(line)] for line in _lines(data)]
    return entry


def _lines(data: bytes) -> list[bytes]:
    """Lines as a line feed ends them, and nothing else does: JSON texts may hold any other separator."""
    return [line for line in re.split(rb"(?<=\n)", data) if line]


def _short(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()[:_LINE]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sealed:
    """A folder whose bytes are those its manifest names."""

    manifest: Mapping[str, Json]
    files: Mapping[str, bytes]

    def lines(self, table: str) -> Lines:
        return [json.loads(line) for line in _lines(self.files[f"{table}.jsonl"])]


def open_sealed(folder: Path) -> tuple[Sealed | None, tuple[Check, ...]]:
    """Read and hash every file before anything is parsed. None, with the checks that failed, for a folder that is not
    as it was sealed."""
    tally = Tally("the manifest is whole")
    manifest, problem = _manifest(folder)
    tally.look(MANIFEST, [problem] if problem else [])
    if manifest is None:
        return None, (tally.done(),)
    files = Tally("every file is listed, there, and has its hash")
    found: dict[str, bytes] = {}
    names = {path.name for path in folder.iterdir()}
    for name in sorted(names - {MANIFEST} - set(manifest["files"])):
        files.look(name, ["is not listed in the manifest"])
    for name in sorted(manifest["files"]):
        listed, place = manifest["files"][name], folder / name
        if name not in names or place.is_symlink() or not place.is_file() or Path(name).name != name:
            files.look(name, ["is listed and is not there as a plain file"])
            continue
        data = found[name] = place.read_bytes()
        whole = hashlib.sha256(data).hexdigest() == listed["sha256"] and len(data) == listed["size"]
        files.look(name, _mislisted(name, data, listed) if whole else _changed(data, listed))
    checks = (tally.done(), files.done())
    good = all(check.ok for check in checks)
    return (Sealed(manifest=manifest, files=found) if good else None), checks


def _manifest(folder: Path) -> tuple[dict[str, Json] | None, str]:
    place = folder / MANIFEST
    try:
        if place.is_symlink() or not place.is_file():
            return None, f"is no plain file in {folder}; this is no release folder"
        data = place.read_bytes()
    except OSError:
        return None, f"cannot be read in {folder}; this is no release folder"
    try:
        manifest = json.loads(data)
        body = {key: value for key, value in manifest.items() if key != "manifest_sha256"}
        if document(manifest) != data:
            return None, "is not canonical JSON"
        if digest(body) != manifest["manifest_sha256"]:
            return None, "does not hash to what it says; a byte of it was changed"
        listed = all(_listing(name, entry) for name, entry in manifest["files"].items())
        if manifest["format"] != FORMAT or not isinstance(manifest["code_print"], str) or not listed:
            return None, f"is not of format {FORMAT}"
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return None, "is not the JSON of a manifest"
    return manifest, ""


def _listing(name: str, entry: Json) -> bool:
    """Whether an entry lists a file: its hash, its size and, for JSON lines, a name and a hash for each."""
    parts = {"sha256", "size", "lines"} if name.endswith(".jsonl") else {"sha256", "size"}
    if not isinstance(entry, dict) or entry.keys() != parts:
        return False
    lines = entry.get("lines", [])
    return isinstance(lines, list) and all(
        isinstance(line, list) and len(line) == 2 and all(isinstance(part, str) for part in line) for line in lines
    )


def _mislisted(name: str, data: bytes, listed: Mapping[str, Json]) -> list[str]:
    """What the manifest says wrongly about the lines of a file that has its hash."""
    try:
        right = same(_listed(name, data), listed)
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return ["holds a line that is no row of its table"]
    return [] if right else ["the manifest does not list it as it is"]


def _changed(data: bytes, listed: Mapping[str, Json]) -> list[str]:
    """Which lines of a changed file are not what they were, by the names of their rows."""
    if "lines" not in listed:
        return ["its bytes are not those listed"]
    now, before = _lines(data), listed["lines"]
    held = {short for _, short in before}
    found = [
        f"line {number}, row {name}: changed"
        for number, (line, (name, short)) in enumerate(zip(now, before, strict=False), start=1)
        if _short(line) != short
    ]
    if len(now) != len(before):
        found = found[:1] or [f"row {before[len(now)][0]}: missing"] if len(now) < len(before) else found[:1]
        added = sum(_short(line) not in held for line in now)
        found.append(f"has {len(now)} lines where {len(before)} are listed, {added} of them new")
    return found or ["its bytes are not those listed"]


def same(a: Json, b: Json) -> bool:
    """Equal as canonical JSON: 1 is not 1.0, true is not 1."""
    return canonical(a) == canonical(b)


def by_name(table: str, lines: Sequence[Mapping[str, Json]]) -> dict[str, Mapping[str, Json]]:
    """Lines by the names of their rows; a second line of one name is marked, so that none is lost."""
    found: dict[str, Mapping[str, Json]] = {}
    for line in lines:
        name = row_name(table, line)
        while name in found:
            name += " again"
        found[name] = line
    return found
