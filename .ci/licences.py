#!/usr/bin/env python3
"""Whose code a user of Reclaim installs, and under which licence: writes docs/licences.md.

    uv run .ci/licences.py          write it
    uv run .ci/licences.py --check  exit 1 where it is not what the lock and the installed packages say

Names and versions come from uv.lock (every platform, every Python), licences from the installed packages' own metadata,
so run it where all extras are installed. A package that names its licence nowhere in SPDX's words stands in `READ`.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "licences.md"
ME = "reclaim"

READ = {
    "antlr4-python3-runtime": "BSD-3-Clause",
    "colorama": "BSD-3-Clause",
    "contourpy": "BSD-3-Clause",
    "cycler": "BSD-3-Clause",
    "httpx2-jsfetch": "BSD-3-Clause",
    "itsdangerous": "BSD-3-Clause",
    "jinja2": "BSD-3-Clause",
    "kiwisolver": "BSD-3-Clause",
    "matplotlib": "PSF-2.0",
    "partd": "BSD-3-Clause",
    "pathlib-abc": "PSF-2.0",
    "psycopg2-binary": "LGPL-3.0-or-later",
    "pycryptodome": "BSD-2-Clause AND LicenseRef-Public-Domain",
    "pygithub": "LGPL-3.0-or-later",
    "pyreadline3": "BSD-3-Clause",
    "python-dateutil": "BSD-3-Clause AND (Apache-2.0 OR BSD-3-Clause)",
    "pywin32": "PSF-2.0 AND LGPL-2.1-or-later",
    "tiktoken": "MIT",
    "uvloop": "MIT OR Apache-2.0",
    "zict": "BSD-3-Clause",
}
"""Read in the package's licence file or on its page, since its metadata says less ("BSD", a whole text, nothing), or
it is installed on Windows or Emscripten only."""

SPDX = {
    "3-clause bsd license": "BSD-3-Clause",
    "apache 2.0": "Apache-2.0",
    "apache license version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "isc license": "ISC",
    "mit license": "MIT",
}
COPYLEFT = re.compile(r"\b(L?GPL|AGPL|MPL|EPL|CDDL|EUPL|SSPL)-")
STRONG = re.compile(r"(?<!L)\b(GPL|AGPL|SSPL)-")

HEAD = """\
# Licences of what a user installs

Written by `.ci/licences.py` from `uv.lock` and the packages' own metadata; a test holds it to both. Reclaim itself is
under the MIT licence. Test and benchmark packages (dependency groups) are not listed: no user installs them. A package
with two versions is locked by Python version. Packages of Windows or Emscripten only are listed as well.

The base set has {base} packages{adds}. By licence, over all of them:

| licence | packages |
|---|---|"""
WEAK = """
## Copyleft

None is under the GPL or AGPL alone. These keep a copyleft on their own files or library. Reclaim imports them as they
are, installed beside it and replaceable, which those licences allow; nothing of them is copied into Reclaim, its wheel
or a release. Of the choices that `tld` gives, the MPL is ours.
"""
VENDORED = """
## Copied into the wheel

`audit_ui/static/htmx.min.js`: htmx, 0BSD, its licence beside it (`htmx.LICENSE`). It is the only
file of others in there."""


@dataclass(frozen=True)
class Package:
    name: str
    versions: tuple[str, ...]
    licence: str
    parents: tuple[str, ...]


class Unknown(ValueError):
    """A package of which nobody has said the licence, or not the locked version of it."""


def locked(path: Path = ROOT / "uv.lock") -> dict[str, list[dict[str, Any]]]:
    """The lock's packages by name; one that forks by Python version has several entries."""
    packages: dict[str, list[dict[str, Any]]] = {}
    for package in tomllib.loads(path.read_text(encoding="utf-8"))["package"]:
        packages.setdefault(package["name"], []).append(package)
    return packages


def needed(lock: Mapping[str, list[dict[str, Any]]], first: Iterable[Mapping[str, Any]]) -> dict[str, set[str]]:
    """All that `first` (dependencies as the lock writes them) brings along on any platform, with who asks for it."""
    parents: dict[str, set[str]] = {}
    todo = [(ME, dependency) for dependency in first]
    seen = set()
    while todo:
        parent, dependency = todo.pop()
        name, extras = dependency["name"], tuple(dependency.get("extra", ()))
        parents.setdefault(name, set()).add(parent)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        for package in lock[name]:
            todo += [(name, one) for one in package.get("dependencies", ())]
            for extra in extras:
                todo += [(name, one) for one in package.get("optional-dependencies", {}).get(extra, ())]
    return parents


def sets(lock: Mapping[str, list[dict[str, Any]]]) -> Iterator[tuple[str, dict[str, set[str]]]]:
    """The base set, then what each extra adds to it."""
    (project,) = lock[ME]
    base = needed(lock, project["dependencies"])
    yield "", base
    for extra, dependencies in sorted(project["optional-dependencies"].items()):
        yield extra, {name: who for name, who in needed(lock, dependencies).items() if name not in base}


def licence(name: str, versions: Iterable[str]) -> str:
    """An SPDX expression. Raises `Unknown` where neither the installed package nor `READ` names one."""
    try:
        installed: Distribution | None = distribution(name)
    except PackageNotFoundError:
        installed = None
    if installed is None:
        if name in READ:
            return READ[name]
        raise Unknown(f"{name}: not installed here; uv sync --all-extras, or write what its page says into READ")
    if installed.version not in versions:
        raise Unknown(f"{name}: {installed.version} is installed, the lock has {', '.join(versions)}; uv sync")
    said = stated(installed)
    if said and name in READ:
        raise Unknown(f"{name}: its metadata now says {said}; take it out of READ")
    if not said and name not in READ:
        raise Unknown(f"{name}: its metadata names no licence in SPDX's words; read its licence file, add it to READ")
    return said or READ[name]


def stated(package: Distribution) -> str:
    """What a package's metadata says, as SPDX, or "" where that is not one known thing."""
    metadata = package.metadata
    expression = metadata.get("License-Expression")
    if expression:
        return str(canonicalize_license_expression(expression))
    said = (metadata.get("License") or "").strip()
    classified = [c.rsplit(" :: ", 1)[-1] for c in metadata.get_all("Classifier") or () if c.startswith("License ::")]
    if (not said or "\n" in said) and len(classified) == 1:
        (said,) = classified
    expression = SPDX.get(said.lower(), said)
    if any(SPDX.get(one.lower(), "") not in expression for one in classified):
        return ""  # its field and its classifiers contradict each other
    try:
        return str(canonicalize_license_expression(expression))
    except InvalidLicenseExpression:
        return ""


def alternatives(expression: str) -> list[str]:
    """The licences among which a user may choose; parentheses are not read, so what holds one is one choice."""
    return [expression] if "(" in expression else expression.split(" OR ")


def strong(expression: str) -> bool:
    """Whether every choice would put what links to it under the same licence (GPL, AGPL, SSPL; the LGPL does not)."""
    return all(STRONG.search(choice) for choice in alternatives(expression))


def packages(lock: Mapping[str, list[dict[str, Any]]], chosen: Mapping[str, set[str]]) -> list[Package]:
    made = []
    for name, parents in sorted(chosen.items()):
        versions = tuple(package["version"] for package in lock[name])
        asked = tuple(sorted(parents - {ME}))
        made.append(Package(name, versions, licence(name, versions), (ME, *asked) if ME in parents else asked))
    return made


def users(lock: Mapping[str, list[dict[str, Any]]]) -> dict[str, list[Package]]:
    """All that a user installs, by the set that brings it: "" is the base, the others are extras."""
    return {extra: packages(lock, names) for extra, names in sets(lock)}


def page(chosen: Mapping[str, list[Package]]) -> str:
    alone = [one for one in READ if one not in {package.name for group in chosen.values() for package in group}]
    if alone:
        raise Unknown(f"READ names what nobody installs: {', '.join(alone)}")
    everything = {package.name: package for group in chosen.values() for package in group}.values()
    by_licence = sorted(Counter(p.licence for p in everything).items(), key=lambda pair: (-pair[1], pair[0]))
    copyleft = sorted(f"- {p.name}: {p.licence}" for p in everything if COPYLEFT.search(p.licence))
    adds = "".join(f", `{extra}` adds {len(group)}" for extra, group in chosen.items() if extra)
    lines = [
        HEAD.format(base=len(chosen[""]), adds=adds),
        *(f"| {name} | {many} |" for name, many in by_licence),
        WEAK,
        *copyleft,
        VENDORED,
    ]
    for extra, group in chosen.items():
        lines += ["", f"## {f'Added by the extra `{extra}`' if extra else 'Base'}", ""]
        lines += ["| package | version | licence | asked for by |", "|---|---|---|---|"]
        lines += [
            f"| {p.name} | {' / '.join(p.versions)} | {p.licence} | {', '.join(p.parents[:3])}"
            f"{f' and {len(p.parents) - 3} more' if len(p.parents) > 3 else ''} |"
            for p in group
        ]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    try:
        text = page(users(locked()))
    except Unknown as unknown:
        print(f"licences: {unknown}", file=sys.stderr)
        return 1
    if arguments == ["--check"]:
        if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text:
            return 0
        print(f"licences: {PAGE.relative_to(ROOT)} is not what is locked; uv run .ci/licences.py", file=sys.stderr)
        return 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
