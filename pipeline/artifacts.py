"""Which places are a paper's own: from its links, from what those places say, and from the pages that lead to them.

A link names a subject; a sentence presents it as the authors' own or as somebody else's; a receipt may show that the
place names the paper back. No classifier decides ownership.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import SplitResult, unquote, urlsplit

from pipeline.evidence import Outcome, Receipt, lists
from pipeline.lookalikes import alike
from pipeline.paper import Link, Paper

CODE_HOSTS = ("github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "anonymous.4open.science")
ARTIFACT_HOSTS = (
    *CODE_HOSTS,
    "huggingface.co",
    "zenodo.org",
    "figshare.com",
    "osf.io",
    "kaggle.com",
    "drive.google.com",
    "dropbox.com",
    "onedrive.live.com",
    "dataverse.harvard.edu",
    "codalab.org",
    "modelscope.cn",
)
PAGE_HOSTS = ("github.io", "gitlab.io", "netlify.app", "vercel.app", "pages.dev", "readthedocs.io")
PAPER_HOSTS = (
    *("arxiv.org", "doi.org", "openreview.net", "aclanthology.org", "proceedings.mlr.press", "openaccess.thecvf.com"),
    *("neurips.cc", "nips.cc", "icml.cc", "iclr.cc", "ieee.org", "acm.org", "springer.com", "sciencedirect.com"),
    *("wikipedia.org", "creativecommons.org", "semanticscholar.org", "jmlr.org", "nature.com", "biorxiv.org"),
)
"""Places that hold papers and texts: a dead one leaves no artifact unseen."""

_OWN = re.compile(
    r"\b(our (?:code|implementation|model|models|weights|checkpoints?|data|dataset|repository|project|source|method)"
    r"|we (?:release|publish|provide|open-?source|make|share|host)"
    r"|code(?: and \w+)* (?:is|are|can be|at|for this|available)"
    r"|(?:source )?code\s*:|code available|code repository|project\s?page|project website"
    r"|available (?:at|from|on|here|under|in)"
    r"|released (?:at|under|on)|open-?sourced|reproduce our|supplementary code|implementation (?:is|can be|available)"
    r"|the code (?:on|in|from)|code (?:on|at) (?:github|gitlab|zenodo|hugging ?face)"
    r"|(?:code|implementation|(?:trained )?(?:models?|weights|checkpoints?|polic(?:y|ies))|software|demo)\s*:)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r";|https?://\S+|[.!?]\s+(?=[A-Z])")
_FOREIGN = re.compile(
    r"\b(baselines?|compared? (?:with|to|against)|(?:is|are|was|were) based on|buil(?:t|ds?|ding) (?:up)?on"
    r"|borrow(?:ed|s)?|adapted from|proposed (?:by|in)|original (?:code|implementation|repository|authors)"
    r"|their (?:code|implementation|official|repository)|et al|third[- ]party"
    r"|we (?:use|used|adopt|follow|employ) (?:the|their)|(?:start|starts|started|starting) from"
    r"|initiali[sz]ed (?:from|with|by)|(?:public|released|frozen|pre-?trained) (?:\w+ )?(?:backbone|base model)"
    r"|official (?:code|implementation|repository|checkpoints?) (?:of|from|for)|implementation (?:of|from|provided))\b",
    re.IGNORECASE,
)


_DEMO = re.compile(
    r"\b(?:live|online|interactive|web|video) demos?\b(?!.*\b(?:code|weights|checkpoints?|implementation)\b)",
    re.IGNORECASE,
)
"""A demo on a site of its own shows the work and holds none of it."""


def _path(url: str) -> str:
    return _split(url).path.strip("/")


def host(url: str) -> str:
    return (_split(url).hostname or "").removeprefix("www.")


def _split(url: str) -> SplitResult:
    """A URL's parts; nothing where it is none, since papers and READMEs may hold anything."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def on(url: str, hosts: Iterable[str]) -> bool:
    """Whether a URL lies on one of the hosts or below it."""
    name = host(url)
    return any(name == h or name.endswith("." + h) for h in hosts)


def subject(url: str) -> str:
    """The artifact a URL names: a repository or Hub entry whichever of its pages is linked, else the page itself."""
    parts = _split(url if "://" in url else f"https://{url}")
    if not parts.hostname:
        return f"url:{url}"
    path = [unquote(p) for p in parts.path.split("/") if p]
    name = (parts.hostname or "").removeprefix("www.")
    if name in ("github.com", "raw.githubusercontent.com", "codeload.github.com") and len(path) >= 2:
        return f"github:{path[0]}/{path[1].removesuffix('.git')}".lower()
    if name in ("huggingface.co", "hf.co") and len(path) >= 2:
        kinds = {"datasets": "dataset", "spaces": "space"}
        if path[0] in kinds and len(path) >= 3:
            return f"hf:{kinds[path[0]]}:{path[1]}/{path[2]}"
        if path[0] not in (*kinds, "papers", "docs", "collections", "blog", "join", "settings", "models"):
            return f"hf:model:{path[0]}/{path[1]}"
    query = f"?{parts.query}" if parts.query else ""
    return f"url:https://{(parts.hostname or '').lower()}{parts.path.rstrip('/')}{query}"


def url(subject_: str) -> str:
    """The address of a subject, for people and for the published links."""
    kind, _, rest = subject_.partition(":")
    if kind == "github":
        return f"https://github.com/{rest}"
    if kind == "hf":
        what, _, name = rest.partition(":")
        return f"https://huggingface.co/{ {'model': '', 'dataset': 'datasets/', 'space': 'spaces/'}[what] }{name}"
    return rest


def clause(link: Link) -> str:
    """The part of its sentence that speaks of this link: from the link or clause before it up to the link.

    "Code at A; the backbone we start from is at B" presents A as own and B as somebody else's.
    """
    shown = next((s for s in (link.url, link.raw, link.visible_text) if s and s in link.sentence), "")
    before, found, after = link.sentence.partition(shown) if shown else (link.sentence, "", "")
    if not found:
        return link.sentence
    start = max((m.end() for m in _CLAUSE.finditer(before)), default=0)
    # What follows counts only where nothing stands before: "URL holds our code". Words inside a URL say nothing.
    words = before[start:] if before[start:].strip(" (:") else _CLAUSE.split(after, maxsplit=1)[0]
    return words if "://" in found else words + found


_COMMON = frozenset(
    {
        "about",
        "after",
        "all",
        "and",
        "are",
        "based",
        "between",
        "beyond",
        "data",
        "deep",
        "for",
        "from",
        "image",
        "images",
    }
    | {
        "language",
        "large",
        "learning",
        "model",
        "models",
        "network",
        "networks",
        "neural",
        "new",
        "not",
        "only",
        "over",
    }
    | {"the", "their", "through", "toward", "towards", "training", "using", "via", "what", "when", "with", "without"}
)


def method_name(title: str) -> str:
    """The name before a title's colon in plain letters, where it is one word of four letters or more; else ""."""
    head, colon, _ = title.partition(":")
    return _squeezed(head) if colon and len(head.split()) == 1 and len(_squeezed(head)) >= 4 else ""


def telling_words(title: str) -> frozenset[str]:
    """Words of a title that tell papers apart: three letters or more, and none that every title has."""
    return frozenset(w for w in re.findall(r"[a-z0-9]+", title.casefold()) if len(w) >= 3 and w not in _COMMON)


def named_after(url: str, title: str) -> bool:
    """Whether a repository or Hub entry carries the name before the title's colon, as a whole word of four letters or
    more."""
    head, colon, _ = title.partition(":")
    name = _squeezed(head)
    if not colon or len(name) < 4 or not on(url, ARTIFACT_HOSTS):
        return False
    last = _path(url).removesuffix(".git").rpartition("/")[2]
    return name in {_squeezed(last), *(_squeezed(word) for word in re.split(r"[-_.]", last))}


def presented_as_own(link: Link, title: str = "") -> bool:
    """Whether the paper itself, where a reader sees it, presents this link as its authors' place.

    `title`: the paper's; a place named after it is its own unless the sentence says otherwise.
    """
    if not link.visible or link.place in ("bibliography", "comment", "unrendered") or on(link.url, PAPER_HOSTS):
        return False
    said = clause(link)
    said_own = bool(_OWN.search(f"{link.sentence} {link.visible_text}"))
    if link.place in ("title", "thanks"):
        # Under the title stand affiliations too: a bare home page there is an employer's.
        return said_own or on(link.url, ARTIFACT_HOSTS) or on(link.url, PAGE_HOSTS) or bool(_path(link.url))
    if _FOREIGN.search(said) or (_DEMO.search(said) and not on(link.url, (*ARTIFACT_HOSTS, *PAGE_HOSTS))):
        return False
    return link.place == "abstract" or said_own or named_after(link.url, title)


def linked(paper: Paper) -> tuple[str, ...]:
    """Subjects of all links that could lead to an artifact, in reading order: the bibliography only on artifact
    hosts."""
    wanted = (
        link.url
        for link in paper.links
        if not on(link.url, PAPER_HOSTS) and (link.place != "bibliography" or on(link.url, ARTIFACT_HOSTS))
    )
    return tuple(dict.fromkeys(subject(url) for url in wanted))


def _asked(receipt: Receipt) -> set[str]:
    """A receipt's subject, and what was asked for before a rename or a redirect."""
    names = {receipt.subject}
    asked = receipt.facts.get("asked")
    if asked:
        names.add(str(asked) if ":" in str(asked) else f"github:{asked}".lower())
    return names


def _squeezed(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def own(paper: Paper, receipts: Sequence[Receipt], has_supplement: bool) -> tuple[str, ...]:
    """Subjects that are the paper's own, in the order they were found.

    A place is own if the paper presents it so, if it names the paper back (title, arXiv id, authors), or if an own
    place leads to it and it carries the same name: an own page to its only repository, an own README to Hub entries of
    the same owner or name.
    """
    presented = dict.fromkeys(subject(link.url) for link in paper.links if presented_as_own(link, paper.title))
    found = dict(presented)
    foreign = {
        subject(link.url) for link in paper.links if link.visible and _FOREIGN.search(clause(link))
    } - found.keys()
    shown = {subject(link.url) for link in paper.links if link.visible} - foreign
    if has_supplement:
        found["supplement:"] = None
    for receipt in receipts:
        a_page = receipt.subject.startswith("url:")
        ours = not receipt.subject.startswith("search:") and not (a_page and on(url(receipt.subject), PAPER_HOSTS))
        how = set(receipt.facts.get("names_paper") or ())
        # Anybody's README may quote a title; its arXiv id, its authors, or its name beside the title are the authors'.
        meant = receipt.subject in shown or named_after(url(receipt.subject), paper.title)
        names_back = ours and (how & {"arxiv", "authors"} or (how and meant))
        names_back = names_back and not _looks_like(receipt.subject, presented)
        if names_back or _asked(receipt) & found.keys():
            found[receipt.subject] = None
    for receipt in receipts:
        if receipt.subject not in found or receipt.outcome is not Outcome.AVAILABLE:
            continue
        leads = [subject(url) for url in (*receipt.facts.get("readme_links", ()), *receipt.facts.get("links", ()))]
        repositories = list(dict.fromkeys(s for s in leads if s.startswith("github:")))
        if receipt.subject.startswith("url:") and len(repositories) == 1:
            found[repositories[0]] = None
        owner, _, name = receipt.subject.removeprefix("github:").partition("/")
        for lead in (s for s in leads if s.startswith("hf:") and s not in foreign):
            org, _, entry = lead.split(":", 2)[2].partition("/")
            ours = named_after(url(lead), paper.title)
            if receipt.subject.startswith("github:"):
                ours = ours or _squeezed(org) == _squeezed(owner) or _squeezed(name) in _squeezed(entry)
            if ours:
                found[lead] = None
    seen = {name for receipt in receipts for name in _asked(receipt)}
    # A place that only a README named and nobody probed is no claim of the paper's.
    return tuple(s for s in found if s in presented or s in seen or s == "supplement:")


def _looks_like(subject_: str, presented: Iterable[str]) -> bool:
    """Whether a place's owner only resembles one that the paper itself names: a stranger who copied name and text."""
    kind, owner = _owner(subject_)
    others = [other for k, other in map(_owner, presented) if k == kind and other]
    return bool(owner) and owner not in others and any(alike(owner, other) for other in others)


def _owner(subject_: str) -> tuple[str, str]:
    kind, _, rest = subject_.rpartition(":")
    return kind, rest.partition("/")[0].casefold() if kind != "url" and "/" in rest else ""


def resolved(subject_: str, receipts: Sequence[Receipt]) -> bool:
    """Whether some probe settled this subject, under its present or an earlier name."""
    return any(subject_ in _asked(r) and lists(r) and r.outcome is not Outcome.UNDETERMINED for r in receipts)


def current(subject_: str, receipts: Sequence[Receipt]) -> str:
    """The present name of a subject that was renamed, else itself."""
    return next((r.subject for r in receipts if subject_ in _asked(r) and r.subject != subject_), subject_)


def names(text: str, receipt: Receipt) -> bool:
    """Whether a receipt's subject carries the name of a data set, spelling aside."""
    wanted = _squeezed(text)
    if len(wanted) < 3:
        return False
    words = re.findall(r"[a-z0-9]+", receipt.subject.rpartition("/")[2].casefold())
    runs = {"".join(words[i:k]) for i in range(len(words)) for k in range(i + 1, len(words) + 1)}
    return wanted in runs
