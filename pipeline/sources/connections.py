"""The way out: connections to the real network, to public places only.

A name is looked up once a connection, all its addresses are checked, and one of the checked ones is connected to. TLS
and the Host header keep the name. A look-up before the request and another inside the connection could disagree.
"""

from __future__ import annotations

from collections.abc import Iterable

import httpcore2
import httpx2

from pipeline.sources.guard import Resolve, public_addresses, system_resolve


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
        *others, last = public_addresses(host, self._resolve)
        for address in others:
            try:
                return self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return self._network.connect_tcp(last, port, timeout, local_address, socket_options)
