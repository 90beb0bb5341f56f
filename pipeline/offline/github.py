"""GitHub's REST API v3, as far as the ten probes and PyGithub use it, and the door to its GraphQL API.

Form of bodies and headers: docs.github.com/rest, and the replies PyGithub's own tests recorded. What a world does not
record, an endpoint this module does not speak included, is a fault: a 404 would be evidence.
"""

import hashlib
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from pipeline.offline.content import blob_sha, whole
from pipeline.offline.github_objects import (
    API,
    commit_body,
    contents_entry,
    folders,
    license_body,
    number_of,
    release_body,
    repository_body,
    served_content,
    stamp,
    tree_entries,
    tree_sha,
    wrapped_base64,
)
from pipeline.offline.github_search import search_code, search_repositories
from pipeline.offline.values import FailFirst, Repository, World, is_license, is_readme
from pipeline.offline.wire import UNREACHABLE, Answer, Call, Failures, Fault, as_json

_DOCS = "https://docs.github.com/rest"
_BLOB_LIMIT, _LISTING_LIMIT = 100 << 20, 1000
_LIMITS = {"core": (60, 5000), "search": (10, 30), "code_search": (10, 10), "graphql": (0, 5000)}
"""Requests an hour (searches: a minute), without and with a token."""


def answer(world: World, call: Call, failures: Failures) -> Answer | Fault:
    if call.segments == ["graphql"]:
        return _graphql(world, call, failures)
    if call.method not in {"GET", "HEAD"}:
        return UNREACHABLE
    match call.segments:
        case ["rate_limit"]:
            return _rate_limit(world, call)
        case ["search", "repositories"]:
            return _with_limits(world, call, "search", _searched(world, call, search_repositories))
        case ["search", "code"]:
            found = _searched(world, call, search_code) if call.has_token else _error(401, "Requires authentication")
            return _with_limits(world, call, "code_search", found)
        case ["repos", owner, name, *rest]:
            repository = world.repositories.get(f"{owner}/{name}".lower())
        case ["repositories", number, *rest]:
            repository = _by_number(world, number)
        case _:
            return UNREACHABLE
    if repository is None or not repository.recorded:
        return UNREACHABLE
    if told := failures.due(f"github {repository.full_name}", repository.facts.fail_first):
        return _refusal(world, call, told)
    reply = _about(world, repository, rest, call)
    return reply if isinstance(reply, Fault) else _with_limits(world, call, "core", reply)


def _graphql(world: World, call: Call, failures: Failures) -> Answer | Fault:
    if not call.has_token:
        return _error(401, "This endpoint requires you to be authenticated.")
    if call.method != "POST":
        return _error(404, "Not Found")
    from pipeline.offline.github_graphql import execute  # its library takes a while to load

    def failing(repository: Repository) -> FailFirst | None:
        return failures.due(f"github {repository.full_name}", repository.facts.fail_first)

    made = execute(world, call.body, failing)
    if not isinstance(made, tuple):
        return _refusal(world, call, made, "graphql")
    told, points = made
    return as_json(told).plus(*_budget(world, call, "graphql", _LIMITS["graphql"][1] - points))


def final_name(world: World, repository: Repository) -> Repository | None:
    """Where a chain of renames ends; None when it leads out of the world or round in a circle."""
    seen = set()
    while repository.facts.renamed_to is not None:
        seen.add(repository.full_name)
        following = world.repositories.get(repository.facts.renamed_to.lower())
        if following is None or following.full_name in seen:
            return None
        repository = following
    return repository


def _by_number(world: World, number: str) -> Repository | None:
    return next((repo for repo in world.repositories.values() if str(number_of(repo)) == number), None)


def _about(world: World, repository: Repository, rest: list[str], call: Call) -> Answer | Fault:
    told = repository.facts
    if told.missing or told.private:
        return _error(404, "Not Found")
    if told.renamed_to is not None:
        target = final_name(world, repository)
        if target is None:
            return UNREACHABLE
        query = f"?{call.raw_query}" if call.query else ""
        location = "/".join([f"{API}/repositories/{number_of(target)}", *map(quote, rest)]) + query
        body = {"message": "Moved Permanently", "url": location, "documentation_url": f"{_DOCS}/guides/best-practices"}
        return as_json(body, 301, ("Location", location))
    if told.blocked:
        notice = f"https://github.com/github/dmca/blob/master/2025/{repository.name}.md"
        block = {"reason": "dmca", "created_at": stamp(told.pushed_at), "html_url": notice}
        return as_json({"message": "Repository access blocked", "block": block}, 451)
    match rest:
        case []:
            return as_json(repository_body(world, repository, full=True))
        case ["git", "trees", *ref]:
            return _tree(world, repository, "/".join(ref), bool(call.arg("recursive")))
        case ["git", "blobs", sha]:
            return _blob(repository, sha)
        case ["contents", *path]:
            return _contents(world, repository, "/".join(path), call)
        case ["readme"]:
            readme = next((path for path in sorted(repository.files, key=_readme_order) if is_readme(path)), None)
            return _contents(world, repository, readme, call) if readme else _error(404, "Not Found")
        case ["license"]:
            return _license_file(world, repository, call)
        case ["branches", *name]:
            return _branch(world, repository, "/".join(name))
        case ["commits"]:
            return as_json([commit_body(repository)])
        case ["commits", ref]:
            return as_json(commit_body(repository)) if is_ref(repository, ref) else _no_ref(world, ref)
        case ["releases", *which] if world.complete:
            return _releases(repository, which, call)
    return UNREACHABLE


def _license_file(world: World, repository: Repository, call: Call) -> Answer | Fault:
    path = next(filter(is_license, sorted(repository.files)), None)
    if path is None:
        return _error(404, "Not Found")
    return as_json(contents_entry(repository, path, inline=True) | {"license": license_body(repository)})


def _readme_order(path: str) -> tuple[bool, str]:
    return (not path.lower().endswith(".md"), path)


def is_ref(repository: Repository, ref: str) -> bool:
    told = repository.facts
    names = {"HEAD", told.default_branch, f"heads/{told.default_branch}", repository.head}
    return ref in names | {release.tag for release in told.releases}


def _no_ref(world: World, ref: str) -> Answer | Fault:
    """A recorded repository was seen at one commit; what other branches hold is not known."""
    return _error(422 if len(ref) == 40 else 404, f"No commit found for SHA: {ref}") if world.complete else UNREACHABLE


def _branch(world: World, repository: Repository, name: str) -> Answer | Fault:
    if not name:
        branch = {"sha": repository.head, "url": f"{API}/repos/{repository.full_name}/commits/{repository.head}"}
        return as_json([{"name": repository.facts.default_branch, "commit": branch, "protected": False}])
    if name != repository.facts.default_branch:
        return _error(404, "Branch not found") if world.complete else UNREACHABLE
    return as_json({"name": name, "commit": commit_body(repository), "protected": False})


def _tree(world: World, repository: Repository, ref: str, recursive: bool) -> Answer | Fault:
    if repository.facts.empty:
        return _error(409, "Git Repository is empty.")
    by_sha = {tree_sha(repository, folder): folder for folder in folders(repository) | {""}}
    if ref in by_sha:
        root = by_sha[ref]
    elif is_ref(repository, ref):
        root = ""
    else:
        return _error(404, "Not Found") if world.complete else UNREACHABLE
    entries = tree_entries(repository, f"{root}/" if root else "")
    if not recursive:
        entries = [entry for entry in entries if "/" not in entry["path"]]
    truncated = recursive and repository.facts.truncated
    if truncated:
        entries = entries[: len(entries) // 2]
    sha = tree_sha(repository, root)
    url = f"{API}/repos/{repository.full_name}/git/trees/{sha}"
    return as_json({"sha": sha, "url": url, "tree": entries, "truncated": truncated})


def _blob(repository: Repository, sha: str) -> Answer:
    for file in repository.files.values():
        held = served_content(file)
        if blob_sha(held) == sha:
            url = f"{API}/repos/{repository.full_name}/git/blobs/{sha}"
            return as_json(
                {"sha": sha, "size": held.size, "url": url, "encoding": "base64", "content": wrapped_base64(held)}
            )
    return _error(404, "Not Found")


def _contents(world: World, repository: Repository, path: str, call: Call) -> Answer | Fault:
    path, ref = path.strip("/"), call.arg("ref")
    if repository.facts.empty:
        return _error(404, "This repository is empty.")
    if ref and not is_ref(repository, ref):
        return _no_ref(world, ref)
    if path in repository.files:
        if served_content(repository.files[path]).size > _BLOB_LIMIT:
            return _error(403, "This API returns blobs up to 100 MB in size.", [{"code": "too_large"}])
        if "raw" in call.headers.get("accept", ""):
            raw = ("Content-Type", "application/vnd.github.raw+json; charset=utf-8")
            return Answer(200, served_content(repository.files[path]), (raw,))
        return as_json(contents_entry(repository, path, inline=True))
    if path in {module.path for module in repository.facts.submodules}:
        return as_json(contents_entry(repository, path))
    if path and path not in folders(repository):
        return _error(404, "Not Found")
    prefix = f"{path}/" if path else ""
    names = [*repository.files, *folders(repository), *(module.path for module in repository.facts.submodules)]
    here = sorted(name for name in names if name.startswith(prefix) and "/" not in name[len(prefix) :])
    return as_json([contents_entry(repository, name) for name in here[:_LISTING_LIMIT]])


def _releases(repository: Repository, which: list[str], call: Call) -> Answer:
    public = [release_body(repository, release) for release in repository.facts.releases if not release.draft]
    found: dict[str, Any] | None
    match which:
        case []:
            return _page(call, public, repository, "releases")
        case ["latest"]:
            found = next((release for release in public if not release["prerelease"]), None)
        case ["tags", *tag]:
            found = next((release for release in public if release["tag_name"] == "/".join(tag)), None)
        case ["assets", number]:
            assets = [asset for release in public for asset in release["assets"]]
            found = next((asset for asset in assets if str(asset["id"]) == number), None)
        case [number, *rest]:
            found = next((release for release in public if str(release["id"]) == number), None)
            if found is not None and rest == ["assets"]:
                return _page(call, found["assets"], repository, f"releases/{number}/assets")
    return as_json(found) if found else _error(404, "Not Found")


def _page(call: Call, items: list[dict[str, Any]], repository: Repository, what: str) -> Answer:
    """One page and a `Link` to the next, which GitHub gives by the repository's number."""
    size, page = call.number("per_page", 30, 100) or 30, call.number("page", 1, 1 << 20) or 1
    shown = items[(page - 1) * size : page * size]
    if page * size >= len(items):
        return as_json(shown)
    following = f"{API}/repositories/{number_of(repository)}/{what}?per_page={size}&page={page + 1}"
    return as_json(shown, 200, ("Link", f'<{following}>; rel="next"'))


def _searched(world: World, call: Call, search: Any) -> Answer:
    query = call.arg("q")
    if not query.strip():
        return _error(422, "Validation Failed", [{"resource": "Search", "field": "q", "code": "missing"}])
    if len(query) > 256:
        too_long = {"message": "The search is longer than 256 characters.", "field": "q", "code": "invalid"}
        return _error(422, "Validation Failed", [too_long])
    found = search(world, query)
    size, page = call.number("per_page", 30, 100) or 30, call.number("page", 1, 1 << 20) or 1
    body = {"total_count": len(found), "incomplete_results": False, "items": found[(page - 1) * size : page * size]}
    if page * size >= len(found):
        return as_json(body)
    return as_json(body, 200, ("Link", f'<{call.with_query(page=str(page + 1))}>; rel="next"'))


def _error(status: int, message: str, errors: list[dict[str, str]] | None = None) -> Answer:
    body: dict[str, Any] = {"message": message} | ({"errors": errors} if errors else {})
    return as_json(body | {"documentation_url": _DOCS, "status": str(status)}, status)


def _refusal(world: World, call: Call, told: FailFirst, resource: str = "core") -> Answer | Fault:
    if told.fault is not None:
        return Fault(told.fault)
    wait = (("Retry-After", str(told.retry_after)),) if told.retry_after is not None else ()
    if told.status == 403:
        spent = _error(403, "API rate limit exceeded for 203.0.113.1.")
        if resource == "graphql":  # says so with status 200
            message = "API rate limit already exceeded for user ID 203."
            spent = as_json({"errors": [{"type": "RATE_LIMIT", "code": "graphql_rate_limit", "message": message}]})
        return spent.plus(*_budget(world, call, resource, 0), *wait)
    message = "You have exceeded a secondary rate limit." if told.status == 429 else "Server Error"
    return _error(told.status, message).plus(*_budget(world, call, resource), *wait)


def _budget(world: World, call: Call, resource: str, left: int | None = None) -> tuple[tuple[str, str], ...]:
    """As if this were the caller's first request of the hour: no count depends on what ran before."""
    limit = _LIMITS[resource][call.has_token]
    remaining = limit - 1 if left is None else left
    return (
        ("X-RateLimit-Limit", str(limit)),
        ("X-RateLimit-Remaining", str(remaining)),
        ("X-RateLimit-Used", str(limit - remaining)),
        ("X-RateLimit-Reset", str(_reset(world))),
        ("X-RateLimit-Resource", resource),
        ("X-GitHub-Media-Type", "github.v3; format=json"),
    )


def _reset(world: World) -> int:
    day = world.facts.as_of
    return int(datetime(day.year, day.month, day.day, 1, tzinfo=UTC).timestamp())


def _with_limits(world: World, call: Call, resource: str, reply: Answer) -> Answer:
    reply = reply.plus(*_budget(world, call, resource))
    if reply.status != 200:
        return reply
    return reply.plus(("ETag", f'W/"{hashlib.sha256(whole(reply.content)).hexdigest()}"'))


def _rate_limit(world: World, call: Call) -> Answer:
    def budget(resource: str) -> dict[str, int]:
        limit = _LIMITS[resource][call.has_token]
        return {"limit": limit, "remaining": limit, "reset": _reset(world), "used": 0}

    return as_json({"resources": {name: budget(name) for name in _LIMITS}, "rate": budget("core")})
