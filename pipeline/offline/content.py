"""Bytes a world serves: stored, written in place, synthesised to a size, or known to exist but not recorded."""

import gzip
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

_BLOCK = 65_536
_HASHED_FULLY = 8 << 20
"""Up to this size a synthesised file's hash is that of its bytes; beyond, a stand-in (nobody fetches it whole)."""

_TEXT_SUFFIXES = frozenset(
    f".{suffix}"
    for line in (
        "bib bst c cfg cls cpp csv cu h htm html ini ipynb java jl js json jsonl lua m md py r rst sh sty",
        "tex toml tsv txt xml yaml yml",
    )
    for suffix in line.split()
)
_MAGIC = {
    ".bin": b"PK\x03\x04",
    ".ckpt": b"PK\x03\x04",
    ".gguf": b"GGUF\x03\x00\x00\x00",
    ".gz": b"\x1f\x8b\x08\x00",
    ".h5": b"\x89HDF\r\n\x1a\n",
    ".jpg": b"\xff\xd8\xff\xe0",
    ".npz": b"PK\x03\x04",
    ".parquet": b"PAR1",
    ".pdf": b"%PDF-1.4\n",
    ".png": b"\x89PNG\r\n\x1a\n",
    ".pt": b"PK\x03\x04",
    ".pth": b"PK\x03\x04",
    ".safetensors": b'\x14\x00\x00\x00\x00\x00\x00\x00{"__metadata__":{}} ',
    ".zip": b"PK\x03\x04",
}
_TYPES = {
    ".gz": "application/gzip",
    ".htm": "text/html; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".jpg": "image/jpeg",
    ".json": "application/json",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".zip": "application/zip",
}


class NotRecordedError(LookupError):
    """The world knows that a file exists, not what is in it: the answer is *unreachable*, never *absent*."""


@dataclass(frozen=True)
class Held:
    data: bytes

    @property
    def size(self) -> int:
        return len(self.data)

    def read(self, start: int, stop: int) -> bytes:
        return self.data[start:stop]


@dataclass(frozen=True)
class Stored:
    """A file as it was when the world was loaded; `changed` (ns) keeps a cached hash from outliving it."""

    path: Path
    size: int
    changed: int

    @classmethod
    def at(cls, path: Path) -> "Stored":
        told = path.stat()
        return cls(path, told.st_size, told.st_mtime_ns)

    def read(self, start: int, stop: int) -> bytes:
        with self.path.open("rb") as stream:
            stream.seek(start)
            return stream.read(stop - start)


@dataclass(frozen=True)
class Synthesised:
    """`size` bytes that depend on `name` alone: opening as the suffix promises, then one block repeated."""

    name: str
    size: int

    def read(self, start: int, stop: int) -> bytes:
        stop = min(stop, self.size)
        if start >= stop:
            return b""
        suffix = PurePosixPath(self.name).suffix.lower()
        block = _text_block(self.name) if suffix in _TEXT_SUFFIXES else _noise_block(self.name)
        first = start // _BLOCK
        body = block * (1 + (stop - 1) // _BLOCK - first)
        body = body[start - first * _BLOCK : stop - first * _BLOCK]
        magic = _MAGIC.get(suffix, b"")[start:stop]
        return magic + body[len(magic) :]


@dataclass(frozen=True)
class Unrecorded:
    size: int

    def read(self, start: int, stop: int) -> bytes:
        raise NotRecordedError


Content = Held | Stored | Synthesised | Unrecorded


@lru_cache(maxsize=64)
def _noise_block(name: str) -> bytes:
    return hashlib.shake_256(name.encode()).digest(_BLOCK)


@lru_cache(maxsize=64)
def _text_block(name: str) -> bytes:
    line = f"# {PurePosixPath(name).name} {hashlib.sha256(name.encode()).hexdigest()[:16]}\n".encode()
    return (line * (_BLOCK // len(line) + 1))[: _BLOCK - 1] + b"\n"


def whole(content: Content) -> bytes:
    return content.read(0, content.size)


def chunks(content: Content, start: int, stop: int, step: int = 1 << 18) -> Iterator[bytes]:
    for at in range(start, stop, step):
        yield content.read(at, min(at + step, stop))


@lru_cache(maxsize=65_536)
def sha256(content: Content) -> str:
    """Hash of the bytes; an opaque stand-in for what is not recorded, or synthesised beyond 8 MiB."""
    digest = hashlib.sha256()
    if isinstance(content, Unrecorded):
        digest.update(f"unrecorded {content.size}".encode())
    elif isinstance(content, Synthesised) and content.size > _HASHED_FULLY:
        digest.update(f"{content.name} {content.size}".encode())
    else:
        for chunk in chunks(content, 0, content.size):
            digest.update(chunk)
    return digest.hexdigest()


@lru_cache(maxsize=65_536)
def blob_sha(content: Content) -> str:
    """Git's object id, where the bytes are known and few; otherwise a stand-in of the same form."""
    if isinstance(content, Unrecorded) or content.size > _HASHED_FULLY:
        return hashlib.sha1(f"{content.size} {sha256(content)}".encode(), usedforsecurity=False).hexdigest()
    return hashlib.sha1(b"blob %d\0" % content.size + whole(content), usedforsecurity=False).hexdigest()


def lfs_pointer(content: Content) -> Held:
    """What git holds in place of a large file (git-lfs specification, v1)."""
    lines = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256(content)}\nsize {content.size}\n"
    return Held(lines.encode())


def media_type(name: str) -> str:
    suffix = PurePosixPath(name).suffix.lower()
    plain = "text/plain; charset=utf-8" if suffix in _TEXT_SUFFIXES or not suffix else "application/octet-stream"
    return _TYPES.get(suffix, plain)


def packed_tar_gz(files: Mapping[str, Content]) -> bytes:
    """A tar.gz that depends on names and bytes alone: sorted, no owner, no time."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in _in_order(files):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = content.size, 0o644
            archive.addfile(entry, io.BytesIO(whole(content)))
    return gzip.compress(plain.getvalue(), compresslevel=6, mtime=0)


def packed_gzip(content: Content) -> bytes:
    return gzip.compress(whole(content), compresslevel=6, mtime=0)


def packed_zip(files: Mapping[str, Content], prefix: str = "") -> bytes:
    """A zip that depends on names and bytes alone: sorted, every entry dated at the format's epoch."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in _in_order(files):
            entry = zipfile.ZipInfo(prefix + name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
            archive.writestr(entry, whole(content))
    return stream.getvalue()


def minimal_pdf(text: str) -> bytes:
    """A one-page PDF that says `text`: enough for a reader to open and a sniffer to name."""
    shown = text.encode("latin-1", "replace").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
    page = b"BT /F1 11 Tf 72 720 Td (" + shown + b") Tj ET"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n" % len(page) + page + b"\nendstream",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj" % number + body + b"endobj\n"
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    end = b"xref\n0 6\n0000000000 65535 f \n" + table + b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n"
    return bytes(out) + end % len(out)


def _in_order(files: Mapping[str, Content]) -> Iterable[tuple[str, Content]]:
    return sorted(files.items())


def stable_id(*parts: str, digits: int = 9) -> int:
    """A positive number that stands for some names, the same in every process."""
    text = "\0".join(parts).encode()
    least = int("1" + "0" * (digits - 1))
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big") % (9 * least) + least


def stable_hex(*parts: str) -> str:
    """40 hex digits that stand for some names."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]
