"""Prove a downloaded release, offline: hash every file, derive everything again, and compare row by row.

With the folder alone: labels from receipts, tiers, hours, selection, splits. With an evidence pack also what may not be
redistributed: rows as the papers' sources and the episodes give them, targets at their anchors, receipts on exchanges
and bodies that exist.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TypeVar

import polars as pl
from pydantic import TypeAdapter, ValidationError

from pipeline.compute import Devices, devices_of
from pipeline.corpus import Exclusion
from pipeline.derivation import Inputs, Rules, derive
from pipeline.editions import Edition
from pipeline.events import Entry, explain
from pipeline.evidence import Json, Receipt, canonical, digest
from pipeline.release import gate
from pipeline.release.agent_view import Figure
from pipeline.release.case import Case
from pipeline.release.changelog import LATER
from pipeline.release.companions import COMPANIONS, words
from pipeline.release.compose import EARLY, Composition, IndexLine, Material, compose
from pipeline.release.contents import Contents
from pipeline.release.extraction import extracted
from pipeline.release.folder import MANIFEST, Sealed, by_name, facts, open_sealed, same
from pipeline.release.pack import Pack, PackError, pack_checks
from pipeline.release.publication import name_of
from pipeline.release.report import Check, Report, Tally, tried
from pipeline.release.tables import DOCUMENTS, SCHEMAS, TABLES, Lines, document, documents, frame, row_name, tables
from pipeline.release.verify_alone import KNOWN_DEVICES, RULES, TABLE_RULES

Look = Callable[[Case, Pack | None], Report]
"""Checks beyond the rules, which this module may not import: a replay, new probes."""


def verify(
    folder: Path, evidence: Path | None = None, *, ledger_head: str | None = None, edition_hash: str | None = None,
    manifest: str | None = None, code_print: str | None = None, also: Sequence[Look] = (),
) -> Report:  # fmt: skip
    """Every check of a release's folder, and of an evidence pack where one is given. Never raises for a bad folder.

    `ledger_head` and `edition_hash` are those published before the freeze and the first episode; they hold what was
    decided and by which rules. `manifest` is the manifest's hash as it was published; it alone holds what no rule
    derives.
    `code_print` is this machine's; a different one is noted, only a different result fails. `also`: what goes beyond
    the rules, over the same case and the pack (None where there is none that can be read).
    """
    sealed, checks = open_sealed(folder)
    if sealed is None:
        return Report(checks)
    material, devices, read = _material(sealed)
    if material is None or devices is None:
        return Report((*checks, read))
    published = {"ledger_head": ledger_head, "edition_hash": edition_hash, "manifest_sha256": manifest}
    with devices_of(devices):
        proof = _proof(sealed, material, evidence, published, also)
    notes = list(proof.notes)
    if code_print is not None and code_print != sealed.manifest["code_print"]:
        notes.append("this release was made by another state of the code; its results were derived again all the same")
    if code_print is not None and proof.ok:
        notes += _other_words(sealed)
    return Report((*checks, read, *proof.checks), tuple(notes))


def _other_words(sealed: Sealed) -> list[str]:
    """The companions that this code would write otherwise. A later wording makes no release false, yet nothing but the
    manifest's hash tells it from a card or a scorer that somebody forged and sealed again."""
    said = {name: json.loads(sealed.files[name]) for name in DOCUMENTS}
    shown = Contents(
        name=name_of(sealed.files["croissant.json"]),
        edition=said["edition.json"],
        funnel=said["funnel.json"],
        agreement=said["agreement.json"],
        lines={table: sealed.lines(table) for table in TABLES},
        edition_hash=sealed.manifest["edition_hash"],
        ledger_head=sealed.manifest["ledger_head"],
    )
    try:
        due = words(shown, sealed.files)
    except ValueError:  # a name that no file can be written with
        return ["its companions name no release; only the published hash of the manifest proves them"]
    other = [name for name, data in due.items() if data != sealed.files[name]]
    if not other:
        return []
    return [f"not as this code writes them: {', '.join(other)}; only the published hash of the manifest proves those"]


def _proof(
    sealed: Sealed,
    material: Material,
    evidence: Path | None,
    published: Mapping[str, str | None],
    also: Sequence[Look],
) -> Report:
    """What follows from the recorded tables, once they could be read."""
    made, again = _composed(material)
    if made is None:
        return Report((again,))
    lines = {table: sealed.lines(table) for table in TABLES}
    case = Case(material=material, made=made, lines=lines)
    checks = tuple(tried(check, case) for check in gate.FOLDER)
    checks = (*checks, tried(_derived, sealed, material, made, lines), tried(_rendered, sealed, lines))
    checks = (*checks, tried(_manifest_said, sealed, material, made, published))
    pack, opened = _opened(evidence)
    with nullcontext() if pack is None else pack.archive:
        looks = [look(case, pack) for look in also]
        checks = (*checks, *opened, *_proven(case, pack), *(check for found in looks for check in found.checks))
    return Report(checks, tuple(note for found in looks for note in found.notes))


def _material(sealed: Sealed) -> tuple[Material | None, Devices | None, Check]:
    """The recorded tables as typed values, and the device table of the release. None where a line is not what its
    table holds; every such line is named."""
    tally = Tally("recorded tables can be read")
    read: dict[str, list[object]] = {}
    readers: Mapping[str, Callable[[dict[str, Json]], object]] = {
        "sample": Inputs.model_validate,
        "receipts": _receipt,
        "ledger": Entry.from_json,
        "index": lambda line: _strictly(_INDEX, line),
        "figures": lambda line: _strictly(_FIGURE, line),
        "exclusions": lambda line: _strictly(_EXCLUSION, line),
    }
    edition = None
    try:
        settings = _document(sealed, "edition.json")
        edition = Edition.model_validate(settings)
        tally.look(
            "edition.json", [] if digest(settings) == sealed.manifest["edition_hash"] else ["edition hash differs"]
        )
    except ValidationError as error:
        tally.look("edition.json", [f"is no edition: {explain(error)}"])
    except (ValueError, KeyError, RecursionError) as error:
        tally.look("edition.json", [f"is no edition: {error}"])
    devices = None
    try:
        said = _document(sealed, "devices.json")
        devices = Devices.model_validate(said)
        tally.look("devices.json", _unknown_devices(devices, said))
    except ValidationError as error:
        tally.look("devices.json", [f"is no device table: {explain(error)}"])
    except (ValueError, KeyError, RecursionError) as error:
        tally.look("devices.json", [f"cannot be read: {error}"])
    for name in (n for n in DOCUMENTS if n not in ("edition.json", "devices.json")):
        try:
            _document(sealed, name)
            tally.look(name)
        except (ValueError, KeyError, RecursionError) as error:
            tally.look(name, [f"cannot be read: {error}"])
    for table in (*SCHEMAS, "agent_view"):
        reader = readers.get(table, _json_object)
        read[table] = []
        for number, raw in enumerate(_texts(sealed, table), start=1):
            where = f"{table}.jsonl line {number}"
            try:
                line = _json(raw)
                where = f"{table}.jsonl {row_name(table, line)}"
                read[table].append(reader(line))
                tally.look(where, [] if canonical(line) == raw else ["is not canonical JSON"])
            except ValidationError as error:
                tally.look(where, [explain(error)])
            except (ValueError, RecursionError) as error:
                tally.look(where, [str(error)])
            except (KeyError, TypeError, AttributeError) as error:
                tally.look(where, [f"lacks {error}"])
        whole = "".join(f"{raw}\n" for raw in _texts(sealed, table)).encode() == sealed.files.get(f"{table}.jsonl")
        tally.look(f"{table}.jsonl", [] if whole else ["is not UTF-8 lines, each with a text and ended by a line feed"])
    for name in _expected_files():
        if name not in sealed.files:
            tally.look(name, ["is missing from the release"])
    for name in sorted(set(sealed.files) - {*_expected_files(), *LATER}):
        tally.look(name, ["is no file of a release"])
    check = tally.done()
    if not check.ok or edition is None:
        return None, None, check
    receipts = [r for r in read["receipts"] if isinstance(r, Receipt)]
    material = Material(
        edition=edition,
        index=tuple(line for line in read["index"] if isinstance(line, IndexLine)),
        early=tuple(e for e in read["exclusions"] if isinstance(e, Exclusion) and e.stage in EARLY),
        sample=tuple(i for i in read["sample"] if isinstance(i, Inputs)),
        receipts={receipt.id: receipt for receipt in receipts},
        entries=tuple(e for e in read["ledger"] if isinstance(e, Entry)),
        figures=tuple(f for f in read["figures"] if isinstance(f, Figure)),
    )
    return material, devices, check


def _unknown_devices(devices: Devices, said: Json) -> list[str]:
    """An old release keeps the table that it was frozen with; whoever changes a factor changes no version of ours."""
    known = KNOWN_DEVICES.get(devices.version)
    if known is None:
        return [f"is version {devices.version}, which this code does not know; take a newer one"]
    return [] if digest(said) == known else [f"is not version {devices.version} of the device table"]


def _composed(material: Material) -> tuple[Composition | None, Check]:
    """Everything derived again; None where no rule can read what was recorded, with the papers at fault named."""
    tally = Tally("everything can be derived again")
    times = Counter(inputs.arxiv_id for inputs in material.sample)
    for inputs in material.sample:
        wrong = ["stands twice in the sample"] if times[inputs.arxiv_id] > 1 else []
        try:
            derive(inputs, material.receipts, Rules.of(material.edition))
        except Exception as error:  # a forged input may break any rule in any way; it is the paper's failure, not ours
            wrong.append(f"cannot be derived ({type(error).__name__}: {error})")
        tally.look(inputs.arxiv_id, wrong)
    if tally.failures:
        return None, tally.done()
    try:
        return compose(material), tally.done()
    except Exception as error:
        tally.look("the release", [f"cannot be derived ({type(error).__name__}: {error})"])
        return None, tally.done()


def _texts(sealed: Sealed, table: str) -> list[str]:
    data = sealed.files.get(f"{table}.jsonl", b"").decode(errors="replace")
    return [line for line in data.split("\n") if line]


def _expected_files() -> tuple[str, ...]:
    return (*(f"{t}.jsonl" for t in TABLES), *(f"{t}.parquet" for t in SCHEMAS), *DOCUMENTS, *COMPANIONS)


def _json(raw: str) -> dict[str, Json]:
    line = json.loads(raw)
    if not isinstance(line, dict):
        raise ValueError("is no JSON object")
    return line


def _json_object(line: dict[str, Json]) -> object:
    return line


def _document(sealed: Sealed, name: str) -> dict[str, Json]:
    value = _json(sealed.files[name].decode())
    if document(value) != sealed.files[name]:
        raise ValueError("is not canonical JSON")
    return value


_INDEX, _FIGURE, _EXCLUSION = TypeAdapter(IndexLine), TypeAdapter(Figure), TypeAdapter(Exclusion)
_RECEIPT = TypeAdapter(Receipt)
T = TypeVar("T")


def _strictly(kind: TypeAdapter[T], line: dict[str, Json]) -> T:
    """A line as a dataclass whose annotations hold: a text is no null, a number no text. Raises ValidationError."""
    return kind.validate_json(canonical(line), strict=True)


def _receipt(line: dict[str, Json]) -> Receipt:
    receipt = _strictly(_RECEIPT, line)
    if receipt.id != line["id"]:
        raise ValueError(f"receipt {line['id'][:16]} does not hash to its id")
    return receipt


def _derived(sealed: Sealed, material: Material, made: Composition, lines: Mapping[str, Lines]) -> Check:
    """Every table derived again from the recorded ones, and compared field by field."""
    tally = Tally("every row is what its evidence, edition and ledger give")
    expected = tables(material, made)
    for table in TABLES:
        due, there = by_name(table, expected[table]), by_name(table, lines[table])
        for name in sorted(due.keys() | there.keys()):
            tally.look(f"{table}.jsonl {name}", _differences(table, due.get(name), there.get(name)))
        if list(due) != list(there) and due.keys() == there.keys():
            tally.look(f"{table}.jsonl", ["its lines are not in their order"])
    for name, value in documents(material, made).items():
        found = _document(sealed, name)
        wrong = [
            f"{k} is {found.get(k)!r}, derived {value.get(k)!r}" for k in value if not same(found.get(k), value.get(k))
        ]
        tally.look(name, wrong + [f"{k} does not belong here" for k in found.keys() - value.keys()])
    return tally.done()


def _differences(table: str, due: Mapping[str, Json] | None, there: Mapping[str, Json] | None) -> list[str]:
    rule = TABLE_RULES[table]
    in_split = table in ("eval", "dev")
    if due is None or there is None:
        rule = "splits are the replay of selection and ledger" if in_split else rule
        return [f"{rule}: this row {'is not derived' if due is None else 'is derived and missing'}"]
    if same(due, there):
        return []
    rules: Mapping[str, str] = RULES if in_split else {}
    return [
        f"{rules.get(field, rule)}: {field} is {there.get(field)!r:.200}, derived {due.get(field)!r:.200}"
        for field in sorted(due.keys() | there.keys())
        if field not in due or field not in there or not same(due[field], there[field])
    ]


def _rendered(sealed: Sealed, lines: Mapping[str, Lines]) -> Check:
    """Parquet files hold exactly what the JSON lines hold."""
    tally = Tally("Parquet renders the JSON lines")
    for table in SCHEMAS:
        tally.look(f"{table}.parquet", _unlike(table, lines[table], sealed.files[f"{table}.parquet"]))
    return tally.done()


def _unlike(table: str, lines: Lines, data: bytes) -> list[str]:
    try:
        due = frame(table, lines)
        there = pl.read_parquet(io.BytesIO(data), use_pyarrow=False)
    except BaseException as error:  # polars panics (a BaseException) on some damaged files
        if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit | MemoryError):
            raise
        return [f"cannot be read ({type(error).__name__})"]
    if due.schema != there.schema:
        return ["its columns or their types are not the table's"]
    if due.height != there.height:
        return [f"has {there.height} rows, the JSON lines {due.height}"]
    rows = zip(due.iter_rows(), there.iter_rows(), lines, strict=True)
    return [f"row {row_name(table, line)}: differs from the JSON line" for a, b, line in rows if repr(a) != repr(b)]


def _manifest_said(sealed: Sealed, material: Material, made: Composition, published: Mapping[str, str | None]) -> Check:
    tally = Tally("the manifest says what the files give")
    due = facts(material, made, sealed.manifest["code_print"])
    said = {key: sealed.manifest.get(key) for key in sealed.manifest if key not in ("files", "manifest_sha256")}
    for key in sorted(due.keys() | said.keys()):
        wrong = [] if same(due.get(key), said.get(key)) else [f"{key} is {said.get(key)!r}, derived {due.get(key)!r}"]
        tally.look(MANIFEST, wrong)
    due["manifest_sha256"] = sealed.manifest["manifest_sha256"]
    for name, known in published.items():
        if known is not None:
            tally.look(name, [] if due[name] == known else [f"is {due[name]}, and {known} was published"])
    return tally.done()


def _opened(place: Path | None) -> tuple[Pack | None, tuple[Check, ...]]:
    if place is None:
        return None, ()
    try:
        return Pack.open(place), ()
    except PackError as error:
        tally = Tally("the evidence pack can be read")
        tally.look(place, [str(error)])
        return None, (tally.done(),)


def _proven(case: Case, pack: Pack | None) -> tuple[Check, ...]:
    if pack is None:
        return ()
    on_papers = (tried(check, case, pack.paper) for check in gate.PAPERS)
    return (*pack_checks(case, pack), *on_papers, tried(extracted, case, pack))
