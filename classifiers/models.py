"""Who reads the papers: a classifier by name, with the identity that its episodes carry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pydantic_ai.models import Model

from classifiers import guide
from classifiers.embedded import POLICY_VERSION, embedded_model
from classifiers.prompt import PROMPT_VERSION
from classifiers.toolbox import Briefing


@dataclass(frozen=True, kw_only=True, slots=True)
class Classifier:
    """`id` names model, policy or prompt version, and guide; `model` makes the conversation's other side for one
    paper.
    """

    id: str
    model: Callable[[Briefing], Model]


class NoSuchModel(ValueError):
    """A classifier that is not here: the message says what it would take."""


def model_for(name: str) -> Classifier:
    """The classifier of that name. Raises NoSuchModel where it does not exist or needs what is not installed."""
    text = guide.load()
    read = f"guide-{text.version}-{text.sha256[:12]}"
    if name == "embedded":
        return Classifier(id=f"embedded-{POLICY_VERSION}+{read}", model=embedded_model)
    provider, _, model = name.partition(":")
    if provider in ("openai", "anthropic") and model:
        raise NoSuchModel(
            f"classifier {name!r} needs the extra 'llm', a key for {provider}, prices and a spending cap (prompt-"
            f"{PROMPT_VERSION}, {read}); this version runs 'embedded' only"
        )
    raise NoSuchModel(f"no classifier {name!r}; known: embedded (later openai:MODEL, anthropic:MODEL)")
