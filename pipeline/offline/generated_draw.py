"""What is drawn for each paper of a generated conference: its story, and the true state of all it links to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from pipeline.offline import generated_text as text
from pipeline.offline.content import stable_hex

SUPPLEMENTS = (1547, 3414)
"""Papers with a supplement among those of NeurIPS 2025 with an arXiv id."""
MIRROR = "anonymous.4open.science"
ON_HUB = frozenset({"open", "gated", "missing"})
SHARED_REPOSITORIES = {
    name.lower(): name
    for name in (
        *("huggingface/transformers", "facebookresearch/fairseq", "huggingface/trl", "pyg-team/pytorch_geometric"),
        *("Farama-Foundation/D4RL", "EleutherAI/lm-evaluation-harness", "open-mmlab/mmdetection"),
    )
}


@dataclass(frozen=True, slots=True)
class Drawn:
    """Paper number `number`: its story, and the true state of what it links to ("" where it links to none).

    `code`: code, promised, missing, renamed, empty, archived, fork, mirror, mirror_expired. `weights`, `data`: open,
    gated, missing, release; `data` also benchmark, dead. `page`: open, dead, lost. `supplement`: code, notes, pdf.
    """

    number: int
    arxiv_id: str
    forum_id: str
    story: text.Story
    venue_title: str | None
    pack: Literal["tar.gz", "gzip", "pdf"]
    supplement: str
    code: str
    repository: str
    weights: str
    data: str
    page: str

    @property
    def has_code(self) -> bool:
        """Whether a stranger can get its code."""
        return self.code in {"code", "renamed", "archived", "fork", "mirror"} or self.supplement == "code"

    @property
    def has_weights(self) -> bool:
        return self.weights in {"open", "release"}

    @property
    def has_data(self) -> bool:
        return self.data in {"open", "benchmark"}


def draw(seed: str, number: int) -> Drawn:
    rng = Random(f"{seed}/{number}")
    kind = _pick(rng, empirical=83, theory=12, dataset=5)
    field = rng.choice(text.FIELDS)
    method = text.method_of(rng)
    title = text.title_of(rng, field, method, kind)
    authors = text.people_of(rng)
    code, weights, data, page = _artifacts(rng, kind)
    least = min(field.low, field.high)
    span = field.high - field.low
    rivals = sorted(field.low + rng.random() * span * 0.8 for _ in field.rivals)
    lower = field.metric in text.LOWER_IS_BETTER
    gain = (0.02 + 0.05 * rng.random()) * span
    value = max(rivals[0] - gain, least * 0.5) if lower else rivals[-1] + gain
    supplement = ""
    if (number + 1) * SUPPLEMENTS[0] // SUPPLEMENTS[1] > number * SUPPLEMENTS[0] // SUPPLEMENTS[1]:
        supplement = _pick(rng, code=55, notes=20, pdf=25) if kind != "theory" else _pick(rng, notes=30, pdf=70)
    owner = authors[0].split()[-1].lower() + "-group"
    paper = Drawn(
        number=number,
        arxiv_id=arxiv_id_of(number),
        forum_id=stable_hex(seed, "forum", str(number))[:10],
        story=text.Story(
            kind=kind,
            method=method,
            title=title,
            authors=authors,
            field=field,
            value=round(value, 2),
            rivals=tuple(round(rival, 2) for rival in rivals),
            links=(),
            device=rng.choice(text.DEVICES),
            gpus=rng.choice((1, 1, 1, 2, 4, 8)),
            hours=None if rng.random() < 0.15 else rng.choice((0.5, 1.5, 3, 6, 9, 14, 20, 36)),
            promise=kind == "empirical" and not code and rng.random() < 0.3,
            seed=rng.randrange(1 << 30),
        ),
        venue_title=title.rpartition(" ")[0] + " Data" if rng.random() < 0.08 else None,
        pack="pdf" if rng.random() < 0.0012 else "gzip" if rng.random() < 0.05 else "tar.gz",
        supplement=supplement,
        code=code,
        repository=f"{owner}/{method.lower()}{number}" if code and not code.startswith("mirror") else "",
        weights=weights,
        data=data,
        page=page,
    )
    return _linked(paper, rng)


def _artifacts(rng: Random, kind: str) -> tuple[str, str, str, str]:
    """States of code, weights, data and project page."""
    if kind == "theory":
        return _pick(rng, none=95, code=5).replace("none", ""), "", "", ""
    states = {"code": 50, "promised": 4, "missing": 3, "renamed": 3, "empty": 2, "archived": 1, "fork": 2}
    code = _pick(rng, **states, mirror=5, mirror_expired=2, none=28).replace("none", "")
    weights = ""
    if code in {"code", "renamed", "archived"}:
        weights = _pick(rng, open=26, gated=4, missing=3, release=6, none=61).replace("none", "")
    data = _pick(rng, open=10, gated=3, missing=1, dead=2, benchmark=84)
    if kind == "dataset":
        data = _pick(rng, open=74, gated=16, missing=5, dead=5)
    return code, weights, data, _pick(rng, open=17, dead=2, lost=1, none=80).replace("none", "")


def _pick(rng: Random, **weights: int) -> str:
    return rng.choices(list(weights), list(weights.values()))[0]


def arxiv_id_of(number: int) -> str:
    return f"{2505 + number // 90_000}.{10_000 + number % 90_000:05d}"


def number_of(arxiv_id: str) -> int:
    month, _, serial = arxiv_id.partition(".")
    return (int(month) - 2505) * 90_000 + int(serial) - 10_000


def _linked(paper: Drawn, rng: Random) -> Drawn:
    """The paper with its links in place: they name what was drawn before."""
    links: list[tuple[str, str]] = []
    if paper.code.startswith("mirror"):
        links.append(("code", f"https://{MIRROR}/r/{mirror_name(paper)}"))
    elif paper.repository:
        shown = old_name(paper.repository) if paper.code == "renamed" else paper.repository
        links.append(("code", f"https://github.com/{shown}"))
    if paper.weights in ON_HUB:
        links.append(("weights", f"https://huggingface.co/{hub_name(paper)}"))
    elif paper.weights == "release":
        links.append(("weights", f"https://github.com/{paper.repository}/releases/tag/v1.0"))
    if paper.data in ON_HUB:
        links.append(("data", f"https://huggingface.co/datasets/{hub_name(paper)}-data"))
    elif paper.data == "dead":
        links.append(("data", f"https://{data_host(paper)}/download"))
    if paper.page:
        links.append(("page", f"https://{page_host(paper)}/"))
    if paper.story.kind == "empirical" and rng.random() < 0.35:
        links.append(("builds on", f"https://github.com/{rng.choice(list(SHARED_REPOSITORIES.values()))}"))
    return replace(paper, story=replace(paper.story, links=tuple(links)))


def old_name(repository: str) -> str:
    return f"{repository}-code"


def hub_name(paper: Drawn) -> str:
    return f"{paper.story.authors[0].split()[-1].lower()}-group/{paper.story.method.lower()}{paper.number}"


def page_host(paper: Drawn) -> str:
    return f"{paper.story.method.lower()}{paper.number}.github.io"


def data_host(paper: Drawn) -> str:
    return f"data.{paper.story.method.lower()}{paper.number}.example.org"


def mirror_name(paper: Drawn) -> str:
    return f"{paper.story.method}-{stable_hex('mirror', paper.arxiv_id)[:4].upper()}"
