"""Fuzz reader, tables and archives for a while: mutated real sources, token soup, damaged archives.

    uv run python tests/bench/fuzz.py [SECONDS] [SEED]

Prints how many inputs each target took and every failure with the seed that makes it again; exits with 1 if there was
one. An input fails if it raises anything but the target's own refusal, or takes longer than `SLOW` seconds of processor
time.
"""

from __future__ import annotations

import io
import random
import sys
import tarfile
import time
import traceback
import zipfile
from collections.abc import Callable
from pathlib import Path

from pipeline import archives, editions
from pipeline.paper import NoPaper, read

SLOW = 20.0
_WORDS = r"""
\section{ \subsection{ \caption{ \footnote{ \href{http://a.org/x}{ \url{ \textbf{ \multirow{2}{*}{
\begin{table} \end{table} \begin{tabular}{lcc} \end{tabular} \begin{figure} \end{figure} \hline & \\
\newcommand{\x}[1]{#1#1} \x{ \def\y{\y} \y \input{main} \iffalse \fi \else \ifx\a\b % $ $$ { } [ ] ~ ^ _ #
8 A100 GPUs for 3 days 12 hours 1,200 GPU-hours TPU v3-8 0.645 96.4 ± 0.2 (0.1, 0.2) é
"""
TOKENS = [*_WORDS.split(), "\x00", "\ufb01", "\u202e"]


def sources() -> list[bytes]:
    """What mutations start from: the sample world's papers, and real ones where they lie beside the checkout."""
    real = Path(__file__).resolve().parents[3] / "shared" / "realworld" / "papers"
    folders = [editions.data("offline", "sample-2025", "papers"), *([real] if real.is_dir() else [])]
    return [p.read_bytes() for folder in folders for p in sorted(folder.glob("*/src/**/*.tex"))]


def mutated(data: bytes, draw: random.Random) -> bytes:
    """A few cuts, repeats, swaps and noise bytes."""
    out = bytearray(data[: draw.randrange(1, 60_000)])
    for _ in range(draw.randrange(1, 12)):
        at = draw.randrange(len(out) + 1)
        kind = draw.randrange(4)
        if kind == 0:
            del out[at : at + draw.randrange(1, 400)]
        elif kind == 1:
            out[at:at] = out[at : at + draw.randrange(1, 200)] * draw.randrange(1, 40)
        elif kind == 2:
            out[at:at] = draw.choice(TOKENS).encode() * draw.randrange(1, 30)
        else:
            out[at:at] = draw.randbytes(draw.randrange(1, 30))
    return bytes(out)


def soup(draw: random.Random) -> bytes:
    body = " ".join(draw.choices(TOKENS, k=draw.randrange(1, 1500)))
    return rf"\documentclass{{article}}\begin{{document}}{body}\end{{document}}".encode()


def a_reading(corpus: list[bytes], draw: random.Random) -> None:
    data = soup(draw) if draw.random() < 0.4 else mutated(draw.choice(corpus), draw)
    try:
        paper = read({"main.tex": data, "other.tex": draw.choice(corpus)[:2000]})
    except NoPaper:
        return
    assert all(0 <= s.start <= s.end <= len(paper.text) for s in paper.sections)
    assert all(-1 <= link.anchor.offset <= len(paper.text) for link in paper.links)
    assert all(len(row) == table.columns for table in paper.tables for row in table.grid)
    assert all(mention.quote for mention in paper.compute)


def an_archive(corpus: list[bytes], draw: random.Random) -> None:
    files = {
        f"{draw.choice(['a', '../b', '/c', 'd/e', 'f' * 300])}{i}.tex": draw.choice(corpus)[:500] for i in range(5)
    }
    out = io.BytesIO()
    if draw.random() < 0.5:
        with zipfile.ZipFile(out, "w", draw.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as packed:
            for name, data in files.items():
                packed.writestr(name, data)
    else:
        with tarfile.open(fileobj=out, mode=draw.choice(["w", "w:gz", "w:bz2", "w:xz"])) as tar:
            for name, data in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    data = bytearray(out.getvalue())
    for _ in range(draw.randrange(0, 20)):
        data[draw.randrange(len(data))] = draw.randrange(256)
    try:
        unpacked = archives.unpack(bytes(data[: draw.randrange(1, len(data) + 1)]), archives.SUPPLEMENT)
    except archives.Refused:
        return
    assert not any(name.startswith("/") or ".." in name.split("/") for name in unpacked.files)


def main(seconds: float, seed: int) -> int:
    corpus = sources()
    targets: dict[str, Callable[[list[bytes], random.Random], None]] = {"reader": a_reading, "archives": an_archive}
    counts, failures, slowest = dict.fromkeys(targets, 0), 0, 0.0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        name = "archives" if sum(counts.values()) % 4 == 0 else "reader"
        began = time.process_time()
        try:
            targets[name](corpus, random.Random(seed))
        except Exception:
            failures += 1
            print(f"FAILED {name}, seed {seed}\n{traceback.format_exc()}", flush=True)
        took = time.process_time() - began
        slowest = max(slowest, took)
        if took > SLOW:
            failures += 1
            print(f"SLOW {name}, seed {seed}: {took:.1f} s", flush=True)
        counts[name] += 1
        seed += 1
    told = ", ".join(f"{n} {name}" for name, n in counts.items())
    print(f"{told} in {seconds:g} s; {failures} failures; slowest {slowest:.1f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0, int(sys.argv[2]) if len(sys.argv) > 2 else 0))
