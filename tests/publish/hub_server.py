"""A Hugging Face Hub for one machine: what huggingface_hub 2.4 and datasets 5.2 ask of a data set's repository.

Making it, preupload, Git LFS (batch, basic and multipart transfer, verify), commits as NDJSON, tags, refs, trees, files
behind a redirect to another place, facts. Everything is kept in memory; `requests` lists what was asked, `unknown` what
it had no answer to.
"""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

TOKEN = "hf_a_token_that_may_write"
LARGE = 100_000
"""Bytes from which on any file goes by LFS (10 MB on the real Hub); Parquet always does."""
PART = 100_000
"""Bytes of one part of a multipart upload; smaller objects are one PUT."""


def git_sha(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def pointer(data: bytes) -> bytes:
    oid = hashlib.sha256(data).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(data)}\n".encode()


@dataclass
class Commit:
    parent: str | None
    title: str
    files: dict[str, bytes]
    large: frozenset[str]


@dataclass
class Repo:
    """`objects`: what came by LFS, by SHA-256; `parts`: pieces of uploads that are not whole yet."""

    commits: dict[str, Commit] = field(default_factory=dict)
    main: str = ""
    tags: dict[str, str] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    parts: dict[tuple[str, int], bytes] = field(default_factory=dict)

    def add(self, title: str, files: dict[str, bytes], large: frozenset[str]) -> str:
        listed = [[path, hashlib.sha256(data).hexdigest()] for path, data in sorted(files.items())]
        id_ = hashlib.sha1(json.dumps([self.main, title, listed]).encode()).hexdigest()
        self.objects |= {hashlib.sha256(files[path]).hexdigest(): files[path] for path in large}
        self.commits[id_] = Commit(self.main or None, title, files, large)
        self.main = id_
        return id_

    def copy(self) -> Repo:
        """The same commits, and tags and a main of its own."""
        return Repo(dict(self.commits), self.main, dict(self.tags), dict(self.objects))

    def at(self, revision: str) -> str | None:
        named = {"main": self.main, "refs/heads/main": self.main, **self.tags}
        found = named.get(revision, revision)
        return found if found in self.commits else None

    def history(self) -> list[str]:
        ids, at = [], self.main or None
        while at:
            ids.append(at)
            at = self.commits[at].parent
        return ids


class HubServer:
    """`url` is its own address; a client that goes through a wire is answered with the wire's."""

    def __init__(self) -> None:
        self.repos: dict[str, Repo] = {}
        self.requests: list[str] = []
        self.unknown: list[str] = []
        app = Starlette(routes=[Route("/{path:path}", self._answer, methods=["GET", "HEAD", "POST", "PUT", "DELETE"])])
        listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        self._server = uvicorn.Server(
            uvicorn.Config(app, log_config=None, log_level="critical", lifespan="off", access_log=False)
        )
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listening]}, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.005)

    def close(self) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(5)

    def make(self, repo: str, **files: bytes) -> Repo:
        made = self.repos[repo] = Repo()
        made.add("initial commit", {".gitattributes": b"*.parquet filter=lfs diff=lfs merge=lfs -text\n"}, frozenset())
        if files:
            made.add("by hand", {**made.commits[made.main].files, **files}, frozenset())
        return made

    async def _answer(self, request: Request) -> Response:
        self.requests.append(f"{request.method} {request.url.path}")
        found = self._routed(request, await request.body())
        if found is None:
            self.unknown.append(f"{request.method} {request.url.path}")
            return _error(404, "NotFound", "no such thing on this Hub")
        return found

    def _routed(self, request: Request, body: bytes) -> Response | None:
        parts = request.path_params["path"].split("/")
        may_write = request.headers.get("authorization") == f"Bearer {TOKEN}"
        writes = request.method in ("POST", "PUT", "DELETE") and "paths-info" not in parts and parts[0] != "lfs"
        if writes and not may_write:
            return _error(401, None, "Invalid username or password.")
        match parts:
            case ["api", "agent-harnesses"]:
                return _error(404, "NotFound", "no such page")
            case ["api", "validate-yaml"]:
                return JSONResponse({"errors": [], "warnings": []})
            case ["api", "repos", "create"]:
                return self._create(json.loads(body))
            case ["lfs", *rest]:
                return self._object(request, rest, body)
            case ["api", "datasets", owner, name, *rest]:
                return self._about(f"{owner}/{name}", request, ["api", *rest], body)
            case ["datasets", owner, name, *rest]:
                return self._about(f"{owner}/{name.removesuffix('.git')}", request, rest, body)
        return None

    def _create(self, told: dict[str, Any]) -> Response:
        repo = f"{told['organization']}/{told['name']}"
        if repo in self.repos:
            return _error(409, None, "You already created this dataset repo")
        self.make(repo)
        return JSONResponse({"url": f"{self.url}/datasets/{repo}", "name": repo, "id": "0"})

    def _about(self, id_: str, request: Request, rest: list[str], body: bytes) -> Response | None:
        repo = self.repos.get(id_)
        if repo is None:
            return _error(401, "RepoNotFound", "Repository not found")
        match rest:
            case ["api"]:
                return JSONResponse(_facts(id_, repo, repo.main))
            case ["api", "refs"]:
                tags = [{"name": t, "ref": f"refs/tags/{t}", "targetCommit": c} for t, c in sorted(repo.tags.items())]
                main = {"name": "main", "ref": "refs/heads/main", "targetCommit": repo.main}
                return JSONResponse({"branches": [main], "converts": [], "tags": tags})
            case ["api", "tag", at]:
                return _tag(repo, repo.at(at), json.loads(body)["tag"]) if request.method == "POST" else None
            case ["api", "preupload", at]:
                return _preupload(repo, json.loads(body))
            case ["api", "commit", "main"]:
                return self._commit(id_, repo, body)
            case ["info", "lfs", "objects", "batch"]:
                return _batch(id_, repo, str(request.base_url), json.loads(body))
            case ["api", "auth-check"]:
                return JSONResponse({"ok": True})
        at = repo.at(rest[2] if rest[0] == "api" and len(rest) > 2 else rest[1] if len(rest) > 1 else "main")
        if at is None:
            return _error(404, "RevisionNotFound", "Invalid rev id")
        match rest:
            case ["api", "revision", _]:
                return JSONResponse(_facts(id_, repo, at))
            case ["api", "commits", _]:
                return JSONResponse([_commit_facts(made, repo.commits[made]) for made in repo.history()])
            case ["api", "tree", _, *path]:
                return _tree(repo.commits[at], "/".join(path), request.query_params.get("recursive") == "true")
            case ["api", "paths-info", _]:
                return _paths(repo.commits[at], request, body)
            case ["resolve", _, *path]:
                return _file(id_, repo, at, "/".join(path), str(request.base_url))
        return None

    def _commit(self, id_: str, repo: Repo, body: bytes) -> Response:
        """All of it or nothing: main moves once, at the end."""
        lines = [json.loads(line) for line in body.splitlines()]
        head = next(line["value"] for line in lines if line["key"] == "header")
        if head.get("parentCommit") not in (None, repo.main):
            return _error(412, None, "A commit has happened since. Please refresh and try again.")
        files = dict(repo.commits[repo.main].files)
        large = set(repo.commits[repo.main].large)
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
                large.discard(value["path"])
            elif line["key"] == "lfsFile":
                if value["oid"] not in repo.objects:
                    return _error(400, None, f"LFS object {value['oid']} is not there")
                files[value["path"]] = repo.objects[value["oid"]]
                large.add(value["path"])
            elif line["key"] == "deletedFile" and files.pop(value["path"], None) is None:
                return _error(404, "EntryNotFound", "A file with this name doesn't exist")
        made = repo.add(head["summary"], files, frozenset(large & files.keys()))
        url = f"{self.url}/datasets/{id_}/commit/{made}"
        return JSONResponse({"success": True, "commitUrl": url, "commitOid": made, "hookOutput": ""})

    def _object(self, request: Request, rest: list[str], body: bytes) -> Response | None:
        """The store behind LFS: an object or a part is there once all its bytes are."""
        repo = self.repos["/".join(rest[:2])]
        match request.method, rest[2:]:
            case "PUT", [oid]:
                if hashlib.sha256(body).hexdigest() != oid:
                    return _error(400, None, "these are not the bytes of that object")
                repo.objects[oid] = body
                return Response()
            case "PUT", [oid, number]:
                repo.parts[oid, int(number)] = body
                return Response(headers={"ETag": f'"{hashlib.md5(body).hexdigest()}"'})
            case "POST", [oid, "complete"]:
                told = json.loads(body)["parts"]
                whole = b"".join(repo.parts[oid, part["partNumber"]] for part in told)
                if hashlib.sha256(whole).hexdigest() != oid:
                    return _error(400, None, "these parts are not that object")
                repo.objects[oid] = whole
                return JSONResponse({})
            case "POST", [oid, "verify"]:
                return JSONResponse({}) if oid in repo.objects else _error(404, None, "Object not found")
            case (("GET" | "HEAD"), [oid]):
                return _ranged(request, repo.objects[oid])
        return None


def _error(status: int, code: str | None, message: str) -> Response:
    headers = {"X-Error-Message": message, **({"X-Error-Code": code} if code else {})}
    return JSONResponse({"error": message}, status, headers)


def _tag(repo: Repo, commit: str | None, name: str) -> Response:
    if commit is None:
        return _error(404, "RevisionNotFound", "Invalid rev id")
    if name in repo.tags:
        return _error(409, None, f"Tag {name} already exists")
    repo.tags[name] = commit
    return JSONResponse({})


def _preupload(repo: Repo, told: dict[str, Any]) -> Response:
    head = repo.commits[repo.main]
    files = []
    for file in told["files"]:
        path = file["path"]
        large = path.endswith(".parquet") or file["size"] > LARGE
        answer = {"path": path, "uploadMode": "lfs" if large else "regular", "shouldIgnore": False}
        if path in head.files:
            data = head.files[path]
            answer["oid"] = hashlib.sha256(data).hexdigest() if path in head.large else git_sha(data)
        files.append(answer)
    return JSONResponse({"files": files, "commitOid": repo.main})


def _batch(id_: str, repo: Repo, base: str, told: dict[str, Any]) -> Response:
    objects = []
    for one in told["objects"]:
        oid, size, href = one["oid"], one["size"], f"{base}lfs/{id_}/{one['oid']}"
        answer: dict[str, Any] = {"oid": oid, "size": size}
        if oid not in repo.objects:
            upload: dict[str, Any] = {"href": href}
            if size > PART:
                count = -(-size // PART)
                parts = {str(n): f"{href}/{n}" for n in range(1, count + 1)}
                upload = {"href": f"{href}/complete", "header": {"chunk_size": str(PART), **parts}}
            answer["actions"] = {"upload": upload, "verify": {"href": f"{href}/verify"}}
        objects.append(answer)
    return JSONResponse({"transfer": "basic", "objects": objects}, media_type="application/vnd.git-lfs+json")


def _entry(commit: Commit, path: str) -> dict[str, Any]:
    data = commit.files[path]
    entry: dict[str, Any] = {"type": "file", "path": path, "size": len(data), "oid": git_sha(data)}
    if path in commit.large:
        held = pointer(data)
        lfs = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": len(held)}
        entry |= {"oid": git_sha(held), "lfs": lfs}
    return entry


def _tree(commit: Commit, folder: str, recursive: bool) -> Response:
    prefix = f"{folder}/" if folder else ""
    below = sorted(path for path in commit.files if path.startswith(prefix))
    if folder and not below:
        return _error(404, "EntryNotFound", "Entry not found")
    folders = sorted({prefix + path[len(prefix) :].split("/")[0] for path in below if "/" in path[len(prefix) :]})
    files = [path for path in below if recursive or "/" not in path[len(prefix) :]]
    listed = [{"type": "directory", "path": path, "size": 0, "oid": git_sha(path.encode())} for path in folders]
    return JSONResponse([*listed, *(_entry(commit, path) for path in files)])


def _paths(commit: Commit, request: Request, body: bytes) -> Response:
    if request.headers.get("content-type", "").startswith("application/json"):
        asked = json.loads(body)["paths"]
    else:
        asked = parse_qs(body.decode()).get("paths", [])
    found = [_entry(commit, path) for path in asked if path in commit.files]
    folders = [path for path in asked if any(held.startswith(f"{path}/") for held in commit.files)]
    return JSONResponse([*found, *({"type": "directory", "path": p, "size": 0, "oid": "0" * 40} for p in folders)])


def _file(id_: str, repo: Repo, at: str, path: str, base: str) -> Response:
    """A large file lies on another host, to which a redirect leads: there no token is needed, and none must come."""
    commit = repo.commits[at]
    if path not in commit.files:
        return _error(404, "EntryNotFound", "Entry not found")
    data = commit.files[path]
    headers = {"X-Repo-Commit": at}
    if path not in commit.large:
        return Response(data, headers={**headers, "ETag": f'"{git_sha(data)}"'})
    oid = hashlib.sha256(data).hexdigest()
    elsewhere = base.replace("127.0.0.1", "localhost")
    headers |= {"X-Linked-ETag": f'"{oid}"', "X-Linked-Size": str(len(data)), "Location": f"{elsewhere}lfs/{id_}/{oid}"}
    return Response(status_code=302, headers=headers)


def _ranged(request: Request, data: bytes) -> Response:
    asked = request.headers.get("range", "")
    if not asked.startswith("bytes="):
        return Response(data, headers={"Accept-Ranges": "bytes"})
    first, _, last = asked.removeprefix("bytes=").partition("-")
    start, end = int(first), min(int(last or len(data) - 1), len(data) - 1)
    headers = {"Content-Range": f"bytes {start}-{end}/{len(data)}", "Accept-Ranges": "bytes"}
    return Response(data[start : end + 1], 206, headers)


def _facts(id_: str, repo: Repo, at: str) -> dict[str, Any]:
    return {
        "_id": "0" * 24,
        "id": id_,
        "author": id_.split("/")[0],
        "sha": at,
        "lastModified": "2026-01-01T00:00:00.000Z",
        "createdAt": "2026-01-01T00:00:00.000Z",
        "private": False,
        "gated": False,
        "disabled": False,
        "downloads": 0,
        "likes": 0,
        "tags": [],
        "siblings": [{"rfilename": path} for path in sorted(repo.commits[at].files)],
    }


def _commit_facts(id_: str, commit: Commit) -> dict[str, Any]:
    authors = [{"user": "maintainer"}]
    return {"id": id_, "title": commit.title, "message": "", "authors": authors, "date": "2026-01-01T00:00:00.000Z"}
