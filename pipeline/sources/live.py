"""Live: a seeded draw of a release's receipts, probed anew, and what the answers of today would change.

The world drifts, and drift is told, not held against a release. It fails where a label would come out differently: then
the release is out of date, or was never true.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from pipeline import reference
from pipeline.derivation import Inputs, labels
from pipeline.editions import sample_order
from pipeline.evidence import WEB_LEADS, Outcome, Receipt, Verification, canonical
from pipeline.release.case import Case
from pipeline.release.pack import Pack
from pipeline.release.report import Report, Tally
from pipeline.sources.github_tokens import Tokens
from pipeline.sources.probes import PaperFacts, Probes
from pipeline.sources.recorder import Recorder

CHECK = "receipts probed anew give the same labels"
DECISIVE = (
    *("code_files", "eval_only", "weights_open", "adapter_only", "data_open", "construction_scripts"),
    *("complete", "failed", "unseen", "authenticated"),
)
"""Facts that the table of labels reads; it asks whether there is any, so that is what is compared."""


def live(case: Case, pack: Pack | None, recorder: Recorder, count: int, seed: str, tokens: str | Tokens = "") -> Report:
    """Probe `count` receipts of split rows again, drawn by `seed` among those that rest on exchanges.

    Differences in outcome and decisive facts are notes; a failure is one that changes a label. An answer that cannot be
    had now changes none. One look that says "gone" stands for the two, a day apart, that a label needs: the sceptic
    need not wait for the second to learn of the first.
    """
    tally = Tally(CHECK)
    rows = {a.arxiv_id: a.derivation.inputs for a in case.made.chosen}
    own = {id_ for inputs in rows.values() for id_ in inputs.receipts}
    known = {
        id_: r for id_, r in case.material.receipts.items() if id_ in own and r.exchanges and r.subject != WEB_LEADS
    }
    drawn = [known[id_] for id_ in sample_order(known, seed)[:count]]
    walls = reference.walls()
    notes: list[str] = []
    told: Counter[str] = Counter()
    for receipt in sorted(drawn, key=lambda r: (r.paper, r.tool, r.subject, r.id)):
        inputs = rows[receipt.paper]
        probes = Probes(receipt.paper, recorder, {}, _facts(inputs, pack), walls, tokens)
        where = f"{receipt.paper} {receipt.tool} {receipt.subject}"
        try:
            again = _again(probes, receipt)
            changes = list(_drift(receipt, again))
            # What else is known of a thing that drifted is as old: it is asked again with it.
            others = [
                known[i] for i in inputs.receipts if changes and i in known and known[i].subject == receipt.subject
            ]
            anew = {receipt.id: again} | {other.id: _again(probes, other) for other in others}
        except Exception as fault:  # forged arguments may break a tool in any way
            tally.look(where, [f"cannot be probed again ({type(fault).__name__}: {fault})"])
            continue
        said = "the same" if not changes else "undetermined now" if _open(again) else "drifted"
        told[said] += 1
        if changes:
            notes.append(f"{said}: {where}: {'; '.join(changes)} ({again.reason})")
        tally.look(where, _relabelled(inputs, case.material.receipts, anew))
    counted = ", ".join(f"{n} {said}" for said, n in sorted(told.items()))
    notes.append(f"{len(drawn)} of {len(known)} receipts of split rows were probed anew (seed {seed}): {counted}")
    return Report((tally.done(),), tuple(notes))


def _again(probes: Probes, receipt: Receipt) -> Receipt:
    made = probes.call(receipt.tool, receipt.arguments).receipt
    return replace(made, outcome=Outcome.UNAVAILABLE) if made.reason.startswith("gone_once") else made


def _facts(inputs: Inputs, pack: Pack | None) -> PaperFacts:
    """Names to search places for. Authors are not part of a release; no label rests on them."""
    held = None if pack is None else pack.papers.get(inputs.arxiv_id)
    return PaperFacts(title=inputs.title, arxiv_id=inputs.arxiv_id, authors=() if held is None else held.authors)


def _open(receipt: Receipt) -> bool:
    return receipt.outcome is Outcome.UNDETERMINED


def _drift(then: Receipt, now: Receipt) -> Iterator[str]:
    if then.outcome is not now.outcome:
        yield f"{then.outcome}, now {now.outcome}"
    if then.subject != now.subject:
        yield f"now {now.subject}"
    if not _open(now):
        for name in DECISIVE:
            if bool(then.facts.get(name)) != bool(now.facts.get(name)):
                yield f"{name} {_short(then, name)}, now {_short(now, name)}"


def _short(receipt: Receipt, name: str) -> str:
    return f"{canonical(receipt.facts.get(name)):.80}"


def _relabelled(inputs: Inputs, known: Mapping[str, Receipt], anew: Mapping[str, Receipt]) -> Iterator[str]:
    """Labels that come out differently with new receipts, by the ids of the old ones, in their places."""
    ids = {old: new.id for old, new in anew.items()}
    claims = {
        name: claim.model_copy(update={"cited": [ids.get(i, i) for i in claim.cited]})
        for name, claim in inputs.claims.items()
    }
    changed = inputs.model_copy(update={"claims": claims, "receipts": [ids.get(i, i) for i in inputs.receipts]})
    today = labels(changed, {**known, **{new.id: new for new in anew.values()}})
    for before, after in zip(labels(inputs, known), today, strict=True):
        if before.value in (None, after.value) or after.verification is Verification.TOOL_FAILED:
            continue
        yield f"{before.signal} would be {after.value}, not {before.value}: {after.reason}"
