"""Three probes of the Hugging Face Hub: search, repository, tree. Listing is not access: bytes are asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal
from urllib.parse import quote, urlencode

from pipeline.evidence import Json, Outcome
from pipeline.sources.guard import refusal
from pipeline.sources.landing import known_wall, names_file
from pipeline.sources.on_github import NAMED, about_readme, invalid, moved
from pipeline.sources.outcomes import Finding, Verdict, refused, turned_away, undetermined
from pipeline.sources.reach import Reach, bytes_seen, lfs_size, missed
from pipeline.sources.reading import (
    LISTED,
    MEGABYTE,
    Entry,
    about_files,
    is_checkpoint,
    is_code,
    is_weights,
    links_in,
    scope_words,
)
from pipeline.sources.recorder import Answer
from pipeline.textfiles import sniff_text

Kind = Literal["model", "dataset", "space"]
_HOST = "https://huggingface.co"
_NAME = re.compile(r"[\w][\w.-]*(?:/[\w][\w.-]*)?", re.ASCII)
_NOT_DATA = re.compile(
    r"(?i)(^|/)(readme(\.\w+)?|\.git\w*|licen[cs]e(\.\w+)?|dataset_infos?\.json|.*\.(py|md|png|jpe?g|gif|svg))$"
)
_PAGES = 10
_SHOWN = 200
_CARD_CHARS = 12_000


def _clean(repo: str, kind: Kind) -> str | None:
    """`org/name` from a name or any page of the repository."""
    name = re.sub(r"^(https?://)?(www\.)?(huggingface\.co|hf\.co)/", "", repo.strip()).strip("/")
    name = re.sub(rf"^{kind}s/", "", name)
    name = "/".join(re.split(r"[?#]", name)[0].split("/")[:2])
    return name if _NAME.fullmatch(name) else None


def _page(kind: Kind, name: str) -> str:
    return f"{_HOST}/{'' if kind == 'model' else kind + 's/'}{name}"


def search(reach: Reach, query: str, kind: str) -> Finding:
    query = " ".join(query.split())
    if not query or len(query) > 256 or kind not in ("model", "dataset"):
        return invalid("search:hub", "a query of 1 to 256 characters; kind model or dataset")
    answer, body = reach.json(f"{_HOST}/api/{kind}s?{urlencode({'search': query, 'limit': NAMED, 'full': 'false'})}")
    verdict = refused(answer, reach.recorder)
    if verdict is None and not isinstance(body, list):
        verdict = undetermined("answer is not a list")
    if verdict is not None:
        return Finding(
            outcome=Outcome.UNDETERMINED,
            reason=verdict[1],
            subject="search:hub",
            facts={"complete": False, "query": query.casefold(), "kind": kind},
            content={"error": verdict[1]},
        )
    items = [i for i in body if isinstance(i, dict) and i.get("id")]
    found = [{"repo": i["id"], "downloads": i.get("downloads"), "gated": i.get("gated")} for i in items]
    names = list(dict.fromkeys(str(i["id"]) for i in items))
    facts = {"complete": True, "query": query.casefold(), "kind": kind, "results": names[:NAMED]}
    return Finding(
        outcome=Outcome.AVAILABLE,
        reason="complete search",
        subject="search:hub",
        facts=facts,
        content={"complete": True, "kind": kind, "results": found},
    )


def repository(reach: Reach, repo: str, kind: str, *, with_base: bool = True) -> Finding:
    """Metadata, card and file list, the gate, and the first bytes of the largest file that matters.

    `with_base`: for an adapter, its base model too.
    """
    if kind not in ("model", "dataset", "space"):
        return invalid(f"hf:{kind[:20]}:{repo[:100]}", "kind is model, dataset or space")
    which: Kind = kind  # type: ignore[assignment]
    name = _clean(repo, which)
    if name is None:
        return invalid(f"hf:{which}:{repo[:100]}", "a Hub repository is org/name")
    answer, told = reach.json(f"{_HOST}/api/{which}s/{quote(name)}?blobs=true")
    verdict = _refused(reach, answer)
    if verdict is None and not (isinstance(told, dict) and told.get("id")):
        verdict = undetermined("answer is not a repository")
    if verdict is not None:
        return _closed(which, name, verdict)
    asked, name = name, str(told["id"])
    facts = _metadata(told, which, asked)
    entries = [
        Entry(str(s["rfilename"]), _size(s))
        for s in told.get("siblings") or ()
        if isinstance(s, dict) and s.get("rfilename")
    ]
    facts |= _about(entries, which, facts)
    if told.get("private"):
        return _closed(which, name, (Outcome.GATED, "private"), facts)
    if told.get("disabled"):
        return _closed(which, name, (Outcome.GATED, "disabled_by_host"), facts)
    revision = str(told.get("sha") or "main")
    card = _card(reach, which, name, revision, entries, facts)
    if moved(asked, name) and not facts["names_paper"]:
        facts["moved_elsewhere"] = True
    gated = told.get("gated")
    if gated:
        return _closed(which, name, (Outcome.GATED, str(gated) if isinstance(gated, str) else "gated"), facts)
    barred = _open(reach, which, name, revision, entries, facts)
    if barred is not None:
        return _closed(which, name, barred, facts)
    if with_base and facts["adapter_only"] and facts["weights_open"]:
        _base(reach, name, revision, facts)
    content = {
        "repo": name,
        "kind": which,
        "revision": revision,
        "license": facts["license"],
        "base_model": facts["base_model"],
        **({"base": facts["base_said"]} if "base_said" in facts else {}),
        "files": [{"path": e.path, "size": e.size} for e in entries[:_SHOWN]],
        "more": max(0, len(entries) - _SHOWN),
        "card": card[:_CARD_CHARS],
        "weights_open": facts["weights_open"],
        "data_open": facts["data_open"],
    }
    reason = f"{len(entries)} files, no gate"
    return Finding(outcome=Outcome.AVAILABLE, reason=reason, subject=f"hf:{which}:{name}", facts=facts, content=content)


def tree(reach: Reach, repo: str, kind: str, path: str, revision: str | None) -> Finding:
    """Every file under a folder, by pages; the facts are about what was listed, and its bytes are asked for too."""
    if kind not in ("model", "dataset", "space"):
        return invalid(f"hf:{kind[:20]}:{repo[:100]}", "kind is model, dataset or space")
    which: Kind = kind  # type: ignore[assignment]
    name, folder, at = _clean(repo, which), path.strip("/"), revision or "main"
    if name is None or any(part == ".." for part in folder.split("/")):
        return invalid(f"hf:{which}:{repo[:100]}", "a Hub repository is org/name, with a folder inside it")
    below = f"/{quote(folder)}" if folder else ""
    url: str | None = f"{_HOST}/api/{which}s/{quote(name)}/tree/{quote(at, safe='')}{below}?recursive=true"
    entries: list[Entry] = []
    pages = 0
    while url and pages < _PAGES:
        answer, told = reach.json(url)
        verdict = _refused(reach, answer)
        if answer.headers.get("x-error-code") in ("EntryNotFound", "RevisionNotFound"):
            # A missing folder says nothing about the repository, which is the subject.
            verdict = undetermined("no such folder or revision")
        if verdict is None and not isinstance(told, list):
            verdict = undetermined("answer is not a tree")
        if verdict is not None:
            return _closed(which, name, verdict)
        entries += [Entry(str(e["path"]), _size(e)) for e in told if e.get("type") == "file"]
        pages, url = pages + 1, _next(answer.headers.get("link", ""))
    facts: dict[str, Json] = {"path": folder, "tree_truncated": bool(url), "license": None, "base_model": None}
    facts |= _about(entries, which, facts)
    barred = _open(reach, which, name, at, entries, facts)
    if barred is not None:
        return _closed(which, name, barred, facts)
    content = {
        "repo": name,
        "kind": which,
        "entries": [{"path": e.path, "size": e.size} for e in entries[:_SHOWN]],
        "more": max(0, len(entries) - _SHOWN),
        "weights_open": facts["weights_open"],
        "data_open": facts["data_open"],
    }
    return Finding(
        outcome=Outcome.AVAILABLE,
        reason=f"{len(entries)} files",
        subject=f"hf:{which}:{name}",
        facts=facts,
        content=content,
    )


def _closed(kind: Kind, name: str, verdict: Verdict, facts: dict[str, Json] | None = None) -> Finding:
    outcome, reason = verdict
    return Finding(
        outcome=outcome,
        reason=reason,
        subject=f"hf:{kind}:{name}",
        facts=facts or {},
        content={"repo": name, "kind": kind, "error": f"{outcome}: {reason}"},
    )


def _size(entry: dict[str, Any]) -> int | None:
    size = (entry.get("lfs") or {}).get("size") or entry.get("size")
    return int(size) if isinstance(size, int) else None


def _next(link: str) -> str | None:
    match = re.search(r'<([^<>]+)>\s*;\s*rel="?next"?', link)
    return match[1] if match and match[1].startswith(f"{_HOST}/") else None


def _metadata(told: dict[str, Any], kind: Kind, asked: str) -> dict[str, Json]:
    card = told.get("cardData") if isinstance(told.get("cardData"), dict) else {}
    tags = [str(t) for t in told.get("tags") or ()]
    # A tag may say how the base was used: `base_model:adapter:org/name`.
    tagged = [t.rpartition(":")[2] for t in tags if t.startswith("base_model:")]
    base = (card or {}).get("base_model") or list(dict.fromkeys(tagged))
    facts: dict[str, Json] = {
        "full_name": told["id"],
        "commit": told.get("sha"),
        "gated": told.get("gated") or False,
        "license": (card or {}).get("license") or next((t[8:] for t in tags if t.startswith("license:")), None),
        "base_model": base or None,
        "arxiv_tags": [t.removeprefix("arxiv:") for t in tags if t.startswith("arxiv:")],
    }
    if told["id"] != asked:
        facts["asked"] = f"hf:{kind}:{asked}"
    return facts


def _about(entries: Sequence[Entry], kind: Kind, facts: dict[str, Json]) -> dict[str, Json]:
    files = about_files(entries)
    paths = [e.path for e in entries]
    weights = [e for e in entries if _holds_weights(kind, e.path)]
    # Next to an adapter there is no model: a config of its own would be there otherwise.
    adapter = any(p.endswith("adapter_config.json") for p in paths) and all("adapter" in e.path for e in weights)
    data = [e for e in entries if not _NOT_DATA.search(e.path)] if kind == "dataset" else []
    about: dict[str, Json] = {
        **{
            key: files[key]
            for key in ("files", "code_files", "code_sample", "train_entries", "eval_entries", "weight_files")
        },
        "adapter_only": adapter,
        "scope_words": scope_words([str(facts.get("full_name") or ""), *(e.path for e in weights)]),
        "data_files": len(data),
        "script_only": kind == "dataset" and not data and any(is_code(p) for p in paths),
        "weights_open": [],
        "data_open": [],
    }
    return about


def _holds_weights(kind: Kind, path: str) -> bool:
    return is_checkpoint(path) if kind == "model" else is_weights(path)


def _largest(entries: Sequence[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda e: (-(e.size or 0), e.path))


def _card(reach: Reach, kind: Kind, name: str, revision: str, entries: Sequence[Entry], facts: dict[str, Json]) -> str:
    text = ""
    if any(e.path == "README.md" for e in entries):
        answer = reach.get(f"{_page(kind, name)}/resolve/{quote(revision)}/README.md", limit=MEGABYTE)
        if answer.status == 200:
            text = sniff_text(answer.body) or ""
        else:
            facts["unseen"] = ["card"]
    facts |= about_readme(reach, text)
    if (
        reach.paper.arxiv_id
        and reach.paper.arxiv_id in facts.get("arxiv_tags", ())
        and "arxiv" not in facts["names_paper"]
    ):
        facts["names_paper"] = [*facts["names_paper"], "arxiv"]
    return text


def _open(
    reach: Reach, kind: Kind, name: str, revision: str, entries: Sequence[Entry], facts: dict[str, Json]
) -> Verdict | None:
    """Ask for bytes of the largest files that matter; a refusal there says more than any listing."""
    wanted = {
        "weights_open": [e for e in entries if _holds_weights(kind, e.path) and (e.size or 0) >= MEGABYTE],
        "data_open": [e for e in entries if kind == "dataset" and not _NOT_DATA.search(e.path)],
    }
    for fact, files in wanted.items():
        for entry in _largest(files)[:1]:
            answer = reach.get(f"{_page(kind, name)}/resolve/{quote(revision)}/{quote(entry.path)}", first=2048)
            facts.setdefault("commit", answer.headers.get("x-repo-commit"))
            verdict = _withheld(reach, answer, entry)
            if verdict is not None:
                return verdict
            if bytes_seen(answer, fact.removesuffix("_open")):
                facts[fact] = [entry.path]
            elif lfs_size(answer.body) is not None and entry.size == answer.exchange.body_size:
                facts["pointers"] = [entry.path]  # all that was ever pushed of it
            else:  # a page or a pointer in place of a listed file
                facts["unseen"] = [*facts.get("unseen", []), fact.removesuffix("_open")]
    if facts.get("script_only"):
        _follow_script(reach, kind, name, revision, entries, facts)
    return None


def _refused(reach: Reach, answer: Answer) -> Verdict | None:
    """`refused`, for the Hub. It says a gate by its error code; a bare refusal, mostly of the host that keeps the large
    files, is trouble."""
    verdict = refused(answer, reach.recorder)
    coded = "x-error-code" in answer.headers or "x-error-message" in answer.headers
    if turned_away(answer, verdict) and not coded:
        return undetermined(f"refused without a reason: {answer.status}")
    return verdict


def _withheld(reach: Reach, answer: Answer, entry: Entry) -> Verdict | None:
    """Why a listed file did not come. A missing one says nothing about its repository, which is the subject."""
    verdict = _refused(reach, answer)
    if verdict is not None and (verdict[0] is Outcome.UNAVAILABLE or verdict[1].startswith("gone_once")):
        return undetermined(f"a listed file is missing: {entry.path}")
    return verdict


def _base(reach: Reach, name: str, revision: str, facts: dict[str, Json]) -> None:
    """An adapter runs on its base model only: whether a stranger gets that one's bytes is asked here too.

    Facts: `base_open` (True, False, or None where it could not be asked), and `base_said`, why.
    """
    if not facts["base_model"]:
        answer, told = reach.json(f"{_page('model', name)}/resolve/{quote(revision)}/adapter_config.json")
        if answer.status != 200:
            _no_base(facts, "adapter_config.json did not come")
            return
        facts["base_model"] = told.get("base_model_name_or_path") if isinstance(told, dict) else None
    named = facts["base_model"]
    bases = [named] if isinstance(named, str) else [str(b) for b in named or ()]
    bases = [
        base for base in dict.fromkeys(b.rpartition(":")[2] for b in bases) if _NAME.fullmatch(base) and base != name
    ]
    if not bases:
        facts |= {"base_open": False, "base_said": "no base model on the Hub is named"}
        return
    found = repository(reach, bases[0], "model", with_base=False)
    facts["base_said"] = f"{bases[0]}: {found.outcome}, {found.reason}"
    if found.outcome is Outcome.UNDETERMINED or "weights" in (found.facts.get("unseen") or ()):
        _no_base(facts, facts["base_said"])
    else:
        facts["base_open"] = found.outcome is Outcome.AVAILABLE and bool(found.facts["weights_open"])


def _no_base(facts: dict[str, Json], why: str) -> None:
    facts |= {"base_open": None, "base_said": why, "unseen": [*facts.get("unseen", []), "weights"]}


def _follow_script(
    reach: Reach, kind: Kind, name: str, revision: str, entries: Sequence[Entry], facts: dict[str, Json]
) -> None:
    """A data set that is a loading script lies elsewhere: the places that the script names are asked for bytes."""
    scripts = sorted((e.path for e in entries if e.path.endswith(".py")), key=lambda p: (p.count("/"), p))
    own = [path for path in scripts if path.removesuffix(".py") == name.rpartition("/")[2]] or scripts[:1]
    links: list[str] = []
    unseen: list[str] = []
    for path in own:
        answer = reach.get(f"{_page(kind, name)}/resolve/{quote(revision)}/{quote(path)}", limit=MEGABYTE)
        if answer.status == 200:
            links += links_in(sniff_text(answer.body) or "")
        else:
            missed(unseen, "data")
    facts["script_links"] = links[:LISTED]
    files = [link for link in links if names_file(link) and refusal(link) is None]
    walled = [link for link in files if known_wall(reach, link) is not None]
    facts["data_open"] = reach.opened("data", [(link, link) for link in files if link not in walled], unseen)
    facts |= {"script_walls": walled[:LISTED]} if walled else {}
    facts |= {"unseen": [*facts.get("unseen", []), *unseen]} if unseen else {}
