"""GitHub's Git LFS server, as far as it says whether an object can be had (git-lfs, docs/api/batch.md)."""

import json
from typing import Any

from pipeline.offline.content import Content, lfs_pointer, whole
from pipeline.offline.values import Repository
from pipeline.offline.wire import Answer, Call, as_json

_TYPE = ("Content-Type", "application/vnd.git-lfs+json; charset=utf-8")
_OVER = "This repository is over its data quota. Account responsible for LFS bandwidth should purchase more data packs."


def batch(repository: Repository, call: Call) -> Answer:
    """`POST …/info/lfs/objects/batch`: an action or an error an object; the whole is refused when over quota."""
    try:
        asked = json.loads(call.body)
        wanted = [(str(o["oid"]), int(o["size"])) for o in asked["objects"]]
    except (ValueError, KeyError, TypeError):
        return _answer({"message": "Invalid request."}, 422)
    if asked.get("operation") != "download":
        return _answer({"message": "You must have push access to upload objects."}, 403)
    held = {_oid(file.content): file for file in repository.files.values() if file.lfs}
    if any(oid in held and held[oid].media_status == 403 for oid, _ in wanted):
        return _answer({"message": _OVER}, 403)
    objects = [_object(oid, size, oid in held and held[oid].media_status == 200) for oid, size in wanted]
    return _answer({"transfer": "basic", "objects": objects})


def _oid(content: Content) -> str:
    return whole(lfs_pointer(content)).decode().split("sha256:")[1].split("\n")[0]


def _object(oid: str, size: int, there: bool) -> dict[str, Any]:
    if not there:
        error = {
            "code": 404,
            "message": "Object does not exist on the server or you don't have permissions to access it",
        }
        return {"oid": oid, "size": size, "error": error}
    href = f"https://github-cloud.githubusercontent.com/alambic/media/{oid}?X-Amz-Expires=3600&X-Amz-Signature=0"
    return {"oid": oid, "size": size, "actions": {"download": {"href": href, "expires_in": 3600}}}


def _answer(value: dict[str, Any], status: int = 200) -> Answer:
    made = as_json(value, status)
    return Answer(made.status, made.content, (_TYPE,))
