"""The member lists of tar and zip files, and the streams that wrap them, read from memory and never trusted.

Why not `tarfile` and `zipfile`: both keep every header in memory, follow sizes they are told, and give up at the first
damaged byte. Here a damaged or cut container yields what came before the damage and then raises `Damaged`; nothing is
written anywhere, no header can make the reader allocate, and every loop advances through the input.
"""

from __future__ import annotations

import bz2
import lzma
import re
import stat
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

BLOCK = 512
SLICE = 1 << 14
STREAMS = 10_000
"""Concatenated streams in one gzip, bzip2 or xz file; block-compressed files of 100 MB have a few thousand."""
XZ_MEMORY = 1 << 27
LONGEST_NAME_HEADER = 1 << 16


class Damaged(Exception):
    """The container cannot be read past this point; what was yielded before stands."""


class Oversized(Exception):
    """More bytes than the reader may take. `made` of them were unpacked before that was known."""

    def __init__(self, made: int = 0) -> None:
        super().__init__(made)
        self.made = made


@dataclass(frozen=True, slots=True)
class Member:
    """One entry of a container.

    `what` is "file", "folder", or the reason why it holds no readable bytes ("symbolic link", "device", "encrypted" …).
    `packed` is the number of input bytes it claims. `take(limit)` gives its bytes and a warning ("" if all is well); it
    raises `Oversized` once more than `limit` bytes come out, and `Damaged` where nothing can be read.
    """

    name: str
    what: str
    packed: int
    take: Callable[[int], tuple[bytes, str]]


def text_name(raw: bytes, fallback: str) -> str:
    """A member's name: UTF-8 where it is that, whatever the header says, else the container's old code page."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode(fallback, errors="replace")


# ---------------------------------------------------------------------------------------------------- streams


def decompressed(data: bytes, kind: str, limit: int) -> tuple[bytes, str]:
    """The content of a gzip, bzip2 or xz file of any number of streams, at most `limit` bytes; and a warning, or "".

    Damage, truncation and excess end the reading; what came before is kept, since a cut source is often still readable.
    """
    out = bytearray()
    at = 0
    for _ in range(STREAMS):
        if kind == "gzip":
            used, problem = _zlib_stream(data, at, zlib.decompressobj(wbits=31), out, limit)
        elif kind == "bzip2":
            used, problem = _file_stream(data, at, bz2.BZ2Decompressor(), out, limit)
        else:
            used, problem = _file_stream(data, at, lzma.LZMADecompressor(memlimit=XZ_MEMORY), out, limit)
        if problem:
            # Bytes after a good stream that start no new one are padding or junk, as gzip itself treats them.
            junk = at > 0 and used == 0
            return bytes(out), ("bytes after the end of the stream ignored" if junk else problem)
        at += used
        if at >= len(data):
            return bytes(out), ""
        if not data[at : at + SLICE].strip(b"\0"):
            return bytes(out), ""
    return bytes(out), f"more than {STREAMS} concatenated streams"


def _zlib_stream(data: bytes, at: int, stream: zlib._Decompress, out: bytearray, limit: int) -> tuple[int, str]:
    """Append one zlib stream that starts at `at`; input bytes used (0 if not even its header is good) and a problem."""
    start = at
    while not stream.eof:
        piece = slice_ = data[at : at + SLICE]
        if not piece:
            return at - start, "truncated stream"
        at += len(piece)
        before, kept = stream.copy(), len(out)
        try:
            while piece and not stream.eof:
                out += stream.decompress(piece, limit + 1 - len(out))
                if len(out) > limit:
                    del out[limit:]
                    return at - start, f"expands past {limit} bytes"
                piece = stream.unconsumed_tail
        except zlib.error as error:
            # One call gives all or nothing: go up to the damage byte by byte.
            del out[kept:]
            _salvage(before, slice_, out, limit)
            first = at - start <= SLICE and "header" in str(error)
            return (0 if first else at - start), f"damaged stream ({error})"
    return at - start - len(stream.unused_data), ""


def _salvage(stream: zlib._Decompress, piece: bytes, out: bytearray, limit: int) -> None:
    try:
        for at in range(len(piece)):
            tail = piece[at : at + 1]
            while tail and len(out) < limit:
                out += stream.decompress(tail, limit - len(out))
                tail = stream.unconsumed_tail
    except zlib.error:
        return


def _file_stream(
    data: bytes, at: int, stream: bz2.BZ2Decompressor | lzma.LZMADecompressor, out: bytearray, limit: int
) -> tuple[int, str]:
    start = at
    piece = b""
    try:
        while not stream.eof:
            if stream.needs_input:
                piece = data[at : at + SLICE]
                if not piece:
                    return at - start, "truncated stream"
                at += len(piece)
            else:
                piece = b""
            more = stream.decompress(piece, limit + 1 - len(out))
            if not piece and not more and not stream.needs_input and not stream.eof:
                return at - start, "damaged stream (no progress)"
            out += more
            if len(out) > limit:
                del out[limit:]
                return at - start, f"expands past {limit} bytes"
    except (OSError, EOFError, lzma.LZMAError, ValueError, MemoryError) as error:
        return (0 if at - start <= SLICE else at - start), f"damaged stream ({error})"
    return at - start - len(stream.unused_data), ""


# ---------------------------------------------------------------------------------------------------- tar

_TAR_KINDS = {
    b"0": "file",
    b"\0": "file",
    b"7": "file",
    b"1": "hard link",
    b"2": "symbolic link",
    b"3": "device",
    b"4": "device",
    b"5": "folder",
    b"6": "named pipe",
    b"S": "sparse file",
}
_NO_CONTENT = (b"1", b"2", b"3", b"4", b"5", b"6")


def _number(field: bytes) -> int:
    """A tar header's number: octal text, or base 256 behind a set high bit. Negative or malformed raises `Damaged`."""
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    text = field.split(b"\0", 1)[0].strip()
    if not text:
        return 0
    if text.strip(b"01234567"):
        raise Damaged("a number in a tar header is malformed")
    return int(text, 8)


def is_tar(data: bytes) -> bool:
    """By the checksum of the first header, since the oldest tar files have no magic."""
    return len(data) >= BLOCK and _checks(data[:BLOCK])


def _checks(header: bytes) -> bool:
    if not header.strip(b"\0"):
        return False
    try:
        stated = _number(header[148:156])
    except Damaged:
        return False
    unsigned = sum(header) - sum(header[148:156]) + 8 * 32
    if stated == unsigned:
        return True
    # Some old writers summed signed bytes.
    return bool(stated == unsigned - 256 * sum(b > 127 for b in header[:148] + header[156:]))


def tar_members(data: bytes) -> Iterator[Member]:
    """Every entry of a tar file (v7, ustar, GNU long names, pax), in order; `Damaged` at the first bad header."""
    view = memoryview(data)
    at = 0
    long_name: str | None = None
    pax: dict[str, str] = {}
    empty = 0
    while at + BLOCK <= len(data):
        header = data[at : at + BLOCK]
        if not header.strip(b"\0"):
            empty += 1
            at += BLOCK
            if empty == 2:
                return
            continue
        empty = 0
        if not _checks(header):
            raise Damaged(f"tar header at byte {at} is damaged")
        kind = header[156:157]
        size = _number(header[124:136])
        if kind not in b"xgLK" and "size" in pax:
            size = int(pax["size"]) if pax["size"].isascii() and pax["size"].isdigit() else size
        start = at + BLOCK
        if kind in _NO_CONTENT:
            size = 0
        at = start + -(-size // BLOCK) * BLOCK
        if kind in b"xgLK":
            payload = data[start : start + min(size, LONGEST_NAME_HEADER)]
            if kind == b"L":
                long_name = text_name(payload.split(b"\0", 1)[0], "latin-1")
            elif kind == b"x":
                pax = _pax(payload)
            continue
        name = pax.get("path") or long_name or _tar_name(header)
        what = _TAR_KINDS.get(kind, "special entry")
        if "GNU.sparse.major" in pax or "GNU.sparse.size" in pax:
            what = "sparse file"
        if what == "file" and name.endswith("/"):
            what = "folder"
        long_name, pax = None, {}
        body = view[start : min(start + size, len(data))]
        yield Member(name, what, size, lambda limit, body=body, size=size: _stored(body, size, limit))  # type: ignore[misc]
    if at > len(data) or (not empty and at != len(data)):
        raise Damaged("truncated tar")


def _tar_name(header: bytes) -> str:
    name = header[:100].split(b"\0", 1)[0]
    prefix = header[345:500].split(b"\0", 1)[0]
    if header[257:263] == b"ustar\0" and prefix:
        name = prefix + b"/" + name
    return text_name(name, "latin-1")


def _pax(payload: bytes) -> dict[str, str]:
    """The records `length key=value\\n` of a pax header; a malformed one ends the reading."""
    found: dict[str, str] = {}
    at = 0
    while at < len(payload):
        space = payload.find(b" ", at, at + 12)
        if space < 0 or not payload[at:space].isdigit():
            break
        length = int(payload[at:space])
        if length <= space - at + 1:
            break
        key, equals, value = payload[space + 1 : at + length - 1].partition(b"=")
        if equals:
            found[text_name(key, "latin-1")] = text_name(value, "latin-1")
        at += length
    return found


def _stored(body: memoryview, size: int, limit: int) -> tuple[bytes, str]:
    if size > limit and len(body) > limit:
        raise Oversized
    if len(body) < size:
        return bytes(body), f"truncated: {len(body)} of {size} bytes"
    return bytes(body), ""


# ---------------------------------------------------------------------------------------------------- zip

_END = b"PK\x05\x06"
_CENTRAL = b"PK\x01\x02"
_LOCAL = b"PK\x03\x04"
_HEADER = re.compile(rb"PK(?:\x01\x02|\x03\x04)")


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    mode: int
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    offset: int


def zip_members(data: bytes) -> Iterator[Member]:
    """Every entry of a zip file, by its central directory or, where that is missing, by its local headers.

    The second way raises `Damaged` at its end, since a zip without a directory is a cut one.
    """
    end = data.rfind(_END, max(0, len(data) - (1 << 16) - 22))
    if end >= 0 and end + 22 <= len(data):
        yield from (_zip_member(data, entry) for entry in _central_directory(data, end))
        return
    yield from (_zip_member(data, entry) for entry in _local_headers(data))
    raise Damaged("truncated zip: no central directory")


def _central_directory(data: bytes, end: int) -> Iterator[_Entry]:
    size, start = struct.unpack_from("<LL", data, end + 12)
    last = end
    if size == 0xFFFFFFFF or start == 0xFFFFFFFF:
        wide = data.rfind(b"PK\x06\x06", 0, end)
        if wide < 0 or wide + 56 > len(data):
            raise Damaged("zip64 directory not found")
        size, start = struct.unpack_from("<QQ", data, wide + 40)
        last = wide
    # Bytes before the archive (a self-extractor's stub) shift every offset by the same amount.
    shift = last - size - start
    if shift < 0:
        raise Damaged("zip directory lies outside the file")
    at = start + shift
    while at + 46 <= last:
        if data[at : at + 4] != _CENTRAL:
            raise Damaged(f"zip directory is damaged at byte {at}")
        made, flags, method, crc, packed, full, name_length, extra_length, comment_length = struct.unpack_from(
            "<4xH2xHH4xLLLHHH", data, at
        )
        attributes, offset = struct.unpack_from("<LL", data, at + 38)
        raw = data[at + 46 : at + 46 + name_length]
        extra = data[at + 46 + name_length : at + 46 + name_length + extra_length]
        full, packed, offset = _wide(extra, full, packed, offset)
        mode = attributes >> 16 if made >> 8 in (3, 19) else 0
        yield _Entry(text_name(raw, "cp437"), mode, flags, method, crc, packed, full, offset + shift)
        at += 46 + name_length + extra_length + comment_length


def _wide(extra: bytes, full: int, packed: int, offset: int) -> tuple[int, int, int]:
    """Replace the 32-bit fields that are all ones by those of the zip64 extra field."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            body = extra[at + 4 : at + 4 + length]
            values = list(struct.unpack(f"<{len(body) // 8}Q", body[: len(body) // 8 * 8]))
            if full == 0xFFFFFFFF and values:
                full = values.pop(0)
            if packed == 0xFFFFFFFF and values:
                packed = values.pop(0)
            if offset == 0xFFFFFFFF and values:
                offset = values.pop(0)
        at += 4 + length
    return full, packed, offset


def _local_headers(data: bytes) -> Iterator[_Entry]:
    at = data.find(_LOCAL)
    while 0 <= at <= len(data) - 30:
        flags, method, crc, packed, full, name_length, extra_length = struct.unpack_from("<6xHH4xLLLHH", data, at)
        start = at + 30 + name_length + extra_length
        name = text_name(data[at + 30 : at + 30 + name_length], "cp437")
        if flags & 8 and packed == 0:
            # Sizes stand behind the content, which ends itself; the next header bounds it from above.
            following = _HEADER.search(data, start)
            packed, full, crc = (following.start() if following else len(data)) - start, -1, -1
        yield _Entry(name, 0, flags, method, crc, packed, full, at)
        at = data.find(_LOCAL, start + max(packed, 0))


def _zip_member(data: bytes, entry: _Entry) -> Member:
    what = "file"
    if stat.S_ISLNK(entry.mode):
        what = "symbolic link"
    elif stat.S_ISCHR(entry.mode) or stat.S_ISBLK(entry.mode):
        what = "device"
    elif stat.S_ISFIFO(entry.mode) or stat.S_ISSOCK(entry.mode):
        what = "named pipe"
    elif entry.name.endswith(("/", "\\")) or stat.S_ISDIR(entry.mode):
        what = "folder"
    elif entry.flags & 1:
        what = "encrypted"
    elif entry.method not in (0, 8, 12):
        what = f"compressed by method {entry.method}"
    return Member(entry.name, what, entry.packed, lambda limit: _zip_content(data, entry, limit))


def _zip_content(data: bytes, entry: _Entry, limit: int) -> tuple[bytes, str]:
    if data[entry.offset : entry.offset + 4] != _LOCAL or entry.offset + 30 > len(data):
        raise Damaged("no local header where the directory says")
    if entry.size > limit:
        raise Oversized
    name_length, extra_length = struct.unpack_from("<HH", data, entry.offset + 26)
    start = entry.offset + 30 + name_length + extra_length
    body = data[start : start + entry.packed]
    out = bytearray()
    problem = ""
    if entry.method == 0:
        content, problem = _stored(memoryview(body), entry.packed, limit)
        out += content
    elif entry.method == 8:
        _, problem = _zlib_stream(body, 0, zlib.decompressobj(wbits=-15), out, limit)
    else:
        _, problem = _file_stream(body, 0, bz2.BZ2Decompressor(), out, limit)
    if problem.startswith("expands past"):
        raise Oversized(limit)
    if not problem and entry.crc >= 0 and zlib.crc32(out) != entry.crc:
        problem = "checksum differs"
    return bytes(out), problem
