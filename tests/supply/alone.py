"""Run a command where nothing but this machine's loopback exists, and tell whether anything tried to leave it.

    unshare -n python alone.py TELL COMMAND...

The kernel counts what had no route, whoever asked: Python, a native library, a child. It counts UDP too, and a look-up
of a name is UDP even where the resolver is on loopback. TELL becomes a JSON file of those counts. Exit: the command's.
"""

from __future__ import annotations

import fcntl
import json
import socket
import struct
import subprocess
import sys
from pathlib import Path

SIOCSIFFLAGS, IFF_UP = 0x8914, 0x1


def main(tell: str, *command: str) -> int:
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
    code = subprocess.run(command, check=False).returncode
    Path(tell).write_text(json.dumps(counts()), encoding="utf-8")
    return code


def counts() -> dict[str, int]:
    """What left or tried to: `no_route`, over IPv4 and IPv6, and `udp`; `tcp` is what was opened, on loopback."""
    four = Path("/proc/self/net/snmp").read_text(encoding="ascii").splitlines()
    found = {}
    for names, values in zip(four[::2], four[1::2], strict=True):
        kind = names.split(":")[0]
        found |= {kind + name: int(value) for name, value in zip(names.split()[1:], values.split()[1:], strict=True)}
    for line in Path("/proc/self/net/snmp6").read_text(encoding="ascii").splitlines():
        name, value = line.split()
        found[name] = int(value)
    return {
        "no_route": found["IpOutNoRoutes"] + found["Ip6OutNoRoutes"],
        "udp": found["UdpOutDatagrams"] + found["Udp6OutDatagrams"],
        "tcp": found["TcpActiveOpens"],
    }


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
