"""The way out: connections to the real network, to public places only.

A name is looked up once a connection, all its addresses are checked, and one of the checked ones is connected to. TLS
and the Host header keep the name. A look-up before the request and another inside the connection could disagree.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import httpcore2
import httpx2

from pipeline.sources.guard import Resolve, public_addresses, system_resolve

_TRIED = 3
"""Addresses of a name that are connected to at most: a name may list hundreds that are silent."""
_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """All reading and writing inside ends by then, as a timeout: a host that sends a byte now and then, of its headers
    too, never runs into the timeout of a single read."""
    token = _deadline.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _deadline.reset(token)


class PublicTransport(httpx2.HTTPTransport):
    """For httpx2 clients. `resolve` and `network` are how names become addresses and addresses streams.

    Raises `guard.Forbidden` where a name leads to a private address, and socket.gaierror where it leads nowhere.
    """

    def __init__(self, resolve: Resolve = system_resolve, network: httpcore2.NetworkBackend | None = None) -> None:
        self._pool = httpcore2.ConnectionPool(
            ssl_context=httpx2.create_ssl_context(),
            max_connections=100,
            max_keepalive_connections=20,
            keepalive_expiry=5.0,
            network_backend=_Checked(resolve, network or httpcore2.SyncBackend()),
        )


class _Checked(httpcore2.NetworkBackend):
    def __init__(self, resolve: Resolve, network: httpcore2.NetworkBackend) -> None:
        self._resolve = resolve
        self._network = network

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        *others, last = public_addresses(host, self._resolve)[:_TRIED]
        for address in others:
            try:
                return _Timed(self._network.connect_tcp(address, port, timeout, local_address, socket_options))
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return _Timed(self._network.connect_tcp(last, port, timeout, local_address, socket_options))


class _Timed(httpcore2.NetworkStream):
    """A stream that keeps the deadline of whoever reads it now."""

    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout, httpcore2.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(timeout, httpcore2.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return _Timed(self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(timeout: float | None, over: type[Exception]) -> float | None:
    deadline = _deadline.get()
    if deadline is None:
        return timeout
    left = deadline - time.monotonic()
    if left <= 0:
        raise over("the whole answer took too long")
    return left if timeout is None else min(timeout, left)
