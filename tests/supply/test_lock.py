"""What gets installed is named beforehand, file by file, and every package that is asked for earns its place."""

from __future__ import annotations

import ast
import functools
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.e2e.tiny import ROOT

OURS = ("pipeline", "classifiers", "audit_ui", "assets")
INDEX = {"registry": "https://pypi.org/simple"}
FILES = "https://files.pythonhosted.org/packages/"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))["package"]
BASE = PROJECT["project"]["dependencies"]
EXTRAS = [one for group in PROJECT["project"]["optional-dependencies"].values() for one in group]

# Names under which code imports a package, where they are not the package's own.
IMPORTED_AS = {
    "openreview-py": "openreview", "pygithub": "github", "graphql-core": "graphql", "pydantic-ai-slim": "pydantic_ai",
    "scikit-learn": "sklearn", "pypandoc-binary": "pypandoc", "plastex": "plasTeX",
}  # fmt: skip

# Packages that no code imports, each with the file and the words that need it.
USED_BY_NAME = {
    "dagster-webserver": ("assets/ui.py", '"dagster", "dev"'),  # the server that `dagster dev` starts
    "python-multipart": ("audit_ui/app.py", "request.form("),  # Starlette reads forms with it
    "psycopg": (".ci/run", "postgresql+psycopg://"),  # SQLAlchemy's driver, by the URL a person gives
    "dagster-postgres": ("assets/build.py", "dagster_postgres"),  # named in Dagster's own settings file
    "dagster-dg-cli": ("pyproject.toml", "[tool.dg.project]"),  # `dg dev` in a checkout
    "import-linter": (".ci/run", "uv run lint-imports"),
    "mypy": (".ci/run", "uv run mypy"),
    "ruff": (".ci/run", "uv run ruff"),
    "pytest-xdist": (".ci/run", "-n 2"),
    "types-requests": ("pyproject.toml", "strict = true"),  # what mypy reads of requests
    "datasets": ("tests/publish/test_read_back.py", "datasets"),
}

# Imported without being asked for by name: each comes with the package on the right, which pins or needs it.
COME_ALONG = {
    "anyio": "starlette", "pydantic_core": "pydantic", "yaml": "dagster",
    "openai": "pydantic-ai-slim", "anthropic": "pydantic-ai-slim", "distributed": "dagster-dask",
}  # fmt: skip

# Bounded below only, since their numbers promise nothing by which a bound could be drawn.
OPEN = {
    "fsspec": "calendar versions",
    "filelock": "one class, the same since its first release",
    "python-multipart": "0.0.x: no promise at all",
    "psycopg": "SQLAlchemy knows which it can use",
}

BY_CALL = ("import_module", "importorskip")


def name(requirement: str) -> str:
    return canonicalize_name(Requirement(requirement).name)


def imports(tree: ast.AST) -> set[str]:
    """Top-level names of what runs, so not what only a type checker reads."""
    found: set[str] = set()
    todo = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in BY_CALL:
            given = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            found |= {one.split(".")[0] for one in given}
        typing = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        todo += node.orelse if typing else ast.iter_child_nodes(node)
    return found


@functools.cache
def imported() -> set[str]:
    """What our own code imports."""
    files = [path for folder in OURS for path in (ROOT / folder).rglob("*.py")]
    assert len(files) > 200
    return set().union(*(imports(ast.parse(path.read_bytes())) for path in files))


def imported_by_tests() -> set[str]:
    lines = re.compile(r"^\s*(?:import|from) (\w+)|(?:import_module|importorskip)\(\"(\w+)", re.MULTILINE)
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")]
    return {name for text in texts for pair in lines.findall(text) for name in pair if name}


def unused(requirements: list[str], used: set[str]) -> list[str]:
    """Requirements that no code imports and that nothing else of ours needs."""
    found = []
    for asked in {name(one) for one in requirements}:
        file, words = USED_BY_NAME.get(asked, ("", ""))
        needed = file and words in (ROOT / file).read_text(encoding="utf-8")
        if not needed and IMPORTED_AS.get(asked, asked.replace("-", "_")) not in used:
            found.append(asked)
    return sorted(found)


def test_every_file_of_every_package_is_locked_by_its_hash_and_comes_from_the_public_index() -> None:
    packages = [package for package in LOCK if package["name"] != "reclaim"]
    assert len(packages) == len(LOCK) - 1 > 100
    files = []
    for package in packages:
        assert package["source"] == INDEX, package["name"]
        own = [*package.get("wheels", ()), *([package["sdist"]] if "sdist" in package else ())]
        assert own, package["name"]
        files += own
    for file in files:
        assert re.fullmatch("sha256:[0-9a-f]{64}", file["hash"]), file
        assert file["url"].startswith(FILES), file
    assert len({file["url"] for file in files}) == len(files)


def test_the_lock_is_of_this_pyproject() -> None:
    uv = os.environ.get("UV") or shutil.which("uv")
    if not uv:
        pytest.skip("uv is not on this machine")
    said = subprocess.run([uv, "lock", "--check", "--offline"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr


def test_what_builds_the_wheel_is_pinned_by_hash() -> None:
    pins = (ROOT / ".ci" / "build-constraints.txt").read_text(encoding="utf-8").replace("\\\n", "")
    lines = [line for line in pins.splitlines() if line and not line.startswith("#")]
    assert {name(one) for one in PROJECT["build-system"]["requires"]} <= {
        name(line.split("--hash")[0]) for line in lines
    }
    for line in lines:
        assert re.fullmatch(r"[a-z-]+==[\d.]+(\s+--hash=sha256:[0-9a-f]{64})+", line.strip()), line


def test_every_dependency_stands_below_a_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = text.split("dependencies = [\n", 1)[1].split("\n]", 1)[0].splitlines()
    assert listed[0].lstrip().startswith("#")
    below = 0
    for line in listed:
        below = 0 if line.lstrip().startswith("#") or "#" in line else below + 1
        assert below <= 4, f"{line.strip()}: say what it is for"


def test_every_dependency_is_imported_or_needed_by_name() -> None:
    assert unused(BASE, imported()) == []
    assert unused(EXTRAS, imported()) == []


def test_every_package_of_the_tests_is_used_by_them() -> None:
    groups = [one for group in PROJECT["dependency-groups"].values() for one in group]
    assert unused(groups, imported_by_tests()) == []


def test_nothing_is_imported_that_is_not_asked_for() -> None:
    asked = {name(one) for one in (*BASE, *EXTRAS)}
    known = {IMPORTED_AS.get(one, one.replace("-", "_")) for one in asked} | set(OURS) | sys.stdlib_module_names
    extra = imported() - known
    assert extra <= set(COME_ALONG)
    assert set(COME_ALONG.values()) <= asked


def test_every_dependency_has_an_upper_bound_or_a_word_why_not() -> None:
    above = ("<", "==", "~=")
    free = [one for one in (*BASE, *EXTRAS) if not any(s.operator in above for s in Requirement(one).specifier)]
    assert {name(one) for one in free} == set(OPEN)


def test_an_unused_or_undeclared_package_is_found(tmp_path: Path) -> None:
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import arxiv\nelse:\n    import requests\n"
    source += "def late():\n    import duckdb.typing\n    import_module('polars.io')\n"
    found = set(imports(ast.parse(source)))
    assert found == {"typing", "requests", "duckdb", "polars"}
    assert unused(["arxiv>=4", "requests", "polars", "dagster-webserver"], found) == ["arxiv"]
