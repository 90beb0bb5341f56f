#!/usr/bin/env python3
"""Ask the advisory service (api.osv.dev, through `uv audit`) about every locked package.

    python3 .ci/advisories.py [more arguments of uv audit]

Ends with 0 where nothing is known against any, 1 where something is, 2 where the question itself failed. Where the
service cannot be reached it says so, "not checked", and ends with 0: a machine without a network proves nothing, and
does not claim to.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNREACHED = re.compile(r"error sending request|HTTP status server error|operation timed out", re.IGNORECASE)


def main(arguments: list[str]) -> int:
    command = [os.environ.get("UV", "uv"), "audit", "--locked", "--preview-features", "audit-command"]
    retries = {"UV_HTTP_RETRIES": "1", "UV_HTTP_TIMEOUT": "20"}
    asked = subprocess.run(
        [*command, *arguments], cwd=ROOT, env={**retries, **os.environ}, capture_output=True, text=True, check=False
    )
    print(asked.stdout, end="")
    many = re.search(r"Found no known vulnerabilities .*in ([1-9]\d*) packages", asked.stderr)
    if asked.returncode == 0 and many:
        # uv's own line also tells of projects that the index archived, but says "none" where the index is silent
        print(f"no known vulnerability in {many[1]} packages")
        return 0
    if asked.returncode == 1 and asked.stdout:
        print(asked.stderr.strip())
        return 1
    causes = [line.split("cause:", 1)[-1].strip() for line in asked.stderr.strip().splitlines()]
    if asked.returncode == 2 and UNREACHED.search(asked.stderr):
        print(f"not checked: the advisory service cannot be reached ({causes[-1]})")
        return 0
    print(asked.stderr.strip(), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
