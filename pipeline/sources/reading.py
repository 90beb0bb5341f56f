"""What a file list and a README say: code, entry points, weights, data, promises, and whether they name the paper back.

Pure functions over names, sizes and text; no probe decides anything here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from pipeline.evidence import Json
from pipeline.textfiles import sniff_text

MEGABYTE = 1 << 20
_PROGRAM = 40
"""Bytes below which a file of code runs nothing: one comment, one import."""
LISTED = 40
"""How many paths a fact names; counts are of all."""


def _endings(*lines: str) -> frozenset[str]:
    return frozenset(f".{ending}" for line in lines for ending in line.split())


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_CODE = _endings(
    "py ipynb cu cuh c cc cpp h hpp jl r rmd m sh rs go java scala kt swift lua pl f90 f hs ml mjs ts tsx jsx rb cs",
    "sage nb wl do stan pyx lean v slurm bash",
)
_DOUBLE = (".tar.gz", ".nii.gz", ".tar.xz")
_FRONT = {".github": 0, "": 1, "docs": 2}
_CODE_NAMES = frozenset({"makefile", "dockerfile", "snakefile", "justfile"})
_PAGES = _endings("html htm")
_INERT = _endings(
    "md rst txt pdf png jpg jpeg gif svg webp ico mp4 mov webm tex bib bst sty cls cff docx pptx",
    "gitignore gitattributes gitkeep gitmodules keep",
)
_WEIGHTS = _endings("safetensors bin pt pth ckpt gguf onnx msgpack h5 pdparams tflite")
_WEIGHTS_ALSO = _endings("npz pkl tar zip tar.gz tgz 7z")
_WEIGHT_WORD = re.compile(r"(?i)(weight|checkpoint|ckpt|pretrained|(?:^|[/_-])models?(?:[/_.-]|$))")
_DATA = _endings(
    "csv tsv jsonl ndjson parquet arrow feather npz npy h5 hdf5 pkl mat tfrecord lmdb zip tar tar.gz tgz tar.xz 7z zst",
    "gz mtx arff json xml txt wav flac nii nii.gz sdf pdb fasta db sqlite",
)
_DATA_ONLY_IN_FOLDERS = _endings("json xml txt pkl db sqlite")
_DATA_WORD = re.compile(
    r"(?i)(^|[/_.-])(data|datasets?|corpus|corpora|benchmarks?|annotations?|splits?|labels)([/_.-]|$)"
)
_TESTS = re.compile(r"(?i)(^|/)(tests?|testing|unittests?|\.github|docs?|node_modules|vendor|third_?party)/")
_TRAIN = re.compile(r"(?i)(pre-?train|fine-?tun|finetune|train|(?:^|[/_-])(?:fit|learn|sft|dpo|ppo|grpo)(?:[/_.-]|$))")
_WHOLE = re.compile(r"(?i)^(main|run|run_?(all|exp\w*|experiments?)|experiments?|launch|reproduce|demo_train)$")
_EVAL = _any(
    r"(?:^|[/_-])(?:eval\w*|test|bench\w*|infer\w*|predict\w*|score\w*|metrics?|sample|generate|demo)(?:[/_.-]|$)",
    r"(?:^|/)cal_\w*",
)
_BUILDS_DATA = _any(
    r"(?:gen(?:erate|eration|_)|make|create|build|construct|synthesi[sz]e|simulat)\w{0,40}?(?:data|corpus|benchmark|samples|toy)",
    r"(?:synthetic|toy|data(?:set)?)[_-]?(?:gen(?:erator|eration)?|maker|builder|simulator)",
)
_SOON = _any(
    r"coming soon|stay tuned|upon acceptance|to be (?:released|announced)|release(?:d)? soon|work in progress",
    r"will be (?:released|available|made (?:publicly )?available|open-?sourced|updated|uploaded)",
    r"(?:code|weights|data|models?) (?:is|are) (?:not yet|being)\b|under (?:construction|preparation)",
    r"\[ \] (?:release|upload|code|open)",
)
_URL = re.compile(r"https?://[^\s<>\"'`\\\])}|]+[^\s<>\"'`\\\])}|.,;:!?*]")
_LEARNS = re.compile(r"(?i)train|fine-?tun|fit|learn|optimi[sz]")
_SIZES = r"\d+(?:\.\d+)?[bmk]|tiny|small|base|medium|large|xl|xxl|huge|giant|mini|nano|lite"
_SIZE_WORD = re.compile(rf"(?i)(?<![a-z0-9.])({_SIZES})(?![a-z0-9])")


@dataclass(frozen=True, slots=True)
class Entry:
    """A file as listed: size in bytes, None where the listing does not say."""

    path: str
    size: int | None


def _suffix(path: str) -> str:
    name = _name(path).lower()
    stem = _stem(name)
    return next((double for double in _DOUBLE if name.endswith(double)), name[len(stem) :])


def _name(path: str) -> str:
    """`PurePosixPath.name`, which a listing of ten thousand files has no time for."""
    return path.rpartition("/")[2] if path[-1:] not in ("/", ".") else PurePosixPath(path).name


def _stem(path: str) -> str:
    """`PurePosixPath.stem`: a name without its last ending; a dot in front or behind ends nothing."""
    name = _name(path)
    at = name.rfind(".")
    return name[:at] if 0 < at < len(name) - 1 else name


def is_code(path: str) -> bool:
    return _suffix(path) in _CODE or _name(path).lower() in _CODE_NAMES


def is_weights(path: str) -> bool:
    """By ending; endings that hold anything count where the name says weights."""
    suffix = _suffix(path)
    if suffix in _WEIGHTS:
        return _name(path) not in ("training_args.bin", "optimizer.pt", "scheduler.pt", "rng_state.pth")
    return suffix in _WEIGHTS_ALSO and bool(_WEIGHT_WORD.search(path))


def holds_weights(head: bytes) -> bool:
    """Whether the first bytes of a file can be those of a checkpoint: no text, and not one byte over and over."""
    told = head[:2048].strip(b"\0\xff \t\r\n")
    return len(set(told)) > 1 and sniff_text(told) is None


def is_checkpoint(path: str) -> bool:
    """Weights in a model repository, where arrays have no other purpose."""
    return is_weights(path) or _suffix(path) in (".npz", ".npy", ".pkl")


def is_data(path: str) -> bool:
    """A data file by ending and place: a lone `package.json` or `results.csv` is none."""
    suffix = _suffix(path)
    if suffix not in _DATA or is_weights(path) or _name(path).lower() in ("requirements.txt", "license.txt"):
        return False
    place = path if suffix not in _DATA_ONLY_IN_FOLDERS else path.rpartition("/")[0]
    return bool(_DATA_WORD.search(place))


def is_readme(path: str) -> bool:
    return ("/" not in path and _stem(path).lower() == "readme") or path.lower() == "readme"


def front_page(paths: Iterable[str]) -> str | None:
    """The README that GitHub shows of a repository: of `.github`, else of the root, else of `docs`; Markdown first."""
    found = [
        (rank, not name.lower().endswith(".md"), path)
        for path in paths
        for folder, _, name in [path.rpartition("/")]
        if (rank := _FRONT.get(folder.lower())) is not None and _stem(name).lower() == "readme"
    ]
    return min(found)[2] if found else None


def about_files(entries: Sequence[Entry]) -> dict[str, Json]:
    """Facts of a file list that the rules read (see the guide, "Code", "Weights", "Data")."""
    paths = sorted(e.path for e in entries)
    stubs = {e.path for e in entries if e.size is not None and e.size < _PROGRAM}
    programs = [p for p in paths if is_code(p) and not _TESTS.search(p) and _suffix(p) not in (".h", ".hpp")]
    code = [p for p in programs if p not in stubs and not _setup_only(p)]
    known = set(programs)
    others = [p for p in paths if p not in known]
    website = bool(others) and not code and any(_suffix(p) in _PAGES for p in others)
    readme_only = not code and not website and all(_inert(p) for p in others)
    training = [p for p in code if _is_entry(p, _TRAIN)]
    packages = {p.rpartition("/")[0] for p in paths if p.endswith("/__init__.py")}
    # A module of a library (`src/lib/evaluating.py`) is no sign that only evaluation was released.
    trained = set(training)
    testing = [p for p in code if p not in trained and _is_entry(p, _EVAL) and p.rpartition("/")[0] not in packages]
    tested = set(testing)
    training += [p for p in code if p not in tested and _WHOLE.match(_stem(p))]
    weights = [e for e in entries if is_weights(e.path)]
    data = [e for e in entries if is_data(e.path)]
    builders = [p for p in code if _BUILDS_DATA.search(_stem(p))]
    return {
        "files": len(paths),
        "code_files": len(code),
        "code_sample": code[:LISTED],
        "train_entries": sorted(set(training))[:LISTED],
        "eval_entries": testing[:LISTED],
        "eval_only": bool(testing) and not training and not any(_LEARNS.search(p) for p in code),
        "readme_only": readme_only,
        "website_only": website,
        "weight_files": [{"path": e.path, "size": e.size} for e in _largest(weights)[:LISTED]],
        "data_files": len(data),
        "data_sample": [{"path": e.path, "size": e.size} for e in _largest(data)[:LISTED]],
        "construction_scripts": builders[:LISTED],
        "scope_words": scope_words(p for p in (*(e.path for e in weights), *training)),
    }


def _largest(entries: Iterable[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda e: (-(e.size or 0), e.path))


def _inert(path: str) -> bool:
    name = _name(path).lower()
    return _suffix(path) in _INERT or name.startswith(
        ("license", "licence", "copying", "readme", ".", "citation", "notice")
    )


def _setup_only(path: str) -> bool:
    """Files that a repository of nothing also has."""
    return _name(path).lower() in ("setup.py", "__init__.py", "conf.py", "dockerfile", "makefile")


def _is_entry(path: str, pattern: re.Pattern[str]) -> bool:
    """A name that starts a program: the file's own, not a folder's, and not a part such as `train_utils.py`."""
    stem = _stem(path)
    if re.search(
        r"(?i)(utils?|helpers?|stats|config|dataset|dataloader|loss|model|state|args|options|test_train)$", stem
    ):
        return False
    return bool(pattern.search(f"/{stem}/"))


def scope_words(names: Iterable[str]) -> list[str]:
    """Words in names that tell sizes and variants apart (`7b`, `base`), for whoever checks that it is this
    configuration."""
    return sorted({m.lower() for name in names for m in _SIZE_WORD.findall(name)})[:LISTED]


def coming_soon(text: str) -> list[str]:
    """Promises in a text, as written, in order."""
    return list(dict.fromkeys(" ".join(m.group(0).lower().split()) for m in _SOON.finditer(text)))[:10]


def links_in(text: str) -> list[str]:
    """URLs in a text, in order, each once; trailing punctuation is not part of one."""
    return list(dict.fromkeys(_URL.findall(text)))[:200]


@dataclass(frozen=True, kw_only=True)
class PaperFacts:
    """What places are searched for to see whether they name the paper."""

    title: str
    arxiv_id: str = ""
    authors: tuple[str, ...] = ()


def names_paper(text: str, paper: PaperFacts) -> list[str]:
    """How a text names the paper back: `title`, `arxiv`, `authors` (two full names or more), in that order."""
    squeezed = _squeezed(text)
    found = []
    title = _squeezed(paper.title)
    if len(title) >= 12 and title in squeezed:
        found.append("title")
    if paper.arxiv_id and re.search(rf"(?<![\d.]){re.escape(paper.arxiv_id)}(?:v\d+)?(?![\d])", text):
        found.append("arxiv")
    if sum(_names_person(text, author) for author in paper.authors) >= 2:
        found.append("authors")
    return found


def _names_person(text: str, author: str) -> bool:
    """A full name, in either order: surnames alone are shared by too many people."""
    parts = author.split()
    if len(parts) < 2:
        return False
    first, last = re.escape(parts[0]), re.escape(parts[-1])
    return bool(re.search(rf"(?i)\b(?:{first}\b[^\n,;&]{{0,20}}\b{last}|{last},?\s+{first})\b", text))


def _squeezed(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.lower())
