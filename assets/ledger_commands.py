"""The ledger from the command line: decisions in and out, chains between sites."""

from __future__ import annotations

import argparse


def import_(arguments: argparse.Namespace) -> int:
    from assets.workplace import store_root, workplace
    from pipeline.decisions import read_decisions

    with workplace(arguments.edition or "sample-2025", store_root(arguments.store)) as work:
        events = read_decisions(arguments.file.read_text(encoding="utf-8"), str(arguments.file))
        new = work.ledger.append(events)
        print(f"{len(new)} of {len(events)} events are new in the ledger of {work.edition.name}")
    return 0


def form(arguments: argparse.Namespace) -> int:
    from assets import audit, classification
    from assets.workplace import store_root, workplace
    from classifiers import guide
    from pipeline.decisions import export_todo
    from pipeline.files import write

    with workplace(arguments.edition or "sample-2025", store_root(arguments.store)) as work:
        rows, receipts = audit.audited(work), classification.receipts_of(work)
        standings = {r.arxiv_id: r.standing for r in rows}
        form = export_todo((r.derivation for r in rows), standings, receipts, guide.load().version)
        write(arguments.file, form)
        print(f"{len(form.splitlines())} rows wait; fill in {arguments.file} and run `reclaim audit import`")
    return 0


def export(arguments: argparse.Namespace) -> int:
    from assets.workplace import store_root, workplace
    from pipeline.events import chain_lines, head
    from pipeline.files import write

    with workplace(arguments.edition or "sample-2025", store_root(arguments.store)) as work:
        entries = work.ledger.entries()
        write(arguments.file, chain_lines(entries))
        print(f"{len(entries)} entries of {len({e.site for e in entries})} sites, head {head(entries)}")
    return 0


def adopt(arguments: argparse.Namespace) -> int:
    from assets.workplace import store_root, workplace
    from pipeline.events import head, read_chains

    with workplace(arguments.edition or "sample-2025", store_root(arguments.store)) as work:
        text = arguments.file.read_text(encoding="utf-8")
        new = work.ledger.adopt(read_chains(text, work.edition.name, str(arguments.file)))
        print(f"{len(new)} entries are new in the ledger of {work.edition.name}, head {head(work.ledger.entries())}")
    return 0


def status(arguments: argparse.Namespace) -> int:
    from assets import audit
    from assets.workplace import store_root, workplace

    with workplace(arguments.edition or "sample-2025", store_root(arguments.store)) as work:
        rows = audit.audited(work)
        states = {"decided": sum(r.standing.state == "decided" for r in rows), **audit.waiting(rows)}
        print(f"{len(rows)} rows in the pool: " + ", ".join(f"{n} {state}" for state, n in states.items()))
    return 0
