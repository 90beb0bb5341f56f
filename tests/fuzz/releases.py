"""Releases and what they are made of, forged: the gate refuses by a named rule, and both verifiers say the same."""

from __future__ import annotations

import atexit
import importlib.util
import json
import random
import shutil
import sys
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from hypothesis import strategies as st
from pydantic import ValidationError

from pipeline.corpus import Exclusion
from pipeline.derivation import Inputs
from pipeline.editions import Edition
from pipeline.events import Entry, LedgerError
from pipeline.evidence import Receipt
from pipeline.release import verify_alone
from pipeline.release.case import Case
from pipeline.release.compose import Composition, IndexLine, Material, compose
from pipeline.release.folder import MANIFEST
from pipeline.release.freeze import freeze
from pipeline.release.gate import gate
from pipeline.release.report import Report
from pipeline.release.tables import DOCUMENTS, SCHEMAS, TABLES, document, jsonl, parquet, tables
from pipeline.release.verify import verify
from tests.fuzz.mutating import cut, cuts, edited, edits, odd
from tests.fuzz.running import Target

_RELEASE = Path(__file__).resolve().parents[1] / "release"


def _loaded(name: str) -> ModuleType:
    """A file of the release's tests: test folders are no packages."""
    key = f"reclaim_{name}"
    if key not in sys.modules:
        spec = importlib.util.spec_from_file_location(key, _RELEASE / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[key] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[key]


@cache
def _held() -> Material:
    material: Material = _loaded("made").material()
    return material


@cache
def _good() -> tuple[Composition, dict[str, list[dict[str, Any]]]]:
    made = compose(_held())
    return made, json.loads(json.dumps(dict(tables(_held(), made))))


@cache
def good_release() -> dict[str, bytes]:
    """Every file of a good release."""
    with tempfile.TemporaryDirectory(prefix="reclaim-fuzz-") as folder:
        frozen = freeze(_held(), _loaded("made").given(_held()), Path(folder) / "made-2026-v1", "code")
        assert frozen.place is not None, frozen.report.lines()
        return {path.name: path.read_bytes() for path in frozen.place.iterdir()}


# The gate over a candidate whose records are wrong.

Spoil = tuple[str, int, Any]
spoils = st.tuples(
    st.sampled_from(["sample", "sample", "sample", "receipts", "ledger", "index", "early", "edition", "answers"]),
    st.integers(0, 10_000),
    edits,
)


def spoilt(held: Material, given: Spoil) -> Material:
    """The material with one record edited, and read again as a store would read it. Raises what reading raises."""
    where, number, changes = given
    if where == "edition":
        return replace(held, edition=Edition.model_validate(edited(held.edition.settings(), changes)))
    if where in ("sample", "answers"):
        at = number % len(held.sample)
        one = Inputs.model_validate(edited(held.sample[at].model_dump(mode="json"), changes))
        changed = replace(held, sample=(*held.sample[:at], one, *held.sample[at + 1 :]))
        # Whoever agrees with the row as it now is binds its decisions anew: then no stale hash tells.
        return _loaded("made").decided(changed) if where == "answers" else changed
    if where == "receipts":
        ids = sorted(held.receipts)
        known = held.receipts[ids[number % len(ids)]]
        one = Receipt.from_json(edited(known.to_json(), changes))
        return replace(held, receipts={**held.receipts, known.id: one})
    if where == "ledger":
        at = number % len(held.entries)
        one = Entry.from_json(edited(held.entries[at].to_json(), changes)) if number % 3 else None
        return replace(held, entries=(*held.entries[:at], *([one] if one else []), *held.entries[at + 1 :]))
    if where == "index":
        at = number % len(held.index)
        said = edited(vars_of(held.index[at]), changes)
        return replace(held, index=(*held.index[:at], IndexLine(**said), *held.index[at + 1 :]))
    at = number % len(held.early)
    said = edited(vars_of(held.early[at]), changes)
    return replace(held, early=(*held.early[:at], Exclusion(**said), *held.early[at + 1 :]))


def vars_of(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


JUDGED = (
    "paper_kind", "score", "tier", "audited_h100_hours", "central_claim", "claim_evidence", "verified_links",
    "match_target", "selection_band", "h100_band",
)  # fmt: skip
"""Fields of a published row that people judged: no other value of theirs may pass with these people's answers."""


def a_candidate(given: Spoil) -> None:
    """Refused by a named rule, or what people judged stands as they judged it; never an exception of the gate."""
    held, made_ = _held(), _loaded("made")
    try:
        material = spoilt(held, given)
    except (ValidationError, LedgerError, KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return  # the store refuses it before any gate
    try:
        made = compose(material)
        lines = tables(material, made)
    except Exception:
        # A build cannot even derive it; `verify` names such a paper. Nothing that people signed gets here.
        assert given[0] != "ledger"
        return
    report = gate(Case(material=material, made=made, lines=lines), made_.given(material))
    assert all(check.name for check in report.checks)
    if not report.ok:
        assert report.failures
        assert all(failure.message for failure in report.failures)
        return
    assert given[0] == "answers" or judged(lines) == judged(_good()[1]), "what nobody judged so has passed"


def judged(lines: Any) -> dict[str, list[Any]]:
    return {
        row["custom_id"]: [split, *(row[field] for field in JUDGED), *(s["value"] for s in row["signals"].values())]
        for split in ("eval", "dev")
        for row in lines[split]
    }


# The gate over lines that are not what follows.

lines_ = st.tuples(st.sampled_from(TABLES), st.integers(0, 10_000), edits)


def a_line(given: tuple[str, int, Any]) -> None:
    """Whatever stands in a candidate's tables, the gate answers; and a row whose judged fields changed is refused by it
    or by the comparison that every freeze ends with."""
    table, number, changes = given
    made, good = _good()
    at = number % len(good[table])
    changed = edited(good[table][at], changes)
    lines = {**good, table: [*good[table][:at], changed, *good[table][at + 1 :]]}
    report = gate(Case(material=_held(), made=made, lines=lines), _loaded("made").given(_held()))
    for check in report.checks:
        assert check.ok or check.failures
    wanted = ("signals", "tier", "score", "audited_h100_hours", "match_target", "split", "h100_band", "paper_kind")
    if table in ("eval", "dev") and report.ok:
        for field in wanted:
            values = changed[field], good[table][at][field]
            if field == "signals":
                values = tuple({k: (s["value"], s["verification"]) for k, s in v.items()} for v in values)  # type: ignore[assignment]
            if field == "match_target":
                values = tuple({k: v for k, v in m.items() if k != "scope"} for m in values)  # type: ignore[assignment]
            assert values[0] == values[1], (field, values)


# Both verifiers over forged folders.

forgeries = st.one_of(
    st.tuples(st.just("line"), st.tuples(st.sampled_from(TABLES), st.integers(0, 10_000), edits, st.booleans())),
    st.tuples(
        st.just("lines"),
        st.tuples(st.sampled_from(TABLES), st.sampled_from(["drop", "double", "swap", "junk", "empty"]),
                  st.integers(0, 10_000), odd),
    ),
    st.tuples(st.just("document"), st.tuples(st.sampled_from(DOCUMENTS), edits)),
    st.tuples(st.just("manifest"), st.tuples(edits, st.booleans())),
    st.tuples(st.just("bytes"), st.tuples(st.integers(0, 100), cuts, st.booleans())),
    st.tuples(st.just("release"), st.integers(0, 2**32)),
)  # fmt: skip


@cache
def _place() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="reclaim-fuzz-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


def laid_out(files: dict[str, bytes]) -> Path:
    place = _place() / "made-2026-v1"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for name, data in files.items():
        (place / name).write_bytes(data)
    return place


def forged(kind: str, given: Any) -> Path | None:
    """A folder of a release that somebody forged and sealed again; None where not even a forger can write it."""
    forging, files = _loaded("test_verify"), dict(good_release())
    if kind == "release":
        alone = _loaded("test_verify_alone")
        place = laid_out(files)
        forging.rewrite(place, alone.other_material(_held(), random.Random(given)))
        return place
    if kind == "bytes":
        number, byte_cuts, resealed = given
        # The lone verifier says that it reads no Parquet file: it holds them by their hashes alone.
        names = [n for n in sorted(files) if not (resealed and n.endswith(".parquet"))]
        name = names[number % len(names)]
        files[name] = cut(files[name], byte_cuts)
        place = laid_out(files)
        return resealed_as_it_is(place) if resealed and name != MANIFEST else place
    if kind == "manifest":
        changes, rehashed = given
        said = edited(json.loads(files[MANIFEST]), changes)
        if rehashed and isinstance(said, dict):
            said.pop("manifest_sha256", None)
            said["manifest_sha256"] = forging.digest(said)
        files[MANIFEST] = document(said)
        return laid_out(files)
    if kind == "document":
        name, changes = given
        files[name] = document(edited(json.loads(files[name]), changes))
        return resealed_as_it_is(laid_out(files))
    table, rest = given[0], given[1:]
    lines = [json.loads(line) for line in files[f"{table}.jsonl"].splitlines()]
    if kind == "line":
        number, changes, knowing = rest
        at = number % len(lines)
        lines[at] = edited(lines[at], changes)
        if knowing and table == "ledger":
            lines[at]["id"] = forging.digest(lines[at]["event"])
            told = [lines[at]["site"], lines[at]["seq"], lines[at]["prev_hash"], lines[at]["event"]]
            lines[at]["hash"] = forging.digest(told)
    else:
        how, number, junk = rest
        at = number % len(lines)
        if how == "drop":
            del lines[at]
        elif how == "double":
            lines.insert(at, lines[at])
        elif how == "swap":
            lines[at], lines[0] = lines[0], lines[at]
        elif how == "junk":
            lines[at] = junk
        else:
            lines = []
    files[f"{table}.jsonl"] = jsonl(lines)
    if table in SCHEMAS:
        files[f"{table}.parquet"] = parquet(table, lines)
    place = laid_out(files)
    forging.reseal(place)
    return place


def resealed_as_it_is(place: Path) -> Path:
    """Every hash made true, whatever the files hold."""
    forging = _loaded("test_verify")
    said = json.loads((place / MANIFEST).read_bytes())
    for name, listed in said["files"].items():
        data = (place / name).read_bytes()
        listed |= {"sha256": forging.sha256(data).hexdigest(), "size": len(data)}
        if "lines" in listed and len(listed["lines"]) == data.count(b"\n"):
            kept = [[n, forging.sha256(line).hexdigest()[:16]] for (n, _), line in zip(
                listed["lines"], data.splitlines(keepends=True), strict=False)]  # fmt: skip
            listed["lines"] = kept
    said.pop("manifest_sha256")
    (place / MANIFEST).write_bytes(document({**said, "manifest_sha256": forging.digest(said)}))
    return place


def a_folder(given: tuple[str, Any]) -> None:
    """The same verdict from both, neither raises, and every failure has a name and a place."""
    try:
        place = forged(*given)
    except Exception:
        return  # no type of the table holds it, or no line can be named: not even a forger can write this
    if place is None:
        return
    theirs: Report = verify(place)
    checks, _ = verify_alone.verify(place)
    told = "\n".join([*theirs.lines(), "", *verify_alone.report(checks, [])])
    assert theirs.ok == all(check.ok for check in checks), told
    assert theirs.ok or theirs.failures
    assert all(f.where and f.message for f in theirs.failures)
    assert all(where and problem for check in checks for where, problem in check.failures)


TARGETS = (
    Target("candidates", spoils, a_candidate, round=50, few=3),
    Target("gate", lines_, a_line, round=100, few=4),
    Target("verifiers", forgeries, a_folder, round=20, few=0),
)
