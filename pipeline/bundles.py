"""From a paper's record and the bytes that services sent to its bundle: every file of source and supplement, hashed.

The bundle is what an episode reads, so its digest covers exactly that: paths and contents of both parts, and how the
supplement fared. How the bytes were packed, when they came and what was odd about them is not part of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline import archives
from pipeline.archives import Listed, Refused, Unpacked, unpack
from pipeline.corpus import UNDETERMINED, Exclusion, PaperRecord
from pipeline.evidence import digest
from pipeline.paper import NoPaper, read
from pipeline.textfiles import readable, sniff_text

__all__ = ["Bundle", "BundleFile", "Fetched", "Sample", "bundle", "files_of", "manifest", "sniff_text", "take_sample"]

SupplementStatus = Literal["downloaded", "none", "missing", "refused", "failed"]
"""none: the paper's note names no supplement, or there is no note. missing: named, and the service says it is not
there. refused: it came, and nothing in it can be read. failed: undetermined, to be fetched again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fetched:
    """What a fetch established about one source or supplement.

    here: `data` holds the bytes. none: there is nothing to ask for. absent: the service answered that it does not have
    it. undetermined: anything else (timeout, rate limit, 5xx, challenge), which says nothing about the paper. `reason`
    says why; `exchanges` are the ids of the recorded exchanges.
    """

    state: Literal["here", "none", "absent", "undetermined"]
    data: bytes = b""
    reason: str = ""
    exchanges: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class BundleFile:
    path: str
    sha256: str
    size: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Bundle:
    """One paper's files by hash. `source_sha256`, `supplement_sha256`: of the bytes as sent."""

    arxiv_id: str
    version: int
    source_files: tuple[BundleFile, ...]
    supplement_files: tuple[BundleFile, ...]
    source_kind: archives.Kind
    source_sha256: str
    supplement_sha256: str | None
    supplement_status: SupplementStatus
    warnings: tuple[str, ...]

    @property
    def digest(self) -> str:
        """The fingerprint of what an episode reads."""
        return digest(
            {
                "arxiv_id": self.arxiv_id,
                "version": self.version,
                "source": [[f.path, f.sha256] for f in self.source_files],
                "supplement": [[f.path, f.sha256] for f in self.supplement_files],
                "supplement_status": self.supplement_status,
            }
        )


_SHOWN: Mapping[str, str] = {"pdf": "PDF", "postscript": "PostScript"}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def bundle(
    record: PaperRecord,
    source: Fetched,
    supplement: Fetched = Fetched(state="none"),
    keep: Callable[[bytes], str] = sha256,
) -> Bundle | Exclusion:
    """The paper's bundle, or why it has none: no source, PDF only, an archive without content, no LaTeX main file.

    `keep` stores one file's bytes and returns its SHA-256 (a blob store's `put`); by default it only hashes. A
    supplement that cannot be had or read never costs the paper, it is a status and a warning.
    """

    def out(reason: str, detail: str) -> Exclusion:
        return Exclusion(key=record.arxiv_id, title=record.title, stage="bundles", reason=reason, detail=detail)

    if source.state == "undetermined":
        return out(UNDETERMINED, f"source not fetched ({source.reason}); build again to try once more")
    if source.state != "here":
        return out("no_source", source.reason or "arXiv has no source for this version")
    try:
        unpacked = unpack(source.data, archives.SOURCE)
    except Refused as refusal:
        return out("refused_archive", str(refusal))
    if unpacked.kind == "html":
        # A page that does not speak of this paper (a rate limit, a challenge) is a service's trouble, not a fact.
        if record.arxiv_id.encode() in source.data:
            return out("not_latex", "the source is a web page")
        return out(UNDETERMINED, "a web page came in place of the source; build again to try once more")
    if unpacked.kind in ("pdf", "postscript"):
        return out("not_latex", f"the source is {_SHOWN[unpacked.kind]} only")
    if not unpacked.files:
        return out("refused_archive", "; ".join(("no file in the archive can be read", *unpacked.warnings[:3])))
    try:
        read(unpacked.files)
    except NoPaper as no_paper:
        return out("no_main_file", no_paper.reason)

    status, extra, warnings = _supplement(supplement)
    return Bundle(
        arxiv_id=record.arxiv_id,
        version=record.version,
        source_files=_kept(unpacked.files, keep),
        supplement_files=_kept(extra, keep),
        source_kind=unpacked.kind,
        source_sha256=keep(source.data),
        supplement_sha256=keep(supplement.data) if supplement.state == "here" else None,
        supplement_status=status,
        warnings=(*(f"source: {w}" for w in unpacked.warnings), *(f"supplement: {w}" for w in warnings)),
    )


def _supplement(fetched: Fetched) -> tuple[SupplementStatus, Mapping[str, bytes], tuple[str, ...]]:
    if fetched.state == "none":
        return "none", {}, ()
    if fetched.state == "absent":
        return "missing", {}, (fetched.reason or "named by the note, and not there",)
    if fetched.state == "undetermined":
        return "failed", {}, (f"not fetched: {fetched.reason}",)
    try:
        unpacked = _named(unpack(fetched.data, archives.SUPPLEMENT))
    except Refused as refusal:
        return "refused", {}, (str(refusal),)
    if unpacked.kind == "html":
        return "failed", {}, ("a web page came in place of the file",)
    if not unpacked.files:
        return "refused", {}, ("no file in the archive can be read", *unpacked.warnings)
    return "downloaded", unpacked.files, unpacked.warnings


def _named(unpacked: Unpacked) -> Unpacked:
    """A supplement that is one bare file (most often a PDF) is called so, not after the source it is not."""
    files = {
        path.replace("source.", "supplement.", 1) if unpacked.kind not in ("tar", "zip") else path: content
        for path, content in unpacked.files.items()
    }
    return Unpacked(files=files, warnings=unpacked.warnings, kind=unpacked.kind)


def _kept(files: Mapping[str, bytes], keep: Callable[[bytes], str]) -> tuple[BundleFile, ...]:
    return tuple(BundleFile(path=p, sha256=keep(files[p]), size=len(files[p])) for p in sorted(files))


def files_of(listed: Iterable[BundleFile], get: Callable[[str], bytes]) -> dict[str, bytes]:
    """The files' contents by path, `get` being a blob store's: what `pipeline.paper.read` takes."""
    return {file.path: get(file.sha256) for file in listed}


# ------------------------------------------------------------------------------------------------ reading a supplement


def manifest(listed: Iterable[BundleFile]) -> tuple[Listed, ...]:
    """Every file with its size, those of inner archives included (`code.zip!/train.py`)."""
    return tuple(Listed(file.path, file.size) for file in sorted(listed, key=lambda f: f.path))


@dataclass(frozen=True, slots=True)
class Opened:
    """One file of a supplement as a reader wants it: `text`, or the `entries` of an archive, or neither (binary)."""

    path: str
    size: int
    text: str | None
    entries: tuple[Listed, ...] = ()


def open_file(path: str, data: bytes) -> Opened:
    """Text by content whatever the ending, notebooks as cells, archives listed; other files by size only."""
    text = readable(path, data)
    entries = () if text is not None else archives.listing(data, archives.SUPPLEMENT)
    return Opened(path, len(data), text, entries)


# --------------------------------------------------------------------------------------------------- sampling by rank


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """The first papers, by rank, that have a bundle.

    `bundles` in rank order; `excluded` are the papers before the last one taken that have none. `pending`: undetermined
    so far, in rank order. `decided` is how many leading ranks hold no undetermined paper: `prefix`, cut there, is a
    uniform sample even if the rest never arrives.
    """

    bundles: tuple[Bundle, ...]
    excluded: tuple[Exclusion, ...]
    pending: tuple[Exclusion, ...]
    decided: int
    ranks: Mapping[str, int]

    @property
    def complete(self) -> bool:
        return not self.pending

    @property
    def prefix(self) -> tuple[Bundle, ...]:
        """The bundles before the first undetermined paper."""
        return tuple(b for b in self.bundles if self.ranks[b.arxiv_id] < self.decided)


def take_sample(
    ordered: Sequence[str],
    size: int,
    outcome: Callable[[str], Bundle | Exclusion],
    known: Mapping[str, Bundle | Exclusion] | None = None,
) -> Sample:
    """Go down the ranks until `size` papers have a bundle; fetch nothing beyond.

    `ordered`: arXiv ids by rank. `outcome` fetches and bundles one paper; it is called once a paper, in rank order, and
    not for papers whose ends are `known` from an earlier run, unless they were undetermined. An undetermined paper may
    still turn out to have a source, so it holds its place: the same ranks are fetched whenever it is settled, and a
    paper further down is never taken in its stead.
    """
    bundles: list[Bundle] = []
    excluded: list[Exclusion] = []
    pending: list[Exclusion] = []
    ranks: dict[str, int] = {}
    decided = None
    for rank, arxiv_id in enumerate(ordered):
        if len(bundles) + len(pending) >= size:
            break
        end = (known or {}).get(arxiv_id)
        if end is None or (isinstance(end, Exclusion) and end.retry):
            end = outcome(arxiv_id)
        ranks[arxiv_id] = rank
        if isinstance(end, Bundle):
            bundles.append(end)
        elif end.retry:
            pending.append(end)
            decided = rank if decided is None else decided
        else:
            excluded.append(end)
    return Sample(
        bundles=tuple(bundles),
        excluded=tuple(excluded),
        pending=tuple(pending),
        decided=len(ranks) if decided is None else decided,
        ranks=ranks,
    )
