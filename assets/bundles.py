"""Bundles: source and supplement of the sampled papers, in rank order, unpacked, hashed and stored."""

from __future__ import annotations

from dataclasses import asdict

import polars as pl

from assets import corpus
from assets.stages import UNFINISHED, Checked, Stage, Summary, read_rows, write_rows
from assets.workplace import Workplace
from pipeline.bundles import Bundle, BundleFile, Sample, bundle, take_sample
from pipeline.corpus import Exclusion, PaperRecord
from pipeline.database import INFRASTRUCTURE
from pipeline.editions import sample_order
from pipeline.evidence import Json

NOT_SAMPLED = "not_sampled"


def run(work: Workplace, print_: str) -> Summary:
    """Tables `bundles` (the sample, by rank) and `bundle_exclusions` (papers before the last one taken, and those
    beyond)."""
    from pipeline.sources import packages
    from pipeline.sources.trouble import FetchError

    edition = work.edition
    records = {r.arxiv_id: r for r in corpus.records(work)}
    ordered = sample_order(records, edition.seed)
    tokens = {i: work.source_token(i, records[i].version) for i in ordered}
    mirror = edition.live.arxiv_mirror if edition.live and not work.offline else None
    recorder = work.recorder()
    supplements = packages.Supplements(recorder, (records[i] for i in ordered))
    done = 0

    def outcome(arxiv_id: str) -> Bundle | Exclusion:
        nonlocal done
        record = records[arxiv_id]
        try:
            with recorder.call(arxiv_id):
                source = packages.fetch_source(recorder, record, mirror)
                supplement = supplements.fetch(record)
            end = bundle(record, source, supplement, work.store.blobs.put)
        except (FetchError, *INFRASTRUCTURE):
            raise  # no fault of the paper
        except Exception as fault:  # one paper's bytes must not end the run
            detail = f"{type(fault).__name__}: {fault}"[:500]
            end = Exclusion(key=arxiv_id, title=record.title, stage="bundles", reason="crashed", detail=detail)
        done += 1
        if done % 25 == 0:
            work.say(f"bundles {done} fetched, at most {edition.sample_limit} needed")
        return end

    sample = take_sample(ordered, edition.sample_limit, outcome, _known(work, tokens))
    if work.offline and _open(sample):
        # What a service says is gone, it has to say twice: a day passes at once in an offline world.
        work.clock.sleep(edition.second_look_hours * 3600 + 60)
        recorder = work.recorder()
        supplements = packages.Supplements(recorder, (records[i] for i in ordered))
        settled = {e.key: e for e in sample.excluded} | {b.arxiv_id: b for b in sample.bundles if not _failed(b)}
        sample = take_sample(ordered, edition.sample_limit, outcome, settled)
    taken, pending, last = sample.bundles, sample.pending, len(sample.ranks)
    if pending and work.take_prefix:
        # The ranks before the first undetermined paper are a uniform sample by themselves.
        taken, pending, last = sample.prefix, (), sample.decided
    open_ = [b.arxiv_id for b in taken if _failed(b)]
    if pending or open_:
        print_ += UNFINISHED
    beyond = [
        Exclusion(
            key=i,
            title=records[i].title,
            stage="sample",
            reason=NOT_SAMPLED,
            detail=f"rank {rank + 1} lies beyond the sample, which ends at rank {last}",
        )
        for rank, i in enumerate(ordered)
        if rank >= last
    ]
    rows = [bundle_row(b, sample.ranks[b.arxiv_id], tokens[b.arxiv_id], records[b.arxiv_id]) for b in taken]
    write_rows(work, "bundles", rows, ["arxiv_id", "digest"], print_, rank=pl.Int64)
    excluded = [e for e in sample.excluded if sample.ranks[e.key] < last]
    out = [*excluded, *pending, *beyond]
    write_rows(work, "bundle_exclusions", map(asdict, out), ["key", "stage", "reason"], print_)
    return {
        "sampled": len(taken),
        "before_last": len(excluded),
        "undetermined": [*(e.key for e in pending), *open_],
        "beyond": len(beyond),
        "with_supplement": sum(b.supplement_status == "downloaded" for b in taken),
        "warnings": sum(len(b.warnings) for b in taken),
    }


def _failed(found: Bundle) -> bool:
    return found.supplement_status == "failed"


def _open(sample: Sample) -> bool:
    """Whether something in it was not settled."""
    return bool(sample.pending) or any(_failed(found) for found in sample.bundles)


def bundle_row(found: Bundle, rank: int, token: str, record: PaperRecord) -> Json:
    return {**asdict(found), "digest": found.digest, "rank": rank, "token": token, "record": asdict(record)}


def bundle_of(row: Json) -> Bundle:
    fields = {k: v for k, v in row.items() if k not in ("digest", "rank", "token", "record")}
    files = {k: tuple(BundleFile(**f) for f in fields[k]) for k in ("source_files", "supplement_files")}
    return Bundle(**{**fields, **files, "warnings": tuple(fields["warnings"])})


def sampled(work: Workplace) -> list[Json]:
    """The sample's rows in rank order."""
    return sorted(read_rows(work, "bundles"), key=lambda row: row["rank"])


def _known(work: Workplace, tokens: dict[str, str]) -> dict[str, Bundle | Exclusion]:
    """Bundles of an earlier build whose source has not changed since."""
    if work.store.table_print(work.edition.name, "bundles") is None:
        return {}
    rows = read_rows(work, "bundles")
    known = {row["arxiv_id"]: bundle_of(row) for row in rows if tokens.get(row["arxiv_id"]) == row["token"]}
    return {i: b for i, b in known.items() if not _failed(b)}


def check(work: Workplace) -> Checked:
    """The sample is complete: no paper before its last rank is still undetermined."""
    rows = sampled(work)
    pending = [e for e in corpus.exclusions(work, "bundle_exclusions") if e.retry]
    return len(rows), [f"{e.key}: {e.detail}" for e in pending]


STAGE = Stage(
    name="bundles",
    after=("corpus",),
    tables=("bundles", "bundle_exclusions"),
    rules=("pipeline.bundles", "pipeline.sources.packages"),
    parts=("sample", "bundles"),
    run=run,
    check=check,
    inputs=lambda work: {"sources": work.sources_print},
)
