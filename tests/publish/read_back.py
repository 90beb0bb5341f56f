"""What readers of a published release see: run in a process of its own, since HF_ENDPOINT is read at import.

`read_back.py ORG/NAME TAG FOLDER` loads the tag as datasets, polars, duckdb and mlcroissant do, and prints as JSON what
they found, by table; FOLDER gets the files, as huggingface_hub downloads them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import datasets
import duckdb
import mlcroissant
import polars as pl
from huggingface_hub import snapshot_download


def nulls(feature: Any, path: str = "") -> list[str]:
    """Where a column's type is null: what a reader guesses who sees nothing but empty lists."""
    if isinstance(feature, dict):
        return [found for name, inner in feature.items() for found in nulls(inner, f"{path}.{name}")]
    if hasattr(feature, "feature"):
        return nulls(feature.feature, f"{path}[]")
    return [path] if feature.dtype == "null" else []


def main(repo: str, tag: str, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {"datasets": {}, "polars": {}, "duckdb": {}, "nulls": [], "columns": {}}
    for config in datasets.get_dataset_config_names(repo, revision=tag):
        loaded = datasets.load_dataset(repo, config, revision=tag)
        for split, rows in loaded.items():
            found["datasets"][f"{config} {split}"] = rows.to_list()
            found["columns"][f"{config} {split}"] = list(rows.features)
            found["nulls"] += [f"{config} {split}{path}" for path in nulls(dict(rows.features))]
    found["default"] = {split: rows.num_rows for split, rows in datasets.load_dataset(repo, revision=tag).items()}
    snapshot_download(repo, repo_type="dataset", revision=tag, local_dir=folder)
    for path in sorted(folder.glob("*.parquet")):
        found["polars"][path.stem] = pl.read_parquet(path).to_dicts()
        asked = duckdb.sql(f"select * from read_parquet('{path}')")
        found["duckdb"][path.stem] = [dict(zip(asked.columns, row, strict=True)) for row in asked.fetchall()]
    described = mlcroissant.Dataset(jsonld=folder / "croissant.json")
    issues = described.metadata.ctx.issues
    found["croissant"] = {"errors": sorted(issues.errors), "warnings": sorted(issues.warnings)}
    for split in ("eval", "dev"):
        found["croissant"][split] = [row[f"{split}/custom_id"].decode() for row in described.records(split)]
    return found


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))))
