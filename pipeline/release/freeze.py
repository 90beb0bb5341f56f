"""Freeze: pass the gate, write beside the place, verify what was written, rename. Nothing half-frozen has a name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.evidence import Json
from pipeline.release.case import Case
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
    never overwritten.
    """
    made = compose(material)
    report = gate(Case(material=material, made=made, lines=tables(material, made)), given)
    if not report.ok:
        return Frozen(place=None, made=made, report=report)
    files = render(material, made)
    said = facts(material, made, code_print)
    files |= companions(contents(place.name, material, made, said["ledger_head"]), files)
    files[MANIFEST] = seal(files, said)
    if place.exists():
        _must_be_same(files, place)
        return Frozen(place=place, made=made, report=report)
    staged = place.with_name(f".{place.name}.part")
    shutil.rmtree(staged, ignore_errors=True)
    staged.mkdir(parents=True)
    # The manifest comes last: a folder without it is no release.
    for name in sorted(files, key=lambda n: (n == MANIFEST, n)):
        (staged / name).write_bytes(files[name])
    proof = verify(staged)
    if not proof.ok:
        shutil.rmtree(staged)
        return Frozen(place=None, made=made, report=Report((*report.checks, *proof.checks), proof.notes))
    staged.replace(place)
    return Frozen(place=place, made=made, report=report)


def _tables(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if name != MANIFEST and name not in COMPANIONS}


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
