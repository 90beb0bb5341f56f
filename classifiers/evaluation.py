"""Comparing what a classifier said with what two readers labelled: rules from typed values to single judgements."""

from __future__ import annotations

import math
from collections.abc import Iterator

from classifiers.gold import GoldPaper, Value
from classifiers.judged import FIRST_FEW, MEASURES, Judged, judged, simple, yes_no
from classifiers.said import Proposed, Said, SignalSaid
from classifiers.source_evaluation import commented, hidden_and_foreign, mentions, own_links, statements
from pipeline.evidence import Signal


def judge(gold: GoldPaper, ours: Said) -> tuple[Judged, ...]:
    """All comparisons that a paper's labels allow, in the order of `MEASURES`."""
    found = [
        *_code(gold, ours),
        *simple(gold, "weights", lambda k: yes_no(k.weights_claimed), "weights", *_weights(ours)),
        *simple(gold, "data", lambda k: yes_no(k.data_public), "data", *_data(ours)),
        *simple(gold, "standard", lambda k: yes_no(k.data_standard), "data", *_standard(ours)),
        *own_links(gold, ours),
        *hidden_and_foreign(gold, ours),
        *commented(gold, ours),
        *simple(gold, "paper kind", lambda k: k.kind, "kind", ours.kind, ours.kind_evidence or ours.trouble),
        *statements(gold, ours),
        *mentions(gold, ours),
        *_targets(gold, ours),
        *_tiers(gold, ours),
    ]
    order = {measure.name: place for place, measure in enumerate(MEASURES)}
    return tuple(sorted(found, key=lambda one: order[one.measure]))


# -------------------------------------------------------------------------------------------------------------- signals


def _code(gold: GoldPaper, ours: Said) -> Iterator[Judged]:
    """True iff a fetched repository of the paper's own is judged real code; papers without one are not compared.

    The readers did not see repositories: beside it stands how often they agree on whether the paper claims code.
    """
    claims = [yes_no(labels.code_claimed) for labels in gold.readers]
    if len(claims) == 2 and claims[0] and claims[1]:
        yield judged("code", "readers", gold, claims[0], claims[1], "", "")
    if not gold.own:
        return
    theirs = "yes" if any(one.code for one in gold.own) else "no"
    signal = ours.signals.get(Signal.CODE)
    value = yes_no(signal.value) if signal else None
    evidence = signal.evidence if signal else ours.trouble
    yield judged("code", "record", gold, theirs, value, evidence, "; ".join(one.note for one in gold.own))


def _weights(ours: Said) -> tuple[str | None, str]:
    signal = ours.signals.get(Signal.WEIGHTS)
    return (yes_no(signal.value), signal.evidence) if signal else (None, ours.trouble)


def _data(ours: Said) -> tuple[str | None, str]:
    """Readers call data public that is open or standard, or that nobody needs: as a tier reads it."""
    data, standard = ours.signals.get(Signal.DATA), ours.signals.get(Signal.STANDARD)
    if data is None or standard is None:
        return None, ours.trouble
    if not data.needed or data.value or standard.value:
        return "yes", (data if not data.needed or data.value else standard).evidence
    unknown = data.value is None or standard.value is None
    return (None if unknown else "no"), f"{data.evidence}; {standard.evidence}"


def _standard(ours: Said) -> tuple[str | None, str]:
    signal: SignalSaid | None = ours.signals.get(Signal.STANDARD)
    if signal is None or not signal.needed:
        return None, signal.evidence if signal else ours.trouble
    return yes_no(signal.value), signal.evidence


# --------------------------------------------------------------------------------------------------------------- target


def _targets(gold: GoldPaper, ours: Said) -> Iterator[Judged]:
    accepted = [v for labels in gold.readers for v in labels.values]
    if not accepted:
        return
    theirs = " | ".join(dict.fromkeys(v.text for v in accepted))
    evidence = "; ".join(f"{v.text} ({v.evidence})" for v in accepted)
    for measure, few in (("target: first", 1), ("target: one of three", FIRST_FEW)):
        proposed = ours.targets[:few]
        good = any(same_value(p, v) for p in proposed for v in accepted)
        yield Judged(
            measure=measure,
            against="either",
            paper=gold.name,
            theirs=theirs,
            ours=" | ".join(p.text for p in proposed) or "none",
            agrees=good,
            our_evidence="; ".join(p.evidence for p in proposed) or ours.trouble or "no target proposed",
            their_evidence=evidence,
        )
    if gold.first and gold.second and gold.first.values and gold.second.values:
        own = gold.first.values[0]
        for measure, values in (
            ("target: first", gold.second.values[:1]),
            ("target: one of three", gold.second.values),
        ):
            yield Judged(
                measure=measure,
                against="readers",
                paper=gold.name,
                theirs=own.text,
                ours=" | ".join(v.text for v in values),
                agrees=any(same_value(own, v) for v in values),
                our_evidence="; ".join(v.evidence for v in values),
                their_evidence=own.evidence,
            )


def same_value(one: Proposed | Value, other: Proposed | Value) -> bool:
    """Values compare as numbers: "11,264x" is 11264, and 0.30 is 0.3; never one scaled to the other."""
    return any(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) for a in one.numbers for b in other.numbers)


# ----------------------------------------------------------------------------------------------------------------- tier


def _tiers(gold: GoldPaper, ours: Said) -> Iterator[Judged]:
    tier = ours.tier.value if ours.tier else None
    evidence = ours.tier_evidence or ours.trouble
    yield from simple(gold, "tier: source alone", lambda k: k.tier.value if k.tier else None, "tier", tier, evidence)
    if gold.first and gold.first.tier_with_repository:
        theirs, note = gold.first.tier_with_repository.value, gold.first.note("tier_with_repository")
        yield judged("tier: with repository", "first", gold, theirs, tier, evidence, note)
