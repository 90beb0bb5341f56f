"""Run Python with nothing but itself: every name asked for, connection and written file is told, none gets through.

    python quiet.py import PACKAGE...   import every module of these packages
    python quiet.py reclaim ARGUMENT... the command

Prints what was tried as JSON on the last line of standard output. What a library swallows is told all the same.
"""

from __future__ import annotations

import json
import os
import sys

NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.sendto")
CHANGES = ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.truncate", "shutil.rmtree")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
tried: list[str] = []


def told(event: str, arguments: tuple[object, ...]) -> None:
    if event in NETWORK:
        tried.append(f"{event} {arguments[1:] if event in ('socket.connect', 'socket.sendto') else arguments}")
        raise PermissionError(f"{event}: nothing is reached from here")
    if event == "open":
        path, mode, flags = arguments
        writes = any(letter in str(mode or "") for letter in "wax+") or int(str(flags or 0)) & WRITING
        if writes and isinstance(path, (str, bytes)) and path != os.devnull and not bytecode(path):
            tried.append(f"open {path} {mode}")
    elif event in CHANGES and not bytecode(arguments[0]):
        tried.append(f"{event} {arguments}")


def bytecode(path: object) -> bool:
    """Whether a path is of Python's own cache, which any import may fill."""
    return "__pycache__" in str(path) or bool(sys.pycache_prefix and str(path).startswith(sys.pycache_prefix))


def main(what: str, *arguments: str) -> int:
    sys.addaudithook(told)
    done = 0
    try:
        if what == "reclaim":
            from assets.cli import main as reclaim

            done = reclaim(arguments)
        else:
            from importlib import import_module
            from pkgutil import walk_packages

            for package in map(import_module, arguments):
                for module in walk_packages(package.__path__, package.__name__ + ".", onerror=failed):
                    import_module(module.name)
                    done += 1
    except SystemExit as end:
        done = int(end.code or 0)
    print(json.dumps({"done": done, "tried": tried}))
    return 0


def failed(name: str) -> None:
    raise ImportError(f"{name} cannot be imported")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
