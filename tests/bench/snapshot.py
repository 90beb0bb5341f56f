"""How long a conference takes to find in a snapshot of arXiv's metadata.

    uv run python -m tests.bench.snapshot [--papers 300000] [--wanted 3700]

writes a made-up snapshot of so many papers by people with common names, and looks for so many titles in it, of which
two in five are renamed and one in five is not there.
"""

from __future__ import annotations

import json
import random
import resource
import tempfile
import time
from pathlib import Path

from pipeline.corpus import IndexEntry, found_among
from pipeline.sources.arxiv_snapshot import candidates
from tests.bench.telling import options, tell

LETTERS = "bcdfgklmnprstvwz"
SOUNDS = [a + b for a in LETTERS for b in ("a", "e", "i", "o", "u", "ang", "ing")]
FAMILIES = [a + b for a in SOUNDS for b in ("", "n", "ri", "sk")]
GIVEN = [f"{letter}ei" for letter in LETTERS]
WORDS = [a + b for a in SOUNDS for b in SOUNDS[:40]]


def measured(papers: int, wanted: int) -> dict[str, object]:
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
    told = {"looked_for": wanted, "found": hits, "seconds": seconds, "peak_mb": peak}
    return {"bench": "snapshot", "case": f"{papers:,} papers ({size:.0f} MB)", **told}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--papers", type=int, default=300_000)
    parser.add_argument("--wanted", type=int, default=3_700)
    given = parser.parse_args()
    tell([measured(2_000, 50) if given.quick else measured(given.papers, given.wanted)], given.out)


if __name__ == "__main__":
    main()
