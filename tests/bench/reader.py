"""Our reader beside pandoc, pylatexenc and plasTeX, in one run over the same papers.

`uv run --group bench python -m tests.bench.reader [--repeat 3] [--only ours pandoc]`

Ours starts from the bundle as submitted: it finds the main file, follows ``\\input``, reads links, tables, figures and
references as well ("and compute": its compute statements too). The others get one file, the main one with all that it
inputs, and only convert it. Each converts every paper ``--repeat`` times in a process of its own; the fastest counts.
A failure is an exception, a time-out or an empty result. A peer that is not installed is skipped, and said to be.

Table numbers kept: decimal numbers (digits, point, digits; lengths such as 0.5em and colours aside) inside the tabular
environments of the flattened, comment-free source, and how many of them stand in the tables of the result, each counted
as often as it occurs. pylatexenc has no tables, so its whole text counts. Nothing here asserts anything about time.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import multiprocessing.connection
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.paper import NoPaper, read
from pipeline.paper.bundle import Bundle, choose_main
from tests.bench.telling import Row, options, tell

ROOT = Path(__file__).resolve().parents[2]
CORPORA = {
    "real papers": ROOT.parent / "shared" / "realworld" / "papers",
    "sample world": ROOT / "data" / "offline" / "sample-2025" / "papers",
}
TIMEOUT = 60.0  # seconds a conversion
SHOWN = 8  # failures named of one contender
Files = dict[str, bytes]


@dataclass(frozen=True)
class Job:
    """One paper, as submitted and as one flat file."""

    name: str
    files: Files
    flat: str


@dataclass
class Score:
    """What one contender made of one corpus: seconds and table numbers by paper."""

    seconds: dict[str, float] = field(default_factory=dict)
    numbers: dict[str, Counter[str]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


# -- contenders: a paper in, the text of its tables out


def ours(job: Job) -> str:
    paper = read(job.files)
    cells = {id(c): c.text for t in paper.tables for row in t.grid for c in row if c is not None}
    if not paper.text.strip():
        raise ValueError("empty")
    return "\n".join(cells.values())


def ours_and_compute(job: Job) -> str:
    """As above, and the compute statements, which are worked out when first asked for."""
    paper = read(job.files)
    cells = {id(c): c.text for t in paper.tables for row in t.grid for c in row if c is not None}
    return "\n".join([*cells.values(), *("" for _ in paper.compute)])


def pandoc(job: Job) -> str:
    import pypandoc

    html = pypandoc.convert_text(job.flat, "html", format="latex")
    if not html.strip():
        raise ValueError("empty")
    return "\n".join(re.sub(r"<[^>]*>", " ", t) for t in re.findall(r"<table.*?</table>", html, re.DOTALL))


def pylatexenc(job: Job) -> str:
    from pylatexenc.latex2text import LatexNodes2Text

    text = LatexNodes2Text().latex_to_text(job.flat)
    if not text.strip():
        raise ValueError("empty")
    return str(text)


def plastex(job: Job) -> str:
    import logging

    from plasTeX.TeX import TeX

    logging.disable(logging.CRITICAL)
    tex = TeX()
    tex.input(job.flat)
    document = tex.parse()
    if not document.textContent.strip():
        raise ValueError("empty")
    names = ("tabular", "tabular*", "tabularx", "longtable")
    return "\n".join(t.textContent for name in names for t in document.getElementsByTagName(name))


CONTENDERS: dict[str, tuple[Callable[[Job], str], str]] = {
    "ours": (ours, "pipeline"),
    "and compute": (ours_and_compute, "pipeline"),
    "pandoc": (pandoc, "pypandoc"),
    "pylatexenc": (pylatexenc, "pylatexenc"),
    "plasTeX": (plastex, "plasTeX"),
}


# -- corpora


def jobs(folder: Path) -> Iterator[Job]:
    for paper in sorted(p for p in folder.iterdir() if p.is_dir()):
        src = paper / "src"
        files = {
            p.relative_to(src).as_posix(): p.read_bytes()
            for p in sorted(src.rglob("*"))
            if p.is_file() and not p.is_symlink()
        }
        bundle = Bundle(files)
        try:
            main = choose_main(bundle)
        except NoPaper:
            continue  # nothing to convert: a template, two papers, no source
        yield Job(paper.name, files, flatten(bundle, main, main.rpartition("/")[0]))


def flatten(bundle: Bundle, path: str, root: str, depth: int = 0) -> str:
    """The file with its \\input and \\include put in; comments stay, since finding them is part of the work."""

    def put_in(match: re.Match[str]) -> str:
        inner = bundle.resolve(match[2].strip(), (root, path.rpartition("/")[0]))
        return match[0] if inner is None or depth > 8 else match[1] + flatten(bundle, inner, root, depth + 1)

    return re.sub(r"(?m)^((?:[^%\n\\]|\\.)*?)\\(?:input|include)\s*\{([^{}\n]+)\}", put_in, bundle.text(path))


_TABULAR = re.compile(r"\\begin\{((?:tabular|longtable|tabulary|tabu|supertabular)[xy*]?)\}(.*?)\\end\{\1\}", re.DOTALL)
_SILENT = re.compile(
    r"\\(?:cellcolor|rowcolor|textcolor|color|definecolor|colorbox)(?:\[[^\]]*\])?\{[^{}]*\}"
    r"|\\(?:h?phantom|vspace|hspace|cmidrule|cline|setlength|addlinespace|includegraphics|label|ref|cite\w*|rule)\*?"
    r"(?:\([^)]*\))?(?:\[[^\]]*\])*\{[^{}]*\}(?:\{[^{}]*\})?"
    r"|\[table-[^\]]*\]|\\\\\s*\[[^\]]*\]|[-\d.]+\s*(?:pt|em|ex|cm|mm|in|\\(?:textwidth|linewidth|columnwidth|hsize|baselineskip))(?![A-Za-z])"
)
_DECIMAL = re.compile(r"(?<![\d.])\d+\.\d+(?![\d.])")


def decimals(text: str) -> Counter[str]:
    return Counter(_DECIMAL.findall(text))


def table_numbers(flat: str) -> Counter[str]:
    """Decimal numbers of the tabular environments a reader of the PDF would see."""
    body = re.sub(r"(?<!\\)%[^\n]*", "", flat)
    body = re.sub(r"\\begin\{comment\}.*?\\end\{comment\}", "", body, flags=re.DOTALL)
    return decimals("\n".join(_SILENT.sub(" ", m[2]) for m in _TABULAR.finditer(body)))


# -- running


def worker(name: str, repeat: int, pipe: multiprocessing.connection.Connection) -> None:
    convert = CONTENDERS[name][0]
    while (job := pipe.recv()) is not None:
        best, shown = float("inf"), ""
        try:
            for _ in range(repeat):
                start = time.perf_counter()
                shown = convert(job)
                best = min(best, time.perf_counter() - start)
            pipe.send((best, decimals(shown), ""))
        except BaseException as cause:
            pipe.send((0.0, Counter(), f"{type(cause).__name__}: {str(cause).strip()[:100]}"))


def run(name: str, papers: list[Job], repeat: int) -> Score:
    score = Score()
    context = multiprocessing.get_context("spawn")
    here = process = None
    for job in papers:
        if process is None or here is None or not process.is_alive():
            here, there = context.Pipe()
            process = context.Process(target=worker, args=(name, repeat, there), daemon=True)
            process.start()
        here.send(job)
        if here.poll(TIMEOUT * repeat):
            seconds, numbers, failure = here.recv()
            if failure:
                score.failed[job.name] = failure
            else:
                score.seconds[job.name], score.numbers[job.name] = seconds, numbers
        else:
            score.failed[job.name] = "time-out"
            process.kill()
            process.join()
            process = None
    if process is not None and here is not None:
        here.send(None)
        process.join(5)
    return score


def rows_of(corpus: str, papers: list[Job], scores: dict[str, Score]) -> list[Row]:
    """`to_ours_times`: the medians' ratio on the papers it completed; ours takes `ours_there_ms` on those."""
    wanted = {job.name: table_numbers(job.flat) for job in papers}
    total = sum(sum(c.values()) for c in wanted.values())
    mine = scores["ours"].seconds
    rows: list[Row] = []
    for name, score in scores.items():
        both = [n for n in score.seconds if n in mine]
        there = statistics.median(mine[n] for n in both) if both else None
        median = statistics.median(score.seconds.values()) if score.seconds else None
        pair = statistics.median(score.seconds[n] for n in both) if both else None
        kept = sum(sum((score.numbers[n] & wanted[n]).values()) for n in score.numbers)
        rows.append(
            {
                "bench": "reader",
                "case": corpus,
                "who": name,
                "papers": len(papers),
                "failed": len(score.failed),
                "median_ms": median and 1000 * median,
                "total_seconds": sum(score.seconds.values()),
                "ours_there_ms": there and 1000 * there,
                "to_ours_times": pair / there if pair is not None and there else None,
                "table_numbers": total,
                "kept_share": kept / total if total else None,
            }
        )
        for paper, cause in list(score.failed.items())[:SHOWN]:
            print(f"  {name} failed on {paper}: {cause}")
    return rows


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=CONTENDERS, default=list(CONTENDERS))
    given = parser.parse_args()
    present = [name for name, (_, module) in CONTENDERS.items() if module == "pipeline"]
    for name, (_, module) in CONTENDERS.items():
        if name not in present and name in given.only:
            if importlib.util.find_spec(module) is None:
                print(f"{name} is not installed (uv sync --group bench): skipped")
            else:
                present.append(name)
    rows: list[Row] = []
    for corpus, folder in list(CORPORA.items())[-1 if given.quick else 0 :]:
        if not folder.is_dir():
            print(f"{corpus}: not here ({folder}): skipped")
            continue
        papers = list(jobs(folder))[: 4 if given.quick else None]
        repeat = 1 if given.quick else given.repeat
        rows += rows_of(corpus, papers, {name: run(name, papers, repeat) for name in present})
    tell(rows, given.out)


if __name__ == "__main__":
    main()
