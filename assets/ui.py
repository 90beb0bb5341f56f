"""`reclaim ui`: the auditors' page over one edition in one store, beside Dagster's; and the accounts of that page."""

from __future__ import annotations

import argparse
import getpass
import os
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from assets import audit, bundles, classification, second_looks
from assets.stages import read_rows
from assets.workplace import Workplace, store_root, workplace
from audit_ui.given import Given, Guide, Pool
from pipeline import reference
from pipeline.accounts import AccountError, Accounts
from pipeline.bundles import files_of
from pipeline.evidence import Receipt
from pipeline.paper import Paper, read
from pipeline.store import Store, StoreError

if TYPE_CHECKING:
    from starlette.applications import Starlette


def page(
    work: Workplace, *, hosts: tuple[str, ...] = (), secure: bool = False, share: float = 0.25, dagster: str = ""
) -> Starlette:
    """The page's application over a workplace."""
    from audit_ui.app import app
    from classifiers import guide

    text = guide.load()
    return app(
        Given(
            store=work.store,
            edition=work.edition,
            pool=pool_of(work),
            recheck=lambda receipt: recheck(work, receipt),
            guide=Guide(version=text.version, text=text.text),
            secret=secret(work.store),
            site=work.ledger.site,
            share=share,
            hosts=("127.0.0.1", "localhost", "[::1]", *hosts),
            secure=secure,
            dagster=dagster,
        )
    )


def secret(store: Store) -> str:
    """What signs this store's cookies: RECLAIM_AUDIT_SECRET, or a file made at first use that only its owner reads."""
    if given := os.environ.get("RECLAIM_AUDIT_SECRET"):
        return given
    place = store.root / "audit-secret"
    try:
        made = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(made, secrets.token_hex(32).encode())
        os.close(made)
    except FileExistsError:
        pass
    return place.read_text(encoding="ascii").strip()


def pool_of(work: Workplace) -> Callable[[], Pool]:
    """The pool as the last build left it, read again when a build changed its tables."""
    lock = threading.Lock()
    held: dict[str, Pool] = {}

    def pool() -> Pool:
        with lock:
            print_ = _print(work)
            if print_ not in held:
                held.clear()
                held[print_] = _pool(work, print_)
            return held[print_]

    return pool


def _print(work: Workplace) -> str:
    """Which tables these are. A table is renamed into its place whole, so its time and size tell it from the next."""
    needed = [work.store.table_path(work.edition.name, name) for name in ("bundles", "rows", "receipts", "selection")]
    looks = [work.store.table_path(work.edition.name, name) for name in ("disagreements", "double_reads")]
    try:
        states = [place.stat() for place in (*needed, *filter(Path.is_file, looks))]
        return " ".join(f"{s.st_mtime_ns}.{s.st_size}.{s.st_ino}" for s in states)
    except FileNotFoundError as missing:
        raise StoreError(
            f"edition {work.edition.name} has no pool to audit yet ({missing.filename}); run `reclaim build` first"
        ) from None


def _pool(work: Workplace, print_: str) -> Pool:
    found = {row["arxiv_id"]: bundles.bundle_of(row) for row in bundles.sampled(work)}

    def paper(arxiv_id: str) -> Paper:
        return read(files_of(found[arxiv_id].source_files, work.store.blobs.get))

    return Pool(
        print=print_,
        rows=tuple(audit.pool(work)),
        sample=tuple(classification.derivations(work)),
        receipts={**_double_receipts(work), **classification.receipts_of(work)},
        disagreements=tuple(second_looks.disagreements_of(work)),
        paper=paper,
    )


def _double_receipts(work: Workplace) -> dict[str, Receipt]:
    """What double reads rest on: to be seen beside what they propose."""
    if work.store.table_print(work.edition.name, "double_read_receipts") is None:
        return {}
    return {row["id"]: Receipt.from_json(row) for row in read_rows(work, "double_read_receipts")}


def recheck(work: Workplace, receipt: Receipt) -> Receipt:
    """A receipt's call made again as a stranger, now, whatever the record remembers."""
    from pipeline.sources.probes import Probes
    from pipeline.sources.reading import PaperFacts

    row = next(row for row in bundles.sampled(work) if row["arxiv_id"] == receipt.paper)
    bundle = bundles.bundle_of(row)
    supplement = files_of(bundle.supplement_files, work.store.blobs.get)
    title, authors = row["record"]["title"], tuple(row["record"]["authors"])
    facts = PaperFacts(title=title, arxiv_id=receipt.paper, authors=authors)
    recorder = work.recorder(again=True)
    try:
        probes = Probes(receipt.paper, recorder, supplement, facts, reference.walls())
        return probes.call(receipt.tool, receipt.arguments).receipt
    finally:
        recorder.client.close()


def command(arguments: argparse.Namespace) -> int:
    """`reclaim ui`: serve until stopped, Dagster in a process of its own beside it."""
    import uvicorn

    from audit_ui.security import BindError, check_binding

    tls = arguments.tls_cert is not None and arguments.tls_key is not None
    try:
        check_binding(arguments.audit_host, tls=tls, behind_proxy=bool(arguments.behind_proxy))
    except BindError as error:
        print(f"reclaim: {error}", file=sys.stderr)
        return 1
    root = store_root(arguments.store)
    dagster = "" if arguments.no_dagster else f"http://127.0.0.1:{arguments.port}"
    own = f"{'https' if tls else 'http'}://{arguments.audit_host}:{arguments.audit_port}"
    with workplace(arguments.edition or "sample-2025", root) as work:
        hosts = tuple(filter(None, (arguments.behind_proxy, arguments.audit_host)))
        secure = tls or bool(arguments.behind_proxy)
        made = page(work, hosts=hosts, secure=secure, share=arguments.share, dagster=dagster)
        made.state.site.desk.fresh()  # an edition without a pool is told now, not at the first request
        threading.Thread(target=made.state.site.desk.warm, daemon=True).start()
        child = None if arguments.no_dagster else _dagster(root, arguments.port, own)
        if child is not None:
            print(f"Dagster: {dagster}", file=sys.stderr)
        print(f"Audit:   {own}", file=sys.stderr, flush=True)
        if not made.state.site.desk.accounts.all():
            print("no account yet: reclaim audit user add NAME", file=sys.stderr, flush=True)
        try:
            uvicorn.run(
                made,
                host=arguments.audit_host,
                port=arguments.audit_port,
                log_level="warning",
                ssl_certfile=arguments.tls_cert,
                ssl_keyfile=arguments.tls_key,
                proxy_headers=bool(arguments.behind_proxy),
                server_header=False,
            )
        finally:
            if child is not None:
                child.terminate()
                child.wait()
    return 0


def _dagster(root: Path, port: int, audit_page: str) -> subprocess.Popen[bytes]:
    from assets.build import bury_all_dead_runs, instance

    with instance(root / "dagster") as home:
        bury_all_dead_runs(home, Store.open(root))
    workspace = str(root / "dagster" / "workspace.yaml")
    command = [sys.executable, "-m", "dagster", "dev", "-w", workspace, "-h", "127.0.0.1", "-p", str(port)]
    environment = {**os.environ, "RECLAIM_STORE": str(root), "RECLAIM_AUDIT_PAGE": audit_page}
    child = subprocess.Popen(command, env=environment)
    signal.signal(signal.SIGTERM, lambda *_: (child.terminate(), sys.exit(143)))
    return child


def add_user(arguments: argparse.Namespace) -> int:
    """`reclaim audit user add`: the password comes from the terminal, or from a pipe's first line."""
    if sys.stdin.isatty():
        password = getpass.getpass(f"password for {arguments.name}: ")
        if getpass.getpass("again: ") != password:
            print("reclaim: the two differ; nothing was written", file=sys.stderr)
            return 1
    else:
        password = sys.stdin.readline().rstrip("\n")
    accounts = Accounts(Store.open(store_root(arguments.store)).engine)
    try:
        made = accounts.add(arguments.name, arguments.role, password, datetime.now(UTC))
    except AccountError as error:
        print(f"reclaim: {error}", file=sys.stderr)
        return 1
    print(f"{made.name} may enter the audit page as {made.role}")
    return 0
