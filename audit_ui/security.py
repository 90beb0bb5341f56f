"""What stands between the page and whoever asks: sizes, headers, hosts, sessions, tokens, and where it may listen."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
from collections.abc import Mapping
from typing import Any

from itsdangerous import BadSignature, Signer
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_POST = 64 * 1024
COOKIE, DOOR = "reclaim_audit", "reclaim_audit_door"
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
INERT = "sandbox; default-src 'none'; frame-ancestors 'none'"
"""For bodies that others wrote: even as text they get no origin, no script, no style."""


class BindError(ValueError):
    """The page is to listen where others could reach it without TLS."""


def check_binding(host: str, *, tls: bool, behind_proxy: bool) -> None:
    """Raises BindError for an address beyond loopback without a certificate or a proxy that brings TLS."""
    try:
        local = host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        local = False
    if not local and not tls and not behind_proxy:
        raise BindError(
            f"the audit page does not listen on {host} in the clear: passwords and decisions would cross the network "
            "unprotected. Give --tls-cert and --tls-key, or --behind-proxy where a proxy here brings TLS, or "
            "leave --audit-host away and reach the page over an SSH tunnel"
        )


class Shield:
    """Refuses foreign host names and large posts, and adds the headers to every answer."""

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...], secure: bool) -> None:
        self.app, self.hosts = app, frozenset(h.lower() for h in hosts)
        self.headers = HEADERS | ({"strict-transport-security": "max-age=31536000"} if secure else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers.setdefault(name, value)
            await send(message)

        given: Mapping[bytes, bytes] = dict(scope["headers"])
        host = re.sub(r":\d+$", "", given.get(b"host", b"").decode("latin-1").lower())
        if host not in self.hosts:
            # A page elsewhere may point its own name at this machine; it must not speak for the auditor.
            await PlainTextResponse("this page is not served under that name", 421)(scope, receive, guarded)
            return
        length = given.get(b"content-length", b"0")
        if scope["method"] == "POST" and (b"content-length" not in given or not length.isdigit()):
            await PlainTextResponse("a post needs its length", 411)(scope, receive, guarded)
            return
        if int(length or 0) > MAX_POST:
            await PlainTextResponse("that is too much at once", 413)(scope, receive, guarded)
            return
        await self.app(scope, receive, guarded)


class Cookies:
    """Signed cookies and the tokens of forms. The cookie before login is another one than after it."""

    def __init__(self, secret: str, secure: bool) -> None:
        self._secret, self._secure = secret.encode(), secure
        self._signer = Signer(secret, salt="reclaim audit session", digest_method=hashlib.sha256)

    def read(self, request: Request, name: str) -> str | None:
        try:
            return self._signer.unsign(request.cookies.get(name, "")).decode()
        except (BadSignature, UnicodeError):
            return None

    def set(self, response: Response, name: str, value: str, seconds: int) -> None:
        response.set_cookie(
            name,
            self._signer.sign(value).decode(),
            max_age=seconds,
            httponly=True,
            samesite="strict",
            secure=self._secure,
            path="/",
        )

    def drop(self, response: Response, name: str) -> None:
        response.delete_cookie(name, httponly=True, samesite="strict", secure=self._secure, path="/")

    def token(self, session: str) -> str:
        return hmac.new(self._secret, f"csrf {session}".encode(), hashlib.sha256).hexdigest()

    def holds(self, session: str | None, token: Any) -> bool:
        return session is not None and isinstance(token, str) and hmac.compare_digest(self.token(session), token)


def new_door() -> str:
    return secrets.token_urlsafe(24)


def inside(path: str) -> str:
    """Where to go after login: a path of this page, or the queue for anything else."""
    plain = re.fullmatch(r"/(?:(?:paper|adjudicate|guide|agreement|calibrate)(?:/[A-Za-z0-9._/-]{0,80})?)?", path)
    return path if plain and "//" not in path and ".." not in path else "/"
