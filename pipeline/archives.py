"""From bytes that a service sent to named files in memory: what a source or supplement archive holds.

Nothing here touches the file system, so a hostile name cannot reach it; names are judged all the same, because they
become paths in tables, prompts and pages. The content decides what a thing is, never its name or media type. What can
be read is read: a bad member costs that member and a warning, a bad container what lies behind the damage.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pipeline.containers import Damaged, Member, Oversized, decompressed, is_tar, tar_members, zip_members
from pipeline.textfiles import looks_like_tex, sniff_text

Kind = Literal["tar", "zip", "gzip", "tex", "text", "pdf", "postscript", "html"]
"""tar and zip whatever wraps them; gzip: one compressed file; the rest: one bare file of that content."""

MB = 1 << 20


class Refused(Exception):
    """Nothing of these bytes can be used; the message says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Bounds of one `unpack` call. Bytes of content; `depth` is how many levels of archives inside archives are opened.

    Content may be `ratio` times the packed bytes, but `free_bytes` are always allowed, since a few kilobytes of zeros
    compress a thousandfold in honest archives too. The last eighth of the allowance is for members of at most
    `small_bytes` (packed): code must not be lost because data came before it.
    """

    total_bytes: int = 256 * MB
    file_bytes: int = 128 * MB
    free_bytes: int = 64 * MB
    ratio: int = 100
    small_bytes: int = MB
    members: int = 50_000
    depth: int = 0
    name_length: int = 512
    warnings_of_a_kind: int = 20


SOURCE = Limits()
"""A paper's LaTeX: an archive inside it is a file like any other, since TeX would not open it."""
SUPPLEMENT = Limits(depth=2)
"""A supplement: authors often zip `code.zip` and `data.zip` together, and the code inside counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unpacked:
    """Files by path, sorted; what was left out or doubtful, as sentences; and what the bytes were.

    A file of an archive within the archive has the path `inner.zip!/file`.
    """

    files: Mapping[str, bytes]
    warnings: tuple[str, ...]
    kind: Kind


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of an archive's table of contents."""

    path: str
    size: int


def unpack(data: bytes, limits: Limits = SOURCE) -> Unpacked:
    """The files in `data`, within `limits`.

    Raises `Refused` for nothing, for formats that cannot be read here and for content that is none of the known ones.
    Deterministic: same bytes and limits, same result.
    """
    content, wrapped, warnings = _unwrapped(data, limits)
    allowed = allowance(data, limits)
    state = _State(limits=limits, left=allowed, reserved=allowed // 8)
    state.warnings.extend(warnings)
    form = sniff(content)
    if form in _CONTAINERS:
        state.read(form, content, "", limits.depth)
        return Unpacked(files=dict(sorted(state.files.items())), warnings=state.closed(), kind=_KINDS[form])
    if form not in _BARE:
        raise Refused(f"{form} content is not read" if form != "unknown" else "content of no known kind")
    kind: Kind = "gzip" if wrapped and form in ("tex", "text") else _BARE[form][1]
    return Unpacked(files={_BARE[form][0]: content}, warnings=state.closed(), kind=kind)


def listing(data: bytes, limits: Limits = SOURCE) -> tuple[Listed, ...]:
    """The table of contents of an archive inside a bundle, sizes unpacked; empty if it is none or cannot be read."""
    try:
        unpacked = unpack(data, limits)
    except Refused:
        return ()
    if unpacked.kind not in ("tar", "zip"):
        return ()
    return tuple(Listed(path, len(content)) for path, content in unpacked.files.items())


_CONTAINERS: Mapping[str, Callable[[bytes], Iterator[Member]]] = {"tar": tar_members, "zip": zip_members}
_KINDS: Mapping[str, Kind] = {"tar": "tar", "zip": "zip"}
_STREAMS = ("gzip", "bzip2", "xz")
_BARE: Mapping[str, tuple[str, Kind]] = {
    "tex": ("source.tex", "tex"),
    "text": ("source.txt", "text"),
    "pdf": ("source.pdf", "pdf"),
    "postscript": ("source.ps", "postscript"),
    "html": ("source.html", "html"),
}
_MAGIC = (
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"Rar!\x1a\x07", "rar"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x1f\x9d", "compress"),
)
_LAYERS = 3
HEAD = 1024
"""Bytes that tell a format."""


def sniff(data: bytes) -> str:
    """What the bytes are: a stream, a container, a bare file, a format not read here, "empty" or "unknown"."""
    if not data:
        return "empty"
    for magic, form in _MAGIC:
        if data.startswith(magic):
            return form
    if is_tar(data):
        return "tar"
    start = data[:HEAD].lstrip(b"\xef\xbb\xbf \t\r\n\0")
    if start.startswith(b"%PDF-"):
        return "pdf"
    if start.startswith(b"%!PS"):
        return "postscript"
    lowered = start.lower()
    if lowered.startswith((b"<!doctype html", b"<html", b"<head", b"<body")) or (
        lowered.startswith((b"<!--", b"<?xml")) and b"<html" in lowered
    ):
        return "html"
    text = sniff_text(data)
    if text is None:
        return "unknown"
    return "tex" if looks_like_tex(text) else "text"


def allowance(data: bytes, limits: Limits) -> int:
    """How many bytes of content these packed bytes may become."""
    return min(limits.total_bytes, max(limits.free_bytes, limits.ratio * len(data)))


def _unwrapped(data: bytes, limits: Limits) -> tuple[bytes, bool, list[str]]:
    """Take off stream compression, layer by layer: `.tar.gz`, and the `.gz` of a `.gz` that some uploads are."""
    warnings: list[str] = []
    allowed = allowance(data, limits)
    for layer in range(_LAYERS + 1):
        form = sniff(data)
        if form not in _STREAMS:
            if form == "empty":
                raise Refused("the file is empty" if layer == 0 else "; ".join(["the stream is empty", *warnings]))
            return data, layer > 0, warnings
        if layer == _LAYERS:
            break
        data, problem = decompressed(data, form, allowed)
        if problem:
            warnings.append(f"{form}: {problem}")
    raise Refused(f"compressed more than {_LAYERS} times over")


@dataclass(kw_only=True)
class _State:
    """What one `unpack` call has taken so far."""

    limits: Limits
    left: int
    reserved: int
    seen: int = 0
    wasted: int = 0
    files: dict[str, bytes] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    folded: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)

    def warn(self, name: str, what: str) -> None:
        """Note one oddity; after the first few of a kind only their number is kept."""
        kind = what.partition(":")[0]
        self.kinds[kind] += 1
        if self.kinds[kind] <= self.limits.warnings_of_a_kind:
            self.warnings.append(f"{shown(name)}: {what}")

    def closed(self) -> tuple[str, ...]:
        many = ((kind, count) for kind, count in sorted(self.kinds.items()) if count > self.limits.warnings_of_a_kind)
        return (*self.warnings, *(f"{count} members in all: {kind}" for kind, count in many))

    def read(self, form: str, data: bytes, inside: str, depth: int) -> None:
        """Take the members of one container; archives among them too, `depth` levels down."""
        # Honest members do not overlap, so together they claim no more input than there is. This bounds the work that
        # many entries over the same compressed bytes could cause.
        unread = len(data)
        try:
            for member in _CONTAINERS[form](data):
                self.seen += 1
                if self.seen > self.limits.members:
                    self.warn(inside or "archive", f"more than {self.limits.members} members: the rest is not read")
                    return
                unread -= member.packed if member.what == "file" else 0
                if unread < 0 and form == "zip":
                    self.warn(member.name, "members overlap: the rest is not read")
                    return
                if self.wasted > self.limits.total_bytes:
                    self.warn(member.name, "too many members that lie about their size: the rest is not read")
                    return
                self.member(member, inside, depth)
        except Damaged as damage:
            self.warn(inside or "archive", str(damage))

    def member(self, member: Member, inside: str, depth: int) -> None:
        if member.what == "folder":
            return
        path, problem = clean_path(member.name, self.limits.name_length)
        if problem:
            self.warn(member.name, problem)
        if not path:
            return
        if member.what != "file":
            self.warn(member.name, f"{member.what}: left out")
            return
        room = self.left if member.packed <= self.limits.small_bytes else max(0, self.left - self.reserved)
        try:
            content, problem = member.take(min(self.limits.file_bytes, room))
        except Oversized as oversized:
            self.wasted += oversized.made
            self.warn(member.name, "larger than the limits allow: left out")
            return
        except Damaged as damage:
            self.warn(member.name, str(damage))
            return
        if problem:
            self.warn(member.name, problem)
        self.left -= len(content)
        self.keep(inside + path, content, depth)

    def keep(self, path: str, content: bytes, depth: int) -> None:
        parents = [path[:at] for at in range(len(path)) if path[at] == "/"]
        if path in self.folders or any(parent in self.files for parent in parents):
            self.warn(path, "both a file and a folder: left out")
            return
        twin = self.folded.setdefault(path.casefold(), path)
        if path in self.files:
            self.warn(path, "appears twice: the later one counts, as in extraction")
        elif twin != path:
            self.warn(path, f"differs by case only: {shown(twin)}")
        self.files[path] = content
        self.folders.update(parents)
        if depth:
            self.open_inner(path, content, depth - 1)

    def open_inner(self, path: str, content: bytes, depth: int) -> None:
        """Read an archive that is a file of this one; the file itself stays as it is."""
        form = sniff(content[:HEAD])
        if form in _STREAMS:
            # Data sets lie about as single gzip files too: look at the first block before unpacking all of it.
            if not is_tar(decompressed(content, form, HEAD)[0]):
                return
            content, problem = decompressed(content, form, self.left)
            self.left -= len(content)
            if problem:
                self.warn(path, problem)
            form = "tar"
        if form in _CONTAINERS:
            self.read(form, content, f"{path}!/", depth)


_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", *(f"com{n}" for n in range(1, 10)), *(f"lpt{n}" for n in range(1, 10))]
)


def clean_path(name: str, longest: int) -> tuple[str, str]:
    """A member's path, relative, with `/`, in NFC, without `.` parts; and what is odd about it, or "".

    An empty path means that the member is left out: names that lead elsewhere, that hold control or direction
    characters, or that are too long to be shown.
    """
    if len(name) > longest:
        return "", f"a name of more than {longest} characters: left out"
    if any(unicodedata.category(c) in ("Cc", "Cs", "Cn") or c in "\u200e\u200f\u2028\u2029" for c in name) or any(
        "\u202a" <= c <= "\u202e" or "\u2066" <= c <= "\u2069" for c in name
    ):
        return "", "control characters in the name: left out"
    problem = ""
    path = unicodedata.normalize("NFC", name)
    if "\\" in path:
        path, problem = path.replace("\\", "/"), "backslashes in the name read as separators"
    if path.startswith("/") or (path[1:2] == ":" and path[:1].isalpha()):
        return "", "an absolute path: left out"
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        return "", "a path that leaves the archive: left out"
    if not parts:
        return "", "no name: left out"
    if any(part[-1:] == "!" for part in parts[:-1]):
        return "", "a name that imitates a nested archive: left out"
    if any(part.split(".", 1)[0].rstrip(" ").casefold() in _RESERVED or part[-1] in ". " for part in parts):
        problem = problem or "a name that some systems reserve"
    return "/".join(parts), problem


def shown(name: str) -> str:
    """A name made safe for a warning: one line, printable, at most 120 characters."""
    safe = "".join(c if c.isprintable() and c not in "\u200e\u200f" else f"\\x{ord(c):02x}" for c in name[:121])
    return safe if len(safe) <= 120 else safe[:119] + "…"
