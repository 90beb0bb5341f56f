"""The release described in Croissant 1.1 with the fields for responsible AI, from the same tables and hashes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from pipeline.evidence import Json
from pipeline.release.contents import SPLITS, Contents
from pipeline.release.tables import SCHEMAS

_CONTEXT: Mapping[str, Json] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_TYPES: Mapping[Any, str] = {
    pl.String: "sc:Text",
    pl.Boolean: "sc:Boolean",
    pl.Int64: "sc:Integer",
    pl.Float64: "sc:Float",
}


def croissant(contents: Contents, files: Mapping[str, tuple[str, int]]) -> dict[str, Json]:
    """`files`: hash and size of each Parquet file by name."""
    url = f"https://huggingface.co/datasets/{contents.repo}"
    as_of = contents.edition["as_of"]
    return {
        "@context": dict(_CONTEXT),
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": contents.name,
        "description": (
            f"Papers of {contents.conference} with one pinned result each to reproduce, a tier that says what must be "
            "rebuilt, hours of one H100 under a cap, and receipts for every label."
        ),
        "license": "https://creativecommons.org/licenses/by/4.0/",
        "url": url,
        "version": f"{contents.version}.0.0",
        "datePublished": as_of,
        "citeAs": f"Reclaim {contents.conference}, release {contents.name}, edition {contents.edition_hash}",
        "creator": {"@type": "sc:Organization", "name": "The Reclaim maintainers", "url": url},
        "rai:dataCollection": (
            "An agent with ten tools looked for each paper's artifacts; every answer is a recorded exchange with "
            "arXiv, OpenReview, GitHub, Hugging Face or the page itself, and a rule turns receipts into labels."
        ),
        "rai:dataCollectionTimeframe": as_of,
        "rai:dataAnnotationProtocol": (
            "People answer each pool row from its evidence in absolute terms, bound to the hash of what they judged; "
            "their answers are the table ledger."
        ),
        "rai:dataLimitations": (
            "Not a random sample: papers whose artifacts could not be settled, whose hours are unknown or above the "
            "cap, or that need a paid service are in no split. Links rot after the release."
        ),
        "rai:dataBiases": (
            "Cheaper papers are drawn first within a tier and band; the inclusion shares are in the table selection."
        ),
        "rai:dataUseCases": "Measuring how well agents reproduce published results. Not for training.",
        "rai:dataSocialImpact": (
            "Names papers and repositories; a row says what could be found, not whether a paper is right."
        ),
        "rai:personalSensitiveInformation": "Owners' names in links to public repositories; nothing else about people.",
        "rai:hasSyntheticData": False,
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": name,
                "name": name,
                "contentUrl": name,
                "contentSize": f"{size} B",
                "encodingFormat": "application/x-parquet",
                "sha256": sha256,
            }
            for name, (sha256, size) in sorted(files.items())
        ],
        "recordSet": [
            _records(split, f"Rows of the split that the Hub calls {name}.") for split, name in SPLITS.items()
        ]
        + [_records(table, f"The side table {table}.") for table in SCHEMAS if table not in SPLITS],
    }


def _records(table: str, description: str) -> dict[str, Json]:
    return {
        "@type": "cr:RecordSet",
        "@id": table,
        "name": table,
        "description": description,
        "field": [field for name, dtype in SCHEMAS[table].items() for field in _fields(table, name, dtype)],
    }


def _fields(table: str, column: str, dtype: Any, path: tuple[str, ...] = (), many: bool = False) -> Iterator[Json]:
    """A column as a field; one with parts inside as a field for each part, taken out of the column by its path."""
    inner = _made(dtype)
    while isinstance(inner, pl.List):
        inner, many = _made(inner.inner), True
    if isinstance(inner, pl.Struct):
        for part in inner.fields:
            yield from _fields(table, column, part.dtype, (*path, part.name), many)
        return
    name = "/".join((table, column, *path))
    source: dict[str, Json] = {"fileObject": {"@id": f"{table}.parquet"}, "extract": {"column": column}}
    if path:
        source["transform"] = {"jsonPath": ".".join(path)}
    yield {
        "@type": "cr:Field",
        "@id": name,
        "name": name,
        "description": f"{'.'.join((column, *path))}",
        "dataType": _TYPES[type(inner)],
        **({"repeated": True} if many else {}),
        "source": source,
    }


def _made(dtype: Any) -> pl.DataType:
    made: pl.DataType = dtype() if isinstance(dtype, type) else dtype
    return made
