"""A world folder, loaded into frozen values.

Three formats, told apart by content: our own (`world.toml`), a folder of recorded real material (`papers/`, `repos/`;
see `recorded.py`), and a made-up conference (`generated.toml`; see `generated.py`). What a folder does not record is
unreachable, never absent.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import ValidationError

from pipeline.offline.content import Held, Synthesised
from pipeline.offline.generated import is_generated, load_generated, read_facts
from pipeline.offline.recorded import is_recorded, load_recorded
from pipeline.offline.values import (
    File,
    FileFacts,
    GithubFacts,
    HubFacts,
    HubRepository,
    Paper,
    PaperFacts,
    Repository,
    Site,
    SiteFacts,
    SubmoduleFacts,
    Told,
    World,
    WorldError,
    WorldFacts,
    contents_below,
    files_below,
    is_license,
)


def load_world(folder: Path) -> World:
    """The world in `folder`, whichever of the three formats it has. Raises `WorldError`."""
    folder = Path(folder)
    if (folder / "world.toml").is_file():
        return _load_own(folder)
    if is_generated(folder):
        return load_generated(folder)
    if is_recorded(folder):
        return load_recorded(folder)
    raise WorldError(f"{folder} is no world: it has neither world.toml nor papers/*/meta.json; name another folder")


def papers_of(folder: Path) -> int:
    """How many papers a folder holds, without loading them. Raises `WorldError`."""
    if is_generated(folder):
        return read_facts(folder).papers
    return sum(1 for entry in (folder / "papers").glob("*") if entry.is_dir())


def _load_own(folder: Path) -> World:
    papers = {paper.arxiv_id: paper for paper in _own_papers(folder)}
    repositories = {repo.full_name.lower(): repo for repo in _own_repositories(folder)}
    hub = {f"{repo.kind}/{repo.id}": repo for repo in _own_hub(folder)}
    sites = {site.host.lower(): site for site in _own_sites(folder)}
    served = tuple(path for path in files_below(folder) if _is_served(path.relative_to(folder)))
    return World(folder, _told(folder / "world.toml", WorldFacts), papers, repositories, hub, sites, served)


def _own_papers(folder: Path) -> Iterator[Paper]:
    for path in sorted(folder.glob("papers/*/paper.toml")):
        facts = _told(path, PaperFacts)
        if facts.arxiv_id != path.parent.name:
            raise WorldError(f"{path}: arxiv_id is {facts.arxiv_id}, the folder {path.parent.name}; make them equal")
        yield Paper(facts, path.parent, contents_below(path.parent / "src"), contents_below(path.parent / "supplement"))


def _own_repositories(folder: Path) -> Iterator[Repository]:
    for path in sorted(folder.glob("github/*/*/repo.toml")):
        facts, owner, name = _told(path, GithubFacts), path.parent.parent.name, path.parent.name
        files = _files_of(path.parent, facts.files, f"{owner}/{name}")
        if facts.license and not any(is_license(name) for name in files):
            files["LICENSE"] = File(Held(f"{facts.license}\n".encode()))
        if facts.submodules and ".gitmodules" not in files:
            files[".gitmodules"] = File(Held(_gitmodules(facts.submodules)))
        yield Repository(owner, name, facts, dict(sorted(files.items())))


def _own_hub(folder: Path) -> Iterator[HubRepository]:
    kinds: tuple[Literal["models", "datasets"], ...] = ("models", "datasets")
    for kind in kinds:
        for path in sorted(folder.glob(f"hf/{kind}/*/*/repo.toml")):
            facts, repo_id = _told(path, HubFacts), f"{path.parent.parent.name}/{path.parent.name}"
            files = _files_of(path.parent, facts.files, f"{kind}/{repo_id}")
            yield HubRepository(kind, repo_id, facts, dict(sorted(files.items())))


def _own_sites(folder: Path) -> Iterator[Site]:
    for path in sorted(folder.glob("sites/*/site.toml")):
        facts = _told(path, SiteFacts)
        for route in (*facts.route, facts.default):
            if route.file is not None and not (path.parent / route.file).is_file():
                raise WorldError(f"{path}: route {route.path} names {route.file}, which is not in {path.parent}")
        yield Site(path.parent.name, facts, path.parent)


def _files_of(folder: Path, told: tuple[FileFacts, ...], name: str) -> dict[str, File]:
    files = {path: File(content) for path, content in contents_below(folder / "files").items()}
    for entry in told:
        stored = files.get(entry.path)
        if stored is None and entry.size is None:
            raise WorldError(f"{folder / 'repo.toml'}: {entry.path} is not in files/ and has no size; give it one")
        content = stored.content if stored else Synthesised(f"{name}/{entry.path}", entry.size or 0)
        files[entry.path] = File(content, entry.lfs, entry.media_status)
    return files


def _gitmodules(submodules: tuple[SubmoduleFacts, ...]) -> bytes:
    return "".join(f'[submodule "{s.path}"]\n\tpath = {s.path}\n\turl = {s.url}\n' for s in submodules).encode()


def _is_served(relative: Path) -> bool:
    """What answers are made of. Sources and supplements have digests of their own; notes beside the world say
    nothing."""
    parts = relative.parts
    if parts == ("world.toml",):
        return True
    if len(parts) > 3 and parts[0] == "papers" and parts[2] in {"src", "supplement"}:
        return False
    return parts[0] in {"papers", "github", "hf", "sites"}


ToldT = TypeVar("ToldT", bound=Told)


def _told(path: Path, shape: type[ToldT]) -> ToldT:
    try:
        return shape.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise WorldError(f"{path}: not TOML: {error}") from error
    except ValidationError as error:
        causes = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise WorldError(f"{path}: {causes}") from error
