"""A line that can be cut: what a network and a killed process do to a conversation, at a byte of one's choice."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable


class Wire:
    """A line to a server that counts what passes, both ways together, and is cut at the byte it is told to be cut at.

    Cut, it is dead for old and new connections until it is mended; `on_cut` is called then.
    """

    def __init__(self, server: str, on_cut: Callable[[], None] = lambda: None) -> None:
        self.passed = 0
        self.left: int | None = None
        self.on_cut = on_cut
        self._port = int(server.rsplit(":", 1)[1])
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_after(self, count: int) -> None:
        self.left = count

    def mend(self) -> None:
        self.left = None

    def close(self) -> None:
        self._listening.close()
        self._drop()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            if self.left == 0:
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self._port))
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open |= {client, server}
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(1 << 14):
                sink.sendall(self._granted(data))
                if self.left == 0:
                    self.on_cut()
                    self._drop()
                    return
        except OSError:
            pass
        for end in (source, sink):
            self._open.discard(end)
            end.close()

    def _granted(self, data: bytes) -> bytes:
        with self._lock:
            if self.left is not None:
                data = data[: self.left]
                self.left -= len(data)
            self.passed += len(data)
            return data

    def _drop(self) -> None:
        for end in list(self._open):
            self._open.discard(end)
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
