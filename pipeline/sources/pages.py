"""What a web page is, told from its text: a wall, a page that says "not found", a promise, or a page. Pure functions.

An answer of 200 is not access: login forms, quota notes and "not found" pages come with 200 too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_BREAKS = frozenset(
    ("p", "br", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "dd", "dt", "ol", "ul", "pre", "table")
) | {"section", "article", "header", "footer"}
_SKIPPED = frozenset(("script", "style", "noscript", "template", "svg"))
_LOGIN_TITLE = re.compile(r"(?i)\b(log ?in|sign ?in|log ?on|authenticat\w+|sign ?up|anmelden)\b")
_LOGIN_PATH = re.compile(
    r"(?i)/(log[-_]?in|sign[-_]?in|account/login|users?/sign_in|auth|sso|oauth2?|ServiceLogin)(/|$|\?)"
)
_LOGIN_HOST = ("accounts.google.com", "login.microsoftonline.com", "login.live.com", "auth0.com", "okta.com")
_ASK = _any(
    r"you need access|request (?:for )?access|request permission",
    r"please (?:log|sign) ?in|(?:log|sign) ?in to (?:view|see|access|download|continue)",
    r"must be (?:logged|signed) in|only credentialed|restricted (?:access|to)",
    r"registration (?:is )?required|fill (?:in|out) (?:this|the) form",
)
_DENIED = _any(r"access denied")
_GONE_TITLE = _any(
    r"\b404\b|\b410\b|page not found|not found|file not found|no longer (?:available|exists)|has (?:been )?expired",
    r"(?:link|file|page|repository) (?:is |was |has been )?(?:expired|deleted|removed|disabled|unavailable)",
    r"does ?n[o']t exist|nothing here|page (?:gone|missing)",
)
_QUOTA = _any(
    r"quota exceeded|too many users have viewed or downloaded|bandwidth (?:limit )?exceeded|over its data quota",
    r"(?:links|file|account) (?:is|are) generating too much traffic",
)
_ROBOT = _any(r"just a moment\.\.\.|checking your browser|verify you are (?:a )?human|enable javascript and cookies")
_PAY = _any(
    r"purchase (?:pdf|article|access)|buy (?:this )?(?:article|pdf)|get access to this article",
    r"subscribe to (?:read|continue)|institutional (?:login|access)",
)
_PARKED = _any(
    r"\bthis (?:web ?site|domain(?: name)?) (?:is|may be) (?:for sale|available for purchase)|buy this domain",
    r"domain(?: name)?,? [\w.-]+\.\w+,? (?:is|may be) for sale|parked (?:free|domain)|domain (?:is )?parked",
    r"sedoparking|hugedomains|this domain (?:has expired|was recently registered)",
)
_CREDENTIALED = _any(
    r"only (?:credentialed|registered) users(?: who sign)?", r"(?:credentialed|restricted)[- ]access resource"
)
"""How PhysioNet's project pages, long as they are, say who may have the files."""
_CHARSET = re.compile(
    r"(?i)(utf-?(8|16|32)|iso-?8859|windows-?\d|cp\d|latin|ascii|us-ascii|gb|big5|euc|shift|sjis|koi8|hz$|iso-?2022|mac)"
)
_SHORT = 1_500
"""Characters of text below which a page has nothing to say but its notice."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page as text, with its links as `[text](url)` and absolute."""

    title: str
    text: str
    links: tuple[str, ...]
    password_field: bool
    scripted: bool
    cited: bool
    broken: bool = False


def is_html(content_type: str, body: bytes) -> bool:
    head = body[:1024].lstrip().lower()
    if head.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return True
    return "html" in content_type.lower() and not body.startswith((b"%PDF", b"PK\x03\x04", b"\x1f\x8b"))


def read_page(body: bytes, content_type: str, url: str) -> Page:
    """Flatten HTML. Never raises: half a page (bodies are cut) reads as far as it goes."""
    match = re.search(r"charset=[\"']?([\w-]+)", content_type) or re.search(r"charset=[\"']?([\w-]+)", str(body[:2048]))
    reader, broken = _Reader(url), False
    try:
        # Python's parser fails on marked sections that are none; as text they harm nobody.
        reader.feed(_decoded(body, match[1] if match else "utf-8").replace("<![", "&lt;!["))
    except (AssertionError, ValueError, RecursionError):
        broken = True
    lines = (" ".join(line.split()) for line in "".join(reader.parts).split("\n"))
    shown = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return Page(
        title=" ".join("".join(reader.title).split())[:300],
        text=shown,
        links=tuple(dict.fromkeys(reader.links)),
        password_field=reader.password,
        scripted=reader.scripts > 0,
        cited=reader.cited,
        broken=broken,
    )


def _decoded(body: bytes, named: str) -> str:
    """The text of a body. Only charsets of the web are believed: Python has codecs that fail, or make half
    characters."""
    try:
        text = body.decode(named if _CHARSET.match(named) else "utf-8", errors="replace")
    except (LookupError, ValueError):
        text = body.decode("utf-8", errors="replace")
    return text.encode("utf-8", errors="replace").decode("utf-8")


class _Reader(HTMLParser):
    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self.url = url
        self.parts: list[str] = []
        self.title: list[str] = []
        self.links: list[str] = []
        self.password = self.cited = False
        self.scripts = 0
        self._skipping: list[str] = []
        self._in_title = False
        self._href: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        if tag in _SKIPPED:
            self.scripts += tag == "script"
            self._skipping.append(tag)
        elif tag == "title":
            self._in_title = True
        elif tag == "a" and told.get("href") and not told["href"].startswith(("#", "javascript:", "mailto:")):
            self._href = self._absolute(told["href"]) or ""
            self.parts.append("[")
        elif tag == "base" and told.get("href"):
            self.url = self._absolute(told["href"]) or self.url
        elif tag == "input" and told.get("type", "").lower() == "password":
            self.password = True
        elif tag == "meta" and told.get("name", "").startswith("citation_"):
            self.cited = True
        elif tag in ("iframe", "embed", "source", "video") and told.get("src", "").startswith(("http://", "https://")):
            self.links += filter(None, [self._absolute(told["src"])])
        if tag in _BREAKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if self._skipping and tag == self._skipping[-1]:
            self._skipping.pop()
        elif tag == "title":
            self._in_title = False
        elif tag == "a" and self._href is not None:
            self.parts.append(f"]({self._href})")
            if self._href.startswith(("http://", "https://")):
                self.links.append(self._href)
            self._href = None
        if tag in _BREAKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._skipping:
            self.parts.append(data)

    def _absolute(self, href: str) -> str | None:
        """None for what is no URL (`http://[::1`)."""
        try:
            url = urljoin(self.url, href.strip())
            urlsplit(url)
        except ValueError:
            return None
        return url


def wall(page: Page, final_url: str, *, refused: bool = False) -> str | None:
    """The kind of wall a page is, or None: `login`, `request_access`, `credentialed`, `paywall`.

    `refused`: it came with a refusal (403); then "access denied" may be said to robots only.
    """
    parts = urlsplit(final_url)
    host = parts.hostname or ""
    if any(host == h or host.endswith("." + h) for h in _LOGIN_HOST) or _LOGIN_PATH.search(parts.path + "?"):
        return "login"
    if parts.path.lower().endswith("/accessdenied.aspx"):  # SharePoint, to whoever is not on its list
        return "request_access"
    if (host == "physionet.org" or host.endswith(".physionet.org")) and _CREDENTIALED.search(page.text):
        return "credentialed"
    short = len(page.text) < _SHORT
    if page.password_field and (short or _LOGIN_TITLE.search(page.title)):
        return "login"
    if _LOGIN_TITLE.search(page.title) and short:
        return "login"
    if page.cited and _PAY.search(page.text):
        return "paywall"
    said = f"{page.title}\n{page.text}"
    if short and (_ASK.search(said) or (not refused and _DENIED.search(said))):
        return "request_access"
    return None


def doubtful(page: Page) -> str | None:
    """Why a page says nothing about what was asked: `quota`, `challenge`, `parked`, `javascript_only`,
    `unreadable_page`; or None."""
    if page.broken:
        return "unreadable_page"
    short = len(page.text) < _SHORT
    said = f"{page.title}\n{page.text[:4000]}"
    if _QUOTA.search(said) and short:
        return "quota"
    if _ROBOT.search(said) and short:
        return "challenge"
    if _PARKED.search(said):
        return "parked"
    if page.scripted and len(page.text) < 40 and not page.links:
        return "javascript_only"
    return None


def says_gone(page: Page) -> bool:
    """A page that says by its title, or by all the little it says, that there is nothing (a "soft 404")."""
    if _GONE_TITLE.search(page.title) and (len(page.text) < _SHORT or _only_gone(page.title)):
        return True
    return len(page.text) < 400 and bool(_GONE_TITLE.search(page.text)) and not page.links


def _only_gone(title: str) -> bool:
    """Whether a part of a title says nothing else: "404 - Page not found | Lab", and not "Why links end as 404s"."""
    for part in re.split(r"\s[|·–—-]\s|: ", title):
        left = re.sub(r"\W+", "", _GONE_TITLE.sub("", part))
        if _GONE_TITLE.search(part) and 2 * len(left) <= len(re.sub(r"\W+", "", part)):
            return True
    return False
