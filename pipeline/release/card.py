"""The data card: README.md with the metadata that the Hub reads, all of it counted from the frozen tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from pipeline.artifacts import subject
from pipeline.evidence import Signal
from pipeline.release.contents import (
    SPLITS,
    TIERS,
    Contents,
    Hours,
    address,
    bars,
    by_tier_and_band,
    funnel_steps,
    hours_by_tier,
    plain,
    pool_by_tier_and_band,
    verifications,
)
from pipeline.release.tables import SCHEMAS, Lines, jsonl

SIDE_TABLES = tuple(table for table in SCHEMAS if table not in SPLITS)
SIDE_SPLIT = "rows"
"""Side tables are no splits; the Hub wants a name all the same, and "train" would say the wrong thing."""
_KINDS: Mapping[Any, str] = {pl.String: "string", pl.Boolean: "bool", pl.Int64: "int64", pl.Float64: "float64"}


def card(contents: Contents) -> str:
    return "\n".join([*_front(contents), "", *_body(contents)]) + "\n"


# The metadata


def _front(contents: Contents) -> Iterator[str]:
    yield "---"
    yield f"pretty_name: {_quoted(f'Reclaim {contents.conference} ({contents.name})')}"
    yield from ("license: cc-by-4.0", "language:", "- en", "tags:")
    yield from ("- reproducibility", "- benchmark", "- agents", "- machine-learning-papers")
    yield from ("size_categories:", f"- {_size(len(contents.rows))}")
    yield "configs:"
    # A table without rows is not listed: `datasets` cannot load an empty split.
    splits = {split: name for split, name in SPLITS.items() if contents.lines[split]}
    sides = [table for table in SIDE_TABLES if contents.lines[table]]
    yield from ("- config_name: default", "  default: true", "  data_files:")
    for split, name in splits.items():
        yield from (f"  - split: {name}", f"    path: {split}.parquet")
    for table in sides:
        yield from (
            f"- config_name: {table}",
            "  data_files:",
            f"  - split: {SIDE_SPLIT}",
            f"    path: {table}.parquet",
        )
    yield "dataset_info:"
    yield from _info("default", "eval", {name: contents.lines[split] for split, name in splits.items()})
    for table in sides:
        yield from _info(table, table, {SIDE_SPLIT: contents.lines[table]})
    yield "---"


def _info(config: str, table: str, splits: Mapping[str, Lines]) -> Iterator[str]:
    """`datasets` reads counts only where bytes stand beside them: here those of the JSON lines."""
    yield f"- config_name: {config}"
    yield "  features:"
    for name, dtype in SCHEMAS[table].items():
        yield from _feature(name, dtype, "  ")
    yield "  splits:"
    for split, lines in splits.items():
        yield from (f"  - name: {split}", f"    num_bytes: {len(jsonl(lines))}", f"    num_examples: {len(lines)}")


def _feature(name: str, dtype: pl.DataType, indent: str) -> Iterator[str]:
    yield f"{indent}- name: {name}"
    yield from _typed(dtype, f"{indent}  ")


def _typed(dtype: Any, indent: str) -> Iterator[str]:
    """A column's type, as `datasets` writes its features in YAML."""
    if isinstance(dtype, pl.Struct):
        yield f"{indent}struct:"
        for field in dtype.fields:
            yield from _feature(field.name, field.dtype, indent)  # type: ignore[arg-type]
    elif isinstance(dtype, pl.List):
        if isinstance(dtype.inner, pl.Struct):
            yield f"{indent}list:"
            for field in dtype.inner.fields:
                yield from _feature(field.name, field.dtype, indent)  # type: ignore[arg-type]
        else:
            yield f"{indent}list: {_KINDS[dtype.inner if isinstance(dtype.inner, type) else type(dtype.inner)]}"
    else:
        yield f"{indent}dtype: {_KINDS[dtype if isinstance(dtype, type) else type(dtype)]}"


def _quoted(text: str) -> str:
    """A text in YAML: a colon or a hash sign in it ends nothing, digits alone make no number."""
    return json.dumps(text, ensure_ascii=False)


def _size(n: int) -> str:
    return "n<1K" if n < 1000 else "1K<n<10K" if n < 10_000 else "10K<n<100K"


# What people read


def _body(contents: Contents) -> Iterator[str]:
    counts = {split: len(contents.lines[split]) for split in SPLITS}
    yield f"# Reclaim {plain(contents.conference)}, version {contents.version}"
    yield ""
    yield (
        f"{counts['eval']} papers to reproduce (split `test`) and {counts['dev']} to develop on (`validation`), out of "
        f"{contents.funnel['index']} accepted at {plain(contents.conference)}. Each row has one pinned result, a tier "
        "that says what must be rebuilt, hours of one H100 under a cap, and the evidence behind every word. Every row "
        "can be derived again from the tables beside it; no label stands without a receipt."
    )
    yield ""
    yield from _code(
        "python",
        "from datasets import load_dataset",
        f'rows = load_dataset("{contents.repo}", revision="{contents.name}", split="test")',
        f'receipts = load_dataset("{contents.repo}", "receipts", revision="{contents.name}", split="{SIDE_SPLIT}")',
    )
    yield ""
    yield "Score a result with nothing installed but Python:"
    yield ""
    yield from _code(
        "sh", "python score.py --paper ID --value 79.1%", "python score.py --results mine.jsonl --split eval"
    )
    yield ""
    yield "Prove the whole release, from receipts to splits, the same way:"
    yield ""
    yield from _code("sh", "python verify.py")
    yield ""
    yield (
        "Agents get `agent_view.jsonl`, line by line: an allow-list with a task text, without running configurations "
        'or evidence. A score says `within_bar`, `outside_bar` or `ungradeable`, never "reproduced".'
    )
    yield from _section("What is in the splits")
    for split, name in SPLITS.items():
        yield from ("", f"**{split}** (`{name}`), rows by tier and band of H100-hours:", "")
        yield from _grid(by_tier_and_band(contents, split))
        yield from ("", f"Hours of {split}:", "")
        yield from _table(
            ("tier", "rows", "sum", "least", "median", "most"),
            [(t, *_hours(h)) for t, h in hours_by_tier(contents, split).items()],
        )
    yield from ("", "Kinds of bars:", "")
    kinds = sorted({kind for split in SPLITS for kind in bars(contents, split)})
    yield from _table(
        ("bar", *SPLITS), [(k.replace("_", " "), *(str(bars(contents, s)[k]) for s in SPLITS)) for k in kinds]
    )
    yield from _section("How the labels were settled")
    for split in SPLITS:
        found = verifications(contents, split)
        words = sorted({word for counter in found.values() for word in counter})
        yield from ("", f"**{split}**, signals by value and verification:", "")
        yield from _table(("signal", *words), [(str(s), *(str(found[str(s)][w]) for w in words)) for s in Signal])
    yield from _section("How far people agree")
    yield from _agreement(contents.agreement)
    yield from _section("From the index to the splits")
    yield ""
    yield from _table(("papers", "are"), [(str(n), what) for what, n in funnel_steps(contents)])
    yield from ("", "Left out, by stage and reason:", "")
    lost = [
        (stage, reason, str(n))
        for stage, reasons in contents.funnel["excluded"].items()
        for reason, n in reasons.items()
    ]
    yield from _table(("stage", "reason", "papers"), lost)
    yield from ("", "The pool, by the tier and band it was drawn on:", "")
    yield from _grid(pool_by_tier_and_band(contents))
    yield from _section("What it cannot tell")
    yield ""
    days = contents.edition["max_receipt_age_days"]
    yield (
        "A result inside its bar shows that a number was reached, not how. Availability is what a stranger saw at the "
        f"time of the receipts, which were no older than {days} days when the release was frozen; links rot. Papers "
        "whose artifacts could not be settled are in neither split, so the splits are not a random sample of the "
        "conference: inclusion shares stand in the table `selection`. Hours are estimates from what papers state, not "
        "measurements."
    )
    yield from _section("Rights")
    yield ""
    yield (
        "Annotations are under CC BY 4.0. Papers, code, data and weights belong to their authors and are linked, not "
        "copied: a target carries a quote of its value, `ATTRIBUTION.md` names every paper and what its repository "
        "says of its licence."
    )
    yield from _section("Which release this is")
    yield ""
    yield from _table(
        ("what", "value"),
        [
            ("release", contents.name),
            ("evidence as of", contents.edition["as_of"]),
            ("edition hash", f"`{contents.edition_hash}`"),
            ("ledger head", f"`{contents.ledger_head}`"),
        ],
    )
    yield from (
        "",
        "Benchmark data should never be trained on. If you find this string in a corpus, remove the file:",
        "",
    )
    yield f"`{contents.canary}`"


def _agreement(told: Mapping[str, Any]) -> Iterator[str]:
    """What `agreement.json` measures: blind answers of a first and a second reader."""
    yield ""
    if not told["measured"]:
        yield "Agreement was not measured: no row was answered blind by two people."
        return
    yield (
        f"Two people answered {told['rows']} of the pool's {told['of']} rows before they saw the row's verdict and "
        "without seeing each other. Kappa (Cohen) is low where nearly all answers are alike, so the commonest answer's "
        "share stands beside it; undefined means that all answers were one and the same. Alpha (Krippendorff, nominal) "
        "takes all readers of a row. Claim, target, bar and hours are judged as proposals and measure nothing here."
    )
    yield ""
    measured = [(name, one) for name, one in told["questions"].items() if one["n"]]
    yield from _table(
        ("question", "rows", "agree", "kappa", "interval (95 %)", "alpha", "commonest answer"),
        [
            (
                name,
                str(one["n"]),
                f"{one['percent']:.1f} %",
                _coefficient(one["kappa"]),
                "" if one["kappa_low"] is None else f"{one['kappa_low']:.2f} to {one['kappa_high']:.2f}",
                _coefficient(one["alpha"]),
                "{}, {:.1f} %".format(*_commonest(one["prevalence"])),
            )
            for name, one in measured
        ],
    )
    yield from ("", "What the first reader said, and the second:", "")
    cells = [(name, a, b, str(n)) for name, one in measured for a, b, n in one["confusion"]]
    yield from _table(("question", "first", "second", "rows"), cells)


def _coefficient(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.2f}"


def _commonest(prevalence: Mapping[str, float]) -> tuple[str, float]:
    answer = min(prevalence, key=lambda a: (-prevalence[a], a))
    return answer, 100 * prevalence[answer]


def _section(title: str) -> tuple[str, str]:
    return "", f"## {title}"


def _code(language: str, *lines: str) -> tuple[str, ...]:
    return (f"```{language}", *lines, "```")


def _grid(counts: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Tiers down, bands across, with sums."""
    found = list(dict.fromkeys(band for row in counts.values() for band in row))
    rows = [(t, *(str(counts[t][b]) for b in found), str(sum(counts[t].values()))) for t in TIERS]
    sums = [sum(counts[t][b] for t in TIERS) for b in found]
    return _table(("tier", *found, "all"), [*rows, ("all", *map(str, sums), str(sum(sums)))])


def _hours(found: Hours | None) -> tuple[str, ...]:
    if found is None:
        return ("0", "", "", "", "")
    return (str(found.n), *(f"{x:.2f}" for x in (found.total, found.least, found.median, found.most)))


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


# Its companions


def attribution(contents: Contents) -> str:
    """Whom a release builds on: every paper of a split, its repositories, and the licence that receipts saw there."""
    licences = {
        receipt["subject"]: str(receipt["facts"]["license"])
        for receipt in contents.lines["receipts"]
        if receipt["facts"].get("license")
    }
    lines = [
        "# Attribution",
        "",
        f"The papers of {contents.name}, and what their repositories say of their licence.",
        "",
    ]
    for row in sorted(contents.rows, key=lambda row: row["custom_id"]):
        paper = row["custom_id"]
        lines.append(f"- [{paper}](https://arxiv.org/abs/{paper}) {plain(contents.titles[paper])}")
        links = row["verified_links"]
        for link in dict.fromkeys((*links["code"], *links["dataset"], *links["weights"])):
            lines.append(f"  - {address(link)}: {plain(licences.get(subject(link), 'no licence seen'))}")
    return "\n".join(lines) + "\n"


def citation(contents: Contents) -> str:
    """CITATION.cff 1.2."""
    return "\n".join(
        [
            "cff-version: 1.2.0",
            "message: Please cite the release you used, with its version.",
            f"title: {_quoted(f'Reclaim {contents.conference}')}",
            "type: dataset",
            f"version: {contents.name}",
            f"date-released: {contents.edition['as_of']}",
            "license: CC-BY-4.0",
            "authors:",
            "- name: The Reclaim maintainers",
            "identifiers:",
            "- type: other",
            f"  value: {_quoted(contents.edition_hash)}",
            "  description: hash of the edition's settings",
            "",
        ]
    )
