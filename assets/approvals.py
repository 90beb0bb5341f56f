"""An audit in the Dagster UI itself: links from the pool to a typed launchpad, the to-do list, and what waits.

A launchpad is no audit page: it shows the verdict first and asks nobody who they are. Its decisions say so, count as
decisions, and measure no agreement.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, get_args
from urllib.parse import quote

import dagster as dg

from assets import audit, classification
from assets.shop import EDITIONS, POOL_ROWS, Shop
from assets.workplace import Workplace, store_root
from audit_ui.show import for_signal
from pipeline.approvals import Approval, Choice, burn_down, decide
from pipeline.audit import Audited, support, verdict
from pipeline.audit import audit as judged
from pipeline.derivation import Derivation, Rules
from pipeline.events import QUESTIONS, SIGNALS, Event, LedgerError
from pipeline.evidence import Receipt, Signal
from pipeline.ledger import Ledger
from pipeline.store import Store, StoreError

LOCATION = "reclaim"
"""The code location's name, in `reclaim ui` and under `dg dev` alike; links to a launchpad hold it."""
JOB, OP = "record_audit_decision", "decision"
RECORD = dg.AssetKey("audit_decision")
Record = dg.AssetMaterialization | dg.AssetObservation

_WORDS = {"choice": get_args(Choice), "question": QUESTIONS}
_ENUMS = {name: dg.Enum(name.title(), [dg.EnumValue(word) for word in words]) for name, words in _WORDS.items()}
FORM = {
    "edition": dg.String,
    "paper": dg.String,
    "row_hash": dg.String,
    "decision": _ENUMS["choice"],
    "question": dg.Field(_ENUMS["question"], is_required=False),
    "value": dg.Field(dg.String, is_required=False),
    "why": dg.Field(dg.String, is_required=False),
    "evidence": dg.Field([dg.String], is_required=False),
    "who": dg.String,
}
"""What a person may say in the launchpad, and nothing else: when and how it was said, and what the row is, is not for
them to fill in. A `dg.Config` would also take the name of an environment variable as any text, and record a secret."""


@dg.op(name=OP, config_schema=FORM)
def decision(context: dg.OpExecutionContext, shop: dg.ResourceParam[Shop]) -> None:
    """One decision about one row, appended to the ledger."""
    said = context.op_config
    edition = said["edition"]
    if not context.instance.has_dynamic_partition(str(EDITIONS.name), edition):
        known = ", ".join(context.instance.get_dynamic_partitions(str(EDITIONS.name))) or "none is built yet"
        raise dg.Failure(f"edition {edition!r} is not known here; known: {known}", allow_retries=False)
    try:
        with shop.look(edition, context.log.info) as work:
            row, new = record(work, said, datetime.now(UTC))
    except (LedgerError, StoreError) as error:
        raise dg.Failure(str(error), allow_retries=False) from None
    key = _present(context.instance, edition).get(said["paper"], f"{edition}:{said['paper']}")
    context.log_event(_recorded(key, row))
    context.log.info(f"{len(new)} answers recorded; paper {said['paper']} is now {_state(row)}")


@dg.job(
    name=JOB,
    description="One decision of an audit, opened from the links of the pool.",
    # The form is all that can be filled in: no resource, executor or op of the run is open to the launchpad.
    config=dg.ConfigMapping(config_schema=FORM, config_fn=lambda form: {"ops": {OP: {"config": form}}}),
)
def record_audit_decision() -> None:
    decision()


def record(work: Workplace, said: Mapping[str, Any], at: datetime) -> tuple[Audited, list[Event]]:
    """Append what was said, and return the row after it. LedgerError where it cannot be said."""
    events = work.ledger.events()
    pool = {row.arxiv_id: row for row in audit.audited(work, events)}
    paper = said["paper"]
    if paper not in pool:
        raise LedgerError(f"paper {paper!r} is not in the pool of {work.edition.name}")
    row = pool[paper].derivation
    receipts, rules = classification.receipts_of(work), Rules.of(work.edition)
    approval = Approval(
        paper=paper,
        row_hash=said["row_hash"],
        choice=said["decision"],
        who=said["who"].strip(),
        question=said.get("question"),
        value=said.get("value", ""),
        why=said.get("why", "").strip(),
        evidence=said.get("evidence", []),
    )
    about = [e for e in events if e.paper == paper]
    new = decide(approval, row, about, receipts, rules, at)
    work.ledger.append(new)
    return judged(row, [*about, *new], receipts, rules), new


# What the UI shows


def shown(stage: str, work: Workplace) -> dict[str, Any]:
    """Metadata of the pool and of its audit: a row of links per paper."""
    if stage not in ("selection", "audit"):
        return {}
    rows = audit.audited(work)
    if stage == "audit":
        rows = [row for row in rows if row.standing.state != "decided"]
    return {"decide": dg.MetadataValue.md(links(work.edition.name, rows, _receipts(work, rows)))}


def _receipts(work: Workplace, rows: Sequence[Audited]) -> dict[str, Receipt]:
    return classification.receipts_of(work, [row.arxiv_id for row in rows])


def links(edition: str, rows: Sequence[Audited], receipts: Mapping[str, Receipt]) -> str:
    """Rows as a Markdown table, cheapest first; a link opens the launchpad, filled in but for the person's name."""
    if not rows:
        return "Every row is decided."
    page = os.environ.get("RECLAIM_AUDIT_PAGE", "")
    lines = ["| paper | stands | says | tier | H100-hours | decide | overturn | evidence |", "|" + "---|" * 8]
    for row in rows:
        one = row.derivation
        chosen = [("approve", _link(edition, one, "approve")), ("drop", _link(edition, one, "drop", why=""))]
        for question, state in row.standing.open.items():
            if state == "disputed":
                filled = {"question": question, "value": "", "why": "", "evidence": []}
                chosen.append((f"adjudicate {question}", _link(edition, one, "adjudicate", **filled)))
        signals = [(_short(s), _overturn(edition, one, s, receipts)) for s in SIGNALS]
        hours = "unknown" if one.hours is None else f"{one.hours:.3g}"
        says = ", ".join(f"{_short(s)} {_word(verdict(one, s))}" for s in SIGNALS)  # type: ignore[arg-type]
        cells = [one.arxiv_id, _state(row), says, one.tier.value if one.tier else "undetermined", hours]
        cells += [_joined(chosen), _joined(signals), _joined(_evidence(one, page))]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _short(signal: str) -> str:
    return signal.removesuffix("_available").removeprefix("dataset_is_")


def _word(value: object) -> str:
    return {True: "yes", False: "no", None: "unsettled"}.get(value, "not applicable")  # type: ignore[call-overload]


def _state(row: Audited) -> str:
    open_ = row.standing.open
    return (
        row.standing.state if not open_ or len(open_) == len(QUESTIONS) else f"{row.standing.state}: {', '.join(open_)}"
    )


def _overturn(edition: str, row: Derivation, signal: str, receipts: Mapping[str, Receipt]) -> str:
    """The opposite of what the row says, with those of its receipts on which that can rest."""
    other = verdict(row, signal) is not True  # type: ignore[arg-type]
    near, _ = for_signal(Signal(signal), row, receipts)
    rests = [r.id for r in support(Signal(signal), other, [receipts[i] for i in near])]
    filled = {"question": signal, "value": "yes" if other else "no", "why": "", "evidence": rests}
    return _link(edition, row, "overturn", **filled)


def _link(edition: str, row: Derivation, choice: str, **filled: Any) -> str:
    said = {
        "edition": edition,
        "paper": row.arxiv_id,
        "row_hash": row.row_hash,
        "decision": choice,
        **filled,
        "who": "",
    }
    # JSON's scalars and lists are YAML's; one field a line, the person's name last, where the cursor goes.
    config = "\n".join(f"{name}: {json.dumps(value)}" for name, value in said.items())
    return f"/locations/{LOCATION}/jobs/{JOB}/playground/setup?config={quote(config, safe='')}"


def _evidence(row: Derivation, page: str) -> list[tuple[str, str]]:
    """The audit page where there is one, the paper, and the places that it links."""
    found = [("page", f"{page}/paper/{row.arxiv_id}")] if page else []
    found.append(("paper", f"https://arxiv.org/abs/{row.arxiv_id}"))
    named = row.inputs.links
    return found + [(what, url) for what in ("code", "dataset", "weights") for url in named.get(what, [])[:3]]


def _joined(named: Sequence[tuple[str, str]]) -> str:
    return " · ".join(f"[{name}]({_safe(url)})" for name, url in named if re.match(r"(https?:/)?/", url))


def _safe(url: str) -> str:
    """A URL that cannot end the link it stands in, whatever a paper wrote."""
    return quote(url, safe="/:?&=#%+,;@~!$*'-._")


def waits(work: Workplace) -> dict[str, Any]:
    """Metadata of the audit's check: how many rows wait (Dagster plots it), and how that came down day by day."""
    events = work.ledger.events()
    rows = audit.audited(work, events)
    open_ = sum(row.standing.state != "decided" for row in rows)
    days = burn_down([(row.arxiv_id, row.derivation.row_hash) for row in rows], events)
    return {"waiting": open_, "pool": len(rows), "burn_down": dg.MetadataValue.md(_bars(days, len(rows)))}


def _bars(days: Sequence[tuple[str, int]], pool: int) -> str:
    lines = [f"| day | rows that wait | of {pool} |", "|---|---|---|"]
    for day, left in [("before", pool), *days]:
        lines.append(f"| {day} | {'█' * round(30 * left / max(pool, 1)) or '·'} | {left} |")
    return "\n".join(lines)


# The to-do list


def keep_list(stage: str, work: Workplace, instance: dg.DagsterInstance) -> Iterator[Record]:
    """Make `pool_row` the pool's rows, and yield a record for each that is decided and has none.

    What was materialized stays so (Dagster forgets no single partition), so that a row which is to be decided again
    goes on under its next key: `edition:arxiv_id again`, then `again 2`.
    """
    if stage not in ("selection", "audit"):
        return
    name, edition = str(POOL_ROWS.name), work.edition.name
    rows = {row.arxiv_id: row for row in audit.audited(work)}
    there = _present(instance, edition)
    done = instance.get_materialized_partitions(RECORD)
    wanted = {paper: there.get(paper) or f"{edition}:{paper}" for paper in rows}
    for paper, row in rows.items():
        while row.standing.state != "decided" and wanted[paper] in done:
            wanted[paper] = _again(wanted[paper])
    instance.add_dynamic_partitions(name, [key for paper, key in wanted.items() if there.get(paper) != key])
    for paper, key in there.items():
        if wanted.get(paper) != key:
            instance.delete_dynamic_partition(name, key)
    for paper, row in rows.items():
        if row.standing.state == "decided" and wanted[paper] not in done:
            yield _recorded(wanted[paper], row)


def _present(instance: dg.DagsterInstance, edition: str) -> dict[str, str]:
    """The key of each listed row of an edition, by paper."""
    keys = instance.get_dynamic_partitions(str(POOL_ROWS.name))
    own = (key for key in keys if key.startswith(f"{edition}:"))
    return {key.removeprefix(f"{edition}:").partition(" ")[0]: key for key in own}


def _again(key: str) -> str:
    row, _, turn = key.partition(" again")
    return f"{row} again {int(turn or 1) + 1}" if " again" in key else f"{row} again"


def _recorded(key: str, row: Audited) -> Record:
    """A row that is decided is done on the list; one that was only spoken about is not."""
    people = sorted({one.event.who for one in row.standing.decisions.values()})
    metadata = {
        "state": _state(row),
        "who": ", ".join(people),
        "tier": row.tier.value if row.tier else "undetermined",
        "overturned": ", ".join(row.overturned) or "nothing",
        "excluded": row.excluded or "no",
    }
    kind = dg.AssetMaterialization if row.standing.state == "decided" else dg.AssetObservation
    return kind(asset_key=RECORD, partition=key, metadata=metadata)


RECORDS = dg.AssetSpec(
    RECORD,
    partitions_def=POOL_ROWS,
    group_name="audit",
    description="One partition a pool row, materialized once it is decided. Decide from the links of `selection`.",
)


@dg.sensor(
    target=dg.AssetSelection.assets("audit"),
    minimum_interval_seconds=5,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="When people decided something, `audited` and `splits` are derived again. Freezes nothing.",
)
def ledger_sensor(context: dg.SensorEvaluationContext, shop: dg.ResourceParam[Shop]) -> dg.SensorResult | dg.SkipReason:
    store = Store.open(shop.root or store_root())
    seen: dict[str, dict[str, int]] = json.loads(context.cursor or "{}")
    requests: list[dg.RunRequest] = []
    for edition in context.instance.get_dynamic_partitions(str(EDITIONS.name)):
        reach = Ledger(store.engine, edition).reach()
        if reach != seen.get(edition, {}) and _ready(context.instance, store, edition):
            place = ".".join(f"{site}-{seq}" for site, seq in sorted(reach.items()))
            requests.append(dg.RunRequest(run_key=f"{edition}:{place}", partition_key=edition))
            seen[edition] = reach
    if not requests:
        return dg.SkipReason("nobody decided anything since the last look")
    return dg.SensorResult(run_requests=requests, cursor=json.dumps(seen, sort_keys=True))


def _ready(instance: dg.DagsterInstance, store: Store, edition: str) -> bool:
    """Whether there is a pool, no earlier request is still under way, and no build holds the edition. Otherwise the
    next look will do: two runs at once would fail on the edition's lock, and what the second saw be forgotten."""
    under_way = dg.RunsFilter(statuses=list(_UNDER_WAY), tags={"dagster/partition": edition})
    if store.table_print(edition, "selection") is None or instance.get_runs(under_way, limit=1):
        return False
    if not (store.root / "locks" / f"{edition}.holder").exists():
        return True  # the lock itself is asked only where somebody may hold it: a build that begins must not meet us
    try:
        with store.lock(edition):
            return True
    except StoreError:
        return False


_UNDER_WAY = (
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
)
