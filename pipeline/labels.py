"""What receipts entail: the one table that turns the receipts of an episode into labels.

A *label* says what they show about one signal. `label` is the only place where receipts and a model's word meet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.evidence import Json, Outcome, Receipt, Signal, Status, Verification, canonical, lists, sizes


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A classifier's word about one signal, and the ids of the receipts it cites for it."""

    signal: Signal
    value: bool
    cited: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """What code (not the model) knows about the paper when it judges a claim.

    `groups`: what must be there, each group a set of alternative subjects: one for code and for weights (the paper's
    own places), one a data set for data. A receipt about any other subject proves nothing, whoever cites it.
    `open_homes`, `gated_homes`: homes of listed benchmarks, whose gate the reference table states.
    `unresolved_links`: links of the paper that could lead to an artifact and whose probes stayed undetermined.
    `not_needed`: why the bundle shows that the MRE does not need this artifact, or "" where it does not show it.
    `training_needed`: the MRE trains, so evaluation-only code does not suffice.
    `standard_names`: listed benchmarks that the target uses with their usual splits; `custom_data`: it (also) needs
    other data. `words`: telling words of the paper's title and method, one of which a search must hold to count;
    `method`: the method's name in plain letters, whose bearers among search results must have been looked at. `sizes`:
    model sizes that the target's configuration names.
    `absence_searches`: complete searches by family that prove absence; a family that is missing asks for
    one.
    """

    groups: tuple[frozenset[str], ...] = ()
    open_homes: frozenset[str] = frozenset()
    gated_homes: frozenset[str] = frozenset()
    unresolved_links: tuple[str, ...] = ()
    not_needed: str = ""
    training_needed: bool = True
    standard_names: tuple[str, ...] = ()
    custom_data: bool = False
    absence_searches: Mapping[str, int] = field(default_factory=dict)
    words: frozenset[str] = frozenset()
    method: str = ""
    sizes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        return {
            "groups": [sorted(group) for group in self.groups],
            "open_homes": sorted(self.open_homes),
            "gated_homes": sorted(self.gated_homes),
            "unresolved_links": list(self.unresolved_links),
            "not_needed": self.not_needed,
            "training_needed": self.training_needed,
            "standard_names": list(self.standard_names),
            "custom_data": self.custom_data,
            "absence_searches": dict(self.absence_searches),
            "words": sorted(self.words),
            "method": self.method,
            "sizes": list(self.sizes),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> Context:
        return cls(
            groups=tuple(frozenset(group) for group in value["groups"]),
            open_homes=frozenset(value["open_homes"]),
            gated_homes=frozenset(value["gated_homes"]),
            unresolved_links=tuple(value["unresolved_links"]),
            not_needed=value["not_needed"],
            training_needed=value["training_needed"],
            standard_names=tuple(value["standard_names"]),
            custom_data=value["custom_data"],
            absence_searches=dict(value["absence_searches"]),
            words=frozenset(value["words"]),
            method=value["method"],
            sizes=tuple(value["sizes"]),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Label:
    """What the receipts entail. `value` is None exactly while the status is unverified."""

    signal: Signal
    value: bool | None
    verification: Verification
    status: Status
    receipts: tuple[str, ...]
    model_value: bool
    reason: str

    @property
    def applicable(self) -> bool:
        return self.verification is not Verification.NOT_APPLICABLE


ABSENCE_TOOLS: Mapping[Signal, Mapping[str, tuple[str, ...]]] = {
    Signal.CODE: {"github": ("github_search_repositories", "github_search_code")},
    Signal.WEIGHTS: {"hub": ("hub_search",)},
    Signal.DATA: {"hub": ("hub_search",)},
    Signal.STANDARD: {},
}
"""Which complete searches prove absence, per signal; how many of each is `absence_searches` of the edition."""


BOILERPLATE = frozenset(
    ("__init__.py", "__main__.py", "setup.py", "conftest.py", "version.py", "_version.py", "conf.py")
)
"""Files that frame a package or its documents; where nothing else is there, nothing can be run."""

WRAPPER_FILES = 3
"""Code files that a repository may hold and still be no more than a wrapper around a submodule."""
UNSEEN: Mapping[Signal, frozenset[str]] = {
    Signal.CODE: frozenset({"tree", "raw", "submodules"}),
    Signal.WEIGHTS: frozenset({"tree", "raw", "releases", "weights", "readme", "card"}),
    Signal.DATA: frozenset({"tree", "raw", "data", "readme", "card"}),
    Signal.STANDARD: frozenset(),
}
"""Parts of a place that a probe may fail to see although the place answers; absence cannot rest on such a receipt."""


def meets_rule(signal: Signal, receipt: Receipt, context: Context) -> bool:
    """Whether one receipt by itself satisfies the signal's own rule (labelling guide, "Code", "Weights", "Data").

    Reaching a place is not enough: code needs files that run the MRE, weights a checkpoint of a megabyte or more that a
    stranger got bytes of, data a file that a stranger got bytes of, code that makes it, or the open home of a listed
    benchmark.
    """
    facts = receipt.facts
    if receipt.outcome is not Outcome.AVAILABLE or facts.get("authenticated") or facts.get("moved_elsewhere"):
        return False
    if signal is Signal.CODE:
        if context.training_needed and facts.get("eval_only"):
            return False
        # A wrapper around a submodule that a stranger does not reach runs nothing.
        code_files = facts.get("code_files") or 0
        hollow = (
            any(m.get("reached") is not True for m in facts.get("submodules") or ()) and code_files <= WRAPPER_FILES
        )
        return bool(code_files) and not hollow and not _boilerplate(code_files, facts.get("code_sample") or ())
    if signal is Signal.WEIGHTS:
        return bool(facts.get("weights_open") and not facts.get("adapter_only")) and in_scope(receipt, context.sizes)
    if receipt.subject in context.gated_homes:
        return False
    return bool(facts.get("data_open") or facts.get("construction_scripts") or receipt.subject in context.open_homes)


def in_scope(receipt: Receipt, wanted: Sequence[str]) -> bool:
    """Whether a checkpoint can be of the target's size. A place that names other sizes only is not; silence is no
    sign."""
    named = set(sizes(" ".join([receipt.subject, *map(str, receipt.facts.get("scope_words") or ())])))
    return not wanted or not named or bool(named & set(wanted))


def _boilerplate(code_files: int, listed: Sequence[str]) -> bool:
    """Whether all code files of a place, where the probe could list them all, are the frame of a package only."""
    names = [path.rpartition("/")[2] for path in listed]
    return len(names) >= code_files and all(name in BOILERPLATE for name in names)


def base_reached(receipt: Receipt, receipts: Sequence[Receipt]) -> bool:
    """Whether an adapter's base model is one that a stranger got bytes of, as some receipt of the episode shows."""
    facts = receipt.facts
    if receipt.outcome is not Outcome.AVAILABLE or not facts.get("adapter_only") or not facts.get("weights_open"):
        return False
    if facts.get("authenticated") or facts.get("moved_elsewhere"):
        return False
    if facts.get("base_open"):  # its own probe went there
        return True
    named = facts.get("base_model")
    bases = {f"hf:model:{b}".casefold() for b in ([named] if isinstance(named, str) else named or ())}
    return any(
        r.subject.casefold() in bases
        and r.outcome is Outcome.AVAILABLE
        and r.facts.get("weights_open")
        and not r.facts.get("authenticated")
        for r in receipts
    )


def _shown(receipt: Receipt) -> str:
    """A receipt in a few words: what it is about, and what its probe said."""
    return f"{receipt.subject}: {receipt.reason}" if receipt.reason else receipt.subject


def _shut(receipt: Receipt, context: Context) -> bool:
    """Gated or permanently gone; a listed benchmark behind a gate is gated however well its home page answers."""
    if receipt.outcome in (Outcome.GATED, Outcome.UNAVAILABLE):
        return True
    return receipt.outcome is Outcome.AVAILABLE and receipt.subject in context.gated_homes


Verdict = tuple[bool | None, Verification, tuple[Receipt, ...], str]


def _judge(signal: Signal, group: frozenset[str], receipts: Sequence[Receipt], context: Context) -> Verdict:
    """One artifact against the table of the design's first rule. `group` may be empty: nothing is known that could be
    it."""
    mine = [r for r in receipts if r.subject in group]
    adapters = signal is Signal.WEIGHTS
    met = [r for r in mine if meets_rule(signal, r, context) or (adapters and base_reached(r, receipts))]
    if met:
        return True, Verification.TOOL_VERIFIED, tuple(met), "; ".join(dict.fromkeys(map(_shown, met)))
    # The same question asked again later replaces its first answer: second looks settle first ones.
    latest = tuple({(r.subject, r.tool, canonical(dict(r.arguments))): r for r in mine}.values())
    # Only a look at the whole place settles it: one file that was read, or was not, says nothing about the rest.
    whole = tuple(r for r in latest if lists(r))
    waiting = [r for r in whole if r.outcome is Outcome.UNDETERMINED]
    if waiting:
        first = waiting[0]
        return None, Verification.TOOL_FAILED, tuple(waiting), f"undetermined: {first.subject} ({first.reason})"
    answering = (r for r in whole if r.outcome is Outcome.AVAILABLE)
    partly = [r for r in answering if UNSEEN[signal] & set(r.facts.get("unseen") or ())]
    if partly:
        parts = ", ".join(sorted(UNSEEN[signal] & set(partly[0].facts["unseen"])))
        return None, Verification.TOOL_FAILED, tuple(partly), f"undetermined: {partly[0].subject} ({parts} not seen)"
    untouched = group - {r.subject for r in whole}
    if untouched:
        return None, Verification.PAPER_TEXT_ONLY, (), f"no receipt about {min(untouched)} as a whole"
    shut = [r for r in whole if _shut(r, context)]
    # One page that is shut does not speak for the others; a repository, a Hub entry or a sole place does.
    if shut and ({r.subject for r in shut} == group or not all(r.subject.startswith("url:") for r in shut)):
        first = shut[0]
        how = "gated" if first.outcome is Outcome.AVAILABLE else str(first.outcome)
        return False, Verification.TOOL_VERIFIED, tuple(shut), f"{how}: {first.subject} ({first.reason})"
    return _absent(signal, latest, receipts, context)


def _telling(query: str, words: frozenset[str]) -> bool:
    """Whether a search asked for this paper at all: it holds a telling word of its title or method."""
    return not words or bool(words & set(re.findall(r"[a-z0-9]+", query.casefold())))


def _unlooked(searches: Iterable[Receipt], receipts: Sequence[Receipt], method: str) -> str:
    """A search result that carries the method's name and that nobody looked at, or ""."""
    if not method:
        return ""
    seen = {re.sub(r"[^a-z0-9]", "", r.subject.rpartition(":")[2].casefold()) for r in receipts if lists(r)}
    for name in (str(n) for r in searches for n in r.facts.get("results") or ()):
        plain = re.sub(r"[^a-z0-9]", "", name.casefold())
        if method in re.sub(r"[^a-z0-9]", "", name.rpartition("/")[2].casefold()) and plain not in seen:
            return name
    return ""


def _absent(signal: Signal, latest: tuple[Receipt, ...], receipts: Sequence[Receipt], context: Context) -> Verdict:
    """Nothing found: false only when every link resolved and enough distinct complete searches came back."""
    if not receipts:
        return None, Verification.PAPER_TEXT_ONLY, (), "no receipt"
    if context.unresolved_links:
        links = context.unresolved_links
        reason = f"absence not proven: {len(links)} link(s) undetermined, first {links[0]}"
        return None, Verification.TOOL_FAILED, latest, reason
    used: list[Receipt] = []
    short: list[str] = []
    failed = False
    for family, tools in ABSENCE_TOOLS[signal].items():
        asked = [r for r in receipts if r.tool in tools]
        complete: dict[str, Receipt] = {}
        for r in asked:
            query = " ".join(str(r.facts.get("query") or r.arguments.get("query", "")).casefold().split())
            if r.facts.get("complete") and _telling(query, context.words):
                complete.setdefault(query, r)
        found = _unlooked(complete.values(), receipts, context.method)
        if found:
            return None, Verification.PAPER_TEXT_ONLY, (), f"absence not proven: search found {found}, not looked at"
        needed = context.absence_searches.get(family, 1)
        used += complete.values()
        if len(complete) < needed:
            short.append(f"{family} {len(complete)} of {needed}")
            failed = failed or any(r.outcome is Outcome.UNDETERMINED for r in asked)
    if short:
        how = Verification.TOOL_FAILED if failed else Verification.PAPER_TEXT_ONLY
        return None, how, (), f"absence not proven: complete searches {', '.join(short)}"
    queries = ", ".join(f"{r.arguments.get('query', '')!r}" for r in used)
    seen = "".join(f"{_shown(r)}; " for r in latest)
    return False, Verification.SEARCHED_NOT_FOUND, (*latest, *used), f"{seen}nothing found by searching for {queries}"


def _standard(receipts: Sequence[Receipt], context: Context) -> Verdict:
    """Standard is a fact of the reference table; the receipt shows that the named data set is the one that exists.

    A gate does not change what a data set is, so a gated home still proves a standard benchmark.
    """
    mine = [r for r in receipts if any(r.subject in group for group in context.groups)]
    settled = tuple(r for r in mine if r.outcome is not Outcome.UNDETERMINED)
    if context.standard_names and not context.custom_data:
        names = ", ".join(context.standard_names)
        seen = tuple(r for r in settled if r.outcome is not Outcome.UNAVAILABLE)
        if seen:
            return True, Verification.TOOL_VERIFIED, seen, f"listed benchmark with its usual splits: {names}"
        how = Verification.TOOL_FAILED if mine else Verification.PAPER_TEXT_ONLY
        return None, how, tuple(mine), f"no receipt shows the home of {names}"
    if settled:
        return False, Verification.TOOL_VERIFIED, settled, "the target's data is not a listed benchmark"
    searches = tuple(r for r in receipts if r.tool == "hub_search" and r.facts.get("complete"))
    if searches:
        return False, Verification.SEARCHED_NOT_FOUND, searches, "the target's data is not a listed benchmark"
    return None, Verification.PAPER_TEXT_ONLY, (), "no receipt about the target's data"


def label(claim: Claim, receipts: Sequence[Receipt], context: Context) -> Label:
    """Combine a model's word with the receipts of its episode: the table of the design's first rule, row by row.

    `receipts` are all receipts of this episode, the link check's included, in call order. The model's word never sets
    the value: it only decides between confirmed and contradicted, and a word that cites what is not there is
    contradicted. Where several things must be there (data sets of one target), one that is missing
    makes the signal false, and one that is undetermined leaves it unverified.
    """
    signal = claim.signal
    if context.not_needed:
        verdicts: list[Verdict] = [(False, Verification.NOT_APPLICABLE, (), context.not_needed)]
    elif signal is Signal.STANDARD:
        verdicts = [_standard(receipts, context)]
    else:
        groups = context.groups or (frozenset[str](),)
        verdicts = [_judge(signal, group, receipts, context) for group in groups]
    # False decides, then unverified, then true; among equals the first artifact speaks.
    rank = {False: 0, None: 1, True: 2}
    value, how, used, reason = min(verdicts, key=lambda verdict: rank[verdict[0]])
    if value is True:
        used = tuple(r for verdict in verdicts for r in verdict[2])
    # Ids are hashes: a word that cites nothing does not pay for them.
    unknown = set(claim.cited) - {r.id for r in receipts} if claim.cited else set()
    if value is None:
        status = Status.UNVERIFIED
    elif value != claim.value:
        status, reason = Status.CONTRADICTED, f"{reason}; the classifier said {claim.value}"
    elif unknown:
        status, reason = Status.CONTRADICTED, f"{reason}; the classifier cites receipts that do not exist"
    else:
        status = Status.CONFIRMED
    return Label(
        signal=signal,
        value=value,
        verification=how,
        status=status,
        receipts=tuple(dict.fromkeys(r.id for r in used)),
        model_value=claim.value,
        reason=reason,
    )
