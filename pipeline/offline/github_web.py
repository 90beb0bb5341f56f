"""GitHub outside its API: pages, raw files, LFS media, archives, release downloads."""

from collections.abc import Callable
from html import escape
from pathlib import PurePosixPath
from urllib.parse import quote

from pipeline.offline.content import (
    Content,
    Held,
    Synthesised,
    Unrecorded,
    media_type,
    packed_tar_gz,
    packed_zip,
)
from pipeline.offline.github import final_name, is_ref
from pipeline.offline.github_lfs import batch
from pipeline.offline.github_objects import served_content
from pipeline.offline.github_search import readme_text
from pipeline.offline.values import AssetFacts, Repository, World
from pipeline.offline.wire import UNREACHABLE, Answer, Call, Failures, Fault, as_html, moved

_PACK_LIMIT = 32 << 20
_PAGE_LIMIT = 1 << 20
_NOT_FOUND = as_html("Page not found · GitHub", "<p>This is not the web page you are looking for.</p>", 404)
_RAW_NOT_FOUND = Answer(404, Held(b"404: Not Found"), (("Content-Type", "text/plain; charset=utf-8"),))


def answer(world: World, call: Call, failures: Failures) -> Answer | Fault:
    segments = call.segments[1:] if call.host == "media.githubusercontent.com" else call.segments
    if len(segments) < 2:
        return UNREACHABLE
    owner, name, *rest = segments
    repository = world.repositories.get(f"{owner}/{name.removesuffix('.git')}".lower())
    if repository is None or not repository.recorded:
        return UNREACHABLE
    missing = _NOT_FOUND if call.host == "github.com" else _RAW_NOT_FOUND
    if repository.facts.missing or repository.facts.private:
        return missing
    if repository.facts.blocked:
        return as_html("Repository unavailable due to DMCA takedown", "<p>Unavailable due to DMCA takedown.</p>", 451)
    current = final_name(world, repository)
    if current is None:
        return UNREACHABLE
    if current is not repository and call.host == "github.com":
        return moved("/".join([f"https://github.com/{current.full_name}", *map(quote, rest)]), 301)
    if call.method == "POST" and call.host == "github.com" and rest == ["info", "lfs", "objects", "batch"]:
        return batch(current, call) if world.complete else UNREACHABLE
    return _HOSTS[call.host](world, current, rest)


def _page(world: World, repository: Repository, rest: list[str]) -> Answer | Fault:
    match rest:
        case []:
            return _front(repository)
        case ["tree", ref, *path]:
            return _folder(world, repository, ref, "/".join(path))
        case ["blob", ref, *path]:
            return _file(world, repository, ref, "/".join(path))
        case ["raw", ref, *path]:
            return moved(f"https://raw.githubusercontent.com/{repository.full_name}/{ref}/{quote('/'.join(path))}")
        case ["archive", *path] if path:
            kind = "tar.gz" if path[-1].endswith(".tar.gz") else "zip"
            ref = quote("/".join(path).removesuffix(f".{kind}"))
            return moved(f"https://codeload.github.com/{repository.full_name}/{kind}/{ref}")
        case ["releases", "download", tag, name]:
            if not world.complete:
                return UNREACHABLE
            if _asset(repository, tag, name) is None:
                return _NOT_FOUND
            return moved(
                f"https://release-assets.githubusercontent.com/{repository.full_name}/{quote(tag)}/{quote(name)}"
            )
        case ["releases", *_] if world.complete:
            items = "".join(f"<li>{escape(r.name or r.tag)}</li>" for r in repository.facts.releases)
            return as_html(f"Releases · {repository.full_name}", f"<ul>{items}</ul>")
    return UNREACHABLE


def _front(repository: Repository) -> Answer:
    told = repository.facts
    title = f"GitHub - {repository.full_name}" + (f": {told.description}" if told.description else "")
    if told.empty:
        return as_html(escape(title), "<p>This repository is empty.</p>")
    names = sorted({path.split("/")[0] for path in repository.files})
    links = "".join(f"<li>{escape(name)}</li>" for name in names)
    archived = "<p>This repository has been archived by the owner. It is now read-only.</p>" if told.archived else ""
    readme = f'<article class="markdown-body"><pre>{escape(readme_text(repository))}</pre></article>'
    return as_html(escape(title), f"{archived}<ul>{links}</ul>\n{readme}")


def _folder(world: World, repository: Repository, ref: str, folder: str) -> Answer | Fault:
    if not is_ref(repository, ref):
        return _NOT_FOUND if world.complete else UNREACHABLE
    prefix = f"{folder}/" if folder else ""
    names = sorted({path[len(prefix) :].split("/")[0] for path in repository.files if path.startswith(prefix)})
    if not names:
        return _NOT_FOUND
    return as_html(f"{repository.full_name}/{escape(folder)}", "".join(f"<li>{escape(name)}</li>" for name in names))


def _file(world: World, repository: Repository, ref: str, path: str) -> Answer | Fault:
    found = _content(world, repository, ref, path)
    if not isinstance(found, Held):
        return found if isinstance(found, Fault) else _NOT_FOUND
    text = found.data.decode("utf-8", "replace")
    return as_html(escape(f"{repository.full_name}/{path}"), f"<pre>{escape(text)}</pre>")


def _content(world: World, repository: Repository, ref: str, path: str) -> Content | Fault | None:
    """What a page shows of a file: its bytes up to a limit."""
    if not is_ref(repository, ref):
        return None if world.complete else UNREACHABLE
    file = repository.files.get(path)
    return None if file is None else Held(served_content(file).read(0, _PAGE_LIMIT))


def _raw(world: World, repository: Repository, rest: list[str]) -> Answer | Fault:
    return _bytes_of(world, repository, rest, media=False)


def _media(world: World, repository: Repository, rest: list[str]) -> Answer | Fault:
    return _bytes_of(world, repository, rest, media=True)


def _bytes_of(world: World, repository: Repository, rest: list[str], media: bool) -> Answer | Fault:
    if rest[:2] == ["refs", "heads"]:
        rest = rest[2:]
    ref, path = (rest[0], "/".join(rest[1:])) if rest else ("", "")
    if not is_ref(repository, ref):
        return _RAW_NOT_FOUND if world.complete else UNREACHABLE
    file = repository.files.get(path)
    if file is None:
        return _RAW_NOT_FOUND
    if media and file.lfs and file.media_status != 200:
        return Answer(file.media_status, Held(b"This repository is over its data quota.\n"), _plain("x.txt"))
    content = file.content if media else served_content(file)
    return Answer(200, content, _plain(path), ranges=True)


def _plain(path: str) -> tuple[tuple[str, str], ...]:
    """Raw hosts name text and octets only, so that nothing renders."""
    told = media_type(path)
    return (("Content-Type", "text/plain; charset=utf-8" if told.startswith(("text/", "application/json")) else told),)


def _archive(world: World, repository: Repository, rest: list[str]) -> Answer | Fault:
    kind, *parts = rest or [""]
    ref = "/".join(parts).removeprefix("refs/heads/").removeprefix("refs/tags/")
    if kind not in {"zip", "tar.gz"} or repository.facts.empty or (world.complete and not is_ref(repository, ref)):
        return _RAW_NOT_FOUND
    held = {path: served_content(file) for path, file in repository.files.items()}
    if any(isinstance(content, Unrecorded) for content in held.values()):
        return UNREACHABLE
    root, size = f"{repository.name}-{ref.replace('/', '-')}", sum(content.size for content in held.values())
    packed: Content
    if size > _PACK_LIMIT:
        packed = Synthesised(f"{repository.full_name}.{kind}", size)
    elif kind == "zip":
        packed = Held(packed_zip(held, prefix=f"{root}/"))
    else:
        packed = Held(packed_tar_gz({f"{root}/{path}": content for path, content in held.items()}))
    name = f"attachment; filename={root}.{kind}"
    return Answer(200, packed, (("Content-Type", media_type(f"x.{kind}")), ("Content-Disposition", name)))


def _download(world: World, repository: Repository, rest: list[str]) -> Answer | Fault:
    asset = _asset(repository, *rest) if len(rest) == 2 else None
    if asset is None:
        return _RAW_NOT_FOUND
    content = Synthesised(f"{repository.full_name}/{asset.name}", asset.size)
    name = ("Content-Disposition", f"attachment; filename={PurePosixPath(asset.name).name}")
    return Answer(200, content, (("Content-Type", "application/octet-stream"), name), ranges=True)


def _asset(repository: Repository, tag: str, name: str) -> AssetFacts | None:
    """The asset, where its upload came to an end."""
    release = next((release for release in repository.facts.releases if release.tag == tag and not release.draft), None)
    assets = release.assets if release else ()
    return next((asset for asset in assets if asset.name == name and asset.state == "uploaded"), None)


_HOSTS: dict[str, Callable[[World, Repository, list[str]], Answer | Fault]] = {
    "github.com": _page,
    "raw.githubusercontent.com": _raw,
    "codeload.github.com": _archive,
    "release-assets.githubusercontent.com": _download,
    "media.githubusercontent.com": _media,
}
HOSTS = frozenset(_HOSTS)
