"""Web addresses in source and text: what a TeX address means, and where bare ones stand."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

MAX_URL = 2_000

_ESCAPES = (
    (re.compile(r"%[ \t]*\n\s*"), ""),
    (
        re.compile(
            r"\\(?:protect|string|allowbreak|linebreak|discretionary|seqsplit|-|/|!|,|nolinkurl|url|texttt|path|small|footnotesize|tt|xspace)(?![A-Za-z])\s?"
        ),
        "",
    ),
    (re.compile(r"\{?\\(?:textasciitilde|sim|tilde|~)(?![A-Za-z])\s?(?:\{\s?\})?\}?"), "~"),
    (re.compile(r"\\textunderscore(?![A-Za-z])\s?(?:\{\})?"), "_"),
    (re.compile(r"\\([_%#&$~{}^-])(?:\{\})?"), r"\1"),
    (re.compile(r"\\(?:textbackslash|char)(?![A-Za-z])\S*"), ""),
    (re.compile(r"[{}$]"), ""),
    (re.compile(r"\s+"), ""),
)
BARE = re.compile(
    r"(?<![A-Za-z0-9@])(?:https?://|ftp://|www\.)[^\s<>\"“”‘’|{}\\^`\x00-\x1f]+"
    r"|(?<![A-Za-z0-9@./-])(?:github\.com|gitlab\.com|huggingface\.co|bitbucket\.org|anonymous\.4open\.science|zenodo\.org|osf\.io)/"
    r"[^\s<>\"“”‘’|{}\\^`\x00-\x1f]+"
    r"|(?<![A-Za-z0-9@./-])[a-z0-9-]+\.github\.io(?:/[^\s<>\"“”‘’|{}\\^`\x00-\x1f]*)?",
    re.IGNORECASE,
)
_TRAILING = ".,;:!?'\"*`’”"


def clean_url(raw: str) -> str:
    """A TeX address as a browser would take it; "" when nothing address-like is left."""
    url = raw[:MAX_URL].strip()
    if "\\" in url or "{" in url or "\n" in url or " " in url or "$" in url:
        # a remark after a blank is not part of the address
        spaced = re.match(r"(\S+)\s+\(", url)
        if spaced and "://" in spaced[1]:
            url = spaced[1]
        for pattern, into in _ESCAPES:
            url = pattern.sub(into, url)
    url = re.sub(r"^(?:hyper)?<(.*)>$", r"\1", url)
    url = trim(url)
    if url.lower().startswith("mailto:") or not re.search(r"[A-Za-z0-9]\.[A-Za-z0-9]", url):
        return ""
    if "://" not in url:
        if "@" in url or not re.match(r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?:[/:?#]|$)", url):
            return ""
        url = "https://" + url
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    if not re.search(r"[A-Za-z0-9-]\.[A-Za-z]{2,}|\d\.\d", host):
        return ""
    return f"{scheme.lower()}://{host.lower()}{slash}{path}"


def parses(url: str) -> bool:
    """Whether the standard library can take the address apart; whoever reads Paper.links relies on it."""
    try:
        urlsplit(url)
    except ValueError:
        return False
    return True


def trim(url: str) -> str:
    """Without the punctuation of the sentence around it."""
    while url:
        if (
            url[-1] in _TRAILING
            or (url[-1] == ")" and url.count("(") < url.count(")"))
            or (url[-1] == "]" and url.count("[") < url.count("]"))
        ):
            url = url[:-1]
        else:
            break
    return url


_NEEDLES = (
    "://",
    "www.",
    "github.com/",
    "gitlab.com/",
    "huggingface.co/",
    "bitbucket.org/",
    "anonymous.4open.science/",
    "zenodo.org/",
    "osf.io/",
    ".github.io",
)


def bare_urls(text: str) -> list[tuple[int, int, str]]:
    """(start, end, url) of the addresses printed in a text, in order."""
    found: dict[int, tuple[int, int, str]] = {}
    for needle in _NEEDLES:
        at = text.find(needle)
        while at >= 0:
            match = BARE.search(text, max(0, at - 64), at + MAX_URL)
            while match is not None and match.end() <= at:
                match = BARE.search(text, match.end(), at + MAX_URL)
            if match is not None and match.start() <= at + len(needle) and match.start() not in found:
                raw = trim(match[0][:MAX_URL])
                # "(see https://a.b/c)[Footnote" and the like end at an unbalanced bracket
                for opening, closing in (("(", ")"), ("[", "]")):
                    cut = raw.find(closing)
                    if cut >= 0 and raw.count(opening, 0, cut) == 0:
                        raw = trim(raw[:cut])
                url = clean_url(raw)
                if url:
                    found[match.start()] = (match.start(), match.start() + len(raw), url)
            at = text.find(needle, max(at + 1, match.end() if match is not None else 0))
    ends = 0
    kept = []
    for start in sorted(found):
        if start >= ends:
            kept.append(found[start])
            ends = found[start][1]
    return kept


_IN_SOURCE = re.compile(
    r"\\(?:url|path|nolinkurl|burl|href)\*?\s*\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}"
    r"|((?:https?://|www\.|github\.com/|huggingface\.co/|gitlab\.com/)(?:[^\s{}<>\"|\\]|\\[_%#&~](?:\{\})?|\{\\[a-z]+\}|\{\})+)"
)


def urls_in_source(text: str) -> list[tuple[str, str]]:
    """(url, raw) of the addresses in a piece of source that is not rendered."""
    found = []
    for match in _IN_SOURCE.finditer(text):
        raw = match[1] if match[1] is not None else match[2]
        if raw and (url := clean_url(raw)):
            found.append((url, raw))
    return found


def looks_linked(token: str) -> bool:
    """Cheap test before the expensive one."""
    return "://" in token or "www." in token or "github" in token or "huggingface.co" in token
