"""What a stage's output was made from: its inputs, its part of the edition, and the code that can reach it.

The code part is computed, not declared: the syntax trees of every first-party module that the stage's rule module
imports, directly or not, without docstrings, comments and positions. Renaming a variable changes it; rewording a
docstring does not.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pipeline.evidence import Json, digest

FIRST_PARTY = ("pipeline", "classifiers", "assets", "audit_ui")
_ROOT = Path(__file__).resolve().parent.parent


def _file(module: str) -> Path | None:
    base = _ROOT.joinpath(*module.split("."))
    for path in (base / "__init__.py", base.with_suffix(".py")):
        if path.is_file():
            return path
    return None


@functools.cache
def _tree(module: str) -> ast.Module | None:
    path = _file(module)
    return None if path is None else ast.parse(path.read_bytes())


@functools.cache
def _imports(module: str) -> tuple[str, ...]:
    """Names of first-party modules that a module imports anywhere, with the packages above them."""
    tree = _tree(module)
    return () if tree is None else tuple(dict.fromkeys(_imported(module, tree)))


def _imported(module: str, tree: ast.Module) -> Iterator[str]:
    package = module if (_file(module) or Path()).name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        for name in names:
            if name.split(".")[0] in FIRST_PARTY and _file(name) is not None:
                parts = name.split(".")
                yield from (".".join(parts[: i + 1]) for i in range(len(parts)))


def closure(module: str) -> tuple[str, ...]:
    """All first-party modules reachable from one, itself included, sorted. Raises ValueError for a module that is not
    there."""
    if _tree(module) is None:
        raise ValueError(f"no first-party module {module}")
    seen: set[str] = set()
    todo = [module]
    while todo:
        name = todo.pop()
        if name not in seen and _tree(name) is not None:
            seen.add(name)
            todo.extend(_imports(name))
    return tuple(sorted(seen))


class _Bare(ast.NodeTransformer):
    """Drops docstrings, so that prose never makes a result stale."""

    def _strip(self, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self.generic_visit(node)
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            node.body = node.body[1:]
        # A string that stands alone (an attribute's docstring) is prose too.
        node.body = [
            n
            for n in node.body
            if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant) and isinstance(n.value.value, str))
        ] or [ast.Pass()]
        return node

    def visit_Module(self, node: ast.Module) -> ast.AST:
        return self._strip(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._strip(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._strip(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._strip(node)


def bare(source: bytes) -> str:
    """The syntax tree of a module's source as text, without docstrings, comments and positions."""
    return ast.dump(_Bare().visit(ast.parse(source)), annotate_fields=False, include_attributes=False)


@functools.cache
def _module_print(module: str) -> str:
    path = _file(module)
    assert path is not None
    return hashlib.sha256(bare(path.read_bytes()).encode()).hexdigest()


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
