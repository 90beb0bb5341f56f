"""Release: pass the gate and freeze, or say what is in the way. A frozen folder is never written again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from assets import audit, bundles, classification, corpus
from assets.stages import UNFINISHED, Checked, Stage, Summary, code_of, prints, read_rows, stages, write_rows
from assets.workplace import Workplace
from pipeline.bundles import files_of
from pipeline.derivation import Inputs
from pipeline.evidence import Json
from pipeline.paper import Paper, read
from pipeline.record import request_of
from pipeline.release import pack
from pipeline.release.agent_view import Figure, is_figure
from pipeline.release.compose import IndexLine, Material
from pipeline.release.folder import MANIFEST
from pipeline.release.freeze import RULES, FreezeError, Frozen, freeze, version_of
from pipeline.release.gate import Given
from pipeline.release.report import Failure


@dataclass(frozen=True, slots=True)
class Verdict:
    name: Literal["released", "blocked", "waiting for people"]
    detail: str
    release: Path | None = None


def run(work: Workplace, print_: str) -> Summary:
    """Table `release`: where the frozen folder lies, or what the gate found. Nothing is frozen while rows wait."""
    rows = audit.audited(work)
    open_ = audit.waiting(rows)
    if not open_ and (owed := audit.owed(work, rows)):
        open_ = {"owed a second reading": len(owed)}
    frozen, failures = (None, []) if open_ else _freeze(work)
    listed = [{"where": f.where, "message": f.message, "rule": rule} for rule, f in failures]
    place = frozen.place.name if frozen is not None and frozen.place is not None else None
    row = {"release": place, "open": open_, "failures": listed}
    write_rows(work, "release", [row], ["release"], print_)
    if frozen is None:
        return {"frozen": False, **open_}
    return {
        "frozen": place is not None,
        "folder": str(frozen.place),
        "eval": len(frozen.made.splits.eval),
        "dev": len(frozen.made.splits.dev),
        "failures": listed[:100],
        "checks": [{"check": c.name, "checked": c.checked, "failed": len(c.failures)} for c in frozen.report.checks],
    }


def _freeze(work: Workplace) -> tuple[Frozen, list[tuple[str, Failure]]]:
    """Freeze as the version that is there already, where nothing changed since, or as the one after the last."""
    made_from, given = material(work), _given(work)
    last = versions(work)[-1:]

    def frozen(version: int) -> Frozen:
        place = work.store.releases / f"{work.edition.name}-v{version}"
        return freeze(made_from, given, place, code_of(STAGE))

    try:
        made = frozen(last[0] if last else 1)
    except FreezeError:
        made = frozen(last[0] + 1)
    return made, [(check.name, f) for check in made.report.checks for f in check.failures]


def versions(work: Workplace) -> list[int]:
    """The numbers of the edition's frozen versions, in order."""
    there = work.store.releases.iterdir() if work.store.releases.is_dir() else ()
    told = (version_of(place.name) for place in there if place.is_dir())
    return sorted(version for name, version in told if name == work.edition.name and version)


def material(work: Workplace) -> Material:
    """What the release rests on, out of the tables and the ledger."""
    kept = {row["index_key"]: row["arxiv_id"] for row in read_rows(work, "papers")}
    index = [
        IndexLine(key=r["key"], arxiv_id=kept.get(r["key"], ""), title=r["title"]) for r in read_rows(work, "index")
    ]
    early = [e for t in ("corpus", "bundle", "classification") for e in corpus.exclusions(work, f"{t}_exclusions")]
    return Material(
        edition=work.edition,
        index=tuple(sorted(index, key=lambda line: line.key)),
        early=tuple(sorted(early, key=lambda e: (e.key, e.stage, e.reason))),
        sample=tuple(Inputs.model_validate(row["inputs"]) for row in read_rows(work, "rows")),
        receipts=classification.receipts_of(work),
        entries=tuple(work.ledger.entries()),
        figures=tuple(
            Figure(custom_id=row["arxiv_id"], file=f.path, sha256=f.sha256, size=f.size)
            for row in bundles.sampled(work)
            for f in bundles.bundle_of(row).source_files
            if is_figure(f.path)
        ),
    )


def _given(work: Workplace) -> Given:
    files = {row["arxiv_id"]: bundles.bundle_of(row).source_files for row in bundles.sampled(work)}

    def paper(arxiv_id: str) -> Paper | None:
        found = files.get(arxiv_id)
        return None if found is None else read(files_of(found, work.store.blobs.get))

    seen: dict[str, datetime] = {}
    for id_, receipt in classification.receipts_of(work).items():
        spans = [span for e in receipt.exchanges if (span := work.record.seen_span([e])) is not None]
        if not receipt.exchanges:
            seen[id_] = work.clock.now()  # read from the bundle: it cannot age
        elif len(spans) == len(receipt.exchanges):
            seen[id_] = min(last for _, last in spans)
    present = prints(work)
    current = [
        (stage.name, work.store.table_print(work.edition.name, table), present[stage.name])
        for stage in stages()
        if stage.name != STAGE.name
        for table in stage.tables
    ]
    left = dict.fromkeys(stage for stage, print_, _ in current if (print_ or "").endswith(UNFINISHED))
    return Given(papers=paper, seen=seen, frozen_at=work.clock.now(), stages=tuple(current), unfinished=tuple(left))


def lost(work: Workplace) -> bool:
    """Whether the folder of the last freeze was moved away: then it is frozen again, or as the next version."""
    (row,) = read_rows(work, "release")
    return row["release"] is not None and not (work.store.releases / row["release"] / MANIFEST).is_file()


def verdict(work: Workplace) -> Verdict:
    """How the last freeze of an edition ended."""
    (row,) = read_rows(work, "release")
    if row["open"]:
        count = sum(row["open"].values())
        how = ", ".join(f"{n} {state}" for state, n in row["open"].items())
        what = f"{count} pool rows are not decided ({how})"
        return Verdict("waiting for people", f"{what}; see `reclaim ui` or `reclaim audit form`")
    if row["release"] is None:
        lines = [f"{f['rule']}: {f['where']}: {f['message']}" for f in row["failures"]]
        more = "\n".join(f"  - {line}" for line in lines[:40])
        return Verdict("blocked", f"{len(lines)} failures at the gate\n{more}")
    place = work.store.releases / row["release"]
    return Verdict("released", f"{row['release']}, every check of the gate passed, and the folder verifies", place)


def export_evidence(work: Workplace, place: Path) -> str:
    """Write the evidence pack of the edition's release: exchanges and bodies of its receipts, every sighting of what
    they asked, sources and supplements of its papers, and what the classifier answered about each."""
    named = {id_ for receipt in classification.receipts_of(work).values() for id_ in receipt.exchanges}
    asked = {request_of(e) for id_ in sorted(named) if (e := work.record.get_exchange(id_)) is not None}
    # Also what the same requests were answered at other times: whether a thing is gone depends on it.
    seen = [sighting for request in sorted(asked) for sighting in work.record.seen(request)]
    sightings = [pack.Seen(exchange=s.exchange.id, at=s.seen_at, attempt=s.attempt, headers=s.headers) for s in seen]
    papers = {row["arxiv_id"]: _held(row) for row in bundles.sampled(work)}
    exchanges = {s.exchange.id: s.exchange for s in seen}
    episodes = classification.episodes_of(work)
    asked_for = {key for episode in episodes for key in episode.account.get("turns") or ()}
    turns = {key: turn.response_sha256 for key in asked_for if (turn := work.record.get_turn(key)) is not None}
    written = pack.export(exchanges.values(), sightings, papers, episodes, work.store.blobs.get, place, turns)
    held = f"{len(exchanges)} exchanges, sources of {len(papers)} papers, {len(episodes)} episodes"
    held += f", {len(turns)} model turns" if turns else ""
    return f"{written}: {held}; not for redistribution"


def _held(row: Json) -> pack.Held:
    record, bundle = corpus.record_of(row["record"]), bundles.bundle_of(row)
    return pack.Held(
        version=record.version,
        title=record.title,
        authors=record.authors,
        source={f.path: f.sha256 for f in bundle.source_files},
        supplement={f.path: f.sha256 for f in bundle.supplement_files},
    )


def check(work: Workplace) -> Checked:
    """The gate passed and the folder is frozen."""
    (row,) = read_rows(work, "release")
    faults = [f"{f['rule']}: {f['where']}: {f['message']}" for f in row["failures"]]
    return 1, faults + [f"{n} rows {state}" for state, n in row["open"].items()]


STAGE = Stage(
    name="release",
    after=("corpus", "bundles", "classification", "selection", "audit"),
    tables=("release",),
    rules=RULES,
    parts=("release",),
    run=run,
    check=check,
    lost=lost,
)
