"""The ten tools. Each asks one question, keeps what was answered, and gives a receipt and the small JSON an agent sees.

No tool raises for what an argument or the world says: a bad argument or an odd answer is undetermined, with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pipeline.evidence import WEB_LEADS, Json, NotRecorded, Outcome, Receipt
from pipeline.sources import github_files, on_github, on_hub, on_supplement, on_web, web_search
from pipeline.sources.github_tokens import Tokens
from pipeline.sources.outcomes import Finding, cleaned
from pipeline.sources.reach import Reach
from pipeline.sources.reading import PaperFacts
from pipeline.sources.recorder import Recorder
from pipeline.sources.web_search import Engine

__all__ = ["CALLABLE", "TOOLS", "PaperFacts", "Probed", "Probes"]

TOOLS = (
    "github_search_repositories",
    "github_search_code",
    "github_repo",
    "github_tree",
    "github_file",
    "hub_search",
    "hub_repo",
    "hub_tree",
    "fetch_url",
    "supplement_file",
)
CALLABLE = (*TOOLS, "web_search")
"""The ten, and the one that gives leads where a run has a search engine."""


class Probed(NamedTuple):
    """A receipt, and what the agent is shown."""

    receipt: Receipt
    content: dict[str, Json]


class Probes:
    """The tools for one paper. Synchronous and safe from several threads; receipts are in the record when a call
    returns.

    `supplement`: path to bytes of the paper's supplement, empty where it has none. `walls`: host to kind of wall, from
    the reference table. `github_token`: one or several, shared by all papers of a run; only raises GitHub's limits on
    metadata, access is still shown anonymously. `engine` answers `web_search`, where one is configured.
    """

    def __init__(
        self,
        paper: str,
        recorder: Recorder,
        supplement: Mapping[str, bytes],
        paper_facts: PaperFacts,
        walls: Mapping[str, str] | None = None,
        github_token: str | Tokens = "",
        engine: Engine | None = None,
    ) -> None:
        self.paper = paper
        self._engine = engine
        self.supplement = supplement
        self._recorder = recorder
        tokens = Tokens.of(github_token) if isinstance(github_token, str) else github_token
        self._reach = Reach(recorder, paper_facts, walls or {}, tokens)

    def github_search_repositories(self, query: str) -> Probed:
        """Repositories that match words in name, description, topics or README."""
        return self._probe(
            "github_search_repositories",
            {"query": query},
            "search:github",
            lambda: on_github.search_repositories(self._reach, query),
        )

    def github_search_code(self, query: str) -> Probed:
        """Files that match words; GitHub answers this to no stranger, so without a token it is undetermined."""
        return self._probe(
            "github_search_code", {"query": query}, "search:github", lambda: on_github.search_code(self._reach, query)
        )

    def github_repo(self, repo: str) -> Probed:
        """Overview of `owner/name`: metadata, README, releases, what the whole tree holds and what a stranger gets."""
        return self._probe(
            "github_repo", {"repo": repo}, f"github:{repo}", lambda: on_github.overview(self._reach, repo)
        )

    def github_tree(self, repo: str, path: str = "", ref: str | None = None) -> Probed:
        """Files under a folder of `owner/name`, at a branch, tag or commit (default: the default branch)."""
        return self._probe(
            "github_tree",
            {"repo": repo, "path": path, "ref": ref},
            f"github:{repo}",
            lambda: on_github.tree(self._reach, repo, path, ref),
        )

    def github_file(self, repo: str, path: str, ref: str | None = None) -> Probed:
        """The text of one file; notebooks as their cells."""
        return self._probe(
            "github_file",
            {"repo": repo, "path": path, "ref": ref},
            f"github:{repo}",
            lambda: github_files.file(self._reach, repo, path, ref),
        )

    def hub_search(self, query: str, kind: str = "model") -> Probed:
        """Models or data sets (`kind`) on the Hugging Face Hub whose names match."""
        return self._probe(
            "hub_search", {"query": query, "kind": kind}, "search:hub", lambda: on_hub.search(self._reach, query, kind)
        )

    def hub_repo(self, repo: str, kind: str = "model") -> Probed:
        """Overview of a Hub repository: gate, card, files, and whether a stranger gets bytes. `kind`: model, dataset,
        space."""
        return self._probe(
            "hub_repo",
            {"repo": repo, "kind": kind},
            f"hf:{kind}:{repo}",
            lambda: on_hub.repository(self._reach, repo, kind),
        )

    def hub_tree(self, repo: str, kind: str = "model", path: str = "", revision: str | None = None) -> Probed:
        """Files under a folder of a Hub repository, with sizes."""
        return self._probe(
            "hub_tree",
            {"repo": repo, "kind": kind, "path": path, "revision": revision},
            f"hf:{kind}:{repo}",
            lambda: on_hub.tree(self._reach, repo, kind, path, revision),
        )

    def fetch_url(self, url: str) -> Probed:
        """Any public URL: a page with its links kept, or what a file is. Repositories are answered as `github_repo`
        would."""
        return self._probe("fetch_url", {"url": url}, f"url:{url}", lambda: on_web.fetch(self._reach, url))

    def supplement_file(self, path: str = "") -> Probed:
        """The supplement's manifest, or one file of it as text; archives are listed."""
        return self._probe(
            "supplement_file",
            {"path": path},
            "supplement:",
            lambda: on_supplement.read(self.supplement, path, self._reach.paper),
        )

    def web_search(self, query: str) -> Probed:
        """Leads from a search of the open web; they prove nothing."""
        return self._probe(
            "web_search",
            {"query": query},
            WEB_LEADS,
            lambda: web_search.search(self._recorder, self._engine, query),
        )

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Probed:
        """A tool by name, as agents and re-checks call it."""
        if tool not in CALLABLE:
            raise KeyError(f"no tool {tool!r}; there are {', '.join(CALLABLE)}")
        made: Probed = getattr(self, tool)(**arguments)
        return made

    def _probe(self, tool: str, arguments: dict[str, Json], asked: str, ask: Callable[[], Finding]) -> Probed:
        odd = [name for name, value in arguments.items() if not _is_text(value)]
        with self._recorder.call(self.paper) as exchanges:
            if odd:
                arguments = {name: ascii(value)[:200] if name in odd else value for name, value in arguments.items()}
                finding = on_github.invalid(ascii(asked)[:300], f"{', '.join(odd)} must be text")
            else:
                finding = _found(asked, ask)
        facts = cleaned({"authenticated": any(e.authenticated for e in exchanges), **finding.facts})
        receipt = Receipt(
            paper=self.paper,
            tool=tool,
            arguments=arguments,
            exchanges=tuple(e.id for e in exchanges),
            outcome=Outcome(finding.outcome),
            reason=cleaned(finding.reason),
            subject=cleaned(finding.subject),
            facts=facts,
        )
        return Probed(receipt, cleaned(dict(finding.content)))


def _found(asked: str, ask: Callable[[], Finding]) -> Finding:
    """What a tool finds. An answer whose parts are of odd types (a list for a name) is one that nobody can read."""
    try:
        return ask()
    except NotRecorded:
        raise
    except (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as odd:
        reason = f"unreadable_answer: {type(odd).__name__}"
        return Finding(
            outcome=Outcome.UNDETERMINED, reason=reason, subject=asked[:300].lower(), content={"error": reason}
        )


def _is_text(value: Json) -> bool:
    """Text that can be stored, or nothing: models also send numbers, and JSON may hold half a character."""
    if value is None:
        return True
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False
