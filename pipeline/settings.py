"""The blocks of an edition's settings: where its papers come from, who reads them, and what that may cost.

`pipeline.editions` puts them together, reads them from files and hashes them.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveInt,
    field_validator,
    model_validator,
)

_SEARCH = re.compile(r"https?://[^/?#\s{}@]+[/?][^#\s{}]*\{query\}[^#\s{}]*")
_KEYED = re.compile(r"(?i)[?&][\w.-]*(key|token|secret|password|signature)=")


class Settings(BaseModel):
    """A block of settings: nothing unknown in it, nothing of it ever changed."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _no_booleans(cls, given: object) -> object:
        """No setting is a yes or no; ``true`` would pass for the number one."""
        for key, value in given.items() if isinstance(given, Mapping) else ():
            if any(isinstance(v, bool) for v in (value if isinstance(value, list | tuple) else [value])):
                raise ValueError(f"{key}: true and false are no values for it; give a number or a word")
        return given


class Live(Settings):
    """Where a live edition's papers come from.

    The index is one of three: `index_dataset`, a data set on the Hub with one row a paper; `index_file`, a CSV, JSONL
    or Parquet file of one's own, beside the edition's file; neither, then the notes of the OpenReview `venues`, whose
    arXiv ids are found by title and authors. `venues`: OpenReview venue ids (a conference may have several tracks),
    by default the edition's `venue`. `arxiv_snapshot`: a local file of arXiv's metadata, one JSON object a line, to
    search in place of arXiv's API. `arxiv_mirror`: a base URL that serves the bytes of https://arxiv.org/src/….
    """

    index_dataset: str | None = None
    index_split: str = "train"
    index_revision: str | None = None
    index_file: str | None = None
    venues: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    arxiv_snapshot: str | None = None
    arxiv_mirror: Annotated[str, Field(pattern=r"^https?://[^/?#\s]+(/[^?#\s]*)?$")] | None = None

    @model_validator(mode="after")
    def _one_index(self) -> Self:
        if self.index_dataset is not None and self.index_file is not None:
            raise ValueError("index_file: index_dataset is an index too; give one of them")
        return self


class Corpus(Settings):
    """Floors that the corpus must reach, so that a half-answered index is not taken for a small conference: entries of
    the index, papers kept, and papers whose notes name a supplement."""

    min_papers: PositiveInt = 1
    min_kept: PositiveInt = 1
    min_supplements: NonNegativeInt = 0


class LanguageModel(Settings):
    """How a language model is asked, and what it may cost a paper: tokens read and written, wall-clock seconds,
    dollars.

    `reasoning` says how a backend wants its reasoning back: `auto` as it came, `tags` in the text, `field` as
    `reasoning_field`, `none` not at all. `tool_choice = "free"` is for backends that refuse a forced one. `prompt =
    "published"` shows all LaTeX too, as the published classifier did. `max_prompt_tokens` bounds the first message.
    `web_search`, the URL of a search engine with `{query}` in it, offers one tool more, whose leads prove nothing.
    """

    prompt: Literal["ours", "published"] = "ours"
    reasoning: Literal["auto", "tags", "field", "none"] = "auto"
    reasoning_field: str = "reasoning_content"
    tool_choice: Literal["forced", "free"] = "forced"
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    seed: int | None = None
    max_output_tokens: PositiveInt = 8_192
    max_prompt_tokens: PositiveInt = 14_000
    max_tokens: NonNegativeInt | None = None
    max_seconds: Annotated[float, Field(ge=0)] | None = None
    max_usd: Annotated[float, Field(ge=0)] | None = None
    web_search: Annotated[str | None, Field(exclude_if=lambda value: value is None)] = None

    @field_validator("web_search")
    @classmethod
    def _public(cls, value: str | None) -> str | None:
        """Settings are published: a key in them would be too."""
        if value is not None and not _SEARCH.fullmatch(value):
            raise ValueError(
                "give a URL with {query} in its path or arguments: https://HOST/search?q={query}&format=json"
            )
        if value is not None and _KEYED.search(value):
            raise ValueError("a key is no setting; it goes into RECLAIM_WEB_SEARCH_KEY and is sent as a bearer header")
        return value


class Classifier(Settings):
    """Who reads the papers, and how much it may ask: calls and rounds an episode, characters a tool result.

    `model` is `embedded`, or `provider:name` with `@` and a base URL for an endpoint of one's own, which is no setting:
    where a model was asked is no part of what it said. `llm` is read for the latter alone. `second_looks` names who
    looks again at Reimplement rows: two re-checks and a prober; a language model does so itself, by other seeds, and
    rules, which would find the same again, do not.
    """

    model: str = "embedded"
    max_tool_rounds: PositiveInt = 10
    max_tool_calls: PositiveInt = 60
    max_result_chars: PositiveInt = 40_000
    second_looks: Annotated[tuple[str, ...], Field(exclude_if=lambda value: not value)] = ()
    llm: Annotated[LanguageModel | None, Field(exclude_if=lambda value: value is None)] = None

    @field_validator("second_looks")
    @classmethod
    def _three(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(value) not in (0, 3):
            raise ValueError(f"name three, two re-checks and a prober, not {len(value)}")
        return value

    @property
    def looks(self) -> tuple[str, ...]:
        """Who looks again at a Reimplement row."""
        return self.second_looks if self.second_looks or self.model == "embedded" else (self.model,) * 3


class AbsenceSearches(Settings):
    """How many distinct complete searches must find nothing before an artifact counts as absent."""

    github: PositiveInt = 2
    hub: PositiveInt = 1
