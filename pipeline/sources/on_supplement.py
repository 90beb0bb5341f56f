"""The probe of the paper's supplement: its manifest, any text file by content, notebooks as cells, archives listed.

A supplement is published beside the paper, so what is in it is public: no exchange is needed to show that.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping

from pipeline import archives
from pipeline.evidence import Json, Outcome
from pipeline.sources.outcomes import Finding
from pipeline.sources.reading import MEGABYTE, Entry, PaperFacts, about_files, holds_weights, links_in, names_paper
from pipeline.textfiles import readable

_TEXT_CHARS = 40_000
_SHOWN = 300
_ARCHIVES = ("zip", "tar", "gzip")
_APPENDIX = (".pdf", ".mp4", ".mov", ".gif", ".png", ".jpg", ".webm", ".avi")


def read(supplement: Mapping[str, bytes], path: str, paper: PaperFacts) -> Finding:
    wanted = path.strip().strip("/")
    if not supplement:
        return Finding(
            outcome=Outcome.UNAVAILABLE,
            reason="no supplement",
            subject="supplement:",
            content={"error": "this paper has no supplement"},
        )
    if not wanted:
        return _manifest(supplement)
    if wanted not in supplement:
        near = difflib.get_close_matches(wanted, sorted(supplement), n=5, cutoff=0.4) or sorted(supplement)[:20]
        return Finding(
            outcome=Outcome.UNDETERMINED,
            reason="invalid_argument: no such file in the supplement",
            subject="supplement:",
            content={"error": "no such file in the supplement", "similar": near},
        )
    return _one(wanted, supplement[wanted], paper)


def _manifest(supplement: Mapping[str, bytes]) -> Finding:
    entries: list[Entry] = []
    for path in sorted(supplement):
        data = supplement[path]
        entries.append(Entry(path, len(data)))
        if archives.sniff(data) in _ARCHIVES:
            entries += [Entry(f"{path}/{member.path}", member.size) for member in archives.listing(data)]
    facts = about_files(entries)
    facts |= {
        "pdf_only": all(e.path.lower().endswith(_APPENDIX) for e in entries),
        "sha256": hashlib.sha256(
            "".join(f"{p} {hashlib.sha256(supplement[p]).hexdigest()}\n" for p in sorted(supplement)).encode()
        ).hexdigest(),
        "weights_open": [
            w["path"]
            for w in facts["weight_files"]
            if (w["size"] or 0) >= MEGABYTE and (w["path"] not in supplement or holds_weights(supplement[w["path"]]))
        ],
        "data_open": [d["path"] for d in facts["data_sample"]],
    }
    content = {
        "files": [{"path": e.path, "size": e.size} for e in entries[:_SHOWN]],
        "more": max(0, len(entries) - _SHOWN),
        "code_files": facts["code_files"],
    }
    return Finding(
        outcome=Outcome.AVAILABLE,
        reason=f"{len(entries)} files, {facts['code_files']} of code",
        subject="supplement:",
        facts=facts,
        content=content,
    )


def _one(path: str, data: bytes, paper: PaperFacts) -> Finding:
    form = archives.sniff(data)
    facts: dict[str, Json] = {"path": path, "size": len(data), "form": form, "sha256": hashlib.sha256(data).hexdigest()}
    content: dict[str, Json] = {"path": path, "size": len(data), "form": form}
    text = readable(path, data)
    if form in _ARCHIVES:
        members = archives.listing(data)
        content["members"] = [{"path": m.path, "size": m.size} for m in members[:_SHOWN]]
    elif text is not None:
        facts |= {"links": links_in(text)[:100], "names_paper": names_paper(text, paper)}
        content |= {"text": text[:_TEXT_CHARS], "cut": len(text) > _TEXT_CHARS}
    return Finding(
        outcome=Outcome.AVAILABLE,
        reason="file read" if text is not None else f"not text: {form}",
        subject=f"supplement:{path}",
        facts=facts,
        content=content,
    )
