"""Which URLs we refuse to open: a paper's text must not make us reach private places.

The guard looks at spellings, then at what the name resolves to; the recorder applies it again at every redirect.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import unicodedata
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

Resolve = Callable[[str], Sequence[str]]
"""Host name to IP addresses as text; empty where the name does not resolve."""

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
)
# Assigned or once assigned, and yet no place where a stranger's server stands: protocol assignments (192.0.0.0/24),
# 6to4 relays (RFC 7526), addresses of a site (RFC 3879), local NAT64 (RFC 8215). Python counts some of them as global.
_NO_PLACE = tuple(
    map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "fec0::/10", "64:ff9b:1::/48", "::ffff:0:0:0/96"))
)
_HOST = re.compile(r"[a-z0-9_\-.:\u0080-\uffff]+")


def system_resolve(host: str) -> list[str]:
    try:
        return sorted({str(info[4][0]) for info in socket.getaddrinfo(host, None, proto=socket.IPPROTO_TCP)})
    except (OSError, UnicodeError):
        return []


def refusal(url: str, resolve: Resolve | None = None) -> str | None:
    """Why `url` may not be opened, or None where it may. Without a resolver (offline world) names are judged by
    spelling alone."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "not a URL"
    if parts.scheme not in ("http", "https"):
        return f"scheme {parts.scheme or 'missing'!r}"
    if parts.username is not None or parts.password is not None:
        return "credentials in the URL"
    if port not in (None, 80, 443):
        return f"port {port}"
    if any(ord(character) <= 32 or character == "\\" for character in url):
        return "white space, control characters or a backslash"
    host = unicodedata.normalize("NFKC", parts.hostname or "").lower().rstrip(".")
    if not _HOST.fullmatch(host):
        return "no host" if not host else "host spelling"
    address = _address(host)
    if address is not None:
        return None if is_public(address) else f"address {address}"
    if "." not in host or any(host == name or host.endswith("." + name) for name in _LOCAL_NAMES):
        return "local name"
    for text in resolve(host) if resolve else ():
        found = _address(text.split("%")[0])
        if found is None or not is_public(found):
            return f"{host} resolves to {text}"
    return None


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
