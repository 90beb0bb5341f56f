"""What a build prints at its end, and what-if tables: text for a terminal, from the tables alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from assets.query import connect
from assets.stages import Summary, read_rows, stages
from assets.workplace import Workplace
from pipeline.derivation import Inputs, Rules, derive
from pipeline.editions import Edition
from pipeline.evidence import Json
from pipeline.ledger import head
from pipeline.record import Total
from pipeline.selection import SELECTABLE, Candidate, Selection

if TYPE_CHECKING:
    from assets.build import End

BAR = 28
PAPERS_SHOWN, HOSTS_SHOWN = 50, 6


def funnel(work: Workplace) -> list[tuple[str, int, Mapping[str, int]]]:
    """(what, how many, lost on the way by reason), from the index down.

    Every paper of the index is in exactly one line's loss, or in the last line.
    """
    with connect(work) as tables:

        def count(sql: str) -> int:
            row = tables.execute(f"select count(*) from {sql}").fetchone()
            return int(row[0]) if row else 0

        def lost(column: str, sql: str) -> dict[str, int]:
            return dict(tables.execute(f"select {column}, count(*) from {sql} group by 1").fetchall())

        taken, reserve = (count(f"selection where status = '{status}'") for status in ("taken", "reserve"))
        return [
            ("accepted papers in the index", count('"index"'), {}),
            ("with an arXiv id, each once", count("papers"), lost("reason", "corpus_exclusions")),
            ("sampled, with LaTeX source", count("bundles"), lost("reason", "bundle_exclusions")),
            ("classified", count("rows"), lost("reason", "classification_exclusions")),
            (
                "eligible",
                taken + reserve,
                lost(
                    "split_part(replace(reason, 'excluded because ', ''), ':', 1)",
                    "selection where status = 'excluded'",
                ),
            ),
            ("in the pool for people", taken, {"reserve": reserve} if reserve else {}),
            (
                "decided by people",
                count("audited where state = 'decided'"),
                lost("state", "audited where state <> 'decided'"),
            ),
        ]


def funnel_text(work: Workplace) -> str:
    lines = []
    steps = funnel(work)
    top = max(steps[0][1], 1)
    for what, count, lost in steps:
        bar = "█" * round(BAR * count / top)
        lines.append(f"  {count:>6}  {bar:<{BAR}}  {what}")
        for reason, n in sorted(lost.items(), key=lambda item: (-item[1], item[0])):
            lines.append(f"  {'':>6}  {'':<{BAR}}    - {n} {reason}")
    return "\n".join(lines)


def pool_text(chosen: Selection) -> str:
    """Tier by band, taken of supply, with what each tier lacks."""
    bands = chosen.settings.bands
    lines = ["  " + f"{'taken/supply':<14}" + "".join(f"{band:>10}" for band in bands) + f"{'sum':>8}"]
    for tier in SELECTABLE:
        strata = {s.band: s for s in chosen.strata if s.tier is tier}
        cells = "".join(f"{f'{strata[b].taken}/{strata[b].supply}':>10}" for b in bands)
        lines.append("  " + f"{tier.value:<14}" + cells + f"{sum(s.taken for s in strata.values()):>8}")
    short = {tier.value: n for tier, n in chosen.shortfall.items() if n}
    if short:
        lines.append("  short, and not filled from elsewhere: " + ", ".join(f"{t} {n}" for t, n in short.items()))
    return "\n".join(lines)


def requests_of(work: Workplace) -> Summary:
    """What this run has sent so far, as asset metadata: by outcome, by host, and by the papers that took most."""
    sent = work.record.totals(work.run)

    def rows(name: str, by: Mapping[str, Total]) -> list[Json]:
        return [{name: key or "-", "requests": total.requests, "bytes": total.bytes} for key, total in by.items()]

    return {
        "requests_of_this_run": sent.all.requests,
        "requests_by_outcome": {word: total.requests for word, total in sent.outcomes.items()},
        "requests_by_host": rows("host", sent.hosts),
        "requests_by_paper": rows("paper", sent.papers)[:PAPERS_SHOWN],
    }


def requests_text(work: Workplace) -> str:
    """What this build asked of the world, or "" where it asked nothing."""
    sent = work.record.totals(work.run)
    if not sent.all.requests:
        return ""
    papers = [total.requests for paper, total in sent.papers.items() if paper]
    each = f", {min(papers)} to {max(papers)} for each of {len(papers)} papers" if papers else ""
    hosts = [f"{host} {total.requests}" for host, total in sent.hosts.items()]
    more = f" and {len(hosts) - HOSTS_SHOWN} more" if len(hosts) > HOSTS_SHOWN else ""
    words = ", ".join(f"{total.requests} {word}" for word, total in sent.outcomes.items())
    return "\n".join(
        [
            f"  asked    {sent.all.requests} requests, {sent.all.bytes / 1e6:.1f} MB ({words}){each}",
            f"  of       {len(hosts)} hosts: {', '.join(hosts[:HOSTS_SHOWN])}{more}",
        ]
    )


def closing(work: Workplace, end: End) -> str:
    """The last lines of a build."""
    parts = [f"{work.edition.conference} {work.edition.year} ({work.edition.name})"]
    tables = [table for stage in stages() for table in stage.tables]
    if all(work.store.table_print(work.edition.name, table) is not None for table in tables):
        parts += ["", funnel_text(work)]
    parts += ["", f"{end.name}: {end.detail}"]
    parts += [f"  edition  {work.edition.hash}", f"  ledger   {head(work.ledger.entries())}"]
    if end.release is not None:
        from pipeline.release.folder import MANIFEST

        manifest = json.loads((end.release / MANIFEST).read_bytes())
        parts += [f"  manifest {manifest['manifest_sha256']}"]
    if asked := requests_text(work):
        parts += [asked]
    if end.release is not None:
        parts += [f"  release  {end.release}", f"  check it yourself with  reclaim verify {end.release}"]
    if work.edition.world is not None and work.world.world.facts.fictional:
        parts += [
            "",
            "All papers of this edition are fictional: they show the pipeline, not a conference. To run real ones,",
            "point it at a folder of papers and repositories:  reclaim build --world FOLDER",
            "or at a live conference (needs a network):        reclaim build neurips-2025",
        ]
    return "\n".join(parts)


def what_if(work: Workplace, changes: Mapping[str, object]) -> str:
    """The pool under other settings beside the pool as it is."""
    from assets import classification
    from pipeline.replacement import candidate
    from pipeline.selection import what_if as compare

    receipts = classification.receipts_of(work)
    inputs = [Inputs.model_validate(row["inputs"]) for row in read_rows(work, "rows")]

    def rows(edition: Edition) -> list[Candidate]:
        return [candidate(derive(one, receipts, Rules.of(edition))) for one in inputs]

    found = compare(rows, work.edition, changes)
    return "\n".join(
        [
            f"{work.edition.name} as it is: {len(found.base.ids)} rows",
            pool_text(found.base),
            "",
            f"with {', '.join(f'{k} = {v}' for k, v in changes.items()) or 'nothing changed'}: "
            f"{len(found.variant.ids)} rows",
            pool_text(found.variant),
            "",
            f"enter ({len(found.entered)}): {', '.join(found.entered) or 'none'}",
            f"leave ({len(found.left)}): {', '.join(found.left) or 'none'}",
        ]
    )
