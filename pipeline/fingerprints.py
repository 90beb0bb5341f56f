"""What a stage's output was made from: its inputs, its part of the edition, and the code that can reach it.

The code part is computed, not declared: the syntax trees of every first-party module that the stage's rule module
imports, directly or not, without docstrings, comments and positions. Renaming a variable changes it; rewording a
docstring does not.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pipeline.evidence import Json, digest
from pipeline.files import StoreError, write

FIRST_PARTY = ("pipeline", "classifiers", "assets", "audit_ui")
_ROOT = Path(__file__).resolve().parent.parent
_PARSER = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
"""What parses is part of what is known of a source."""


def _file(module: str) -> Path | None:
    base = _ROOT.joinpath(*module.split("."))
    for path in (base / "__init__.py", base.with_suffix(".py")):
        if path.is_file():
            return path
    return None


Imported = tuple[int, str, tuple[str, ...]]
"""One import as written: dots in front, module, names."""

_known: dict[str, tuple[str, tuple[Imported, ...]]] = {}
"""By hash of a source and of what parses it: print of its bare tree, and what it imports."""

_used: set[str] = set()
_saved: set[str] = set()


@functools.cache
def _parsed(module: str) -> tuple[str, tuple[Imported, ...]] | None:
    """Print and imports of a first-party module, or None where there is none."""
    path = _file(module)
    if path is None:
        return None
    source = path.read_bytes()
    key = hashlib.sha256(f"{_PARSER} {sys.version_info[:3]}".encode() + source).hexdigest()
    if key not in _known:
        tree = ast.parse(source)
        imported = tuple(_written(tree))
        _known[key] = hashlib.sha256(_bare(tree).encode()).hexdigest(), imported
    _used.add(key)
    return _known[key]


def _written(tree: ast.AST) -> Iterator[Imported]:
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.level, node.module or "", tuple(alias.name for alias in node.names)
        else:
            yield from _written(node)


@functools.cache
def _imports(module: str) -> tuple[str, ...]:
    """Names of first-party modules that a module imports anywhere, with the packages above them."""
    parsed = _parsed(module)
    return () if parsed is None else tuple(dict.fromkeys(_resolved(module, parsed[1])))


def _resolved(module: str, imported: Iterable[Imported]) -> Iterator[str]:
    package = module if (_file(module) or Path()).name == "__init__.py" else module.rpartition(".")[0]
    for level, base, names in imported:
        if level:
            above = package.split(".")[: len(package.split(".")) - level + 1]
            base = ".".join([*above, base] if base else above)
        for name in (base, *(f"{base}.{one}" for one in names)):
            if name.split(".")[0] in FIRST_PARTY and _file(name) is not None:
                parts = name.split(".")
                yield from (".".join(parts[: i + 1]) for i in range(len(parts)))


def remember(place: Path) -> None:
    """Read what earlier processes parsed; a file that is none, or not as it was written, is as good as no file."""
    try:
        told = json.loads(place.read_text(encoding="utf-8"))
        if told["sha256"] != digest(told["parsed"]):
            return
        found = {
            key: (print_, tuple((n, m, tuple(names)) for n, m, names in raw))
            for key, (print_, raw) in told["parsed"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return
    _known.update(found)
    _saved.update(found)


def keep(place: Path) -> None:
    """Write what this process has used, for `remember`, where that is more than what it read. A place that cannot be
    written costs the next process its time, and nothing else."""
    if place.exists() and _used <= _saved:
        return
    parsed = {key: _known[key] for key in sorted(_used)}
    with suppress(StoreError):
        write(place, json.dumps({"sha256": digest(parsed), "parsed": parsed}, sort_keys=True))
    _saved.update(_used)


def cache(environ: Mapping[str, str]) -> Path | None:
    """Where to keep it without a store: in the user's cache, a file for each installation. None for a user without a
    home."""
    home = environ.get("XDG_CACHE_HOME") or (f"{environ['HOME']}/.cache" if environ.get("HOME") else "")
    name = hashlib.sha256(str(_ROOT).encode()).hexdigest()[:12]
    return Path(home) / "reclaim" / f"parsed-{name}.json" if home else None


def closure(module: str) -> tuple[str, ...]:
    """All first-party modules reachable from one, itself included, sorted. Raises ValueError for a module that is not
    there."""
    if _parsed(module) is None:
        raise ValueError(f"no first-party module {module}")
    seen: set[str] = set()
    todo = [module]
    while todo:
        name = todo.pop()
        if name not in seen and _parsed(name) is not None:
            seen.add(name)
            todo.extend(_imports(name))
    return tuple(sorted(seen))


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements of a node's blocks. Expressions hold none, and most nodes are expressions."""
    for parts in (getattr(node, "handlers", ()), getattr(node, "cases", ())):
        for part in parts:
            yield from part.body
    for name in ("body", "orelse", "finalbody"):
        yield from getattr(node, name, ())


def _strip(node: ast.AST) -> None:
    """Drop docstrings below a node, so that prose never makes a result stale. A string that stands alone (an
    attribute's docstring) is prose too."""
    for below in _statements(node):
        _strip(below)
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        node.body = [n for n in node.body if not _is_prose(n)] or [ast.Pass()]


def _is_prose(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def bare(source: bytes) -> str:
    """The syntax tree of a module's source as text, without docstrings, comments and positions."""
    return _bare(ast.parse(source))


def _bare(tree: ast.Module) -> str:
    _strip(tree)
    return ast.dump(tree, annotate_fields=False, include_attributes=False)


def _module_print(module: str) -> str:
    parsed = _parsed(module)
    assert parsed is not None
    return parsed[0]


@functools.cache
def code_print(*modules: str, libraries: tuple[str, ...] = (), files: tuple[Path, ...] = ()) -> str:
    """Hash of all code reachable from rule modules, of declared library versions and of shipped data files they
    read."""
    reachable = sorted({name for module in modules for name in closure(module)})
    return digest(
        {
            "modules": {name: _module_print(name) for name in reachable},
            "libraries": {name: _version(name) for name in sorted(libraries)},
            "files": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(files)},
        }
    )


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "absent"


def fingerprint(stage: str, *, inputs: Mapping[str, str], settings: Json, code: str) -> str:
    """The print of one stage's output: same print, same bytes; so it need not be made again."""
    return digest({"stage": stage, "inputs": dict(inputs), "settings": settings, "code": code})


def tree_digest(folder: Path, files: Iterable[Path]) -> str:
    """Hash over relative names and contents of files below a folder."""
    names = sorted(files)
    return digest([[p.relative_to(folder).as_posix(), hashlib.sha256(p.read_bytes()).hexdigest()] for p in names])
