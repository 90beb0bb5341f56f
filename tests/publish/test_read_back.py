"""A published release as its users read it, with the libraries they have, by its tag."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assets.publish import carry_out
from pipeline.release.publication import next_step, release_of
from pipeline.release.tables import SCHEMAS, frame
from pipeline.sources.hub_release import Hub

REPO = "lab/made"
SCRIPT = Path(__file__).with_name("read_back.py")
pytestmark = pytest.mark.slow


@pytest.fixture
def reads(hub: Any, v1: Path, v2: Path, tmp_path: Path) -> Callable[[Path], dict[str, Any]]:
    """Both versions published; what readers see of one."""
    for module in ("datasets", "mlcroissant", "yaml"):
        pytest.importorskip(module)
    for folder in (v1, v2):
        release = release_of(folder)
        client = Hub(REPO, "hf_a_token_that_may_write", hub.url)
        there = client.there(release.name)
        carry_out(client, release, there, next_step(release, there))

    def read(folder: Path) -> dict[str, Any]:
        home = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home"), "HF_HUB_DISABLE_XET": "1"}
        kept = {name: text for name, text in os.environ.items() if not name.startswith("HF_")}
        down = tmp_path / folder.name
        done = subprocess.run(
            [sys.executable, str(SCRIPT), REPO, folder.name, str(down)],
            env={**kept, **home, "HF_HUB_DISABLE_TELEMETRY": "1"}, cwd=tmp_path, capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        assert "Ignoring part of dataset_info" not in done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return read


def due(folder: Path, table: str) -> list[dict[str, Any]]:
    """A table's rows as its columns hold them, from the JSON lines."""
    lines = [json.loads(line) for line in (folder / f"{table}.jsonl").read_bytes().split(b"\n") if line]
    rows: list[dict[str, Any]] = frame(table, lines).to_dicts()
    return rows


def test_every_reader_sees_the_same_rows_with_their_types_and_the_counts_of_the_card(
    hub: Any, reads: Callable[[Path], dict[str, Any]], v1: Path, v2: Path
) -> None:
    yaml = pytest.importorskip("yaml")
    for folder in (v2, v1):
        found = reads(folder)
        places = {"eval": "default test", "dev": "default validation"} | {
            table: f"{table} rows" for table in SCHEMAS if table not in ("eval", "dev")
        }
        assert found["datasets"].keys() == set(places.values())
        assert found["polars"].keys() == found["duckdb"].keys() == SCHEMAS.keys()
        for table, place in places.items():
            rows = due(folder, table)
            assert rows
            assert found["datasets"][place] == rows, table
            assert found["polars"][table] == rows, table
            assert found["duckdb"][table] == rows, table
            assert found["columns"][place] == list(SCHEMAS[table])
        assert found["nulls"] == []
        assert len(found["columns"]["default test"]) == 25
        card = yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---\n")[1])
        counts = {
            f"{info['config_name']} {split['name']}": split["num_examples"]
            for info in card["dataset_info"]
            for split in info["splits"]
        }
        assert counts == {place: len(rows) for place, rows in found["datasets"].items()}
        assert found["default"] == {"test": len(due(folder, "eval")), "validation": len(due(folder, "dev"))}
        croissant = found["croissant"]
        assert (croissant["errors"], croissant["warnings"]) == ([], [])
        for split in ("eval", "dev"):
            assert croissant[split] == [row["custom_id"] for row in due(folder, split)]
    assert hub.unknown == []
