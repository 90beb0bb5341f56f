"""How much shorter our first message is than the published one, paper by paper: `uv run python tests/bench/prompt.py`.

Tokens by the fixed rule of `classifiers.prompt.tokens` (no tokenizer, no network). Two published prompts are counted:
as this project can send it (`prompt = "published"`: rendered text and all LaTeX), and with the LaTeX alone, which is
less. Instructions are counted on both sides: ours are task and guide; the published ones had 25,019 characters. Ours
lists every link with what the link check said, here that nobody answered.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from classifiers import prompt  # noqa: E402
from classifiers.linkcheck import check  # noqa: E402
from classifiers.toolbox import Desk, Limits, PaperInput  # noqa: E402
from pipeline.editions import LanguageModel  # noqa: E402
from pipeline.paper import NoPaper, read  # noqa: E402
from tests.classifiers.toys import FakeProbes  # noqa: E402

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


def main(papers: Path, room: int) -> None:
    ratios, bares, sums = [], [], [0, 0, 0]
    print(f"{'paper':30} {'ours':>7} {'publ.':>7} {'LaTeX':>7} {'uncut':>7}  ours/publ. ours/LaTeX  left out")
    for folder in sorted(papers.iterdir()):
        try:
            ours, theirs, bare, whole, cut = measure(folder, room)
        except NoPaper:
            continue
        ratios.append(ours / theirs)
        bares.append(ours / bare)
        sums = [a + b for a, b in zip(sums, (ours, theirs, bare), strict=True)]
        print(
            f"{folder.name:30} {ours:7} {theirs:7} {bare:7} {whole:7}  {ratios[-1]:9.0%} {bares[-1]:10.0%}  "
            f"{'; '.join(cut)[:90]}"
        )
    told = f"{median(ratios):.0%} of the published prompt, {median(bares):.0%} of its LaTeX alone"
    print(f"median {told}; room {room} tokens")
    print(f"all papers together: {sums[0] / sums[1]:.0%} and {sums[0] / sums[2]:.0%}")
    print(f"at most 40 %: {sum(r <= 0.4 for r in ratios)} of {len(ratios)} papers")


if __name__ == "__main__":
    default = LanguageModel().max_prompt_tokens
    main(ROOT.parent / "shared" / "realworld" / "papers", int(sys.argv[1]) if len(sys.argv) > 1 else default)
