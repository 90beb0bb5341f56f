"""GitHub's GraphQL API, as far as a repository's overview goes: the schema's own names and types, over the same
records as the REST API.

Limits and their errors: docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api. Errors are
an answer of status 200: a missing repository is `NOT_FOUND` at the path of its field, beside the data of the others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import PurePosixPath
from typing import Any

import graphql
from graphql.language import FieldNode, IntValueNode, SelectionSetNode, VariableNode

from pipeline.offline.content import Content, NotRecordedError, blob_sha, stable_hex, whole
from pipeline.offline.github import final_name, is_ref
from pipeline.offline.github_objects import folders, license_body, served_content, stamp, tree_sha
from pipeline.offline.values import FailFirst, ReleaseFacts, Repository, World

_SCHEMA = """
scalar DateTime
scalar GitTimestamp
scalar GitObjectID
scalar URI
enum ReleaseOrderField { CREATED_AT NAME }
enum OrderDirection { ASC DESC }
input ReleaseOrder { field: ReleaseOrderField!, direction: OrderDirection! }
type Query {
  repository(owner: String!, name: String!, followRenames: Boolean = true): Repository
  rateLimit(dryRun: Boolean = false): RateLimit
}
type RateLimit { limit: Int! cost: Int! remaining: Int! used: Int! nodeCount: Int! resetAt: DateTime! }
type Repository {
  nameWithOwner: String! name: String! description: String homepageUrl: URI url: URI!
  isArchived: Boolean! isDisabled: Boolean! isEmpty: Boolean! isFork: Boolean! isPrivate: Boolean!
  diskUsage: Int stargazerCount: Int! createdAt: DateTime! pushedAt: DateTime
  parent: Repository licenseInfo: License defaultBranchRef: Ref
  object(expression: String, oid: GitObjectID): GitObject
  releases(first: Int, after: String, last: Int, before: String, orderBy: ReleaseOrder): ReleaseConnection!
}
type License { key: String! name: String! spdxId: String }
type Ref { name: String! prefix: String! target: GitObject }
interface GitObject { oid: GitObjectID! }
type Commit implements GitObject {
  oid: GitObjectID! committedDate: DateTime! tree: Tree! file(path: String!): TreeEntry
  history(first: Int, after: String, last: Int, before: String, since: GitTimestamp, until: GitTimestamp, path: String)
    : CommitHistoryConnection!
}
type CommitHistoryConnection { totalCount: Int! nodes: [Commit] }
type Tree implements GitObject { oid: GitObjectID! entries: [TreeEntry!] }
type Blob implements GitObject {
  oid: GitObjectID! byteSize: Int! isBinary: Boolean isTruncated: Boolean! text: String
}
type TreeEntry {
  name: String! path: String type: String! mode: Int! size: Int! oid: GitObjectID! object: GitObject
  submodule: Submodule
}
type Submodule { name: String! path: String! gitUrl: URI! subprojectCommitOid: GitObjectID }
type ReleaseConnection { totalCount: Int! nodes: [Release] }
type Release {
  tagName: String! name: String description: String isDraft: Boolean! isPrerelease: Boolean!
  publishedAt: DateTime createdAt: DateTime! url: URI!
  releaseAssets(first: Int, after: String, last: Int, before: String, name: String): ReleaseAssetConnection!
}
type ReleaseAssetConnection { totalCount: Int! nodes: [ReleaseAsset] }
type ReleaseAsset { name: String! size: Int! contentType: String! downloadUrl: URI! }
"""
NODES = 500_000
"""Nodes one call may ask for."""
_TEXT_LIMIT = 512_000
"""Bytes of a blob's `text`; longer ones are cut and say so."""
Failing = Callable[[Repository], FailFirst | None]


class _Trouble(Exception):
    """The whole answer fails, whichever other repositories it is about."""

    def __init__(self, told: FailFirst) -> None:
        super().__init__(told)
        self.told = told


@cache
def _schema() -> graphql.GraphQLSchema:
    schema = graphql.build_schema(_SCHEMA)
    for name in ("Commit", "Tree", "Blob"):
        found = schema.type_map[name]
        assert isinstance(found, graphql.GraphQLObjectType)
        found.is_type_of = lambda value, _info, name=name: value["__typename"] == name
    return schema


def execute(world: World, body: bytes, failing: Failing) -> tuple[dict[str, Any], int] | FailFirst:
    """The answer's JSON and its points, or how the call fails as a whole."""
    try:
        asked = json.loads(body)
        query, variables = asked["query"], asked.get("variables") or {}
        document = graphql.parse(query)
    except graphql.GraphQLError as error:
        return {"errors": [_formatted(error)]}, 1
    except (ValueError, KeyError, TypeError):
        return {"errors": [{"message": "A query attribute must be specified and must be a string."}]}, 1
    if problems := graphql.validate(_schema(), document):
        return {"errors": [_formatted(error) for error in problems]}, 1
    nodes, requests = _size(document, variables)
    if nodes > NODES:
        message = f"This query requests up to {nodes:,} possible nodes which exceeds the maximum limit of {NODES:,}."
        return {"errors": [{"type": "MAX_NODE_LIMIT_EXCEEDED", "message": message}]}, 1
    root = {
        "repository": lambda info, owner, name, **_: _repository(world, failing, owner, name),
        "rateLimit": lambda info, **_: _rate(world, nodes, requests),
    }
    made = graphql.execute(_schema(), document, root, variable_values=variables)
    assert isinstance(made, graphql.ExecutionResult)
    for failed in made.errors or ():
        if isinstance(failed.original_error, _Trouble):
            return failed.original_error.told
    told: dict[str, Any] = {"data": made.data}
    if made.errors:
        told["errors"] = [_formatted(failed) for failed in made.errors]
    return told, _points(requests)


def _points(requests: int) -> int:
    """Requests that fulfil the connections, a hundred a point; every call costs one."""
    return max(1, round(requests / 100))


def _rate(world: World, nodes: int, requests: int) -> dict[str, Any]:
    day, cost = world.facts.as_of, _points(requests)
    reset = datetime(day.year, day.month, day.day, 1, tzinfo=UTC)
    left = 5000 - cost
    return {"limit": 5000, "cost": cost, "remaining": left, "used": cost, "nodeCount": nodes, "resetAt": stamp(reset)}


def _size(document: graphql.DocumentNode, variables: dict[str, Any]) -> tuple[int, int]:
    """Nodes and requests that a call's connections may need: each level times the page sizes above it."""
    fragments = {d.name.value: d for d in document.definitions if isinstance(d, graphql.FragmentDefinitionNode)}

    def below(selected: SelectionSetNode | None, times: int) -> Iterator[tuple[int, int]]:
        for one in selected.selections if selected else ():
            if isinstance(one, graphql.FragmentSpreadNode):
                yield from below(fragments[one.name.value].selection_set, times)
            elif isinstance(one, graphql.InlineFragmentNode):
                yield from below(one.selection_set, times)
            elif isinstance(one, FieldNode):
                page = _page_size(one, variables)
                if page is not None:
                    yield times * page, times
                yield from below(one.selection_set, times * (page or 1))

    operations = (d for d in document.definitions if isinstance(d, graphql.OperationDefinitionNode))
    counted = [pair for operation in operations for pair in below(operation.selection_set, 1)]
    return sum(nodes for nodes, _ in counted), sum(requests for _, requests in counted)


def _page_size(field: FieldNode, variables: dict[str, Any]) -> int | None:
    for argument in field.arguments:
        if argument.name.value in ("first", "last"):
            if isinstance(argument.value, IntValueNode):
                return int(argument.value.value)
            if isinstance(argument.value, VariableNode):
                return int(variables.get(argument.value.name.value) or 0)
    return None


def _formatted(error: graphql.GraphQLError) -> dict[str, Any]:
    told: dict[str, Any] = {"type": error.extensions["type"]} if error.extensions else {}
    if error.path:
        told["path"] = error.path
    if error.locations:
        told["locations"] = [{"line": at.line, "column": at.column} for at in error.locations]
    return told | {"message": error.message}


def _error(message: str, kind: str | None = None) -> graphql.GraphQLError:
    return graphql.GraphQLError(message, extensions={"type": kind} if kind else None)


def _wrong() -> graphql.GraphQLError:
    """What GitHub says when one part of a call could not be made; it is no word about the repository."""
    return _error("Something went wrong while executing your query. Please include `F00D` when reporting this issue.")


# Objects. A field with arguments is a function of them; everything else is the value.


def _repository(world: World, failing: Failing, owner: str, name: str) -> dict[str, Any]:
    repository = world.repositories.get(f"{owner}/{name}".lower())
    if repository is None or not repository.recorded or not world.complete:
        raise _wrong()
    if told := failing(repository):
        raise _Trouble(told)
    if repository.facts.missing or repository.facts.private:
        raise _error(f"Could not resolve to a Repository with the name '{owner}/{name}'.", "NOT_FOUND")
    if repository.facts.blocked:
        raise _error("Repository access blocked", "FORBIDDEN")
    final = final_name(world, repository)
    if final is None:
        raise _wrong()
    return _overview(world, final)


def _overview(world: World, repository: Repository) -> dict[str, Any]:
    told = repository.facts
    parent = world.repositories.get((told.fork_of or "").lower())
    license_ = license_body(repository)
    return {
        "nameWithOwner": repository.full_name,
        "name": repository.name,
        "description": told.description,
        "homepageUrl": told.homepage,
        "url": f"https://github.com/{repository.full_name}",
        "isArchived": told.archived,
        "isDisabled": told.disabled,
        "isEmpty": told.empty,
        "isFork": told.fork_of is not None,
        "isPrivate": False,
        "diskUsage": sum(file.content.size for file in repository.files.values()) // 1024,
        "stargazerCount": told.stars or 0,
        "createdAt": stamp(told.created_at),
        "pushedAt": stamp(told.pushed_at),
        "parent": (lambda info: _overview(world, parent)) if parent is not None and parent.listed else None,
        "licenseInfo": license_ and {"key": license_["key"], "name": license_["name"], "spdxId": license_["spdx_id"]},
        "defaultBranchRef": None if told.empty else _branch(repository),
        "object": lambda info, **asked: _object(repository, **asked),
        "releases": lambda info, **page: _connection(
            info, [_release(repository, release) for release in told.releases if not release.draft], page
        ),
    }


def _branch(repository: Repository) -> dict[str, Any]:
    commit = _commit(repository, repository.head, repository.facts.pushed_at)
    return {"name": repository.facts.default_branch, "prefix": "refs/heads/", "target": commit}


def _commit(repository: Repository, oid: str, at: datetime) -> dict[str, Any]:
    return {
        "__typename": "Commit",
        "oid": oid,
        "committedDate": stamp(at),
        "tree": {
            "__typename": "Tree",
            "oid": tree_sha(repository, ""),
            "entries": lambda info: _entries(repository, ""),
        },
        "file": lambda info, path: _entry(repository, path),
        "history": lambda info, since=None, until=None, path=None, **page: _connection(
            info, _history(repository, since, until), page
        ),
    }


def _history(repository: Repository, since: str | None, until: str | None) -> list[dict[str, Any]]:
    """Newest first. A repository has the commits that its record names, and at least its first and its last."""
    told = repository.facts
    first = stable_hex("commit", repository.full_name, "first")
    known = {(told.pushed_at, repository.head), (told.created_at, first), *((c.at, c.sha) for c in told.commits)}
    kept = [
        (at, sha)
        for at, sha in sorted(known, reverse=True)
        if at <= told.pushed_at and (until is None or at <= _time(until)) and (since is None or at >= _time(since))
    ]
    return [_commit(repository, sha, at) for at, sha in kept]


def _time(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _entries(repository: Repository, folder: str) -> list[dict[str, Any]]:
    prefix = f"{folder}/" if folder else ""
    modules = (module.path for module in repository.facts.submodules)
    below = (path[len(prefix) :] for path in (*repository.files, *modules) if path.startswith(prefix))
    found = (_entry(repository, prefix + name) for name in sorted({path.split("/")[0] for path in below}))
    return [entry for entry in found if entry is not None]


def _entry(repository: Repository, path: str) -> dict[str, Any] | None:
    named = {"name": PurePosixPath(path).name, "path": path, "submodule": None}
    file = repository.files.get(path)
    module = next((module for module in repository.facts.submodules if module.path == path), None)
    if file is not None:
        held = _blob(served_content(file))
        return named | {"type": "blob", "mode": 0o100644, "size": held["byteSize"], "oid": held["oid"], "object": held}
    if module is not None:
        sha = module.sha
        told = {"name": path, "path": path, "gitUrl": module.url or "", "subprojectCommitOid": sha}
        return named | {"type": "commit", "mode": 0o160000, "size": 0, "oid": sha, "object": None, "submodule": told}
    if path not in folders(repository):
        return None
    tree = {
        "__typename": "Tree",
        "oid": tree_sha(repository, path),
        "entries": lambda info: _entries(repository, path),
    }
    return named | {"type": "tree", "mode": 0o040000, "size": 0, "oid": tree["oid"], "object": tree}


def _object(repository: Repository, expression: str = "", oid: str = "") -> dict[str, Any] | None:
    """`REF` or `REF:PATH`, for the states that a record knows: the head, under each of its names."""
    ref, colon, path = expression.partition(":")
    if repository.facts.empty or not is_ref(repository, oid or ref):
        return None
    if not colon:
        return _commit(repository, repository.head, repository.facts.pushed_at)
    if not path:
        return {
            "__typename": "Tree",
            "oid": tree_sha(repository, ""),
            "entries": lambda info: _entries(repository, ""),
        }
    entry = _entry(repository, path)
    return entry and entry["object"]


def _blob(content: Content) -> dict[str, Any]:
    def text(info: Any) -> str | None:
        try:
            held = whole(content)[:_TEXT_LIMIT]
        except NotRecordedError as error:
            raise _wrong() from error
        return None if b"\0" in held else held.decode("utf-8", "replace")

    return {
        "__typename": "Blob",
        "oid": blob_sha(content),
        "byteSize": content.size,
        "isBinary": lambda info: b"\0" in content.read(0, 8000),
        "isTruncated": content.size > _TEXT_LIMIT,
        "text": text,
    }


def _release(repository: Repository, release: ReleaseFacts) -> dict[str, Any]:
    """A release; an asset has no `state` here, and one whose upload never ended is listed like the others."""
    page = f"https://github.com/{repository.full_name}/releases"
    when = stamp(release.published_at or repository.facts.pushed_at)
    assets = [
        {
            "name": asset.name,
            "size": asset.size,
            "contentType": "application/octet-stream",
            "downloadUrl": f"{page}/download/{release.tag}/{asset.name}",
        }
        for asset in release.assets
    ]
    return {
        "tagName": release.tag,
        "name": release.name or release.tag,
        "description": release.body,
        "isDraft": release.draft,
        "isPrerelease": release.prerelease,
        "publishedAt": when,
        "createdAt": when,
        "url": f"{page}/tag/{release.tag}",
        "releaseAssets": lambda info, name=None, **page: _connection(info, assets, page),
    }


def _connection(info: Any, items: list[dict[str, Any]], page: dict[str, Any]) -> dict[str, Any]:
    size = page.get("first", page.get("last"))
    if size is None:
        raise _error(
            f"You must provide a `first` or `last` value to properly paginate the `{info.field_name}` connection.",
            "MISSING_PAGINATION_BOUNDARIES",
        )
    if not 1 <= size <= 100:
        raise _error(
            f"Requesting {size} records on the `{info.field_name}` connection exceeds the limit of 100 records.",
            "EXCESSIVE_PAGINATION",
        )
    shown = items[:size] if "first" in page else items[-size:]
    return {"totalCount": len(items), "nodes": shown}
