"""Which URLs we refuse to open, and which addresses: a paper's text must not make us reach private places.

`refusal` looks at a URL's spelling; the recorder asks it before every request and at every redirect. What a name leads
to is decided where the connection is made (`public_addresses`, used by `sources/connections.py`), so that no second
look-up can answer otherwise.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import unicodedata
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

Resolve = Callable[[str], Sequence[str]]
"""Host name to all its IP addresses as text, in the order to try them; raises OSError where there are none."""

_LOCAL_NAMES = (
    "localhost",
    "local",
    "internal",
    "intranet",
    "lan",
    "corp",
    "home",
    "home.arpa",
    "localdomain",
    "onion",
    "svc",
    "test",
    # Names by which clouds serve a machine its own credentials.
    "metadata.goog",
    "metadata.tencentyun.com",
    "metadata.platformequinix.com",
)
# Assigned or once assigned, and yet no place where a stranger's server stands: protocol assignments (192.0.0.0/24),
# 6to4 relays (RFC 7526), addresses of a site (RFC 3879), local NAT64 (RFC 8215), and Azure's own host, which every
# machine there reaches. Python counts some of them as global.
_NO_PLACE = tuple(
    map(
        ipaddress.ip_network,
        ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "fec0::/10", "64:ff9b:1::/48", "::ffff:0:0:0/96"),
    )
)
_HOST = re.compile(r"[a-z0-9_\-.:]+")


class Forbidden(PermissionError):
    """A name that leads to a place that may not be opened."""


def system_resolve(host: str) -> list[str]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # a label that no name can have
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known") from error
    return list(dict.fromkeys(str(info[4][0]) for info in found))


def public_addresses(host: str, resolve: Resolve) -> list[str]:
    """The addresses of a host, every one of them public. Raises `Forbidden`, or OSError where there are none.

    One private address among public ones is refused too: which one would be connected to is chance.
    """
    spelled = _address(host.strip("[]"))
    found = list(resolve(host)) if spelled is None else [str(spelled)]
    if not found:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    for text in found:
        address = _address(text)
        if address is None or not is_public(address):
            raise Forbidden(f"{host} resolves to {text}")
    return found


def refusal(url: str) -> str | None:
    """Why `url` may not be opened, by its spelling alone, or None where it may."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "not a URL"
    if any(ord(character) <= 32 or ord(character) == 127 or character == "\\" for character in url):
        return "white space, control characters or a backslash"
    if parts.scheme not in ("http", "https"):
        return f"scheme {parts.scheme or 'missing'!r}"
    if "@" in parts.netloc:
        return "credentials in the URL"
    if port not in (None, 80, 443):
        return f"port {port}"
    host = parts.hostname or ""
    if not host:
        return "no host"
    plain = _plain(host)
    if plain is None or ("[" in parts.netloc) != (":" in plain):
        return "host spelling"
    address = _address(plain)
    if address is not None:
        return None if is_public(address) else f"address {address}"
    if "." not in plain or any(plain == name or plain.endswith("." + name) for name in _LOCAL_NAMES):
        return "local name"
    return None


def _plain(host: str) -> str | None:
    """A host as a resolver will see it (full-width digits, circled ones and soft hyphens are gone), or None where it
    spells nothing."""
    text = unicodedata.normalize("NFKC", host).lower()
    try:
        text = text if ":" in text else text.encode("idna").decode("ascii")
    except UnicodeError:
        return None
    return text.removesuffix(".") if _HOST.fullmatch(text) else None


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host spells, in any spelling that a C library would accept (`2130706433`, `0x7f.1`,
    `127.1`)."""
    if ":" in host:
        try:
            return ipaddress.IPv6Address(host.split("%")[0])
        except ValueError:
            return ipaddress.IPv6Address(0)  # a colon in a host is an address or nothing: refused as `::`
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        pass
    last = host.rsplit(".", 1)[-1]
    if last.isdigit() or re.fullmatch(r"0x[0-9a-f]*", last):
        return ipaddress.IPv4Address(0)  # looks like a number and is none: refused as 0.0.0.0
    return None


def is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether a stranger on the internet could reach the address; IPv4 inside IPv6 counts as what it carries."""
    if any(address in network for network in _NO_PLACE):
        return False
    if isinstance(address, ipaddress.IPv6Address):
        carried = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if carried is not None:
            return is_public(carried)
        if int(address) >> 32 in (0, 0x0064_FF9B << 64):  # IPv4-compatible and NAT64 carry an IPv4 address too
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
    return address.is_global and not address.is_multicast
