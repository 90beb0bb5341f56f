"""When an artifact is not needed, and the bundle shows it: a sentence of the paper's own that says so.

A classifier may point at the sentence. Whether the paper prints it, whether it says so, and whether the rest of the
paper agrees is decided here.
"""

from __future__ import annotations

import re

from pipeline import reference
from pipeline.answers import Answer
from pipeline.evidence import Signal
from pipeline.paper import Paper
from pipeline.targets import QUOTE_LIMIT

_NOTHING_TRAINED = re.compile(
    r"\b(training[- ]free|without (?:any )?(?:additional |further |gradient )?(?:training|fine-?tuning|learn)"
    r"|no (?:additional |further |gradient )?(?:training|fine-?tuning|learn\w*|weights|checkpoints?|neural)"
    r"|not (?:train|require (?:any )?(?:training|fine-?tuning))|closed[- ]form|numerical (?:experiments?|simulations?)"
    r"|prompting only|(?:kept|stays?|remains?) frozen)",
    re.IGNORECASE,
)
_TRAINS = re.compile(
    r"\b((?:new|novel|propose\w*|introduce\w*|present|study|compare\w*|our|an?|the \w+) (?:\w+ ){0,3}optimi[sz]ers?"
    r"|convergence|converges?"
    r"|(?:pre-?)?training (?:speed|time|dynamics|stability|curves?|loss|cost|efficien\w+|steps|runs?)"
    r"|(?:train|learn)\w* (?:\w+ ){0,3}(?:faster|from scratch))\b",
    re.IGNORECASE,
)
_JUDGED = re.compile(r"\b(judg\w+|scored by|graded by|grader|rated by|annotat\w+)\b", re.IGNORECASE)
"""A closed model that only judges says nothing about what is judged."""
_WE_TRAIN = re.compile(
    r"\bwe (?:pre-?train|train|fine-?tune)(?:ed)?\b(?! (?:the |a |all |each )?baselines?)", re.IGNORECASE
)
_MADE_DATA = re.compile(
    r"\b((?:synthetic|simulated|generated|artificial|toy|random)(?:ly)? (?:[\w-]+ ){0,3}"
    r"(?:data\w*|tasks?|samples?|examples?|points?|problems?|instances?|graphs?|signals?|matri\w+|environments?"
    r"|experiments?|sequences?|mixtures?|inputs?)|we (?:generate|sample|simulate|draw|synthesi[sz]e) "
    r"(?:[\w-]+ ){0,4}(?:data\w*|examples?|tasks?|points?|problems?|instances?|graphs?|signals?|matri\w+|sequences?)"
    r"|(?:are|is|were|was) (?:generated|sampled|simulated|drawn|synthesi[sz]ed)"
    r"|numerical (?:experiments?|simulations?|results?|examples?)|no (?:external |training )?data"
    r"|without (?:any )?data)",
    re.IGNORECASE,
)


def not_needed(signal: Signal, answer: Answer, paper: Paper) -> str:
    """Why the bundle shows that the target needs no such artifact: a sentence of the paper's own, or "".

    A classifier may point at the sentence; whether it is there and says so is checked here.
    """
    if answer.paper_kind != "empirical":
        return f"not needed: a {answer.paper_kind} paper"
    closed = reference.paid_api(answer.needs.paid_api) and not _JUDGED.search(answer.needs.paid_api)
    if signal is Signal.WEIGHTS and answer.training == "none" and closed:
        quote = answer.needs.paid_api
        return (
            f"not needed, as the paper calls a closed model: {quote[:QUOTE_LIMIT]}"
            if paper.find(quote) is not None
            else ""
        )
    if signal is Signal.WEIGHTS and answer.training in ("none", "is_the_experiment"):
        quote, pattern = answer.training_quote, _NOTHING_TRAINED if answer.training == "none" else _TRAINS
    elif signal in (Signal.DATA, Signal.STANDARD) and not answer.datasets:
        quote, pattern = answer.signals.dataset_available.evidence, _MADE_DATA
        if answer.signals.dataset_available.needed:
            return ""
    else:
        return ""
    if not quote or paper.find(quote) is None or not pattern.search(quote):
        return ""
    if pattern is _NOTHING_TRAINED and any(_WE_TRAIN.search(s.text) for s in paper.sentences()):
        return ""  # one sentence waives nothing that another one does
    if pattern is _MADE_DATA and _names_data(answer, paper):
        return ""
    return f"not needed, as the paper says: {quote[:QUOTE_LIMIT]}"


def _names_data(answer: Answer, paper: Paper) -> bool:
    """Whether the target itself is measured on a listed benchmark: its word, its caption or its quote says so."""
    target = answer.target
    if target is None:
        return False
    captions = " ".join(t.caption for t in paper.tables if t.number == target.table)
    return bool(reference.benchmarks_in(f"{target.dataset} {captions} {target.quote}"))
