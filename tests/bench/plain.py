"""A first build and the next day's, beside a plain script that asks one paper at a time and one REST call a fact:
`uv run python -m tests.bench.plain [--papers 120] [--token TEXT]`.

Both fetch the same made-up conference from offline services that keep the real ones' limits, each on a simulated clock
of its own, with the same GitHub token ("" for none) and as guests everywhere else. Both unpack and read papers with the
same reader and want the same places, so that asking alone differs. The plain script is what a careful person writes in
an afternoon: it sleeps three seconds before arXiv as its terms ask, sleeps as refusals tell it, tries again after
trouble, and believes the first 404. It keeps nothing, neither between papers nor between runs. Where it does less it is
left to: it paces nobody but arXiv, takes a cut tree as it comes, follows no submodule, and looks at one file of bytes a
place.

Processor seconds are those of the thread that asks; the services run in another. Ours also unpacks into a store, and
keeps a record and receipts. A day later it fetches again with everything on record, as if no stage knew that it is
done. Clocks know waits alone: bytes on the line and round trips come on top, for each request. `asked before`: GETs of
the same URL in the same run. Fails where the two say otherwise of a repository on GitHub.
"""

from __future__ import annotations

import base64
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import httpx2

from classifiers import linkcheck
from classifiers.toolbox import Desk, Limits, PaperInput, Seen
from pipeline import archives
from pipeline.evidence import Outcome, Receipt, canonical
from pipeline.offline.generated import INDEX
from pipeline.offline.limits import Seen as Request
from pipeline.offline.transports import WorldTransport
from pipeline.paper import NoPaper, read
from pipeline.sources import on_supplement
from pipeline.sources.outcomes import Finding
from pipeline.sources.reading import Entry, PaperFacts, about_files, is_data, is_weights, links_in
from tests.bench.rehearsal import Rehearsal, fetch_all, rehearsal
from tests.bench.telling import Row, options, tell

ATOM = "{http://www.w3.org/2005/Atom}"
HUB, GITHUB, OPENREVIEW = "https://huggingface.co", "https://api.github.com", "https://api2.openreview.net"
GONE = (404, 410, 451)
TRIES = 6
DAY = 86_400.0
SERVICES = {
    "arxiv": ("arxiv.org",),
    "openreview": ("openreview.net",),
    "github_api": ("api.github.com",),
    "hub": ("huggingface.co", "hf.co"),
}


# --------------------------------------------------------------------------------------------------------- the script


@dataclass
class Script:
    work: Rehearsal

    def __post_init__(self) -> None:
        self.client = httpx2.Client(transport=WorldTransport(self.work.served), follow_redirects=True)

    def get(self, url: str, first: int = 0, **params: Any) -> httpx2.Response | None:
        """An answer, after as many waits as it takes; None where the host is not there."""
        host, headers = urlsplit(url).hostname or "", {"range": f"bytes=0-{first - 1}"} if first else {}
        if host == "api.github.com" and self.work.tokens:
            headers["authorization"] = f"Bearer {self.work.tokens}"
        for tried in range(TRIES):
            if host.endswith("arxiv.org"):
                self.work.simulated.sleep(3)
            try:
                answer = self.client.get(url, params=params or None, headers=headers)
            except httpx2.TransportError:
                answer = None
            seconds = wait(answer, tried, self.work.simulated.now())
            if seconds is None:
                break
            self.work.simulated.sleep(seconds)
        return answer

    def json(self, url: str, **params: Any) -> Any:
        answer = self.get(url, **params)
        return answer.json() if answer is not None and answer.status_code == 200 else None

    def build(self) -> Iterator[Receipt]:
        """Every paper of the index in turn, and what its links lead to."""
        name = INDEX.removeprefix("datasets/")
        (path,) = [e["path"] for e in self.json(f"{HUB}/api/datasets/{name}/tree/main") if "train" in e["path"]]
        index = self.get(f"{HUB}/datasets/{name}/resolve/main/{path}")
        assert index is not None
        for row in map(json.loads, index.text.splitlines()):
            if row["arxiv_id"]:
                yield from self.paper(row["arxiv_id"], row["paper_url"].partition("id=")[2])

    def paper(self, arxiv_id: str, forum: str) -> Iterator[Receipt]:
        feed = self.get("https://export.arxiv.org/api/query", id_list=arxiv_id, max_results=1)
        entry = None if feed is None else ElementTree.fromstring(feed.text).find(f"{ATOM}entry")
        if entry is None or entry.findtext(f"{ATOM}published") is None:
            return
        version = str(entry.findtext(f"{ATOM}id")).rpartition("/")[2]
        source = self.get(f"https://arxiv.org/src/{version}")
        notes = self.json(f"{OPENREVIEW}/notes", id=forum)
        named = any("supplementary_material" in note["content"] for note in notes["notes"]) if notes else False
        there = self.get(f"{OPENREVIEW}/attachment", id=forum, name="supplementary_material") if named else None
        try:
            paper = read(unpacked(source, archives.SOURCE))
        except NoPaper:
            return
        files = unpacked(there, archives.SUPPLEMENT)
        facts = PaperFacts(title=paper.title, arxiv_id=arxiv_id, authors=())
        hands = Hands(self, arxiv_id, str(entry.findtext(f"{ATOM}published")), files, facts)
        listed = tuple((path, len(data)) for path, data in sorted(files.items()))
        desk = Desk(given=PaperInput(record=arxiv_id, bundle="", paper=paper, supplement=listed),
                    probes=hands, limits=Limits())  # type: ignore[arg-type]  # fmt: skip
        linkcheck.check(desk)
        yield from desk.receipts


@dataclass
class Hands:
    """The places of one paper, each looked at by as many calls as it has facts."""

    script: Script
    paper: str
    posted: str
    files: Mapping[str, bytes]
    facts: PaperFacts

    def github_repo(self, repo: str) -> Seen:
        base = f"{GITHUB}/repos/{repo}"
        answer = self.script.get(base)
        if answer is None or answer.status_code != 200:
            return self.said("github_repo", {"repo": repo}, found(answer, f"github:{repo}".lower()))
        told, json_ = answer.json(), self.script.json
        head = (json_(f"{base}/commits", per_page=1) or [{}])[0].get("sha", "HEAD")
        then = (json_(f"{base}/commits", per_page=1, until=self.posted) or [{}])[0].get("sha")
        tree = (json_(f"{base}/git/trees/{head}", recursive=1) or {}).get("tree", ())
        readme = json_(f"{base}/readme") or {}
        text = base64.b64decode(readme.get("content", "")).decode(errors="replace")
        releases = json_(f"{base}/releases", per_page=100) or []
        entries = [Entry(e["path"], e.get("size")) for e in tree if e["type"] == "blob"]
        facts = about_files(entries) | {"commit": head, "commit_at_posting": then, "readme_links": links_in(text)}
        facts["assets"] = [asset["name"] for release in releases for asset in release["assets"]]
        name = told["full_name"]
        facts["open"] = self.opened(f"https://raw.githubusercontent.com/{name}/{head}", entries)
        finding = Finding(outcome=Outcome.AVAILABLE, reason="there", subject=f"github:{name}".lower(), facts=facts)
        return self.said("github_repo", {"repo": repo}, finding)

    def hub_repo(self, repo: str, kind: str = "model") -> Seen:
        page = f"{HUB}/{'' if kind == 'model' else kind + 's/'}{repo}"
        answer = self.script.get(f"{HUB}/api/{kind}s/{repo}")
        finding = found(answer, f"hf:{kind}:{repo}")
        if answer is not None and finding.outcome is Outcome.AVAILABLE:
            told = answer.json()
            listed = self.script.json(f"{HUB}/api/{kind}s/{repo}/tree/main", recursive="true") or ()
            entries = [Entry(e["path"], e.get("size")) for e in listed if e["type"] == "file"]
            card = self.script.get(f"{page}/resolve/main/README.md")
            links = links_in(card.text) if card is not None and card.status_code == 200 else []
            open_ = self.opened(f"{page}/resolve/main", entries)
            finding = Finding(outcome=Outcome.GATED if told.get("gated") else Outcome.AVAILABLE, reason="there",
                              subject=finding.subject, facts={"readme_links": links, "open": open_})  # fmt: skip
        return self.said("hub_repo", {"repo": repo, "kind": kind}, finding)

    def fetch_url(self, url: str) -> Seen:
        return self.said("fetch_url", {"url": url}, found(self.script.get(url), f"url:{url}"))

    def supplement_file(self, path: str = "") -> Seen:
        return self.said("supplement_file", {"path": path}, on_supplement.read(self.files, path, self.facts))

    def opened(self, base: str, entries: Sequence[Entry]) -> bool | None:
        """Whether a stranger gets the largest file's bytes, of weights and data before others."""
        ranked = sorted(entries, key=lambda e: (is_weights(e.path) or is_data(e.path), e.size or 0))
        answer = self.script.get(f"{base}/{ranked[-1].path}", first=2048) if ranked else None
        return None if answer is None else answer.status_code in (200, 206)

    def said(self, tool: str, arguments: Mapping[str, str], finding: Finding) -> Seen:
        receipt = Receipt(paper=self.paper, tool=tool, arguments=arguments, exchanges=(), outcome=finding.outcome,
                          reason=finding.reason, subject=finding.subject, facts=finding.facts)  # fmt: skip
        return receipt, dict(finding.content)


def wait(answer: httpx2.Response | None, tried: int, now: datetime) -> float | None:
    """Seconds until it is asked again, as a refusal tells them, or else longer each time; None: that is the answer."""
    if answer is None:
        return None if tried else 3.0
    told, spent = answer.headers.get("retry-after"), answer.headers.get("x-ratelimit-remaining") == "0"
    if answer.status_code < 500 and answer.status_code != 429 and not (answer.status_code == 403 and (told or spent)):
        return None
    if told:
        return float(told)
    return float(answer.headers["x-ratelimit-reset"]) - now.timestamp() + 1 if spent else 3.0 * float(2**tried)


def found(answer: httpx2.Response | None, subject: str) -> Finding:
    status = answer.status_code if answer is not None else None
    outcome = Outcome.UNAVAILABLE if status is None or status in GONE else Outcome.UNDETERMINED
    outcome = Outcome.AVAILABLE if status == 200 else Outcome.GATED if status in (401, 403) else outcome
    return Finding(outcome=outcome, reason=str(status), subject=subject)


def unpacked(answer: httpx2.Response | None, limits: archives.Limits) -> Mapping[str, bytes]:
    if answer is not None and answer.status_code == 200:
        with suppress(archives.Refused):
            return archives.unpack(answer.content, limits).files
    return {}


# ------------------------------------------------------------------------------------------------------- side by side


def measured(case: str, who: str, work: Rehearsal, build: Callable[[Rehearsal], object]) -> Row:
    start, began, used = len(work.keeper.seen), work.simulated.now(), time.thread_time()
    build(work)
    used, log = time.thread_time() - used, work.keeper.seen[start:]
    to = Counter(service(seen) for seen in log)
    again = Counter((seen.host, seen.path) for seen in log if seen.method == "GET")
    return {
        "bench": "plain", "case": case, "who": who, "papers": work.edition.sample_limit,
        "requests": len(log), **{name: to[name] for name in (*SERVICES, "others")},
        "asked_before": again.total() - len(again), "refused": sum(bool(seen.limit) for seen in log),
        "hours": (work.simulated.now() - began).total_seconds() / 3600, "cpu_seconds": used,
    }  # fmt: skip


def service(seen: Request) -> str:
    return next((name for name, hosts in SERVICES.items() if seen.host.endswith(hosts)), "others")


def both(folder: Path, papers: int, token: str) -> tuple[list[Row], list[Receipt], list[Receipt]]:
    """Rows of both, and what each was told in its first build."""
    ours, plain = list[Receipt](), list[Receipt]()
    with rehearsal(folder / "ours", papers, token=token) as work:
        first = measured("first build", "ours", work, lambda work: ours.extend(fetch_all(work)["receipts"]))
        work.simulated.sleep(DAY)
        later = measured("a day later", "ours", work, fetch_all)
    with rehearsal(folder / "plain", papers, token=token) as work:
        theirs = measured("first build", "plain", work, lambda work: plain.extend(Script(work).build()))
        work.simulated.sleep(DAY)
        again = measured("a day later", "plain", work, lambda work: list(Script(work).build()))
    for row, base in ((theirs, first), (again, later)):
        for name in ("requests", "hours", "cpu_seconds"):
            # Beside two seconds of waiting, an hour is no ratio.
            row[f"{name}_to_ours_times"] = row[name] / base[name] if base[name] >= 0.01 else None
    return [first, theirs, later, again], ours, plain


def differences(ours: Sequence[Receipt], plain: Sequence[Receipt], tool: str) -> tuple[int, list[str]]:
    """How many places were looked at, and those of which the two say otherwise: there, gated or gone, and the commit of
    a repository. Our first build has seen a gone place only once."""

    def places(receipts: Sequence[Receipt]) -> dict[tuple[str, str], tuple[str, object]]:
        said = {}
        for one in (r for r in receipts if r.tool == tool):
            gone = one.outcome is Outcome.UNAVAILABLE or one.reason.startswith("gone")
            commit = one.facts.get("commit") if tool == "github_repo" and one.facts.get("files") else None
            said[one.paper, canonical(dict(one.arguments))] = ("gone" if gone else str(one.outcome), commit)
        return said

    one, two = places(ours), places(plain)
    every = sorted(one.keys() | two.keys())
    return len(every), [f"{k}: ours {one.get(k)}, plain {two.get(k)}" for k in every if one.get(k) != two.get(k)]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--papers", type=int, default=120)
    parser.add_argument("--token", default="a-token", help='GitHub\'s, of both; "" for none')
    given = parser.parse_args()
    papers = 30 if given.quick else given.papers
    with tempfile.TemporaryDirectory() as folder:
        both(Path(folder) / "warm", 3, given.token)  # nobody pays for imports
        rows, ours, plain = both(Path(folder), papers, given.token)
    for tool in ("github_repo", "hub_repo", "fetch_url"):
        count, odd = differences(ours, plain, tool)
        print(f"{tool}: the same of {count - len(odd)} of {count} places", *odd[:5], sep="\n  ")
        assert tool != "github_repo" or (count and not odd), "the two do not see the same repositories"
    tell(rows, given.out)


if __name__ == "__main__":
    main()
