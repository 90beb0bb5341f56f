#!/usr/bin/env python3
"""Prove a release with nothing installed. Standard library only (Python 3.9 or later), one file: a release carries it
as `verify.py`.

    python verify.py                                      the folder this file lies in
    python verify.py FOLDER --ledger-head HASH --edition-hash HASH --manifest HASH --json

It is a second writing of the rules in `docs/release-format.md` and shares no code with the one that made the release.
Every file is hashed before it is parsed; then labels, hours, tiers, selection, audit, splits, rows and funnel are
derived again from the recorded tables and compared field by field. Of Parquet files it checks the hashes alone. Exit
code 0 where every check holds, 1 where one does not; each failure names file, row and rule.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

Json = Any
Line = dict[str, Any]

# ---------------------------------------------------------------- canonical JSON and hashes (format, "Canonical JSON")


def canonical(value: Json) -> str:
    """The one spelling of a JSON value. Raises ValueError for what has none."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Json) -> str:
    return sha256(canonical(value).encode())


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def same(a: Json, b: Json) -> bool:
    return canonical(a) == canonical(b)


# ---------------------------------------------------------------- what a check says


@dataclass
class Check:
    """One named check: how many items it looked at, and (where, what is wrong) for each failure."""

    name: str
    may_be_empty: bool = False
    checked: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)

    def look(self, where: object, problems: Iterable[str] = ()) -> None:
        self.checked += 1
        self.failures += [(str(where), problem) for problem in problems]

    def close(self) -> Check:
        if not self.checked and not self.may_be_empty:
            self.failures.append((self.name, "there was nothing to check"))
        return self

    @property
    def ok(self) -> bool:
        return not self.failures


# ---------------------------------------------------------------- the folder (format, "Files", "Manifest")

PARQUET_TABLES = (
    *("eval", "dev", "sample", "receipts", "targets", "inventory", "selection"),
    *("ledger", "exclusions", "index", "dates", "figures"),
)
TABLES = (*PARQUET_TABLES, "agent_view")
DOCUMENTS = ("edition.json", "funnel.json", "agreement.json", "devices.json")
COMPANIONS = (
    *("README.md", "ATTRIBUTION.md", "CITATION.cff", "croissant.json", "report.html", "score.py", "verify.py"),
    *("hours.svg", "months.svg", "funnel.svg", "pool.svg", "agreement.svg"),
)
FILES = (*(f"{t}.jsonl" for t in TABLES), *(f"{t}.parquet" for t in PARQUET_TABLES), *DOCUMENTS, *COMPANIONS)
LATER = ("CHANGELOG.md", "ERRATA.md", "changelog.jsonl")  # of every version but the first
MANIFEST, FORMAT = "manifest.json", 1
NAMED_BY = {"sample": "arxiv_id", "receipts": "paper", "exclusions": "key", "index": "key"}
NAMED_ALSO_BY = {"receipts": "id", "inventory": "item", "figures": "file"}


def row_name(table: str, line: Line) -> str:
    if table == "ledger":
        return f"{line['event'].get('paper')} ({line['site']} {line['seq']})"
    name = str(line.get(NAMED_BY.get(table, "custom_id")))
    return f"{name} ({str(line.get(NAMED_ALSO_BY[table]))[:16]})" if table in NAMED_ALSO_BY else name


def lines_of(data: bytes) -> list[bytes]:
    """Lines with the line feeds that end them; nothing else ends a line."""
    return re.findall(rb"[^\n]*\n|[^\n]+", data)


def listing(name: str, data: bytes) -> Line:
    """A file as the manifest has to list it."""
    entry: Line = {"sha256": sha256(data), "size": len(data)}
    if name.endswith(".jsonl"):
        table = name[: -len(".jsonl")]
        entry["lines"] = [[row_name(table, json.loads(line)), sha256(line)[:16]] for line in lines_of(data)]
    return entry


def read_manifest(folder: Path) -> tuple[Line | None, str]:
    place = folder / MANIFEST
    try:
        if place.is_symlink() or not place.is_file():
            return None, f"is no plain file in {folder}; this is no release folder"
        data = place.read_bytes()
        said = json.loads(data)
        if (canonical(said) + "\n").encode() != data:
            return None, "is not canonical JSON"
        if digest({k: v for k, v in said.items() if k != "manifest_sha256"}) != said["manifest_sha256"]:
            return None, "does not hash to what it says; a byte of it was changed"
        entries = said["files"].items()
        if said["format"] != FORMAT or not isinstance(said["code_print"], str):
            return None, f"is not of format {FORMAT}"
        if not all(_is_listing(name, entry) for name, entry in entries):
            return None, "lists a file as no file can be listed"
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return None, "is not the JSON of a manifest"
    return said, ""


def _is_listing(name: str, entry: Json) -> bool:
    lines = {"lines": [("pair", TEXT)]} if name.endswith(".jsonl") else {}
    return not misshapen(entry, {"sha256": TEXT, "size": WHOLE, **lines}, "")


def read_folder(folder: Path) -> tuple[Line, dict[str, bytes] | None, list[Check]]:
    """Manifest and bytes by file; no bytes where the folder is not as it was sealed. Nothing but the manifest is
    parsed before its hash was found true."""
    first = Check("the manifest is whole")
    manifest, problem = read_manifest(folder)
    first.look(MANIFEST, [problem] if problem else [])
    if manifest is None:
        return {}, None, [first]
    second = Check("every file is listed, there, and has its hash")
    there = {path.name for path in folder.iterdir()}
    for name in sorted(there - {MANIFEST} - set(manifest["files"])):
        second.look(name, ["is not listed in the manifest"])
    held: dict[str, bytes] = {}
    for name, listed in sorted(manifest["files"].items()):
        place = folder / name
        if name not in there or place.is_symlink() or not place.is_file():
            second.look(name, ["is listed and is not there as a plain file"])
            continue
        data = held[name] = place.read_bytes()
        second.look(name, _unlike_listing(name, data, listed))
    for name in sorted(set(FILES) - set(manifest["files"])):
        second.look(name, ["is missing from the release"])
    for name in sorted(set(manifest["files"]) - {*FILES, *LATER}):
        second.look(name, ["is no file of a release"])
    good = first.ok and second.close().ok
    return manifest, held if good else None, [first, second]


def _unlike_listing(name: str, data: bytes, listed: Line) -> list[str]:
    if sha256(data) == listed["sha256"] and len(data) == listed["size"]:
        try:
            whole = same(listing(name, data), listed)
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            return ["holds a line that is no row of its table"]
        return [] if whole else ["the manifest does not list it as it is"]
    rows, now = listed.get("lines", []), [sha256(line)[:16] for line in lines_of(data)]
    found = [
        f"line {i + 1}, row {rows[i][0]}: changed" for i in range(min(len(rows), len(now))) if rows[i][1] != now[i]
    ]
    if len(rows) != len(now):
        found = [*found[:1], f"has {len(now)} lines where {len(rows)} are listed"]
    return found or ["its bytes are not those listed"]


# ---------------------------------------------------------------- shapes of recorded tables (format, "Tables")

TEXT, WHOLE, NUMBER, YES_NO, ANY = "a text", "a whole number", "a number with a point", "true or false", "any JSON"


def fields(names: str, shape: Json) -> Line:
    """Fields of one shape. A shape is one of the words above, a list of one shape, an object of fields, or a tuple:
    ("or null", shape), ("one of", texts), ("each", shape of every value), ("with", must have, may have)."""
    return dict.fromkeys(names.split(), shape)


def one_of(words: str) -> Json:
    return ("one of", *words.split())


TEXTS, MAYBE_TEXT, MAYBE_WHOLE, MAYBE_NUMBER = [TEXT], ("or null", TEXT), ("or null", WHOLE), ("or null", NUMBER)
SIGNALS = ("code_available", "dataset_available", "weights_available", "dataset_is_standard")
KINDS = one_of("empirical theoretical position survey")
BARS = one_of("point_estimate direction threshold magnitude range")
BASES = one_of("paper_reported derived_from_config comparable_experiment compute_unspecified")
BAR = {
    **fields("kind", BARS),
    **fields("op", one_of("within > < >= <= between")),
    **fields("reference tolerance low high", MAYBE_NUMBER),
    **fields("tolerance_source", ("or null", one_of("authors default_relative absolute"))),
}
ANCHOR = {
    **fields("file quote source_sha256", TEXT),
    **fields("line", WHOLE),
    **fields("table", MAYBE_TEXT),
    **fields("row column", MAYBE_WHOLE),
}
TARGET = {
    **fields("config metric unit value scope split aggregate dataset", TEXT),
    **fields("number", NUMBER),
    **fields("uncertainty baseline", MAYBE_NUMBER),
    **fields("n_seeds", MAYBE_WHOLE),
    **fields("direction", ("or null", one_of("higher lower"))),
    **fields("bar", BAR),
    **fields("anchor", ANCHOR),
}
TARGET_DEFAULTS = {
    **fields("unit scope split aggregate dataset", ""),
    **fields("direction uncertainty n_seeds baseline", None),
}
BAR_DEFAULTS = fields("reference tolerance tolerance_source low high", None)
ANCHOR_DEFAULTS = fields("table row column", None)
PART = {
    **fields("device quote", TEXT),
    **fields("kind", one_of("train finetune eval generate")),
    **fields("count wall_hours device_hours", MAYBE_NUMBER),
    **fields("runs", WHOLE),
    **fields("cpu_only", YES_NO),
}
CONTEXT = {
    **fields("open_homes gated_homes unresolved_links standard_names words sizes", TEXTS),
    **fields("groups", [TEXTS]),
    **fields("not_needed method", TEXT),
    **fields("training_needed custom_data", YES_NO),
    **fields("absence_searches", ("each", WHOLE)),
}
LINKS = fields("paper_or_project code dataset weights", TEXTS)
SAMPLE = {
    **fields("arxiv_id title bundle source_sha256 classifier exit_reason training basis paid_api", TEXT),
    **fields("central_claim claim_quote mre_config agent_task", TEXT),
    **fields("target_problems datasets receipts linked problems", TEXTS),
    **fields("version", WHOLE),
    **fields("paper_kind", KINDS),
    **fields("basis_kind", BASES),
    **fields("target", ("or null", TARGET)),
    **fields("inventory", [fields("item caption reason", TEXT)]),
    **fields("needs", ("each", TEXT)),
    **fields("compute", [PART]),
    **fields("claims", ("each", {**fields("value", YES_NO), **fields("cited", TEXTS)})),
    **fields("contexts", ("each", ANY)),  # the four of the signals are looked at below; others are not read
    **fields("links", LINKS),
    **fields("looks", [{**fields("look classifier", TEXT), **fields("answered", YES_NO), **fields("receipts", TEXTS)}]),
}
RECEIPT = {
    **fields("id paper tool reason subject", TEXT),
    **fields("arguments facts", ("each", ANY)),
    **fields("exchanges", TEXTS),
    **fields("outcome", one_of("available unavailable gated undetermined")),
}
SETTLING = ("adjudicate", "relabel", "re_estimate")
QUESTIONS = (*SIGNALS, "kind", "needs", "claim", "target", "bar", "hours", "eligibility")
EVENT_DEFAULTS: Line = {
    "why": "",
    "evidence": [],
    **fields("question phase value row_hash undoes guide mode identity", None),
}
EVENT = {
    **fields("kind", one_of("answer undo adjudicate relabel re_estimate drop replace erratum")),
    **fields("paper who at why", TEXT),
    **fields("evidence", TEXTS),
    **fields("question", ("or null", ("one of", *QUESTIONS))),
    **fields("phase", ("or null", one_of("blind revised"))),
    **fields("value", ANY),
    **fields("row_hash undoes", MAYBE_TEXT),
    **fields("guide", MAYBE_WHOLE),
    **fields("mode", ("or null", one_of("unblinded"))),
    **fields("identity", ("or null", one_of("asserted"))),
}
SHAPES: dict[str, Json] = {
    "sample": SAMPLE,
    "receipts": RECEIPT,
    "ledger": {**fields("site prev_hash hash id", TEXT), **fields("seq", WHOLE), **fields("event", ("each", ANY))},
    "exclusions": fields("key title stage reason detail", TEXT),
    "index": fields("key arxiv_id title", TEXT),
    "figures": {**fields("custom_id file sha256", TEXT), **fields("size", WHOLE)},
}
DEVICE = {
    **fields("id name source basis", TEXT),
    **fields("aliases", TEXTS),
    **fields("kind", one_of("gpu tpu accelerator cpu")),
    **fields("interval", one_of("source derived")),
    **fields("factor low high", NUMBER),
    **fields("tflops bandwidth fp32", MAYBE_NUMBER),
    **fields("cores_per_chip", MAYBE_WHOLE),
}
KNOWN_DEVICES = {1: "e543c946c61137938975e0f8371091569da901e46e8581e1ef0a805e79866bd1"}
"""What each version of the device table hashes to: its factors are no release's to change."""
LIVE = {
    **fields("index_dataset index_revision index_file arxiv_snapshot arxiv_mirror", MAYBE_TEXT),
    **fields("index_split", TEXT),
    **fields("venues", TEXTS),
}
CLASSIFIER = {**fields("model", TEXT), **fields("max_tool_rounds max_tool_calls max_result_chars", WHOLE)}
EDITION = {
    **fields("name conference venue as_of seed", TEXT),
    **fields("year max_passes pool_size eval_size dev_per_tier max_receipt_age_days", WHOLE),
    **fields("second_look_hours tolerance_relative compute_audit_tolerance split_cap_hours pool_cap_hours", NUMBER),
    **fields("world", MAYBE_TEXT),
    **fields("sample max_sample", MAYBE_WHOLE),
    **fields("until", ("or null", ("each", WHOLE))),
    **fields("live", ("or null", LIVE)),
    **fields("corpus", fields("min_papers min_kept min_supplements", WHOLE)),
    **fields("classifier", ("with", CLASSIFIER, {"second_looks": TEXTS, "llm": ("each", ANY)})),
    **fields("absence_searches", fields("github hub", WHOLE)),
    **fields("scoring", one_of("needs published")),
    **fields("draw", one_of("cheapest seeded")),
    **fields("paid_api_policy", one_of("before_pool after_audit")),
    **fields("band_edges_hours", [NUMBER]),
    **fields("band_weights", [WHOLE]),
}


def misshapen(value: Json, shape: Json, at: str) -> list[str]:
    """Where a value is not of its shape. Whole numbers are written without a point, other numbers with one."""
    name = at or "it"
    if isinstance(shape, str):
        types: dict[str, Any] = {TEXT: str, WHOLE: int, NUMBER: float, YES_NO: bool, ANY: object}
        fits = isinstance(value, types[shape]) and (shape != WHOLE or not isinstance(value, bool))
        return [] if fits else [f"{name} is not {shape}"]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{name} is no list"]
        return [problem for i, one in enumerate(value) for problem in misshapen(one, shape[0], f"{at}[{i}]")]
    if isinstance(shape, tuple):
        return _misshapen_as(value, shape, at, name)
    return _misshapen_object(value, shape, {}, at, name)


def _misshapen_as(value: Json, shape: tuple[Json, ...], at: str, name: str) -> list[str]:
    how = shape[0]
    if how == "or null":
        return [] if value is None else misshapen(value, shape[1], at)
    if how == "one of":
        return [] if isinstance(value, str) and value in shape[1:] else [f"{name} is none of {', '.join(shape[1:])}"]
    if how == "pair":
        fits = isinstance(value, list) and len(value) == 2
        return [p for one in value for p in misshapen(one, shape[1], at)] if fits else [f"{name} is no pair"]
    if how == "with":
        return _misshapen_object(value, shape[1], shape[2], at, name)
    if not isinstance(value, dict):
        return [f"{name} is no object"]
    return [problem for key, one in value.items() for problem in misshapen(one, shape[1], f"{at}.{key}".lstrip("."))]


def _misshapen_object(value: Json, must: Line, may: Line, at: str, name: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{name} is no object"]
    found = [f"{name} lacks {key}" for key in must if key not in value]
    found += [f"{name} has {key}, which does not belong there" for key in value if key not in must and key not in may]
    both = {**may, **must}
    for key in value:
        if key in both:
            found += misshapen(value[key], both[key], f"{at}.{key}".lstrip("."))
    return found


def sample_problems(line: Line) -> list[str]:
    found = [f"claims lack {s}" for s in SIGNALS if s not in line["claims"]]
    for signal in SIGNALS:
        context = line["contexts"].get(signal)
        found += misshapen(context, ("with", CONTEXT, dict.fromkeys(context or (), ANY)), f"contexts.{signal}")
    target = line["target"]
    if target is not None and len(target["anchor"]["quote"]) > 300:
        found.append("target.anchor.quote is longer than 300 characters")
    return found


def receipt_problems(line: Line) -> list[str]:
    made_of = [line["paper"], line["tool"], line["arguments"], line["exchanges"], line["outcome"]]
    return [] if digest(made_of) == line["id"] else [f"receipt {line['id'][:16]} does not hash to its id"]


def entry_problems(line: Line) -> list[str]:
    found = event_problems(line["event"])
    if digest(line["event"]) != line["id"]:
        found.append("its id is not the hash of its event")
    if digest([line["site"], line["seq"], line["prev_hash"], line["event"]]) != line["hash"]:
        found.append("its hash is not that of its content")
    return found


def event_problems(said: Line) -> list[str]:
    """Why this is no event (format, "Ledger")."""
    must = {key: EVENT[key] for key in ("kind", "paper", "who", "at")}
    found = misshapen(said, ("with", must, EVENT), "event")
    if found:
        return found
    found = [
        f"event.{key} is written though it is not set"
        for key, v in EVENT_DEFAULTS.items()
        if key in said and _is(said[key], v)
    ]
    event = {**EVENT_DEFAULTS, **said}
    for name in ("paper", "who"):
        if not 1 <= len(event[name]) <= 100 or not event[name].isprintable():
            found.append(f"event.{name} is no printable name of 1 to 100 characters")
    if moment(event["at"]) is None:
        found.append(f"event.at is no UTC time: {event['at']!r}")
    kind, question = event["kind"], event["question"]
    if kind == "answer" or kind in SETTLING:
        if question is None or not re.fullmatch("[0-9a-f]{64}", event["row_hash"] or ""):
            found.append(f"{kind} needs a question and the hash of the row it judges")
        elif not _answers(question, event["value"]):
            found.append(f"{event['value']!r:.80} is no answer to {question}")
    elif question is not None:
        found.append(f"{kind} has no question")
    if (kind == "answer") != (event["phase"] is not None):
        found.append("an answer, and nothing else, has a phase")
    if event["mode"] == "unblinded" and event["phase"] == "blind":
        found.append("an answer that was given with the verdict in sight is not blind")
    if (kind == "undo") != (event["undoes"] is not None):
        found.append("an undo, and nothing else, names the event it undoes")
    if kind not in ("answer", "undo") and not event["why"]:
        found.append(f"{kind} needs a reason")
    if kind in SETTLING and event["value"] == "cannot_tell":
        found.append(f"{kind} must decide")
    if (kind == "re_estimate" and question != "hours") or (kind == "relabel" and question == "hours"):
        found.append("re_estimate is about hours, relabel about any other question")
    return found


def _is(a: Json, b: Json) -> bool:
    """Equal as people answer: 1 is 1.0, true is not 1."""
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)


def _answers(question: str, value: Json) -> bool:
    if value == "cannot_tell":
        return True
    if question in SIGNALS:
        return isinstance(value, bool) or value == "not_needed"
    if question == "eligibility":
        return isinstance(value, bool)
    if question == "kind":
        return value in KINDS[1:]
    if question == "needs":
        known = ("human_raters", "licensed_simulator", "paid_api", "special_hardware")
        return isinstance(value, list) and value == [n for n in known if n in value]
    if value in ("stands", "wrong"):
        return True
    if question == "hours":
        return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1_000_000
    if question == "claim":
        shaped = isinstance(value, dict) and not misshapen(value, {"claim": TEXT, "quote": TEXT}, "")
        return shaped and all(value.values())
    if question == "bar":
        return whole_bar(value) is not None
    target = whole_target(value)
    return target is not None and not target_problems(target)


def _filled(value: Json, shape: Line, defaults: Line) -> Line | None:
    """An object that a person gave, with what may be left out, and whole numbers where numbers stand read as such."""
    if not isinstance(value, dict):
        return None
    full = {**defaults, **value}
    for key, wanted in shape.items():
        number = wanted in (NUMBER, ("or null", NUMBER))
        if number and isinstance(full.get(key), int) and not isinstance(full[key], bool):
            full[key] = float(full[key])
    return full


def whole_bar(value: Json) -> Line | None:
    full = _filled(value, BAR, BAR_DEFAULTS)
    return full if full is not None and not misshapen(full, BAR, "") else None


def whole_target(value: Json) -> Line | None:
    full = _filled(value, TARGET, TARGET_DEFAULTS)
    if full is None:
        return None
    full["bar"] = whole_bar(full.get("bar"))
    full["anchor"] = _filled(full.get("anchor"), ANCHOR, ANCHOR_DEFAULTS)
    fits = not misshapen(full, TARGET, "") and len(full["anchor"]["quote"]) <= 300
    return full if fits else None


def moment(at: str) -> tuple[datetime.datetime, int] | None:
    """When, to the microsecond; None for what is no UTC time of a year up to 2200."""
    found = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?Z", at, re.ASCII)
    if not found or int(found[1]) > 2200:
        return None
    try:
        return datetime.datetime(*(int(found[i]) for i in range(1, 7))), int((found[7] or "0").ljust(6, "0"))  # type: ignore[arg-type]
    except ValueError:
        return None


# ---------------------------------------------------------------- the edition (format, "Edition")


def edition_problems(said: Line) -> list[str]:
    found = misshapen(said, ("with", EDITION, dict.fromkeys(said, ANY)), "")  # what no rule reads may stand there too
    if found:
        return found
    edges, weights, pool, split = (
        *(said["band_edges_hours"], said["band_weights"]),
        *(said["pool_cap_hours"], said["split_cap_hours"]),
    )
    limit = said["sample"] if said["sample"] is not None else said["max_sample"] or 0
    until = said["until"] or {}
    inside = [e for e in edges if e <= split]
    looks = said["classifier"].get("second_looks")
    live = said["live"] or {}
    rules = {
        "name": bool(re.fullmatch(r"[a-z0-9][a-z0-9.-]*", said["name"])),
        "year": 1950 <= said["year"] <= 2200,
        "as_of": _is_day(said["as_of"]),
        "world": said["world"] is not None or said["live"] is not None,
        "live": live.get("index_dataset") is None or live.get("index_file") is None,
        "corpus": all(said["corpus"][k] >= (k != "min_supplements") for k in said["corpus"]),
        "seed": bool(said["seed"]),
        "sample": (said["sample"] is None) != (said["until"] is None) and limit > 0,
        "max_sample": (said["until"] is None) == (said["max_sample"] is None),
        "until": all(t in SELECTABLE and n > 0 for t, n in until.items()) and sum(until.values()) <= limit,
        "classifier": all(v > 0 for v in said["classifier"].values() if isinstance(v, int))
        and (looks is None or len(looks) == 3),
        "absence_searches": min(said["absence_searches"].values()) > 0,
        "max_passes": 0 < said["max_passes"] <= 10,
        "second_look_hours": 1 <= said["second_look_hours"] <= 24 * 365,
        "tolerance_relative": 0 < said["tolerance_relative"] < 1,
        "compute_audit_tolerance": 0 < said["compute_audit_tolerance"] < 1,
        "split_cap_hours": 0 < split <= pool and split in edges,
        "pool_cap_hours": bool(edges) and edges[-1] == pool,
        "band_edges_hours": bool(edges) and edges[0] > 0 and edges == sorted(set(edges)),
        "band_weights": len(weights) == len(edges)
        and min(weights, default=-1) >= 0
        and sum(weights[: len(inside)]) > 0,
        "pool_size": 0 < said["pool_size"] <= limit,
        "eval_size": 0 < said["eval_size"] <= said["pool_size"],
        "dev_per_tier": said["dev_per_tier"] >= 0 and said["eval_size"] + 3 * said["dev_per_tier"] <= said["pool_size"],
        "max_receipt_age_days": said["max_receipt_age_days"] > 0,
    }
    return [f"{key} is no setting that can be: {said[key]!r}" for key, holds in rules.items() if not holds]


def _is_day(text: str) -> bool:
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def second_looks(edition: Line) -> int:
    classifier = edition["classifier"]
    named = len(classifier.get("second_looks", ()))
    return named or (0 if classifier["model"] == "embedded" else 3)


# ---------------------------------------------------------------- from receipts to labels (format, "Labels")


@dataclass(frozen=True)
class Label:
    value: bool | None
    verification: str
    status: str
    receipts: tuple[str, ...]
    reason: str

    @property
    def applies(self) -> bool:
        return self.verification != "not_applicable"


@dataclass(frozen=True)
class Verdict:
    """What receipts say about one artifact, before a classifier's word meets it."""

    value: bool | None
    how: str
    rests_on: Sequence[Line]
    reason: str


SEARCHES: dict[str, dict[str, tuple[str, ...]]] = {
    "code_available": {"github": ("github_search_repositories", "github_search_code")},
    "weights_available": {"hub": ("hub_search",)},
    "dataset_available": {"hub": ("hub_search",)},
}
MAY_BE_UNSEEN = {
    "code_available": {"tree", "raw", "submodules"},
    "weights_available": {"tree", "raw", "releases", "weights", "readme", "card"},
    "dataset_available": {"tree", "raw", "data", "readme", "card"},
}
FRAME_FILES = ("__init__.py", "__main__.py", "setup.py", "conftest.py", "version.py", "_version.py", "conf.py")


def label(signal: str, claim: Line, receipts: Sequence[Line], context: Line) -> Label:
    if context["not_needed"]:
        verdicts = [Verdict(False, "not_applicable", (), context["not_needed"])]
    elif signal == "dataset_is_standard":
        verdicts = [is_standard(receipts, context)]
    else:
        groups = [set(group) for group in context["groups"]] or [set()]
        verdicts = [about_artifact(signal, group, receipts, context) for group in groups]
    order = (False, None, True)
    first = min(verdicts, key=lambda verdict: order.index(verdict.value))
    used = first.rests_on
    if first.value is True:
        used = [r for verdict in verdicts for r in verdict.rests_on]
    status, reason = "confirmed", first.reason
    if first.value is None:
        status = "unverified"
    elif first.value != claim["value"]:
        status, reason = "contradicted", f"{reason}; the classifier said {claim['value']}"
    elif set(claim["cited"]) - {r["id"] for r in receipts}:
        status, reason = "contradicted", f"{reason}; the classifier cites receipts that do not exist"
    return Label(first.value, first.how, status, tuple(dict.fromkeys(r["id"] for r in used)), reason)


def whole_place(receipt: Line) -> bool:
    """Did the call look at its place as a whole?"""
    subject = receipt["subject"]
    if subject.startswith(("github:", "hf:")):
        return receipt["tool"] in ("github_repo", "github_tree", "hub_repo", "hub_tree") or "files" in receipt["facts"]
    return not subject.startswith("search:")


def suffices(signal: str, receipt: Line, context: Line) -> bool:
    facts = receipt["facts"]
    if receipt["outcome"] != "available" or facts.get("authenticated") or facts.get("moved_elsewhere"):
        return False
    if signal == "code_available":
        return not (context["training_needed"] and facts.get("eval_only")) and _runs_something(facts)
    if signal == "weights_available":
        return bool(facts.get("weights_open")) and not facts.get("adapter_only") and _right_size(receipt, context)
    if receipt["subject"] in context["gated_homes"]:
        return False
    opened = facts.get("data_open") or facts.get("construction_scripts")
    return bool(opened) or receipt["subject"] in context["open_homes"]


def _runs_something(facts: Line) -> bool:
    files = facts.get("code_files") or 0
    if not files:
        return False
    unreached = [m for m in facts.get("submodules") or () if m.get("reached") is not True]
    if unreached and files <= 3:
        return False
    listed = [path.rpartition("/")[2] for path in facts.get("code_sample") or ()]
    return len(listed) < files or any(name not in FRAME_FILES for name in listed)


def model_sizes(text: str) -> set[str]:
    return {m.lower() for m in re.findall(r"(?i)(?<![a-z0-9.])(\d+(?:\.\d+)?[bm])(?![a-z0-9])", text)}


def _right_size(receipt: Line, context: Line) -> bool:
    named = model_sizes(" ".join([receipt["subject"], *map(str, receipt["facts"].get("scope_words") or ())]))
    return not context["sizes"] or not named or bool(named & set(context["sizes"]))


def adapter_with_base(receipt: Line, receipts: Sequence[Line]) -> bool:
    facts = receipt["facts"]
    if receipt["outcome"] != "available" or not facts.get("adapter_only") or not facts.get("weights_open"):
        return False
    if facts.get("authenticated") or facts.get("moved_elsewhere"):
        return False
    if facts.get("base_open"):
        return True
    base = facts.get("base_model")
    bases = {f"hf:model:{b}".casefold() for b in ([base] if isinstance(base, str) else base or ())}
    return any(
        r["subject"].casefold() in bases
        and r["outcome"] == "available"
        and r["facts"].get("weights_open")
        and not r["facts"].get("authenticated")
        for r in receipts
    )


def shown(receipt: Line) -> str:
    return f"{receipt['subject']}: {receipt['reason']}" if receipt["reason"] else str(receipt["subject"])


def about_artifact(signal: str, group: set[str], receipts: Sequence[Line], context: Line) -> Verdict:
    mine = [r for r in receipts if r["subject"] in group]
    weights = signal == "weights_available"
    met = [r for r in mine if suffices(signal, r, context) or (weights and adapter_with_base(r, receipts))]
    if met:
        return Verdict(True, "tool_verified", met, "; ".join(dict.fromkeys(shown(r) for r in met)))
    by_question: dict[tuple[str, str, str], Line] = {}
    for r in mine:  # the place of the first asking, the answer of the last
        by_question[r["subject"], r["tool"], canonical(r["arguments"])] = r
    latest = list(by_question.values())
    looked = [r for r in latest if whole_place(r)]
    waiting = [r for r in looked if r["outcome"] == "undetermined"]
    if waiting:
        reason = f"undetermined: {waiting[0]['subject']} ({waiting[0]['reason']})"
        return Verdict(None, "tool_failed", waiting, reason)
    unseen = MAY_BE_UNSEEN[signal]
    partly = [r for r in looked if r["outcome"] == "available" and unseen & set(r["facts"].get("unseen") or ())]
    if partly:
        parts = ", ".join(sorted(unseen & set(partly[0]["facts"]["unseen"])))
        return Verdict(None, "tool_failed", partly, f"undetermined: {partly[0]['subject']} ({parts} not seen)")
    untouched = group - {r["subject"] for r in looked}
    if untouched:
        return Verdict(None, "paper_text_only", (), f"no receipt about {min(untouched)} as a whole")
    shut = [r for r in looked if r["outcome"] in ("gated", "unavailable") or _behind_gate(r, context)]
    everywhere = {r["subject"] for r in shut} == group
    if shut and (everywhere or any(not r["subject"].startswith("url:") for r in shut)):
        how = "gated" if shut[0]["outcome"] == "available" else shut[0]["outcome"]
        return Verdict(False, "tool_verified", shut, f"{how}: {shut[0]['subject']} ({shut[0]['reason']})")
    return absent(signal, latest, receipts, context)


def _behind_gate(receipt: Line, context: Line) -> bool:
    return receipt["outcome"] == "available" and receipt["subject"] in context["gated_homes"]


def letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.casefold())


def absent(signal: str, latest: Sequence[Line], receipts: Sequence[Line], context: Line) -> Verdict:
    if not receipts:
        return Verdict(None, "paper_text_only", (), "no receipt")
    links = context["unresolved_links"]
    if links:
        reason = f"absence not proven: {len(links)} link(s) undetermined, first {links[0]}"
        return Verdict(None, "tool_failed", latest, reason)
    used: list[Line] = []
    short: list[str] = []
    failed = False
    for family, tools in SEARCHES[signal].items():
        asked = [r for r in receipts if r["tool"] in tools]
        complete: dict[str, Line] = {}
        for r in asked:
            query = " ".join(str(r["facts"].get("query") or r["arguments"].get("query", "")).casefold().split())
            telling = not context["words"] or set(context["words"]) & set(re.findall("[a-z0-9]+", query))
            if r["facts"].get("complete") and telling:
                complete.setdefault(query, r)
        found = _unlooked(complete.values(), receipts, context["method"])
        if found:
            reason = f"absence not proven: search found {found}, not looked at"
            return Verdict(None, "paper_text_only", (), reason)
        used += complete.values()
        needed = context["absence_searches"].get(family, 1)
        if len(complete) < needed:
            short.append(f"{family} {len(complete)} of {needed}")
            failed = failed or any(r["outcome"] == "undetermined" for r in asked)
    if short:
        how = "tool_failed" if failed else "paper_text_only"
        return Verdict(None, how, (), f"absence not proven: complete searches {', '.join(short)}")
    queries = ", ".join(repr(r["arguments"].get("query", "")) for r in used)
    seen = "".join(f"{shown(r)}; " for r in latest)
    reason = f"{seen}nothing found by searching for {queries}"
    return Verdict(False, "tool_searched_not_found", [*latest, *used], reason)


def _unlooked(searches: Iterable[Line], receipts: Sequence[Line], method: str) -> str:
    if not method:
        return ""
    seen = {letters(r["subject"].rpartition(":")[2]) for r in receipts if whole_place(r)}
    results = (str(name) for r in searches for name in r["facts"].get("results") or ())
    bearing = (n for n in results if method in letters(n.rpartition("/")[2]) and letters(n) not in seen)
    return next(bearing, "")


def is_standard(receipts: Sequence[Line], context: Line) -> Verdict:
    homes = {subject for group in context["groups"] for subject in group}
    mine = [r for r in receipts if r["subject"] in homes]
    settled = [r for r in mine if r["outcome"] != "undetermined"]
    if context["standard_names"] and not context["custom_data"]:
        names = ", ".join(context["standard_names"])
        there = [r for r in settled if r["outcome"] != "unavailable"]
        if there:
            return Verdict(True, "tool_verified", there, f"listed benchmark with its usual splits: {names}")
        return Verdict(
            None, "tool_failed" if mine else "paper_text_only", mine, f"no receipt shows the home of {names}"
        )
    if settled:
        return Verdict(False, "tool_verified", settled, "the target's data is not a listed benchmark")
    searches = [r for r in receipts if r["tool"] == "hub_search" and r["facts"].get("complete")]
    if searches:
        return Verdict(False, "tool_searched_not_found", searches, "the target's data is not a listed benchmark")
    return Verdict(None, "paper_text_only", (), "no receipt about the target's data")


# ---------------------------------------------------------------- hours (format, "Hours")


@dataclass(frozen=True)
class Hours:
    low: float | None
    mid: float | None
    high: float | None
    factors: tuple[str, ...] = ()
    reason: str = ""


class DeviceTable:
    """`devices.json`: which device a phrase names, and what an hour on it is worth."""

    def __init__(self, said: Line) -> None:
        self.version = said["version"]
        self.by_id = {device["id"]: device for device in said["device"]}
        self.cpu = next(d for d in said["device"] if d["kind"] == "cpu")
        aliases = [(alias, device) for device in said["device"] for alias in device["aliases"]]
        aliases.sort(key=lambda pair: (-len(pair[0]), pair[0]))
        self.patterns = [(re.compile(self._pattern(alias)), device) for alias, device in aliases]
        self.mentioned = lru_cache(maxsize=None)(self._mentioned)

    @staticmethod
    def _pattern(alias: str) -> str:
        words = r"[\s-]?".join(re.escape(word) for word in alias.split())
        if not re.fullmatch(r"[A-Z]\d{1,2}", alias):
            words = f"(?i:{words})"
        other = "" if re.search(r"(?i)\b(?:ti|gpu)$", alias) else r"(?!\s?(?:Ti|Super|D|Max-Q|Laptop|Mobile)\b)"
        return rf"(?<![A-Za-z0-9]){words}{other}s?(?![A-Za-z0-9])"

    def _mentioned(self, text: str) -> tuple[str, ...]:
        """Ids of the distinct devices a phrase names, in its order; a CPU beside another device does not count."""
        plain, at, found = plain_phrase(text), 0, []
        while True:
            hits = (
                (m.start(), i, m) for i, (pattern, _) in enumerate(self.patterns) if (m := pattern.search(plain, at))
            )
            first = min(hits, default=None, key=lambda hit: hit[:2])
            if first is None:
                break
            found.append(self._variant(self.patterns[first[1]][1]["id"], plain))
            at = first[2].end()
        workers = [i for i in found if self.by_id[i]["kind"] != "cpu"] or found
        return tuple(dict.fromkeys(workers))

    @staticmethod
    def _variant(id_: str, plain: str) -> str:
        memory = re.search(r"(?i)(?<![\d.])(40|80)\s?(?:GB|GiB|G)\b", plain)
        form = re.search(r"(?i)\b(PCIe|NVL|SXM)\d?\b", plain)
        shape = form[1].casefold() if form else ""
        if id_ == "h100-sxm":
            return {"pcie": "h100-pcie", "nvl": "h100-nvl"}.get(shape, id_)
        if id_ not in ("a100", "a100-40", "a100-80-sxm", "a100-80-pcie") or memory is None:
            return id_
        if memory[1] == "40":
            return "a100-40"
        return "a100-80-pcie" if shape == "pcie" else "a100-80-sxm"

    def named(self, text: str) -> Line | None:
        found = self.mentioned(text)
        return self.by_id[found[0]] if len(found) == 1 else None

    def hours(self, parts: Sequence[Line]) -> Hours:
        if not parts:
            return Hours(None, None, None, reason="no compute is stated and none can be derived")
        low = mid = high = 0.0
        factors: list[str] = []
        for part in parts:
            device = self._device(part)
            used = device if isinstance(device, str) else self._used(part, device)
            if isinstance(device, str) or isinstance(used, str):
                return Hours(None, None, None, reason=str(used))
            low += used * min(device["low"], device["factor"])
            mid += used * device["factor"]
            high += used * max(device["high"], device["factor"])
            factors.append(f"devices-{self.version}:{device['id']}")
        return Hours(low, mid, high, tuple(dict.fromkeys(factors)))

    def _device(self, part: Line) -> Line | str:
        """The part's device, or why it has none."""
        device = self.named(part["device"])
        if part["cpu_only"] and (device is None or device["kind"] != "cpu"):
            return self.cpu  # type: ignore[no-any-return]
        if device is not None:
            return device
        several = self.mentioned(part["device"])
        if several:
            names = ", ".join(self.by_id[i]["name"] for i in several)
            return f"{part['device']!r} names several devices: {names}; give one part each"
        if not part["device"].strip():
            return f"the device of the {part['kind']} part is not stated"
        return f"device {part['device']!r} is not in the device table; its factor is unknown"

    def _used(self, part: Line, device: Line) -> float | str:
        """Device hours of a part over all its runs, or why they are unknown."""
        kind, count, wall, given, runs = (part[k] for k in ("kind", "count", "wall_hours", "device_hours", "runs"))
        for name in ("count", "wall_hours", "device_hours"):
            if part[name] is not None and not 0 <= part[name] < math.inf:
                return f"{name} of the {kind} part is {part[name]}, which is no amount"
        if runs < 1:
            return f"the {kind} part has {runs} runs; at least one is needed"
        if given is not None:
            if wall is not None:
                return f"the {kind} part gives both device hours and wall hours; give one"
            return float(given * runs * self._unit(part["device"], device))
        if wall is None:
            return f"no time is stated for the {kind} part"
        if count is None and device["kind"] == "cpu":
            count = 1.0
        if not count:
            return f"the number of devices of the {kind} part is not stated"
        return float(count * (self._slice(part["device"]) or self._unit(part["device"], device)) * wall * runs)

    def _slice(self, text: str) -> float | None:
        device = self.named(text)
        found = re.search(r"(?i)(?:\b|TPU)v\d(?:e|p|litepod)?\s?-\s?(\d+)(?:\b|$)", plain_phrase(text))
        if device is None or device["cores_per_chip"] is None or found is None:
            return None
        return int(found[1]) / device["cores_per_chip"]  # type: ignore[no-any-return]

    @staticmethod
    def _unit(text: str, device: Line) -> float:
        if device["cores_per_chip"] is not None:
            return 1 / device["cores_per_chip"] if re.search(r"(?i)\bcores?\b", text) else 1.0
        if device["kind"] != "cpu":
            return 1.0
        cores = re.search(r"(?i)(\d+)[\s-]*(?:CPU[\s-]*|physical[\s-]*)?cores?\b", plain_phrase(text))
        return int(cores[1]) / 64 if cores else 1.0


def plain_phrase(text: str) -> str:
    text = re.sub(r"\\(?:texttrademark|textregistered|xspace|times)\b", " ", text)
    text = re.sub("\\\\[,;:! ]|[~{}$()\\[\\],™®×_\u00a0\u2009\u202f]", " ", text)
    text = text.replace("\u2011", "-").replace("\u2013", "-")
    text = re.sub(r"(\d)\s*[xX*](?=\s*[A-Z])", r"\1 ", text)
    return re.sub(r"\s+", " ", text)


def band_names(edges: Sequence[float]) -> list[str]:
    return [f"{edges[i - 1] if i else 0.0:g}-{edge:g}" for i, edge in enumerate(edges)]


def band(hours: float | None, edges: Sequence[float]) -> str | None:
    if hours is None or not hours >= 0:
        return None
    names = band_names(edges)
    return next((names[i] for i, edge in enumerate(edges) if hours <= edge), None)


# ---------------------------------------------------------------- score and tier (format, "Score and tier")

SELECTABLE = ("Run", "Retrain", "Reimplement")
BLOCKED, OUT_OF_SCOPE = "Artifact-Blocked", "Out-of-Scope-Non-Empirical"
ROW_WORD = {"Run": "Easy", "Retrain": "Medium", "Reimplement": "Hard"}
Answers = dict[str, tuple["bool | None", bool]]


def missing(read: Answers, scoring: str) -> tuple[bool | None, bool | None, bool | None]:
    """Whether code, data and weights are missing; None while that is not known."""

    def lacks(signal: str) -> bool | None:
        value, applies = read[signal]
        if signal != "code_available" and scoring == "needs" and not applies:
            return False
        return None if value is None else not value

    data, standard = lacks("dataset_available"), read["dataset_is_standard"][0]
    if data is not False:
        data = False if standard else None if data is None or standard is None else True
    return lacks("code_available"), data, lacks("weights_available")


def score(read: Answers, scoring: str, kind: str) -> int | None:
    code, data, weights = missing(read, scoring)
    if kind != "empirical" or code is None or data is None or weights is None:
        return None
    return 2 * code + 3 * data + weights


def tier(read: Answers, scoring: str, kind: str) -> str | None:
    if kind != "empirical":
        return OUT_OF_SCOPE
    code, data, weights = missing(read, scoring)
    if data:
        return BLOCKED
    if data is None or code is None:
        return None
    if code:
        return "Reimplement"
    return None if weights is None else "Retrain" if weights else "Run"


# ---------------------------------------------------------------- targets and bars (format, "Targets")

_PLAIN = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
_SIGN = r"(?:[-+−–]\s?)?"
_TEN = r"10\s?\^\s?[({]?\s?[-−+]?\s?\d{1,3}\s?[)}]?"
_POWER = rf"(?:\s?[eE][-+−]?\d{{1,3}}|\s?(?:×|\\times|\\cdot|·|x|\*)\s?{_TEN})"
_PM = r"(?:±|\+/-|\+-|\\pm)"
_SPREAD = (
    rf"(?:(?P<digits>\(\d{{1,3}}\))|\s?%?\s?{_PM}\s?(?P<plus>{_PLAIN}{_POWER}?)"
    rf"|\s?[\[(]\s?{_PM}?\s?(?P<in>{_PLAIN})\s?%?\s?[\])](?!\s?[\w]))?"
)
_UNIT = (
    r"(?:%|[x×](?![A-Za-z0-9])|[kKMBGT](?![A-Za-z])"
    r"|ms\b|s\b|sec\b|min\b|h\b|GB\b|MB\b|dB\b|hours?\b|minutes?\b)?"
)
_PRINTED = re.compile(rf"(?P<value>{_SIGN}(?:{_TEN}(?!\d)|{_PLAIN}{_POWER}?)){_SPREAD}\s?{_UNIT}")
_AROUND = (
    re.compile(rf"[_^]\s?\(?{_PM}\s?{_PLAIN}\)?\s?%?"),
    re.compile(rf"[_^]\s?[+−–-]\s?{_PLAIN}\s?[_^]\s?[+−–-]\s?{_PLAIN}"),
)
_INTERVAL = re.compile(
    rf"[\[(]?\s?(?:9\d(?:\.\d)?\s?%\s?)?(?:CI)?[:,]?\s?[\[(]?\s?(?P<low>{_SIGN}{_PLAIN}{_POWER}?)\s?%?\s?"
    rf"(?:,|;|–|—|-|to|\.\.)\s?(?P<high>{_SIGN}{_PLAIN}{_POWER}?)\s?%?\s?[\])]*"
)
_MORE = re.compile(r"\(?[↑↓+\-−±]?\s?[\d.,]+\s?[%x×↑↓]?\)?\s?[↑↓]?|[/(]\s?[-+−]?[\d.]+%?\)?")
_SECOND = re.compile(r"[-–]\s?\d")
_MARKS = " \t*†‡§¶↑↓▲▼△▽⇑⇓"
_SETTERS = (
    "textbf|mathbf|textit|underline|uline|bm|boldsymbol|mathrm|text|emph|hspace|num|texttt|small|tiny|bfseries|bf"
    "|footnotesize|scriptsize|pmb|ul|mathit|mathsf|boldmath|displaystyle|SI|qty|ensuremath"
)


def printed_number(text: str) -> float | None:
    """The one number a phrase is; None for prose, two numbers, or none (format, "A printed number")."""
    if len(text) > 400 or not re.search(r"\d", text):
        return None
    plain = _without_tex(text).strip().strip(_MARKS + "<>≤≥~∼≈≃=()[]|✓⋆★_\\;:'\"")
    if plain.count("(") > plain.count(")"):
        plain += ")"
    found = _PRINTED.match(plain)
    if found is None:
        return None
    value, rest = _read(found["value"]), plain[found.end() :].strip()
    if rest and not (found["digits"] or found["plus"] or found["in"]) and _spread_follows(value, rest):
        return value
    rest = rest.strip(_MARKS + "()[]^_{},;'⋆★abc")
    if rest and (not _MORE.fullmatch(rest) or rest.startswith("/") or _SECOND.match(rest)):
        return None
    return value


def _spread_follows(value: float | None, rest: str) -> bool:
    if any(pattern.fullmatch(rest) for pattern in _AROUND):
        return True
    interval = _INTERVAL.fullmatch(rest) if rest[0] in "([" else None
    if interval is None or value is None:
        return False
    low, high = _read(interval["low"]), _read(interval["high"])
    return low is not None and high is not None and low <= value <= high


def _read(text: str) -> float | None:
    text = text.replace(",", "").replace("−", "-").replace("–", "-").replace(" ", "").lstrip("+")
    sign = -1.0 if text.startswith("-") else 1.0
    text = text.lstrip("-")
    power = re.fullmatch(r"(?:(.+?)(?:×|\\times|\\cdot|·|x|\*))?10\^[({]?([-+]?\d+)[)}]?", text)
    try:
        value = sign * float(f"{power[1] or 1}e{power[2]}" if power else text)
    except (ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def _without_tex(text: str) -> str:
    if "\\" in text:
        while found := re.search(
            r"\\(?:h?phantom|vphantom|cellcolor|rowcolor|hspace|color|vspace)\*?(?:\[[^\]]*\])?\s*", text
        ):
            end, depth = found.end(), 0
            while end < len(text):
                depth += (text[end] == "{") - (text[end] == "}")
                end += 1
                if depth <= 0:
                    break
            text = text[: found.start()] + text[end:]
        text = re.sub(r"\\(?:textcolor|colorbox)(?:\[[^\]]*\])?\{[^{}]*\}", "", text)
        text = re.sub(rf"\\(?:{_SETTERS})\b\*?", "", text)
        for tex, plain in (("\\pm", "±"), ("\\times", "×"), ("\\%", "%"), ("\\cdot", "·"), ("\\percent", "%")):
            text = text.replace(tex, plain)
        text = text.replace("\\,", "").replace("\\;", "").replace("\\!", "")
    if any(c in text for c in "{$~"):
        text = re.sub("[{}]", "", text.replace("{,}", ",").replace("$", "").replace("~", " "))
    return text.replace("\u2009", "").replace("\u00a0", " ").replace("\u202f", "")


_PARTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # kind of bar: its operators, and what must be there
    "point_estimate": (("within",), ("bar.reference", "bar.tolerance", "bar.tolerance_source")),
    "magnitude": (("within",), ("bar.reference", "bar.tolerance", "bar.tolerance_source")),
    "direction": ((">", "<"), ("bar.reference", "baseline", "direction")),
    "threshold": ((">=", "<="), ("bar.reference", "direction")),
    "range": (("between",), ("bar.low", "bar.high")),
}


def target_problems(target: Line) -> list[str]:
    """Why code could not grade a target, in the words of the format."""
    found: list[str] = []
    bar = target["bar"]
    flat = {**target, **{f"bar.{key}": value for key, value in bar.items()}}
    printed = printed_number(target["value"])
    if printed is None or not math.isclose(printed, target["number"], rel_tol=1e-9, abs_tol=1e-12):
        found.append(f"value {target['value']!r} is not the number {target['number']!r}")
    ops, parts = _PARTS[bar["kind"]]
    if any(flat[part] is None for part in parts):
        found.append(f"a {bar['kind']} bar lacks a part")
    if bar["op"] not in ops:
        found.append(f"a {bar['kind']} bar cannot use {bar['op']!r}")
    if bar["kind"] in ("direction", "threshold") and (bar["op"][0] == ">") != (target["direction"] == "higher"):
        found.append("operator and direction disagree")
    if bar["kind"] == "range" and bar["low"] is not None and bar["high"] is not None and not bar["low"] < bar["high"]:
        found.append("a range needs two ends in order")
    if bar["tolerance"] is not None and not bar["tolerance"] > 0:
        found.append("a tolerance must be positive")
    if "".join(target["value"].split()) not in "".join(target["anchor"]["quote"].split()):
        found.append("the quote does not hold the value")
    return found


def bar_by_rule(target: Line, relative: float) -> Line | None:
    """The bar that a target's own numbers give; None where its kind lacks what it needs."""
    kind, number, up = target["bar"]["kind"], target["number"], target["direction"]
    low, high = target["bar"]["low"], target["bar"]["high"]
    made: Line = {"kind": kind, **BAR_DEFAULTS}
    if kind == "range":
        ordered = low is not None and high is not None and low < high
        return {**made, "op": "between", "low": low, "high": high} if ordered else None
    if kind in ("direction", "threshold"):
        reference = target["baseline"] if kind == "direction" else number
        op = (">" if up == "higher" else "<") + ("" if kind == "direction" else "=")
        return None if up is None or reference is None else {**made, "op": op, "reference": reference}
    scale = 100.0 if "%" in target["value"] + target["unit"] + target["metric"] else 1.0
    if target["uncertainty"]:
        tolerance, source = target["uncertainty"], "authors"
    elif abs(number) < 0.05 * scale:
        tolerance, source = 0.05 * scale * relative, "absolute"
    else:
        tolerance, source = abs(number) * relative, "default_relative"
    return {**made, "op": "within", "reference": number, "tolerance": tolerance, "tolerance_source": source}


# ---------------------------------------------------------------- one paper, derived (format, "Derivation")


@dataclass(frozen=True)
class Derived:
    """One sampled paper after classification."""

    inputs: Line
    labels: dict[str, Label]
    hours: Hours
    scores: dict[str, int | None]
    tier: str | None
    reasons: tuple[str, ...]
    row_hash: str

    @property
    def id(self) -> str:
        return str(self.inputs["arxiv_id"])

    @property
    def paid(self) -> bool:
        return needs_paid(self.inputs)


def needs_paid(inputs: Line) -> bool:
    return bool(inputs["paid_api"] or inputs["needs"].get("paid_api"))


def answers_of(labels: dict[str, Label]) -> Answers:
    return {signal: (one.value, one.applies) for signal, one in labels.items()}


def derive(inputs: Line, receipts: dict[str, Line], edition: Line, devices: DeviceTable) -> Derived:
    episode = [receipts[i] for i in inputs["receipts"] if i in receipts]
    labels = {s: label(s, inputs["claims"][s], episode, inputs["contexts"][s]) for s in SIGNALS}
    hours = devices.hours(inputs["compute"])
    read, kind = answers_of(labels), inputs["paper_kind"]
    found = tier(read, edition["scoring"], kind)
    return Derived(
        inputs=inputs,
        labels=labels,
        hours=hours,
        scores={scoring: score(read, scoring, kind) for scoring in ("needs", "published")},
        tier=found,
        reasons=tuple(why_ineligible(inputs, labels, found, hours, edition)),
        row_hash=row_hash(inputs, labels, receipts),
    )


def why_ineligible(
    inputs: Line, labels: dict[str, Label], found_tier: str | None, hours: Hours, edition: Line
) -> list[str]:
    if found_tier == OUT_OF_SCOPE:
        return [f"out of scope: {inputs['paper_kind']}"]
    found = list(inputs["problems"])
    found += [f"unverified {s}: {one.reason}" for s, one in labels.items() if one.status == "unverified"]
    if found_tier == BLOCKED:
        found.append("artifact-blocked: the target's data is neither available nor standard")
    had, due = sum(look["answered"] for look in inputs["looks"]), second_looks(edition)
    if found_tier == "Reimplement" and had < due:
        found.append(f"second looks missing: {had} of {due} were had")
    if inputs["target"] is None:
        found.append("no match target: no printed number supports the claim")
    found += [f"target cannot be graded: {problem}" for problem in inputs["target_problems"]]
    found += [f"needs {n.replace('_', ' ')}" for n in ("human_raters", "licensed_simulator") if inputs["needs"].get(n)]
    cap = edition["pool_cap_hours"]
    if hours.mid is None:
        found.append(f"hours unknown: {hours.reason}")
    elif hours.mid > cap:
        found.append(f"above the cap: {hours.mid:.2f} of {cap:g} H100-hours")
    return found


def row_hash(inputs: Line, labels: dict[str, Label], receipts: dict[str, Line]) -> str:
    judged = {
        "custom_id": inputs["arxiv_id"],
        "claim": inputs["central_claim"],
        "quote": inputs["claim_quote"],
        "kind": inputs["paper_kind"],
        "signals": {s: [one.value, one.verification] for s, one in labels.items()},
        **{key: inputs[key] for key in ("target", "needs", "paid_api", "links", "compute")},
    }
    cited = dict.fromkeys(i for one in labels.values() for i in one.receipts)
    facts = [[receipts[i][key] for key in ("subject", "tool", "outcome", "facts")] for i in cited]
    return digest({"judged": judged, "receipts": facts})


# ---------------------------------------------------------------- selection (format, "Selection")


@dataclass(frozen=True)
class Candidate:
    id: str
    tier: str | None
    hours: float | None
    excluded: str | None


@dataclass
class Stratum:
    tier: str
    band: str
    supply: int
    quota: int
    want: int
    taken: int
    cascaded: list[tuple[str, int]]
    topped_up: int = 0

    def told(self) -> Line:
        return {
            "tier": self.tier,
            "band": self.band,
            "supply": self.supply,
            "quota": self.quota,
            "want": self.want,
            "taken": self.taken,
            "cascaded": [list(pair) for pair in self.cascaded],
            "topped_up": self.topped_up,
            "inclusion": self.inclusion,
        }

    @property
    def inclusion(self) -> float:
        return self.taken / self.supply if self.supply else 0.0

    def reason(self, rank: int) -> str:
        """Why the paper of this rank is where it is: ranks fall into runs of one reason each."""
        runs = [("quota", min(self.supply, self.quota))]
        runs += [(f"cascade from band {origin}", n) for origin, n in self.cascaded]
        runs += [("top-up", self.topped_up)]
        for reason, n in runs:
            if rank <= n:
                return reason
            rank -= n
        return "reserve"


@dataclass
class Selection:
    """Papers in their order (hours, unknown last, then id), with what became of each."""

    strata: list[Stratum]
    rows: dict[str, Line]
    shortfall: dict[str, int]

    @property
    def ids(self) -> list[str]:
        return [i for i, row in self.rows.items() if row["status"] == "taken"]

    def replacement(self, dropped: str, used: set[str]) -> str | None:
        gone = self.rows[dropped]
        left = [
            (i, row)
            for i, row in self.rows.items()
            if row["rank"] is not None and row["tier"] == gone["tier"] and i not in used
        ]
        near = sorted((row["rank"], i) for i, row in left if row["band"] == gone["band"])
        if near:
            return near[0][1]
        return left[0][0] if left else None


def shares(total: int, weights: Sequence[int]) -> list[int]:
    """Largest remainders, ties to the earlier place."""
    whole = sum(weights)
    given = [total * w // whole for w in weights]
    order = sorted(range(len(weights)), key=lambda i: (-(total * weights[i] % whole), i))
    for i in order[: total - sum(given)]:
        given[i] += 1
    return given


def plan(name: str, names: Sequence[str], quotas: Sequence[int], supply: Sequence[int]) -> list[Stratum]:
    """What each band of a tier gives: the dearest first, what it lacks carried to cheaper ones, the rest topped up."""
    strata: list[Stratum] = []
    owed: list[tuple[str, int]] = []
    for i in reversed(range(len(names))):
        own = min(supply[i], quotas[i])
        left, served, still = supply[i] - own, [], []
        for origin, n in owed:
            got = min(left, n)
            left -= got
            served += [(origin, got)] if got else []
            still += [(origin, n - got)] if n > got else []
        want = quotas[i] + sum(n for _, n in owed)
        strata.insert(0, Stratum(name, names[i], supply[i], quotas[i], want, supply[i] - left, served))
        owed = still + ([(names[i], quotas[i] - own)] if quotas[i] > own else [])
    lacking = sum(n for _, n in owed)
    for stratum in strata:
        stratum.topped_up = min(lacking, stratum.supply - stratum.taken)
        stratum.taken += stratum.topped_up
        lacking -= stratum.topped_up
    return strata


def select(
    candidates: Iterable[Candidate], total: int, edges: Sequence[float], weights: Sequence[int], lot_seed: str | None
) -> Selection:
    """`lot_seed`: the edition's seed where strata are drawn by lot, None where the cheapest are taken."""
    names = band_names(edges)
    ordered = sorted(candidates, key=lambda c: (c.hours is None, c.hours or 0.0, c.id))
    because = {c.id: _unselectable(c, edges[-1]) for c in ordered}
    members: dict[tuple[str, str], list[str]] = {(t, b): [] for t in SELECTABLE for b in names}
    for c in ordered:
        if because[c.id] is None:
            members[str(c.tier), str(band(c.hours, edges))].append(c.id)
    strata: list[Stratum] = []
    shortfall: dict[str, int] = {}
    quotas = shares(total, [1] * len(SELECTABLE))
    for i, name in enumerate(SELECTABLE):
        planned = plan(name, names, shares(quotas[i], weights), [len(members[name, b]) for b in names])
        shortfall[name] = quotas[i] - sum(s.taken for s in planned)
        strata += planned
    placed: dict[str, Line] = {}
    for s in strata:
        ids = members[s.tier, s.band]
        if lot_seed is not None and 0 < s.taken < s.supply:
            ids = sorted(ids, key=lambda i: (hashlib.sha256(f"draw:{lot_seed}:{i}".encode()).digest(), i))
        for rank, paper in enumerate(ids, start=1):
            status = "taken" if rank <= s.taken else "reserve"
            placed[paper] = {"status": status, "reason": s.reason(rank), "rank": rank, "inclusion": s.inclusion}
            placed[paper].update(tier=s.tier, band=s.band)
    rows: dict[str, Line] = {}
    for c in ordered:
        reason = f"excluded because {because[c.id]}"
        out = {"status": "excluded", "reason": reason, "rank": None, "inclusion": 0.0, "tier": c.tier, "band": None}
        rows[c.id] = placed.get(c.id, out)
    return Selection(strata, rows, shortfall)


def _unselectable(c: Candidate, cap: float) -> str | None:
    if c.excluded is not None:
        return c.excluded
    if c.tier is None:
        return "its tier is undetermined"
    if c.tier not in SELECTABLE:
        return f"its tier is {c.tier}"
    if c.hours is None or not math.isfinite(c.hours) or c.hours < 0:
        return "its hours are unknown"
    return f"its hours are above the cap of {cap:g}" if c.hours > cap else None


PAID = "needs a paid or closed API"


def select_pool(derived: Sequence[Derived], edition: Line) -> Selection:
    before = edition["paid_api_policy"] == "before_pool"
    candidates = [
        Candidate(d.id, d.tier, d.hours.mid, d.reasons[0] if d.reasons else PAID if before and d.paid else None)
        for d in derived
    ]
    return select(
        *(candidates, edition["pool_size"], edition["band_edges_hours"], edition["band_weights"]), lot_seed(edition)
    )


def lot_seed(edition: Line) -> str | None:
    return edition["seed"] if edition["draw"] == "seeded" else None


# ---------------------------------------------------------------- the ledger (format, "Ledger", "Standing")


def fold_order(entries: Iterable[Line]) -> list[Line]:
    return sorted(entries, key=lambda e: (moment(e["event"]["at"]), e["site"], e["seq"]))


def fold(entries: Iterable[Line]) -> list[Line]:
    """Events that count, in fold order: each content once, and neither undos nor what they undo."""
    events: dict[str, Line] = {}
    for entry in fold_order(entries):
        events.setdefault(entry["id"], entry["event"])
    against: dict[str, list[str]] = {}
    for id_, event in events.items():
        if "undoes" in event:
            against.setdefault(event["undoes"], []).append(id_)

    @cache
    def undone(id_: str) -> bool:
        return any(events[u]["who"] == events[id_]["who"] and not undone(u) for u in against.get(id_, ()))

    return [event for id_, event in events.items() if event["kind"] != "undo" and not undone(id_)]


def chain_problems(entries: Iterable[Line], edition: str) -> Iterator[tuple[Line, str]]:
    ordered = sorted(entries, key=lambda e: (e["site"], e["seq"]))
    events = {e["id"]: e["event"] for e in ordered}
    last: dict[str, tuple[int, str]] = {}
    for entry in ordered:
        seq, before = last.get(entry["site"], (0, digest(["ledger", edition, entry["site"]])))
        if entry["seq"] != seq + 1:
            yield entry, f"follows entry {seq}; entries are missing or repeated"
        elif entry["prev_hash"] != before:
            yield entry, "is not chained to the entry before it"
        event = entry["event"]
        if event["kind"] == "undo" and events.get(event["undoes"], {}).get("who") != event["who"]:
            yield entry, f"undoes no event of {event['who']}"
        last[entry["site"]] = (entry["seq"], entry["hash"])


def ledger_head(entries: Iterable[Line]) -> str:
    last = {e["site"]: e for e in sorted(entries, key=lambda e: e["seq"])}
    return digest([[site, last[site]["seq"], last[site]["hash"]] for site in sorted(last)])


@dataclass(frozen=True)
class Standing:
    """The event that decides each settled question, and what the others lack."""

    decided: dict[str, Line]
    open: dict[str, str]

    @property
    def state(self) -> str:
        if not self.open or self.value("eligibility") is False:
            return "decided"
        return next(state for state in ("disputed", "stale", "waiting") if state in self.open.values())

    def value(self, question: str) -> Json:
        return self.decided[question].get("value") if question in self.decided else None


def standing(row_hash_: str, events: Sequence[Line]) -> Standing:
    """`events`: those about one paper, in fold order."""
    decided: dict[str, Line] = {}
    open_: dict[str, str] = {}
    for question in QUESTIONS:
        about = [e for e in events if e.get("question") == question]
        present = [e for e in about if e["row_hash"] == row_hash_]
        settling = [e for e in present if e["kind"] in SETTLING]
        said: dict[str, Line] = {}  # a person's place is that of the first answer, the word that of the last
        for e in present:
            if e["kind"] == "answer":
                said[e["who"]] = e
        words = list(said.values())
        if settling:
            decided[question] = settling[-1]
        elif not words:
            open_[question] = "stale" if about else "waiting"
        elif words[0]["value"] == "cannot_tell" or not all(_is(e["value"], words[0]["value"]) for e in words):
            open_[question] = "disputed"
        else:
            decided[question] = words[-1]
    return Standing(decided, open_)


# ---------------------------------------------------------------- audited rows (format, "Audited rows")


@dataclass(frozen=True)
class Audited:
    """A pool row after its decisions. `excluded`: why it can enter no split."""

    derived: Derived
    standing: Standing
    inputs: Line
    labels: dict[str, Label]
    hours: Hours
    scores: dict[str, int | None]
    tier: str | None
    overturned: tuple[str, ...]
    excluded: str | None

    @property
    def id(self) -> str:
        return self.derived.id


def audit(
    row: Derived, events: Sequence[Line], receipts: dict[str, Line], edition: Line, devices: DeviceTable
) -> Audited:
    where = standing(row.row_hash, events)
    inputs, problems = corrected(row.inputs, where)
    labels = {s: answered(s, row, where, receipts) for s in SIGNALS}
    hours = answered_hours(row, labels, where, devices)
    read, kind = answers_of(labels), inputs["paper_kind"]
    found = tier(read, edition["scoring"], kind)
    if where.state != "decided":
        problems = [f"{where.state}: {', '.join(where.open)}"]
    elif where.value("eligibility") is False:
        why = where.decided["eligibility"].get("why") or "no reason given"
        problems = [f"a person found it not eligible: {why}"]
    else:
        problems += why_ineligible(inputs, labels, found, hours, edition)
    return Audited(
        derived=row,
        standing=where,
        inputs=inputs,
        labels=labels,
        hours=hours,
        scores={scoring: score(read, scoring, kind) for scoring in ("needs", "published")},
        tier=found,
        overturned=tuple(q for q, e in where.decided.items() if overturns(row, q, e["value"])),
        excluded=problems[0] if problems else None,
    )


def overturns(row: Derived, question: str, value: Json) -> bool:
    says: Json = "stands"
    if question in SIGNALS:
        says = row.labels[question].value if row.labels[question].applies else "not_needed"
    elif question == "kind":
        says = row.inputs["paper_kind"]
    elif question == "needs":
        says = sorted(need for need, quote in row.inputs["needs"].items() if quote)
    elif question == "eligibility":
        says = True
    return value != "cannot_tell" and not _is(value, says)


def corrected(inputs: Line, where: Standing) -> tuple[Line, list[str]]:
    """Inputs with people's corrections, and what people found wrong without correcting it."""
    now = dict(inputs)
    problems = [f"a person found its {q} wrong" for q in ("claim", "target", "bar") if where.value(q) == "wrong"]
    if where.value("kind") is not None:
        now["paper_kind"] = where.value("kind")
    needs = where.value("needs")
    if needs is not None:
        said = where.decided["needs"].get("why") or "as a person found"
        now["needs"] = {need: inputs["needs"].get(need) or said for need in needs}
        now["paid_api"] = (inputs["paid_api"] or "as a person found") if "paid_api" in needs else ""
    claim = where.value("claim")
    if isinstance(claim, dict):
        now.update(central_claim=claim["claim"], claim_quote=claim["quote"])
    target, bar = where.value("target"), where.value("bar")
    if isinstance(target, dict):
        now["target"] = whole_target(target)
    if isinstance(bar, dict) and now["target"] is not None:
        now["target"] = {**now["target"], "bar": whole_bar(bar)}
    if now["target"] is not inputs["target"]:
        now["target_problems"] = target_problems(now["target"])
    return now, problems


def answered(signal: str, row: Derived, where: Standing, receipts: dict[str, Line]) -> Label:
    """A person's answer in the verdict's place."""
    before, event = row.labels[signal], where.decided.get(signal)
    if event is None:
        return before
    value, who = event["value"], f"{event['who']}: {event.get('why', '')}".rstrip(": ")
    if value == "not_needed":
        return before if not before.applies else Label(False, "not_applicable", "confirmed", (), who)
    if before.applies and value == before.value:
        return before
    rests_on = support(signal, value, cited(event, row.inputs, receipts))
    searched = value is False and any(is_search(r) for r in rests_on)
    how = "tool_searched_not_found" if searched else "tool_verified"
    return Label(value, how, "confirmed", tuple(r["id"] for r in rests_on), who)


def citable(inputs: Line) -> list[str]:
    return list(dict.fromkeys([*inputs["receipts"], *(i for look in inputs["looks"] for i in look["receipts"])]))


def cited(event: Line, inputs: Line, receipts: dict[str, Line]) -> list[Line]:
    own = set(citable(inputs))
    return [receipts[i] for i in dict.fromkeys(event.get("evidence", ())) if i in own and i in receipts]


def is_search(receipt: Line) -> bool:
    return str(receipt["subject"]).startswith("search:")


def support(signal: str, value: bool, given: Sequence[Line]) -> list[Line]:
    """Those of the cited receipts on which an answer can rest."""
    places = [r for r in given if not is_search(r) and r["outcome"] != "undetermined"]
    if value:
        enough = ("available", "gated") if signal == "dataset_is_standard" else ("available",)
        return [r for r in places if r["outcome"] in enough and not r["facts"].get("authenticated")]
    return places or [r for r in given if is_search(r) and r["facts"].get("complete") and not r["facts"].get("failed")]


def answered_hours(row: Derived, labels: dict[str, Label], where: Standing, devices: DeviceTable) -> Hours:
    value = where.value("hours")
    if value == "wrong":
        return Hours(None, None, None, reason="a person found the hours wrong")
    if value is not None and value != "stands":
        return Hours(value, float(value), value, reason="as a person estimated")
    before, after = row.labels["weights_available"].value, labels["weights_available"].value
    parts = row.inputs["compute"]
    rest = [part for part in parts if part["kind"] not in ("train", "finetune")]
    if before is not True and after is True:
        return devices.hours(rest)
    if before is True and after is not True and len(rest) == len(parts):
        reason = "the weights were found missing, and the hours of training are not stated"
        return Hours(None, None, None, reason=reason)
    return row.hours


# ---------------------------------------------------------------- splits (format, "Splits")


@dataclass(frozen=True)
class Change:
    split: str | None
    left: str
    entered: str | None
    kind: str
    why: str
    event: str = ""
    due: str | None = None
    because: str = ""


@dataclass
class Splits:
    members: dict[str, list[str]]
    rule: dict[str, Selection]
    changes: list[Change]
    problems: list[str]

    def of(self, paper: str) -> str | None:
        return next((split for split in ("eval", "dev") if paper in self.members[split]), None)


def replay(rows: Sequence[Audited], edition: Line, events: Iterable[Line]) -> Splits:
    def candidates(chosen: Iterable[str] = ()) -> list[Candidate]:
        taken = set(chosen)
        found = []
        for row in rows:
            why = row.excluded or ("in the evaluation split" if row.id in taken else None)
            found.append(Candidate(row.id, row.tier, row.hours.mid, why or (PAID if needs_paid(row.inputs) else None)))
        return found

    cap = edition["split_cap_hours"]
    edges = [edge for edge in edition["band_edges_hours"] if edge <= cap]
    weights = edition["band_weights"][: len(edges)]
    eval_ = select(candidates(), edition["eval_size"], edges, weights, lot_seed(edition))
    dev = select(candidates(eval_.ids), edition["dev_per_tier"] * len(SELECTABLE), [cap], [1], None)
    splits = Splits({"eval": eval_.ids, "dev": dev.ids}, {"eval": eval_, "dev": dev}, [], [])
    gone: set[str] = set()
    for event in events:
        if event["kind"] not in ("drop", "replace"):
            continue
        paper, entered, due, because = event["paper"], None, None, ""
        gone.add(paper)
        split = splits.of(paper)
        if split is not None:
            if event["kind"] == "replace":
                due = splits.rule[split].replacement(paper, gone.union(*splits.members.values()))
                choice, because, wrong = _choice(event, split, due, splits, gone)
                entered = choice or due
                if choice in splits.members["dev"]:
                    splits.members["dev"].remove(choice)
                    splits.changes.append(Change("dev", choice, None, event["kind"], event["why"], digest(event)))
                if entered is None and not wrong:
                    wrong = "the reserve of its tier is empty; drop it instead"
                splits.problems += [f"{paper}: {wrong}"] if wrong else []
            at = splits.members[split].index(paper)
            splits.members[split][at : at + 1] = [] if entered is None else [entered]
        elif event["kind"] == "replace":
            splits.problems.append(f"{paper}: cannot be replaced, it is in no split")
        splits.changes.append(Change(split, paper, entered, event["kind"], event["why"], digest(event), due, because))
    return splits


def _choice(event: Line, split: str, due: str | None, splits: Splits, gone: set[str]) -> tuple[str | None, str, str]:
    """Whom a person chose against the rule, why, and what is wrong with it; a choice that is wrong counts as none."""
    value = event.get("value")
    if value is None or value == due or (isinstance(value, dict) and value.get("paper") == due):
        return None, "", ""
    if not isinstance(value, dict):
        return None, "", f"{value} was expected in its place, the rule gives {due}" if due else ""
    paper, because = value.get("paper"), value.get("because")
    if not isinstance(paper, str) or not isinstance(because, str) or not because.strip():
        return None, "", f"{paper} was chosen in its place, which is not next, without a reason"
    row, left = splits.rule[split].rows.get(paper), splits.rule[split].rows.get(event["paper"])
    own = splits.members["eval"] + (splits.members["dev"] if split == "dev" else [])
    if paper in gone or paper in own or row is None or left is None:
        return None, "", f"{paper} was chosen in its place, which left a split, is in one, or is no candidate"
    if row["rank"] is None or row["tier"] != left["tier"]:
        return None, "", f"{paper} was chosen in its place, which is excluded or of another tier"
    return paper, because, ""


# ---------------------------------------------------------------- rows and agent view (format, "Rows", "Agent view")


def published_row(one: Audited, split: str, edition: Line, devices: DeviceTable) -> Line:
    """The 25 fields. Raises ValueError naming the field that cannot be."""
    inputs, target, hours, before = one.inputs, one.inputs["target"], one.hours.mid, one.derived.hours
    points = one.scores[edition["scoring"]]
    if target is None or hours is None or before.mid is None or points is None or one.tier is None:
        raise ValueError("has no target, hours, score or tier")
    mismatch = abs(before.mid - hours) / max(before.mid, hours) > edition["compute_audit_tolerance"] if (
        max(before.mid, hours) > 0
    ) else False  # fmt: skip
    edges = edition["band_edges_hours"]
    crosses = any(before.low <= edge < before.high for edge in edges)
    quotes = "; ".join(dict.fromkeys(part["quote"] for part in inputs["compute"] if part["quote"]))
    basis = inputs["basis"] or quotes or "nothing is stated"
    stated = _stated(inputs, before.mid, devices)
    row = {
        "custom_id": one.id,
        "central_claim": inputs["central_claim"],
        "claim_evidence": inputs["claim_quote"],
        "paper_kind": inputs["paper_kind"],
        "mre_config": inputs["mre_config"],
        "agent_task": inputs["agent_task"],
        "verified_links": inputs["links"],
        "signals": {
            s: {"value": k.value, "verification": k.verification, "evidence": k.reason or "as a person found"}
            for s, k in one.labels.items()
        },
        "match_target": {
            **{key: target[key] for key in ("config", "metric", "value", "scope")},
            "match_bar_kind": target["bar"]["kind"],
        },
        "h100_estimate": {"hours": before.mid, "basis_kind": inputs["basis_kind"], **stated, "basis": basis},
        "score": points,
        "tier": ROW_WORD.get(one.tier, one.tier),
        "split": split,
        "selection_band": band(before.mid, edges),
        "h100_band": band(hours, edges),
        "h100_hours_estimate": before.mid,
        "audited_h100_hours": hours,
        "h100_estimate_basis": f"{inputs['basis_kind']}: {basis}",
        "h100_recomputed_hours": before.mid,
        "h100_arithmetic_mismatch": mismatch,
        "h100_hours_adjudicated": "hours" in one.overturned,
        "h100_needs_human_review": inputs["basis_kind"] == "compute_unspecified" or mismatch or crosses,
        "verification_status": "verified",
        "web_verification": "available",
        "exit_reason": inputs["exit_reason"],
    }
    wrong = row_problems(row)
    if wrong:
        raise ValueError("; ".join(wrong))
    return row


def _stated(inputs: Line, hours: float, devices: DeviceTable) -> Line:
    """Count, wall hours of all runs and factor, where the only part states them and they give the hours."""
    stated: Line = dict.fromkeys(("gpu_count", "gpu_type", "wallclock_hours", "h100_equivalent_multiplier"))
    if len(inputs["compute"]) != 1:
        return stated
    part = inputs["compute"][0]
    stated["gpu_type"] = part["device"] or None
    device = devices.named(part["device"])
    if device is not None and part["count"] is not None and part["wall_hours"] is not None:
        wall = part["wall_hours"] * part["runs"]
        if math.isclose(part["count"] * wall * device["factor"], hours, rel_tol=1e-9, abs_tol=1e-12):
            stated["gpu_count"], stated["wallclock_hours"] = part["count"], wall
            stated["h100_equivalent_multiplier"] = device["factor"]
    return stated


PUBLISHED_SIGNAL = {
    **fields("value", YES_NO),
    **fields("verification", one_of("tool_verified tool_searched_not_found not_applicable")),
    **fields("evidence", TEXT),
}
ROW = {
    **fields("custom_id central_claim claim_evidence mre_config agent_task", TEXT),
    **fields("selection_band h100_band h100_estimate_basis", TEXT),
    **fields("paper_kind", KINDS),
    **fields("verified_links", LINKS),
    **fields("signals", fields(" ".join(SIGNALS), PUBLISHED_SIGNAL)),
    **fields("match_target", {**fields("config metric value scope", TEXT), **fields("match_bar_kind", BARS)}),
    "h100_estimate": {
        **fields("hours", NUMBER),
        **fields("basis", TEXT),
        **fields("basis_kind", BASES),
        **fields("gpu_type", MAYBE_TEXT),
        **fields("gpu_count wallclock_hours h100_equivalent_multiplier", MAYBE_NUMBER),
    },
    **fields("score", WHOLE),
    **fields("tier", one_of("Easy Medium Hard")),
    **fields("split", one_of("eval dev")),
    **fields("h100_hours_estimate audited_h100_hours", NUMBER),
    **fields("h100_recomputed_hours", MAYBE_NUMBER),
    **fields("h100_arithmetic_mismatch", ("or null", YES_NO)),
    **fields("h100_hours_adjudicated h100_needs_human_review", YES_NO),
    **fields("verification_status", one_of("verified")),
    **fields("web_verification", one_of("available")),
    **fields("exit_reason", one_of("natural")),
}
MAY_BE_EMPTY = ("match_target.scope", "h100_estimate.gpu_type")


def row_problems(row: Json) -> list[str]:
    found = misshapen(row, ROW, "")
    if found:
        return found
    texts = {
        **{key: value for key, value in row.items() if isinstance(value, str)},
        **{f"signals.{s}.evidence": row["signals"][s]["evidence"] for s in SIGNALS},
        **{f"match_target.{key}": value for key, value in row["match_target"].items()},
        "h100_estimate.basis": row["h100_estimate"]["basis"],
    }
    found = [f"{name} is empty" for name, text in texts.items() if text == "" and name not in MAY_BE_EMPTY]
    hours = (row["h100_estimate"]["hours"], row["h100_hours_estimate"], row["audited_h100_hours"])
    if min(hours) < 0:
        found.append("hours are negative")
    return found if 0 <= row["score"] <= 6 else [*found, f"score {row['score']} is not within 0 to 6"]


TASK = """\
Reproduce one result of a paper ({custom_id}).

Claim: {claim}
Measure: {metric}{scope}. The paper reports {value}; your result is held against it as a {bar}.

{code}
{data}
{weights}

You may use at most {grant:g} H100-hours. Report the measured value, its unit, and the number of seeds.
Copying the paper's numbers, tables or figures is no reproduction.
"""
PLACES = {
    # what: (with links, without links, where it is not available)
    "code": ("Released code: {}", "The paper's code is released with its supplement.", "No code is released."),
    "dataset": ("Data: {}", "The data is a public benchmark; find it by its name.", "No data is released."),
    "weights": (
        "Released weights: {}",
        "Weights come with the code or are not needed.",
        "No weights are released: train what you need.",
    ),
}


def agent_view(row: Line, figures: Iterable[Line]) -> Line:
    target, grant = row["match_target"], float(row["h100_band"].split("-")[1])
    places = {}
    for what, (linked, unlinked, none) in PLACES.items():
        links = row["verified_links"][what]
        there = linked.format(" ".join(", ".join(links).split())) if links else unlinked
        places[what] = there if row["signals"][f"{what}_available"]["value"] else none
    said = {name: " ".join(target[name].split()) for name in ("metric", "scope", "value")}
    task = TASK.format(
        custom_id=row["custom_id"],
        claim=" ".join(row["central_claim"].split()),
        metric=said["metric"],
        scope=f" on {said['scope']}" if said["scope"] else "",
        value=said["value"],
        bar=target["match_bar_kind"].replace("_", " "),
        code=places["code"],
        data=places["dataset"],
        weights=places["weights"],
        grant=grant,
    )
    return {
        **{key: row[key] for key in ("custom_id", "split", "tier", "central_claim", "verified_links", "h100_band")},
        "task": task,
        "signals": {s: row["signals"][s]["value"] for s in SIGNALS},
        "match_target": {key: target[key] for key in ("metric", "value", "scope", "match_bar_kind")},
        "grant_h100_hours": grant,
        "figure_sha256": sorted({f["sha256"] for f in figures if f["custom_id"] == row["custom_id"]}),
    }


_SETTING = re.compile(
    r"(?<!\S)--?[A-Za-z][\w-]*(?:=\S+| [\d.]\S*)?|[A-Za-z_]\w*\s*=\s*[^\s,;]+|\b\d+(?:\.\d+)?[eE]-?\d+\b"
    r"|\b\d+[- ]?(?:epochs?|steps?|iterations?|layers?|shots?|warmup\w*)\b"
)


def given_away(row: Line, view: Line) -> list[str]:
    """Settings of the running configuration that the agent view restates."""

    def squeezed(text: str) -> str:
        return re.sub(r"\s+", "", text).lower()

    target = row["match_target"]
    shown_ = squeezed(f"{row['central_claim']} {target['metric']} {target['scope']} {target['value']}")
    told = squeezed(f"{view['central_claim']} {view['task']}")
    settings = {squeezed(found) for found in _SETTING.findall(f"{target['config']} {row['mre_config']}")}
    return sorted(setting for setting in settings if setting in told and setting not in shown_)


# ---------------------------------------------------------------- everything derived (format, "Tables", "Exclusions")


@dataclass
class Held:
    """The recorded tables, read."""

    edition: Line
    devices: DeviceTable
    sample: list[Line]
    receipts: dict[str, Line]
    entries: list[Line]
    index: list[Line]
    figures: list[Line]
    early: list[Line]


@dataclass
class Made:
    """What follows from them."""

    derived: list[Derived]
    pool: Selection
    audited: dict[str, Audited]
    splits: Splits
    rows: dict[str, list[Line]]
    problems: list[tuple[str, str]]
    exclusions: list[Line]
    entered: list[str] = field(default_factory=list)
    events: list[Line] = field(default_factory=list)

    @property
    def chosen(self) -> list[Audited]:
        return [one for one in self.audited.values() if self.splits.of(one.id)]


EARLY = ("corpus", "bundles", "sample", "classification")


def make(held: Held, derived: list[Derived]) -> Made:
    pool = select_pool(derived, held.edition)
    events = fold(held.entries)
    about: dict[str, list[Line]] = {}
    for event in events:
        about.setdefault(event["paper"], []).append(event)
    by_id = {d.id: d for d in derived}
    found = {i: audit(by_id[i], about.get(i, []), held.receipts, held.edition, held.devices) for i in pool.ids}
    entered: list[str] = []
    for i in entering(found, pool, by_id, held.edition, events):
        found[i] = audit(by_id[i], about.get(i, []), held.receipts, held.edition, held.devices)
        entered.append(i)
    audited = {i: found[i] for i in sorted(found)}
    splits = replay(list(audited.values()), held.edition, events)
    rows: dict[str, list[Line]] = {"eval": [], "dev": []}
    problems: list[tuple[str, str]] = []
    for one in audited.values():
        split = splits.of(one.id)
        if split is not None:
            try:
                rows[split].append(published_row(one, split, held.edition, held.devices))
            except ValueError as error:
                problems.append((one.id, str(error)))
    exclusions = [*held.early, *left_out(derived, pool, audited, splits)]
    exclusions.sort(key=lambda e: (e["key"], e["stage"]))
    return Made(derived, pool, audited, splits, rows, problems, exclusions, entered, events)


def entering(
    audited: dict[str, Audited], pool: Selection, derived: dict[str, Derived], edition: Line, events: list[Line]
) -> Iterator[str]:
    """Who comes in from the reserve, one by one, while a tier can count on fewer rows than both splits take. The caller
    audits each before it asks for the next (format, "Replacement")."""

    def serves(found: str | None, hours: float | None, out: bool, inputs: Line) -> str | None:
        fits = hours is not None and hours <= edition["split_cap_hours"] and not out and not needs_paid(inputs)
        return found if fits and found in SELECTABLE else None

    def counted(one: Audited) -> str | None:
        if one.standing.state == "decided":
            return serves(one.tier, one.hours.mid, bool(one.excluded), one.inputs)
        return serves(one.derived.tier, one.derived.hours.mid, False, one.derived.inputs)

    quotas = shares(edition["eval_size"], [1] * len(SELECTABLE))
    replaced = {event["paper"] for event in events if event["kind"] == "replace"}
    edges = edition["band_edges_hours"]
    reserve = sorted(
        (edges.index(next(e for e in edges if derived[i].hours.mid <= e)), row["rank"], i)
        for i, row in pool.rows.items()
        if row["status"] == "reserve"
    )
    left = [i for *_, i in reserve if serves(derived[i].tier, derived[i].hours.mid, False, derived[i].inputs)]
    while True:
        have = Counter(counted(one) for i, one in audited.items() if i not in replaced)
        short = [
            i
            for tier_, quota in zip(SELECTABLE, quotas)  # noqa: B905 (Python 3.9 knows no strict)
            if have[tier_] < quota + edition["dev_per_tier"]
            for i in left
            if derived[i].tier == tier_
        ]
        if not short:
            return
        left.remove(short[0])
        yield short[0]


def left_out(
    derived: Sequence[Derived], pool: Selection, audited: dict[str, Audited], splits: Splits
) -> Iterator[Line]:
    last = {change.left: change for change in splits.changes}
    for d in derived:
        if splits.of(d.id):
            continue
        one = audited.get(d.id)
        if d.reasons:
            because = ("selection", "not eligible", "; ".join(d.reasons))
        elif one is None:
            because = ("selection", "not in the pool", pool.rows[d.id]["reason"])
        elif d.id in last:
            change = last[d.id]
            because = ("audit", "dropped" if change.kind == "drop" else "replaced", change.why)
        elif one.excluded:
            because = ("audit", "not eligible", one.excluded)
        else:
            because = ("release", "reserve", splits.rule["eval"].rows[d.id]["reason"])
        stage, reason, detail = because
        yield {"key": d.id, "title": d.inputs["title"], "stage": stage, "reason": reason, "detail": detail}


def selection_line(d: Derived, made: Made, edition: Line) -> Line:
    one, pool, split = made.audited.get(d.id), made.pool.rows[d.id], made.splits.rule["eval"].rows.get(d.id, {})
    return {
        "custom_id": d.id,
        "row_hash": d.row_hash,
        **{s: k.value for s, k in d.labels.items()},
        **{f"{s}_verification": k.verification for s, k in d.labels.items()},
        **{f"{s}_status": k.status for s, k in d.labels.items()},
        "hours_low": d.hours.low,
        "hours": d.hours.mid,
        "hours_high": d.hours.high,
        "factors": list(d.hours.factors),
        **{f"score_{scoring}": points for scoring, points in d.scores.items()},
        "tier": d.tier,
        "band": band(d.hours.mid, edition["band_edges_hours"]),
        **{f"pool_{key}": pool[key] for key in ("status", "reason", "rank", "inclusion")},
        "audit_state": one and one.standing.state,
        "overturned": list(one.overturned) if one else [],
        "audited_hours": one and one.hours.mid,
        **{f"audited_score_{scoring}": one and one.scores[scoring] for scoring in ("needs", "published")},
        "audited_tier": one and one.tier,
        "audited_excluded": one and one.excluded,
        **{f"split_{key}": split.get(key) for key in ("status", "reason", "rank", "inclusion")},
        "split": made.splits.of(d.id),
    }


def posted(arxiv_id: str) -> str:
    """The month that an arXiv id names, whether YYMM.number or archive/YYMMnumber."""
    digits = arxiv_id.rpartition("/")[2]
    return f"{19 if digits[:2] >= '91' else 20}{digits[:2]}-{digits[2:4]}"


def tables(held: Held, made: Made) -> dict[str, list[Line]]:
    rows = [*made.rows["eval"], *made.rows["dev"]]
    kept = [held.receipts[i] for d in made.derived for i in citable(d.inputs) if i in held.receipts]
    figures = sorted(held.figures, key=lambda f: (f["custom_id"], f["file"]))
    return {
        "eval": made.rows["eval"],
        "dev": made.rows["dev"],
        "sample": [d.inputs for d in made.derived],
        "receipts": kept,
        "targets": [{"custom_id": one.id, **one.inputs["target"]} for one in made.chosen if one.inputs["target"]],
        "inventory": [{"custom_id": d.id, **item} for d in made.derived for item in d.inputs["inventory"]],
        "selection": [selection_line(d, made, held.edition) for d in made.derived],
        "ledger": sorted(held.entries, key=lambda e: (e["site"], e["seq"])),
        "exclusions": made.exclusions,
        "index": sorted(held.index, key=lambda line: line["key"]),
        "dates": [{"custom_id": d.id, "posted": posted(d.id)} for d in made.derived],
        "figures": [f for f in figures if made.splits.of(f["custom_id"])],
        "agent_view": [agent_view(row, held.figures) for row in rows],
    }


def funnel(held: Held, made: Made) -> Line:
    lost: dict[str, Counter[str]] = {}
    for one in made.exclusions:
        lost.setdefault(one["stage"], Counter())[one["reason"]] += 1
    selections = {"pool": made.pool, **made.splits.rule}
    chosen = [
        {name: getattr(c, name) for name in ("split", "left", "entered", "due", "because", "event")}
        for c in made.splits.changes
        if c.because
    ]
    return {
        **({"chosen": chosen} if chosen else {}),
        "index": len(held.index),
        "excluded": {stage: dict(counts) for stage, counts in lost.items()},
        "derived": len(made.derived),
        "eligible": sum(not d.reasons for d in made.derived),
        "pool": len(made.pool.ids),
        "entered": made.entered,
        "decided": sum(one.standing.state == "decided" for one in made.audited.values()),
        "overturned": sum(bool(one.overturned) for one in made.audited.values()),
        **{split: len(made.splits.members[split]) for split in ("eval", "dev")},
        "scores_differ": sorted(one.id for one in made.chosen if len(set(one.scores.values())) > 1),
        "strata": {name: [s.told() for s in chosen.strata] for name, chosen in selections.items()},
        "shortfall": {name: {t: n for t, n in s.shortfall.items() if n} for name, s in selections.items()},
    }


MEASURED = (*SIGNALS, "kind", "needs")
DRAWS = 1000


def agreement(held: Held, made: Made) -> Line:
    """How far people agree who answered blind (format, "Agreement")."""
    said: dict[str, dict[str, dict[str, str]]] = {}
    for event in made.events:
        one = made.audited.get(event["paper"])
        blind = event.get("phase") == "blind" and not {"mode", "identity"} & set(event)
        if one and blind and event["question"] in MEASURED and event["row_hash"] == one.derived.row_hash:
            by_person = said.setdefault(one.id, {}).setdefault(event["who"], {})
            by_person[event["question"]] = canonical(event.get("value"))
    twice = sum(any(sum(q in mine for mine in of.values()) > 1 for q in MEASURED) for of in said.values())
    told = {q: _agreement(q, said, f"{held.edition['seed']} agreement {q}") for q in MEASURED} if twice else {}
    return {"measured": twice > 0, "rows": twice, "of": len(made.audited), "draws": DRAWS, "questions": told}


def _agreement(question: str, said: dict[str, dict[str, dict[str, str]]], seed: str) -> Line:
    units = [[mine[question] for mine in said[paper].values() if question in mine] for paper in sorted(said)]
    units = [unit for unit in units if len(unit) > 1]
    pairs = [(unit[0], unit[1]) for unit in units]
    values = Counter(value for unit in units for value in unit)
    agreed, whole = sum(a == b for a, b in pairs), kappa(pairs)
    low = high = None
    if whole is not None:
        lot = random.Random(seed)
        drawn = (kappa([pairs[int(lot.random() * len(pairs))] for _ in pairs]) for _ in range(DRAWS))
        found = sorted(k for k in drawn if k is not None)
        if 2 * len(found) >= DRAWS:
            low, high = found[len(found) // 40], found[len(found) - 1 - len(found) // 40]
    return {
        "n": len(pairs),
        "agreed": agreed,
        "percent": 100 * agreed / len(pairs) if pairs else None,
        "kappa": whole,
        "kappa_low": low,
        "kappa_high": high,
        "alpha": alpha(units),
        "prevalence": {value: count / sum(values.values()) for value, count in values.items()},
        "confusion": [[a, b, count] for (a, b), count in sorted(Counter(pairs).items())],
        "readers": len({who for of in said.values() for who, mine in of.items() if question in mine}),
    }


def kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    n, chance = len(pairs), sum(count * second[value] for value, count in first.items())
    agreed = sum(a == b for a, b in pairs)
    return None if chance == n * n else (n * agreed - chance) / (n * n - chance)


def alpha(units: Sequence[Sequence[str]]) -> float | None:
    """Krippendorff's, of nominal answers."""
    values = Counter(value for unit in units for value in unit)
    n, chance = sum(values.values()), sum(count * (count - 1) for count in values.values())
    if chance == n * (n - 1):
        return None
    agreed = sum(
        (Fraction(count * (count - 1), len(unit) - 1) for unit in units for count in Counter(unit).values()), Fraction()
    )
    return float(1 - (n - agreed) * (n - 1) / (n * (n - 1) - chance))


def manifest_facts(held: Held, made: Made) -> Line:
    counted = funnel(held, made)
    return {
        **({"chosen": counted["chosen"]} if "chosen" in counted else {}),
        "format": FORMAT,
        "edition": held.edition["name"],
        "edition_hash": digest(held.edition),
        "as_of": held.edition["as_of"],
        "ledger_head": ledger_head(held.entries),
        "rows_sha256": digest({split: made.rows[split] for split in ("eval", "dev")}),
        "counts": {**{split: len(made.rows[split]) for split in ("eval", "dev")}, "index": len(held.index)},
        "shortfall": counted["shortfall"],
    }


# ---------------------------------------------------------------- reading (format, "Files")


def read_tables(files: dict[str, bytes], said: Line) -> tuple[Held | None, dict[str, list[Line]], Check]:
    check = Check("recorded tables can be read")
    documents: dict[str, Json] = {}
    shapes: dict[str, Any] = {"edition.json": edition_problems, "devices.json": device_problems}
    for name in DOCUMENTS:
        try:
            value = documents[name] = json.loads(files[name])
            wrong = [] if (canonical(value) + "\n").encode() == files[name] else ["is not canonical JSON"]
            wrong += [] if isinstance(value, dict) else ["is no JSON object"]
            wrong += shapes[name](value) if not wrong and name in shapes else []
        except (ValueError, RecursionError) as error:
            wrong = [f"cannot be read: {error}"]
        check.look(name, wrong)
    lines: dict[str, list[Line]] = {table: _read_lines(files, table, check) for table in TABLES}
    if check.failures:
        return None, lines, check
    if digest(documents["edition.json"]) != said.get("edition_hash"):
        check.look("edition.json", ["edition hash differs from the manifest's"])
        return None, lines, check
    held = Held(
        edition=documents["edition.json"],
        devices=DeviceTable(documents["devices.json"]),
        receipts={line["id"]: line for line in lines["receipts"]},
        early=[line for line in lines["exclusions"] if line["stage"] in EARLY],
        entries=lines["ledger"],
        **{table: lines[table] for table in ("sample", "index", "figures")},
    )
    return held, lines, check


def _read_lines(files: dict[str, bytes], table: str, check: Check) -> list[Line]:
    more: dict[str, Any] = {"sample": sample_problems, "receipts": receipt_problems, "ledger": entry_problems}
    found: list[Line] = []
    for number, raw in enumerate(lines_of(files[f"{table}.jsonl"]), start=1):
        where = f"{table}.jsonl line {number}"
        try:
            line = json.loads(raw)
            if not isinstance(line, dict):
                raise ValueError("is no JSON object")
            where = f"{table}.jsonl {row_name(table, line)}"
            wrong = [] if (canonical(line) + "\n").encode() == raw else ["is not canonical JSON and a line feed"]
            wrong += misshapen(line, SHAPES[table], "") if table in SHAPES else []
            wrong += more[table](line) if not wrong and table in more else []
            found.append(line)
        except (ValueError, RecursionError) as error:
            wrong = [str(error)]
        except (KeyError, TypeError, AttributeError) as error:
            wrong = [f"lacks {error}"]
        check.look(where, wrong)
    return found


def device_problems(said: Line) -> list[str]:
    found = misshapen(said, {"version": WHOLE, "device": [DEVICE]}, "")
    if found:
        return found
    known = KNOWN_DEVICES.get(said["version"])
    if known is None:
        return [f"is version {said['version']}, which this verifier does not know; take a newer one"]
    return [] if digest(said) == known else [f"is not version {said['version']} of the device table"]


# ---------------------------------------------------------------- comparing, and the rules of the gate (format, "Gate")

RULES = {
    **dict.fromkeys(("signals",), "labels follow from receipts and decisions"),
    "score": "scores follow from the signals",
    "tier": "tiers follow from the score",
    "match_target": "targets are the recorded ones",
    "split": "splits are the replay of selection and ledger",
    **dict.fromkeys(("selection_band", "h100_band"), "bands follow from the hours"),
    **dict.fromkeys(
        (
            *("h100_estimate", "h100_hours_estimate", "audited_h100_hours", "h100_estimate_basis"),
            *("h100_recomputed_hours", "h100_arithmetic_mismatch", "h100_hours_adjudicated"),
            "h100_needs_human_review",
        ),
        "hours follow from the compute parts and decisions",
    ),
}
TABLE_RULES = {
    **dict.fromkeys(("eval", "dev"), "rows follow from recorded inputs"),
    "sample": "derivation inputs are stored once, in order",
    "receipts": "receipts are those of the sampled papers, in order",
    "targets": "targets are the recorded ones",
    "inventory": "candidates are the paper's inventory",
    "selection": "selection is the rule's",
    "ledger": "the ledger's chains are whole",
    "exclusions": "every paper of the index is accounted for, once",
    "index": "the index is stored once, in order",
    "dates": "dates follow from the arXiv ids",
    "figures": "figures are those of the papers in a split, in order",
    "agent_view": "the agent view is the row by allow-list",
}


@dataclass
class Case:
    held: Held
    made: Made
    lines: dict[str, list[Line]]

    @property
    def rows(self) -> list[Line]:
        return [*self.lines["eval"], *self.lines["dev"]]


def compared(case: Case, files: dict[str, bytes]) -> Check:
    check = Check("every row is what its evidence, edition and ledger give")
    due = tables(case.held, case.made)
    for table in TABLES:
        expected, there = by_name(table, due[table]), by_name(table, case.lines[table])
        for name in sorted({*expected, *there}):
            check.look(f"{table}.jsonl {name}", differences(table, expected.get(name), there.get(name)))
        if list(expected) != list(there) and set(expected) == set(there):
            check.look(f"{table}.jsonl", ["its lines are not in their order"])
    for name, counted in (
        ("funnel.json", funnel(case.held, case.made)),
        ("agreement.json", agreement(case.held, case.made)),
    ):
        told = json.loads(files[name])
        for key in sorted({*told, *counted}):
            fits = key in told and key in counted and same(told[key], counted[key])
            check.look(name, [] if fits else [f"{key} is {told.get(key)!r:.200}, derived {counted.get(key)!r:.200}"])
    return check


def by_name(table: str, lines: Iterable[Line]) -> dict[str, Line]:
    found: dict[str, Line] = {}
    for line in lines:
        name = row_name(table, line)
        while name in found:
            name += " again"
        found[name] = line
    return found


def differences(table: str, due: Line | None, there: Line | None) -> list[str]:
    rule, in_split = TABLE_RULES[table], table in ("eval", "dev")
    if due is None or there is None:
        rule = "splits are the replay of selection and ledger" if in_split else rule
        return [f"{rule}: this row {'is not derived' if due is None else 'is derived and missing'}"]
    if same(due, there):
        return []
    return [
        f"{RULES.get(key, rule) if in_split else rule}: {key} is {there.get(key)!r:.200}, derived {due.get(key)!r:.200}"
        for key in sorted({*due, *there})
        if key not in due or key not in there or not same(due[key], there[key])
    ]


def row_schema(case: Case) -> Check:
    check = Check("every row has exactly the 25 fields, in their types")
    for row in case.rows:
        check.look(row.get("custom_id"), row_problems(row))
    for paper, problem in case.made.problems:
        check.look(paper, [problem])
    return check


def receipts_resolve(case: Case) -> Check:
    check = Check("receipts resolve")
    for d in case.made.derived:
        for id_ in dict.fromkeys([*d.inputs["receipts"], *(i for one in d.labels.values() for i in one.receipts)]):
            receipt = case.held.receipts.get(id_)
            wrong = "is missing" if receipt is None else "is another paper's" if receipt["paper"] != d.id else ""
            check.look(d.id, [f"receipt {id_[:16]} {wrong}"] if wrong else [])
    return check


def receipts_rest(case: Case) -> Check:
    check = Check("what receipts found rests on exchanges")
    for r in case.held.receipts.values():
        inside = r["subject"].startswith("supplement:")
        wrong = []
        if (r["tool"] == "supplement_file") != inside:
            wrong = [f"receipt {r['id'][:16]} of {r['tool']} is about {r['subject']}"]
        elif r["outcome"] == "available" and not inside and not r["exchanges"]:
            wrong = [f"receipt {r['id'][:16]} of {r['tool']} found {r['subject']} without an exchange"]
        check.look(r["paper"], wrong)
    return check


def receipts_entail(case: Case) -> Check:
    check = Check("labels follow from receipts and decisions")
    for row in case.rows:
        one = case.made.audited.get(row["custom_id"])
        for signal in SIGNALS:
            said, wrong = row["signals"][signal], []
            if one is None:
                wrong = [f"{signal} has no derivation"]
            else:
                due = one.labels[signal]
                if due.status == "unverified":
                    wrong.append(f"{signal} is unverified: {due.reason}")
                if not same([said["value"], said["verification"]], [due.value, due.verification]):
                    wrong.append(
                        f"{signal} says {said['value']} ({said['verification']}), "
                        f"its receipts say {due.value} ({due.verification})"
                    )
                if not due.receipts and due.applies:
                    wrong.append(f"{signal} stands without a receipt")
            check.look(row["custom_id"], wrong)
    for one in case.made.audited.values():
        check.look(one.id, unsupported(one, case.held.receipts))
    return check


def unsupported(one: Audited, receipts: dict[str, Line]) -> Iterator[str]:
    """Overturned answers without a reason, or without a receipt that supports them."""
    out = one.standing.value("eligibility") is False
    for question in one.overturned:
        event = one.standing.decided[question]
        if out and question != "eligibility":
            continue
        if not event.get("why"):
            yield f"{question} overturned by {event['who']} without a reason"
        if question not in SIGNALS or event["value"] == "not_needed":
            continue
        if not support(question, event["value"], cited(event, one.derived.inputs, receipts)):
            yield f"{question} overturned to {event['value']} by {event['who']} without a receipt that supports it"


def targets_gradeable(case: Case) -> Check:
    check = Check("every target can be graded by code")
    targets = {line["custom_id"]: line for line in case.lines["targets"]}
    for row in case.rows:
        target, shown_ = targets.get(row["custom_id"]), row["match_target"]
        if target is None:
            check.look(row["custom_id"], ["has no machine-readable target"])
            continue
        wrong = misshapen(target, {"custom_id": TEXT, **TARGET}, "") or target_problems(target)
        for key in ("config", "metric", "value"):
            if shown_[key] != target[key]:
                wrong.append(f"the row shows the {key} {shown_[key]!r}, its target has {target[key]!r}")
        if shown_["match_bar_kind"] != target["bar"]["kind"]:
            wrong.append(f"the row shows a {shown_['match_bar_kind']} bar, its target has {target['bar']['kind']}")
        check.look(row["custom_id"], wrong)
    return check


def targets_ruled(case: Case) -> Check:
    check = Check("targets are of the paper's source, with the bar of the edition's tolerance")
    for one in case.made.chosen:
        target, wrong = one.inputs["target"], []
        if target is None:
            check.look(one.id, ["has no target"])
            continue
        if target["anchor"]["source_sha256"] != one.inputs["source_sha256"]:
            wrong.append("its target is anchored in another source")
        given = any(isinstance(one.standing.value(question), dict) for question in ("target", "bar"))
        due = bar_by_rule(target, case.held.edition["tolerance_relative"])
        if not given and not same(target["bar"], due):
            wrong.append(f"its bar is {target['bar']!r}, by rule {due!r}")
        check.look(one.id, wrong)
    return check


def agents_untold(case: Case) -> Check:
    check = Check("the agent view gives no setting away")
    views = {view["custom_id"]: view for view in case.lines["agent_view"]}
    for row in case.rows:
        view = views.get(row["custom_id"])
        told = ["has no agent view"] if view is None else [f"tells {s!r}" for s in given_away(row, view)]
        check.look(row["custom_id"], told)
    return check


PASSED = ("chosen", "other claim", "dearer", "ablation", "not numeric", "baseline only", "appendix repeat")


def inventory_reasoned(case: Case) -> Check:
    check = Check("every candidate is chosen or passed over with a reason")
    for one in case.made.chosen:
        inputs = one.derived.inputs
        for item in inputs["inventory"]:
            known = item["reason"] in PASSED
            check.look(one.id, [] if known else [f"{item['item']} has no reason of the guide: {item['reason']!r}"])
        table = inputs["target"]["anchor"]["table"] if inputs["target"] else None
        due = [f"table {table}"] if table else []
        picked = [item["item"] for item in inputs["inventory"] if item["reason"] == "chosen"]
        where = due[0] if due else "running text"
        check.look(one.id, [] if picked == due else [f"its target is printed in {where}, and chosen is {picked}"])
    return check


def ledger_whole(case: Case) -> Check:
    check = Check("the ledger's chains are whole")
    for entry in case.held.entries:
        check.look(entry["event"]["paper"])
    for entry, problem in chain_problems(case.held.entries, case.held.edition["name"]):
        check.look(f"ledger.jsonl {row_name('ledger', entry)}", [problem])
    return check


def pool_decided(case: Case) -> Check:
    check = Check("every pool row is decided on its present hash")
    due = owed(case)
    for one in case.made.audited.values():
        open_ = ", ".join(f"{question} {state}" for question, state in one.standing.open.items())
        wrong = [] if one.standing.state == "decided" else [f"{one.standing.state}: {open_}"]
        wrong += [f"a second reading ({due[one.id]}) is owed, and not in yet"] if one.id in due else []
        check.look(one.id, wrong)
    return check


SECOND_SHARE = 0.25
SCOPES = {"full": set(QUESTIONS), "target": {"claim", "target", "bar"}}


def owed(case: Case) -> dict[str, str]:
    """Second readings that are still to be had, by paper: none while one person reads alone (format, "Second
    readings")."""
    made = case.made
    said: dict[str, dict[str, dict[str, Line]]] = {i: {} for i in made.audited}
    blind: set[str] = set()
    for event in made.events:
        one = made.audited.get(event["paper"])
        if one and event["kind"] == "answer" and event["row_hash"] == one.derived.row_hash:
            said[one.id].setdefault(event["who"], {})[event["question"]] = event
            if event["phase"] == "blind" and not {"mode", "identity"} & set(event):
                blind.add(event["who"])
    if len(blind) < 2:
        return {}
    due = {i: "target" for i in made.audited if made.splits.of(i)}
    seed, edges = case.held.edition["seed"], case.held.edition["band_edges_hours"]
    strata: dict[tuple[str | None, str | None], list[str]] = {}
    for i, one in made.audited.items():
        strata.setdefault((one.derived.tier, band(one.derived.hours.mid, edges)), []).append(i)
        if any(one.standing.decided[question]["kind"] == "answer" for question in one.overturned):
            due[i] = "full"
    for papers in strata.values():
        papers.sort(key=lambda i: (hashlib.sha256(f"{seed} second reader {i}".encode()).digest(), i))
        due.update(dict.fromkeys(papers[: math.ceil(SECOND_SHARE * len(papers))], "full"))

    def read(answers: dict[str, Line], scope: str) -> bool:
        out = scope == "full" and answers.get("eligibility", {}).get("value") is False
        return out or SCOPES[scope] <= set(answers)

    return {i: scope for i, scope in due.items() if sum(read(a, scope) for a in said[i].values()) < 2}


def tiers_follow(case: Case) -> Check:
    check = Check("score and tier follow from the signals")
    scoring = case.held.edition["scoring"]
    for row in case.rows:
        read = {s: (k["value"], k["verification"] != "not_applicable") for s, k in row["signals"].items()}
        points, found = score(read, scoring, row["paper_kind"]), tier(read, scoring, row["paper_kind"])
        word = ROW_WORD.get(found or "", found)
        wrong = [] if same(row["score"], points) else [f"score {row['score']}, its signals give {points}"]
        wrong += [] if row["tier"] == word else [f"tier {row['tier']}, its signals give {word}"]
        check.look(row["custom_id"], wrong)
    return check


def bands_follow(case: Case) -> Check:
    check = Check("bands follow from the hours")
    for row in case.rows:
        for name, hours in (("h100_band", "audited_h100_hours"), ("selection_band", "h100_hours_estimate")):
            due = band(row[hours], case.held.edition["band_edges_hours"])
            check.look(row["custom_id"], [] if row[name] == due else [f"{name} {row[name]}, its hours give {due}"])
    return check


def caps_hold(case: Case) -> Check:
    check = Check("hours are within the caps")
    pool_cap, split_cap = case.held.edition["pool_cap_hours"], case.held.edition["split_cap_hours"]
    hours = {d.id: d.hours.mid for d in case.made.derived}
    told = [(paper, hours[paper], pool_cap, "pool") for paper in (*case.made.pool.ids, *case.made.entered)]
    told += [(row["custom_id"], row["audited_h100_hours"], split_cap, "split") for row in case.rows]
    for paper, found, cap, of in told:
        within = found is not None and 0 <= found <= cap
        check.look(paper, [] if within else [f"{found} H100-hours are not within the {of}'s cap of {cap:g}"])
    return check


def eligible_rows(case: Case) -> Check:
    check = Check("every row of a split is eligible")
    for row in case.rows:
        one = case.made.audited.get(row["custom_id"])
        if one is None:
            check.look(row["custom_id"], ["was never in the pool"])
            continue
        wrong = [one.excluded] if one.excluded else []
        wrong += [PAID] if needs_paid(one.inputs) else []
        wrong += [] if one.tier in SELECTABLE else [f"its tier is {one.tier}"]
        check.look(one.id, wrong)
    return check


def sizes_hold(case: Case) -> Check:
    check = Check("split sizes are the edition's, less what is said to be short")
    splits = case.made.splits
    for split in ("eval", "dev"):
        rule = splits.rule[split]
        gaps = [c.left for c in splits.changes if c.split == split and c.entered is None]
        for name in SELECTABLE:
            due = sum(s.taken for s in rule.strata if s.tier == name)
            due -= sum(rule.rows[paper]["tier"] == name for paper in gaps)
            have = sum(row["tier"] == ROW_WORD[name] for row in case.lines[split])
            if due or have:
                check.look(f"{split} {name}", [] if have == due else [f"{have} rows, the rule gives {due}"])
    return check


def splits_disjoint(case: Case) -> Check:
    check = Check("no paper is in two splits or twice in one")
    times = Counter(row["custom_id"] for row in case.rows)
    for split in ("eval", "dev"):
        for row in case.lines[split]:
            wrong = ["stands more than once in the splits"] if times[row["custom_id"]] > 1 else []
            wrong += [] if row["split"] == split else [f"is in {split} and says {row['split']}"]
            check.look(row["custom_id"], wrong)
    return check


def replacements_ruled(case: Case) -> Check:
    check = Check("replacements are the rule's", may_be_empty=True)
    for change in case.made.splits.changes:
        check.look(change.left)
    for problem in case.made.splits.problems:
        check.look("ledger.jsonl", [problem])
    return check


def sampled_by_rank(case: Case) -> Check:
    check = Check("the sample is a prefix of the seeded order")
    by_stage: dict[str, set[str]] = {stage: set() for stage in EARLY}
    for one in case.held.early:
        by_stage[one["stage"]].add(one["key"])
    inside = {d.id for d in case.made.derived} | by_stage["classification"]
    beyond, seed = by_stage["sample"], case.held.edition["seed"]
    ranked = sorted(inside | beyond, key=lambda i: (hashlib.sha256((seed + i).encode()).digest(), i))
    first = next((i for i, paper in enumerate(ranked) if paper in beyond), len(ranked))
    for i, paper in enumerate(ranked):
        late = paper in inside and i > first
        check.look(paper, [f"is sampled, though {ranked[first]} ranks before it and is not"] if late else [])
    return check


def all_accounted(case: Case) -> Check:
    check = Check("every paper of the index is accounted for, once")
    ends = Counter(row["custom_id"] for row in case.rows)
    for line in case.lines["exclusions"]:
        ends[line["key"]] += 1
        if not line["stage"] or not line["reason"]:
            check.look(line["key"], ["its exclusion lacks stage or reason"])
    for line in case.lines["index"]:
        end = line["arxiv_id"] or line["key"]
        places = ends.pop(end, 0)
        check.look(end, [] if places == 1 else [f"ends in {places} places; it must end in one"])
    for end in sorted(ends):
        check.look(end, ["is in a split or excluded, and not in the index"])
    return check


GATE = (
    *(row_schema, receipts_resolve, receipts_rest, receipts_entail, targets_gradeable, targets_ruled, agents_untold),
    *(inventory_reasoned, ledger_whole, pool_decided, tiers_follow, bands_follow, caps_hold, eligible_rows, sizes_hold),
    *(splits_disjoint, replacements_ruled, sampled_by_rank, all_accounted),
)


# ---------------------------------------------------------------- all of it


def verify(
    folder: Path, head: str | None = None, edition_hash: str | None = None, sealed: str | None = None
) -> tuple[list[Check], list[str]]:
    """Every check of a release's folder, and notes that fail nothing. Never raises for a bad folder. `sealed` is the
    hash of the manifest that was published: it alone holds what no rule derives."""
    manifest, files, checks = read_folder(folder)
    notes = [f"Parquet files ({len(PARQUET_TABLES)}): their hashes were checked, their contents were not read"]
    if files is None:
        return checks, notes
    try:
        held, lines, read = read_tables(files, manifest)
    except Exception as error:  # a forger may write anything
        held, lines, read = None, {}, _broken("recorded tables can be read", error)
    checks.append(read)
    if held is None:
        return checks, notes
    derived, again = derived_again(held)
    checks.append(again)
    if again.failures:
        return checks, notes
    try:
        case = Case(held, make(held, derived), lines)
    except Exception as error:
        return [*checks, _broken("everything can be derived again", error)], notes
    for look in GATE:
        checks.append(_tried(look, case))
    checks.append(_tried(compared, case, files))
    published = {"ledger_head": head, "edition_hash": edition_hash, "manifest_sha256": sealed}
    checks.append(_tried(manifest_said, case, manifest, published))
    return checks, notes


def derived_again(held: Held) -> tuple[list[Derived], Check]:
    check = Check("every sampled paper can be derived again")
    times = Counter(line["arxiv_id"] for line in held.sample)
    derived: list[Derived] = []
    for line in sorted(held.sample, key=lambda line: str(line["arxiv_id"])):
        wrong = ["stands twice in the sample"] if times[line["arxiv_id"]] > 1 else []
        try:
            derived.append(derive(line, held.receipts, held.edition, held.devices))
        except Exception as error:  # the paper's failure, whatever a forger wrote
            wrong.append(f"cannot be derived ({type(error).__name__}: {error})")
        check.look(f"sample.jsonl {line['arxiv_id']}", wrong)
    return derived, check.close()


def manifest_said(case: Case, manifest: Line, published: dict[str, str | None]) -> Check:
    check = Check("the manifest says what the files give")
    due = manifest_facts(case.held, case.made)
    said = {k: v for k, v in manifest.items() if k not in ("files", "manifest_sha256", "code_print")}
    for key in sorted({*due, *said}):
        fits = key in due and key in said and same(due[key], said[key])
        check.look(MANIFEST, [] if fits else [f"{key} is {said.get(key)!r:.200}, derived {due.get(key)!r:.200}"])
    due["manifest_sha256"] = manifest["manifest_sha256"]
    for name, known in published.items():
        if known is not None:
            check.look(name, [] if due[name] == known else [f"is {due[name]}, and {known} was published"])
    return check


def _tried(look: Any, *given: Any) -> Check:
    try:
        return look(*given).close()  # type: ignore[no-any-return]
    except Exception as error:
        return _broken(look.__name__.replace("_", " "), error)


def _broken(name: str, error: Exception) -> Check:
    check = Check(name)
    check.look("the release", [f"cannot be read ({type(error).__name__}: {error})"])
    return check


def printable(text: str) -> str:
    """Names and messages may quote a forged file: nothing in them ends a line or draws on a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def report(checks: Sequence[Check], notes: Sequence[str], most: int = 20) -> Iterator[str]:
    for check in checks:
        yield f"{'ok    ' if check.ok else 'FAILED'} {check.name} ({check.checked} checked)"
        yield from (f"       {where}: {problem}" for where, problem in check.failures[:most])
        if len(check.failures) > most:
            yield f"       … and {len(check.failures) - most} more"
    yield from (f"note   {note}" for note in notes)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).resolve().parent, help="a release")
    parser.add_argument("--ledger-head", help="the head that was published before the freeze")
    parser.add_argument("--edition-hash", help="the hash that was published before the first episode")
    parser.add_argument("--manifest", help="the hash of the manifest that was published with the release")
    parser.add_argument("--json", action="store_true", help="the report as JSON, every failure in it")
    given = parser.parse_args(arguments)
    checks, notes = verify(given.folder, given.ledger_head, given.edition_hash, given.manifest)
    ok = bool(checks) and all(check.ok for check in checks)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    if given.json:
        told = [
            {
                "name": check.name,
                "ok": check.ok,
                "checked": check.checked,
                "failures": [{"where": printable(w), "problem": printable(p)} for w, p in check.failures],
            }
            for check in checks
        ]
        print(json.dumps({"ok": ok, "checks": told, "notes": notes}, indent=1, ensure_ascii=False))
    else:
        print("\n".join(printable(line) for line in report(checks, notes)))
        print("every check holds" if ok else "NOT as it should be")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
