"""The Hugging Face Hub: repository facts, trees, files and searches for models and data sets.

Form: huggingface.co/docs/hub/api and huggingface_hub 2.4. Errors always carry `X-Error-Code`, which that client reads.
A gated repository tells its facts and its listing; only its files are withheld.
"""

import json
from html import escape
from pathlib import PurePosixPath
from typing import Any, Literal
from urllib.parse import quote

from pipeline.offline.content import Content, Held, blob_sha, lfs_pointer, media_type, sha256, stable_hex
from pipeline.offline.github_objects import stamp
from pipeline.offline.values import FailFirst, File, HubRepository, World
from pipeline.offline.wire import UNREACHABLE, Answer, Call, Failures, Fault, as_html, as_json, moved

HOST, CDN_HOST = "huggingface.co", "cdn-lfs.hf.co"
HOSTS = frozenset({HOST, CDN_HOST})
_HUB = f"https://{HOST}"
_TREE_PAGE = 1000
Kind = Literal["models", "datasets"]


def answer(world: World, call: Call, failures: Failures) -> Answer | Fault:
    if call.host == CDN_HOST:
        return _stored_object(world, call.segments)
    match call.segments:
        case ["api", "agent-harnesses"]:
            return _error(404, "NotFound", "Sorry, we can't find the page you are looking for.")
        case ["api", ("models" | "datasets") as kind]:
            return _search(world, "models" if kind == "models" else "datasets", call)
        case ["api", ("models" | "datasets") as kind, owner, name, *rest]:
            return _about(world, f"{kind}/{owner}/{name}", ["api", *rest], call, failures)
        case ["api", "spaces", _, _, *_] | ["spaces", _, _, *_] if world.complete:
            return _error(404, "RepoNotFound", "Repository not found")
        case ["datasets", owner, name, *rest]:
            return _about(world, f"datasets/{owner}/{name}", rest, call, failures)
        case [owner, name, *rest] if owner not in {"api", "spaces"}:
            return _about(world, f"models/{owner}/{name}", rest, call, failures)
    return UNREACHABLE


def _about(world: World, key: str, rest: list[str], call: Call, failures: Failures) -> Answer | Fault:
    repository = world.hub.get(key)
    if repository is None:
        return UNREACHABLE
    told = repository.facts
    if due := failures.due(f"hub {key}", told.fail_first):
        return _refusal(due)
    is_page = rest[:1] in ([], ["tree"], ["blob"])
    if told.missing or told.private:
        if is_page:
            return as_html("404", "<p>Sorry, we can't find the page you are looking for.</p>", 404)
        return _error(404 if call.has_token else 401, "RepoNotFound", "Repository not found")
    if told.disabled:
        return _error(403, None, "Access to this resource is disabled.")
    match rest:
        case ["api"]:
            return _facts_answer(repository, call)
        case ["api", "revision", revision] if _is_revision(repository, revision):
            return _facts_answer(repository, call)
        case ["api", "revision", _]:
            return _no_revision()
        case ["api", "tree", revision, *path]:
            return _tree(repository, revision, "/".join(path), call)
        case ["api", "paths-info", revision]:
            return _paths_info(repository, revision, call)
        case ["api", "auth-check"]:
            return _gate(repository, call) or as_json({"ok": True})
        case [("resolve" | "raw") as how, revision, *path]:
            return _file(repository, how, revision, "/".join(path), call)
    return _page(repository) if is_page else UNREACHABLE


def _facts_answer(repository: HubRepository, call: Call) -> Answer:
    return as_json(_facts(repository, with_sizes=call.arg("blobs").lower() == "true", only=call.args("expand")))


def _facts(repository: HubRepository, with_sizes: bool = False, only: list[str] | None = None) -> dict[str, Any]:
    told, is_model = repository.facts, repository.kind == "models"
    card = {"license": told.license, "base_model": told.base_model, "library_name": told.library_name}
    tags = [*told.tags]
    tags += [f"license:{told.license}"] if told.license else []
    tags += [f"base_model:{told.base_model}"] if told.base_model else []
    facts: dict[str, Any] = {
        "_id": stable_hex(repository.kind, repository.id)[:24],
        "id": repository.id,
        "author": repository.id.split("/")[0],
        "sha": repository.sha,
        "private": False,
        "gated": told.gated,
        "disabled": told.disabled,
        "lastModified": stamp(told.last_modified).replace("Z", ".000Z"),
        "createdAt": stamp(told.created_at).replace("Z", ".000Z"),
        "downloads": told.downloads,
        "likes": told.likes,
        "tags": sorted(set(tags)),
        "cardData": {key: value for key, value in card.items() if value is not None},
        "siblings": [_sibling(path, file, with_sizes) for path, file in repository.files.items()],
        "usedStorage": sum(file.content.size for file in repository.files.values()),
    }
    if is_model:
        facts |= {"modelId": repository.id, "library_name": told.library_name, "pipeline_tag": told.pipeline_tag}
        if told.parameters is not None:
            facts["safetensors"] = {"parameters": {"F32": told.parameters}, "total": told.parameters}
    return {key: value for key, value in facts.items() if key in {"_id", "id", *only}} if only else facts


def _sibling(path: str, file: File, with_sizes: bool) -> dict[str, Any]:
    sibling: dict[str, Any] = {"rfilename": path}
    if with_sizes:
        sibling |= {"size": file.content.size, "blobId": blob_sha(_in_git(file))}
        if file.lfs:
            pointer = lfs_pointer(file.content)
            sibling["lfs"] = {"sha256": sha256(file.content), "size": file.content.size, "pointerSize": pointer.size}
    return sibling


def _in_git(file: File) -> Content:
    return lfs_pointer(file.content) if file.lfs else file.content


def _tree(repository: HubRepository, revision: str, folder: str, call: Call) -> Answer:
    if not _is_revision(repository, revision):
        return _no_revision()
    prefix = f"{folder.strip('/')}/" if folder.strip("/") else ""
    entries = [entry for entry in _entries(repository) if entry["path"].startswith(prefix)]
    if prefix and not entries:
        return _no_entry()
    if call.arg("recursive").lower() not in {"true", "1"}:
        entries = [entry for entry in entries if "/" not in entry["path"][len(prefix) :]]
    size = call.number("limit", _TREE_PAGE, _TREE_PAGE) or _TREE_PAGE
    after = call.arg("cursor")
    left = [entry for entry in entries if entry["path"] > after]
    if len(left) <= size:
        return as_json(left)
    following = call.with_query(cursor=left[size - 1]["path"])
    return as_json(left[:size], 200, ("Link", f'<{following}>; rel="next"'))


def _entries(repository: HubRepository) -> list[dict[str, Any]]:
    folders = {str(p) for path in repository.files for p in PurePosixPath(path).parents if str(p) != "."}
    entries: list[dict[str, Any]] = [
        {"type": "directory", "path": folder, "size": 0, "oid": stable_hex("tree", repository.id, folder)}
        for folder in folders
    ]
    for path, file in repository.files.items():
        entry = {"type": "file", "path": path, "size": file.content.size, "oid": blob_sha(_in_git(file))}
        if file.lfs:
            pointer = lfs_pointer(file.content)
            entry["lfs"] = {"oid": sha256(file.content), "size": file.content.size, "pointerSize": pointer.size}
        entries.append(entry)
    return sorted(entries, key=lambda entry: str(entry["path"]))


def _paths_info(repository: HubRepository, revision: str, call: Call) -> Answer:
    if not _is_revision(repository, revision):
        return _no_revision()
    asked = {path.strip("/") for key, path in call.form if key == "paths"}
    if call.headers.get("content-type", "").startswith("application/json"):
        told = json.loads(call.body)
        asked = {str(path).strip("/") for path in told.get("paths", [])}
    return as_json([entry for entry in _entries(repository) if entry["path"] in asked])


def _gate(repository: HubRepository, call: Call) -> Answer | None:
    """Why this caller may not read files; None if it may. No token of this world has been granted access."""
    if not repository.facts.gated:
        return None
    url = f"{_HUB}{'/datasets' if repository.kind == 'datasets' else ''}/{repository.id}"
    message = f"Access to {repository.kind[:-1]} {repository.id} is restricted. Visit {url} to ask for access."
    return _error(403 if call.has_token else 401, "GatedRepo", message)


def _file(repository: HubRepository, how: str, revision: str, path: str, call: Call) -> Answer:
    """`resolve` gives the file, over the CDN for LFS; `raw` gives what git holds."""
    if refused := _gate(repository, call):
        return refused
    if not _is_revision(repository, revision):
        return _no_revision()
    file = repository.files.get(path)
    commit = ("X-Repo-Commit", repository.sha)
    if file is None:
        return _no_entry().plus(commit)
    name = ("Content-Disposition", f'inline; filename="{PurePosixPath(path).name}"')
    if file.lfs and how == "resolve":
        oid = sha256(file.content)
        location = f"https://{CDN_HOST}/repos/{repository.kind}/{quote(repository.id)}/{oid}"
        linked = (("X-Linked-Size", str(file.content.size)), ("X-Linked-ETag", f'"{oid}"'))
        return moved(location, 302, commit, name, *linked)
    held = _in_git(file)
    kind, tag = ("Content-Type", _plain(path)), ("ETag", f'"{blob_sha(held)}"')
    return Answer(200, held, (kind, name, tag, commit), ranges=True)


def _plain(path: str) -> str:
    told = media_type(path)
    return "text/plain; charset=utf-8" if told.startswith(("text/", "application/json")) else told


def _stored_object(world: World, segments: list[str]) -> Answer | Fault:
    match segments:
        case ["repos", kind, owner, name, oid]:
            repository = world.hub.get(f"{kind}/{owner}/{name}")
            files = repository.files.values() if repository else ()
            content = next((file.content for file in files if file.lfs and sha256(file.content) == oid), None)
            if content is not None:
                headers = (("Content-Type", "application/octet-stream"), ("ETag", f'"{oid}"'))
                return Answer(200, content, headers, ranges=True)
    return Answer(403, Held(b"Access Denied"), (("Content-Type", "text/plain"),))


def _search(world: World, kind: Kind, call: Call) -> Answer:
    """As on the Hub, `search` is looked for in ids; `author` and `filter` (tags) narrow. Nothing found is complete."""
    words = call.arg("search").lower().split()
    found = []
    for key in sorted(world.hub):
        of_kind, owner, name = key.lower().split("/")
        fits = all(word in f"{owner}/{name}" for word in words) and call.arg("author").lower() in {"", owner}
        if of_kind != kind or not fits:
            continue
        repository = world.hub[key]
        tags = _facts(repository)["tags"]
        if repository.listed and all(tag in tags for tag in call.args("filter")):
            found.append(repository)
    size = call.number("limit", 1000, 1000) or 1000
    start = call.number("cursor", 0, 1 << 30)
    shown = [_facts(repository, only=call.args("expand")) for repository in found[start : start + size]]
    if not call.arg("full") and not call.args("expand"):
        shown = [{key: value for key, value in facts.items() if key not in {"siblings", "cardData"}} for facts in shown]
    if start + size >= len(found):
        return as_json(shown)
    return as_json(shown, 200, ("Link", f'<{call.with_query(cursor=str(start + size))}>; rel="next"'))


def _page(repository: HubRepository) -> Answer:
    told = repository.facts
    gate = "<p>You need to agree to share your contact information to access this repository.</p>" if told.gated else ""
    items = "".join(f"<li>{escape(path)}</li>" for path in repository.files)
    return as_html(f"{repository.id} · Hugging Face", f"<h1>{repository.id}</h1>\n{gate}<ul>{items}</ul>")


def _is_revision(repository: HubRepository, revision: str) -> bool:
    return revision in {"main", repository.sha, repository.sha[:7]}


def _no_revision() -> Answer:
    return _error(404, "RevisionNotFound", "Invalid rev id: not found")


def _no_entry() -> Answer:
    return _error(404, "EntryNotFound", "Entry not found")


def _refusal(told: FailFirst) -> Answer | Fault:
    if told.fault is not None:
        return Fault(told.fault)
    wait = (("Retry-After", str(told.retry_after)),) if told.retry_after is not None else ()
    return _error(told.status, None, "Too Many Requests" if told.status == 429 else "Internal Error").plus(*wait)


def _error(status: int, code: str | None, message: str) -> Answer:
    headers = ((("X-Error-Code", code),) if code else ()) + (("X-Error-Message", message),)
    return as_json({"error": message}, status, *headers)
