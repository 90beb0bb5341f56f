"""A repository as GitHub's GraphQL API tells it: the question, and what its answer says.

GraphQL answers nobody without a token. Most questions were asked in batches before the agents started
(`github_batches`), and are answered out of the record. What GraphQL cannot say for certain is asked of the REST API by
the probe; it never counts against a repository. Fields and limits: docs.github.com/graphql.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.evidence import Json
from pipeline.sources.outcomes import Verdict, json_of, refused
from pipeline.sources.reach import Reach
from pipeline.sources.recorder import Answer, Recorder, is_gone
from pipeline.textfiles import readable

URL = "https://api.github.com/graphql"
READMES = ("README.md", "readme.md", "README.rst", "README")
_RELEASES = 20
STAND_IN = "a-token-that-goes-to-nobody"
"""For questions to the record, which knows whether there was a token, and never which."""
_OVERVIEW = (
    "nameWithOwner description homepageUrl isArchived isDisabled isEmpty isFork diskUsage pushedAt "
    "parent { nameWithOwner } licenseInfo { spdxId } "
    "defaultBranchRef { name target { ... on Commit { oid committedDate "
    "tree { entries { name type mode size oid } } } } } "
    + " ".join(
        f'readme{n}: object(expression: "HEAD:{name}") {{ ... on Blob {{ text isBinary isTruncated }} }}'
        for n, name in enumerate(READMES)
    )
    + f" releases(first: {_RELEASES}, orderBy: {{field: CREATED_AT, direction: DESC}}) "
    "{ totalCount nodes { tagName releaseAssets(first: 1) { totalCount } } }"
)


@dataclass(frozen=True, order=True, slots=True)
class Question:
    """What is asked of a repository (`owner/name`, in lower case): its overview, or with `until` (ISO 8601) the newest
    commit of its default branch by then."""

    repo: str
    until: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """A repository as GraphQL tells it. `told` and `root`, the entries of the tree at `commit`, have the keys of the
    REST API's answers; `assets`: whether any release has one."""

    told: Mapping[str, Any]
    branch: str
    commit: str | None
    root: Sequence[Mapping[str, Any]]
    readmes: Mapping[str, str]
    assets: bool

    def at_head(self, ref: str | None) -> bool:
        return ref in (None, "HEAD", self.branch, self.commit)

    def whole_tree(self) -> list[dict[str, Any]] | None:
        """All entries, where no folder hides some."""
        return None if any(entry["type"] == "tree" for entry in self.root) else [dict(entry) for entry in self.root]


def call_of(questions: Sequence[Question]) -> dict[str, Any]:
    """The query and its variables. `r0` is the first question's answer, whether it is asked alone or with others."""
    parts: list[str] = []
    declared: list[str] = []
    variables: dict[str, str] = {}
    for n, question in enumerate(questions):
        owner, _, name = question.repo.partition("/")
        variables |= {f"owner{n}": owner, f"name{n}": name}
        declared += [f"$owner{n}: String!", f"$name{n}: String!"]
        fields = "...overview"
        if question.until:
            variables[f"until{n}"] = question.until
            declared.append(f"$until{n}: GitTimestamp!")
            history = f"history(first: 1, until: $until{n}) {{ nodes {{ oid committedDate }} }}"
            fields = f"nameWithOwner defaultBranchRef {{ target {{ ... on Commit {{ {history} }} }} }}"
        parts.append(f"r{n}: repository(owner: $owner{n}, name: $name{n}) {{ {fields} }}")
    query = f"query({', '.join(declared)}) {{ {' '.join(parts)} }}"
    if not all(question.until for question in questions):
        query += f" fragment overview on Repository {{ {_OVERVIEW} }}"
    return {"query": query, "variables": variables}


def body_of(question: Question) -> bytes:
    return json.dumps(call_of([question])).encode()


def headers_of(token: str) -> dict[str, str]:
    return {"content-type": "application/json", "authorization": f"Bearer {token}"}


# One answer


def part(told: Json, alias: str) -> dict[str, Any] | None:
    """What a call's answer says about one question, as the answer to this question alone: its data, or that there is no
    such repository. None where it says neither: an error of the whole call, another kind of error, half the data."""
    if not isinstance(told, dict) or not isinstance(told.get("data"), dict) or alias not in told["data"]:
        return None
    errors = told.get("errors") or []
    if not all(isinstance(error, dict) and isinstance(error.get("path"), list) and error["path"] for error in errors):
        return None
    mine = [error for error in errors if error["path"][0] == alias]
    data = told["data"][alias]
    if not mine:
        return {"data": {"r0": data}} if isinstance(data, dict) else None
    if data is None and all(error.get("type") == "NOT_FOUND" and error["path"] == [alias] for error in mine):
        return {"data": {"r0": None}, "errors": [{**error, "path": ["r0"]} for error in mine]}
    return None


def forbidden(told: Json, alias: str) -> bool:
    """Whether GitHub refuses this one repository (blocked, or an organisation's wish): asking again changes nothing."""
    errors = told.get("errors") if isinstance(told, dict) else None
    return any(
        isinstance(error, dict) and error.get("type") == "FORBIDDEN" and error.get("path") == [alias]
        for error in errors or ()
    )


def says_gone(answer: Answer) -> bool | None:
    """Whether an answer says that there is no such repository; None where it says nothing."""
    told = part(json_of(answer), "r0") if answer.status == 200 else None
    return None if told is None else told["data"]["r0"] is None


def ask(reach: Reach, question: Question) -> Answer:
    """One question by itself, out of the record where a batch held it."""
    token = reach.tokens.best("graphql", reach.recorder.clock.now())
    answer = reach.recorder.ask(
        "POST",
        URL,
        headers=headers_of(token),
        body=body_of(question),
        limit=reach.recorder.limits.archive_bytes,
        says_gone=says_gone,
    )
    reach.tokens.told(token, answer.headers)
    return answer


def known(reach: Reach, name: tuple[str, str]) -> Known | Verdict | None:
    """A repository, or what became of it; None where the REST API has to say, as it does to strangers.

    That there is none, or that it is blocked, is not believed of an answer to a token: its page is looked at as a
    stranger, and is gone or not by the rule of two looks.
    """
    if not reach.tokens:
        return None
    answer = ask(reach, Question("/".join(name).lower()))
    gone, blocked = says_gone(answer), answer.status == 200 and forbidden(json_of(answer), "r0")
    if gone or blocked:
        page = reach.recorder.ask("HEAD", f"https://github.com/{'/'.join(name)}")
        return refused(page, reach.recorder) if gone or is_gone(page.exchange) else None
    if gone is None:
        return None
    try:
        return _known(json_of(answer)["data"]["r0"])
    except (AttributeError, LookupError, TypeError):
        return None  # of another form than the one that is written down


def _known(node: Mapping[str, Any]) -> Known | None:
    branch = node["defaultBranchRef"] or {}
    commit = branch.get("target") or {}
    if not node["isEmpty"] and not commit.get("oid"):
        return None
    releases = node["releases"]
    blobs = {path: node.get(f"readme{n}") for n, path in enumerate(READMES)}
    return Known(
        told={
            "full_name": node["nameWithOwner"],
            "description": node["description"],
            "homepage": node["homepageUrl"],
            "archived": node["isArchived"],
            "disabled": node["isDisabled"],
            "fork": node["isFork"],
            "parent": node["parent"] and {"full_name": node["parent"]["nameWithOwner"]},
            "license": node["licenseInfo"] and {"spdx_id": node["licenseInfo"]["spdxId"]},
            "pushed_at": node["pushedAt"],
            "size": node["diskUsage"],
            "default_branch": branch.get("name"),
        },
        branch=str(branch.get("name") or ""),
        commit=commit.get("oid"),
        root=[
            {"path": e["name"], "type": e["type"], "size": e["size"] if e["type"] == "blob" else None, "sha": e["oid"]}
            for e in (commit.get("tree") or {}).get("entries") or ()
        ],
        readmes={
            path: readable(path, blob["text"].encode()) or ""
            for path, blob in blobs.items()
            if blob and blob.get("text") is not None and not blob["isBinary"] and not blob["isTruncated"]
        },
        assets=releases["totalCount"] > _RELEASES or any(r["releaseAssets"]["totalCount"] for r in releases["nodes"]),
    )


def recalled(recorder: Recorder, question: Question) -> Answer | None:
    """The answer to a question, where it is in the record and stands."""
    return recorder.recall(
        "POST",
        URL,
        headers=headers_of(STAND_IN),
        body=body_of(question),
        limit=recorder.limits.archive_bytes,
        says_gone=says_gone,
    )


def commit_by(recorder: Recorder, repo: str, until: str) -> str | None:
    """The newest commit of a repository's default branch by a date, as the record has it."""
    answer = recalled(recorder, Question(repo.lower(), until))
    if answer is None or says_gone(answer) is not False:
        return None
    try:
        target = (json_of(answer)["data"]["r0"]["defaultBranchRef"] or {}).get("target") or {}
        commits = (target.get("history") or {}).get("nodes") or ()
        return next((commit["oid"] for commit in commits if isinstance(commit["oid"], str)), None)
    except (AttributeError, LookupError, TypeError):
        return None  # of another form than the one that is written down
