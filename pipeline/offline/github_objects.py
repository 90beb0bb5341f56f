"""The objects GitHub's REST API v3 speaks of: repository, tree and contents entries, commit, release.

Their form: docs.github.com/rest, and the replies PyGithub's own tests recorded.
"""

import base64
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from pipeline.offline.content import Content, blob_sha, lfs_pointer, stable_hex, stable_id, whole
from pipeline.offline.values import File, ReleaseFacts, Repository, World, is_license

HOST = "api.github.com"
API = f"https://{HOST}"
_INLINE_LIMIT = 1 << 20
_LICENSES = {
    "AGPL-3.0": "GNU Affero General Public License v3.0",
    "Apache-2.0": "Apache License 2.0",
    "BSD-2-Clause": 'BSD 2-Clause "Simplified" License',
    "BSD-3-Clause": 'BSD 3-Clause "New" or "Revised" License',
    "CC-BY-4.0": "Creative Commons Attribution 4.0 International",
    "CC-BY-NC-4.0": "Creative Commons Attribution Non Commercial 4.0 International",
    "GPL-3.0": "GNU General Public License v3.0",
    "MIT": "MIT License",
    "NOASSERTION": "Other",
}


def number_of(repository: Repository) -> int:
    return stable_id("github", repository.full_name)


def served_content(file: File) -> Content:
    """What git holds of a file: the pointer, where it is kept in LFS."""
    return lfs_pointer(file.content) if file.lfs else file.content


def repository_body(world: World, repository: Repository, full: bool = False) -> dict[str, Any]:
    """The repository. In a recorded world, keys that nobody saw (archived, fork, stars …) are left out, not guessed."""
    told, url = repository.facts, f"{API}/repos/{repository.full_name}"
    html = f"https://github.com/{repository.full_name}"
    body: dict[str, Any] = {
        "id": number_of(repository),
        "name": repository.name,
        "full_name": repository.full_name,
        "private": False,
        "visibility": "public",
        "owner": {
            "login": repository.owner,
            "id": stable_id("github", repository.owner),
            "type": "User",
            "url": f"{API}/users/{repository.owner}",
            "html_url": f"https://github.com/{repository.owner}",
        },
        "html_url": html,
        "url": url,
        "contents_url": f"{url}/contents/{{+path}}",
        "trees_url": f"{url}/git/trees{{/sha}}",
        "releases_url": f"{url}/releases{{/id}}",
        "clone_url": f"{html}.git",
        "default_branch": told.default_branch,
        "created_at": stamp(told.created_at),
        "updated_at": stamp(told.pushed_at),
        "pushed_at": stamp(told.pushed_at),
        "size": sum(file.content.size for file in repository.files.values()) // 1024,
        "license": license_body(repository),
    }
    if world.complete:
        body |= {
            "description": told.description,
            "homepage": told.homepage,
            "language": told.language,
            "topics": list(told.topics),
            "fork": told.fork_of is not None,
            "archived": told.archived,
            "disabled": told.disabled,
            "stargazers_count": told.stars,
            "watchers_count": told.stars,
            "forks_count": 0,
            "open_issues_count": 0,
            "has_issues": True,
        }
    parent = world.repositories.get((told.fork_of or "").lower())
    if full and parent is not None and parent.listed:
        body |= {"parent": repository_body(world, parent), "source": repository_body(world, parent)}
    return body


def stamp(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def license_body(repository: Repository) -> dict[str, Any] | None:
    if not any(map(is_license, repository.files)):
        return None
    spdx = repository.facts.license or "NOASSERTION"
    key = "other" if spdx == "NOASSERTION" else spdx.lower()
    url = None if spdx == "NOASSERTION" else f"{API}/licenses/{key}"
    return {"key": key, "name": _LICENSES.get(spdx, spdx), "spdx_id": spdx, "url": url}


def commit_body(repository: Repository) -> dict[str, Any]:
    url, when = f"{API}/repos/{repository.full_name}", stamp(repository.facts.pushed_at)
    person = {"name": repository.owner, "email": f"{repository.owner}@users.noreply.github.com", "date": when}
    tree = {"sha": tree_sha(repository, ""), "url": f"{url}/git/trees/{tree_sha(repository, '')}"}
    commit = {"author": person, "committer": person, "message": "Update", "tree": tree}
    return {"sha": repository.head, "url": f"{url}/commits/{repository.head}", "commit": commit, "parents": []}


def tree_sha(repository: Repository, folder: str) -> str:
    return stable_hex("tree", repository.full_name, repository.head, folder)


def folders(repository: Repository) -> set[str]:
    paths = [*repository.files, *(module.path for module in repository.facts.submodules)]
    return {str(parent) for path in paths for parent in PurePosixPath(path).parents if str(parent) != "."}


def tree_entries(repository: Repository, prefix: str) -> list[dict[str, Any]]:
    git = f"{API}/repos/{repository.full_name}/git"
    entries: list[dict[str, Any]] = []
    for folder in folders(repository):
        sha = tree_sha(repository, folder)
        entries.append({"path": folder, "mode": "040000", "type": "tree", "sha": sha, "url": f"{git}/trees/{sha}"})
    for path, file in repository.files.items():
        held = served_content(file)
        sha, blob = blob_sha(held), {"path": path, "mode": "100644", "type": "blob"}
        entries.append(blob | {"sha": sha, "size": held.size, "url": f"{git}/blobs/{sha}"})
    for module in repository.facts.submodules:
        link = {"path": module.path, "mode": "160000", "type": "commit"}
        entries.append(link | {"sha": module.sha})
    below = [entry | {"path": entry["path"][len(prefix) :]} for entry in entries if entry["path"].startswith(prefix)]
    return sorted(below, key=lambda entry: entry["path"])


def contents_entry(repository: Repository, path: str, inline: bool = False) -> dict[str, Any]:
    """One item of a listing; with `inline` the bytes too, up to 1 MiB (beyond: `encoding: none`)."""
    api, branch = f"{API}/repos/{repository.full_name}", quote(repository.facts.default_branch)
    html, quoted = f"https://github.com/{repository.full_name}", quote(path)
    entry: dict[str, Any] = {"name": PurePosixPath(path).name, "path": path}
    page: str | None
    git: str | None
    file = repository.files.get(path)
    module = next((module for module in repository.facts.submodules if module.path == path), None)
    if file is not None:
        held = served_content(file)
        sha = blob_sha(held)
        raw = f"https://raw.githubusercontent.com/{repository.full_name}/{branch}/{quoted}"
        kind, page, git = "file", f"{html}/blob/{branch}/{quoted}", f"{api}/git/blobs/{sha}"
        entry |= {"sha": sha, "size": held.size, "type": kind, "download_url": raw}
        if inline:
            small = held.size <= _INLINE_LIMIT
            entry |= (
                {"encoding": "base64", "content": wrapped_base64(held)}
                if small
                else {"encoding": "none", "content": ""}
            )
    elif module is not None:
        kind, page, git = "submodule", module.url, None
        entry |= {"sha": module.sha, "size": 0, "type": kind, "download_url": None}
        entry |= {"submodule_git_url": module.url} if inline or module.url else {}
    else:
        sha = tree_sha(repository, path)
        page, git = f"{html}/tree/{branch}/{quoted}", f"{api}/git/trees/{sha}"
        entry |= {"sha": sha, "size": 0, "type": "dir", "download_url": None}
    url = f"{api}/contents/{quoted}?ref={branch}"
    return entry | {"url": url, "html_url": page, "git_url": git, "_links": {"self": url, "git": git, "html": page}}


def wrapped_base64(content: Content) -> str:
    """Sixty characters a line, as GitHub wraps it."""
    text = base64.b64encode(whole(content)).decode()
    return "".join(f"{text[i : i + 60]}\n" for i in range(0, len(text), 60))


def release_body(repository: Repository, release: ReleaseFacts) -> dict[str, Any]:
    number = stable_id(repository.full_name, release.tag)
    when = stamp(release.published_at or repository.facts.pushed_at)
    url, html = f"{API}/repos/{repository.full_name}/releases", f"https://github.com/{repository.full_name}/releases"
    assets = []
    for asset in release.assets:
        asset_id = stable_id(repository.full_name, release.tag, asset.name)
        assets.append(
            {
                "id": asset_id,
                "url": f"{url}/assets/{asset_id}",
                "name": asset.name,
                "label": None,
                "state": asset.state,
                "size": asset.size,
                "content_type": "application/octet-stream",
                "download_count": 0,
                "created_at": when,
                "updated_at": when,
                "browser_download_url": f"{html}/download/{quote(release.tag)}/{quote(asset.name)}",
            }
        )
    return {
        "id": number,
        "url": f"{url}/{number}",
        "assets_url": f"{url}/{number}/assets",
        "html_url": f"{html}/tag/{quote(release.tag)}",
        "tag_name": release.tag,
        "target_commitish": repository.facts.default_branch,
        "name": release.name or release.tag,
        "body": release.body,
        "draft": release.draft,
        "prerelease": release.prerelease,
        "created_at": when,
        "published_at": when,
        "assets": assets,
    }
