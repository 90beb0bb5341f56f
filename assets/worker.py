"""`reclaim worker`: processes of this machine that read shares of an edition for a build elsewhere, under Dask."""

from __future__ import annotations

import argparse
import importlib.util
import os

from assets.build import DATABASE, join_instance
from assets.workplace import store_root
from pipeline.editions import EditionError
from pipeline.store import Store

NEEDS = {
    "RECLAIM_DATABASE": "the build's PostgreSQL database",
    "RECLAIM_BLOBS": "the build's blobs, as an fsspec URL",
    DATABASE: "the PostgreSQL database of Dagster's runs and events",
}


def command(arguments: argparse.Namespace) -> int:
    """Serve a Dask scheduler until it goes away. One thread a process: a reading keeps a core busy, and Dagster's steps
    share no process.
    """
    if importlib.util.find_spec("dagster_dask") is None:
        raise EditionError("reclaim worker needs the extra `machines`: pip install 'reclaim[machines,postgres]'")
    lacking = [f"{name} ({what})" for name, what in NEEDS.items() if not os.environ.get(name)]
    if lacking:
        raise EditionError(f"reclaim worker: {', '.join(lacking)} must be set")
    root = store_root(arguments.store)
    os.environ["RECLAIM_STORE"] = str(root)
    join_instance(Store.open(root).dagster_home)
    os.environ.setdefault("DASK_DISTRIBUTED__WORKER__PRELOAD", '["assets.shards"]')  # read when Dask is imported
    from distributed.cli.dask_worker import main

    folder = root / "dask"
    folder.mkdir(exist_ok=True)
    given = ["--nthreads", "1", "--nworkers", str(arguments.processes), "--no-dashboard"]
    main.main([arguments.scheduler, *given, "--local-directory", str(folder)], standalone_mode=False)
    return 0
