"""The labelling guide: the one text that prompts a model, that the embedded classifier implements and that auditors
read.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache

from pipeline.editions import data


@dataclass(frozen=True, slots=True)
class Guide:
    """`sha256` is of the text as shipped; decisions and classifier ids carry it."""

    version: int
    text: str
    sha256: str


@cache
def load() -> Guide:
    """The shipped guide. Raises ValueError where its text does not state a version."""
    text = data("reference", "guide.md").read_text(encoding="utf-8")
    stated = re.search(r"^Version (\d+)$", text, re.MULTILINE)
    if stated is None:
        raise ValueError("data/reference/guide.md states no version; give it a line 'Version N'")
    return Guide(int(stated[1]), text, hashlib.sha256(text.encode()).hexdigest())
