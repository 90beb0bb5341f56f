"""Step 6 of the guide: which data sets the target needs, which of them are the authors' own, or that it makes its
data.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from classifiers.embedded.candidates import Candidate
from classifiers.embedded.claim import Claim, OwnNames
from classifiers.embedded.kind import ELSEWHERE
from classifiers.embedded.words import METRICS, squeezed
from pipeline import reference
from pipeline.answers import DatasetWord
from pipeline.paper import Paper, Sentence

_CUSTOM = re.compile(
    r"\b(we (?:\w+ )?(?:collect|annotat|curat|crawl|scrap|gather|assembl|construct|relabel|re-?label|subsampl"
    r"|filter)\w*|our (?:new |own )?(?:data ?set|benchmark|corpus)"
    r"|(?:custom|random|small) subset|subset of|subsampled?|own (?:split|labels|annotations|cohort|subset|partition)"
    r"|(?:cohort|split|subset|partition) of our own|extract\w* (?:a|our|the) (?:\w+ )?cohort|custom split"
    r"|split (?:it|them|the \w+) (?:at random|randomly|by \w+)|newly (?:collected"
    r"|annotated)|in-house|proprietary)\b",
    re.IGNORECASE,
)
_MADE = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:synthetic|simulated|artificial|toy|(?:procedurally|randomly|synthetically) generated)\w*"
        r" (?:[\w-]+ ){0,3}(?:data\w*|tasks?|samples?|examples?|points?|problems?|instances?|graphs?|signals?"
        r"|environments?|sequences?|mixture\w*|experiments?)\b",
        r"\bwe (?:\w+ )?(?:generate|sample|simulate|synthesi[sz]e)\b[^.]{0,120}\b(?:data\w*|tasks?|samples?|examples?"
        r"|points?|problems?|instances?|graphs?|signals?|inputs?|sequences?|trajector\w+|positions?)\b"
        r"|\b(?:data\w*|tasks?|samples?|examples?|points?|problems?|instances?|graphs?|signals?|inputs?|sequences?"
        r"|trajector\w+|positions?)\b[^.]{0,40}\b(?:are|is|were|was) (?:\w+ )?(?:generated|sampled|simulated|drawn)\b"
        r"|\bwe (?:\w+ )?draw\b[^.]{0,60}\bfrom\b|\bno (?:external |training )?data\b|\bwithout (?:any )?data\b",
        r"\bnumerical (?:experiments?|simulations?|examples?)\b",
    )
)
"""Ways to say that the data is made, the plainest first."""
_NO_DATA = frozenset(
    """
    RL NER POS PICO REL CLS DEP OCR ASR TTS NMT MT IR NLI MHA MLA MQA KV FFN MLP CNN RNN LLM LLMS RLHF SFT DPO PPO GRPO
    SGD ADAM ADAMW FP8 FP16 BF16 FP32 INT8 CUDA PCA SVD ODE SDE MCMC RAG COT
    """.split()  # noqa: SIM905
)
"""Tasks, parts and methods of the field that are written like data sets and are none."""
_SPOKEN_OF = frozenset(("abstract", "body", "caption", "footnote"))
_APPOSED = re.compile(
    r"\b([A-Z][\w-]+),? (?:is |are )?(?:a|an|the|our) (?:[\w.,]+[ -]){0,5}?(?:set|data ?set|benchmark|corpus"
    r"|collection|suite|test ?bed|archive|reanalysis)\b"
)
_TRAINED_ON = re.compile(r"\bwe (?:\w+ ){0,2}?(?:pre-?train|train|fine-?tune)\b", re.IGNORECASE)
_AFTER = re.compile(
    r"\b(?:[Oo]n|[Ii]n|of|from|across|over|for)\s+(?:the\s+|our\s+|a\s+)?(?:\w+\s+(?:task|tasks|split|subset|benchmark"
    r"|data ?set|version)\s+of\s+)?"
    r"([A-Z][\w]*(?:[-/.][\w]+)*(?:\s?(?:[A-Z0-9][\w.-]*))?)"
)
_KINDS = r"(?:data ?sets?|benchmarks?|corpus|corpora|test ?(?:suite|set|bed)|collection|archive|challenge)"
_PARTS = r"(?:models?|layers?|normali[sz]ation|attention|architectures?|networks?|encoders?|decoders?|projections?)\b"
_LIKE_DATA = re.compile(r"([a-z][A-Z]|[A-Z]{2,}|\d|Bench|Set|Net|QA|Corpus|Eval)")


MOST = 8
"""Data sets that one target may name: more is a list of what the field has, not of what a cell was measured on."""


@dataclass(frozen=True, slots=True)
class DataFound:
    """`made` is the sentence which says that the target makes its data, where it needs none; else "".

    `training` are listed data sets that the paper itself trains on, besides: needed only where the rerun trains.
    """

    datasets: tuple[DatasetWord, ...]
    made: str
    training: tuple[DatasetWord, ...] = ()


def find_data(paper: Paper, claim: Claim | None, candidate: Candidate | None, own: OwnNames) -> DataFound:
    """The data that the target is measured on, and the data it is trained on."""
    measured = _measured_on(paper, claim, candidate, own)
    known = {word.name for word in measured.datasets}
    body = (s.text for s in paper.sentences() if s.place == "body" and not s.appendix and _TRAINED_ON.search(s.text))
    extra = dict.fromkeys(name for text in body for name in _listed(text) if name not in known)
    return DataFound(measured.datasets, measured.made, tuple(_word(paper, name, "") for name in list(extra)[:3]))


def _measured_on(paper: Paper, claim: Claim | None, candidate: Candidate | None, own: OwnNames) -> DataFound:
    """The data of the target: named in its cell's headers, else in its caption, else in the claim, else around it."""
    if candidate is None:
        told = (claim.sentence if claim else "", paper.abstract)
        found = next((listed for text in told if (listed := _listed(text))), ())
        return DataFound(tuple(_word(paper, name, "") for name in found[:1]), "")
    heads = f"{candidate.column_text} . {candidate.row_text}"
    around = candidate.where if candidate.table is None else candidate.table.caption
    claimed = claim.sentence if claim else ""
    for text in (heads, around, claimed):
        if listed := _listed(text):
            return DataFound(tuple(_word(paper, name, text) for name in listed[:MOST]), "")
    for name in _shared_name(paper, own):
        if name in f"{heads} {around} {claimed}":
            return DataFound((_unlisted(paper, name),), "")
    for text in (around, claimed, paper.abstract):
        if named := [name for name in _named(text, own) if _is_data(paper, name, own)]:
            return DataFound((_unlisted(paper, named[0]),), "")
    section = _section(paper, candidate)
    nearby = " ".join(s.text for s in section)
    if listed := _listed(nearby):
        return DataFound((_word(paper, listed[0], nearby),), "")
    if made := _made([*section, *paper.sentences()]):
        return DataFound((), made)
    everywhere = _listed(" ".join(s.text for s in paper.sentences() if not s.appendix and s.place == "body"))
    return DataFound((_word(paper, everywhere[0], ""),) if everywhere else (), "")


def _made(sentences: Sequence[Sentence]) -> str:
    """The sentence that says most plainly that the data is made, the nearest first; "" where none does."""
    told = [s for s in sentences if not s.appendix and s.place in _SPOKEN_OF and not ELSEWHERE.search(s.text)]
    return next((s.text for pattern in _MADE for s in told if pattern.search(s.text)), "")


def _is_data(paper: Paper, name: str, own: OwnNames) -> bool:
    """Whether the paper speaks of a name as data: next to "data set" or "benchmark", or as what something is
    evaluated or trained on; and not as of a model or a layer.
    """
    if name in own.data or re.search(r"(?:Bench|QA|Corpus|Dataset|Eval)$", name):
        return True
    if name.split()[0].upper() in _NO_DATA or re.search(rf"\b{re.escape(name)}[- ](?:\w+ )?{_PARTS}", paper.text):
        return False
    word = re.escape(name)
    measured = r"\b(?:evaluat|test|train|result|experiment|perform|accura|score|validat)\w*\b"
    ways = (
        rf"{word}\S*\s+(?:\w+\s+)?(?:{_KINDS}|tasks?\b)",
        rf"{_KINDS}[,:]?\s+(?:called\s+|named\s+|of\s+)?\(?{word}",
        rf"{measured}[^.]{{0,60}}\bon (?:the )?{word}",
        rf"{word}\b,? (?:is |are )?(?:a|an|the|our|\d[\d,]*) ",
    )
    return re.search("|".join(ways), paper.text, re.IGNORECASE) is not None


def _listed(text: str) -> tuple[str, ...]:
    """Names of the listed benchmarks in a text, in order, each once."""
    return tuple(dict.fromkeys(m.name for m in reference.benchmarks_in(text)))


def _word(paper: Paper, name: str, text: str) -> DatasetWord:
    """A listed benchmark; custom where the paper says, in the sentence that introduces it, that it uses its own
    part of it.
    """
    mentions = [s for s in paper.sentences() if name in _listed(s.text)]
    introduced = next(
        (s for s in mentions if re.search(r"\b(we|data ?sets?|use|train|split|evaluat)", s.text, re.IGNORECASE)), None
    )
    first = introduced or (mentions[0] if mentions else None)
    custom = bool(_CUSTOM.search(text)) or any(
        _CUSTOM.search(s.text) and re.search(r"\bsubset|own|relabel|filter|subsampl|cohort|split", s.text)
        for s in mentions[:6]
    )
    return DatasetWord(name=name, custom=custom, quote=first.text if first else "")


def _unlisted(paper: Paper, name: str) -> DatasetWord:
    """A data set that no table lists; the authors' own where they say that they made it, or give it away."""
    mentions = [s for s in paper.sentences() if name in s.text and s.place in _SPOKEN_OF]
    made = re.compile(
        rf"\b(introduc|present|propos|construct|collect|curat|build|releas|creat|annotat)\w*\b[^.]*{re.escape(name)}",
        re.IGNORECASE,
    )
    ours = re.compile(
        r"\bwe (?:\w+ ){0,3}?(?:captur|collect|publish|releas|record|buil|creat|annotat|assembl|curat|introduc)",
        re.IGNORECASE,
    )
    own = any(made.search(s.text) or ours.search(s.text) or _CUSTOM.search(s.text) for s in mentions)
    given = any(
        "/datasets/" in link.url and (name in link.sentence or squeezed(name) in squeezed(link.url.rpartition("/")[2]))
        for link in paper.links
        if link.visible
    )
    return DatasetWord(name=name, custom=own or given, quote=mentions[0].text if mentions else "")


def _shared_name(paper: Paper, own: OwnNames) -> list[str]:
    """Names of the own work that a linked data set bears: a paper about its data often names both alike."""
    sets = [link.url.lower() for link in paper.links if link.visible and "/datasets/" in link.url]
    return [n for n in (*own.data, *own.names) if any(squeezed(n) in squeezed(u.rpartition("/")[2]) for u in sets)]


def _named(text: str, own: OwnNames) -> list[str]:
    """Names after "on" or "in" that look like a data set's and are neither the method nor a metric."""
    found: list[str] = [m[1] for m in _APPOSED.finditer(text) if not own.in_(m[1]) or m[1] in own.data]
    for match in _AFTER.finditer(text):
        name = match[1].strip(" .,;:")
        known = {squeezed(n) for n in own.names}
        if (
            (_LIKE_DATA.search(name) or (re.match(r"[Oo]n the ", match[0]) and " " in name))
            and squeezed(name) not in known
            and name.lower() not in METRICS
            and not _common(name)
        ):
            found.append(name)
    return list(dict.fromkeys(found))


def _common(name: str) -> bool:
    if re.search(
        r"\b(NVIDIA|GPU|CPU|TPU|Table|Figure|Section|LLMs?|Transformers?|ResNet|ViT|BERT|GPT|Llama|Qwen|API|Appendix|Theorem)",
        name,
    ):
        return True
    return bool(re.fullmatch(r"[A-Z]?\d+(?:\.\d+)?[a-zA-Z%]?", name))


def _section(paper: Paper, candidate: Candidate) -> list[Sentence]:
    offset = (
        candidate.table.anchor.offset
        if candidate.table
        else candidate.sentence.anchor.offset
        if candidate.sentence
        else -1
    )
    inside = [s for s in paper.sections if s.start <= offset < s.end and s.level == 1]
    if not inside:
        return []
    return [s for s in paper.sentences() if inside[-1].start <= s.anchor.offset < inside[-1].end]
