"""Archives as they come: honest ones are read whole, hostile ones cost a member, a warning or themselves, no more."""

from __future__ import annotations

import bz2
import importlib.util
import io
import lzma
import os
import sys
import tarfile
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.archives import MB, SOURCE, SUPPLEMENT, Limits, Refused, Unpacked, clean_path, listing, sniff, unpack

_spec = importlib.util.spec_from_file_location("hostile_archives", Path(__file__).with_name("hostile.py"))
assert _spec
assert _spec.loader
h = importlib.util.module_from_spec(_spec)
sys.modules["hostile_archives"] = h
_spec.loader.exec_module(h)

PAPER: bytes = h.PAPER
SMALL = Limits(total_bytes=4 * MB, file_bytes=2 * MB, free_bytes=MB, members=2_000, depth=2)


# ---------------------------------------------------------------------------------------------------- honest archives


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_tar_form_is_read_with_long_and_foreign_names(form: int) -> None:
    files = {"main.tex": PAPER, "figs/" + "d" * 90 + "/" + "n" * 60 + ".tex": b"x" * 1000, "empty.tex": b""}
    if form != tarfile.USTAR_FORMAT:
        files["été/" + "é" * 120 + ".tex"] = b"y"
    unpacked = unpack(h.tar(files, form))
    assert unpacked.files == files
    assert unpacked.kind == "tar"
    assert unpacked.warnings == ()


@pytest.mark.parametrize("squeeze", [h.gz, bz2.compress, lzma.compress, lambda data: data])
def test_a_tar_is_read_whatever_wraps_it(squeeze: Callable[[bytes], bytes]) -> None:
    unpacked = unpack(squeeze(h.tar({"main.tex": PAPER})))
    assert unpacked.files == {"main.tex": PAPER}
    assert unpacked.kind == "tar"


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_zips_are_read_by_every_usual_method(method: int) -> None:
    files = {"a/main.py": b"print(1)\n" * 100, "b.txt": b""}
    assert unpack(h.zipped(files, method)).files == files


def test_a_zip64_directory_and_a_stub_before_the_archive_are_understood() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive, archive.open("main.tex", "w", force_zip64=True) as member:
        member.write(PAPER)
    assert unpack(out.getvalue()).files == {"main.tex": PAPER}
    stubbed = unpack(b"PK\x03\x04 is not my header" + out.getvalue())
    assert stubbed.files == {"main.tex": PAPER}


def test_a_zip_made_as_a_stream_is_read() -> None:
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.out = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:  # type: ignore[override]
            self.out += bytes(data)  # type: ignore[call-overload]
            return len(bytes(data))  # type: ignore[call-overload]

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:  # type: ignore[arg-type]
        archive.writestr("main.tex", PAPER)
        archive.writestr("two.tex", PAPER * 2)
    whole = bytes(pipe.out)
    assert unpack(whole).files == {"main.tex": PAPER, "two.tex": PAPER * 2}
    cut = unpack(whole[: whole.rfind(b"PK\x05\x06")][: whole.find(b"PK\x01\x02")])
    assert cut.files == {"main.tex": PAPER, "two.tex": PAPER * 2}
    assert any("no central directory" in w for w in cut.warnings)


def test_one_gzipped_file_is_a_source_by_itself() -> None:
    unpacked = unpack(h.gz(PAPER))
    assert unpacked.files == {"source.tex": PAPER}
    assert unpacked.kind == "gzip"


def test_a_gzip_of_many_streams_is_one_file() -> None:
    assert unpack(h.gz(PAPER[:20]) + h.gz(PAPER[20:])).files == {"source.tex": PAPER}


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PAPER, "tex"),
        (b"%auto-ignore\nThis paper has been withdrawn.\n", "text"),
        (b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n\0\0", "pdf"),
        (b"%!PS-Adobe-2.0\n", "postscript"),
        (b"\n<!DOCTYPE html>\n<html><body>rate exceeded</body></html>", "html"),
        (b'<?xml version="1.0"?><html xmlns="x"></html>', "html"),
        ("\\documentclass{article} % é".encode("latin-1"), "tex"),
    ],
)
def test_the_content_decides_what_a_bare_file_is(data: bytes, kind: str) -> None:
    assert unpack(data).kind == kind
    assert list(unpack(data).files.values()) == [data]


def test_a_pdf_in_a_gzip_is_a_pdf() -> None:
    assert unpack(h.gz(b"%PDF-1.4\n...")).kind == "pdf"


def test_archives_inside_a_supplement_are_opened_and_inside_a_source_are_not() -> None:
    inner = h.zipped({"src/train.py": b"import torch\n"})
    data = h.zipped({"code.zip": inner, "data.tar.gz": h.gz(h.tar({"x.csv": b"1,2\n"}))})
    assert set(unpack(data, SUPPLEMENT).files) == {
        "code.zip",
        "code.zip!/src/train.py",
        "data.tar.gz",
        "data.tar.gz!/x.csv",
    }
    assert set(unpack(data, SOURCE).files) == {"code.zip", "data.tar.gz"}
    assert [(e.path, e.size) for e in listing(inner)] == [("src/train.py", 13)]
    assert listing(b"no archive") == ()


# --------------------------------------------------------------------------------------------------- hostile archives

GOOD = h.tar_entry(b"main.tex", PAPER)

LEFT_OUT: dict[str, tuple[bytes, str]] = {
    # name: (archive with main.tex and one bad member, part of the warning)
    "parent path": (h.tar_of(GOOD, h.tar_entry(b"../../evil.tex", b"x")), "leaves the archive"),
    "parent path inside": (h.tar_of(GOOD, h.tar_entry(b"a/../../evil.tex", b"x")), "leaves the archive"),
    "parent path in pax": (h.tar_of(GOOD, h.pax({"path": "../evil"}), h.tar_entry(b"ok", b"x")), "leaves the archive"),
    "absolute path": (h.tar_of(GOOD, h.tar_entry(b"/etc/passwd", b"x")), "absolute path"),
    "drive letter": (h.tar_of(GOOD, h.tar_entry(b"C:/evil.tex", b"x")), "absolute path"),
    "network path": (h.tar_of(GOOD, h.tar_entry(b"\\\\host\\share", b"x")), "absolute path"),
    "parent by backslash": (h.zipped({"main.tex": PAPER, "..\\..\\evil": b"x"}), "leaves the archive"),
    "symbolic link": (h.tar_of(GOOD, h.tar_entry(b"l.tex", kind=b"2", link=b"/etc/passwd")), "symbolic link"),
    "hard link": (h.tar_of(GOOD, h.tar_entry(b"l.tex", kind=b"1", link=b"../x")), "hard link"),
    "character device": (h.tar_of(GOOD, h.tar_entry(b"null", kind=b"3")), "device"),
    "block device": (h.tar_of(GOOD, h.tar_entry(b"sda", kind=b"4")), "device"),
    "named pipe": (h.tar_of(GOOD, h.tar_entry(b"pipe", kind=b"6")), "named pipe"),
    "sparse file": (h.tar_of(GOOD, h.tar_entry(b"s", b"x", kind=b"S")), "sparse file"),
    "pax sparse file": (
        h.tar_of(GOOD, h.pax({"GNU.sparse.major": "1", "GNU.sparse.realsize": "1" * 15}), h.tar_entry(b"s", b"x")),
        "sparse file",
    ),
    "unknown entry": (h.tar_of(GOOD, h.tar_entry(b"v", kind=b"V")), "special entry"),
    "zip symbolic link": (h.zip_link("link", "/etc/passwd"), "symbolic link"),
    "zip device": (h.zip_link("dev", "", 0o020666), "device"),
    "zip pipe": (h.zip_link("fifo", "", 0o010666), "named pipe"),
    "encrypted": (h.raw_zip([(b"main.tex", PAPER, 0, len(PAPER), 0), (b"e", b"xx", 8, 2, 1)]), "encrypted"),
    "method 14": (h.raw_zip([(b"main.tex", PAPER, 0, len(PAPER), 0), (b"l", b"xx", 14, 2, 0)]), "method 14"),
    "newline in the name": (h.tar_of(GOOD, h.tar_entry(b"a\nmain.tex", b"x")), "control characters"),
    "escape in the name": (h.tar_of(GOOD, h.tar_entry(b"\x1b[2Ja", b"x")), "control characters"),
    "NUL in the name": (h.tar_of(GOOD, h.pax({"path": "a\0.tex"}), h.tar_entry(b"ok", b"x")), "control characters"),
    "reversed direction": (h.tar_of(GOOD, h.pax({"path": "a\u202exet.exe"}), h.tar_entry(b"o", b"x")), "control char"),
    "very long name": (h.tar_of(GOOD, h.pax({"path": "n" * 5000}), h.tar_entry(b"ok", b"x")), "more than 512"),
    "no name": (h.tar_of(GOOD, h.tar_entry(b"./.", b"x")), "no name"),
    "file under a file": (h.tar_of(GOOD, h.tar_entry(b"main.tex/x", b"x")), "both a file and a folder"),
    "imitates nesting": (h.tar_of(GOOD, h.tar_entry(b"code.zip!/x", b"x")), "imitates"),
    "zip bomb that lies": (
        h.raw_zip([(b"main.tex", PAPER, 0, len(PAPER), 0), (b"b", h.deflated(b"\0" * (8 * MB)), 8, 10, 0)]),
        "larger than the limits",
    ),
    "zip bomb that says so": (h.zipped({"main.tex": PAPER, "b": b"\0" * (8 * MB)}), "larger than the limits"),
}


@pytest.mark.parametrize("name", sorted(LEFT_OUT))
def test_a_bad_member_is_left_out_with_a_warning_and_the_rest_is_read(name: str) -> None:
    data, told = LEFT_OUT[name]
    unpacked = unpack(data, SMALL)
    assert unpacked.files == {"main.tex": PAPER}
    assert any(told in warning for warning in unpacked.warnings), unpacked.warnings
    assert all(warning.isprintable() for warning in unpacked.warnings)


READ_WITH_WARNING: dict[str, tuple[bytes, dict[str, bytes], str]] = {
    "backslashes": (h.zipped({"src\\main.tex": PAPER}), {"src/main.tex": PAPER}, "backslashes"),
    "reserved": (h.tar_of(GOOD, h.tar_entry(b"aux.tex", b"x")), {"main.tex": PAPER, "aux.tex": b"x"}, "reserve"),
    "case twins": (h.tar_of(GOOD, h.tar_entry(b"Main.tex", b"x")), {"main.tex": PAPER, "Main.tex": b"x"}, "case only"),
    "twice": (h.tar_of(h.tar_entry(b"main.tex", b"old"), GOOD), {"main.tex": PAPER}, "appears twice"),
    "twice by normal form": (
        h.tar_of(h.tar_entry("e\u0301.tex".encode(), b"1"), h.tar_entry("é.tex".encode(), b"2")),
        {"é.tex": b"2"},
        "appears twice",
    ),
    "cut tar": (
        h.tar_of(GOOD, h.tar_entry(b"b.tex", b"y" * 5000))[:3000],
        {"main.tex": PAPER, "b.tex": b"y" * 1464},
        "truncated",
    ),
    "size beyond the file": (
        GOOD + h.tar_entry(b"b.tex", b"y", size=b"77777777777\0"),
        {"main.tex": PAPER, "b.tex": b"y" + b"\0" * 511},
        "truncated",
    ),
    "damaged header": (GOOD + b"\x01" * 1024, {"main.tex": PAPER}, "damaged"),
    "absurd size": (GOOD + h.tar_entry(b"b", b"y", size=b"zzzzzzzzzzz\0"), {"main.tex": PAPER}, "malformed"),
    "size in base 256": (
        GOOD + h.tar_entry(b"b", b"y", size=b"\x80" + b"\x7f" * 11),
        {"main.tex": PAPER, "b": b"y" + b"\0" * 511},
        "truncated",
    ),
    "pax size that lies": (
        h.tar_of(GOOD, h.pax({"size": "99999999999999999999"}), h.tar_entry(b"b", b"y")),
        {"main.tex": PAPER, "b": b"y" + b"\0" * 1535},
        "truncated",
    ),
    "no end": (GOOD[:-100], {"main.tex": PAPER}, "truncated"),
    "junk after gzip": (h.gz(h.tar({"main.tex": PAPER})) + b"junk" * 9, {"main.tex": PAPER}, "ignored"),
    "broken checksum in gzip": (
        h.gz(h.tar({"main.tex": PAPER}))[:-8] + b"\0" * 8,
        {"main.tex": PAPER},
        "damaged stream",
    ),
    "cut zip": (
        h.zipped({"main.tex": PAPER, "b.txt": b"z"}, 0)[:-60],
        {"main.tex": PAPER, "b.txt": b"z"},
        "no central",
    ),
    "checksum differs": (
        h.zipped({"main.tex": PAPER}, 0).replace(b"Hello", b"Jello"),
        {"main.tex": PAPER.replace(b"Hello", b"Jello")},
        "checksum differs",
    ),
}


@pytest.mark.parametrize("name", sorted(READ_WITH_WARNING))
def test_what_can_be_read_of_an_odd_archive_is_read_with_a_warning(name: str) -> None:
    data, files, told = READ_WITH_WARNING[name]
    unpacked = unpack(data, SMALL)
    assert unpacked.files == files
    assert any(told in warning for warning in unpacked.warnings), unpacked.warnings


REFUSED = {
    "nothing": b"",
    "an empty stream": h.gz(b""),
    "rar": b"Rar!\x1a\x07\x01\x00 anything",
    "7z": b"7z\xbc\xaf\x27\x1c anything",
    "zstd": b"\x28\xb5\x2f\xfd anything",
    "unix compress": b"\x1f\x9d\x90 anything",
    "noise": bytes(range(256)) * 9,
    "gzip in name only": b"\x1f\x8b\x08\x00 not at all",
    "compressed too often": h.gz(h.gz(h.gz(h.gz(PAPER)))),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_cannot_be_used_is_refused_with_a_reason(name: str) -> None:
    with pytest.raises(Refused) as refused:
        unpack(REFUSED[name])
    assert len(str(refused.value)) > 10


def test_there_are_at_least_forty_hostile_archives() -> None:
    assert len(LEFT_OUT) + len(READ_WITH_WARNING) + len(REFUSED) >= 50


@pytest.mark.slow
def test_a_gzip_bomb_stops_at_the_allowance_in_little_memory() -> None:
    bomb = h.zeros_gz(256 * MB)
    tracemalloc.start()
    try:
        with pytest.raises(Refused):
            unpack(bomb, SMALL)
        assert tracemalloc.get_traced_memory()[1] < 40 * MB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("squeeze", [bz2.compress, lzma.compress])
@pytest.mark.slow
def test_bzip2_and_xz_bombs_stop_at_the_allowance(squeeze: Callable[[bytes], bytes]) -> None:
    bomb = squeeze(h.tar({"main.tex": PAPER, "z": b"\0" * (64 * MB)}))
    tracemalloc.start()
    try:
        unpacked = unpack(bomb, SMALL)
        assert tracemalloc.get_traced_memory()[1] < 60 * MB
    finally:
        tracemalloc.stop()
    assert unpacked.files["main.tex"] == PAPER
    assert any("expands past" in w for w in unpacked.warnings)


def test_a_tar_bomb_of_many_big_files_keeps_within_the_total() -> None:
    data = h.gz(h.tar({"main.tex": PAPER, **{f"{n}.bin": b"\0" * MB for n in range(20)}}))
    unpacked = unpack(data, SMALL)
    assert unpacked.files["main.tex"] == PAPER
    assert sum(map(len, unpacked.files.values())) <= SMALL.total_bytes


def test_a_zip_whose_members_share_their_bytes_stops_at_once() -> None:
    data = h.overlapping_zip(20_000, b"\0" * (16 * MB))
    started = time.process_time()
    unpacked = unpack(data, Limits(total_bytes=64 * MB))
    assert time.process_time() - started < 5
    assert sum(map(len, unpacked.files.values())) <= 64 * MB
    assert any("overlap" in w or "larger" in w for w in unpacked.warnings)


def test_a_zip_of_many_liars_stops_before_it_has_cost_much() -> None:
    packed = h.deflated(b"\0" * (3 * MB))
    data = h.raw_zip([(b"%04d" % n, packed, 8, 10, 0) for n in range(1_000)])
    started = time.process_time()
    unpacked = unpack(data, SMALL)
    assert time.process_time() - started < 3
    assert unpacked.files == {}
    assert any("lie about their size" in w for w in unpacked.warnings)


def test_archives_in_archives_are_opened_only_so_deep() -> None:
    data = h.zipped({"end.txt": b"x"})
    for _ in range(6):
        data = h.zipped({"in.zip": data})
    unpacked = unpack(data, SUPPLEMENT)
    assert max(path.count("!/") for path in unpacked.files) == 2


def test_a_quine_of_nested_archives_shares_one_budget() -> None:
    level = h.zipped({f"{n}.bin": b"\0" * MB for n in range(10)})
    data = h.zipped({f"{n}.zip": level for n in range(50)})
    unpacked = unpack(data, SMALL)
    assert sum(map(len, unpacked.files.values())) <= SMALL.total_bytes


@pytest.mark.slow
def test_a_hundred_thousand_files_are_cut_at_the_limit_in_bounded_time() -> None:
    entry = h.tar_entry(b"a", b"")
    data = h.gz(GOOD + entry * 99_999)
    started = time.process_time()
    many = unpack(data)
    assert time.process_time() - started < 10
    assert many.files["main.tex"] == PAPER
    assert any("the rest is not read" in w for w in many.warnings)
    assert len(many.warnings) < 100


def test_a_hundred_thousand_bad_names_give_few_warnings_and_a_count() -> None:
    data = h.gz(GOOD + h.tar_entry(b"../a", b"") * 30_000)
    unpacked = unpack(data)
    assert len(unpacked.warnings) < 50
    assert any("30000 members in all" in w for w in unpacked.warnings)


def test_code_is_not_lost_because_data_came_before_it() -> None:
    limits = Limits(total_bytes=4 * MB, file_bytes=2 * MB, free_bytes=4 * MB, small_bytes=10_000)
    data = h.zipped({**{f"{n}.bin": os.urandom(MB) for n in range(8)}, "train.py": b"import torch\n" * 100}, 0)
    unpacked = unpack(data, limits)
    assert "train.py" in unpacked.files
    assert sum(map(len, unpacked.files.values())) <= 4 * MB
    assert any("larger than the limits" in w for w in unpacked.warnings)


def test_oddities_that_differ_in_detail_are_counted_too() -> None:
    twins = {f"{name}{n}.tex": b"" for n in range(3_000) for name in ("a", "A")}
    unpacked = unpack(h.tar(twins))
    assert len(unpacked.files) == 6_000
    assert len(unpacked.warnings) < 50


def test_a_single_gzip_file_in_a_supplement_is_not_unpacked() -> None:
    data = h.zipped({"data.csv.gz": h.gz(b"1,2\n" * 1000), "x.tar.gz": h.gz(h.tar({"a.py": b"x"}))})
    assert set(unpack(data, SUPPLEMENT).files) == {"data.csv.gz", "x.tar.gz", "x.tar.gz!/a.py"}


def test_a_gzip_of_a_million_empty_streams_ends_soon() -> None:
    started = time.process_time()
    with pytest.raises(Refused):
        unpack(h.gz(b"") * 500_000)
    assert time.process_time() - started < 10


def test_local_headers_without_end_are_scanned_in_linear_time() -> None:
    started = time.process_time()
    unpack(b"PK\x03\x04" + b"\0" * 2 + b"\x08\0" + b"\0" * 22 + b"PK\x03\x04" * 500_000, SMALL)
    assert time.process_time() - started < 10


def test_nothing_is_written_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for data, _ in LEFT_OUT.values():
        unpack(data, SMALL)
    assert os.listdir(tmp_path) == []  # noqa: PTH208


# -------------------------------------------------------------------------------------------------------- properties

names = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn")), min_size=1, max_size=40)
trees = st.dictionaries(
    st.lists(names.filter(lambda n: "/" not in n and "\\" not in n), min_size=1, max_size=3).map("/".join),
    st.binary(max_size=600),
    max_size=6,
)


@settings(max_examples=150, deadline=None)
@given(trees, st.sampled_from([tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]))
@pytest.mark.slow
def test_what_the_standard_library_packs_is_what_we_read(files: dict[str, bytes], form: int) -> None:
    kept = {path: data for path, data in files.items() if clean_path(path, 512) == (path, "")}
    kept = {p: d for p, d in kept.items() if not any(o != p and o.startswith(p + "/") for o in kept)}
    if form == tarfile.USTAR_FORMAT:
        kept = {p: d for p, d in kept.items() if len(p.encode()) < 100}
    if kept:
        assert unpack(h.gz(h.tar(kept, form))).files == kept
        assert unpack(h.zipped(kept)).files == kept


def unpacked_or_none(data: bytes) -> Unpacked | None:
    """The only other end there is: `Refused` with a reason."""
    try:
        return unpack(data, SMALL)
    except Refused as refused:
        if not str(refused):
            raise
        return None


@settings(max_examples=300, deadline=None)
@given(st.data())
@pytest.mark.slow
def test_mutated_archives_are_read_or_refused_within_the_limits(data: st.DataObject) -> None:
    base = data.draw(st.sampled_from(SEEDS))
    body = bytearray(base)
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(body) - 1))
        how = data.draw(st.sampled_from(["set", "cut", "copy", "drop"]))
        if how == "set":
            body[at] = data.draw(st.integers(0, 255))
        elif how == "cut":
            del body[max(at, 1) :]
        elif how == "copy":
            body[at:at] = body[at : at + 40]
        else:
            del body[at : min(at + 8, len(body) - 1)]
    mutated = bytes(body)
    unpacked = unpacked_or_none(mutated)
    if unpacked is None:
        return
    assert sum(map(len, unpacked.files.values())) <= max(SMALL.total_bytes, len(mutated))
    for path in unpacked.files:
        assert path == os.path.normpath(path)
        assert not path.startswith(("/", ".."))
    assert unpack(mutated, SMALL) == unpacked


SEEDS = (
    h.tar({"main.tex": PAPER, "sub/b.tex": b"x" * 700}),
    h.gz(h.tar({"main.tex": PAPER, "n" * 150: b"x"}, tarfile.GNU_FORMAT)),
    h.zipped({"main.tex": PAPER, "sub/b.tex": b"x" * 700}),
    h.zipped({"in.zip": h.zipped({"a.py": b"print()"}), "b.tar.bz2": bz2.compress(h.tar({"c": b"d"}))}),
    lzma.compress(h.tar({"main.tex": PAPER})),
    h.gz(PAPER),
)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=2000))
def test_any_bytes_have_a_kind_and_one_end(data: bytes) -> None:
    assert sniff(data)
    unpacked = unpacked_or_none(data)
    assert unpacked is None or unpacked.kind


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60))
def test_a_clean_path_stays_inside_and_is_its_own_clean_path(name: str) -> None:
    path, problem = clean_path(name, 512)
    if not path:
        assert problem
        return
    assert not path.startswith("/")
    assert ".." not in path.split("/")
    assert "\\" not in path
    assert clean_path(path, 512)[0] == path
