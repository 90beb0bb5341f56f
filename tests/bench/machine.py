"""What was measured on: cores, memory, processor, Python, commit."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Any


def machine(root: Path) -> dict[str, Any]:
    # What a run itself writes makes no other code of it.
    touched = _git(root, "status", "--porcelain", "--", ".", ":!docs/performance.*")
    return {
        "commit": _git(root, "rev-parse", "--short=12", "HEAD") + ("+" if touched else ""),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "processor": _processor(),
        "python": platform.python_version(),
        "system": platform.system(),
        "load": os.getloadavg()[0],
    }


def _git(root: Path, *arguments: str) -> str:
    try:
        ran = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return ran.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
