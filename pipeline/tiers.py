"""What must be rebuilt: the score of four signals, and the tier that follows from it.

Two scoring rules. ``published`` charges every missing artifact, needed or not; ``needs`` charges nothing for weights or
data that the experiment does not need. An unknown signal is never guessed: it makes the score unknown, and the tier too
unless the tier does not read it. Pass a signal that no receipt confirms with value ``None``.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, NamedTuple

Scoring = Literal["needs", "published"]


class Signal(NamedTuple):
    """One artifact: does a stranger get it (None = not known), and does the experiment need it at all."""

    value: bool | None
    applicable: bool = True


Signals = Mapping[str, Signal]


class Tier(StrEnum):
    """Where a paper falls. The order of the first three is the order of selection and of display."""

    RUN = "Run"
    RETRAIN = "Retrain"
    REIMPLEMENT = "Reimplement"
    BLOCKED = "Artifact-Blocked"
    OUT_OF_SCOPE = "Out-of-Scope-Non-Empirical"

    @property
    def row_word(self) -> str:
        """The word the 25-field row uses: Easy, Medium, Hard; the other two keep their names."""
        return _ROW_WORDS.get(self, self.value)

    @classmethod
    def parse(cls, text: str) -> "Tier":
        """Read a tier from its name, from the row's word, or from the published table's "Run & Retrain"."""
        word = text.strip()
        for tier in cls:
            if word in (tier.value, tier.row_word):
                return tier
        if word == "Run & Retrain":
            return cls.RETRAIN
        raise ValueError(f"{text!r} is no tier; known: {', '.join(t.value for t in cls)}, Easy, Medium, Hard")


_ROW_WORDS = {Tier.RUN: "Easy", Tier.RETRAIN: "Medium", Tier.REIMPLEMENT: "Hard"}

SELECTABLE = (Tier.RUN, Tier.RETRAIN, Tier.REIMPLEMENT)


def score(signals: Signals, scoring: Scoring, paper_kind: str = "empirical") -> int | None:
    """2 for missing code, 3 for data neither available nor standard, 1 for missing weights.

    None when a term is unknown, and for a paper without experiments.
    """
    if paper_kind != "empirical":
        return None
    no_code, no_data, no_weights = _missing(signals, scoring)
    if no_code is None or no_data is None or no_weights is None:
        return None
    return 2 * no_code + 3 * no_data + 1 * no_weights


def tier(score: int | None, signals: Signals, scoring: Scoring = "needs", paper_kind: str = "empirical") -> Tier | None:
    """The tier of a score. None is undetermined: a signal the tier reads is unknown, and nothing is selected on it.

    Without a score a tier can still be certain: missing data blocks whatever else is true, and where code is missing
    and the data is there, the weights do not matter.
    """
    if paper_kind != "empirical":
        return Tier.OUT_OF_SCOPE
    no_code, no_data, _ = _missing(signals, scoring)
    if score is None:
        if no_data:
            return Tier.BLOCKED
        return Tier.REIMPLEMENT if no_data is False and no_code else None
    if score > 3 or (score == 3 and no_data):
        return Tier.BLOCKED
    return (Tier.RUN, Tier.RETRAIN, Tier.REIMPLEMENT, Tier.REIMPLEMENT)[score]


def reads(signals: Signals, scoring: Scoring = "needs") -> frozenset[str]:
    """The signals that fix this paper's tier, given each other; those outside it may change without moving the paper.

    Data is read before code and code before weights. Of data and standard the one that settles the question is read
    (both when neither does). While the tier is undetermined, the unknown signals that keep it so are among them.
    """
    no_code, no_data, _ = _missing(signals, scoring)
    data, standard = signals["dataset_available"], signals["dataset_is_standard"]
    if data.value or (scoring == "needs" and not data.applicable):
        settled = {"dataset_available"}
    elif standard.value:
        settled = {"dataset_is_standard"}
    else:
        settled = {"dataset_available", "dataset_is_standard"}
    if no_data:
        return frozenset(settled)
    settled.add("code_available")
    if not no_code:
        settled.add("weights_available")
    return frozenset(settled)


def _missing(signals: Signals, scoring: Scoring) -> tuple[bool | None, bool | None, bool | None]:
    """(no code, no data, no weights), each None while unknown. What is not needed is not missing under ``needs``."""
    needed = scoring == "published"
    code, data, weights = signals["code_available"], signals["dataset_available"], signals["weights_available"]
    standard = signals["dataset_is_standard"]
    no_data: bool | None
    if not (needed or data.applicable) or data.value or standard.value:
        no_data = False
    elif data.value is None or standard.value is None:
        no_data = None
    else:
        no_data = True
    no_weights = False if not (needed or weights.applicable) else _not(weights.value)
    return _not(code.value), no_data, no_weights


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value
