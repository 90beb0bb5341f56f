"""What a user installs is listed with its licence, and nothing in it binds what links to it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from types import ModuleType
from typing import Any

import pytest
from packaging.licenses import canonicalize_license_expression

from tests.e2e.tiny import ROOT


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("licences", ROOT / ".ci" / "licences.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["licences"] = module  # where dataclasses look their annotations up
    spec.loader.exec_module(module)
    return module


licences = load()
Chosen = dict[str, list[Any]]


@pytest.fixture(scope="module")
def chosen() -> Chosen:
    missing = [extra for extra in ("dagster-dask", "openai", "psycopg") if not present(extra)]
    if missing:
        pytest.skip(f"without {', '.join(missing)} (uv sync --all-extras)")
    made: Chosen = licences.users(licences.locked())
    return made


def present(name: str) -> bool:
    try:
        return bool(importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return False


def test_the_list_is_what_is_locked_and_installed(chosen: Chosen) -> None:
    assert licences.PAGE.read_text(encoding="utf-8") == licences.page(chosen)


def test_every_licence_is_an_spdx_expression(chosen: Chosen) -> None:
    assert set(chosen) == {"", "llm", "machines", "postgres"}
    assert len(chosen[""]) > 50
    for group in chosen.values():
        for package in group:
            assert canonicalize_license_expression(package.licence) == package.licence, package.name


def test_no_package_of_a_user_is_under_the_gpl_or_agpl(chosen: Chosen) -> None:
    assert [p.name for group in chosen.values() for p in group if licences.strong(p.licence)] == []


def test_no_package_of_a_user_is_built_where_it_is_installed(chosen: Chosen) -> None:
    """A package without wheels runs its own setup code at install."""
    lock = licences.locked()
    assert [
        p.name for group in chosen.values() for p in group if not all(one.get("wheels") for one in lock[p.name])
    ] == []


def test_the_libraries_with_a_copyleft_in_the_base_set_are_named(chosen: Chosen) -> None:
    lesser = [p.name for p in chosen[""] if "LGPL" in p.licence and len(licences.alternatives(p.licence)) == 1]
    assert lesser == ["pygithub", "pywin32"]  # the second on Windows only
    page = licences.PAGE.read_text(encoding="utf-8")
    for name in lesser:
        assert f"- {name}: " in page.split("## Copied into the wheel")[0]


@pytest.mark.parametrize(
    ("expression", "binds"),
    [
        ("GPL-3.0-only", True),
        ("AGPL-3.0-or-later", True),
        ("MIT AND GPL-2.0-only", True),
        ("GPL-2.0-only OR AGPL-3.0-only", True),
        ("MIT OR GPL-2.0-only", False),
        ("LGPL-3.0-only", False),
        ("MIT AND (Apache-2.0 OR GPL-2.0-only)", True),  # not read finely: a person looks
        ("Apache-2.0", False),
    ],
)
def test_a_licence_binds_where_every_choice_does(expression: str, binds: bool) -> None:
    assert licences.strong(expression) is binds


class Package:
    """An installed package as its metadata says."""

    def __init__(self, **said: str | list[str]) -> None:
        self.metadata = Metadata({name.replace("_", "-"): value for name, value in said.items()})


class Metadata(dict[str, str | list[str]]):
    def get_all(self, name: str) -> list[str] | None:
        value = self.get(name)
        return [value] if isinstance(value, str) else value


@pytest.mark.parametrize(
    ("said", "spdx"),
    [
        ({"License_Expression": "MIT OR Apache-2.0", "License": "whatever"}, "MIT OR Apache-2.0"),
        ({"License": "Apache 2.0"}, "Apache-2.0"),
        ({"Classifier": ["License :: OSI Approved :: MIT License"]}, "MIT"),
        ({"License": "Copyright\nPermission", "Classifier": ["License :: OSI Approved :: MIT License"]}, "MIT"),
        ({"License": "BSD"}, ""),
        ({"License": "Dual License"}, ""),
        ({}, ""),
        ({"License": "MIT License", "Classifier": ["License :: OSI Approved :: Apache Software License"]}, ""),
        ({"Classifier": ["License :: OSI Approved :: MIT License", "License :: Public Domain"]}, ""),
    ],
)
def test_a_vague_or_contradictory_licence_is_not_taken_for_a_known_one(
    said: dict[str, str | list[str]], spdx: str
) -> None:
    assert licences.stated(Package(**said)) == spdx


def test_a_package_nobody_has_looked_at_stops_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(licences.Unknown, match="no-such-package: not installed here"):
        licences.licence("no-such-package", ["1.0"])
    with pytest.raises(licences.Unknown, match=r"is installed, the lock has 0\.0"):
        licences.licence("pytest", ["0.0"])
    monkeypatch.delitem(licences.READ, "jinja2")
    with pytest.raises(licences.Unknown, match="jinja2: its metadata names no licence"):
        licences.licence("jinja2", [importlib.metadata.version("jinja2")])
