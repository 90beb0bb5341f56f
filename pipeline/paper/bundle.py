"""Which file is the paper, and what its \\input means, among the files of a source bundle."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterator, Mapping

from pipeline.paper.model import NoPaper
from pipeline.paper.tokens import MAX_FILE_CHARS, decode

MAX_CANDIDATES = 200
MIN_PAPER = 1_500  # characters of a second whole paper
_TEX = (".tex", ".ltx", ".latex", ".txt", "")
_DOCUMENT = re.compile(
    r"\\document(?:class|style)(?![A-Za-z])\s{0,9}(\[[^\]]{0,2000}\])?\s{0,9}(?:\{\s*([^}]{0,200}?)\s*\})?"
)
_INPUT = re.compile(r"\\(?:input|include|subfile|subfileinclude|import|subimport)(?![A-Za-z])([^\n]{0,200})")
_TEMPLATE = (
    "Antiquus S. Hippocampus",
    "Formatting Instructions For",
    "Formatting Instructions for",
    "Submission and Formatting Instructions",
    "Instructions for *ACL",
    "Instructions for ACL",
    "The abstract paragraph should be indented",
    "Author Guidelines for",
    "This document contains the instructions for preparing",
    "The Name of the Title Is Hope",
    "Conference Paper Title*",
    "Lorem ipsum dolor sit amet",
    "\\lipsum",
)
_UNLIKELY = re.compile(
    r"rebut|response|cover|letter|suppl?\b|supp?lement|appendix|checklist|template|sample|example|poster|slides|talk|beamer"
    r"|(?:^|[_-])old|backup|draft|diff|review|standalone|tikz|figure|instructions|formatting|scratch|notes?\b|response",
    re.IGNORECASE,
)
_LIKELY = re.compile(r"^(?:main|paper|ms|article|arxiv|root|manuscript|camera[_-]?ready|final)", re.IGNORECASE)
_NOT_PAPER_CLASS = re.compile(r"beamer|letter|poster|standalone|subfiles|minimal|exam\b|a0")


def source_hash(files: Mapping[str, bytes]) -> str:
    """sha256 over the sorted (path, sha256 of the content) lines of all files."""
    lines = (f"{path}\0{hashlib.sha256(files[path]).hexdigest()}\n" for path in sorted(files))
    return hashlib.sha256("".join(lines).encode("utf-8", errors="surrogatepass")).hexdigest()


def is_junk(path: str) -> bool:
    """macOS resource forks and version-control litter."""
    parts = path.split("/")
    return parts[-1].startswith("._") or "__MACOSX" in parts or ".git" in parts


class Bundle:
    """The source files, decoded on demand."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files
        self.warnings: list[str] = []
        self._texts: dict[str, str] = {}
        self._lower: dict[str, str] | None = None

    def text(self, path: str) -> str:
        if path not in self._texts:
            data = self.files[path]
            if len(data) > MAX_FILE_CHARS:
                self.warnings.append(f"{path}: only the first {MAX_FILE_CHARS} of {len(data)} bytes read")
            if b"\0" in data[:4096] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
                self.warnings.append(f"{path}: NUL bytes dropped")
            self._texts[path] = decode(data[:MAX_FILE_CHARS])
        return self._texts[path]

    def resolve(self, name: str, folders: tuple[str, ...], endings: tuple[str, ...] = (".tex", "")) -> str | None:
        """The file an \\input names, or None. Never outside the bundle; why not goes into the warnings."""
        name = name.strip().strip('"').strip()
        if not name or "\n" in name or len(name) > 300:
            return None
        if name.startswith(("/", "~", "|", "\\")) or re.match(r"[A-Za-z]:", name):
            self.warnings.append(f"\\input of {name!r} leaves the bundle: ignored")
            return None
        escaped = False
        for folder in dict.fromkeys((*folders, "")):
            path = posixpath.normpath(posixpath.join(folder, name))
            if path.startswith(("../", "/")) or path == "..":
                escaped = True
                continue
            for ending in endings:
                if path + ending in self.files:
                    return path + ending
            if self._lower is None:
                self._lower = {p.lower(): p for p in sorted(self.files, reverse=True)}
            for ending in endings:
                if (path + ending).lower() in self._lower:
                    return self._lower[(path + ending).lower()]
        if escaped:
            self.warnings.append(f"\\input of {name!r} leaves the bundle: ignored")
        else:
            self.warnings.append(f"\\input of {name!r}: no such file in the bundle")
        return None


def _live(text: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Matches that are not behind a % on their line."""
    for match in pattern.finditer(text):
        line = text.rfind("\n", max(0, match.start() - 5_000), match.start()) + 1
        before = text[max(line, match.start() - 5_000) : match.start()]
        if "%" not in before.replace("\\%", ""):
            yield match


class _Candidate:
    __slots__ = ("options", "path", "reach", "score", "template", "text", "title", "unlikely")

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.score = 0.0
        self.reach = len(text)
        found = re.search(r"\\(?:icml)?title\*?\s*(?:\[[^\]]{0,300}\]\s*)?\{((?:[^{}]|\{[^{}]{0,200}\}){0,300})", text)
        self.title = found[1] if found else ""
        self.template = any(t in text for t in _TEMPLATE)
        self.unlikely = False
        self.options = ""


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{5,}", text.lower()[:400_000]))


def _included(bundle: Bundle, path: str, seen: set[str], budget: list[int]) -> None:
    """Files reachable from one file by a rough reading of its \\inputs."""
    if path in seen or budget[0] <= 0:
        return
    seen.add(path)
    budget[0] -= 1
    folder = posixpath.dirname(path)
    stack = [path]
    while stack:
        text = bundle.text(stack.pop())
        for found in _live(text[:2_000_000], _INPUT):
            name = re.sub(r"\s.*", "", found[1].strip().replace("}{", "").strip("{} ").split("}")[0].lstrip("{"))
            before = len(bundle.warnings)
            inner = bundle.resolve(name, (folder,)) if name else None
            del bundle.warnings[before:]
            if inner and inner not in seen and budget[0] > 0 and not is_junk(inner):
                budget[0] -= 1
                seen.add(inner)
                stack.append(inner)


def choose_main(bundle: Bundle) -> str:
    """The paper's main file.

    Raises:
        NoPaper: no file with a document class, only a template's own text, or two different whole papers.
    """
    paths = [p for p in sorted(bundle.files) if not is_junk(p) and posixpath.splitext(p)[1].lower() in _TEX]
    candidates: list[_Candidate] = []
    any_tex = False
    for path in paths:
        data = bundle.files[path]
        any_tex |= path.lower().endswith(".tex")
        utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
        if not utf16 and b"\\document" not in data and b"\\begin" not in data:
            continue
        if path.lower().endswith((".txt",)) and b"\\begin{document}" not in data:
            continue
        text = bundle.text(path)
        declared = next(_live(text, _DOCUMENT), None)
        if declared or "\\begin{document}" in text:
            candidate = _Candidate(path, text)
            candidate.options = (declared[2] or "") if declared else "?"
            candidates.append(candidate)
        if len(candidates) >= MAX_CANDIDATES:
            bundle.warnings.append(f"more than {MAX_CANDIDATES} files with a document class: the rest not considered")
            break
    if not candidates:
        raise NoPaper(
            "no LaTeX main file: " + ("no .tex file has a document class" if any_tex else "no .tex file at all")
        )
    named = _named_by_submission(bundle)
    reached: dict[str, set[str]] = {}
    for candidate in candidates:
        seen: set[str] = set()
        _included(bundle, candidate.path, seen, [2000])
        reached[candidate.path] = seen
        candidate.reach = sum(len(bundle.text(p)) for p in seen)
    if len(candidates) > 1:
        for candidate in candidates:
            _score(candidate, bundle, named, candidates, reached)
    candidates.sort(key=lambda c: (-c.score, c.path))
    best = candidates[0]
    body = "".join(bundle.text(p) for p in sorted(reached[best.path]))
    if _is_template(best, body):
        raise NoPaper(f"only a template: {best.path} holds a conference's own sample text")
    for other in candidates[1:] if named != best.path else ():
        if _is_other_paper(best, other, reached, bundle):
            raise NoPaper(f"two whole papers in one bundle: {best.path} and {other.path}")
    return best.path


def _named_by_submission(bundle: Bundle) -> str | None:
    """arXiv's 00README names the top-level file."""
    for path in sorted(bundle.files):
        if not path.startswith("00README"):
            continue
        text = decode(bundle.files[path][:20_000])
        found = re.search(r"^(\S+\.tex)\s+toplevelfile", text, re.MULTILINE) or re.search(
            r'"usage"\s*:\s*"toplevel"[^}]*?"filename"\s*:\s*"([^"]+)"|"filename"\s*:\s*"([^"]+)"[^}]*?"usage"\s*:\s*"toplevel"',
            text,
        )
        if found:
            name = next(g for g in found.groups() if g)
            if name in bundle.files:
                return name
    return None


def _score(
    c: _Candidate, bundle: Bundle, named: str | None, all_: list[_Candidate], reached: dict[str, set[str]]
) -> None:
    stem = posixpath.splitext(posixpath.basename(c.path))[0]
    body = c.text
    whole = "".join(bundle.text(p) for p in reached[c.path]) if len(reached[c.path]) < 300 else body
    c.unlikely = bool(_UNLIKELY.search(stem)) or bool(_NOT_PAPER_CLASS.search(c.options))
    c.score += 20 * (c.path == named)
    c.score += 4 * ("\\begin{document}" in body) + 3 * bool(c.title)
    c.score += 3 * ("\\begin{abstract}" in whole or "\\abstract" in whole) + ("\\maketitle" in whole)
    c.score += "\\bibliography" in whole or "\\bibitem" in whole or "\\printbibliography" in whole
    c.score += 3 * (posixpath.splitext(c.path)[0] + ".bbl" in bundle.files)
    c.score += 1.5 * bool(_LIKELY.match(stem))
    c.score -= 6 * bool(_UNLIKELY.search(stem)) + 12 * bool(_NOT_PAPER_CLASS.search(c.options))
    c.score -= 12 * c.template + 0.75 * c.path.count("/")
    c.score -= 8 * any(c.path in reached[o.path] for o in all_ if o.path != c.path and o.path not in reached[c.path])
    size = c.reach
    c.score += (size > 6_000) + (size > 20_000) + 2 * size / (1 + max(o.reach for o in all_))
    final = re.search(r"\\usepackage\s*\[[^\]]*(?:final|preprint|accepted)[^\]]*\]", body)
    c.score += 0.75 * bool(final) + 0.5 * bool(re.search(r"(?:final|camera|arxiv)", stem, re.IGNORECASE))


def _is_template(best: _Candidate, body: str) -> bool:
    if not any(t in body for t in _TEMPLATE):
        return False
    own_words = len(re.findall(r"\\(?:section|subsection)\*?\{", body))
    instructions = len(
        re.findall(
            r"point type|camera.ready|margins?\b|page limit|style files?|typeset|anonymi[sz]|\bLaTeX\b|\\LaTeX"
            r"|typeface|12~?pt|pica"
            r"|indented|headings?\b|\\verb\+|double.blind|submission",
            body,
        )
    )
    return instructions >= 25 or (own_words <= 3 and instructions >= 8)


def _is_other_paper(best: _Candidate, other: _Candidate, reached: dict[str, set[str]], bundle: Bundle) -> bool:
    """A second complete paper: title, abstract and references of its own, and no text in common with the best one.

    Another version, a supplement, a letter, a template or a part of the best one lacks one of these, or shares its
    title or its sentences.
    """
    if other.unlikely or other.template or other.path in reached[best.path] or best.path in reached[other.path]:
        return False
    mine, theirs = (_body(bundle, reached[c.path]) for c in (best, other))
    if len(theirs) < MIN_PAPER or not (_is_whole(best, mine) and _is_whole(other, theirs)):
        return False
    titles = [_words(c.title) for c in (best, other)]
    if len(titles[0] & titles[1]) > 0.4 * max(1, min(map(len, titles))):
        return False
    a, b = _runs(mine), _runs(theirs)
    return len(a & b) < 0.3 * min(len(a), len(b))


def _body(bundle: Bundle, paths: set[str]) -> str:
    """What the files say between \\begin{document} and its end, comments aside."""
    texts = (bundle.text(p).partition("\\begin{document}") for p in sorted(paths) if not p.endswith((".sty", ".cls")))
    return re.sub(r"(?<!\\)%[^\n]*", "", "\n".join(after or before for before, _, after in texts)[:1_000_000])


def _is_whole(c: _Candidate, body: str) -> bool:
    abstract = "\\begin{abstract}" in c.text + body or "\\abstract" in c.text + body
    references = any(mark in body for mark in ("\\bibliography{", "\\bibitem", "\\printbibliography"))
    return bool(c.title) and abstract and references and "\\begin{document}" in c.text and not _is_template(c, body)


def _runs(text: str) -> set[tuple[str, ...]]:
    """Every run of six words: two versions of a paper share many, two papers none."""
    words = re.findall(r"[a-z]{2,}", text.lower()[:300_000])
    return set(zip(*(words[k:] for k in range(6)), strict=False))
