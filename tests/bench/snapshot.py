"""How long a conference takes to find in a snapshot of arXiv's metadata.

    uv run python -m tests.bench.snapshot 300000 3700

writes a made-up snapshot of so many papers by people with common names, and looks for so many titles in it, of which
two in five are renamed and one in five is not there.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

from pipeline.corpus import IndexEntry, found_among
from pipeline.sources.arxiv_snapshot import candidates

LETTERS = "bcdfgklmnprstvwz"
SOUNDS = [a + b for a in LETTERS for b in ("a", "e", "i", "o", "u", "ang", "ing")]
FAMILIES = [a + b for a in SOUNDS for b in ("", "n", "ri", "sk")]
GIVEN = [f"{letter}ei" for letter in LETTERS]
WORDS = [a + b for a in SOUNDS for b in SOUNDS[:40]]


def main(papers: int, wanted: int) -> None:
    rng = random.Random(7)

    def title() -> list[str]:
        return rng.choices(WORDS, k=rng.randint(5, 11))

    def person() -> tuple[str, str]:
        return rng.choice(FAMILIES), rng.choice(GIVEN)

    entries = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arxiv.jsonl"
        with path.open("w") as file:
            for number in range(papers):
                words, people = title(), [person() for _ in range(rng.randint(1, 8))]
                row = {"id": f"{2001 + number // 99_999:04}.{number % 99_999:05}", "title": " ".join(words)}
                row |= {"authors_parsed": [[*p, ""] for p in people], "versions": [{"version": "v1", "created": ""}]}
                file.write(json.dumps(row | {"abstract": "x" * 1200}) + "\n")
                if number < wanted:
                    kind = number % 5
                    told = title() if kind == 4 else words[:4] + title()[:2] if kind > 1 else words
                    names = tuple(f"{given} {family}" for family, given in people)
                    entries.append(IndexEntry(title=" ".join(told), authors=names, row=number))
        began = time.perf_counter()
        found = candidates(path, entries)
        seconds = time.perf_counter() - began
        size = path.stat().st_size / 1e6
    hits = sum(found_among(e, found[e.key]).outcome == "found" for e in entries)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{papers} papers ({size:.0f} MB), {wanted} looked for, {hits} found: {seconds:.1f} s, peak {peak:.0f} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
