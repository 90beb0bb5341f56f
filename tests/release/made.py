"""A small edition made in code: thirty index entries, twenty-four classified papers with receipts, a decided pool."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from pipeline import events
from pipeline.corpus import Exclusion
from pipeline.derivation import Derivation, Inputs, Rules, derive
from pipeline.editions import Edition, sample_order
from pipeline.events import QUESTIONS, Entry, Event, chained, genesis
from pipeline.evidence import Exchange, Outcome, Receipt, Signal, digest
from pipeline.labels import Context
from pipeline.paper import Paper, read
from pipeline.release.agent_view import Figure
from pipeline.release.compose import IndexLine, Material, pool_of
from pipeline.release.gate import Given

WHEN = datetime(2026, 3, 1, tzinfo=UTC)
EDITION = Edition.model_validate(
    {
        "name": "made-2026",
        "conference": "Made Conference",
        "year": 2026,
        "venue": "Made.cc/2026",
        "as_of": "2026-02-28",
        "world": "made",
        "seed": "made",
        "sample": 25,
        "split_cap_hours": 96,
        "pool_cap_hours": 192,
        "band_edges_hours": (8, 32, 96, 192),
        "band_weights": (5, 7, 8, 5),
        "pool_size": 18,
        "eval_size": 9,
        "dev_per_tier": 1,
    }
)
CLAIM = "Our method reaches the best accuracy on CIFAR-10."


def arxiv_id(n: int) -> str:
    return f"2601.{n:05}"


def source(n: int) -> dict[str, bytes]:
    """A LaTeX paper whose Table 1 prints accuracy 80.n."""
    text = rf"""\documentclass{{article}}
\title{{Made paper {n}}}
\begin{{document}}
\begin{{abstract}}{CLAIM}\end{{abstract}}
\section{{Results}} See Table~\ref{{tab:main}}. Training took {n + 1} hours on one H100.
\begin{{table}}\caption{{Main results of paper {n}}}\label{{tab:main}}
\begin{{tabular}}{{lc}}
Method & Accuracy \\
Baseline & 70.{n:02} \\
Ours & 80.{n:02} \\
\end{{tabular}}\end{{table}}
\end{{document}}
"""
    return {"main.tex": text.encode()}


def paper(n: int) -> Paper:
    return read(source(n))


def receipt(n: int, tool: str, subject: str, outcome: Outcome, reason: str = "", /, **facts: Any) -> Receipt:
    exchange = exchange_of(n, tool, subject)
    return Receipt(
        paper=arxiv_id(n),
        tool=tool,
        arguments={"subject": subject},
        exchanges=(exchange.id,),
        outcome=outcome,
        reason=reason or str(outcome),
        subject=subject,
        facts=facts,
    )


def body(n: int, tool: str, subject: str) -> bytes:
    return f"{tool} {subject} {n}".encode()


def exchange_of(n: int, tool: str, subject: str) -> Exchange:
    data = body(n, tool, subject)
    return Exchange(
        method="GET",
        url=f"https://made.example/{n}/{tool}",
        status=200,
        body_sha256=hashlib.sha256(data).hexdigest(),
        body_size=len(data),
        final_url=f"https://made.example/{n}/{tool}",
    )


Parts = list[dict[str, Any]]


def part(hours: float | None, kind: str = "train") -> dict[str, Any]:
    return {
        "kind": kind,
        "device": "H100",
        "count": 1.0,
        "wall_hours": hours,
        "device_hours": None,
        "runs": 1,
        "quote": f"{kind} for {hours} hours on one H100",
        "cpu_only": False,
    }


def inputs(n: int, *, tier: str, hours: float | None, **changes: Any) -> tuple[Inputs, list[Receipt]]:
    """One classified paper of the wanted tier: Run, Retrain, Reimplement, blocked or theory."""
    code, weights, home = f"github:lab/p{n}", f"hf:model:lab/p{n}", "url:https://cifar.example/"
    found: list[Receipt] = []
    if tier == "Reimplement":
        for query in ("title", "method"):
            found.append(
                receipt(
                    n, "github_search_repositories", f"search:github:{query}", Outcome.AVAILABLE,
                    complete=True, query=query,
                )
            )  # fmt: skip
    else:
        found.append(receipt(n, "github_repo", code, Outcome.AVAILABLE, code_files=12, train_entries=["train.py"]))
    if tier == "Run":
        found.append(receipt(n, "hub_repo", weights, Outcome.AVAILABLE, weights_open=True))
    else:
        found.append(receipt(n, "hub_search", "search:hub", Outcome.AVAILABLE, complete=True))
    gone = tier == "blocked"
    found.append(
        receipt(
            n, "fetch_url", home, Outcome.UNAVAILABLE if gone else Outcome.AVAILABLE, data_open=not gone, status=200
        )
    )
    standard = {"standard_names": ("CIFAR-10",)} if not gone else {"custom_data": True}
    contexts = {
        Signal.CODE: Context(
            groups=() if tier == "Reimplement" else (frozenset({code}),), absence_searches={"github": 2, "hub": 1}
        ),
        Signal.WEIGHTS: Context(groups=(frozenset({weights}),) if tier == "Run" else (), absence_searches={"hub": 1}),
        Signal.DATA: Context(groups=(frozenset({home}),)),
        Signal.STANDARD: Context(groups=(frozenset({home}),), **standard),
    }
    read_ = paper(n)
    table = read_.tables[0]
    row, column = next((c.row, c.column) for r in table.grid for c in r if c is not None and c.text == f"80.{n:02}")
    target = {
        "config": "ResNet-18, learning rate 0.1",
        "metric": "accuracy",
        "unit": "%",
        "direction": "higher",
        "value": f"80.{n:02}",
        "number": float(f"80.{n:02}"),
        "scope": "CIFAR-10 test set",
        "bar": {
            "kind": "point_estimate",
            "op": "within",
            "reference": float(f"80.{n:02}"),
            "tolerance": float(f"80.{n:02}") * EDITION.tolerance_relative,
            "tolerance_source": "default_relative",
        },
        "anchor": {
            "file": table.anchor.file,
            "line": table.anchor.line,
            "table": table.number,
            "row": row,
            "column": column,
            "quote": f"Ours | 80.{n:02}",
            "source_sha256": read_.source_sha256,
        },
    }
    inventory = [
        {"item": f"{item.kind} {item.number}", "caption": item.caption, "reason": "chosen"} for item in read_.inventory
    ]
    word = {
        Signal.CODE: tier != "Reimplement",
        Signal.WEIGHTS: tier == "Run",
        Signal.DATA: not gone,
        Signal.STANDARD: not gone,
    }
    given = {
        "arxiv_id": arxiv_id(n),
        "version": 1,
        "title": f"Made paper {n}",
        "bundle": "0" * 64,
        "source_sha256": read_.source_sha256,
        "classifier": "made",
        "exit_reason": "natural",
        "paper_kind": "theoretical" if tier == "theory" else "empirical",
        "central_claim": "The method is best on CIFAR-10.",
        "claim_quote": CLAIM,
        "mre_config": "ResNet-18 on CIFAR-10 with learning rate 0.1, 200 epochs",
        "agent_task": "Reproduce the accuracy on CIFAR-10.",
        "target": target,
        "target_problems": [],
        "inventory": inventory,
        "needs": {},
        "paid_api": "",
        "datasets": ["CIFAR-10"],
        "training": "released" if tier == "Run" else "trained",
        "compute": [part(hours, "eval" if tier == "Run" else "train")],
        "basis_kind": "paper_reported",
        "basis": "",
        "claims": {str(s): {"value": word[s], "cited": []} for s in Signal},
        "contexts": {str(s): c.to_json() for s, c in contexts.items()},
        "links": {"paper_or_project": [], "code": [], "dataset": ["https://cifar.example/"], "weights": []},
        "receipts": [r.id for r in found],
        "linked": [],
        "problems": [],
    }
    return Inputs.model_validate({**given, **changes}), found


def answers_of(row: Derivation) -> dict[str, Any]:
    """What a person says who agrees with everything."""
    said: dict[str, Any] = {str(one.signal): "not_needed" if not one.applicable else one.value for one in row.labels}
    return said | {
        "kind": row.inputs.paper_kind,
        "needs": sorted(row.inputs.needs),
        **dict.fromkeys(("claim", "target", "bar", "hours"), "stands"),
        "eligibility": True,
    }


def says(row: Derivation, question: str, value: Any, **changes: Any) -> Event:
    given = {
        "kind": "answer",
        "phase": "blind",
        "who": "ada",
        "at": "2026-02-20T10:00:00Z",
        "paper": row.arxiv_id,
        "row_hash": row.row_hash,
    }
    return Event.model_validate({**given, "question": question, "value": value, **changes})


def agrees(row: Derivation) -> list[Event]:
    said = answers_of(row)
    return [says(row, question, said[question]) for question in QUESTIONS]


def chain(events: list[Event], site: str = "main") -> tuple[Entry, ...]:
    return tuple(chained(events, site, 0, genesis(EDITION.name, site)))


TIERS = ("Run", "Retrain", "Reimplement")
HOURS = (0.5, 3.0, 7.5, 12.0, 30.0, 50.0, 90.0)


def order() -> list[str]:
    """Ids of all papers that became a record, by rank."""
    return sample_order([arxiv_id(n) for n in range(27)], EDITION.seed)


def material(events: list[Event] | None = None) -> Material:
    """Twenty-one selectable papers, one blocked, one theory, one unknown hours; one episode without an answer; two
    papers beyond the sample, three entries that the corpus stage left out. Every pool row is decided unless `events`
    says otherwise."""
    ids = order()
    numbers = [int(i.split(".")[1]) for i in ids]
    made = [
        inputs(numbers[k], tier=TIERS[k % 3], hours=HOURS[k // 3] + 0.01 * k) if k < 21
        else inputs(numbers[k], tier={21: "blocked", 22: "theory", 23: "Retrain"}[k], hours=None if k == 23 else 1.0)
        for k in range(24)
    ]  # fmt: skip
    sample = tuple(i for i, _ in made)
    receipts = {r.id: r for _, found in made for r in found}
    early = [
        *(Exclusion(key=f"index#{n}", title="", stage="corpus", reason="no_arxiv_id", detail="") for n in (27, 28, 29)),
        Exclusion(key=ids[24], title="", stage="classification", reason="tool_limit", detail="no answer"),
        *(Exclusion(key=i, title="", stage="sample", reason="beyond the sample", detail="") for i in ids[25:]),
    ]
    index = [
        *(IndexLine(key=f"index#{n}", arxiv_id=arxiv_id(n), title=f"Made paper {n}") for n in range(27)),
        *(IndexLine(key=f"index#{n}", arxiv_id="", title="") for n in (27, 28, 29)),
    ]
    held = Material(
        edition=EDITION,
        index=tuple(index),
        early=tuple(early),
        sample=sample,
        receipts=receipts,
        entries=chain(events or []),
        figures=tuple(
            Figure(custom_id=i.arxiv_id, file="teaser.png", sha256=digest(i.arxiv_id), size=9) for i in sample
        ),
    )
    return decided(held) if events is None else held


def decided(held: Material) -> Material:
    """The same material with a ledger in which one person agrees with every pool row as it now is."""
    rows = [derive(i, held.receipts, Rules.of(held.edition)) for i in held.sample]
    chosen = set(pool_of(rows, held.edition).ids)
    return replace(held, entries=chain([e for row in rows if row.arxiv_id in chosen for e in agrees(row)]))


def given(held: Material) -> Given:
    return Given(
        papers=lambda i: paper(int(i.split(".")[1])),
        seen=dict.fromkeys(held.receipts, WHEN),
        frozen_at=WHEN,
        stages=(("rows", "a", "a"), ("audit", "b", "b")),
    )


def blobs() -> dict[str, bytes]:
    """Every body and source file of the made papers, by hash."""
    found = [data for n in range(27) for data in source(n).values()]
    for k, i in enumerate(order()[:24]):
        n = int(i.split(".")[1])
        tier = TIERS[k % 3] if k < 21 else {21: "blocked", 22: "theory", 23: "Retrain"}[k]
        found += [body(n, r.tool, r.subject) for r in inputs(n, tier=tier, hours=1.0)[1]]
    return {hashlib.sha256(data).hexdigest(): data for data in found}


def head(held: Material) -> str:
    return events.head(held.entries)
