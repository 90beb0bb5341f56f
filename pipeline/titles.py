"""Whether two titles with their authors name one paper, and which of several papers a title and its authors name.

A venue's title and arXiv's differ in case, accents, TeX and spelling, and one paper in ten was renamed on the way. The
numbers below were held against the published pool's 200 pairs and recorded title look-ups (see tests/corpus).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher

SAME_TITLE = 0.90
"""Titles this similar are the same where nothing else is known. Foreign pairs of the published pool stay below 0.8."""
SAME_AUTHORS = 0.6
"""Share of the longer author list that both lists hold, from which a renamed title is believed."""
SHARED_WORDS = 0.25
"""Share of the shorter title's telling words that a renamed paper keeps: one group writes several papers a year."""
FOUND_WORDS, FOUND_AT_LEAST = 0.5, 2
"""The same share, and the least number of words, where nobody said that the two belong together: among all papers of
one group the renamed one has to stand out. It finds 199 of the 200 published pairs."""

# Words that hold a sentence together, and those that name the field rather than the paper.
STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at beyond by can do does for from how in into is it its more not of on or over that the to "
        "toward towards via what when which why with without we you your one two all using based learning model models "
        "method deep neural network networks large language llm llms reinforcement",
    )
)


def titles_agree(a: str, b: str, authors_a: Sequence[str] = (), authors_b: Sequence[str] = ()) -> bool:
    """Whether two titles name one paper.

    Equal or nearly equal titles agree unless both author lists are known and share nobody. Renamed ones agree if the
    lists are largely the same and the titles still share a telling word. Without authors only near equality counts.
    """
    same = same_people(authors_a, authors_b)
    near = title_similarity(a, b) >= SAME_TITLE
    if same is None:
        return near
    if near:
        return same
    most = max(len(set(authors_a)), len(set(authors_b)))
    return _shared(authors_a, authors_b) >= SAME_AUTHORS * most and _word_overlap(a, b) >= SHARED_WORDS


def likeness(a: str, b: str, authors_a: Sequence[str], authors_b: Sequence[str]) -> float | None:
    """How alike two titles are (0 … 1) that a search put side by side, or None where they do not name one paper.

    Stricter than `titles_agree`, since here no index vouches for the pair: titles without known authors have to be
    equal, renamed ones have to share half of the shorter one's telling words.
    """
    same, alike = same_people(authors_a, authors_b), title_similarity(a, b)
    if same is None:
        return alike if alike == 1.0 else None
    if alike >= SAME_TITLE:
        return alike if same else None
    most = max(len(set(authors_a)), len(set(authors_b)))
    few = len(_words(a) & _words(b)) < FOUND_AT_LEAST or _word_overlap(a, b) < FOUND_WORDS
    return None if few or _shared(authors_a, authors_b) < SAME_AUTHORS * most else alike


def folded(text: str) -> str:
    """A title as it is compared: no case, accents, TeX, punctuation or spacing."""
    text = re.sub(r"\\[a-zA-Z]+|[${}\\^_]", " ", text)
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    return " ".join(re.findall(r"\w+", plain))


def title_similarity(a: str, b: str) -> float:
    """0 … 1, of the folded titles."""
    one, two = folded(a), folded(b)
    if not one or not two:
        return 0.0
    return SequenceMatcher(None, one, two, autojunk=False).ratio()


def _words(title: str) -> set[str]:
    # A crude stem, so that "generative" and "generation", "model" and "models" meet.
    return {word[:6] for word in folded(title).split() if word not in STOP and len(word) > 2}


def _word_overlap(a: str, b: str) -> float:
    one, two = _words(a), _words(b)
    return len(one & two) / min(len(one), len(two)) if one and two else 0.0


def same_people(a: Sequence[str], b: Sequence[str]) -> bool | None:
    """Whether two author lists share anybody; None where either is unknown."""
    if not a or not b:
        return None
    return _shared(a, b) > 0


def _shared(a: Sequence[str], b: Sequence[str]) -> int:
    left = [_name(author) for author in b]
    count = 0
    for author in map(_name, a):
        match = next((k for k, other in enumerate(left) if _same_name(author, other)), None)
        if match is not None:
            del left[match]
            count += 1
    return count


def _name(author: str) -> tuple[str, ...]:
    return tuple(folded(author.replace("-", " ").replace(".", " ")).split())


def _same_name(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Every part of the shorter name is in the longer one, as a word or an initial, and at least one as a word.

    Order does not count: "Rao, Jackie", "Wei Wang" for "Wang Wei".
    """
    short, long = sorted((a, b), key=len)
    rest = list(long)
    words = 0
    for part in sorted(short, key=len, reverse=True):
        whole = next((r for r in rest if r == part), None)
        if whole is None:
            whole = next((r for r in rest if 1 in (len(r), len(part)) and r[0] == part[0]), None)
            if whole is None:
                return False
        elif len(part) > 1:
            words += 1
        rest.remove(whole)
    return words > 0


def people(authors: Sequence[str]) -> str:
    return ", ".join(authors[:3]) + (" et al." if len(authors) > 3 else "") if authors else "nobody"
