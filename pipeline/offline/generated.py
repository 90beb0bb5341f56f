"""A made-up conference of any size: papers, notes, repositories, models, data sets and sites, drawn from a seed.

A third form of world folder, beside our own and the recorded one: it holds `generated.toml` alone. Everything else is
made when it is asked for, so that ten thousand papers cost little memory and nothing on disk. The shares of trouble
(dead links, renames, gates, placeholders, theory without code) are of the order seen in real conferences; no number
here is a measurement of one.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from functools import cached_property, lru_cache, partial
from pathlib import Path
from random import Random
from typing import Literal, TypeVar

from pydantic import Field, ValidationError

from pipeline.offline import generated_text as text
from pipeline.offline.content import Content, Held, Synthesised
from pipeline.offline.generated_draw import (
    MIRROR,
    ON_HUB,
    SHARED_REPOSITORIES,
    Drawn,
    arxiv_id_of,
    data_host,
    draw,
    hub_name,
    mirror_name,
    number_of,
    old_name,
    page_host,
)
from pipeline.offline.values import (
    AssetFacts,
    DefaultFacts,
    File,
    GithubFacts,
    HubFacts,
    HubRepository,
    Paper,
    PaperFacts,
    ReleaseFacts,
    Repository,
    RouteFacts,
    Site,
    SiteFacts,
    Told,
    World,
    WorldError,
    WorldFacts,
)

FILE = "generated.toml"
CACHED = 4096
"""Papers, repositories and the like that are kept once made."""
_T = TypeVar("_T")


class GeneratedFacts(Told):
    """`papers` of them, all drawn from `seed`."""

    name: str = "generated"
    as_of: date = date(2025, 12, 1)
    venue: str = "Generated.cc/2025/Conference"
    seed: str
    papers: int = Field(gt=0, le=500_000)


def is_generated(folder: Path) -> bool:
    return (folder / FILE).is_file()


def read_facts(folder: Path) -> GeneratedFacts:
    """What `folder` says of its conference. Raises `WorldError`."""
    path = folder / FILE
    try:
        return GeneratedFacts.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise WorldError(f"{path}: {error}") from error


def load_generated(folder: Path) -> World:
    """The conference that `folder` names. Raises `WorldError`."""
    return Conference(read_facts(folder), folder).world


def write_generated(folder: Path, papers: int, seed: str) -> Path:
    """Make the folder of a conference; returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(f'seed = "{seed}"\npapers = {papers}\n', encoding="utf-8")
    return folder


class Lazy(Mapping[str, _T]):
    """Known keys, values made on demand and remembered for a while. `make` is a function of the key alone."""

    def __init__(self, keys: Iterator[str], make: Callable[[str], _T]) -> None:
        self._keys = dict.fromkeys(keys)
        self._make = lru_cache(maxsize=CACHED)(make)

    def __getitem__(self, key: str) -> _T:
        if key not in self._keys:
            raise KeyError(key)
        return self._make(key)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


class Later(Mapping[str, Content]):
    """Files that are written when somebody looks at them."""

    def __init__(self, make: Callable[[], Mapping[str, Content]]) -> None:
        self._make = make

    @cached_property
    def _files(self) -> Mapping[str, Content]:
        return self._make()

    def __getitem__(self, key: str) -> Content:
        return self._files[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


class Conference:
    """The papers of a generated world, with what is true of them: for tests and benchmarks; no server tells it."""

    def __init__(self, told: GeneratedFacts, folder: Path) -> None:
        self.told = told
        self._folder = folder
        self.drawn = lru_cache(maxsize=told.papers)(partial(draw, told.seed))  # a list goes through all of them
        owners: dict[str, int] = {}
        hub: dict[str, int] = {}
        hosts: dict[str, int] = {}
        mirrors: list[int] = []
        for paper in map(partial(draw, told.seed), range(told.papers)):
            if paper.repository:
                owners[paper.repository.lower()] = paper.number
            if paper.code == "renamed":
                owners[old_name(paper.repository).lower()] = paper.number
            if paper.weights in ON_HUB:
                hub[f"models/{hub_name(paper)}"] = paper.number
            if paper.data in ON_HUB:
                hub[f"datasets/{hub_name(paper)}-data"] = paper.number
            if paper.page:
                hosts[page_host(paper)] = paper.number
            if paper.data == "dead":
                hosts[data_host(paper)] = paper.number
            if paper.code.startswith("mirror"):
                mirrors.append(paper.number)
        self._owners, self._hub, self._hosts, self._mirrors = owners, hub, hosts, mirrors
        self.world = World(
            folder=folder,
            facts=WorldFacts(name=told.name, as_of=told.as_of, venue=told.venue, description="generated"),
            papers=Lazy(map(arxiv_id_of, range(told.papers)), self._paper),
            repositories=Lazy(iter(sorted([*owners, *SHARED_REPOSITORIES])), self._repository),
            hub=Lazy(iter(sorted([*hub, *_SHARED_HUB, INDEX])), self._hub_repository),
            sites=Lazy(iter(sorted([*hosts, *_SHARED_SITES, MIRROR])), self._site),
            served=(folder / FILE,),
        )

    def truth(self, arxiv_id: str) -> Drawn:
        """What was drawn for a paper of this conference."""
        return self.drawn(number_of(arxiv_id))

    # -------------------------------------------------------------------------------------------------------- making

    def _index(self) -> bytes:
        """The list of accepted papers as a data set on the Hub, one row a paper."""
        rows = []
        for paper in map(self.drawn, range(self.told.papers)):
            url = f"https://openreview.net/forum?id={paper.forum_id}"
            title = paper.venue_title or paper.story.title
            rows.append({"title": title, "arxiv_id": paper.arxiv_id, "paper_url": url})
        return "".join(json.dumps(row) + "\n" for row in rows).encode()

    def _paper(self, arxiv_id: str) -> Paper:
        paper = self.truth(arxiv_id)
        story = paper.story
        posted = datetime(2025, 4, 1, 12, tzinfo=UTC) + timedelta(hours=paper.number % 1500)
        facts = PaperFacts(
            arxiv_id=arxiv_id,
            title=story.title,
            version=1 + paper.number % 3,
            authors=story.authors,
            abstract=text.abstract(story),
            published=posted,
            categories=(story.field.category, "stat.ML") if story.kind == "theory" else (story.field.category,),
            forum_id=paper.forum_id,
            pack=paper.pack,
            supplement={"": "none", "pdf": "pdf"}.get(paper.supplement, "zip"),  # type: ignore[arg-type]
            openreview_title=paper.venue_title,
        )
        source = Later(lambda: {path: Held(data) for path, data in text.source(story).items()})
        return Paper(facts, self._folder / "papers" / arxiv_id, source, Later(lambda: _supplement(paper)))

    def _repository(self, key: str) -> Repository:
        if key in SHARED_REPOSITORIES:
            owner, _, name = SHARED_REPOSITORIES[key].partition("/")
            shared = {"README.md": Held(f"# {name}\n".encode()), "setup.py": Held(b"import setuptools\n")}
            shared[f"{name.lower()}/model.py"] = Held(b"import torch\n\n\nclass Model(torch.nn.Module):\n    pass\n")
            return Repository(owner, name, GithubFacts(license="MIT"), _files(shared))
        paper = self.drawn(self._owners[key])
        owner, _, name = paper.repository.partition("/")
        if key != paper.repository.lower():
            return Repository(owner, name + "-code", GithubFacts(renamed_to=paper.repository), {})
        rng = Random(f"{self.told.seed}/repository/{paper.number}")
        assets = (AssetFacts(name="model.pt", size=rng.randint(20, 900) << 20),)
        deep = rng.random() < 0.04
        facts = GithubFacts(
            description=f"{paper.story.method}: official code",
            license=rng.choice(("MIT", "Apache-2.0", None)),
            stars=rng.randint(0, 400),
            archived=paper.code == "archived",
            fork_of=next(iter(SHARED_REPOSITORIES.values())) if paper.code == "fork" else None,
            empty=paper.code == "empty",
            missing=paper.code == "missing",
            truncated=deep,
            releases=(ReleaseFacts(tag="v1.0", assets=assets),) if paper.weights == "release" else (),
        )
        return Repository(owner, name, facts, _files(_tree(paper, rng, deep)))

    def _hub_repository(self, key: str) -> HubRepository:
        kind: Literal["models", "datasets"] = "models" if key.startswith("models/") else "datasets"
        name = key.partition("/")[2]
        if key == INDEX:
            return HubRepository(kind, name, HubFacts(license="mit"), {"train.jsonl": File(Held(self._index()))})
        if key in _SHARED_HUB:
            return HubRepository(
                kind, name, HubFacts(license="mit", downloads=90_000), _hub_files(kind, name, 40 << 20)
            )
        paper = self.drawn(self._hub[key])
        state = paper.weights if kind == "models" else paper.data
        facts = HubFacts(
            gated="auto" if state == "gated" else False,
            missing=state == "missing",
            license="apache-2.0",
            library_name="transformers" if kind == "models" else None,
            downloads=paper.number % 977,
        )
        return HubRepository(kind, name, facts, _hub_files(kind, name, 300 << 20))

    def _site(self, host: str) -> Site:
        if host == MIRROR:
            routes = tuple(route for number in self._mirrors for route in _mirror_routes(self.drawn(number)))
            return Site(host, SiteFacts(route=routes), self._folder)
        if host in _SHARED_SITES:
            body = f"<html><head><title>{host}</title></head><body><h1>Download</h1>The data set.</body></html>"
            return Site(
                host, SiteFacts(route=tuple(RouteFacts(path=p, body=body) for p in _SHARED_SITES[host])), self._folder
            )
        paper = self.drawn(self._hosts[host])
        if host == data_host(paper) or paper.page == "dead":
            return Site(host, SiteFacts(default=DefaultFacts(fault="nxdomain")), self._folder)
        title = f"<title>{paper.story.title}</title>"
        body = f"<html><head>{title}</head><body><h1>{paper.story.title}</h1><p>{paper.story.claim}.</p></body></html>"
        routes = () if paper.page == "lost" else (RouteFacts(path="/", body=body),)
        return Site(host, SiteFacts(route=routes), self._folder)


INDEX = "datasets/generated/accepted"
_SHARED_HUB = ("datasets/Salesforce/wikitext", "datasets/openai/gsm8k")
_SHARED_SITES = {
    "www.cs.toronto.edu": ("/~kriz/cifar.html",),
    "ogb.stanford.edu": ("/docs/nodeprop/",),
    "www.openslr.org": ("/12",),
}


def _mirror_routes(paper: Drawn) -> tuple[RouteFacts, ...]:
    name = mirror_name(paper)
    shell = RouteFacts(path=f"/r/{name}", body="<html><head><title>Anonymous GitHub</title></head><body></body></html>")
    if paper.code == "mirror_expired":
        gone = RouteFacts(path=f"/api/repo/{name}/options", status=410, body='{"error":"repository_expired"}')
        return (shell, gone)
    listed = json.dumps({name: {"size": 900, "sha": name[:2]} for name in ("README.md", "evaluate.py", "train.py")})
    options = RouteFacts(path=f"/api/repo/{name}/options", body='{"url":"https://anonymous.4open.science"}')
    return (shell, options, RouteFacts(path=f"/api/repo/{name}/files/", body=listed))


def _supplement(paper: Drawn) -> Mapping[str, Content]:
    if paper.supplement == "code":
        story = paper.story
        files = {"code/README.md": text.readme(story, "code"), "code/train.py": text.code(story, "train")}
        files["code/evaluate.py"] = text.code(story, "evaluate")
        return {path: Held(data) for path, data in sorted(files.items())}
    return {"appendix.txt": Held(f"Proofs and details of {paper.story.title}.\n".encode())}


def _tree(paper: Drawn, rng: Random, deep: bool) -> dict[str, Content]:
    if paper.code in {"empty", "missing"}:
        return {}
    if paper.code == "promised":
        return {"README.md": Held(text.readme(paper.story, "promised"))}
    files: dict[str, Content] = {"README.md": Held(text.readme(paper.story, "code"))}
    files |= {f"{name}.py": Held(text.code(paper.story, name)) for name in ("train", "evaluate")}
    files["requirements.txt"] = Held(b"torch>=2.4\nnumpy\n")
    files |= {f"configs/run{n}.yaml": Held(f"seed: {n}\nlr: 0.001\n".encode()) for n in range(rng.randint(1, 6))}
    many = 400 if deep else rng.randint(0, 30)
    named = (f"{paper.story.method.lower()}/part{n // 20}/module{n}.py" for n in range(many))
    return files | {path: Synthesised(f"{paper.repository}/{path}", 600 + rng.randrange(9000)) for path in named}


def _files(contents: Mapping[str, Content]) -> dict[str, File]:
    return {path: File(content) for path, content in sorted(contents.items())}


def _hub_files(kind: str, name: str, size: int) -> dict[str, File]:
    big = "model.safetensors" if kind == "models" else "data/train-00000-of-00001.parquet"
    files = {big: File(Synthesised(f"{name}/{big}", size), lfs=True)}
    files["README.md"] = File(Held(f"---\nlicense: apache-2.0\n---\n# {name}\n".encode()))
    if kind == "models":
        files["config.json"] = File(Held(b'{"architectures":["Model"],"hidden_size":768}\n'))
    return dict(sorted(files.items()))
