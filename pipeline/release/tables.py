"""The tables of a release: canonical JSON lines, which are the truth, and Parquet, which is a rendering of them.

Every table is a list of JSON objects in a total order, one a line. Columns and their types are written here and in
`pipeline.row`; nothing is guessed from values, so an empty list or an all-null column has the same type as a full one.
"""

from __future__ import annotations

import io
import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import polars as pl
from pydantic import BaseModel

from pipeline.audit import Audited
from pipeline.compute import load_devices
from pipeline.dates import posted
from pipeline.derivation import Derivation, Inputs
from pipeline.evidence import Json, Signal, canonical
from pipeline.release.agent_view import agent_view
from pipeline.release.compose import Composition, Material, agreement, funnel
from pipeline.row import Row
from pipeline.targets import Target

Lines = list[dict[str, Json]]
Schema = dict[str, pl.DataType]


def column(annotation: Any) -> pl.DataType:
    """The Parquet type of a field. Whatever has no fixed shape (a mapping, any JSON) is a string of canonical JSON."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return column(args[0])
    if origin in (Union, types.UnionType):
        inner = [a for a in args if a is not type(None)]
        return column(inner[0]) if len(inner) == 1 else pl.String()
    if origin is Literal:
        return pl.String()
    if origin in (list, tuple):
        return pl.List(column(args[0]))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return pl.Struct(schema(annotation))
    plain: dict[Any, pl.DataType] = {bool: pl.Boolean(), int: pl.Int64(), float: pl.Float64()}
    return plain.get(annotation, pl.String())


def schema(model: type[BaseModel]) -> Schema:
    return {name: column(info.annotation) for name, info in model.model_fields.items()}


_TEXTS = pl.List(pl.String())
SCHEMAS: Mapping[str, Schema] = {
    "eval": schema(Row),
    "dev": schema(Row),
    "sample": schema(Inputs),
    "receipts": {
        **dict.fromkeys(("id", "paper", "tool", "arguments"), pl.String()),
        "exchanges": _TEXTS,
        **dict.fromkeys(("outcome", "reason", "subject", "facts"), pl.String()),
    },
    "targets": {"custom_id": pl.String(), **schema(Target)},
    "inventory": dict.fromkeys(("custom_id", "item", "caption", "reason"), pl.String()),
    "selection": {
        "custom_id": pl.String(),
        "row_hash": pl.String(),
        **{str(s): pl.Boolean() for s in Signal},
        **{f"{s}_verification": pl.String() for s in Signal},
        **{f"{s}_status": pl.String() for s in Signal},
        **dict.fromkeys(("hours_low", "hours", "hours_high"), pl.Float64()),
        "factors": _TEXTS,
        **dict.fromkeys(("score_needs", "score_published"), pl.Int64()),
        **dict.fromkeys(("tier", "band", "pool_status", "pool_reason"), pl.String()),
        "pool_rank": pl.Int64(),
        "pool_inclusion": pl.Float64(),
        "audit_state": pl.String(),
        "overturned": _TEXTS,
        "audited_hours": pl.Float64(),
        "audited_score_needs": pl.Int64(),
        "audited_score_published": pl.Int64(),
        **dict.fromkeys(("audited_tier", "audited_excluded", "split_status", "split_reason"), pl.String()),
        "split_rank": pl.Int64(),
        "split_inclusion": pl.Float64(),
        "split": pl.String(),
    },
    "ledger": {
        "site": pl.String(),
        "seq": pl.Int64(),
        **dict.fromkeys(("prev_hash", "hash", "id", "event"), pl.String()),
    },
    "exclusions": dict.fromkeys(("key", "title", "stage", "reason", "detail"), pl.String()),
    "index": dict.fromkeys(("key", "arxiv_id", "title"), pl.String()),
    "dates": dict.fromkeys(("custom_id", "posted"), pl.String()),
    "figures": {**dict.fromkeys(("custom_id", "file", "sha256"), pl.String()), "size": pl.Int64()},
}
"""Every table that is also Parquet. The agent view is JSON lines only: it is handed out line by line."""

TABLES = (*SCHEMAS, "agent_view")
RECORDED = ("sample", "receipts", "ledger", "index", "figures")
"""Tables that a release cannot derive; with the edition and the early exclusions, all the others follow from them."""
DOCUMENTS = ("edition.json", "funnel.json", "agreement.json", "devices.json")

KEYS: Mapping[str, str] = {"sample": "arxiv_id", "receipts": "paper", "exclusions": "key", "index": "key"}
"""The field that names a table's row to a reader; `custom_id` elsewhere, and the event's paper in the ledger."""


def row_name(table: str, line: Mapping[str, Json]) -> str:
    """How a failure names one line of a table: its paper, with the item where a paper has several."""
    if table == "ledger":
        return f"{line['event'].get('paper')} ({line['site']} {line['seq']})"
    name = str(line.get(KEYS.get(table, "custom_id")))
    extra = {"receipts": "id", "inventory": "item", "figures": "file"}.get(table)
    return f"{name} ({str(line.get(extra))[:16]})" if extra else name


def tables(material: Material, made: Composition) -> dict[str, Lines]:
    """All tables of a release, each in its total order."""
    rows = {split: [row.model_dump(mode="json") for row in made.rows[split]] for split in made.rows}
    sample = sorted(material.sample, key=lambda i: i.arxiv_id)
    receipts = [material.receipts[i] for inputs in sample for i in inputs.citable if i in material.receipts]
    audited = {paper.arxiv_id: paper for paper in made.audited}
    pool = {row["arxiv_id"]: row for row in made.pool.rows.to_dicts()}
    split = {row["arxiv_id"]: row for row in made.splits.by_rule.rows.to_dicts()}
    return {
        "eval": rows["eval"],
        "dev": rows["dev"],
        "sample": [inputs.model_dump(mode="json") for inputs in sample],
        "receipts": [receipt.to_json() for receipt in receipts],
        "targets": [
            {"custom_id": a.arxiv_id, **a.inputs.target.model_dump(mode="json")}
            for a in made.chosen
            if a.inputs.target is not None
        ],
        "inventory": [
            {"custom_id": inputs.arxiv_id, **item.model_dump(mode="json")}
            for inputs in sample
            for item in inputs.inventory
        ],
        "selection": [
            _selection(row, audited.get(row.arxiv_id), pool[row.arxiv_id], split.get(row.arxiv_id, {}), made)
            for row in made.derivations
        ],
        "ledger": [entry.to_json() for entry in sorted(material.entries, key=lambda e: (e.site, e.seq))],
        "exclusions": [
            {"key": e.key, "title": e.title, "stage": e.stage, "reason": e.reason, "detail": e.detail}
            for e in made.exclusions
        ],
        "index": [
            {"key": line.key, "arxiv_id": line.arxiv_id, "title": line.title}
            for line in sorted(material.index, key=lambda line: line.key)
        ],
        "dates": [{"custom_id": inputs.arxiv_id, "posted": posted(inputs.arxiv_id)} for inputs in sample],
        "figures": [
            {"custom_id": f.custom_id, "file": f.file, "sha256": f.sha256, "size": f.size}
            for f in sorted(material.figures, key=lambda f: (f.custom_id, f.file))
            if made.splits.split(f.custom_id)
        ],
        "agent_view": [
            agent_view(row, [f for f in material.figures if f.custom_id == row.custom_id])
            for rows_ in (made.rows["eval"], made.rows["dev"])
            for row in rows_
        ],
    }


def _selection(
    row: Derivation, audited: Audited | None, pool: Mapping[str, Json], split: Mapping[str, Json], made: Composition
) -> dict[str, Json]:
    """One derived paper's way through selection, audit and split."""
    labels = {label.signal: label for label in row.labels}
    return {
        "custom_id": row.arxiv_id,
        "row_hash": row.row_hash,
        **{str(s): labels[s].value for s in Signal},
        **{f"{s}_verification": str(labels[s].verification) for s in Signal},
        **{f"{s}_status": str(labels[s].status) for s in Signal},
        "hours_low": row.estimate.low,
        "hours": row.estimate.mid,
        "hours_high": row.estimate.high,
        "factors": list(row.estimate.factor_ids),
        "score_needs": row.score_needs,
        "score_published": row.score_published,
        "tier": None if row.tier is None else row.tier.value,
        "band": row.band,
        "pool_status": pool["status"],
        "pool_reason": pool["reason"],
        "pool_rank": pool["rank"],
        "pool_inclusion": pool["inclusion"],
        "audit_state": None if audited is None else audited.standing.state,
        "overturned": [] if audited is None else list(audited.overturned),
        "audited_hours": None if audited is None else audited.hours,
        "audited_score_needs": None if audited is None else audited.score_needs,
        "audited_score_published": None if audited is None else audited.score_published,
        "audited_tier": None if audited is None or audited.tier is None else audited.tier.value,
        "audited_excluded": None if audited is None else audited.excluded,
        "split_status": split.get("status"),
        "split_reason": split.get("reason"),
        "split_rank": split.get("rank"),
        "split_inclusion": split.get("inclusion"),
        "split": made.splits.split(row.arxiv_id),
    }


def documents(material: Material, made: Composition) -> dict[str, Json]:
    """`devices.json` holds the factors that hours follow from, so that they can be derived with the folder alone."""
    return {
        "edition.json": material.edition.settings(),
        "funnel.json": funnel(material, made),
        "agreement.json": agreement(material, made),
        "devices.json": load_devices().model_dump(mode="json"),
    }


def jsonl(lines: Sequence[Mapping[str, Json]]) -> bytes:
    return "".join(canonical(line) + "\n" for line in lines).encode()


def document(value: Json) -> bytes:
    return (canonical(value) + "\n").encode()


def frame(table: str, lines: Sequence[Mapping[str, Json]]) -> pl.DataFrame:
    """A table's lines as columns. Raises KeyError for a missing field, polars' errors for a value out of its type."""
    types_ = SCHEMAS[table]
    return pl.DataFrame(
        [pl.Series(name, [_cell(t, line[name]) for line in lines], dtype=t, strict=True) for name, t in types_.items()]
    )


def _cell(type_: pl.DataType, value: Json) -> Any:
    """A JSON value as its column holds it."""
    if value is None:
        return None
    if isinstance(type_, pl.Struct):
        return {f.name: _cell(_made(f.dtype), value[f.name]) for f in type_.fields}
    if isinstance(type_, pl.List):
        return [_cell(_made(type_.inner), item) for item in value]
    if isinstance(type_, pl.Float64):
        return float(value)
    if isinstance(type_, pl.String) and not isinstance(value, str):
        return canonical(value)
    return value


def _made(dtype: Any) -> pl.DataType:
    made: pl.DataType = dtype() if isinstance(dtype, type) else dtype
    return made


def parquet(table: str, lines: Sequence[Mapping[str, Json]]) -> bytes:
    """The table as Parquet. One row group, fixed compression and no statistics that depend on the machine."""
    out = io.BytesIO()
    data = frame(table, lines)
    data.write_parquet(out, compression="zstd", compression_level=3, row_group_size=max(len(data), 1), statistics=True)
    return out.getvalue()
