"""Step 8 of the guide: the answer, composed from what was read and seen."""

from __future__ import annotations

import re

from classifiers.embedded.hours import Hours, find_hours
from classifiers.embedded.sights import Sight, View
from classifiers.embedded.words import shown
from pipeline import artifacts, reference
from pipeline.answers import Answer, SignalWord, SignalWords, TargetWord
from pipeline.evidence import Outcome, Signal
from pipeline.labels import Context, meets_rule
from pipeline.row import VerifiedLinks

_SEARCHES = {
    Signal.CODE: ("github_search_repositories", "github_search_code"),
    Signal.WEIGHTS: ("hub_search",),
    Signal.DATA: ("hub_search",),
    Signal.STANDARD: ("hub_search",),
}


def compose(view: View) -> Answer:
    reading = view.reading
    claim = reading.claim
    trained = view.trained
    weights = view.meeting(Signal.WEIGHTS) if trained.kind == "trained" else []
    training = "released" if weights else trained.kind
    if training in ("trained", "is_the_experiment"):
        view = view.training()
        reading = view.reading
    if reading.data.made and any(s.receipt.facts.get("construction_scripts") for s in view.about(set(view.own))):
        view = view.making()
        reading = view.reading
    target = _with_data(view, reading.targets.chosen) if reading.kind == "empirical" else None
    hours = (
        find_hours(view.briefing.given.paper, target, trains=training in ("trained", "is_the_experiment"))
        if not reading.needs.paid_api
        else Hours((), "compute_unspecified", "the target works through a paid API; that is no H100 time")
    )
    signals = SignalWords(
        code_available=_code(view, training),
        dataset_available=_data(view),
        weights_available=_weights(view, weights),
        dataset_is_standard=_standard(view),
    )
    return Answer(
        central_claim=claim.sentence if claim else view.briefing.given.paper.title,
        claim_quote=claim.sentence if claim else "",
        paper_kind=reading.kind,
        mre_config=_config(view, target, training),
        agent_task=_task(view, target),
        target=target,
        target_alternatives=[_with_data(view, a) or a for a in reading.targets.alternatives] if target else [],
        candidates=list(reading.targets.inventory),
        signals=signals,
        verified_links=_links(view),
        datasets=list(reading.data.datasets),
        training=training,
        training_quote=trained.quote if training in ("none", "is_the_experiment") else "",
        needs=reading.needs,
        compute=list(hours.parts),
        basis_kind=hours.basis_kind,
        basis=hours.basis,
    )


def _with_data(view: View, target: TargetWord | None) -> TargetWord | None:
    if target is None:
        return None
    return target.model_copy(update={"dataset": ", ".join(d.name for d in view.reading.data.datasets)})


def _code(view: View, training: str) -> SignalWord:
    met = [s for s in view.meeting(Signal.CODE) if _runs(s, training)]
    if met:
        return SignalWord(
            value=True,
            artifacts=_subjects(met),
            receipts=_ids(met),
            evidence=f"{met[0].receipt.subject} holds code of the paper's own ({met[0].receipt.reason})",
        )
    own = [s for s in view.about(set(view.own)) if not s.receipt.subject.startswith("hf:")]
    return _absent(view, Signal.CODE, own, "no place of the paper's own holds code that runs the experiment")


def _runs(sight: Sight, training: str) -> bool:
    return meets_rule(Signal.CODE, sight.receipt, Context(training_needed=training in ("trained", "is_the_experiment")))


def _weights(view: View, met: list[Sight]) -> SignalWord:
    trained = view.trained
    if view.reading.kind != "empirical" or trained.kind in ("none", "is_the_experiment"):
        why = "training is itself the experiment" if trained.kind == "is_the_experiment" else "nothing is trained"
        return SignalWord(value=False, needed=False, evidence=why)
    if met:
        return SignalWord(
            value=True,
            artifacts=_subjects(met),
            receipts=_ids(met),
            evidence=f"a stranger gets the weights at {met[0].receipt.subject}",
        )
    own = [s for s in view.about(set(view.own)) if s.receipt.subject.startswith("hf:model:")]
    return _absent(view, Signal.WEIGHTS, own, "no checkpoint of this configuration is public")


def _data(view: View) -> SignalWord:
    datasets = view.reading.data.datasets
    if view.reading.kind != "empirical":
        return SignalWord(value=False, needed=False, evidence="no experiment, so no data")
    if not datasets and view.reading.data.made:
        # The evidence is the sentence itself: code checks that the paper says so.
        return SignalWord(value=False, needed=False, evidence=view.reading.data.made)
    groups = [view.data_sights(word) for word in datasets]
    met = [[s for s in group if view.opens(s)] for group in groups]
    if groups and all(met):
        used = [s for group in met for s in group]
        return SignalWord(
            value=True,
            artifacts=_subjects(used),
            receipts=_ids(used),
            evidence=f"a stranger gets {', '.join(d.name for d in datasets)} at {used[0].receipt.subject}",
        )
    missing = [s for group, ok in zip(groups, met, strict=True) if not ok for s in group]
    names = ", ".join(d.name for d, ok in zip(datasets, met, strict=True) if not ok) or "the target's data"
    return _absent(view, Signal.DATA, missing, f"no open place for {names} was found")


def _standard(view: View) -> SignalWord:
    datasets = view.reading.data.datasets
    if view.reading.kind != "empirical" or not datasets:
        return SignalWord(value=False, needed=bool(view.reading.kind == "empirical" and not view.reading.data.made))
    listed = [reference.benchmark(d.name) for d in datasets]
    standard = all(b is not None for b in listed) and not any(d.custom for d in datasets)
    used = [s for d in datasets for s in view.data_sights(d) if s.receipt.outcome is not Outcome.UNDETERMINED]
    how = "listed with its usual splits" if standard else "not listed, or not with its usual splits"
    if used or standard:
        return SignalWord(
            value=standard,
            artifacts=_subjects(used),
            receipts=_ids(used),
            evidence=f"{', '.join(d.name for d in datasets)}: {how}",
        )
    return _absent(view, Signal.STANDARD, [], f"{', '.join(d.name for d in datasets)}: {how}")


def _absent(view: View, signal: Signal, looked_at: list[Sight], why: str) -> SignalWord:
    """A "no", with what shows it: places that are shut or empty, and the searches that found nothing."""
    searches = [s for s in view.sights if s.receipt.tool in _SEARCHES[signal] and s.receipt.facts.get("complete")]
    used = [s for s in [*looked_at, *searches] if s.receipt.outcome is not Outcome.UNDETERMINED]
    return SignalWord(value=False, artifacts=_subjects(looked_at), receipts=_ids(used), evidence=why)


def _subjects(sights: list[Sight]) -> list[str]:
    return list(dict.fromkeys(s.receipt.subject for s in sights))


def _ids(sights: list[Sight]) -> list[str]:
    return list(dict.fromkeys(s.id for s in sights))


def _links(view: View) -> VerifiedLinks:
    def urls(sights: list[Sight]) -> list[str]:
        return [artifacts.url(s) for s in _subjects(sights) if not s.startswith(("supplement:", "search:"))]

    available = [s for s in view.about(set(view.own)) if s.receipt.outcome is Outcome.AVAILABLE]
    data = [s for d in view.reading.data.datasets for s in view.data_sights(d) if view.opens(s)]
    return VerifiedLinks(
        paper_or_project=urls([s for s in available if s.receipt.subject.startswith("url:")]),
        code=urls(view.meeting(Signal.CODE)),
        dataset=urls(data),
        weights=urls(view.meeting(Signal.WEIGHTS)),
    )


def _config(view: View, target: TargetWord | None, training: str) -> str:
    """One readable sentence: what is run, on what, and whether it is trained first."""
    if target is None:
        return f"No experiment: the paper is {view.reading.kind} or prints no number that supports its claim."
    data = f" on {target.dataset}" if target.dataset else ""
    how = {
        "released": "evaluating the released checkpoint",
        "none": "with nothing to train",
        "is_the_experiment": "where training is the experiment",
        "trained": "training it first",
    }[training]
    seeds = f", averaged over {target.n_seeds} runs" if target.n_seeds and target.n_seeds > 1 else ""
    return f"{target.config.rstrip('.')}: measure {target.metric}{data}, {how}{seeds}."


def _task(view: View, target: TargetWord | None) -> str:
    """What an agent is asked, without the value: no number of the result stands in it."""
    if target is None:
        return "Nothing to reproduce."
    sets = target.dataset.split(", ") if target.dataset else []
    method = next((n for n in _method_names(view) if n not in sets), "the paper's method")
    data = f" on {sets[0] if len(sets) == 1 else ', '.join(sets[:-1]) + ' and ' + sets[-1]}" if sets else ""
    where = f"Table {target.table}" if target.table else "in a table" if target.row is not None else "in the text"
    metric = shown(re.sub(r"\s*[↑↓]|\s*\([↑↓%]+\)", "", target.metric).strip()) or "result"
    what = {
        "direction": f"Show that {method} is better than the baseline in {metric}",
        "magnitude": f"Reproduce the difference in {metric} that {method} makes",
        "threshold": f"Reproduce that {method} reaches the stated {metric}",
    }.get(target.bar_kind, f"Reproduce the {metric} of {method}")
    return _without(target.value, f"{what}{data} ({where}).")


def _method_names(view: View) -> list[str]:
    """What the own method is called: its names, else the title's head before a colon."""
    head, colon, _ = view.briefing.given.paper.title.partition(":")
    return [*view.reading.own.names, *([head.strip()] if colon and len(head.split()) <= 3 else [])]


def _without(value: str, text: str) -> str:
    """A sentence without the number that is to be found."""
    return re.sub(rf"(?<![\w.]){re.escape(value)}(?![\w])", "…", text)
