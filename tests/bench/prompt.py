"""How much shorter our first message is than the published one, paper by paper: `uv run python -m tests.bench.prompt`.

Tokens by the fixed rule of `classifiers.prompt.tokens` (no tokenizer, no network). Two published prompts are counted:
as this project can send it (`prompt = "published"`: rendered text and all LaTeX), and with the LaTeX alone, which is
less. Instructions are counted on both sides: ours are task and guide; the published ones had 25,019 characters. Ours
lists every link with what the link check said, here that nobody answered.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

from classifiers import prompt
from classifiers.linkcheck import check
from classifiers.toolbox import Desk, Limits, PaperInput
from pipeline.editions import LanguageModel
from pipeline.paper import NoPaper, read
from tests.bench.reader import CORPORA
from tests.bench.telling import Row, options, tell
from tests.classifiers.toys import FakeProbes

PUBLISHED_INSTRUCTIONS = 25_019 // 4
"""Tokens: their prompt's characters by the usual four a token, as their text is not ours to count."""


def measure(folder: Path, room: int) -> tuple[int, int, int, int, tuple[str, ...]]:
    """Tokens of instructions and first message: ours, published, published without the rendered text, ours uncut; and
    what ours left out.
    """
    source = folder / "src"
    files = {p.relative_to(source).as_posix(): p.read_bytes() for p in sorted(source.rglob("*")) if p.is_file()}
    paper = read(files)
    given = PaperInput(record=folder.name, bundle="", paper=paper, latex=prompt.latex_of(files))
    desk = Desk(given=given, probes=FakeProbes(), limits=Limits())
    told, linked = prompt.tokens(prompt.instructions()), check(desk)
    ours, whole = prompt.message(desk, linked, room), prompt.message(desk, linked, 10**9)
    theirs = prompt.tokens(prompt.published(desk).text) + PUBLISHED_INSTRUCTIONS
    bare = theirs - prompt.tokens(paper.text)
    return told + prompt.tokens(ours.text), theirs, bare, told + prompt.tokens(whole.text), ours.cut


def measured(corpus: str, papers: Path, room: int) -> Row:
    """Shares are of the published prompt (`published_share`) and of its LaTeX alone, by the median paper and summed."""
    ratios, bares, sums = [], [], [0, 0, 0]
    for folder in sorted(papers.iterdir()):
        try:
            ours, theirs, bare, whole, cut = measure(folder, room)
        except NoPaper:
            continue
        ratios.append(ours / theirs)
        bares.append(ours / bare)
        sums = [a + b for a, b in zip(sums, (ours, theirs, bare), strict=True)]
        print(f"{folder.name:30} {ours:7} {theirs:7} {bare:7} {whole:7}  {'; '.join(cut)[:90]}")
    return {
        "bench": "prompt",
        "case": corpus,
        "papers": len(ratios),
        "room": room,
        "median_of_published_share": median(ratios),
        "median_of_its_latex_share": median(bares),
        "all_of_published_share": sums[0] / sums[1],
        "all_of_its_latex_share": sums[0] / sums[2],
    }


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--room", type=int, default=LanguageModel().max_prompt_tokens, help="tokens")
    given = parser.parse_args()
    there = [(corpus, folder) for corpus, folder in CORPORA.items() if folder.is_dir()]
    print(f"{'paper':30} {'ours':>7} {'publ.':>7} {'LaTeX':>7} {'uncut':>7}  left out")
    tell([measured(*one, given.room) for one in (there[-1:] if given.quick else there[:1])], given.out)


if __name__ == "__main__":
    main()
