"""Bytes that a world makes up: equal whenever they are read, in whatever pieces."""

import gzip
import hashlib
import io
import tarfile
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.offline.content import (
    Held,
    NotRecordedError,
    Synthesised,
    Unrecorded,
    blob_sha,
    chunks,
    lfs_pointer,
    minimal_pdf,
    packed_tar_gz,
    packed_zip,
    sha256,
    whole,
)

NAMES = st.sampled_from(["a/model.safetensors", "train.py", "x.zip", "noise", "data.parquet", "b.pdf"])


@settings(deadline=None)
@given(NAMES, st.integers(0, 200_000), st.integers(0, 210_000), st.integers(0, 210_000))
def test_any_piece_of_a_synthesised_file_is_that_piece_of_the_whole(name, size, start, stop):
    content = Synthesised(name, size)
    assert len(whole(content)) == size
    assert content.read(start, stop) == whole(content)[start:stop]


@settings(deadline=None)
@given(NAMES, st.integers(0, 300_000), st.integers(1_000, 100_000))
def test_chunks_of_a_file_join_to_the_whole(name, size, step):
    content = Synthesised(name, size)
    assert b"".join(chunks(content, 0, size, step)) == whole(content)


@settings(deadline=None)
@given(NAMES, NAMES)
def test_synthesised_files_differ_by_name_and_open_as_their_suffix_promises(one, other):
    assert (whole(Synthesised(one, 500)) == whole(Synthesised(other, 500))) == (one == other)
    assert whole(Synthesised("w.safetensors", 500))[8:].startswith(b'{"__metadata__":{}}')
    assert whole(Synthesised("w.zip", 500)).startswith(b"PK\x03\x04")
    assert whole(Synthesised("w.py", 500)).decode().startswith("# w.py")


@settings(deadline=None)
@given(st.binary(max_size=500))
def test_a_blob_is_named_as_git_names_it(data):
    assert blob_sha(Held(data)) == hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@settings(deadline=None)
@given(st.binary(max_size=500))
def test_an_lfs_pointer_tells_hash_and_size_of_the_real_bytes(data):
    lines = whole(lfs_pointer(Held(data))).decode().splitlines()
    assert lines[0] == "version https://git-lfs.github.com/spec/v1"
    assert lines[1:] == [f"oid sha256:{hashlib.sha256(data).hexdigest()}", f"size {len(data)}"]


def test_a_very_large_file_has_an_identity_without_being_read():
    huge = Synthesised("seventy-billion.safetensors", 140 << 30)
    assert len(sha256(huge)) == 64
    assert len(huge.read(100 << 30, (100 << 30) + 10)) == 10
    assert lfs_pointer(huge).size < 200


def test_reading_what_was_not_recorded_is_an_error_but_its_size_is_known():
    with pytest.raises(NotRecordedError):
        whole(Unrecorded(10))
    assert len(blob_sha(Unrecorded(10))) == 40


NAME = st.text("abc/", min_size=1, max_size=8).filter(lambda text: text.strip("/") == text and "//" not in text)
FILES = st.dictionaries(NAME, st.binary(max_size=99))


@settings(deadline=None)
@given(FILES.filter(lambda files: not any(a != b and b.startswith(a + "/") for a in files for b in files)))
def test_packages_depend_on_names_and_bytes_alone_and_unpack_to_them(files):
    held = {name: Held(data) for name, data in files.items()}
    turned = dict(reversed(held.items()))
    assert packed_tar_gz(held) == packed_tar_gz(turned)
    assert packed_zip(held) == packed_zip(turned)
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(packed_tar_gz(held)))) as archive:
        assert {member.name: archive.extractfile(member).read() for member in archive} == files
    with zipfile.ZipFile(io.BytesIO(packed_zip(held))) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == files


def test_a_minimal_pdf_points_to_its_own_objects():
    body = minimal_pdf("Tides (and \\ moons)")
    start = int(body.rsplit(b"startxref\n", 1)[1].split(b"\n")[0])
    assert body[start:].startswith(b"xref\n")
    offsets = [int(line[:10]) for line in body[start:].splitlines()[3:8]]
    assert [body[offset:].split(b" ")[0] for offset in offsets] == [b"1", b"2", b"3", b"4", b"5"]
