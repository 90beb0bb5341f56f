"""Freeze: pass the gate, write beside the place, verify what was written, rename. Nothing half-frozen has a name."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.evidence import Json
from pipeline.files import guarded
from pipeline.release.case import Case
from pipeline.release.changelog import LATER, HistoryError, Past, changelog, companions_of
from pipeline.release.companions import COMPANIONS, companions, contents
from pipeline.release.compose import Composition, Material, compose
from pipeline.release.folder import MANIFEST, facts, render, seal
from pipeline.release.gate import Given, gate
from pipeline.release.report import Report
from pipeline.release.tables import tables
from pipeline.release.verify import verify


class FreezeError(Exception):
    """A release of that name is already there and is not this one; the message says what to do."""


RULES = ("pipeline.release.gate", "pipeline.release.freeze")
"""The modules whose code print a release carries."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Frozen:
    """`place` is the release's folder, None where the gate did not pass; then nothing was written."""

    place: Path | None
    made: Composition
    report: Report


def freeze(material: Material, given: Given, place: Path, code_print: str) -> Frozen:
    """Write the release to `place` if every validator passes.

    Freezing the same release again changes nothing. Raises FreezeError where `place` holds another one: a release is
    never overwritten; HistoryError where the version before this one is not beside it, whole.
    """
    made = compose(material)
    report = gate(Case(material=material, made=made, lines=tables(material, made)), given)
    if not report.ok:
        return Frozen(place=None, made=made, report=report)
    files = render(material, made)
    said = facts(material, made, code_print)
    files |= companions(contents(place.name, material, made, said["ledger_head"]), files)
    files |= _history(place, material, made)
    files[MANIFEST] = seal(files, said)
    if place.exists():
        _must_be_same(files, place)
        return Frozen(place=place, made=made, report=report)
    staged = place.with_name(f".{place.name}.part")
    shutil.rmtree(staged, ignore_errors=True)
    with guarded(place, staged):
        staged.mkdir()
        # The manifest comes last: a folder without it is no release.
        for name in sorted(files, key=lambda n: (n == MANIFEST, n)):
            (staged / name).write_bytes(files[name])
        proof = verify(staged)
        if proof.ok:
            staged.replace(place)
        else:
            shutil.rmtree(staged)
            report = Report((*report.checks, *proof.checks), proof.notes)
    return Frozen(place=place if proof.ok else None, made=made, report=report)


def version_of(name: str) -> tuple[str, int]:
    """A release's name without its version, and the version; 0 for a folder that was named otherwise."""
    found = re.fullmatch(r"(.+)-v([1-9]\d*)", name)
    return (found[1], int(found[2])) if found else (name, 0)


def _history(place: Path, material: Material, made: Composition) -> dict[str, bytes]:
    """What changed since the version before, and what was found wrong with it. The first version has neither."""
    name, version = version_of(place.name)
    if version < 2:
        return {}
    before = place.with_name(f"{name}-v{version - 1}")
    if not before.is_dir():
        raise HistoryError(f"{before} is not there; put it back: {place.name} has to say what changed since it")
    return companions_of(changelog(place.name, Past.of(before), material, made))


def _tables(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if name not in (MANIFEST, *COMPANIONS, *LATER)}


def _said(manifest: bytes) -> dict[str, Json]:
    """What a manifest says of its tables, whatever code wrote them: other code with the same outcome makes no new
    release, nor do other words for it."""
    told = json.loads(manifest)
    return {key: value for key, value in told.items() if key not in ("code_print", "manifest_sha256", "files")}


def _must_be_same(files: Mapping[str, bytes], place: Path) -> None:
    there = {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}
    same = _tables(there) == _tables(files)
    if not same or _said(there.get(MANIFEST, b"{}")) != _said(files[MANIFEST]):
        raise FreezeError(
            f"{place} already holds another release; a release is never overwritten. Give this one a new version, "
            "or move that folder away"
        )
