"""What language models are told: versioned text files, and the identity of a reading that rests on them.

Imports no model library: a build compares identities before anything heavy is loaded.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from classifiers import guide
from pipeline.editions import LanguageModel

EMBEDDED_POLICY = 1
"""Version of the embedded rules."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text as shipped; `sha256` is of the whole file."""

    version: int
    text: str
    sha256: str


@cache
def task() -> Prompt:
    """The instructions that stand before the labelling guide. Raises ValueError where the file states no version."""
    text = (Path(__file__).parent / "task.md").read_text(encoding="utf-8")
    stated = re.match(r"Version (\d+)\n", text)
    if stated is None:
        raise ValueError("classifiers/prompts/task.md does not begin with 'Version N'")
    return Prompt(int(stated[1]), text[stated.end() :].strip(), hashlib.sha256(text.encode()).hexdigest())


def identity(name: str, told: LanguageModel | None = None) -> str:
    """What an episode and its row carry: model, prompt and guide, each with its hash. `name` without any address."""
    read = guide.load()
    guided = f"guide-{read.version}-{read.sha256[:12]}"
    if name == "embedded":
        return f"embedded-{EMBEDDED_POLICY}+{guided}"
    said = task()
    style = "" if told is None or told.prompt == "ours" else f"-{told.prompt}"
    return f"{name}+prompt-{said.version}{style}-{said.sha256[:12]}+{guided}"
