"""The ten tools as a model sees them: thin wrappers that run a probe in a thread, keep its receipt and show little
JSON.

Nothing here judges. A probe that raises leaves an undetermined receipt, so that no tool dies unheard.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from pydantic_ai import RunContext, Tool
from pydantic_ai.tools import ToolDefinition

from classifiers.budget import Budget, LimitName
from pipeline.answers import Answer
from pipeline.artifacts import subject
from pipeline.database import INFRASTRUCTURE
from pipeline.evidence import WEB_LEADS, Json, NotRecorded, Outcome, Receipt
from pipeline.paper import Paper

Seen = tuple[Receipt, dict[str, Json]]
HubKind = Literal["model", "dataset", "space"]


class Probes(Protocol):
    """The ten typed functions of one paper, and the web search. Synchronous; each returns its receipt and what is
    worth reading of the answer.
    """

    def github_search_repositories(self, query: str) -> Seen: ...
    def github_search_code(self, query: str) -> Seen: ...
    def github_repo(self, repo: str) -> Seen: ...
    def github_tree(self, repo: str, path: str = "") -> Seen: ...
    def github_file(self, repo: str, path: str) -> Seen: ...
    def hub_search(self, query: str, kind: HubKind = "model") -> Seen: ...
    def hub_repo(self, repo: str, kind: HubKind = "model") -> Seen: ...
    def hub_tree(self, repo: str, kind: HubKind = "model", path: str = "") -> Seen: ...
    def fetch_url(self, url: str) -> Seen: ...
    def supplement_file(self, path: str) -> Seen: ...
    def web_search(self, query: str) -> Seen: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How much an episode may ask. Counts; `result_chars` characters of JSON a tool result; `links` of the link
    check; `prompt_tokens` of the first message. `budget` bounds tokens, seconds and dollars of a language model.
    """

    rounds: int = 10
    tool_calls: int = 60
    per_tool: int = 12
    repairs: int = 2
    result_chars: int = 40_000
    links: int = 60
    prompt_tokens: int = 14_000
    budget: Budget = field(default_factory=Budget)

    @property
    def requests(self) -> int:
        """Rounds with tools, one for the answer, and one a repair."""
        return self.rounds + 1 + self.repairs


@dataclass(frozen=True, kw_only=True, slots=True)
class PaperInput:
    """What an episode reads: the paper's id, the digest of its bundle, the paper, the supplement's files (path, bytes).

    `title` is the one it is listed under, for sources that print none. `texts` are files of the supplement worth
    reading at once, `latex` the whole source for a prompt that shows it. `note` stands behind the paper: what a prober
    is told.
    """

    record: str
    bundle: str
    paper: Paper
    supplement: tuple[tuple[str, int], ...] = ()
    title: str = ""
    texts: tuple[tuple[str, str], ...] = ()
    latex: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Briefing:
    """What a model has before its first turn: the paper, what the link check saw, how much it may ask."""

    given: PaperInput
    linked: tuple[Receipt, ...]
    limits: Limits


@dataclass(kw_only=True)
class Desk:
    """One episode's working state: what was asked, every receipt in call order, and the answer that was sent back.

    `asked` counts calls that a language model made, those that failed before a probe ran included; `short` names the
    bound of tokens, seconds or dollars that bears one more turn and no second.
    """

    given: PaperInput
    probes: Probes
    limits: Limits
    receipts: list[Receipt] = field(default_factory=list)
    used: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    asked: int = 0
    short: LimitName | None = None
    returned: Answer | None = None

    @property
    def spent(self) -> LimitName | None:
        """Why no tool is offered any more, or None."""
        if max(self.asked, self.used.total()) >= self.limits.tool_calls:
            return "tool_limit"
        return "request_limit" if self.requests > self.limits.rounds else self.short

    def call(self, tool: str, arguments: Mapping[str, Json]) -> Seen:
        """Run one probe and keep its receipt. Never raises for what a probe does; NotRecorded in replay, and for
        what fails beneath all probes."""
        try:
            receipt, content = getattr(self.probes, tool)(**arguments)
        except (NotRecorded, *INFRASTRUCTURE):  # a full disk, or a replay without its evidence: no word on the tool
            raise
        except Exception as fault:
            receipt, content = crashed(self.given.record, tool, arguments, fault), {}
        self.receipts.append(receipt)
        return receipt, content


def crashed(paper: str, tool: str, arguments: Mapping[str, Json], fault: Exception) -> Receipt:
    """The receipt of a probe that died: undetermined, since a broken tool says nothing about the world."""
    return Receipt(
        paper=paper,
        tool=tool,
        arguments=dict(arguments),
        exchanges=(),
        outcome=Outcome.UNDETERMINED,
        reason=f"tool_crashed: {type(fault).__name__}: {fault}"[:300],
        subject=subject_asked(tool, arguments),
    )


def subject_asked(tool: str, arguments: Mapping[str, Json]) -> str:
    """The subject a call is about, as far as its arguments tell."""
    if tool in ("github_search_repositories", "github_search_code"):
        return "search:github"
    if tool == "hub_search":
        return "search:hub"
    if tool == "web_search":
        return WEB_LEADS
    if tool.startswith("github_"):
        return f"github:{arguments.get('repo', '')}".lower()
    if tool.startswith("hub_"):
        return f"hf:{arguments.get('kind', 'model')}:{arguments.get('repo', '')}"
    return subject(str(arguments["url"])) if "url" in arguments else f"supplement:{arguments.get('path', '')}"


def shown(receipt: Receipt, content: Mapping[str, Json], room: int) -> dict[str, Json]:
    """What the model sees of one call: the receipt, then the content cut to fit into `room` characters of JSON."""
    result: dict[str, Json] = {
        "receipt": receipt.id,
        "subject": receipt.subject,
        "outcome": str(receipt.outcome),
        "reason": receipt.reason,
        "facts": bounded(dict(receipt.facts), room // 2),
    }
    left = room - len(json.dumps(result, ensure_ascii=False))
    result["content"] = bounded(dict(content), max(left, 0))
    return result


def bounded(value: Json, room: int) -> Json:
    """`value` with long texts and lists cut, the longest first, until its JSON has at most `room` characters."""
    for limit in (20_000, 8_000, 3_000, 1_000, 300, 80):
        cut = _cut(value, limit)
        if len(json.dumps(cut, ensure_ascii=False)) <= room:
            return cut
    return {"cut": "too large to show"} if isinstance(value, dict) else None


def _cut(value: Json, limit: int) -> Json:
    if isinstance(value, str):
        return value if len(value) <= limit else value[:limit] + f"… [{len(value) - limit} more characters]"
    if isinstance(value, Mapping):
        return {str(k): _cut(v, limit) for k, v in value.items()}
    if isinstance(value, Sequence):
        most = max(limit // 20, 5)
        kept = [_cut(v, limit) for v in value[:most]]
        return kept if len(value) <= most else [*kept, f"… [{len(value) - most} more]"]
    return value


async def _ask(ctx: RunContext[Desk], tool: str, **arguments: Json) -> dict[str, Json]:
    desk = ctx.deps
    if desk.used.total() >= desk.limits.tool_calls or desk.used[tool] >= desk.limits.per_tool:
        # Hiding works between rounds only; many calls in one round meet the limit here.
        return {"refused": f"{tool} has no calls left in this episode; answer from what you have"}
    desk.used[tool] += 1
    receipt, content = await asyncio.to_thread(desk.call, tool, arguments)
    return shown(receipt, content, desk.limits.result_chars)


async def github_search_repositories(ctx: RunContext[Desk], query: str) -> dict[str, Any]:
    """Search GitHub for repositories, by title, method name or authors."""
    return await _ask(ctx, "github_search_repositories", query=query)


async def github_search_code(ctx: RunContext[Desk], query: str) -> dict[str, Any]:
    """Search code on GitHub for an exact name that only this paper's code would hold."""
    return await _ask(ctx, "github_search_code", query=query)


async def github_repo(ctx: RunContext[Desk], repo: str) -> dict[str, Any]:
    """Overview of one GitHub repository `owner/name`: files, README, what it holds and links to."""
    return await _ask(ctx, "github_repo", repo=repo)


async def github_tree(ctx: RunContext[Desk], repo: str, path: str = "") -> dict[str, Any]:
    """List the files of a GitHub repository, all or below a folder."""
    return await _ask(ctx, "github_tree", repo=repo, path=path)


async def github_file(ctx: RunContext[Desk], repo: str, path: str) -> dict[str, Any]:
    """Read one file of a GitHub repository."""
    return await _ask(ctx, "github_file", repo=repo, path=path)


async def hub_search(ctx: RunContext[Desk], query: str, kind: HubKind = "model") -> dict[str, Any]:
    """Search the Hugging Face Hub for models, data sets or spaces."""
    return await _ask(ctx, "hub_search", query=query, kind=kind)


async def hub_repo(ctx: RunContext[Desk], repo: str, kind: HubKind = "model") -> dict[str, Any]:
    """Overview of one repository on the Hugging Face Hub: files, gate, whether a stranger gets its bytes."""
    return await _ask(ctx, "hub_repo", repo=repo, kind=kind)


async def hub_tree(ctx: RunContext[Desk], repo: str, kind: HubKind = "model", path: str = "") -> dict[str, Any]:
    """List the files of a repository on the Hugging Face Hub."""
    return await _ask(ctx, "hub_tree", repo=repo, kind=kind, path=path)


async def fetch_url(ctx: RunContext[Desk], url: str) -> dict[str, Any]:
    """Fetch a web page or the head of a file; the targets of a page's links are kept."""
    return await _ask(ctx, "fetch_url", url=url)


async def supplement_file(ctx: RunContext[Desk], path: str) -> dict[str, Any]:
    """Read one file of this paper's supplement; an empty path lists all of them."""
    return await _ask(ctx, "supplement_file", path=path)


async def web_search(ctx: RunContext[Desk], query: str) -> dict[str, Any]:
    """Search the open web for leads. They prove nothing: open them with the other tools."""
    return await _ask(ctx, "web_search", query=query)


TOOLS = (
    *(github_search_repositories, github_search_code, github_repo, github_tree, github_file),
    *(hub_search, hub_repo, hub_tree, fetch_url, supplement_file),
)


async def _offered(ctx: RunContext[Desk], tool: ToolDefinition) -> ToolDefinition | None:
    """Hide a tool after its share, and every tool once the episode's is spent: what is left is to answer."""
    desk = ctx.deps
    desk.requests = ctx.run_step
    return None if desk.spent or desk.used[tool.name] >= desk.limits.per_tool else tool


def tools(*, searches_web: bool = False) -> list[Tool[Desk]]:
    """The ten tools, and the web search where there is one. Sequential, since receipts stand in call order
    whatever a thread does."""
    offered = (*TOOLS, web_search) if searches_web else TOOLS
    return [Tool(f, takes_ctx=True, prepare=_offered, sequential=True, max_retries=3) for f in offered]
