"""Step 1 of the guide: the central claim, and what the paper calls its own."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from classifiers.embedded.words import BACKGROUND, COMPARED, DATASET_SIZE, FINDING, OWN, PROPOSES, RESULT, metrics_in
from pipeline.paper import Paper, Sentence

_NAME = re.compile(r"\b(?:[A-Z][a-z]*[A-Z0-9][\w+-]*|[A-Z]{2,}[\w+-]*|[a-z]+[A-Z]\w*)\b")
_BEATS = re.compile(r"\b(outperform|surpass|beat|state[- ]of[- ]the[- ]art)", re.IGNORECASE)
_PARENTHESISED = re.compile(
    r"\(\s*(?:called |termed |dubbed |abbreviated )?((?=[\w+-]*[A-Z])[A-Za-z][A-Za-z0-9+-]{1,24})\s*\)"
)
_OUR_NAME = re.compile(
    r"\bour (?:\w+[- ]){0,2}?(?:system|model|method|approach|framework|algorithm|baseline|architecture"
    r"|pipeline),? (?:called |named )?([A-Z][\w+-]+)"
)
_NAMING = re.compile(r"\bwe (?:\w+ ){0,4}?(?:call|term|name|dub|denote|refer to)\b", re.IGNORECASE)
_NO_RESULT = re.compile(
    r"\bbest (?:correspond|describ|represent|fit|suit|captur|explain|practice|align|reflect)\w*",
    re.IGNORECASE,
)
"""Words of result that speak of a choice instead."""
_CONTRIBUTION = re.compile(r"\b(contributions?|we (?:show|demonstrate|find|achieve)|our)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OwnNames:
    """What the paper calls its own method or model (`names`), and its own data set or benchmark (`data`); the
    likeliest first.
    """

    names: tuple[str, ...]
    data: tuple[str, ...] = ()

    def in_(self, text: str) -> bool:
        """Whether a text names the own method; of a paper without one, its own data."""
        return any(_named(n, text) for n in self.names or self.data)

    def any_in(self, text: str) -> bool:
        return any(_named(n, text) for n in (*self.names, *self.data))


def _named(name: str, text: str) -> bool:
    return bool(re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![a-z])", text, re.IGNORECASE))


@dataclass(frozen=True, slots=True)
class Claim:
    """`sentence` is verbatim; `why` says how it was found; `support` are the abstract's other sentences with
    results.
    """

    sentence: str
    why: str
    support: tuple[str, ...] = ()

    @property
    def metrics(self) -> tuple[str, ...]:
        return metrics_in(self.sentence)


def own_names(paper: Paper) -> OwnNames:
    """Names of the own method: the title's head, what is introduced or named, acronyms in brackets.

    A name that the text hardly uses again is no name; one that the text calls a data set or benchmark names data.
    """
    found: Counter[str] = Counter()
    head, colon, _ = paper.title.partition(":")
    if colon and 1 <= len(head.split()) <= 3:
        found[head.strip()] += 6
    for name in _NAME.findall(paper.title):
        found[name] += 2
    for sentence in [*_abstract(paper), *(s.text for s in _introduction(paper)), *_naming(paper)]:
        proposing = PROPOSES.search(sentence)
        if proposing is None:
            continue
        after = sentence[proposing.end() : proposing.end() + 90]
        for name in _PARENTHESISED.findall(after)[:1]:
            found[name] += 3
        for rank, name in enumerate(_NAME.findall(after[:50])[:2]):
            found[name] += 2 - rank
    for name in _OUR_NAME.findall(paper.text):
        found[name] += 2
    heads = "\n".join(_table_heads(paper))
    for name in list(found):
        found[name] += 2 if _named(name, heads) else -1
    least = {n: 2 if _named(n, head) else 4 for n in found}
    repeated = {n: k for n, k in found.items() if len(n) >= 2 and not n.isdigit() and _uses(paper, n) >= least[n]}
    ranked = sorted(repeated, key=lambda n: (-repeated[n] - min(_uses(paper, n), 40) / 10, n))
    kept = [n for n in ranked if repeated[n] >= 3 and not _common(n) and not _cited(paper, n)][:5]
    data = tuple(n for n in kept if _is_data(paper, n))
    return OwnNames(tuple(n for n in kept if n not in data)[:3], data)


def _cited(paper: Paper, name: str) -> bool:
    """Whether the text gives a source right after the name: then it is somebody else's, unless the title bears it."""
    source = r"\s*(?:\([^()]{0,80}(?:et al|\b(?:19|20)\d\d)[^()]{0,20}\)|\([a-z][\w-]*[\d:_][\w:-]*\)|\[\d{1,3}\])"
    return not _named(name, paper.title) and re.search(rf"(?<![\w]){re.escape(name)}{source}", paper.text) is not None


def _table_heads(paper: Paper) -> list[str]:
    """Row and column headers of all tables: where a method's name stands again."""
    heads: list[str] = []
    for table in paper.tables:
        heads += [" ".join(table.row_headers(r)) for r in range(table.header_rows, len(table.grid))]
        heads += [" ".join(table.column_headers(c)) for c in range(1, table.columns)]
    return heads


def _naming(paper: Paper) -> list[str]:
    """Sentences of the body that give the method its name, or introduce something with its acronym."""
    body = (s.text for s in paper.sentences() if s.place == "body" and not s.appendix)
    return [text for text in body if _NAMING.search(text) or (PROPOSES.search(text) and _PARENTHESISED.search(text))]


def _uses(paper: Paper, name: str) -> int:
    return len(re.findall(rf"(?<![\w]){re.escape(name)}(?![a-z])", paper.text))


def _is_data(paper: Paper, name: str) -> bool:
    """Whether the text calls it a data set, benchmark or corpus, next to the name."""
    kinds = r"(?:data ?sets?|benchmarks?|corpus|corpora|test suite|collection)"
    beside = re.findall(
        rf"(?:{re.escape(name)}\s+{kinds}|{kinds}[,:]?\s+(?:called\s+|named\s+)?\(?{re.escape(name)})",
        paper.text,
        re.IGNORECASE,
    )
    introduced = re.search(
        rf"{re.escape(name)}\b[^.]{{0,60}}\b(?:a|an|the)\b[^.]{{0,60}}\b{kinds}",
        f"{paper.title}. {paper.abstract}",
        re.IGNORECASE,
    )
    return len(beside) >= 3 or introduced is not None


_FIELD = frozenset(
    """
    LLM LLMS AI ML RL NLP GPU CNN CNNS RNN GAN VAE QA SOTA 3D 2D AR MLP CV FL OOD SDE ODE CFG IRB PYTORCH TENSORFLOW
    JAX GPT BERT SGD ADAM KL MCMC IID NN DNN GNN GNNS VIT LORA SFT DPO PPO RLHF MOE API CPU TPU LATEX PDF URL NEURIPS
    ICML ICLR MNIST IMAGENET CIFAR COT RAG
    """.split()  # noqa: SIM905
)


def _common(name: str) -> bool:
    """Names of the field that no paper owns."""
    return name.upper() in _FIELD


def _abstract(paper: Paper) -> list[str]:
    inside = [s.text for s in paper.sentences() if s.place == "abstract"]
    return inside or [s.strip() for s in re.split(r"(?<=[.!?])\s+(?=[A-Z])", paper.abstract) if s.strip()]


def find_claim(paper: Paper, own: OwnNames) -> Claim | None:
    """The first sentence of the abstract that states a measured advantage or finding of the paper's own; else of
    the contributions.
    """
    abstract = _abstract(paper)
    results = [s for s in abstract if _states_result(s, own)]
    measured = [s for s in results if _measured(s)]
    for pool, why in ((measured, "first measured result of the abstract"), (results, "first result of the abstract")):
        if pool:
            return Claim(pool[0], why, tuple(s for s in results if s != pool[0]))
    for told in _introduction(paper):
        if _CONTRIBUTION.search(told.text) and _states_result(told.text, own):
            return Claim(told.text, "first result among the contributions")
    for sentence in abstract:
        if OWN.search(sentence) or own.any_in(sentence):
            return Claim(sentence, "no result is stated; the first sentence about the own work")
    return Claim(abstract[0], "no result is stated; the abstract's first sentence") if abstract else None


def _states_result(sentence: str, own: OwnNames) -> bool:
    """A printed result, or a result word of the own work; neither background, nor hope, nor a data set's size alone."""
    if re.search(r"\b(will|hope|aim|could|future|(?:is|are) expected to|potential(?:ly)?)\b", sentence):
        return False
    if DATASET_SIZE.search(sentence) and not FINDING.search(sentence):
        return False
    ours = bool(own.any_in(sentence) or FINDING.search(sentence) or OWN.search(sentence))
    if BACKGROUND.search(sentence) and not ours:
        return False
    if _has_value(sentence):
        return True
    if PROPOSES.search(sentence[:60]) and not (FINDING.search(sentence) or _BEATS.search(sentence)):
        return False
    return ours and bool(RESULT.search(_NO_RESULT.sub("", sentence)) or FINDING.search(sentence))


def _has_value(sentence: str) -> bool:
    return bool(re.search(r"\d+(?:\.\d+)?\s?(?:%|×|x\b|(?:percentage )?points?\b)|(?<![\w.])\d*\.\d+\b", sentence))


def _measured(sentence: str) -> bool:
    """It prints a result, or says that a comparison was made."""
    return _has_value(sentence) or bool(COMPARED.search(sentence))


def _introduction(paper: Paper) -> list[Sentence]:
    first = next((s.title for s in paper.sections if s.level == 1 and not s.appendix), "")
    return [s for s in paper.sentences() if s.section == first and s.place == "body"]
