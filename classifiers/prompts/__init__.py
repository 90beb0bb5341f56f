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


def task() -> Prompt:
    """The instructions that stand before the labelling guide."""
    return _read("task.md")


def web_search() -> Prompt:
    """What is said of the web search, where there is one."""
    return _read("web_search.md")


@cache
def _read(name: str) -> Prompt:
    """Raises ValueError where the file states no version."""
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    stated = re.match(r"Version (\d+)\n", text)
    if stated is None:
        raise ValueError(f"classifiers/prompts/{name} does not begin with 'Version N'")
    return Prompt(int(stated[1]), text[stated.end() :].strip(), hashlib.sha256(text.encode()).hexdigest())


def identity(name: str, told: LanguageModel | None = None) -> str:
    """What an episode and its row carry: model, prompt and guide, each with its hash. `name` without any address."""
    read = guide.load()
    guided = f"guide-{read.version}-{read.sha256[:12]}"
    if name == "embedded":
        return f"embedded-{EMBEDDED_POLICY}+{guided}"
    said = task()
    style = "" if told is None or told.prompt == "ours" else f"-{told.prompt}"
    web = "" if told is None or told.web_search is None else f"-web-{(w := web_search()).version}-{w.sha256[:12]}"
    return f"{name}+prompt-{said.version}{style}-{said.sha256[:12]}{web}+{guided}"
