"""Step 4 of the guide: what kind of paper it is, and what its target needs that money, people or licences stand
before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from classifiers.embedded.candidates import Candidate
from classifiers.embedded.claim import Claim
from pipeline import reference
from pipeline.answers import Needs
from pipeline.paper import Paper, Sentence
from pipeline.row import Kind

_PROVES = re.compile(r"\b(theorem|lemma|proposition|corollary|proof)\b", re.IGNORECASE)
_TESTS = re.compile(
    r"\b(experiments?|empirical\w*|evaluation|simulations?|numerical|results on|benchmarks?|case stud(?:y|ies))\b",
    re.IGNORECASE,
)
_SURVEY = re.compile(
    r"\b(a (?:\w+ ){0,3}survey|survey of|systematic review|literature review|: a review\b|review of)\b", re.IGNORECASE
)
_POSITION = re.compile(
    r"(^|\b)(position\s*:|position paper|this position|perspective\b|we argue that|a call (?:for|to))", re.IGNORECASE
)
_USES = re.compile(
    r"\b(backbones?|calls? (?:to|of)|api\b|prompt\w*|we (?:use|employ|query|evaluate|adopt)|using|via|with"
    r"|powered by|judg\w+|generat\w+|rewrit\w+)",
    re.IGNORECASE,
)
ELSEWHERE = re.compile(
    r"\b(related work|unlike|prior work|previous(?:ly)?|et al|compar\w+ (?:with|to|against)|such as|e\.g\.)",
    re.IGNORECASE,
)
_HUMANS = re.compile(
    r"\b(raters?|listening test|mean opinion score|human (?:evaluat\w+|rat\w+|annotat\w+|judg\w+|study|studies"
    r"|preference\w*)|user study|crowd-?workers?|mechanical turk|participants|annotators)\b",
    re.IGNORECASE,
)
_SIMULATOR = re.compile(
    r"\b((?:commercial|proprietary|licensed) (?:\w+ )?(?:simulators?|software|solvers?|packages?)"
    r"|needs a licen[cs]e|matlab|simulink|ansys|comsol|abaqus|gurobi|cplex|mosek|vissim|aspen plus|star-ccm\+?"
    r"|carsim|prescan|gaussian ?16|vasp)\b",
    re.IGNORECASE,
)
_HARDWARE = re.compile(
    r"\b(fpga|asic|real[- ]robots?|robot arm|franka|ur5e?|quadruped|unitree|drone hardware|loihi"
    r"|quantum (?:processor|hardware)|eeg (?:headset|cap)"
    r"|mri scanner|hololens|neuromorphic chip|cerebras|groq|physical robots?)\b",
    re.IGNORECASE,
)

_UNTRAINED = re.compile(
    r"\b(training[- ]free|without (?:any )?(?:additional |further |extra |gradient )?(?:training|fine-?tuning|learning)"
    r"|no (?:additional |further |extra |gradient )?(?:training|fine-?tuning|learning|learned parameters)"
    r"|not (?:trained|require (?:any )?(?:training|fine-?tuning))"
    r"|requires? no (?:\w+ )?(?:training|fine-?tuning)|nothing is trained|no weights are (?:changed|updated"
    r"|trained)|closed[- ]form)\b",
    re.IGNORECASE,
)
_WE_TRAIN = re.compile(
    r"\b(we (?:\w+ )?(?:pre-?train|train|fine-?tune|optimi[sz]e)|(?:is|are|was"
    r"|were) (?:\w+ )?(?:trained|fine-?tuned|pre-?trained|optimi[sz]ed)"
    r"|(?:training|fine-?tuning|tuning)(?: run)?s? (?:one|a|the|our|takes?|took|needs?|needed|requires?|required|uses"
    r"|for|on|cost)|training\s*:|(?:^|[.,;(]\s*)(?:pre-?)?trained (?:on|for|with|from)"
    r"|the (?:final|training|main) run (?:takes|took|used)|we (?:tune|learn)\b|epochs|learning rate|adamw?\b|sgd\b)",
    re.IGNORECASE,
)
_JUDGES = re.compile(r"\b(judg\w+|scored by|graded by|grader|rated by|annotat\w+|evaluator)\b", re.IGNORECASE)
_ABOUT_TRAINING = re.compile(
    r"\b(optimi[sz]ers?|learning[- ]rate|training dynamics|convergence|scaling laws?|faster training"
    r"|training (?:speed|time|cost|curves?|stability|loss)"
    r"|bias correction|momentum|warm-?up|weight decay|loss spikes?|(?:pre-?)?training (?:steps|iterations))\b",
    re.IGNORECASE,
)

Training = Literal["trained", "none", "is_the_experiment"]


def paper_kind(paper: Paper, claim: Claim | None, candidate: Candidate | None) -> Kind:
    """By what the paper mainly is; empirical as soon as a printed result supports the claim."""
    head = f"{paper.title}. {paper.abstract}"
    sections = " ".join(s.title for s in paper.sections)
    results = any(i.kind == "table" and i.results for i in paper.inventory)
    tested = bool(_TESTS.search(sections)) or results or bool(_TESTS.search(paper.abstract) and paper.figures)
    if _SURVEY.search(paper.title):
        return "survey"
    if _POSITION.search(paper.title) or (_POSITION.search(paper.abstract) and not results):
        return "position"
    proves = bool(_PROVES.search(paper.text) or re.search(r"\b(prove|bounds?|exact)\b", head, re.IGNORECASE))
    return "empirical" if candidate is not None or tested or not proves else "theoretical"


@dataclass(frozen=True, slots=True)
class Trained:
    kind: Training
    quote: str


def training_of(paper: Paper, claim: Claim | None, candidate: Candidate | None, needs: Needs) -> Trained:
    """Whether the target trains anything, or training itself is what it measures; each with the paper's own words."""
    body = [s for s in paper.sentences() if not s.appendix and s.place in ("abstract", "body", "caption", "title")]
    trains = [s for s in body if _WE_TRAIN.search(s.text) and not ELSEWHERE.search(s.text)]
    measured = f"{paper.title} {claim.sentence if claim else ''} {candidate.column_text if candidate else ''}"
    if _ABOUT_TRAINING.search(measured) and trains:
        about = next((s for s in body if _ABOUT_TRAINING.search(s.text) and s.place == "abstract"), trains[0])
        return Trained("is_the_experiment", about.text)
    untrained = [s for s in body if _UNTRAINED.search(s.text) and not ELSEWHERE.search(s.text)]
    own = [s for s in untrained if re.search(r"\b(we|our|ours|all|is|are|requires?|method)\b", s.text, re.IGNORECASE)]
    if own and (not trains or any(s.place in ("abstract", "title") for s in own)):
        return Trained("none", own[0].text)
    if not trains:
        # Nothing in the paper trains anything; whether the quote says so is decided elsewhere.
        prompted = next((s.text for s in body if re.search(r"\bprompt(?:s|ed|ing)?\b", s.text, re.IGNORECASE)), "")
        api = needs.paid_api if not _JUDGES.search(needs.paid_api) else ""
        return Trained("none", (prompted or api) if api else "")
    return Trained("trained", "")


def needs_of(paper: Paper, claim: Claim | None, candidate: Candidate | None) -> Needs:
    """Needs of the target, each with the sentence that shows it. What only another experiment needs is none of its."""
    if candidate is None:
        return Needs()
    near = _near(paper, claim, candidate)
    return Needs(
        paid_api=_paid(paper, claim, candidate, near),
        human_raters=_humans(near, claim, candidate),
        special_hardware=_first(near, _HARDWARE),
        licensed_simulator=_claimed(claim, _SIMULATOR) or _first(near, _SIMULATOR),
    )


def _humans(near: list[Sentence], claim: Claim | None, candidate: Candidate) -> str:
    """People are needed where the target's own number is their judgement: the claim or the cell's headers say so."""
    measured = f"{claim.sentence if claim else ''} {candidate.where}"
    return _first(near, _HUMANS) if _HUMANS.search(measured) else ""


def _near(paper: Paper, claim: Claim | None, candidate: Candidate) -> list[Sentence]:
    """Sentences that speak of the target: the claim, its table's caption and section, and the set-up."""
    table = candidate.table
    section = candidate.sentence.section if candidate.sentence else ""
    if table is not None:
        inside = [s for s in paper.sections if s.start <= table.anchor.offset < s.end]
        section = inside[-1].title if inside else ""
    near = [s for s in paper.sentences() if claim is not None and s.text == claim.sentence]
    near += [s for s in paper.sentences() if s.place == "caption" and table is not None and s.text in table.caption]
    near += [
        s for s in paper.sentences() if s.place == "body" and not s.appendix and (s.section == section or _setup(s))
    ]
    return list(dict.fromkeys(near))


def _setup(sentence: Sentence) -> bool:
    return bool(
        re.search(
            r"\b(set-?up|implementation|experiment|method|evaluation|training|details)", sentence.section, re.IGNORECASE
        )
    )


def _paid(paper: Paper, claim: Claim | None, candidate: Candidate, near: list[Sentence]) -> str:
    """The sentence by which the target itself calls a paid API: its own configuration names one, or the own method
    uses one.
    """
    if claim is not None and reference.paid_api(claim.sentence) and _USES.search(claim.sentence):
        return claim.sentence
    own_configuration = f"{candidate.row_text} {candidate.column_text}"
    named = reference.paid_api(own_configuration)
    for sentence in near:
        api = reference.paid_api(sentence.text)
        if api is None or ELSEWHERE.search(sentence.text) or not _USES.search(sentence.text):
            continue
        ours = re.search(
            r"\b(we|our|all (?:agents|experiments|calls|models)|method|pipeline)\b", sentence.text, re.IGNORECASE
        )
        if named == api or (ours and not _only_baseline(paper, api, candidate)):
            return sentence.text
    return ""


def _only_baseline(paper: Paper, api: str, candidate: Candidate) -> bool:
    """The API's model has a row of its own beside the target's: it is compared with, not used."""
    if candidate.table is None or candidate.cell is None:
        return False
    rows = range(candidate.table.header_rows, len(candidate.table.grid))
    others = (" ".join(candidate.table.row_headers(r)) for r in rows if r != candidate.cell.row)
    return any(reference.paid_api(text) == api for text in others)


def _claimed(claim: Claim | None, pattern: re.Pattern[str]) -> str:
    return claim.sentence if claim is not None and pattern.search(claim.sentence) else ""


def _first(sentences: list[Sentence], pattern: re.Pattern[str]) -> str:
    return next((s.text for s in sentences if pattern.search(s.text) and not ELSEWHERE.search(s.text)), "")
