"""What the `reclaim` command's subcommands do that are no stage's own. Each imports what it needs when it runs, so that
quick things stay quick."""

from __future__ import annotations

import argparse
import json
import os
import sys


def build(arguments: argparse.Namespace) -> int:
    from assets import report
    from assets.build import build
    from assets.workplace import load_edition, store_root, workplace
    from pipeline.store import Store

    root = store_root(arguments.store)
    edition = load_edition(arguments.edition, Store.open(root), arguments.world, arguments.classifier)
    as_given = arguments.edition and arguments.world is None and arguments.classifier is None
    with workplace(arguments.edition if as_given else edition.name, root) as work:
        work.minutes, work.take_prefix = arguments.minutes, arguments.take_prefix
        given = {
            "RECLAIM_BUDGET": arguments.budget,
            "RECLAIM_ACCEPT": arguments.accept,
            "RECLAIM_SHARDS": arguments.shards,
            "RECLAIM_EXECUTOR": arguments.executor,
        }
        work.environ = {**os.environ, **{name: text for name, text in given.items() if text is not None}}
        if arguments.refresh is not None:
            from assets import refreshing

            refreshing.begin(work, None if arguments.refresh < 0 else arguments.refresh)
        end = build(work)
        if arguments.double_read:
            from assets import second_looks

            print("\n".join(second_looks.told(second_looks.double_read_pool(work, arguments.double_reader))))
        print(report.closing(work, end))
    return end.exit_code


def plan(arguments: argparse.Namespace) -> int:
    from assets import plan
    from assets.workplace import load_edition, store_root, workplace
    from pipeline.store import Store

    root = store_root(arguments.store)
    name = arguments.edition or "sample-2025"
    if arguments.world is not None:
        name = load_edition(arguments.edition, Store.open(root), arguments.world).name
    with workplace(name, root) as work:
        if arguments.pilot is not None:
            for line in [] if work.offline else plan.secrets(work.edition):
                print(f"reclaim: {line}", file=sys.stderr)
            plan.pilot(work, arguments.pilot)
        print(plan.text(work, plan.plan(work)))
    return 0


def status(arguments: argparse.Namespace) -> int:
    from assets import status
    from assets.workplace import store_root, workplace

    with workplace(arguments.edition or "sample-2025", store_root(arguments.store)) as work:
        print(status.text(work))
    return 0


def task(arguments: argparse.Namespace) -> int:
    for line in (arguments.release / "agent_view.jsonl").read_text(encoding="utf-8").splitlines():
        view = json.loads(line)
        if view["custom_id"] == arguments.paper:
            print(view["task"], end="")
            return 0
    print(f"reclaim: paper {arguments.paper} is in no split of {arguments.release}", file=sys.stderr)
    return 1


def what_if(arguments: argparse.Namespace) -> int:
    from assets import report
    from assets.workplace import store_root, workplace

    changes: dict[str, object] = {}
    if arguments.cap is not None:
        changes |= {"pool_cap_hours": arguments.cap, "split_cap_hours": arguments.cap}
    if arguments.pool is not None:
        changes["pool_size"] = arguments.pool
    if arguments.weights is not None:
        changes["band_weights"] = arguments.weights
    if arguments.draw is not None:
        changes["draw"] = arguments.draw
    with workplace(arguments.edition or "sample-2025", store_root(arguments.store)) as work:
        print(report.what_if(work, changes))
    return 0


def sql(arguments: argparse.Namespace) -> int:
    import duckdb

    from assets import query
    from assets.workplace import store_root, workplace

    with workplace(arguments.edition or "sample-2025", store_root(arguments.store)) as work:
        try:
            print(query.ask(work, arguments.query))
        except duckdb.Error as error:
            print(f"reclaim: {error}", file=sys.stderr)
            return 1
    return 0


def evidence_export(arguments: argparse.Namespace) -> int:
    from assets import release
    from assets.workplace import store_root, workplace

    with workplace(arguments.edition or "sample-2025", store_root(arguments.store)) as work:
        print(release.export_evidence(work, arguments.pack))
    return 0


def offline(arguments: argparse.Namespace) -> int:
    from pipeline.editions import data
    from pipeline.offline.server import serve

    serve(arguments.folder or data("offline", "sample-2025"), arguments.port)
    return 0


def editions(arguments: argparse.Namespace) -> int:
    from assets.workplace import store_root
    from pipeline import editions

    kept = sorted((store_root(arguments.store) / "editions").glob("*.toml"))
    for name in [*editions.shipped(), *map(str, kept)]:
        edition = editions.load(name)
        print(f"{edition.name:24} {edition.hash[:12]}  sample {edition.sample_limit}, pool {edition.pool_size}")
    return 0
