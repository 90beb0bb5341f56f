"""Archives made by hand, honest and hostile: what `tarfile` and `zipfile` would never write."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Mapping, Sequence

PAPER = b"\\documentclass{article}\n\\begin{document}\nHello.\n\\end{document}\n"


def tar(files: Mapping[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def tar_entry(
    name: bytes, data: bytes = b"", kind: bytes = b"0", size: bytes | None = None, link: bytes = b""
) -> bytes:
    """One header with its data, every field as given; the checksum is right."""
    header = bytearray(512)
    header[:100] = name[:100].ljust(100, b"\0")
    header[100:108] = b"0000644\0"
    header[124:136] = size if size is not None else b"%011o\0" % len(data)
    header[136:148] = b"00000000000\0"
    header[156:157] = kind
    header[157:257] = link[:100].ljust(100, b"\0")
    header[257:265] = b"ustar\00000"
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + data + b"\0" * (-len(data) % 512)


def tar_of(*entries: bytes) -> bytes:
    return b"".join(entries) + b"\0" * 1024


def pax(records: Mapping[str, str]) -> bytes:
    body = b""
    for key, value in records.items():
        line = f" {key}={value}\n".encode()
        length = len(line) + len(str(len(line) + len(str(len(line)))))
        body += str(length).encode() + line
    return tar_entry(b"pax", body, b"x")


def zipped(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2025, 1, 1, 0, 0, 0)), data, method)
    return out.getvalue()


def zip_link(name: str, target: str, mode: int = 0o120777) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        info = zipfile.ZipInfo(name)
        info.create_system = 3
        info.external_attr = mode << 16
        archive.writestr(info, target)
        archive.writestr("main.tex", PAPER)
    return out.getvalue()


def raw_zip(entries: Sequence[tuple[bytes, bytes, int, int, int]]) -> bytes:
    """(name, packed bytes, method, claimed size, flags) written as they are."""
    body, directory = b"", b""
    for name, packed, method, size, flags in entries:
        offset = len(body)
        fields = struct.pack("<HHHHHLLLHH", 20, flags, method, 0, 33, 0, len(packed), size, len(name), 0)
        body += b"PK\x03\x04" + fields + name + packed
        directory += b"PK\x01\x02" + struct.pack("<H", 20) + fields[:26]
        directory += struct.pack("<HHHLL", 0, 0, 0, 0, offset) + name
    end = struct.pack("<HHHHLLH", 0, 0, len(entries), len(entries), len(directory), len(body), 0)
    return body + directory + b"PK\x05\x06" + end


def overlapping_zip(count: int, kernel: bytes) -> bytes:
    """`count` directory entries over the same compressed bytes."""
    packed = deflated(kernel)
    fields = struct.pack("<HHHHHLLLHH", 20, 0, 8, 0, 33, zlib.crc32(kernel), len(packed), len(kernel), 1, 0)
    body = b"PK\x03\x04" + fields + b"k" + packed
    directory = b""
    for number in range(count):
        name = b"%06d" % number
        directory += b"PK\x01\x02" + struct.pack("<H", 20) + fields[:22] + struct.pack("<HHHHHLL", 6, 0, 0, 0, 0, 0, 0)
        directory += name
    end = struct.pack("<HHHHLLH", 0, 0, count & 0xFFFF, count & 0xFFFF, len(directory), len(body), 0)
    return body + directory + b"PK\x05\x06" + end


def deflated(data: bytes) -> bytes:
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    return squeeze.compress(data) + squeeze.flush()


def zeros_gz(size: int) -> bytes:
    """A gzip of `size` zeros, made without holding them."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = b"\0" * (1 << 20)
    return b"".join(squeeze.compress(block) for _ in range(size >> 20)) + squeeze.flush()


def gz(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)
